"""Derives the package list from the tree, so that no subpackage or data file can be forgotten."""

from setuptools import find_packages, setup

FOLDERS = ("isa", "sim", "vp", "firmware", "compiler_shim", "sweeps")

setup(
    packages=["dlasim", *(f"dlasim.{name}" for name in find_packages("dlasim"))]
    + [f"dlasim.{folder}" for folder in FOLDERS]
    + [f"dlasim.{folder}.{name}" for folder in FOLDERS for name in find_packages(folder)],
    package_dir={"dlasim": "dlasim"} | {f"dlasim.{folder}": folder for folder in FOLDERS},
    package_data={"": ["*.toml", "*.typed"], "dlasim.firmware": ["**/*"]},
)
