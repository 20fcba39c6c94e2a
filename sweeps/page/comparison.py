"""The page of two runs: what differs, layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from dlasim.sweeps.page.document import document
from dlasim.sweeps.page.run import report_data, title_of


def comparison_page(before: Mapping[str, Any], after: Mapping[str, Any], labels: tuple[str, str]) -> str:
    """The HTML page that compares two reports; `labels` say where they come from."""
    reports = (before, after)
    names = [[str(layer["name"]) for layer in report["layers"]] for report in reports]
    data = {
        "page": "comparison",
        "runs": [
            {"label": label, "command": report.get("command"), **report_data(report)}
            for label, report in zip(labels, reports, strict=True)
        ],
        "pairs": matched(*names),
    }
    return document(f"{title_of(before)} and {title_of(after)}", data)


def matched(before: Sequence[str], after: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Pairs of layers with the same name, in order; None where only one network has it."""
    pairs: list[tuple[int | None, int | None]] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for what, low, high, first, last in matcher.get_opcodes():
        if what == "equal":
            pairs += zip(range(low, high), range(first, last), strict=True)
        else:
            pairs += [(number, None) for number in range(low, high)]
            pairs += [(None, number) for number in range(first, last)]
    return pairs
