"""A model's inputs: `.npy` files as NumPy, as strangers and as enemies write them; quantization; noise."""

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlasim.errors import InputError
from dlasim.inputs import load_npy, prepare_inputs, save_npy
from dlasim.isa.file_records import DataType, Role
from dlasim.isa.program import TensorDescriptor
from dlasim.isa.registers import Region


def tensor(kind: str = "int8", shape=(1, 2, 3), scale: float = 0.5, zero_point: int = 1) -> TensorDescriptor:
    return TensorDescriptor("x", DataType[kind], Role.INPUT, Region.INPUTS, 0, 0, shape, scale, zero_point)


def raw(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", ">i4", "<i8", "float32", ">f8", "float16", "bool"]
)
def test_reads_what_numpy_writes(tmp_path: Path, dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    (tmp_path / "x.npy").write_bytes(raw(array))
    loaded = load_npy(tmp_path / "x.npy")
    assert (loaded == array).all()
    assert loaded.dtype == np.dtype(dtype).newbyteorder("=")


def test_fortran_order(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(6, dtype=np.int8).reshape(1, 2, 3))
    (tmp_path / "x.npy").write_bytes(raw(array))
    (given_back,) = prepare_inputs([tensor()], [tmp_path / "x.npy"])
    assert (given_back == array).all()


def test_writes_what_numpy_reads() -> None:
    array = np.arange(24, dtype=np.int8).reshape(2, 3, 4)[:, ::-1]
    assert (np.load(io.BytesIO(save_npy(array))) == array).all()


@pytest.mark.parametrize(
    "array",
    [
        np.array([{}], object),
        np.array(["text"]),
        np.array([1j]),
        np.zeros(2, [("a", "i4")]),
        np.array(["2020-01-01"], "M8[D]"),
    ],
)
def test_what_is_no_number_is_refused(tmp_path: Path, array: np.ndarray) -> None:
    (tmp_path / "x.npy").write_bytes(raw(array))
    with pytest.raises(InputError, match=r"expected numbers|not a valid \.npy"):
        load_npy(tmp_path / "x.npy")


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "exploded",))

    (tmp_path / "x.npy").write_bytes(raw(np.array([Bomb()], object)))
    with pytest.raises(InputError, match="pickle"):
        load_npy(tmp_path / "x.npy")
    assert not (tmp_path / "exploded").exists()


HEADERS = [
    b"{'descr': '|i1', 'fortran_order': False, 'shape': (99999999999999,), }",
    b"{'descr': '|i1', 'fortran_order': False, 'shape': (-1, 3), }",
    b"{'descr': '|i1', 'fortran_order': False, 'shape': (1, 2, 3",
    b"{'descr': '|i1', 'fortran_order': False, 'shape': (True, 2.5), }",
    b"{'descr': 'nonsense', 'fortran_order': False, 'shape': (6,), }",
    b"{'descr': [('a', 5)], 'fortran_order': False, 'shape': (6,), }",
    b"{'descr': '|i1', 'shape': (6,), }",
    b"{'descr': '|V0', 'fortran_order': False, 'shape': (6,), }",
    b"__import__('os').system('true')",
    b"(" * 9000,
    b"{}[0]",
    b"\xff\xfe",
    b"",
]


@pytest.mark.parametrize("header", HEADERS)
def test_hostile_headers_are_one_line(tmp_path: Path, header: bytes) -> None:
    file = tmp_path / "x.npy"
    file.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(6))
    with pytest.raises(InputError, match=r"x\.npy") as caught:
        load_npy(file)
    assert "\n" not in str(caught.value)


@given(data=st.data())
@settings(deadline=None, max_examples=300)
def test_damaged_files_are_an_error_of_ours_or_an_array(data, tmp_path_factory) -> None:
    good = bytearray(raw(np.arange(6, dtype=np.int8).reshape(1, 2, 3)))
    for _ in range(data.draw(st.integers(1, 4))):
        good[data.draw(st.integers(0, len(good) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.mktemp("npy") / "x.npy"
    file.write_bytes(good[: data.draw(st.integers(0, len(good)))])
    try:
        (array,) = prepare_inputs([tensor()], [file])
    except InputError:
        return
    assert array.shape == (1, 2, 3)
    assert array.dtype == np.int8


def test_files_that_are_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.npy"):
        with pytest.raises(InputError, match="cannot read"):
            load_npy(path)


def test_floats_are_quantized_and_clamped() -> None:
    values = np.array([[[-0.5, 0.0, 0.2], [0.25, 1.0, 1e9]]])
    (array,) = prepare_inputs([tensor()], [values])
    assert array.tolist() == [[[0, 1, 1], [1, 3, 127]]]  # x / 0.5 + 1
    assert array.dtype == np.int8


@pytest.mark.parametrize("scale", [0.0, 0.5])
@pytest.mark.parametrize("dtype", ["float64", "float16", ">f8", "longdouble"])
def test_floats_of_any_width_are_converted_for_a_float_input(
    dtype: str, scale: float, tmp_path: Path
) -> None:
    """float64 is what NumPy gives to whoever does not choose; a scale means nothing to a float32 input."""
    values = np.array([[[-0.5, 0.0, 0.2], [0.25, 1.0, 300.0]]], dtype)
    (tmp_path / "x.npy").write_bytes(raw(values))
    (array,) = prepare_inputs([tensor("float32", scale=scale)], [tmp_path / "x.npy"])
    assert array.dtype == np.float32
    assert (array == values.astype(np.float32)).all()


def test_a_float_too_large_for_the_input_is_refused() -> None:
    values = np.full((1, 2, 3), 1e300)
    with pytest.raises(InputError, match=r"input x: 1e\+300 does not fit float32 \(array\)"):
        prepare_inputs([tensor("float32")], [values])
    (kept,) = prepare_inputs([tensor("float32")], [np.full((1, 2, 3), np.inf)])
    assert np.isinf(kept).all()


def test_a_tiny_scale_clamps() -> None:
    (array,) = prepare_inputs([tensor(scale=1e-45)], [np.full((1, 2, 3), 1e300)])
    assert (array == 127).all()


def test_floats_are_no_booleans() -> None:
    with pytest.raises(InputError, match=r"input x: expected bool \[.*\], got float64 \[.*\] \(array\)$"):
        prepare_inputs([tensor("bool")], [np.zeros((1, 2, 3))])


def test_integers_of_the_models_type_are_taken_as_they_are() -> None:
    values = np.array([[[-128, 0, 127], [1, 2, 3]]], np.int8)
    assert (prepare_inputs([tensor()], [values])[0] == values).all()


def test_dimensions_of_one_may_be_left_out() -> None:
    (array,) = prepare_inputs([tensor()], [np.zeros((2, 3), np.int8)])
    assert array.shape == (1, 2, 3)


def test_floats_for_a_float_model_are_converted() -> None:
    (array,) = prepare_inputs([tensor("float32", scale=0.0)], [np.full((1, 2, 3), 0.1)])
    assert array.dtype == np.float32


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (
            np.zeros((3, 2), np.int8),
            r"input x: expected int8 \[1, 2, 3\] or floats, which are quantized, got int8 \[3, 2\] \(array\)",
        ),
        (np.zeros(6, np.int8), r"got int8 \[6\]"),
        (
            np.zeros((1, 2, 3), np.int16),
            "or floats, which are quantized, got int16",
        ),
        (np.full((1, 2, 3), np.nan), "cannot quantize infinity or NaN"),
        (np.full((1, 2, 3), np.inf), "cannot quantize infinity or NaN"),
    ],
)
def test_what_does_not_fit_is_refused(array: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        prepare_inputs([tensor()], [array])


def test_floats_without_a_scale_are_refused() -> None:
    with pytest.raises(InputError, match=r"expected int32 \[.*\], got "):
        prepare_inputs([tensor("int32", scale=0.0)], [np.zeros((1, 2, 3))])


def test_as_many_inputs_as_the_model_has() -> None:
    with pytest.raises(InputError, match=r"the model takes 2 inputs \(x, x\), got 1"):
        prepare_inputs([tensor(), tensor()], [np.zeros((1, 2, 3), np.int8)])


@pytest.mark.parametrize("kind", [kind.name for kind in DataType])
def test_noise_fills_each_type(kind: str) -> None:
    described = tensor(kind, (1, 100, 100))
    (noise,) = prepare_inputs([described], None)
    (again,) = prepare_inputs([described], [])
    assert noise.dtype == np.dtype(kind)
    assert noise.shape == (1, 100, 100)
    assert (noise == again).all(), "noise from seed 0"
    if kind in ("int8", "uint8"):
        limits = np.iinfo(kind)
        assert (noise.min(), noise.max()) == (limits.min, limits.max)


def test_whole_numbers_without_a_scale_may_be_wider() -> None:
    """Such as positions: NumPy makes int64 of them."""
    position = TensorDescriptor("position", DataType.int32, Role.INPUT, Region.INPUTS, 0, 0, (1, 1), 0.0, 0)
    (found,) = prepare_inputs([position], np.array([[7]]))
    assert (found.dtype, found.tolist()) == (np.dtype("int32"), [[7]])
    with pytest.raises(InputError, match=r"position: expected int32 \[1, 1\], got int64"):
        prepare_inputs([position], np.array([[1 << 40]]))
