"""What `dlasim confirm` found of the points of a sweep: a table of its own, whose cells results.csv has, too.

Rows have the content keys of points, so nothing is taken over from another version, network or machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from dlasim.errors import InputError
from dlasim.sweeps.results.csv_table import read_csv, write_csv
from dlasim.sweeps.results.result_files import ABOUT, CONFIRMED, RESULTS
from dlasim.system.fileio import atomic_write, read_file

COLUMNS = ("verified", "rtl", "rtl_cycles_dla", "rtl_ratio")
Found = Mapping[str, str]


def read_confirmed(folder: Path) -> dict[str, Found]:
    """By content key, what is known of points."""
    path = folder / CONFIRMED
    if not path.exists():
        return {}
    head, lines = read_csv(path)
    if head != ["key", *COLUMNS]:
        raise InputError(f"{path} is not a table of dlasim confirm: it has the columns {', '.join(head)}")
    return {key: dict(zip(COLUMNS, cells, strict=True)) for key, *cells in lines}


def add_confirmed(folder: Path, found: Mapping[str, Found]) -> None:
    """Write what was found, with what was known before, to both tables."""
    known = read_confirmed(folder)
    for key, cells in found.items():
        known[key] = {**known.get(key, {}), **{name: text for name, text in cells.items() if text}}
    write_csv(folder / CONFIRMED, ["key", *COLUMNS], _rows(known))
    head, lines = read_csv(folder / RESULTS)
    kept = [number for number, name in enumerate(head) if name not in COLUMNS]
    place = head.index("key")
    rows = [
        [*(line[number] for number in kept), *(known.get(line[place], {}).get(name, "") for name in COLUMNS)]
        for line in lines
    ]
    digest = write_csv(folder / RESULTS, [*(head[number] for number in kept), *COLUMNS], rows)
    _note(folder / ABOUT, digest)


def _rows(known: Mapping[str, Found]) -> Iterable[list[str]]:
    return ([key, *(cells.get(name, "") for name in COLUMNS)] for key, cells in known.items())


def _note(path: Path, digest: str) -> None:
    """The hash of the new results.csv."""
    about = json.loads(read_file(path))
    about["results_sha256"] = digest
    atomic_write(path, json.dumps(about, indent=2) + "\n")
