"""A name means one thing: the rule of CONTRIBUTING.md for classes and modules of the product."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("dlasim", "isa", "sim", "compiler_shim", "vp", "sweeps")
COMMANDS = Path("dlasim/cli")  # a module there has the name of its command
PARALLEL = (  # folders whose modules may be named alike, since they play the same part in each
    {
        "compiler_shim/operators",
        "sim/host",
        "sim/fast_engine",
    },  # an operator's rules, NumPy function and kernel
    {"compiler_shim/tflite", "isa/container"},  # a file format's reader and writer
    {"sim/timing", "sweeps/evaluation", "sweeps/charts", "sweeps/page"},  # what there is, and how it is drawn
)


def modules() -> Iterator[Path]:
    """Every module of the product, relative to the repository."""
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):  # does not follow the links in dlasim/
            yield file.relative_to(ROOT)


def test_a_class_name_occurs_once() -> None:
    found: dict[str, list[Path]] = defaultdict(list)
    for path in modules():
        for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path)
    assert len(found) > 300
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_a_module_name_occurs_once_or_in_parallel_folders() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for path in modules():
        if path.parent != COMMANDS and path.stem not in ("__init__", "__main__"):
            found[path.stem].add(str(path.parent))
    assert len(found) > 250
    doubled = {name: folders for name, folders in found.items() if len(folders) > 1}
    assert {name: f for name, f in doubled.items() if not any(f <= parallel for parallel in PARALLEL)} == {}
    assert all(any(f <= parallel for f in doubled.values()) for parallel in PARALLEL), "a rule nobody needs"
