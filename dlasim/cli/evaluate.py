"""`dlasim evaluate`: how often a model is right, over many inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dlasim.arguments import COUNTS
from dlasim.cli.help_sections import SectionedCommand, option, with_options
from dlasim.cli.host_options import ENGINE
from dlasim.cli.option_types import Number
from dlasim.cli.terminal import say
from dlasim.system.status_line import StatusLine

if TYPE_CHECKING:
    from dlasim.evaluation import Evaluation

_EPILOG = """\b
Examples:
  dlasim evaluate model.tflite --inputs validation --labels labels.csv
  dlasim evaluate model.tflite --inputs images.npy --labels classes.npy
  dlasim evaluate int8.onnx --inputs photos --normalize imagenet
"""


@click.command("evaluate", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("model", metavar="MODEL")
@with_options(
    option("--inputs",
        "Folder of pictures (.png, .jpg, .bmp), sounds (.wav) or .npy files, or one .npy file with an "
        "input in each row.", "PATH", is_required=True),
    option("--labels",
        "Numbers of the right classes: rows `name,label`, or one in each line or in an .npy file, in the "
        "order of the inputs' names. Without it, sub-folders are the classes.", "FILE"),
    option("--label-offset", "Add N to each label: 1 where the network has a class for the background.", "N",
        kind=Number(int), default=0),
    option("--normalize", "What pictures and sounds become, as in dlasim run: auto, imagenet, or LOW,HIGH.",
        "RANGE", default="auto"),
    option("--float", "The network in float, .tflite or .onnx, for comparison; it gets the same inputs.",
        "FILE", name="float_model"),
    option("--out", "Write a .csv row for each input; rows in it are not evaluated again.", "FILE"),
    option("--jobs", "Processes; by default one per CPU.", "N", kind=Number(int, *COUNTS["jobs"])),
    ENGINE,
    option("--json", "Print the result as JSON.", kind=bool, name="as_json"),
)  # fmt: skip
def command(model: str, out: str | None, as_json: bool, **given: Any) -> None:
    """Count how often the highest outputs of MODEL are right, over many inputs.

    The results are those of the program, bit for bit, so they do not depend on the machine. The model has one
    input and scores of classes as its first output; dlasim.evaluate in Python takes several inputs and any
    metric. An interrupted evaluation with --out goes on where it stopped.
    """
    import json

    from dlasim import api

    line = StatusLine()
    try:
        result = api.evaluate(
            model,
            out=out,
            on_progress=lambda done, total: line.show(f"{done:,} of {total:,} inputs"),
            **given,
        )
    finally:
        line.clear()
    if out is not None:
        say(f"wrote {out}", err=True)
    say(json.dumps(result.as_dict(), indent=2) if as_json else _text(result))


def _text(result: Evaluation) -> str:
    from dlasim.errors import counted
    from dlasim.rows.tables import table

    count = counted(len(result.rows), "input")
    known = len(result.rows) - result.evaluated
    found = f", {known:,} of them known from the table" if known else ""
    lines = [f"{result.model}: {count} in {result.seconds:.1f} s{found}"]
    if result.has_labels:
        rows = [["", "right", "95 % interval", *(["in float"] if result.float_model else [])]]
        for place in result.tops:
            share = result.top(place)
            low, high = result.interval(share)
            cells = [f"top-{place}", _percent(share), f"{_percent(low)} to {_percent(high)}"]
            rows.append([*cells, _percent(result.float_top(place))] if result.float_model else cells)
        lines += ["", table(rows, "l" + "r" * (len(rows[0]) - 1))]
    if result.float_model:
        lines += [
            "",
            f"the same class as {result.float_model} for {_percent(result.agreement)} of the inputs",
        ]
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
