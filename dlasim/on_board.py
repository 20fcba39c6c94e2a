"""Runs on the virtual prototype: programs with `--host riscv`, applications, and the user's own ELF files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlasim.arguments import check_fields, checked
from dlasim.compiler_shim.files.input_file import AnyInput, open_input
from dlasim.errors import InputError, one_of, printable, unknown
from dlasim.isa import container
from dlasim.isa.program import Program
from dlasim.loading import Loaded, Machine, choose_machine
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import config_of
from dlasim.sim.reports.report import first_inference
from dlasim.vp import HOSTS
from dlasim.vp.programs import elf_image
from dlasim.vp.programs.elf import Firmware, parse_elf
from dlasim.vp.programs.kernel_support import refuse_missing_kernels
from dlasim.vp.programs.launch import Completion, Submission
from dlasim.vp.programs.layout import plan_memory
from dlasim.vp.system.bare_metal import BareMetal, run_bare_metal
from dlasim.vp.system.host import HostOptions, Prototype, Prototyped, shipped_firmware
from dlasim.vp.system.host_report import report, rtl_warnings
from dlasim.vp.system.run_control import RunControl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dlasim.sim.execution.executor import Executor

__all__ = ["rtl_warnings"]
_C_BYTES_PER_LINE = 16
_HOST_OPTIONS = ("cpu", "completion", "submission", "firmware")


def check_host(host: str) -> None:
    """Raise an InputError if the host does not exist."""
    if host not in HOSTS:
        raise InputError(f"host must be {one_of(HOSTS)} (got {host!r})")


@checked()
def host_options(
    cpu: str = "ideal",
    completion: str = "interrupt",
    submission: str = "queue",
    inferences: int = 1,
    firmware: str | Path | None = None,
    **run_control: Any,
) -> HostOptions:
    """Make HostOptions from names as on the command line; `run_control` has the fields of `RunControl`."""
    known = [field.name for field in fields(RunControl)]
    for name in run_control:
        if name not in known:
            raise InputError(unknown("host option", name, (*_HOST_OPTIONS, *known)))
    check_fields(RunControl, run_control)
    return HostOptions(
        cpu,
        Completion(_number(Completion, "completion", completion)),
        Submission(_number(Submission, "submission", submission)),
        inferences,
        RunControl(**run_control),
        firmware,
    )


def _number(kind: type[Completion] | type[Submission], what: str, name: str) -> int:
    names = {member.name.lower(): int(member) for member in kind}
    if name not in names:
        raise InputError(f"{what} must be {one_of(names)} (got {name!r})")
    return names[name]


def run_loaded(
    loaded: Loaded, executor: Executor | None, arrays: Sequence[NDArray[Any]], options: HostOptions
) -> tuple[Prototyped, dict[str, Any]]:
    """Run a program on the board; returns the run and its report."""
    done = Prototype(loaded.program, loaded.config, executor, options, loaded.firmware).run(arrays)
    seconds = {**loaded.seconds, "simulate": done.inference.wall_seconds}
    if len(done.wall_seconds) > 1:
        seconds["steady"] = min(done.wall_seconds[1:])
    figures = report(loaded.program, loaded.config, done, options, seconds)
    return done, figures


def run_steps(
    loaded: Loaded,
    executor: Executor | None,
    rows: Sequence[Sequence[NDArray[Any]]],
    carried: Sequence[tuple[int, str]],
    options: HostOptions,
) -> tuple[Prototyped, dict[str, Any]]:
    """Run an inference for each row of inputs, all with one start of the board; `carried` are numbers of
    outputs with the names of the inputs that they become. The report is that of the last one."""
    board = Prototype(
        loaded.program, loaded.config, executor, options, loaded.firmware, slots=len(rows), carried=carried
    )
    done = board.run(*rows)
    seconds = {**loaded.seconds, "simulate": done.inference.wall_seconds}
    return done, report(loaded.program, loaded.config, done, options, seconds)


def run_steady(
    loaded: Loaded, executor: Executor | None, arrays: Sequence[NDArray[Any]], options: HostOptions
) -> tuple[Prototyped, dict[str, Any]]:
    """The same of a program that keeps its weights, with the figures of the first inference apart from those
    of later ones, for which the board runs once more."""
    done, figures = run_loaded(loaded, executor, arrays, options)
    other = replace(options, inferences=2 if options.inferences == 1 else 1)
    again, others = run_loaded(loaded, executor, arrays, other)
    if options.inferences > 1:
        return done, figures | {"first_inference": first_inference(others)}
    again.inference.outputs = done.inference.outputs
    return again, others | {"first_inference": first_inference(figures)}


def run_elf(
    file: AnyInput,
    config: Machine | None,
    machine: dict[str, Any],
    executor: Executor,
    *,
    cpu: str = "ideal",
    **run_control: Any,
) -> BareMetal:
    """Run the user's own ELF file. Without `config`, its machine is that of the program inside, if any."""
    source = open_input(file)
    firmware = parse_elf(source.data, source.path)
    return run_bare_metal(
        firmware, _machine_for(firmware, config, machine), executor, cpu, RunControl(**run_control)
    )


def _machine_for(firmware: Firmware, config: Machine | None, machine: dict[str, Any]) -> DlaConfig:
    program = elf_image.find_program(firmware)
    base = config_of(program) if config is None and program is not None else config
    return choose_machine(base, machine)


def application(program: Program) -> bytes:
    """An ELF file of the shipped firmware and a program, which needs no other input to run."""
    refuse_missing_kernels(program)
    elf = shipped_firmware().read_bytes()
    firmware = parse_elf(elf, "the prebuilt firmware")
    image = container.write(program)
    return elf_image.embed(elf, firmware, image, plan_memory(program, firmware, len(image)).launch)


def c_array(program: Program) -> str:
    """The program as a C header with a constant array for `program_open`."""
    image = container.write(program)
    need = program.requirement
    rows = [
        "    " + " ".join(f"0x{byte:02x}," for byte in image[start : start + _C_BYTES_PER_LINE])
        for start in range(0, len(image), _C_BYTES_PER_LINE)
    ]
    name = "".join("_" if letter in "*/" else letter for letter in printable(program.name))
    return "\n".join(
        [
            f"/* The program {name}, made by dlasim compile. Needs {need.arena_bytes} bytes of arena, "
            f"{need.inputs_bytes} of inputs, {need.outputs_bytes} of outputs. */",
            "#ifndef DLASIM_PROGRAM_IMAGE_H",
            "#define DLASIM_PROGRAM_IMAGE_H",
            "",
            f"#define PROGRAM_ARENA_BYTES {need.arena_bytes}u",
            f"#define PROGRAM_INPUTS_BYTES {need.inputs_bytes}u",
            f"#define PROGRAM_OUTPUTS_BYTES {need.outputs_bytes}u",
            "",
            "static const unsigned char program_image[] __attribute__((aligned(64))) = {",
            *rows,
            "};",
            "",
            "#endif",
            "",
        ]
    )
