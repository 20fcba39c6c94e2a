"""Studies: which points they span, and what they refuse."""

from pathlib import Path
from typing import Any

import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sim.configuration.machine_files import load_file
from dlasim.sweeps.definition.axes import find
from dlasim.sweeps.definition.study_builder import build_study
from dlasim.sweeps.definition.studyfile import parse_study, read_study, shipped_names, shipped_study
from dlasim.sweeps.definition.values import from_text, from_toml


def values(name: str, text: str) -> list[Any]:
    return from_text(find(name, "test"), text, "test")


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pes", "64,128", [64, 128]),
        ("pes", "16..64:16", [16, 32, 48, 64]),
        ("pes", "16..70:16", [16, 32, 48, 64]),
        ("sram", "64KiB..512KiB", [65536, 131072, 262144, 524288]),
        ("sram", "1K,1KiB,1024", [1024]),
        ("pes", "1..81:*3", [1, 3, 9, 27, 81]),
        ("pes", "1,4..16", [1, 4, 8, 16]),
        ("clock", "1.5,2", [1.5, 2.0]),
        ("parallel", "input,8X8", ["input", "8x8"]),
        ("dla_ops", "conv_2d+add", ["ADD+CONV_2D"]),
        ("dla_ops", "", [""]),
    ],
)
def test_values_as_text(name: str, text: str, expected: list[Any]) -> None:
    assert values(name, text) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [("pes", "many"), ("pes", "64..16"), ("pes", "0..16"), ("pes", "1..16:0"), ("pes", "1..16:*1"),
     ("sram", "1Q"), ("pes", "1.5"), ("pes", ""), ("sram", "1..2000000000:1"), ("pes", "²")],
)  # fmt: skip
def test_values_refused(name: str, text: str) -> None:
    with pytest.raises(InputError, match="test: "):
        values(name, text)


def test_values_in_toml() -> None:
    pes = find("pes", "test")
    assert from_toml(pes, {"from": 16, "to": 64, "powers_of_two": True}, "test") == [16, 32, 64]
    assert from_toml(pes, {"from": 16, "to": 64, "step": 24}, "test") == [16, 40, 64]
    assert from_toml(pes, 64, "test") == [64]
    assert from_toml(pes, [1, 2], "test") == [1, 2]
    with pytest.raises(InputError, match="whole number"):
        from_toml(pes, [True], "test")
    with pytest.raises(InputError, match="table with from, to"):
        from_toml(pes, {"from": 1}, "test")


def study(text: str, folder: Path = Path()) -> Any:
    return parse_study('models = ["ds_cnn"]\n' + text, "study.toml", folder, "study")


def test_points_are_the_product_in_order() -> None:
    points = list(study('[axes]\npes = [64, 128]\nsram = ["512KiB", "1MiB"]').points())
    assert [point.label for point in points] == ["512K 64 O", "1M 64 O", "512K 128 O", "1M 128 O"]
    assert [point.number for point in points] == [0, 1, 2, 3]


def test_conditions_thin_points_out() -> None:
    text = 'where = ["pes == 64 or sram > 512KiB", "case == \'a\'"]\n'
    text += '[axes]\npes = [64, 128]\nsram = ["512KiB", "1MiB"]\n'
    text += '[[cases]]\nname = "a"\nfusion = "none"\n[[cases]]\nname = "b"\n'
    points = list(study(text).points())
    assert [(point.number, point.label) for point in points] == [
        (0, "512K 64 O"),
        (1, "1M 64 O"),
        (2, "1M 128 O"),
    ]
    assert {point.values["fusion"] for point in points} == {"none"}


def test_cases_hold_against_axes() -> None:
    text = '[axes]\npes = [64, 128]\nfusion = ["none", "full"]\n[[cases]]\nname = "x"\nfusion = "requant"\n'
    assert [point.values["fusion"] for point in study(text).points()] == ["requant", "requant"]


def test_presets_are_machines() -> None:
    points = list(study('[axes]\npreset = ["", "nvdla-small", "paper"]\n').points())
    assert [point.values["parallel"] for point in points] == ["output", "8x8", "output"]
    assert [point.values["dma_latency"] for point in points][2] == 0


def test_machine_files_lie_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("pes = 32\n")
    (tmp_path / "s.toml").write_text('models = ["ds_cnn"]\n[axes]\npreset = ["mine.toml"]\n')
    (point,) = read_study(tmp_path / "s.toml").points()
    assert point.values["pes"] == 32


@pytest.mark.parametrize("table", ["axes", "fixed"])
def test_a_file_writes_unlimited_as_a_word(tmp_path: Path, table: str) -> None:
    """0 means it in Python, and is no limit in files of studies and machines."""
    file, axis = tmp_path / "s.toml", {"dma_bandwidth": [0, "unlimited"]}
    file.write_text(f'models = ["ds_cnn"]\n[{table}]\ndma_bandwidth = 0\n')
    message = r"dma_bandwidth must be from 1 to 1048576, or unlimited \(got 0\)"
    with pytest.raises(InputError, match=rf"s\.toml: {message}"):
        read_study(file)
    file.write_text("dma_bandwidth = 0\n")
    with pytest.raises(InputError, match=rf"s\.toml: {message}"):
        load_file(file)
    (point,) = build_study(["ds_cnn"], axis).points()
    assert point.values["dma_bandwidth"] == 0


def test_parameters_that_contradict_are_a_row() -> None:
    points = list(study('[axes]\npes = [64, 100]\nparallel = ["8x8"]').points())
    assert [bool(point.refusal) for point in points] == [False, True]
    assert "100" in points[1].refusal
    assert points[1].values["pes"] == 100


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"dla_ops": "CONV_2D+ADDD,CONV_2D"}, "dla_ops: unknown operator 'ADDD'; did you mean ADD"),
        ({"pes": "0,64"}, r"pes must be from 1 to 1048576 \(got 0\)"),
        ({"pes": [64, 1 << 30, 128]}, r"pes must be from 1 to 1048576 \(got 1073741824\)"),
        ({"clock": "500,nan"}, r"clock_mhz must be from 0.001 to 100000 \(got nan\)"),
        ({"fusion": "none,some"}, r"fusion must be none, requant or full \(got 'some'\)"),
        (
            {"parallel": "8x8,8x"},
            r"parallel must be .*, or a grid such as 8x16 or 8x8x4 \(got '8x'\)",
        ),
        ({"timing": "slow"}, r"timing must be full, macs or zero \(got 'slow'\)"),
    ],
)
def test_values_that_no_machine_has_are_refused_before_anything_runs(axes: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"study ds_cnn: .*{message}"):
        build_study(["ds_cnn"], axes)


def test_values_that_only_some_machines_have_are_rows() -> None:
    points = list(build_study(["ds_cnn"], {"pes": "100,64", "preset": "paper,nvdla-small"}).points())
    assert [bool(point.refusal) for point in points] == [False, True, False, False]


def test_fixed_values_and_cases_are_looked_at_too() -> None:
    for text in ("[fixed]\nplace = 'gpu'", "[[cases]]\nname = 'a'\nplace = 'gpu'"):
        with pytest.raises(InputError, match=r"place must be auto, cpu or dla \(got 'gpu'\)"):
            study(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[axes]\nspeed = [1]", "unknown parameter 'speed'"),
        ("[axes]\npes = []", "no values"),
        ("speed = 1", "unknown key 'speed'"),
        ("where = ['pes >']", "the end is missing"),
        ("[axes]\npes = [64]\n[fixed]\npes = 64", "both under fixed and under axes"),
        ("[fixed]\npreset = 'none such'", "unknown preset"),
        ("[fixed]\nhost = 'riscv'\ncpu = 'fast'", "'fast'"),
        ("[fixed]\nhost = 'arm'", "host must be none or riscv"),
        ("[[cases]]\nname = 'a'\n[[cases]]\nname = 'a'", "two cases"),
        ("[axes", "not valid TOML"),
        ("axes = 3", "axes must be a table"),
        ("layers = 'no'", "layers must be true or false"),
        ("columns = ['cycles_al']", "columns: unknown figure 'cycles_al'; did you mean cycles_"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        study(text)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("3", r"\(got 3\)"),
        ("2000-01-01", "a model must be a name"),
        (f"'{'x' * 5000}'", "is neither a file nor a built-in network"),
        ("'mobilenet'", "did you mean mobilenet_v"),
        ("{topology = 'resnet8', resolution = inf}", r"resolution must be a whole number \(got inf\)"),
    ],
)
def test_refused_models(model: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_study(f"models = [{model}]", "study.toml", Path(), "study")


def test_models() -> None:
    with pytest.raises(InputError, match="'nothing' is neither a file nor a built-in network"):
        build_study(["nothing"], {})
    with pytest.raises(InputError, match="unknown argument 'beta'"):
        build_study(["mobilenet_v1:beta=1"], {})
    with pytest.raises(InputError, match="two models"):
        build_study(["ds_cnn", "ds_cnn"], {})
    found = build_study(["mobilenet_v1:alpha=0.25,resolution=96"], {}).models[0]
    assert dict(found.arguments) == {"alpha": 0.25, "resolution": 96}


def test_flags_replace_a_studys_axes(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('models = ["ds_cnn"]\n[axes]\npes = [1, 2]\n[fixed]\nsram = 65536\n')
    points = build_study([tmp_path / "s.toml"], {"sram": "1KiB,2KiB", "pes": [4]}).points()
    assert [(point.values["pes"], point.values["sram_bytes"]) for point in points] == [(4, 1024), (4, 2048)]


@pytest.mark.parametrize("name", shipped_names())
def test_what_ships_is_valid(name: str) -> None:
    points = list(shipped_study(name).points())
    assert len(points) >= 3
    assert not any(point.refusal for point in points)
    assert len({(point.model, repr(point.values)) for point in points}) == len(points), "each point once"


def test_cores_multiply_only_the_points_on_a_board() -> None:
    points = list(study('[axes]\ncpu = ["ideal", "two_stage"]\nhost = ["none", "riscv"]').points())
    settings = [(point.number, point.values["host"], point.values["cpu"]) for point in points]
    assert settings == [(0, "none", ""), (1, "riscv", "ideal"), (2, "riscv", "two_stage")]


@pytest.mark.parametrize("place", ["[axes]\ncpu = ['ideal', 'two_stage']", "[fixed]\ncpu = 'ideal'"])
def test_a_core_without_a_board_is_refused(place: str) -> None:
    with pytest.raises(InputError, match="cpu = 'ideal' has no effect without host = riscv"):
        study(place).check()


def test_charts_are_checked_before_anything_runs(tmp_path: Path) -> None:
    chart = '[[charts]]\nkind = "heatmap"\nfile = "a.pdf"\n'
    for setting, message in (('widht = "84mm"', "did you mean width"), ('width = "84"', "width must be 3in")):
        study = tmp_path / "study.toml"
        study.write_text(f'name = "s"\nmodels = ["mnist"]\n{chart}{setting}\n')
        with pytest.raises(InputError, match=message):
            api.sweep(study, out=tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]
