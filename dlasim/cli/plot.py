"""`dlasim plot`: charts from the table of a sweep, or from the report of a run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from dlasim.cli.help_sections import option, with_options
from dlasim.cli.option_types import Choice, Number
from dlasim.cli.study_options import LIMIT
from dlasim.cli.terminal import say
from dlasim.sweeps.results.chart_settings import KINDS, parse_settings

_EPILOG = """\b
Examples:
  dlasim plot mobilenet_v1-sweep
  dlasim plot mobilenet_v1-sweep --kind heatmap -o cycles.pdf
  dlasim plot DIR --kind pareto --set figures=cycles,dma,pes
  dlasim plot report.json --kind roofline -o layers.svg
  dlasim plot results.csv --kind stacked --where "parallel == 'output'"
  dlasim plot DIR --kind timeline --point 3 --set begin=0 --set end=100000
  dlasim plot DIR -o figure.pdf --set width=84mm --set style=paper.mplstyle
"""


@click.command("plot", epilog=_EPILOG)
@click.argument("results", metavar="DIR|results.csv|report.json")
@with_options(
    option("--kind", "What to draw.  [default: stacked; pareto for many points; utilization for a report]",
        kind=Choice(tuple(KINDS))),
    option("-o --output",
        "The chart: a .png, .svg or .pdf file.  [default: DIR/KIND.png, or REPORT-KIND.png for a report]",
        "CHART"),
    option("--where", "Draw only rows for which this holds.", "CONDITION"),
    option("--title", "Title of the chart.", "TEXT"),
    option("--point", "The point to draw, for charts of one point.  [default: fewest cycles]", "N",
        kind=Number(int)),
    LIMIT,
    option("--set", "Another setting of the chart.", "NAME=VALUE", name="more", is_repeatable=True),
    option("--json", "Print the chart's file, kind and settings as JSON.", kind=bool, name="as_json"),
)  # fmt: skip
def command(results: str, kind: str | None, output: str | None, as_json: bool, **given: Any) -> None:
    """Draw the table of a sweep, or the report of a run, as a chart for print and screen.

    A front has the limits and objectives of the study as lines and figures; --limit adds others.
    Settings (--set): heatmap x, y, value, panel; pareto figures, x, y, value, color (a parameter), limit
    (such as milliseconds=10); timeline begin, end; stacked segments, top, panel, pair. A figure is a column,
    or cycles, sram or dma for short. Every kind has width (such as 84mm, the column of a paper) and style (a
    style sheet of matplotlib, FILE.mplstyle, or the name of one of its styles).
    """
    settings: dict[str, Any] = {
        name: given[name] for name in ("where", "title", "point", "limits") if given[name] not in (None, ())
    }
    for item in (part for text in given["more"] for part in re.split(r",(?=\w+=)", text)):
        name, sign, text = item.partition("=")
        if not sign:
            raise click.UsageError(f"--set must be NAME=VALUE (got {item!r})")
        settings[name.strip()] = text
    settings = parse_settings(settings)
    from dlasim.sweeps.charts import draw, fitting_kind
    from dlasim.sweeps.results.report_file import open_table
    from dlasim.sweeps.results.result_files import ABOUT, LAYERS
    from dlasim.system.fileio import keep_apart

    table = open_table(results)
    inputs = (table.path, *(table.path.with_name(name) for name in (LAYERS, ABOUT)))
    if output:
        keep_apart(inputs, (Path(output),))  # before anything is read
    kind = kind or fitting_kind(table, given["where"], given["limits"])
    name = f"{table.path.stem}-{kind}.png" if results.endswith(".json") else f"{kind}.png"
    path = Path(output) if output else table.path.with_name(name)
    keep_apart(inputs, (path,))
    draw(table, kind, path, **settings)
    if as_json:
        say(json.dumps({"output": str(path), "kind": kind, "settings": settings}, indent=2))
    say(f"wrote {path}", err=True)
