"""Help in sections, from one table: the options that most uses need, then the others by their subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import click

from dlasim.compiler_shim.options import COMPILER_OPTIONS
from dlasim.named_tuple import NamedTuple
from dlasim.sim.configuration.machine_table import PARAMETERS

Function = TypeVar("Function", bound=Callable[..., Any])

# At most ten options of a command.
_MOST_USED = (
    "--input", "--inputs", "--output", "--out", "--timing-only", "--report", "--html", "--runs", "--preset",
    "--pes", "--parallel", "--sram", "--host", "--where", "--limit", "--minimize", "--evaluations",
    "--layers", "--jobs",
)  # fmt: skip


def _of_part(part: str) -> tuple[str, ...]:
    """The options of the machine's parameters of a part, but for the most used."""
    flags = [parameter.flag for parameter in PARAMETERS.values() if parameter.part == part]
    return tuple(flag for flag in flags if flag and flag not in _MOST_USED)


# The sections of the help and of docs/cli.md, in order.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Most used": _MOST_USED,
    "Inputs and results": (
        "--prompt", "--prefill", "--float", "--label-offset", "--normalize", "--seed", "--steps", "--carry",
        "--dequantize", "--top", "--labels", "--trace", "--overlay", "--json", "--list",
    ),
    "Machine": ("--config", *_of_part("Machine"), "--set"),
    **{part: _of_part(part) for part in ("MAC and VECTOR", "SRAM", "DMA", "Issue of instructions")},
    "Compiling": (
        "--numerics", "--objective", "--effort", "--weights", "--fusion", "--tiling", "--place", "--io",
        "--depthwise", "--requant", "--dla-ops", "--assume-int8",
    ),
    "CPU, with --host riscv": (
        "--cpu", "--completion", "--submission", "--max-instructions", "--stuck-after", "--device", "--dla",
        "--vcd", "--gdb", "--trace-instructions", "--trace-mmio",
    ),
    "Other": ("--engine", "--races", "--repeat", "--sampler", "--scheduler", "--cache", "--resume", "--help"),
}  # fmt: skip


class SharedOption(click.Option):
    """An option that several commands have. The help shows the default of the DlaConfig or CompileOptions
    field of the same name. On the command line the default is None: a file or preset may set the value."""

    def default_text(self) -> str:
        """The default as one would type it; empty if there is none."""
        row = PARAMETERS.get(self.name or "") or COMPILER_OPTIONS.get(self.name or "")
        return row.default_text if row else ""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """As in click; but no empty text, which a variable of a shell that is not set becomes."""
        if value == "" or (isinstance(value, tuple | list) and "" in value):
            raise click.UsageError(f"{self.opts[-1]} must not be empty")
        return super().process_value(ctx, value)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """As in click, with the default appended."""
        record = super().get_help_record(ctx)
        default = self.default_text()
        if record is None or not default:
            return record
        return record[0], f"{record[1]}  [default: {default}]"


class OptionRow(NamedTuple):
    """An option in a table: flag, parameter, type, help, and what stands for a value."""

    flag: str
    name: str
    kind: Any
    text: str
    metavar: str | None = None
    is_repeatable: bool = False
    is_required: bool = False
    default: Any = None


def option(
    flags: str, text: str, metavar: str | None = None, *, kind: Any = str, name: str = "",
    is_repeatable: bool = False, is_required: bool = False, default: Any = None,
) -> OptionRow:  # fmt: skip
    """A row whose parameter is called after its last flag unless it has another name."""
    name = name or flags.split()[-1].partition("/")[0].strip("-").replace("-", "_")
    default = False if kind is bool and default is None else default
    return OptionRow(flags, name, kind, text, metavar, is_repeatable, is_required, default)


def with_options(*rows: OptionRow) -> Callable[[Function], Function]:
    """The options of a command, in the order of these rows."""
    return lambda function: add_options(function, rows)


def add_options(function: Function, rows: Sequence[OptionRow]) -> Function:
    """Add the options of a table, in its order."""
    for row in reversed(rows):
        given = {"is_flag": True} if row.kind is bool else {"type": row.kind, "multiple": row.is_repeatable}
        if row.default is not None:  # with a default of None, click 8.5 takes an option as given
            given["default"] = row.default
        function = click.option(
            *row.flag.split(), row.name, cls=SharedOption, required=row.is_required, metavar=row.metavar,
            help=row.text, **given,
        )(function)  # fmt: skip
    return function


class SectionedCommand(click.Command):
    """A command whose help lists its options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections that the command has options of."""
        for title, options in in_sections(self.get_params(ctx)):
            records = [record for option in options if (record := option.get_help_record(ctx)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def in_sections(parameters: Iterable[click.Parameter]) -> Iterator[tuple[str, list[click.Option]]]:
    """The options of a command by section, in the order of the table; the last one has those of none, too."""
    known = [each for each in parameters if isinstance(each, click.Option)]
    options, listed = {name: each for each in known for name in each.opts}, list[click.Option]()
    *_, last = SECTIONS
    for title, names in SECTIONS.items():
        found = list(dict.fromkeys([options[name] for name in names if name in options]))
        listed += found
        if title == last:
            found = [each for each in known if each not in listed] + found
        if found:
            yield title, found
