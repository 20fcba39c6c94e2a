"""Builds the routines that ship as machine code: always the same bytes from the same sources, llvmlite and
Python. With --check, compares with what ships and fails on a difference.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import platform
import sys
import tempfile
from pathlib import Path

from flat_code import build_flat

from dlasim.native.shipped import FOLDER, MANIFEST, file_name
from dlasim.sweeps.compiled import ROUTINES


def main() -> int:
    """Build, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the prebuilt routines")
    given = parser.parse_args()
    if given.check:
        return check()
    build_all(FOLDER)
    return 0


def build_all(output: Path) -> None:
    """The flat code of each routine, and a manifest of what they are made of, and with."""
    routines = {}
    for each in ROUTINES:
        code, entry = build_flat(each)
        (output / file_name(each)).write_bytes(code)
        digest = hashlib.sha256(code).hexdigest()
        routines[each.unit.name] = {"sources": each.unit.source_digest, "code": digest, "entry": entry}
        print(f"built {file_name(each)}: {len(code):,} bytes", flush=True)
    manifest = {"compiler": compiler(), "routines": routines}
    (output / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def check() -> int:
    """Whether what ships is what is built here."""
    theirs = json.loads((FOLDER / MANIFEST).read_bytes())["compiler"]
    if theirs != compiler():
        print(f"cannot compare: this is {compiler()}, the routines were built with {theirs}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        build_all(Path(folder))
        changed = [
            each.name
            for each in sorted(Path(folder).iterdir())
            if not (FOLDER / each.name).exists() or each.read_bytes() != (FOLDER / each.name).read_bytes()
        ]
    print(
        f"stale: {', '.join(changed)}: run `make routines`"
        if changed
        else "the prebuilt routines match their sources"
    )
    return 1 if changed else 0


def compiler() -> dict[str, str]:
    """What builds."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"llvmlite": importlib.metadata.version("llvmlite"), "python": python}


if __name__ == "__main__":
    sys.exit(main())
