"""An argument of a wrong type is one clear error that names it, what is allowed and what was given."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlasim
from dlasim.arguments import check

PAIR: Any = np.array([1, 2])
IMAGES = np.zeros((2, 28, 28), np.int8)
RIGHT: dict[str, dict[str, Any]] = {
    "compile": {"model": "mnist"},
    "confirm": {"location": "study"},
    "evaluate": {"model": "mnist", "inputs": "inputs.npy"},
    "explain": {"model": "mnist"},
    "from_torch": {"module": None, "example": None, "calibration": None, "out": "out.onnx"},
    "inspect": {"model": "mnist"},
    "model": {"name": "mnist"},
    "quantize": {"model": "float.onnx", "calibration": "samples.npz", "out": "out.onnx"},
    "run": {"file": "mnist"},
    "search": {"minimize": "energy"},
    "sweep": {},
    "token_rates": {"model": "mnist"},
    "verify": {"model": "mnist"},
    "Explorer": {"workload": "mnist"},
}
# Their values have other checks, or none: PyTorch says what it takes.
OTHERS = {"module", "example", "calibration", "metric", "labels", "inputs", "sampler"}


def arguments() -> list[tuple[str, str]]:
    """Every argument of every public function, and a keyword of those that take parameters."""
    found = []
    for function in RIGHT:
        parameters = inspect.signature(getattr(dlasim, function)).parameters.values()
        names = ["pes" if one.kind is one.VAR_KEYWORD else one.name for one in parameters]
        found += [(function, name) for name in names if name not in OTHERS | {"targets"}]
    return found


@pytest.mark.parametrize(
    ("function", "name"), [("run", "repeat"), ("verify", "runs"), ("confirm", "top"), ("evaluate", "jobs")]
)
@pytest.mark.parametrize("count", [-1, 10**30])
def test_a_count_is_within_its_range(function: str, name: str, count: int) -> None:
    with pytest.raises(dlasim.InputError, match=rf"{name} must be from \d to"):
        getattr(dlasim, function)(**RIGHT[function] | {name: count})


def test_an_inference_is_run_once_or_more() -> None:
    with pytest.raises(dlasim.InputError, match=r"repeat must be from 1 to 1000000 \(got 0\)"):
        dlasim.run("mnist", repeat=0)


def test_every_public_function_is_tried() -> None:
    functions = {name for name in dlasim.__all__ if callable(getattr(dlasim, name)) and name.islower()}
    assert functions <= RIGHT.keys()


@pytest.mark.parametrize(("function", "name"), arguments())
def test_an_object_is_refused_by_name(
    function: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    targets = ["mnist"] if function in ("sweep", "search") else []
    with pytest.raises(dlasim.InputError, match=rf"{name}|a file must be") as found:
        getattr(dlasim, function)(*targets, **RIGHT[function] | {name: object()})
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dlasim.run("mnist", repeat="x"), "repeat must be a whole number (got 'x')"),
        (lambda: dlasim.run("mnist", timing_only="no"), "timing_only must be True or False (got 'no')"),
        *(
            (call, f"{message} (got array([1, 2]))")
            for call, message in (
                (lambda: dlasim.run("mnist", repeat=PAIR), "repeat must be a whole number"),
                (lambda: dlasim.model("mnist", alpha=PAIR), "alpha must be a number or None"),
                (lambda: dlasim.compile("mnist", fusion=PAIR), "fusion must be none, requant or full"),
            )
        ),
        (
            lambda: dlasim.evaluate("mnist", None),
            "inputs must be a path or a list of inputs (got None)",
        ),
        (
            lambda: dlasim.evaluate("mnist", IMAGES, metric="top"),
            "metric must be a function or None (got 'top')",
        ),
        (
            lambda: dlasim.evaluate("mnist", IMAGES, metric=lambda *_: "good", jobs=1),
            "the result of metric must be a number (got 'good')",
        ),
        (
            lambda: dlasim.search("mnist", minimize="energy", pes=[8, 16], sampler=5),
            "sampler must be the name of one, or have ask and tell (got 5)",
        ),
        (lambda: dlasim.run("mnist", host_options=5), "host_options must be a dictionary or None (got 5)"),
        (
            lambda: dlasim.run("mnist", host="riscv", host_options={"max_instructions": "x"}),
            "max_instructions must be a whole number or None (got 'x')",
        ),
        (lambda: dlasim.sweep(5), "targets must be text, a path or a list of text or a path (got 5)"),
        (lambda: dlasim.sweep("mnist", jobs="x"), "jobs must be a whole number or None (got 'x')"),
        (lambda: dlasim.sweep("mnist", out="a\0"), "out must not have the character NUL (got 'a\\x00')"),
        (
            lambda: dlasim.Explorer(None),
            "workload must be text, a path, a list of text or a path or a dictionary (got None)",
        ),
        (lambda: dlasim.run("mnist", timing_only=True).plot(5), "kind must be text (got 5)"),
        (lambda: dlasim.sweep("mnist", jobs=1).best(5), "figure must be text (got 5)"),
    ],
)
def test_the_message(call: Callable[[], object], message: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dlasim.InputError) as found:
        call()
    assert str(found.value) == message


@pytest.mark.parametrize(
    ("value", "hint"),
    [(np.int64(3), int), (np.float32(3), float), (3, float), (np.bool_(True), bool), ([], list[str])],
)
def test_numbers_of_numpy_are_numbers(value: object, hint: type) -> None:
    check("x", value, hint)
