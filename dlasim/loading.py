"""Makes a file ready to run: a program is read, a model is imported and lowered."""

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
    """A file made ready to run: its program, the machine, and the seconds that loading and lowering took."""

    program: Program
    config: DlaConfig
    seconds: dict[str, float] = field(default_factory=dict)


def load(
    file: str | Path, config: DlaConfig | None, choices: dict[str, Any], with_constants: bool = True
) -> Loaded:
    """Read the program in a file, or lower the model in it for the machine."""
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
            f"{file} is already compiled: {', '.join(sorted(options))} can be set only for a model"
        )
    program = _program_in(file) if is_elf(file) else container.read_file(file)
    chosen = config if config is not None else config_of(program)
    chosen = chosen.replace(**machine)
    check_config(program, chosen)
    seconds = {"load": time.perf_counter() - began, "lower": 0.0}
    return Loaded(program, chosen, seconds)


def is_elf(file: str | Path) -> bool:
    """Whether a file starts like an ELF."""
    return read_head(file, _HEAD_BYTES).startswith(b"\x7fELF")


def is_application(file: str | Path) -> bool:
    """Whether an ELF was made by `dlasim compile`: it can run like the program that it contains."""
    return _find_program(file) is not None


def _program_in(file: str | Path) -> Program:
    program = _find_program(file)
    if program is None:
        raise InputError(f"{file} was not made by `dlasim compile`: run it with dlasim.on_board.run_elf")
    return program


def _find_program(file: str | Path) -> Program | None:
    """The program in an application made by `dlasim compile`; None for any other ELF."""
    from dlasim.vp import elf_image
    from dlasim.vp.elf import read_elf

    firmware = read_elf(file)
    return elf_image.find_program(firmware) if elf_image.is_application(firmware) else None


def load_network(file: str | Path) -> UnplacedNetwork:
    """Read a model in any supported format and partition it between DLA and CPU."""
    from dlasim.compiler_shim.compile import load_model

    return load_model(file)


def split_choices(choices: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split keywords into parameters of the machine and options of the compiler."""
    names = {field.name for field in fields(CompileOptions)}
    machine = {name: value for name, value in choices.items() if name not in names}
    return machine, {name: value for name, value in choices.items() if name in names}
