"""Builds the kernels that ship as machine code, for each level of x86-64: always the same bytes from the same
sources, numba, llvmlite and Python. With --check, compares with what ships and fails on a difference.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from dlasim.native import build, object_file
from dlasim.sim.kernels.loader import KINDS, kernel_unit
from dlasim.sim.kernels.prebuilt import LEVELS, MANIFEST, Level

FOLDER = Path(__file__).resolve().parent.parent / "sim" / "kernels" / "prebuilt"


def main() -> int:
    """Build, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the prebuilt objects")
    parser.add_argument("--level", type=int, help=argparse.SUPPRESS)  # one of them, in a process of its own
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder for the objects")
    given = parser.parse_args()
    if given.level is not None:
        _build_here(LEVELS[given.level], given.output)
    elif given.check:
        return _check()
    else:
        _build_all(given.output)
        (given.output / MANIFEST).write_text(json.dumps(_manifest(), indent=2) + "\n", encoding="utf-8")
    return 0


def _manifest() -> dict[str, object]:
    """What the objects are made of, and with."""
    versions = {name: importlib.metadata.version(name) for name in ("numba", "llvmlite")}
    python = ".".join(platform.python_version_tuple()[:2])
    sources = {kind: kernel_unit(kind).source_digest for kind in KINDS}
    return {"compiler": {**versions, "python": python}, "sources": sources}


def _build_all(output: Path) -> None:
    for number, level in enumerate(LEVELS):
        command = [sys.executable, "-P", __file__, "--level", str(number), "--output", str(output)]
        cpu = {"NUMBA_OPT": "0", "NUMBA_CPU_NAME": level.cpu, "NUMBA_CPU_FEATURES": level.features}
        subprocess.run(command, env=os.environ | cpu, check=True)
        print(f"built {level.file}: {(output / level.file).stat().st_size:,} bytes", flush=True)


def _build_here(level: Level, output: Path) -> None:
    code = build.build_object("dlasim.sim.kernels.entry", "run", level.kind, level.target)
    (output / level.file).write_bytes(object_file.seal(code))


def _check() -> int:
    shipped = json.loads((FOLDER / MANIFEST).read_bytes())
    wanted = _manifest()
    if shipped["sources"] != wanted["sources"]:
        print("the prebuilt kernels are stale: run `make kernels`")
        return 1
    if shipped["compiler"] != wanted["compiler"]:
        print(f"cannot compare: this is {wanted['compiler']}, they were built with {shipped['compiler']}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        _build_all(Path(folder))
        names = [level.file for level in LEVELS]
        fresh = {name: Path(folder, name).read_bytes() for name in names}
    changed = [name for name in names if fresh[name] != (FOLDER / name).read_bytes()]
    print(f"stale: {', '.join(changed)}" if changed else "the prebuilt kernels match their sources")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
