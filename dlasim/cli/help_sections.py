"""Help in sections: options that commands share are grouped, each with its default."""

from __future__ import annotations

from typing import Any

import click

from dlasim.sim.config import PARAMETERS

OWN = "Options"


class SharedOption(click.Option):
    """An option in a named section of the help. The help shows the default of the DlaConfig or CompileOptions
    field of the same name. On the command line the default is None: a file or preset may set the value."""

    def __init__(self, *declarations: Any, section: str, **settings: Any) -> None:
        super().__init__(*declarations, **settings)
        self.section = section

    def default_text(self) -> str:
        """The default as one would type it; empty if there is none."""
        from dataclasses import MISSING, fields

        from dlasim.compiler_shim.options import CompileOptions

        if self.name in PARAMETERS:
            return PARAMETERS[self.name].default_text
        defaults = {field.name: field.default for field in fields(CompileOptions)}
        default = defaults.get(self.name or "", MISSING)
        return "" if default in (MISSING, None) else str(default)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """As in click, with the default appended."""
        record = super().get_help_record(ctx)
        default = self.default_text()
        if record is None or not default:
            return record
        return record[0], f"{record[1]}  [default: {default}]"


class SectionedCommand(click.Command):
    """A command whose help lists its own options first, then the shared ones by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then the sections in the order of their first option."""
        sections: dict[str, list[tuple[str, str]]] = {OWN: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                sections.setdefault(getattr(parameter, "section", OWN), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
