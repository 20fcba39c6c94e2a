"""`evaluate` counts what LiteRT's outputs say, goes on where it stopped, and refuses what it cannot judge."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from click.testing import CliRunner, Result
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import dlasim
from dlasim.cli import main
from dlasim.errors import InputError
from dlasim.evaluation.outcome import Evaluation, predict
from dlasim.evaluation.predictor import fit
from tests.oracle import run_litert_reference

CLASSES, COUNT = 10, 40


def call(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="dlasim")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network, inputs and labels."""
    path = tmp_path_factory.mktemp("evaluation")
    dlasim.model("mnist", path / "mnist.tflite")
    rng = np.random.default_rng(0)
    np.save(path / "inputs.npy", rng.integers(-128, 128, (COUNT, 28, 28, 1), dtype=np.int8))
    np.save(path / "labels.npy", rng.integers(0, CLASSES, COUNT))
    return path


@pytest.fixture(scope="module")
def scores(folder: Path) -> np.ndarray:
    """LiteRT's outputs, a row for each input."""
    model = (folder / "mnist.tflite").read_bytes()
    last = max(run_litert_reference(model, [np.load(folder / "inputs.npy")[:1]]))
    return np.array([
        run_litert_reference(model, [item[None]])[last].ravel() for item in np.load(folder / "inputs.npy")
    ])  # fmt: skip


@pytest.mark.parametrize("jobs", [1, 2])
def test_shares_are_those_of_litert(folder: Path, scores: np.ndarray, jobs: int) -> None:
    labels = np.load(folder / "labels.npy")
    found = dlasim.evaluate(folder / "mnist.tflite", folder / "inputs.npy", labels, jobs=jobs)
    assert [row.fixed.predicted for row in found.rows] == list(scores.argmax(1))
    order = np.argsort(-scores.astype(int), axis=1, kind="stable")
    for count in (1, 3, 5):
        expected = np.mean([label in row[:count] for label, row in zip(labels, order, strict=True)])
        assert found.top(count) == pytest.approx(expected)
    assert 0 < found.top(5) < 1


def test_every_form_of_labels_says_the_same(folder: Path, tmp_path: Path) -> None:
    labels = np.load(folder / "labels.npy")
    (tmp_path / "lines.txt").write_text("\n".join(map(str, labels)))
    rows = [f"row {number},{label}" for number, label in enumerate(labels)]
    (tmp_path / "names.csv").write_text("\n".join(["name,label", *reversed(rows)]))
    forms = [labels, list(labels), folder / "labels.npy", tmp_path / "lines.txt", tmp_path / "names.csv"]
    found = [
        dlasim.evaluate(folder / "mnist.tflite", folder / "inputs.npy", form, jobs=1).rows for form in forms
    ]
    assert all(rows == found[0] for rows in found)
    shifted = dlasim.evaluate(
        folder / "mnist.tflite", folder / "inputs.npy", labels - 1, label_offset=1, jobs=1
    )
    assert [row.fixed for row in shifted.rows] == [row.fixed for row in found[0]]


def pictures(folder: Path) -> Path:
    rng = np.random.default_rng(1)
    for number in range(12):
        place = folder / "pictures" / "abc"[number % 3]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (28, 28), dtype=np.uint8)).save(place / f"{number}.png")
    return folder / "pictures"


def test_sub_folders_are_classes(folder: Path, tmp_path: Path) -> None:
    done = call("evaluate", folder / "mnist.tflite", "--inputs", pictures(tmp_path), "--json", "--jobs", 2)
    found = dlasim.evaluate(folder / "mnist.tflite", pictures(tmp_path), jobs=1)
    assert json.loads(done.stdout)["top"]["1"] == found.top(1)
    assert [row.label for row in found.rows] == [0] * 4 + [1] * 4 + [2] * 4
    assert found.rows[0].name == "a/0.png"


def test_an_interrupted_evaluation_goes_on(folder: Path, tmp_path: Path) -> None:
    images, out = pictures(tmp_path), tmp_path / "rows.csv"
    complete = dlasim.evaluate(folder / "mnist.tflite", images, jobs=1).rows

    def stop(done: int, total: int) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^5 of 12 inputs done, see .*; the same command goes on$"):
        dlasim.evaluate(folder / "mnist.tflite", images, jobs=1, out=out, on_progress=stop)
    assert len(list(csv.reader(out.read_text().splitlines()))) == 1 + 5
    found = dlasim.evaluate(folder / "mnist.tflite", images, jobs=1, out=out)
    assert (found.evaluated, found.rows) == (12 - 5, complete)
    Image.fromarray(np.zeros((28, 28), np.uint8)).save(images / "a" / "0.png")
    assert dlasim.evaluate(folder / "mnist.tflite", images, jobs=1, out=out).evaluated == 1
    other = dlasim.evaluate(folder / "mnist.tflite", images, jobs=1, out=out, normalize="0,1")
    assert other.evaluated == 12, "rows of another normalization are not this one's"


def test_names_that_look_like_formulas_come_back(folder: Path, tmp_path: Path) -> None:
    images = tmp_path / "images"
    images.mkdir()
    Image.fromarray(np.zeros((28, 28), np.uint8)).save(images / "=1.png")
    found = [
        dlasim.evaluate(folder / "mnist.tflite", images, jobs=1, out=tmp_path / "rows.csv") for _ in range(2)
    ]
    assert [each.evaluated for each in found] == [1, 0]
    assert found[0].rows == found[1].rows


def test_a_metric_gets_real_outputs(folder: Path) -> None:
    seen = []

    def metric(outputs: list[np.ndarray], label: int | None) -> float:
        seen.append((outputs[0].dtype, label))
        return float(outputs[0].sum())

    found = dlasim.evaluate(folder / "mnist.tflite", folder / "inputs.npy", metric=metric)
    assert seen == [(np.dtype("float32"), None)] * COUNT
    assert found.score == pytest.approx(1, abs=0.05), "probabilities add up to 1"


def linear(path: Path, weights: np.ndarray) -> Path:
    """Scores of classes from an image with channels first, in float."""
    nodes = [
        helper.make_node("Flatten", ["image"], ["line"]),
        helper.make_node("MatMul", ["line", "weights"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes, "linear",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 28, 28])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(weights, "weights")],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_float_network_gets_the_same_inputs(folder: Path, tmp_path: Path) -> None:
    weights = np.random.default_rng(2).standard_normal((784, CLASSES)).astype(np.float32)
    found = dlasim.evaluate(
        folder / "mnist.tflite", folder / "inputs.npy", folder / "labels.npy",
        float_model=linear(tmp_path / "linear.onnx", weights), jobs=1,
    )  # fmt: skip
    described = dlasim.inspect(folder / "mnist.tflite")["inputs"][0]
    inputs = np.load(folder / "inputs.npy").reshape(COUNT, 784).astype(np.float64)
    expected = ((inputs - described["zero_point"]) * described["scale"] @ weights).argmax(1)
    assert [row.real.predicted for row in found.rows if row.real] == list(expected)
    assert found.float_top(1) == np.mean(expected == np.load(folder / "labels.npy"))
    assert found.agreement == np.mean([row.fixed.predicted for row in found.rows] == expected)


def test_channels_may_come_first() -> None:
    image = np.arange(2 * 3 * 4, dtype=np.float32).reshape(1, 2, 3, 4)
    assert fit(image, [1, 4, 2, 3], "x")[0, 3, 1, 2] == image[0, 1, 2, 3]
    assert fit(image, [None, "height", "width", 4], "x").shape == (1, 2, 3, 4)
    assert fit(image, [2, 3, 4], "x").shape == (2, 3, 4)
    with pytest.raises(InputError, match=r"input x: the float model takes \[1, 5\], the int8 one"):
        fit(image, [1, 5], "x")


def test_equal_scores_are_ranked_in_order() -> None:
    scores = np.array([3, 7, 7, 1])
    assert [predict(scores, label).rank for label in range(4)] == [2, 0, 1, 3]
    assert predict(scores, None).rank == -1


def test_the_interval_is_wilsons() -> None:
    """Agresti and Coull (1998) give 0.237 to 0.763 for 5 of 10, and 0 to 0.278 for 0 of 10."""
    rows = dlasim.evaluate("mnist", np.zeros((10, 28, 28), np.int8), jobs=1).rows
    found = Evaluation("x", rows=rows)
    assert found.interval(0.5) == pytest.approx((0.237, 0.763), abs=1e-3)
    assert found.interval(0.0) == pytest.approx((0.0, 0.278), abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--inputs", "nowhere"), "nowhere is neither a folder nor a .npy file"),
        (("--inputs", "empty"), "empty has no inputs: expected files of .png"),
        (("--inputs", "{}/inputs.npy", "--labels", "few.txt"), "few.txt has 1 label for 40 inputs"),
        (("--inputs", "{}/inputs.npy", "--labels", "words.txt"), "labels must be whole numbers (got 'cat')"),
        (("--inputs", "{}/inputs.npy", "--labels", "{}/inputs.npy"), "has 31,360 labels for 40 inputs"),
        (("--inputs", "{}/inputs.npy", "--labels", "names.csv"), "names.csv has no label for row 0"),
        (("--inputs", "{}/inputs.npy", "--labels", "{}/labels.npy", "--label-offset", "9"), "10 classes"),
        (("--inputs", "{}/inputs.npy", "--float", "{}/mnist.tflite"), "takes int8: the float model must"),
        (("--inputs", "{}/inputs.npy", "--float", "few.txt"), "must be a .tflite or .onnx file (got "),
        (("--inputs", "{}/inputs.npy", "--out", "few.txt"), "few.txt exists and is no table of"),
        (("--inputs", "damaged"), "x.png is not a valid picture"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("jobs", [1, 2])
def test_one_line_says_what_is_wrong(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str], said: str, jobs: int
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "damaged"):
        (tmp_path / name).mkdir()
    (tmp_path / "damaged" / "x.png").write_bytes(b"no picture")
    (tmp_path / "few.txt").write_text("1\n")
    (tmp_path / "words.txt").write_text("cat\n")
    (tmp_path / "names.csv").write_text("somebody,1\nelse,2\n")
    given = [argument.replace("{}", str(folder)) for argument in arguments]
    done = call("evaluate", folder / "mnist.tflite", *given, "--jobs", jobs)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
