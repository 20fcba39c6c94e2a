"""Help in sections: options that many commands share stand together, each with its default."""

from __future__ import annotations

from typing import Any

import click

OWN = "Options"


class SharedOption(click.Option):
    """An option of a named section. Its default is that of a dataclass's field, looked up when it is shown:
    None on the command line means that a file or a preset may decide."""

    def __init__(self, *declarations: Any, section: str, **settings: Any) -> None:
        super().__init__(*declarations, **settings)
        self.section = section

    def default_text(self) -> str:
        """The default as one would type it; empty where there is none."""
        from dataclasses import MISSING, fields

        from dlasim.compiler_shim.options import CompileOptions
        from dlasim.sim.config import DlaConfig, size_text

        for field in (*fields(DlaConfig), *fields(CompileOptions)):
            if field.name == self.name and field.default not in (MISSING, None):
                return size_text(field.default) if field.name.endswith("_bytes") else str(field.default)
        return ""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """As click has it, with the default."""
        record = super().get_help_record(ctx)
        default = self.default_text()
        if record is None or not default:
            return record
        return record[0], f"{record[1]}  [default: {default}]"


class SectionedCommand(click.Command):
    """A command whose own options come first, then those that it shares, by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The sections in the order in which their first options were declared, its own before them."""
        sections: dict[str, list[tuple[str, str]]] = {OWN: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(parameter, "section", OWN), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
