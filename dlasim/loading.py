"""Makes a file ready to run: a program is read or assembled, a model is imported and lowered."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlasim.compiler_shim.files.input_file import AnyInput, InputFile, InputKind, open_input
from dlasim.compiler_shim.options import CompileOptions
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa import container
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig, GridMismatchError
from dlasim.sim.configuration.machine_files import load_file, preset
from dlasim.sim.execution.runner import check_config, config_of
from dlasim.sim.physical.technology import technology

if TYPE_CHECKING:
    from dlasim.compiler_shim.forms.partition import UnplacedNetwork
    from dlasim.compiler_shim.lowering.lower import Lowered
    from dlasim.vp.programs.elf import Firmware

Machine = DlaConfig | str | Path  # a configuration, the name of a preset, or a TOML file
_NETWORK = re.compile(r"[A-Za-z]\w*(:\w+=[\w.]+(,\w+=[\w.]+)*)?")  # a built-in network, with arguments


@dataclass(slots=True)
class Loaded:
    """A file made ready to run: its program, the machine, the seconds that loading and lowering took."""

    program: Program
    config: DlaConfig
    seconds: dict[str, float] = field(default_factory=dict)
    lowered: Lowered | None = None  # what the compiler knows, if it was a model
    firmware: Firmware | None = None  # that runs it, if it was an application


def locate(file: str | Path) -> str | Path:
    """The file, or the one in the cache if it is the name of a built-in network, as in `resnet8` or
    `mobilenet_v1:alpha=0.5`."""
    if not isinstance(file, str | Path):
        raise InputError(f"a file must be a path or the name of a network (got {type(file).__name__})")
    text = str(file)
    if os.path.exists(text) or not _NETWORK.fullmatch(text):
        return file
    from dlasim.sweeps.definition.models import source

    return source(text, Path(), "model").file()


def open_located(file: AnyInput) -> InputFile:
    """What the file is and holds, also of a built-in network; nothing is read twice."""
    return file if isinstance(file, InputFile) else open_input(locate(file))


def choose_machine(machine: Machine | None, changes: Mapping[str, Any]) -> DlaConfig:
    """The machine with these changes; without one, the default machine."""
    base = _named_machine(machine)
    try:
        return base.replace(**changes)
    except GridMismatchError as error:
        origins = (
            f"{name} is given" if name in changes else f"{name} comes from {_origin(machine)}"
            for name in ("parallel", "pes")
        )
        raise InputError(f"{error} ({', '.join(origins)})") from None


def _origin(machine: Machine | None) -> str:
    """What to call the machine in an error."""
    if machine is None:
        return "the default machine"
    if isinstance(machine, DlaConfig):
        return f"the configuration {machine.name}"
    return str(machine) if _is_file(machine) else f"preset {machine}"


def _is_file(machine: str | Path) -> bool:
    return isinstance(machine, Path) or machine.endswith(".toml")


def _names_input(file: str | Path) -> bool:
    """Whether the name is that of a file with an input."""
    from dlasim.media import is_media

    return Path(file).suffix.lower() == ".npy" or is_media(file)


def _named_machine(machine: Machine | None) -> DlaConfig:
    if isinstance(machine, DlaConfig):
        return machine
    if machine is None:
        return DlaConfig()
    if not isinstance(machine, str | Path) or _names_input(machine):
        got = machine if isinstance(machine, str | Path) else type(machine).__name__
        raise InputError(
            f"config must be a DlaConfig, the name of a preset or a .toml file (got {got}); inputs are given "
            "by keyword: dlasim.run(file, inputs=…)"
        )
    return load_file(machine) if _is_file(machine) else preset(str(machine))


def load(
    given: AnyInput,
    machine: Machine | None,
    choices: Mapping[str, Any],
    with_constants: bool = True,
    assumes_int8: bool = False,
) -> Loaded:
    """Read or assemble the program in a file, or lower the model in it for the machine."""
    began = time.perf_counter()
    changes, options = split_choices(choices)
    file = open_located(given)
    if not file.is_model:
        if assumes_int8:
            raise InputError(f"{file} is a program; --assume-int8 is for float networks")
        return _load_program(file, machine, changes, options, began)
    from dlasim.compiler_shim.compile import lower_for

    chosen = choose_machine(machine, changes)
    technology(chosen.technology)  # a bad one is refused before the work
    wanted = CompileOptions(**options)
    network = load_network(file, assumes_int8, wanted.numerics)
    read = time.perf_counter()
    lowered = lower_for(network, chosen, wanted, with_constants)
    seconds = {"load": read - began, "lower": time.perf_counter() - read}
    return Loaded(lowered.program, chosen, seconds, lowered)


def _load_program(
    file: InputFile, machine: Machine | None, changes: dict[str, Any], options: dict[str, Any], began: float
) -> Loaded:
    if options:
        raise InputError(
            f"{file} is already compiled: {', '.join(sorted(options))} can be set only for a model"
        )
    program, firmware = _read_program(file)
    chosen = choose_machine(config_of(program) if machine is None else machine, changes)
    technology(chosen.technology)
    check_config(program, chosen)
    seconds = {"load": time.perf_counter() - began, "lower": 0.0}
    return Loaded(program, chosen, seconds, firmware=firmware)


def _read_program(file: InputFile) -> tuple[Program, Firmware | None]:
    if file.kind is InputKind.ASSEMBLY:
        from dlasim.isa.assembly.assembler import assemble_bytes  # few runs need the assembler

        return assemble_bytes(file.data, file.path), None
    if file.kind is InputKind.PROGRAM:
        return container.read(file.data, file.path), None
    program, firmware = _application(file)
    if program is None:
        raise InputError(f"{file} was not made by `dlasim compile`: run it with dlasim.on_board.run_elf")
    return program, firmware


def is_application(file: InputFile) -> bool:
    """Whether an ELF was made by `dlasim compile`: it can run like the program that it contains."""
    return _application(file)[0] is not None


def _application(file: InputFile) -> tuple[Program | None, Firmware]:
    """The program in an application made by `dlasim compile`, None in any other ELF; and what runs it."""
    from dlasim.vp.programs import elf_image
    from dlasim.vp.programs.elf import parse_elf

    firmware = parse_elf(file.data, file.path)
    return elf_image.find_program(firmware) if elf_image.is_application(firmware) else None, firmware


def load_network(file: AnyInput, assumes_int8: bool = False, numerics: str = "tflm") -> UnplacedNetwork:
    """Read a model in any supported format and partition it between DLA and CPU."""
    from dlasim.compiler_shim.compile import load_model

    return load_model(open_located(file), assumes_int8, numerics)


def split_choices(choices: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split keywords into parameters of the machine and options of the compiler."""
    names = {field.name for field in fields(CompileOptions)}
    machine = {name: value for name, value in choices.items() if name not in names}
    options = {name: value for name, value in choices.items() if name in names}
    if options.get("dla_ops") is not None:
        options["dla_ops"] = _operators(options["dla_ops"])
    return machine, options


def _operators(given: str | Iterable[str]) -> frozenset[str]:
    """The operators in a text such as `CONV_2D,ADD`, or in a list."""
    names = re.split(r"[,+]", given) if isinstance(given, str) else given
    names = list(names) if isinstance(names, Iterable) else [names]
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"dla_ops must be a list of operators such as CONV_2D (got {given!r})")
    return frozenset(name.strip().upper() for name in names if name.strip())
