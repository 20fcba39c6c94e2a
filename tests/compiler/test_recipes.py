"""Files of other frameworks: the error names the recipe for their format, and the page has it."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from dlasim.cli import main
from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.files.recipes import KERAS, ONNX, PYTORCH
from dlasim.errors import InputError

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "get-an-int8-network.md"
HDF5 = b"\x89HDF\r\n\x1a\n" + bytes(100)
ZIP = b"PK\x03\x04" + bytes(100)


@pytest.mark.parametrize(
    ("file", "content", "what", "section"),
    [
        ("m.keras", ZIP, "a Keras model", "From Keras"),
        ("m.h5", HDF5, "a Keras model", "From Keras"),
        ("frozen.pb", b"\x0a\x10", "a TensorFlow model", "From Keras"),
        ("m.pt", ZIP, "a PyTorch file", "From PyTorch"),
        ("M.PTH", ZIP, "a PyTorch file", "From PyTorch"),
        ("m.pt2", ZIP, "a PyTorch file", "From PyTorch"),
    ],
)
def test_a_file_of_another_framework(
    file: str, content: bytes, what: str, section: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        load_graph(path)
    assert str(caught.value) == (
        f"{path} is {what}; dlasim runs int8 networks: "
        f'quantize it with `dlasim quantize`, as the page "Get an int8 network" shows under "{section}"'
    )


@pytest.mark.parametrize("command", ["run", "inspect", "explain", "verify", "compile", "sweep"])
@pytest.mark.parametrize(("file", "section"), [("saved", "From Keras"), ("m.pt", "From PyTorch")])
def test_every_command_names_the_recipe(command: str, file: str, section: str, tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").write_bytes(b"\x08\x01")
    (tmp_path / "m.pt").write_bytes(ZIP)
    output = ["-o", str(tmp_path / "x.dlag")] if command == "compile" else []
    result = CliRunner().invoke(main, [command, str(tmp_path / file), *output])
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert f'shows under "{section}"' in result.stderr
    assert not (tmp_path / "x.dlag").exists()


def test_a_folder_without_a_network(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Is a directory"):
        load_graph(tmp_path)


def test_a_missing_file_is_missing_whatever_its_ending(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_graph(tmp_path / "m.keras")


def test_the_page_has_these_recipes() -> None:
    headings = re.findall(r"^## (.+)$", PAGE.read_text(), re.MULTILINE)
    assert {KERAS, ONNX, PYTORCH} <= set(headings)
