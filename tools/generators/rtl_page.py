"""docs/rtl.md, whose tables follow from measured files; the rest of that page is written by hand."""

from __future__ import annotations

from synthesis import ROOT

from generators import random_machines_table, timing_table
from generators.marked_table import with_table

PAGE = ROOT / "docs" / "rtl.md"


def page() -> str:
    """The page with today's tables."""
    text = PAGE.read_text(encoding="utf-8")
    for tables in (random_machines_table, timing_table):
        text = with_table(text, tables.SOURCE, tables.table())
    return text
