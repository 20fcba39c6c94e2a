"""Conditions: right where Python agrees, refused where they are none, harmless whatever they say."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlasim.errors import InputError
from dlasim.sweeps.definition.conditions import MAX_LENGTH, Condition

VALUES = {"pes": 64, "sram_bytes": 1 << 20, "parallel": "output", "clock_mhz": 500.0,
          "accumulators": 0, "dma_bandwidth": 8}  # fmt: skip


def holds(text: str) -> bool:
    return Condition(text, VALUES, "test").holds(VALUES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pes == 64", True),
        ("pes != 64", False),
        ("sram >= 1MiB", True),
        ("sram > 1M", False),
        ("sram == 1024KiB", True),
        ("parallel == 'output' and pes < 100", True),
        ('parallel == "input" or pes < 10', False),
        ("not parallel == 'input'", True),
        ("not not pes == 64", True),
        ("pes in (32, 64)", True),
        ("parallel in ('input')", False),
        ("16 <= pes <= 64", True),
        ("16 <= pes < 64", False),
        ("(pes + 64) * 2 == 256", True),
        ("pes % 48 == 16 and pes // 48 == 1", True),
        ("-pes < 0 and --pes > 0", True),
        ("clock_mhz / 2 == 250", True),
        ("sram / pes >= 16KiB", True),
        ("1.5 * pes == 96", True),
        ("accumulators == unlimited", True),
        ("accumulators >= 64 and accumulators != 0", True),
        ("dma_bandwidth == unlimited", False),
        ("dma_bandwidth < unlimited", True),
    ],
)
def test_meaning(text: str, expected: bool) -> None:
    assert holds(text) is expected


@pytest.mark.parametrize(
    "text",
    ["", "pes ==", "== 64", "(pes", "pes)", "pes in 64", "pes in ()", "sizes == 1", "pes.real", "pes[0]",
     "__import__('os')", "pes = 64", "pes == 64;", "lambda: 0", "pes == 'x", "1 if pes else 2", "64Q == 1",
     "(" * 41 + "1" + ")" * 41, "1+" * MAX_LENGTH + "1"],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(InputError, match="condition"):
        Condition(text, VALUES, "test")


@pytest.mark.parametrize(
    "text", ["pes / 0", "pes % (pes - 64)", "parallel < 3", "'a' * 1000000000", "parallel % 3", "-parallel"]
)
def test_cannot_be_worked_out(text: str) -> None:
    with pytest.raises(InputError, match="cannot evaluate"):
        holds(text)


NUMBERS = st.integers(0, 1000).map(str)
SUMS = st.recursive(
    NUMBERS,
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda parts: f"({' '.join(parts)})"),
    max_leaves=12,
)  # fmt: skip
CONDITIONS = st.tuples(SUMS, st.sampled_from(["==", "<", "<=", ">", ">=", "!="]), SUMS).map(" ".join)


@given(st.lists(st.tuples(st.sampled_from(["and", "or"]), st.booleans(), CONDITIONS), min_size=1, max_size=4))
@settings(deadline=None)
def test_as_python(parts: list[tuple[str, bool, str]]) -> None:
    text = " ".join(
        (f"{join} " if number else "") + ("not " if flips else "") + condition
        for number, (join, flips, condition) in enumerate(parts)
    )
    assert holds(text) == bool(eval(text, {"__builtins__": {}}))


def test_long_chains_need_no_stack() -> None:
    assert holds("+".join(["1"] * 900) + " > 899")
    assert holds(" or ".join(["0"] * 300 + ["1"]))
