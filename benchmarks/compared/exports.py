"""How quantized exports of PyTorch networks compare with onnxruntime: exports.csv, a chapter of the zoo."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from compared.common import table

FILE = Path(__file__).with_name("exports.csv")
PAGE = FILE.parents[2] / "docs" / "zoo.md"
_TITLE = "## ONNX networks from PyTorch\n"
_PROSE = FILE.with_suffix(".md.in")


@dataclass(frozen=True, slots=True)
class Row:
    """One file: layers, the largest difference in steps, and elements, of which some are of coarse layers."""

    network: str
    exporter: str
    form: str
    verdict: str
    layers: int = 0
    steps: int = 0
    elements: int = 0
    differing: int = 0
    coarse: int = 0
    coarse_differing: int = 0

    @property
    def name(self) -> str:
        """The file's, without its suffix."""
        return f"{self.network}.{self.exporter}.{self.form}"

    @property
    def is_taken(self) -> bool:
        """Whether it compiles."""
        return not self.verdict.startswith("refused")

    @property
    def is_near(self) -> bool:
        """Whether `verify` passes it."""
        return self.verdict.startswith("within")


def read(path: Path = FILE) -> list[Row]:
    """The rows of a file; none if it is not there."""
    if not path.exists():
        return []
    types = {each.name: str if each.type == "str" else int for each in fields(Row)}
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(**{key: types[key](value) for key, value in row.items()}) for row in csv.DictReader(file)]


def write(path: Path, rows: Iterable[Row]) -> None:
    """Keep them: all or, where the process is killed, those of before."""
    fresh = path.with_suffix(".new")
    with fresh.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in sorted(rows, key=lambda row: row.name))
    fresh.replace(path)


def chapter() -> str:
    """Of docs/zoo.md: a row for each network, and what was refused."""
    rows = read()
    groups = {
        name: [row for row in rows if row.network == name]
        for name in dict.fromkeys(row.network for row in rows)
    }
    head = (
        "network",
        "files",
        "taken",
        "within the bounds",
        "elements that differ at most",
        "coarse ones",
        "steps",
    )
    body = [(name, *_summary(group)) for name, group in groups.items()]
    prose = _PROSE.read_text(encoding="utf-8")
    text = f"{_TITLE}\n{prose}\n" + table(head, [*body, ("**all**", *_summary(rows))])
    refusals = [(row.name, row.verdict) for row in rows if not row.is_near]
    return text + ("\n" + table(("file", "why not"), refusals, texts=2) if refusals else "")


def write_chapter() -> None:
    """Put it at the end of the page, where zoo.py writes it, too."""
    page = PAGE.read_text(encoding="utf-8").split(_TITLE)[0]
    PAGE.write_text(page.rstrip("\n") + "\n\n" + chapter(), encoding="utf-8")


def _summary(rows: list[Row]) -> tuple[str, ...]:
    taken = [row for row in rows if row.is_taken]
    most = max((row.differing / row.elements for row in taken if row.elements), default=0)
    coarse = max((row.coarse_differing / row.coarse for row in taken if row.coarse), default=0)
    steps = max((row.steps for row in taken), default=0)
    counts = len(rows), len(taken), sum(row.is_near for row in rows)
    return *map(str, counts), f"{100 * most:.3f} %", f"{100 * coarse:.1f} %", str(steps)
