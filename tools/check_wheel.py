"""Builds the source archive from a copy of the tree and the wheel from that, as `pip` would, and compares.

Each file of ours must be in the wheel as it is in the tree, and no other.
"""

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
BUILD_FILES = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE")
SHOWN = 20


def main() -> int:
    """Build, compare, and leave wheel and source archive in --output if given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, help="folder to leave the wheel and the source archive in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tree, built = Path(name, "tree"), Path(name, "built")
        files = list(package_files())
        for link in package_links():
            (tree / "dlasim").mkdir(parents=True, exist_ok=True)
            (tree / link.name).mkdir()
            (tree / "dlasim" / link.name).symlink_to(link.readlink())
        for file in (*files, *BUILD_FILES):
            (tree / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, tree / file)
        wheel = build(tree, built)
        problems = compare(tree, files, wheel)
        for problem in problems[:SHOWN]:
            print(problem, file=sys.stderr)
        if options.output and not problems:
            shutil.copytree(built, options.output, dirs_exist_ok=True)
    print(f"{wheel.name}: {len(files)} files, {len(problems)} problems")
    return 1 if problems else 0


def package_links() -> list[Path]:
    """The links in the package to the folders at the top; none in an unpacked source archive."""
    return [path for path in (ROOT / "dlasim").iterdir() if path.is_symlink()]


def package_files() -> Iterator[str]:
    """The files that belong in the wheel, by their paths in the package."""
    links = [path.name for path in package_links()]
    git = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run([*git, "--", "dlasim", *links], capture_output=True, text=True, check=False)
    for name in listing.stdout.split("\0") if listing.returncode == 0 else _files_below(ROOT / "dlasim"):
        if name and (ROOT / name).is_file():
            yield name if name.startswith("dlasim/") else f"dlasim/{name}"


def _files_below(package: Path) -> Iterator[str]:
    """The package's files where there is no git, as in an unpacked source archive."""
    for path in sorted(package.rglob("*")):
        if "__pycache__" not in path.parts:
            yield str(path.relative_to(ROOT))


def build(tree: Path, output: Path) -> Path:
    """Source archive and wheel of a tree; the wheel's path."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(output), str(tree)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"the wheel does not build:\n{result.stdout}{result.stderr}")
    return next(output.glob("*.whl"))


def compare(tree: Path, files: list[str], wheel: Path) -> list[str]:
    """What is missing from the wheel, differs from the tree, or does not belong there."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name: archive.read(name) for name in archive.namelist() if ".dist-info/" not in name}
    expected = {name: (tree / name).read_bytes() for name in files}
    problems = [f"not in the wheel: {name}" for name in sorted(expected.keys() - packed.keys())]
    problems += [f"only in the wheel: {name}" for name in sorted(packed.keys() - expected.keys())]
    common = sorted(expected.keys() & packed.keys())
    return problems + [f"differs in the wheel: {name}" for name in common if expected[name] != packed[name]]


if __name__ == "__main__":
    sys.exit(main())
