"""Compares dlasim with onnxruntime on exports that make.py wrote: `python measure.py FOLDER`.

Each is compiled for the default machine, and its layers and outputs are compared, of one input of noise. The
program is taken as exact: tests see to that. FOLDER/measured.csv gets a row for each file, and a run that was
stopped goes on behind the last. When all are measured it becomes compared/exports.csv, of which zoo.py makes
a chapter of docs/zoo.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
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
        is_own = _largest(path, optimized=True) != _largest(path, optimized=False)
        verdict = "within the bounds; even onnxruntime's largest output changes with its optimizations"
        verdict = verdict if is_own else "another output is the largest"
    coarse = [layer for layer in found.layers if layer.is_coarse]
    return exports.Row(
        network, exporter, form, verdict,
        len(found.layers), found.steps, found.elements, found.differing,
        sum(layer.elements for layer in coarse), sum(layer.differing for layer in coarse),
    )  # fmt: skip


def _largest(path: Path, optimized: bool) -> list[int]:
    """The places of onnxruntime's largest outputs for 8 images of noise."""
    options = onnxruntime.SessionOptions()
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(0)
    feeds = [
        {port.name: draw.normal(size=port.shape).astype(np.float32) for port in session.get_inputs()}
        for _ in range(8)
    ]
    return [int(output.argmax()) for feed in feeds for output in session.run(None, feed)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
