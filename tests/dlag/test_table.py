"""TABLE, the one operator that is not TensorFlow's: what it computes, where it runs, what it refuses."""

from pathlib import Path

import numpy as np
import pytest

import dlasim
from dlasim.errors import InputError


def saved(folder: Path, table: np.ndarray) -> Path:
    builder = dlasim.GraphBuilder("lookup")
    x = builder.input("x", (1, 4, 8, 8), scale=0.5, zero_point=3)
    entries = builder.constant("entries", table, scale=0.25, zero_point=-7)
    return builder.save(
        folder / "t.dlag", [builder.operator("TABLE", [x, entries], scale=0.25, zero_point=-7)]
    )


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("place", ["auto", "cpu"])
def test_each_element_is_looked_up(tmp_path: Path, host: str, place: str) -> None:
    table = np.random.default_rng(1).integers(-128, 128, 256).astype(np.int8)
    file = saved(tmp_path, table)
    x = np.arange(-128, 128).astype(np.int8).reshape(1, 4, 8, 8)
    result = dlasim.run(file, inputs=x, host=host, place=place)
    np.testing.assert_array_equal(result.outputs[0].ravel(), table)
    units = {row["unit"] for row in dlasim.explain(file, place=place)}
    assert units == ({"cpu"} if place == "cpu" else {"dla"})


@pytest.mark.parametrize("entries", [255, 257, 1])
def test_a_table_of_another_length_is_refused(tmp_path: Path, entries: int) -> None:
    file = saved(tmp_path, np.zeros(entries, np.int8))
    with pytest.raises(InputError, match=f"its table has {entries} entries, not 256"):
        dlasim.run(file)
