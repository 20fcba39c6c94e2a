"""Builds the wheel from a copy of the tree and compares: each file of ours in it, as it is, and no other."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("isa", "sim", "vp", "firmware", "compiler_shim", "sweeps")
BUILD_FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
SHOWN = 20


def main() -> int:
    """Build, compare, and leave the wheel in --output if given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="folder to leave the wheel in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tree, wheels = Path(name, "tree"), Path(name, "wheels")
        files = list(tree_files())
        for file in (*files, *BUILD_FILES):
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, tree / file)
        wheel = build(tree, wheels)
        problems = compare(tree, files, wheel)
        for problem in problems[:SHOWN]:
            print(problem, file=sys.stderr)
        if options.output and not problems:
            options.output.mkdir(parents=True, exist_ok=True)
            shutil.copy(wheel, options.output)
    print(f"{wheel.name}: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


def tree_files() -> Iterator[str]:
    """The files that belong into the wheel, by their paths in the tree."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run([*git, "--", "dlasim", *FOLDERS], capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        yield from (name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file())
        return
    for folder in ("dlasim", *FOLDERS):  # an unpacked source archive has no git
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(ROOT))


def build(tree: Path, wheels: Path) -> Path:
    """The wheel of a tree."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(wheels), str(tree)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"the wheel does not build:\n{result.stdout}{result.stderr}")
    return next(wheels.glob("*.whl"))


def compare(tree: Path, files: list[str], wheel: Path) -> list[str]:
    """What is missing from the wheel, differs from the tree, or has no business there."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    expected = {
        (name if name.startswith("dlasim/") else f"dlasim/{name}"): (tree / name).read_bytes()
        for name in files
    }
    problems = [f"not in the wheel: {name}" for name in sorted(expected.keys() - packed.keys())]
    problems += [f"only in the wheel: {name}" for name in sorted(packed.keys() - expected.keys())]
    common = sorted(expected.keys() & packed.keys())
    return problems + [f"differs in the wheel: {name}" for name in common if expected[name] != packed[name]]


if __name__ == "__main__":
    sys.exit(main())
