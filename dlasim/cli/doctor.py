"""`dlasim doctor`: installed versions, CPU features, and missing optional parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dlasim.cli.terminal import say

if TYPE_CHECKING:
    from dlasim.cli.health import Compiled, Health, Package, Tool

_MARKS = {"ok": "ok", "missing": "MISSING", "old": "TOO OLD"}


_EPILOG = """\b
Examples:
  dlasim doctor
  dlasim doctor --json | python -m json.tool
"""


@click.command("doctor", epilog=_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show versions, CPU features, and which optional packages and tools are installed.

    The exit code is 1 if a required package is missing or too old.
    """
    import json

    from dlasim.cli.health import examine

    health = examine()
    say(json.dumps(_as_data(health), indent=2) if as_json else "\n".join(_as_text(health)))
    ctx.exit(0 if health.is_healthy else 1)


def _as_text(health: Health) -> list[str]:
    lines = [f"dlasim {health.version}, Python {health.python}, {health.platform}"]
    features = ", ".join(f"{name} {'yes' if there else 'no'}" for name, there in health.features.items())
    lines += [f"{health.processor}, {health.cores} cores" + (f": {features}" if features else "")]
    lines += ["", f"Compiled code; cache: {health.cache}"]
    lines += [_compiled_line(compiled) for compiled in health.compiled] or [
        "  cannot be built: a required package below is missing"
    ]
    lines += ["", "Required packages"]
    lines += [_package_line(package) for package in health.required]
    lines += ["", "Extras"]
    for extra in health.extras:
        state = "ready" if extra.is_ready else f"to install: {extra.command}"
        lines += [f"  {extra.name:<12} {extra.purpose}; {state}"]
        if extra.is_partly_installed:
            lines += [f"  {_package_line(package)}" for package in extra.packages if package.state != "ok"]
    lines += ["", "Programs"]
    lines += [_tool_line(tool) for tool in health.programs]
    if not health.is_healthy:
        lines += ["", "A required package is missing or too old: run pip install --upgrade dlasim"]
    return lines


def _package_line(package: Package) -> str:
    wanted = "" if package.state == "ok" else f"  (needs {package.wanted or 'any version'})"
    return f"  {package.name:<12} {package.found or '-':<10} {_MARKS[package.state]}{wanted}"


def _compiled_line(compiled: Compiled) -> str:
    state = "ready" if compiled.is_built else f"not built yet: {compiled.builder}"
    return f"  {compiled.name:<20} {compiled.purpose}; {state}"


def _tool_line(tool: Tool) -> str:
    return f"  {tool.name:<20} {tool.path or 'not found'}; {tool.purpose}"


def _as_data(health: Health) -> dict[str, Any]:
    import dataclasses

    data = dataclasses.asdict(health)
    for extra, entry in zip(health.extras, data["extras"], strict=True):
        entry |= {"is_ready": extra.is_ready, "command": extra.command}
    return data | {"is_healthy": health.is_healthy}
