"""Text from outside, such as a model's name or an error, in a Markdown page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from dlasim.errors import printable
from dlasim.isa.documents.markdown import escape
from dlasim.sweeps.definition.study import ChartOrder


def plain(text: str) -> str:
    """The text such that a page shows it as it is: no markup, no cell's end, one line."""
    return escape(printable(" ".join(text.split()))).replace("`", r"\`")


def pictures(charts: Sequence[ChartOrder], missing: Mapping[str, str]) -> Iterator[str]:
    """The charts of a study in their order; for a missing one, the reason."""
    for chart in charts:
        if chart.file in missing:
            yield from ("", f"{plain(chart.file)} was left out: {plain(missing[chart.file])}.")
        else:
            title = str(chart.settings.get("title", chart.file))
            yield from ("", f"![{plain(title)}]({quote(chart.file)})")
