"""Which host calls the firmware has kernels for: what is lacking is refused by name before anything runs."""

from __future__ import annotations

from dlasim.errors import InputError, printable
from dlasim.isa import host_ops
from dlasim.isa.program import Program


def refuse_missing_kernels(program: Program) -> None:
    """An InputError that names the first host call that the firmware cannot compute."""
    for call in program.host_calls:
        operator = host_ops.BY_CODE[call.code]
        if not operator.firmware:
            known = 0 <= call.layer < len(program.layers)
            layer = printable(program.layers[call.layer].name) if known else "?"
            raise InputError(
                f"{program.label}, layer {layer}: the firmware has no kernel for {operator.name}"
            )
