"""Networks, and firmware with another main(), built with the cross compiler of the `firmware` extra."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """network("mnist"): a built-in network as a .tflite file."""
    folder = tmp_path_factory.mktemp("networks")

    def make(name: str) -> Path:
        path = folder / f"{name}.tflite"
        if not path.exists():
            path.write_bytes(write_tflite(build_topology(name)))
        return path

    return make


@pytest.fixture(scope="session")
def builder() -> ModuleType:
    """tools/build_firmware.py; skips where there is no compiler."""
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed: nothing to build firmware with")
    spec = importlib.util.spec_from_file_location("build_firmware", ROOT / "tools" / "build_firmware.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def library(builder: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """All objects but that of main(), compiled once."""
    objects: list[Path] = builder.compile_library(tmp_path_factory.mktemp("library"))
    return objects


@pytest.fixture(scope="session")
def firmware(
    builder: ModuleType, library: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Path]:
    """firmware("acknowledge"): the firmware with programs/acknowledge.c as its main()."""
    folder = tmp_path_factory.mktemp("firmware")

    def make(name: str) -> Path:
        elf = folder / f"{name}.elf"
        if not elf.exists():
            builder.build(elf, PROGRAMS / f"{name}.c", library)
        return elf

    return make
