"""Every construct of routines compiled, against Python itself; and what is none of them."""

import ctypes
import inspect
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dlasim.native import library
from dlasim.native.build import build_object
from dlasim.native.routine import RoutineError
from dlasim.native.storage import Store
from dlasim.native.translator import translate
from dlasim.native.unit import CodeUnit
from tests.native import constructs

EDGES = (-(1 << 40), -17, -8, -7, -1, 1, 2, 3, 7, 8, 12, 31, 1 << 40)
PUBLIC = [name for name, _ in inspect.getmembers(constructs, inspect.isfunction) if name[0] != "_"]
OTHERS = {"routine", "record", "array", "member", "pointer", "draw", "NamedTuple"}


def compile_here(name: str, arguments: int) -> Any:
    """A construct as machine code, which takes numbers and addresses."""
    unit = CodeUnit(name, constructs.__name__, name)
    address = library._loaded(build_object(unit), unit.symbol)
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * arguments)(address)


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - OTHERS))
def test_a_construct_gives_what_python_gives(name: str) -> None:
    function = getattr(constructs, name)
    takes_memory = "places" in inspect.signature(function).parameters
    compiled = compile_here(name, 2 + takes_memory)
    rng = np.random.default_rng(0)
    pairs = [(one, other) for one in (*EDGES, 0) for other in EDGES]
    pairs += rng.integers(-60, 60, (200, 2)).tolist()
    results = set()
    for one, other in pairs:
        if not other and name in ("arithmetic", "logic"):
            continue  # Python raises there
        plain, memory = [5, -2, 9, 4], np.array([5, -2, 9, 4], np.int64)
        expected = int(function(one, other, plain) if takes_memory else function(one, other))
        given = (one, other, memory.ctypes.data) if takes_memory else (one, other)
        assert compiled(*given) == expected, (one, other)
        assert memory.tolist() == plain
        results.add(expected)
    assert len(results) > 8


def test_records_are_the_same_in_both_ways() -> None:
    compiled = compile_here("draw", 3)
    rng = np.random.default_rng(1)
    plain, native = [(constructs.Drawing(), Store(int, 4), Store(constructs.Point, 5)) for _ in range(2)]
    for drawing, numbers, points in (plain, native):
        numbers.write(0, [1, 2, 3, 4])
        drawing.line.weights[:] = [5, 6, 7]
        drawing.line.points[2].y = 9
        drawing.numbers, drawing.points = numbers.pointer, points.pointer
    results = set()
    for one, other in rng.integers(-60, 60, (200, 2)).tolist():
        expected = constructs.draw(plain[0], one, other)
        assert compiled(ctypes.addressof(native[0]), one, other) == expected
        assert native[0].line.flatten() == plain[0].line.flatten()
        assert native[1].take(0, 4) == plain[1].take(0, 4)
        assert all(native[2][number].equals(plain[2][number]) for number in range(5))
        results.add(expected)
    assert len(results) > 100


def test_nothing_traps() -> None:
    compiled = compile_here("arithmetic", 2)
    least = -(1 << 63)
    for one in (least, least + 1, -1, 0, 1, (1 << 63) - 1):
        for other in (least, -1, 0, 1):
            compiled(one, other)


REFUSED = {
    "text": "places[0] = 'text'",
    "a list": "places[0] = [1, 2][0]",
    "a float": "places[0] = one * 0.5",
    "true division": "places[0] = one / 2",
    "a power": "places[0] = one ** 2",
    "an exception": "raise ValueError",
    "a try": "try:\n        pass\n    finally:\n        pass",
    "a call of another kind": "places[0] = len(places)",
    "a function that is no routine": "places[0] = isabs(one)",
    "a keyword": "places[0] = max(one, 3, key=abs)",
    "a name that is not there": "places[0] = nowhere",
    "a slice": "places[0:2] = one",
    "an else of a loop": "for number in range(3):\n        pass\n    else:\n        pass",
    "a place in a tuple that it has not": "places[0] = (1, 2)[5]",
    "a tuple of another length": "first, second = (1, 2, 3)",
    "a range that descends": "for number in range(3, 0, -1):\n        places[0] = number",
    "membership of what is no tuple": "places[0] = one in places",
    "absence": "places[0] = one not in (1, 2)",
    "a function within": "def inner():\n        pass",
}


def _takes_a_float(one: float) -> int:
    return int(one)


def test_a_parameter_of_another_kind_is_refused_by_name() -> None:
    with pytest.raises(RoutineError, match="`int`, `Numbers` and records, not `float`"):
        translate(_takes_a_float, "symbol")


@pytest.mark.parametrize("what", REFUSED)
def test_anything_else_is_refused_by_name_and_line(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"refused_{sorted(REFUSED).index(what)}"
    source = """
        from posixpath import isabs

        from dlasim.native.routine import Numbers, routine

        @routine
        def wrong(one: "int", places: "Numbers") -> int:
            {}
            return 1
    """
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(source).replace("{}", REFUSED[what]))
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__(name)
    with pytest.raises(RoutineError, match=rf"\A{name}\.wrong, line \d+: a routine cannot use `.+`\Z"):
        translate(module.wrong, "symbol")
