"""`dlasim run --steps` on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import dlasim
from dlasim.cli import main


def call(*arguments: object):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="dlasim")


@pytest.fixture
def adder(tmp_path):
    """A network that adds its input to what it returned before."""
    build = dlasim.GraphBuilder("adder")
    x, state = build.input("x", (1, 4), scale=1.0), build.input("state", (1, 4), scale=1.0)
    total = build.operator("ADD", [x, state], scale=1.0, name="total")
    return build.save(tmp_path / "adder.dlag", [total])


def test_outputs_have_a_row_for_each_step(adder, tmp_path) -> None:
    np.save(tmp_path / "x.npy", np.arange(12).reshape(3, 1, 4).astype(np.int8))
    done = call("run", adder, "--steps", tmp_path / "x.npy", "--carry", "total=state", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = np.load(tmp_path / "out" / "output_0.npy")
    assert found.tolist() == [[[0, 1, 2, 3]], [[4, 6, 8, 10]], [[12, 15, 18, 21]]]
    assert "steps      3, " in done.stdout


def test_json_has_the_pace(adder, tmp_path) -> None:
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 1, 4)), state=np.zeros((2, 1, 4)))
    steps = json.loads(call("run", adder, "--steps", tmp_path / "x.npz", "--json").stdout)["steps"]
    once = dlasim.run(adder, timing_only=True).report
    assert steps["count"] == 2
    assert steps["cycles"] == 2 * once["cycles"]["total"]
    assert steps["energy_nj"] == pytest.approx(2 * once["energy_nj"]["total"])


def test_the_firmware_makes_all_steps_with_one_start(adder, tmp_path) -> None:
    np.save(tmp_path / "x.npy", np.arange(20).reshape(5, 1, 4).astype(np.int8))
    options = ["--steps", tmp_path / "x.npy", "--carry", "total=state", "--json"]
    found = {}
    for host in ("none", "riscv"):
        done = call("run", adder, *options, "--host", host, "-o", tmp_path / host)
        assert done.exit_code == 0, done.output
        found[host] = np.load(tmp_path / host / "output_0.npy")
    np.testing.assert_array_equal(found["riscv"], found["none"])
    assert found["riscv"][-1].tolist() == [[40, 45, 50, 55]]
    report = json.loads(done.stdout)
    session = dlasim.Session(adder, carry={"total": "state"}, host="riscv")
    session.run({"x": np.load(tmp_path / "x.npy")})
    assert report["steps"] == session.pace.as_dict()
    assert report["functions"][0]["name"]  # of the whole run, up to the exit


def test_a_carried_input_may_be_given_in_each_step_on_the_board(adder, tmp_path) -> None:
    given = {"x": np.ones((3, 1, 4), np.int8), "state": np.arange(12).reshape(3, 1, 4).astype(np.int8)}
    np.savez(tmp_path / "x.npz", **given)
    options = ["--steps", tmp_path / "x.npz", "--carry", "total=state", "--host", "riscv"]
    done = call("run", adder, *options, "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_0.npy"), given["state"] + 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--carry", "total=state"], "--carry needs --steps"),
        (["--steps", "x.npy", "--carry", "total"], "--carry must be OUTPUT=INPUT (got 'total')"),
        (["--steps", "x.npy", "--timing-only"], "--steps cannot be combined with --timing-only"),
        (["--steps", "x.npy", "--top", "3"], "--steps cannot be combined with --top"),
        (["--steps", "x.npy", "--input", "x.npy"], "--steps cannot be combined with --input"),
        (["--steps", "x.npy", "--repeat", "3"], "--steps cannot be combined with --repeat"),
        (["--steps", "x.npy"], "takes 2 inputs in each step: name them, as arrays of a .npz file (x, state)"),
        (["--steps", "adder.dlag", "--carry", "total=state"], "adder.dlag is not a .npz or .npy file"),
        (["--steps", "none.npz"], "none.npz"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_named(adder, monkeypatch, options, message) -> None:
    monkeypatch.chdir(adder.parent)
    np.save("x.npy", np.zeros((2, 1, 4)))
    done = call("run", "adder.dlag", *options)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
