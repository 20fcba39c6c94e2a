"""Whatever a file is, made ready to run: programs are read, models imported and lowered on the fly."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlasim.compiler_shim.options import CompileOptions
from dlasim.errors import InputError
from dlasim.fileio import read_head
from dlasim.isa import container
from dlasim.isa.program import Program
from dlasim.sim.config import DlaConfig
from dlasim.sim.runner import check_config, config_of

if TYPE_CHECKING:
    from dlasim.compiler_shim.partition import UnplacedNetwork

_HEAD_BYTES = 64


@dataclass(slots=True)
class Loaded:
    """A file made ready to run: its program, the machine, and what the way there took."""

    program: Program
    config: DlaConfig
    seconds: dict[str, float] = field(default_factory=dict)


def load(
    file: str | Path, config: DlaConfig | None, choices: dict[str, Any], with_constants: bool = True
) -> Loaded:
    """Whatever the file is, a program for the machine: programs are read, models lowered on the fly."""
    began = time.perf_counter()
    machine, options = split_choices(choices)
    if container.is_program(read_head(file, _HEAD_BYTES)) or is_elf(file):
        return _load_program(file, config, machine, options, began)
    from dlasim.compiler_shim.compile import lower_for

    chosen = (config or DlaConfig()).replace(**machine)
    wanted = CompileOptions(**options)
    network = load_network(file)
    read = time.perf_counter()
    program = lower_for(network, chosen, wanted, with_constants).program
    seconds = {"load": read - began, "lower": time.perf_counter() - read}
    return Loaded(program, chosen, seconds)


def _load_program(
    file: str | Path, config: DlaConfig | None, machine: dict[str, Any], options: dict[str, Any], began: float
) -> Loaded:
    if options:
        raise InputError(
            f"{file} is compiled already; {', '.join(sorted(options))} can only be given with a model"
        )
    program = _program_in(file) if is_elf(file) else container.read_file(file)
    chosen = config if config is not None else config_of(program)
    chosen = chosen.replace(**machine)
    check_config(program, chosen)
    seconds = {"load": time.perf_counter() - began, "lower": 0.0}
    return Loaded(program, chosen, seconds)


def is_elf(file: str | Path) -> bool:
    """Whether a file claims to be an ELF."""
    return read_head(file, _HEAD_BYTES).startswith(b"\x7fELF")


def is_application(file: str | Path) -> bool:
    """Whether an ELF is one that `compile` made: it runs as the program in it does."""
    from dlasim import on_board

    return on_board.program_in(file) is not None


def _program_in(file: str | Path) -> Program:
    from dlasim import on_board

    program = on_board.program_in(file)
    if program is None:
        raise InputError(f"{file} has a main() of its own: run it with dlasim.on_board.run_elf")
    return program


def load_network(file: str | Path) -> UnplacedNetwork:
    """A model in any format that the shim reads, partitioned."""
    from dlasim.compiler_shim.compile import load_model

    return load_model(file)


def split_choices(choices: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The choices of the machine, and those of compiling."""
    names = {field.name for field in fields(CompileOptions)}
    machine = {name: value for name, value in choices.items() if name not in names}
    return machine, {name: value for name, value in choices.items() if name in names}
