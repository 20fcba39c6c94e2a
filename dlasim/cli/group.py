"""A click group that imports a command only when it is called and reports any error in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from dlasim.cli import failure
from dlasim.errors import unknown

DEBUG_FLAG = "--debug"  # for developers, as the first argument: show tracebacks
COMPLETION_VARIABLE = "_DLASIM_COMPLETE"


class LazyGroup(click.Group):
    """A group whose commands are modules of `package`, listed by section with one line of help each."""

    def __init__(
        self, *args: Any, package: str, sections: Mapping[str, Mapping[str, str]], **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self._package = package
        self._sections = sections
        self._is_completing = False

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of the table."""
        return [name for section in self._sections.values() for name in section]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name; its module is imported now."""
        if cmd_name not in self.list_commands(ctx):
            return None
        command: click.Command = import_module(f"{self._package}.{cmd_name}").command
        command.name = cmd_name
        if self._is_completing:
            from dlasim.cli.completion import add_completion

            add_completion(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, but with a suggestion for a mistyped command."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            ctx.fail(unknown("command", args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by section, from the table alone."""
        width = max(map(len, self.list_commands(ctx)))
        for title, section in self._sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), text) for name, text in section.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run the command line and exit with its exit code; never shows a traceback without --debug."""
        arguments = list(sys.argv[1:] if args is None else args)
        prog_name = prog_name or "dlasim"
        self._complete(prog_name, complete_var or COMPLETION_VARIABLE)
        debug = arguments[:1] == [DEBUG_FLAG]
        try:
            code = self._run(arguments[debug:] or ["--help"], prog_name, extra)
            sys.stdout.flush()
        except (Exception, KeyboardInterrupt) as error:
            if debug:
                raise
            code = failure.report(error, prog_name)
        sys.exit(code)

    def _run(self, arguments: list[str], prog_name: str, extra: dict[str, Any]) -> int:
        if hasattr(sys.stdout, "reconfigure"):  # a terminal that cannot show × must not fail a run
            sys.stdout.reconfigure(errors="backslashreplace")
        try:
            with self.make_context(prog_name, arguments, **extra) as context:
                self.invoke(context)
        except click.exceptions.Exit as done:
            return done.exit_code
        return 0

    def _complete(self, prog_name: str, variable: str) -> None:
        if instruction := os.environ.get(variable):
            from click.shell_completion import shell_complete

            self._is_completing = True
            sys.exit(shell_complete(self, {}, prog_name, variable, instruction))
