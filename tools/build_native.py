"""Builds the libraries of machine code that ship: always the same bytes from the same sources and compilers.

Where sources have changed but mean the same, only the manifest is written anew. With --check, compares with
what ships and fails on a difference.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from itertools import chain
from pathlib import Path

from dlasim.machine_code import shipped_units
from dlasim.native import build
from dlasim.native.digests import PACKAGE, file_digest, source_files
from dlasim.native.levels import PLATFORMS, Platform, level_named
from dlasim.native.shipped import FOLDER, MANIFEST
from dlasim.native.target import library_machine
from dlasim.native.unit import CodeUnit

COMPILERS = ("llvmlite", "ziglang")


def main() -> int:
    """Build, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the libraries that ship")
    parser.add_argument("--unit", help=argparse.SUPPRESS)  # one symbol, in a process of its own
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder for the libraries")
    given = parser.parse_args()
    if given.unit:
        _write_unit(next(each for each in shipped_units() if each.symbol == given.unit), given.output)
        return 0
    return _check() if given.check else _build(given.output)


def _build(output: Path) -> int:
    output.mkdir(exist_ok=True)
    files = _files()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        meanings = _meanings(folder)
        if _is_current(output, meanings):
            print("the machine code that ships means the same as its sources")
        else:
            _compile(folder)
            for platform in PLATFORMS:
                _link(platform, folder, output)
    if _files() != files:
        print("the sources have changed meanwhile: nothing is noted; build again", file=sys.stderr)
        return 1
    parts = {"compilers": _compilers(), "libraries": _hashes(output), "meanings": meanings}
    (output / MANIFEST).write_text(json.dumps(parts | files, indent=1) + "\n", encoding="utf-8")
    return 0


def _check() -> int:
    """Whether what ships is what is built here."""
    theirs = json.loads((FOLDER / MANIFEST).read_bytes())
    if theirs["compilers"] != _compilers():
        print(f"cannot compare: this is {_compilers()}, the libraries were built with {theirs['compilers']}")
        return 1
    with tempfile.TemporaryDirectory() as name:
        _build(Path(name))
        names = [MANIFEST, *(platform.library for platform in PLATFORMS)]
        changed = [each for each in names if Path(name, each).read_bytes() != (FOLDER / each).read_bytes()]
    print(f"stale: {', '.join(changed)}: run `make native`" if changed else "the machine code is up to date")
    return 1 if changed else 0


def _meanings(folder: Path) -> dict[str, str]:
    """What each unit means; leaves it in LLVM's language in the folder. Kernels look at the CPU that they are
    for when they are imported, so that each level needs a process."""
    units = shipped_units()
    for unit in units:
        if not unit.level:
            _write_unit(unit, folder)
    levels = [unit.symbol for unit in units if unit.level]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda symbol: _run(__file__, "--unit", symbol, "--output", str(folder)), levels))
    return {unit.symbol: build.meaning_of((folder / f"{unit.symbol}.ll").read_text()) for unit in units}


def _write_unit(unit: CodeUnit, folder: Path) -> None:
    (folder / f"{unit.symbol}.ll").write_text(build.lower(unit))


def _compile(folder: Path) -> None:
    """The object files of all units, for each platform."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # LLVM lets Python's lock go
        list(pool.map(lambda job: _compile_one(*job, folder), list(_jobs())))


def _jobs() -> Iterator[tuple[CodeUnit, Platform]]:
    for unit in shipped_units():
        for platform in PLATFORMS:
            if not unit.level or level_named(unit.level).platform == platform.name:
                yield unit, platform


def _compile_one(unit: CodeUnit, platform: Platform, folder: Path) -> None:
    cpu, features = platform.cpu, ""
    if unit.level:
        cpu, features = level_named(unit.level).cpu, level_named(unit.level).features
    machine = library_machine(platform, cpu, features)
    code = build.compile_text((folder / f"{unit.symbol}.ll").read_text(), machine, bool(unit.kind))
    (folder / f"{unit.symbol}-{platform.name}.o").write_bytes(code)


def _link(platform: Platform, folder: Path, output: Path) -> None:
    """A library needs no other: what it calls of C is in every process of Python."""
    objects = sorted(str(path) for path in folder.glob(f"*-{platform.name}.o"))
    unfinished = folder / platform.library
    options = ("-shared", "-s", "-nostdlib", "-Wl,-z,undefs", "-Wl,--build-id=none")
    _run("-m", "ziglang", "cc", "-target", platform.linker_target, *options, "-o", str(unfinished), *objects)
    data = unfinished.read_bytes()
    renamed = output / f".{platform.library}"  # processes that run the one before keep it
    renamed.write_bytes(data)
    renamed.replace(output / platform.library)
    print(f"built {platform.library}: {len(data):,} bytes", flush=True)


def _is_current(output: Path, meanings: dict[str, str]) -> bool:
    try:
        known = json.loads((output / MANIFEST).read_bytes())
        libraries = _hashes(output)
    except (OSError, ValueError):
        return False
    current = (meanings, libraries, _compilers())
    return (known.get("meanings"), known.get("libraries"), known.get("compilers")) == current


def _files() -> dict[str, dict[str, object]]:
    """The files of each module, and the hash of each file."""
    modules = sorted({unit.module for unit in shipped_units()})
    files = {module: source_files(module) for module in modules}
    names = {module: [str(file.relative_to(PACKAGE)) for file in each] for module, each in files.items()}
    hashes = {name: file_digest(PACKAGE / name) for name in sorted({*chain(*names.values())})}
    return {"modules": dict(names), "files": dict(hashes)}


def _hashes(output: Path) -> dict[str, str]:
    names = [platform.library for platform in PLATFORMS]
    return {name: file_digest(output / name) for name in names}


def _compilers() -> dict[str, str]:
    return {name: metadata.version(name) for name in COMPILERS}


def _run(*command: str) -> None:
    subprocess.run([sys.executable, "-P", *command], check=True)


if __name__ == "__main__":
    sys.exit(main())
