"""`dlasim inspect`: what a model contains."""

from __future__ import annotations

from typing import Any

import click

from dlasim.cli.terminal import say, say_table

_EPILOG = """\b
Examples:
  dlasim inspect model.tflite
  dlasim inspect model.tflite --json
"""


@click.command("inspect", epilog=_EPILOG)
@click.argument("model", metavar="MODEL")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the tables.")
def command(model: str, as_json: bool) -> None:
    """Show inputs, outputs, operators and sizes of MODEL: a .tflite, .onnx, .tosa or .dlag file, or built in.

    Nothing is compiled. A model that dlasim cannot run is shown too, with the reason.
    """
    import json

    from dlasim import api

    found = api.inspect(model)
    if as_json:
        say(json.dumps(found, indent=2))
        return
    from dlasim.rows.tables import size

    say_table([["", "name", "type", "shape", "scale", "zero point"], *_interface_rows(found)], "llllrr")
    say()
    say_table([["operator", "count", "MACs", "CPU only"], *_operator_rows(found)], "lrrr")
    say()
    say(f"file        {size(found['file_bytes'])}, of which constants {size(found['constants_bytes'])}")
    if found["macs"] is not None:
        say(f"MACs        {found['macs']:,} in an inference")
    largest = found["largest_activation"]
    if largest:
        shape = "x".join(map(str, largest["shape"]))
        say(f"activations {size(largest['bytes'])} in the largest, {shape}")
    if found["refusal"]:
        say(f"dlasim cannot run it: {found['refusal']}")


def _interface_rows(found: dict[str, Any]) -> list[list[str]]:
    return [
        [
            side,
            tensor["name"],
            tensor["type"],
            "x".join(map(str, tensor["shape"])),
            "" if tensor["scale"] is None else f"{tensor['scale']:.6g}",
            "" if tensor["zero_point"] is None else str(tensor["zero_point"]),
        ]
        for side, tensors in (("input", found["inputs"]), ("output", found["outputs"]))
        for tensor in tensors
    ]


def _operator_rows(found: dict[str, Any]) -> list[list[str]]:
    return [
        [
            row["operator"],
            f"{row['count']:,}",
            f"{row['macs']:,}" if row["macs"] else "",
            f"{row['cpu_only']:,}" if row["cpu_only"] else "",
        ]
        for row in found["operators"]
    ]
