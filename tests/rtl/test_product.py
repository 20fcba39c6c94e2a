"""The RTL's multipliers against the operator of the language."""

import subprocess
from pathlib import Path

import pytest

from tests.rtl.builder import RTL
from tests.rtl.mutations import PRODUCT_MUTATIONS, Mutation

BENCH = Path(__file__).parent / "product.sv"
MODULES = ("dla_carry_save", "dla_product", "dla_square", "dla_scale")


def first_line(folder: Path) -> str:
    """What the bench prints of modules in this folder: how many cases it compared, or one that is wrong."""
    make = ["verilator", "--binary", "-CFLAGS", "-O0", "--output-split", "0", "-Wno-fatal"]
    make += ["--top-module", "product_bench", "--Mdir", "build", *(f"{module}.sv" for module in MODULES)]
    subprocess.run([*make, str(BENCH)], cwd=folder, check=True, capture_output=True)
    command = [str(folder / "build" / "Vproduct_bench")]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()[0]


def write_modules(folder: Path) -> None:
    for module in MODULES:
        (folder / f"{module}.sv").write_text((RTL / f"{module}.sv").read_text())


def test_every_product_is_the_operators(tmp_path: Path) -> None:
    write_modules(tmp_path)
    assert first_line(tmp_path) == "compared 16384"


@pytest.mark.slow
@pytest.mark.parametrize("mutation", PRODUCT_MUTATIONS, ids=lambda mutation: mutation.name.replace(" ", "-"))
def test_each_mistake_is_found(mutation: Mutation, tmp_path: Path) -> None:
    write_modules(tmp_path)
    file = tmp_path / mutation.file
    text = file.read_text()
    assert text.count(mutation.old) == 1
    file.write_text(text.replace(mutation.old, mutation.new))
    assert first_line(tmp_path).startswith("wrong: ")
