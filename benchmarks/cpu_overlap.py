"""How much of a network's time CPU and DLA could share at most: `python benchmarks/cpu_overlap.py FOLDER …`.

A step of the CPU waits only for streams whose results it needs (`cycles.overlap`). The bound lets every layer
start when those that it reads are done, as if nothing else ran: no order of the same layers takes less. The
models of the folders, on the default machine; the table goes to benchmarks/compared/cpu_overlap.csv.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import dlasim
from dlasim.compiler_shim.calls.nodes import DlaNode, PlacedNetwork, root_of
from dlasim.errors import InputError

TABLE = Path(__file__).parent / "compared" / "cpu_overlap.csv"
COLUMNS = ("network", "total", "cpu", "overlap", "bound")


def sources(network: PlacedNetwork) -> Iterator[tuple[int, set[int]]]:
    """The layer of each node, and those whose results it reads."""
    written: dict[int, set[int]] = {}
    for node in network.nodes:
        if isinstance(node, DlaNode):
            read, results, layer = node.sources, (node.output,), node.layer
        else:
            read, results, layer = node.call.inputs, node.call.outputs, node.call.layer
        bases = [root_of(network.values, value) for value in read]
        yield layer, {each for base in bases for each in written.get(base, ())}
        for value in results:
            written.setdefault(root_of(network.values, value), set()).add(layer)


def row(name: str, source: Any) -> dict[str, Any]:
    """A network's cycles, and the least that any order of its layers takes."""
    lowered = dlasim.compile(source)
    report = dlasim.run(source, timing_only=True).report
    cycles = [layer["cycles"] for layer in report["layers"]]
    ends = [0] * len(cycles)
    for layer, read in sources(lowered.network):
        before = [ends[each] for each in read - {layer}]
        ends[layer] = max(ends[layer], max(before, default=0) + cycles[layer])
    found = report["cycles"]
    bound = max([*ends, found["dla"], found["cpu"]])
    given = name, found["total"], found["cpu"], found["overlap"], min(bound, found["total"])
    return dict(zip(COLUMNS, given, strict=True))


def main() -> None:
    """The table; what needs more SRAM than the machine has is left out."""
    rows = []
    files = [path for folder in sys.argv[1:] for path in sorted(Path(folder).rglob("*.tflite"))]
    for path in files:
        with suppress(InputError):
            rows.append(row(path.stem, path))
            print(*rows[-1].values(), flush=True)
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
