"""Files for Model Explorer: its format, and the names by which it finds a model's operators."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dlasim import api
from dlasim.cli import main
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.errors import InputError
from dlasim.overlay import overlay_files

FIGURES = {
    "unit", "cycles", "busy_cycles", "macs", "utilization", "tiles", "dma_read_bytes", "dma_write_bytes",
    "energy_nj",
}  # fmt: skip


def check_format(data: dict[str, Any]) -> None:
    """What node_data_builder.py of ai-edge-model-explorer 0.1.34 calls GraphNodeData."""
    assert data.keys() <= {"results", "thresholds", "gradient"}
    for result in data["results"].values():
        assert result.keys() <= {"value", "bgColor", "textColor"}
        assert isinstance(result["value"], int | float | str)
    stops = [item["stop"] for item in data.get("gradient", ())]
    assert not stops or (stops[0], stops[-1]) == (0, 1), "those of the least and the greatest value"
    for item in data.get("gradient", ()):
        assert item.keys() <= {"stop", "bgColor", "textColor"}
        assert len(item["bgColor"]) == 7, "no other colours are interpolated"


@pytest.mark.parametrize("name", ["resnet8", "ds_cnn", "vit"])
def test_each_layer_has_the_name_of_an_output(name: str, tmp_path: Path) -> None:
    """Names and order are those that LiteRT reads from the same file."""
    interpreter = pytest.importorskip(
        "ai_edge_litert.interpreter", reason="LiteRT is not installed: nothing else reads the names"
    )
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(build_topology(name)))
    reader = interpreter.Interpreter(str(path))
    tensors = {detail["index"]: detail["name"] for detail in reader.get_tensor_details()}
    written = [{tensors[number] for number in op["outputs"]} for op in reader._get_ops_details()]
    result = api.run(path, timing_only=True)
    files = result.overlay(tmp_path / "overlay")
    assert {file.stem for file in files} == FIGURES
    for file in files:
        data = json.loads(file.read_text())
        check_format(data)
        assert set(data["results"]) <= set.union(*written)
        values = [row[file.stem] for row in result.layers]
        found = [item["value"] for item in data["results"].values()]
        assert len(found) >= len(values) - sum(not row["cycles"] for row in result.layers)
        if file.stem in ("cycles", "energy_nj"):
            assert sum(found) == pytest.approx(sum(values))


def test_the_command_writes_it(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["run", "mnist", "--timing-only", "--overlay", str(tmp_path / "costs")])
    assert done.exit_code == 0, done.output
    assert {path.stem for path in (tmp_path / "costs").iterdir()} == FIGURES
    (tmp_path / "file").write_text("")
    for wrong in ("file", "file/costs"):
        done = CliRunner().invoke(main, ["run", "mnist", "--timing-only", "--overlay", str(tmp_path / wrong)])
        assert done.exit_code == 2
        assert "cannot create the folder" in done.stderr


def test_a_program_has_no_tensors(tmp_path: Path) -> None:
    program = tmp_path / "program.bin"
    assert CliRunner().invoke(main, ["compile", "mnist", "-o", str(program)]).exit_code == 0
    with pytest.raises(InputError, match="an overlay needs a model"):
        api.run(program, timing_only=True).overlay(tmp_path / "costs")
    assert not (tmp_path / "costs").exists()


def test_an_overlay_replaces_no_source(tmp_path: Path) -> None:
    model = overlay_files(tmp_path)["cycles"]
    model.write_bytes(write_tflite(build_topology("mnist")))
    done = CliRunner().invoke(main, ["run", str(model), "--timing-only", "--overlay", str(tmp_path)])
    assert done.exit_code == 2
    assert "cycles.json" in done.stderr
