"""Help in sections, from one table: the options that most uses need, then the others by their subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

# The sections of the help and of docs/cli.md, in order. The first has at most ten options of a command.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Most used": (
        "--input", "--output", "--timing-only", "--report", "--html", "--runs", "--preset", "--pes",
        "--parallel", "--sram", "--host", "--where", "--layers", "--jobs",
    ),
    "Inputs and results": (
        "--normalize", "--seed", "--dequantize", "--top", "--labels", "--trace", "--json", "--list",
    ),
    "Machine": ("--config", "--clock", "--timing", "--technology", "--set"),
    "MAC and VECTOR": (
        "--mac-weights", "--mac-results", "--mac-step-group", "--mac-handover", "--accumulators",
        "--weight-buffer", "--line-buffer", "--vector-lanes", "--vector-requantizations",
        "--vector-divisions", "--compute-overlap",
    ),
    "SRAM": ("--sram-bandwidth", "--sram-ports", "--sram-dma-ports", "--sram-banks"),
    "DMA": (
        "--dma-bandwidth", "--dma-shared-bandwidth", "--dma-latency", "--dma-burst", "--dma-burst-overhead",
    ),
    "Issue of instructions": ("--issue-cycles", "--queue-depth"),
    "Compiling": ("--fusion", "--tiling", "--place", "--depthwise", "--requant", "--dla-ops"),
    "CPU, with --host riscv": (
        "--cpu", "--completion", "--submission", "--max-instructions", "--stuck-after", "--device", "--dla",
        "--vcd", "--gdb", "--trace-instructions", "--trace-mmio",
    ),
    "Other": ("--engine", "--races", "--repeat", "--scheduler", "--cache", "--resume", "--help"),
}  # fmt: skip


class SharedOption(click.Option):
    """An option that several commands have. The help shows the default of the DlaConfig or CompileOptions
    field of the same name. On the command line the default is None: a file or preset may set the value."""

    def default_text(self) -> str:
        """The default as one would type it; empty if there is none."""
        from dataclasses import MISSING, fields

        from dlasim.compiler_shim.options import CompileOptions
        from dlasim.sim.config import LIMITS, DlaConfig
        from dlasim.sim.sizes import UNLIMITED, size_text

        for field in (*fields(DlaConfig), *fields(CompileOptions)):
            if field.name == self.name and field.default not in (MISSING, None):
                if field.name in LIMITS and not field.default:
                    return UNLIMITED
                if isinstance(field.default, float):
                    return f"{field.default:g}"
                return size_text(field.default) if field.name.endswith("_bytes") else str(field.default)
        return ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """As in click, with the default appended."""
        record = super().get_help_record(ctx)
        default = self.default_text()
        if record is None or not default:
            return record
        return record[0], f"{record[1]}  [default: {default}]"


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
    """The options of a command by section, in the order of the table."""
    options = {name: each for each in parameters if isinstance(each, click.Option) for name in each.opts}
    for title, names in SECTIONS.items():
        found = [options[name] for name in names if name in options]
        if found:
            yield title, found
