"""What the page says of CPU and DLA at the same time, by the benchmark's file."""

import csv
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "benchmarks" / "compared" / "cpu_overlap.csv"


def test_the_page_has_every_network_that_needs_both():
    with TABLE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    text = (ROOT / "docs" / "timing-model.md").read_text(encoding="utf-8")
    both = [row for row in rows if 0 < int(row["cpu"]) < int(row["total"])]
    assert f"Of {len(rows)} networks, {len(both)} need both" in text
    for row in both:
        cells = [f"{int(row[name]):,}" for name in ("total", "cpu", "overlap", "bound")]
        assert f"| {row['network'].split('.')[0]} | {' | '.join(cells)} |" in text
