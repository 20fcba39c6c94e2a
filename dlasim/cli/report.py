"""`dlasim report`: an interactive page of a run, of two runs, or of a sweep."""

from __future__ import annotations

import click

from dlasim.cli.terminal import say

_EPILOG = """\b
Examples:
  dlasim run resnet8.tflite --report run.json
  dlasim report run.json -o run.html
  dlasim report before.json after.json -o difference.html
  dlasim report resnet8-sweep -o sweep.html
  dlasim report resnet8-sweep -o small.html --where "sram <= 64KiB"
\b
`dlasim run MODEL --html page.html` also shows what a report does not contain: the timeline, the SRAM map
and the network's graph.
"""


@click.command("report", epilog=_EPILOG)
@click.argument("sources", metavar="RUN.json|DIR|results.csv…", nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, metavar="PAGE.html", help="The page, one file that needs no network."
)
@click.option("--where", default=None, metavar="CONDITION", help="Show only points for which this holds.")
def command(sources: tuple[str, ...], output: str, where: str | None) -> None:
    """Write a page to explore: one run, the difference of two runs, or a sweep."""
    from pathlib import Path

    from dlasim.fileio import atomic_write, keep_apart
    from dlasim.sweeps.page.sources import page_of
    from dlasim.sweeps.sweep_result import ABOUT, LAYERS, RESULTS

    tables = [Path(source) / name for source in sources for name in (RESULTS, LAYERS, ABOUT)]
    keep_apart((*sources, *tables), (output,))
    atomic_write(output, page_of(sources, where))
    say(f"wrote {output}", err=True)
