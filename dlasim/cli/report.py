"""`dlasim report`: an interactive page of a run, of two runs, or of a sweep."""

from __future__ import annotations

from typing import Any

import click

from dlasim.cli.help_sections import option, with_options
from dlasim.cli.study_options import LIMIT, MINIMIZE, goals_of
from dlasim.cli.terminal import say

_EPILOG = """\b
Examples:
  dlasim run resnet8.tflite --report run.json
  dlasim report run.json -o run.html
  dlasim report before.json after.json -o difference.html
  dlasim report resnet8-sweep -o sweep.html
  dlasim report resnet8-sweep -o small.html --where "sram <= 64KiB"

`dlasim run MODEL --html page.html` also shows what a report does not contain: the timeline, the SRAM map
and the network's graph.
"""


@click.command("report", epilog=_EPILOG)
@click.argument("sources", metavar="RUN.json|DIR|results.csv…", nargs=-1, required=True)
@with_options(
    option("-o --output", "The page, one self-contained HTML file that works offline.", "PAGE.html",
        is_required=True),
    option("--where", "Show only points for which this holds.", "CONDITION"),
    LIMIT,
    MINIMIZE,
    option("--json", "Print the page's file and size as JSON.", kind=bool, name="as_json"),
)  # fmt: skip
def command(sources: tuple[str, ...], output: str, where: str | None, as_json: bool, **goals: Any) -> None:
    """Write a page to explore: one run, the difference of two runs, or a sweep."""
    import json
    from pathlib import Path

    from dlasim.sweeps.page.sources import page_of
    from dlasim.sweeps.results.result_files import ABOUT, LAYERS, RESULTS
    from dlasim.system.fileio import atomic_write, keep_apart

    tables = [Path(source) / name for source in sources for name in (RESULTS, LAYERS, ABOUT)]
    keep_apart((*sources, *tables), (output,))
    page = page_of(sources, where, goals_of(goals)).encode()
    atomic_write(output, page)
    if as_json:
        say(json.dumps({"output": output, "bytes": len(page)}, indent=2))
    say(f"wrote {output}", err=True)
