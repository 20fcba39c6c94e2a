"""onnxruntime's results for every 8-bit tensor of an ONNX model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dlasim.checking.onnx_edits import extra_outputs, with_unsigned_weights
from dlasim.compiler_shim.files.input_file import AnyInput, open_input
from dlasim.errors import InputError, RunError, printable
from dlasim.installation import extra_command

if TYPE_CHECKING:
    from dlasim.compiler_shim.onnx.onnx_values import Traced

ADVICE = extra_command("onnx")

Array = NDArray[Any]
_TYPES: dict[str, Any] = {
    "tensor(float16)": np.float16, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8,
    "tensor(int32)": np.int32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_,
}  # fmt: skip


class OnnxReference:
    """A model in onnxruntime, which also gives the tensors of these names."""

    def __init__(self, given: AnyInput, traced: Sequence[Traced], inputs: Sequence[Traced]) -> None:
        try:
            import onnxruntime
        except ImportError:
            raise RunError(f"onnxruntime is not installed; run {ADVICE}") from None
        self.name = f"onnxruntime {onnxruntime.__version__}"
        self._traced, self._inputs = traced, inputs
        options = onnxruntime.SessionOptions()
        # Each operator as it is in the file: fused kernels may saturate sums on some CPUs.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        path = str(given)
        folder = os.path.realpath(Path(path).parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        try:
            data = with_unsigned_weights(open_input(given)) + extra_outputs([item.name for item in traced])
            self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common class
            text = printable(" ".join(str(error).split()))[:200]
            raise InputError(f"{path}: onnxruntime rejects the model: {text}") from None
        self.outputs = [output.name for output in self._session.get_outputs()][: -len(traced) or None]
        self._types = {item.name: item.type for item in self._session.get_inputs()}

    def run(self, stored: Sequence[Array], real: Sequence[Array]) -> dict[str, Array]:
        """Every output and tensor; inputs as dlasim stores them, and as real numbers."""
        feed = {}
        for item, numbers, values in zip(self._inputs, stored, real, strict=True):
            chosen = _TYPES.get(self._types[item.name], np.float32)
            is_eight_bits = chosen in (np.uint8, np.int8)
            data = numbers.astype(np.int16) + item.offset if is_eight_bits else values
            back = np.argsort(item.order) if item.order else ()
            feed[item.name] = np.ascontiguousarray(data.transpose(back)).astype(chosen)
        names = [*self.outputs, *(item.name for item in self._traced)]
        return dict(zip(names, self._session.run(names, feed), strict=True))
