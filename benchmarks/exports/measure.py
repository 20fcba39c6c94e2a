"""Compares dlasim with onnxruntime on exports that make.py wrote: `python measure.py FOLDER`.

Each is compiled for the default machine, and its layers and outputs are compared, of one input of noise. The
program is taken as exact: tests see to that. FOLDER/measured.csv gets a row for each file, and a run that was
stopped goes on behind the last; when all are measured it becomes compared/exports.csv, of which zoo.py makes a
chapter of docs/zoo.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from compared import exports  # noqa: E402

from dlasim import api  # noqa: E402
from dlasim.checking.onnx_comparison import MAX_SHARE, MAX_STEPS  # noqa: E402
from dlasim.errors import InputError, RunError  # noqa: E402
from tests.onnx.single_operators import compared  # noqa: E402


def main(arguments: list[str]) -> int:
    """Measure what has no row yet, the smallest first."""
    folder = Path(arguments[0])
    journal = folder / "measured.csv"
    rows = {row.name: row for row in exports.read(journal)}
    for path in sorted(folder.glob("*.onnx"), key=lambda path: path.stat().st_size):
        if path.stem not in rows:
            rows[path.stem] = _measure(path)
            print(rows[path.stem], file=sys.stderr, flush=True)
            exports.write(journal, rows.values())
    journal.rename(exports.FILE)
    exports.write_chapter()
    return int(not all(row.is_near for row in rows.values()))


def _measure(path: Path) -> exports.Row:
    network, exporter, form = path.stem.rsplit(".", 2)
    try:
        api.compile(path)
        found, _ = compared(path, runs=1)
    except (InputError, RunError) as error:
        why = str(error).replace(f"{path}: ", "")[:200]
        return exports.Row(network, exporter, form, f"refused: {why}")
    is_near = found.steps <= MAX_STEPS and found.differing <= MAX_SHARE * found.elements
    verdict = "within the bounds" if is_near else "beyond the bounds"
    if is_near and not found.passed:
        verdict = "another output is the largest"
    coarse = [layer for layer in found.layers if layer.is_coarse]
    return exports.Row(
        network, exporter, form, verdict,
        len(found.layers), found.steps, found.elements, found.differing,
        sum(layer.elements for layer in coarse), sum(layer.differing for layer in coarse),
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
