"""`dlasim doctor`: installed versions, CPU features, and missing optional parts."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from dlasim.cli.terminal import say, say_wrapped
from dlasim.installation import FROM_CHECKOUT, extra_command

if TYPE_CHECKING:
    from dlasim.cli.health import Compiled, Extra, Health, Package, Tool

_INDENT, _LIST_WIDTH = 15, 65
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
    if as_json:
        say(json.dumps(_as_data(health), indent=2))
    else:
        say_wrapped("\n".join(_as_text(health)), _INDENT)
    ctx.exit(0 if health.is_healthy else 1)


def _as_text(health: Health) -> list[str]:
    broken = [package for package in health.required if package.state != "ok"]
    verdict = (
        "a required package is missing or too old" if broken else "everything that it needs is installed"
    )
    lines = [f"dlasim {health.version}, Python {health.python}, {health.platform}: {verdict}"]
    lines += [f"  {_package_text(package)}" for package in broken]
    if broken:
        lines += [f"  to mend it, run {FROM_CHECKOUT} in the checkout of dlasim"]
    features = ", ".join(f"{name} {'yes' if there else 'no'}" for name, there in health.features.items())
    lines += [
        "",
        f"processor      {health.processor}, {health.cores} cores{f': {features}' if features else ''}",
    ]
    lines += _wrapped_list("packages", [f"{each.name} {each.found or 'missing'}" for each in health.required])
    lines += [*_compiled_lines(health.compiled), f"cache          {health.cache}"]
    lines += ["", f"Extras; to add one: {extra_command('NAME')}"]
    lines += [_extra_line(extra) for extra in health.extras]
    lines += ["", "Programs"]
    return lines + [_tool_line(tool) for tool in health.programs]


def _wrapped_list(name: str, items: list[str]) -> list[str]:
    """A name and items that take as many lines as they need."""
    lines = wrap(", ".join(item.replace(" ", "\0") for item in items), _LIST_WIDTH) or [""]
    first, *rest = (line.replace("\0", " ") for line in lines)
    return [f"{name:<14} {first}", *(f"{'':<14} {line}" for line in rest)]


def _package_text(package: Package) -> str:
    """What is wrong with a package."""
    if package.state == "missing":
        return f"{package.name} is missing"
    return f"{package.name} {package.found} is too old, it must be {package.wanted}"


def _compiled_lines(compiled: tuple[Compiled, ...]) -> list[str]:
    """What each purpose has in machine code, and when the rest is built."""
    if not compiled:
        return ["machine code   cannot be built: a required package does not work"]
    lines = []
    for purpose in dict.fromkeys(each.purpose for each in compiled):
        missing = [each for each in compiled if each.purpose == purpose and not each.is_built]
        names = ", ".join(each.name for each in missing)
        state = f"not built yet: {names}; {missing[0].builder}" if missing else "ready"
        lines.append(f"machine code   {purpose}: {state}")
    return lines


def _extra_line(extra: Extra) -> str:
    old = [_package_text(package) for package in extra.packages if package.state == "old"]
    lacking = [package.name for package in extra.packages if package.state == "missing"]
    if extra.is_ready:
        state = f"installed (for {extra.purpose})"
    elif old or len(lacking) < len(extra.packages):
        parts = [*old, *([f"lacks {', '.join(lacking)}"] if lacking else [])]
        state = f"partly installed: {'; '.join(parts)} (needed for {extra.purpose})"
    else:
        state = f"not installed (needed for {extra.purpose})"
    return f"  {extra.name:<12} {state}"


def _tool_line(tool: Tool) -> str:
    state = f"{tool.path} (for {tool.purpose})" if tool.path else f"not found (needed for {tool.purpose})"
    return f"  {tool.name:<23} {state}"


def _as_data(health: Health) -> dict[str, Any]:
    import dataclasses

    data = dataclasses.asdict(health)
    for extra, entry in zip(health.extras, data["extras"], strict=True):
        entry |= {"is_ready": extra.is_ready, "command": extra.command}
    return data | {"is_healthy": health.is_healthy}
