"""`dlasim model` as a user meets it."""

import subprocess
import sys

import pytest

from dlasim.compiler_shim.compile import load_graph
from dlasim.compiler_shim.topologies import topology_names


def dlasim(*arguments, folder):
    return subprocess.run(
        [sys.executable, "-P", "-m", "dlasim", "model", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_writes_a_model_and_says_so(tmp_path):
    done = dlasim(
        "mobilenet_v1", "--alpha", "0.25", "--resolution", "64", "-o", "net.tflite", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "wrote net.tflite" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["net.tflite"]
    graph = load_graph(tmp_path / "net.tflite")
    assert graph.tensors[graph.inputs[0]].shape == (1, 64, 64, 3)


def test_the_file_is_named_after_the_network_and_its_seed_matters(tmp_path):
    assert dlasim("mnist", folder=tmp_path).returncode == 0
    assert dlasim("mnist", "--seed", "1", "-o", "other.tflite", folder=tmp_path).returncode == 0
    assert (tmp_path / "mnist.tflite").read_bytes() != (tmp_path / "other.tflite").read_bytes()


def test_the_list_takes_no_name(tmp_path):
    done = dlasim("mnist", "--list", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--list takes no NAME (got 'mnist')" in done.stderr


def test_the_list_has_every_network(tmp_path):
    done = dlasim("--list", folder=tmp_path)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()[2:]] == list(topology_names())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("alexnet",), "unknown network 'alexnet'"),
        ((), "NAME is missing"),
        (("mnist", "--alpha", "2"), "mnist has no alpha"),
        (("mnist", "-o", "no/such/folder.tflite"), "cannot write no/such/folder.tflite"),
        (("mnist", "-o", ""), "--output must not be empty"),
        (("mnist", "-o", "x.onnx"), "x.onnx would be a .tflite file, which no .onnx file is"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(arguments, expected, tmp_path):
    done = dlasim(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert expected in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
