"""PyTorch modules to ONNX, and from there to a report in one call."""

from __future__ import annotations

import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dlasim.arguments import checked
from dlasim.errors import InputError, RunError, printable
from dlasim.system.quiet import quiet

if TYPE_CHECKING:
    from dlasim.quantization.quantizing import Quantized, Samples


def _torch() -> Any:
    try:
        import_module("onnxscript")
        return import_module("torch")
    except ImportError as error:
        raise RunError(f"{error.name} is not installed; run pip install torch onnxscript") from None


def exported_program(path: str | Path) -> Path:
    """The ONNX file of a `.pt2` file, which torch.export wrote."""
    torch = _torch()
    try:
        program = torch.export.load(path)
    except Exception as error:  # its errors have no common class
        raise InputError(f"{path}: torch cannot load it: {printable(str(error))[:200]}") from None
    return _exported(torch, program, (), str(path))


def _exported(torch: Any, module: Any, example: tuple[Any, ...], name: str) -> Path:
    target = Path(tempfile.mkdtemp(prefix="dlasim-torch-")) / "float.onnx"
    try:
        torch.onnx.export(module, example, target, dynamo=True, external_data=False, verbose=False)
    except Exception as error:  # its errors have no common class
        text = printable(" ".join(str(error).split()))[:200]
        raise InputError(f"{name}: torch cannot export it to ONNX: {text}") from None
    return target


@checked()
def from_torch(
    module: Any, example: Any, calibration: Samples | Any, out: str | Path | None = None
) -> Quantized:
    """Export a PyTorch module, quantize it, and write the int8 network to a `.onnx` file, without `out` in a
    new temporary folder.

    `example` is a tensor or a tuple of tensors that the module takes. `calibration` has samples, one after
    another along the first dimension: an array, or a dictionary by the names of the module's arguments.
    """
    from dlasim.quantization.onnx_quantizer import quantize_onnx
    from dlasim.quantization.quantizing import read_samples

    torch = _torch()
    inputs = tuple(example) if isinstance(example, tuple | list) else (example,)
    samples = calibration if isinstance(calibration, dict) else {"": calibration}
    arrays = read_samples({name: np.asarray(array) for name, array in samples.items()})
    with quiet(), torch.no_grad():
        path = _exported(torch, module.eval(), inputs, type(module).__name__)
        return quantize_onnx(path, arrays, out or path.with_name("int8.onnx"), None)
