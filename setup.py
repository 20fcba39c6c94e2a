"""Derives packages and their data from the tree, so that no subpackage and no file can be forgotten."""

from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).resolve().parent
FOLDERS = {f"dlasim.{name}": name for name in ("isa", "sim", "vp", "firmware", "compiler_shim", "sweeps")}
PLACES = {"dlasim": "dlasim"} | FOLDERS
PACKAGES = [
    *PLACES,
    *(f"{package}.{name}" for package, place in PLACES.items() for name in find_packages(place)),
]


def data_files(place: str) -> list[str]:
    """Everything below a folder that is no module of a package; where it lies in it."""
    folder = ROOT / place
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not is_module(path)
    )


def is_module(path: Path) -> bool:
    """Whether setuptools finds the file by itself."""
    return path.suffix == ".py" and (path.parent / "__init__.py").exists()


setup(
    packages=PACKAGES,
    package_dir=PLACES,
    package_data={package: data_files(place) for package, place in PLACES.items()},
)
