"""TVM partitions a quantized ONNX network: convolutions and matrices run in dlasim, the rest in TVM.

    python offload_to_dlasim.py [NETWORK.onnx]

Relax's patterns find what the DLA computes, each group of them becomes a .dlag file, and a packed function in
its place in the graph runs that file. Without a network, onnxruntime quantizes a small one. The result is
compared with onnxruntime's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import tvm
from quantized_network import write_network
from tvm import relax
from tvm.relax.dpl import is_const, is_op, wildcard
from tvm.relax.frontend.onnx import from_onnx

import dlasim

Array = np.ndarray
FOLDER = Path("out/tvm")


# --- what is offloaded ---


def _real(tensor: Any) -> Any:
    return is_op("relax.dequantize")(tensor, is_const(), is_const())


def _quantized(real: Any) -> Any:
    return is_op("relax.quantize")(real, is_const(), is_const())


def patterns() -> list[tuple[str, Any]]:
    """QDQ: integers to real numbers, an operator with its bias, and back to integers."""
    image = is_op("relax.nn.conv2d")(_real(wildcard()), _real(is_const()))
    image = is_op("relax.add")(image, is_op("relax.reshape")(_real(is_const()), wildcard()))
    row = is_op("relax.matmul")(_real(wildcard()), is_op("relax.permute_dims")(_real(is_const())))
    row = is_op("relax.add")(row, _real(is_const()))
    return [("dlasim.conv2d", _quantized(image)), ("dlasim.dense", _quantized(row))]


# --- one group of operators to a .dlag file ---


class Translator:
    """The operators of a partition, added to a graph of dlasim one by one; images become NHWC."""

    def __init__(self, name: str) -> None:
        self.builder = dlasim.GraphBuilder(name)
        self.numbers: dict[Any, int] = {}
        self.scales: dict[Any, tuple[float, int]] = {}

    def function(self, function: relax.Function) -> int:
        """The number of the result."""
        local = {}
        for block in function.body.blocks:
            for binding in block.bindings:
                if isinstance(binding.value, relax.Function):
                    local[binding.var] = binding.value
                else:
                    self._call(local[binding.value.op], binding.value.args, binding.var)
        return self.numbers[function.body.body]

    def _call(self, composite: relax.Function, arguments: Any, result: Any) -> None:
        """One composite function: all of its constants are inside."""
        values = {binding.var: binding.value for block in composite.body.blocks for binding in block.bindings}
        quantize = values[composite.body.body]
        operator, bias = (values[item] for item in values[quantize.args[0]].args)
        source, weights = (values[item] for item in operator.args)
        bias = values[bias.args[0]] if bias.op.name == "relax.reshape" else bias
        weights = values[weights.args[0]] if weights.op.name == "relax.permute_dims" else weights
        given = dict(zip(composite.params, arguments, strict=True))
        found = self._source(given[source.args[0]], _parameters(source))
        data, scales = weights.args[0].value.numpy(), _numpy(weights.args[1])
        at = f"{composite.attrs['Composite']}_{len(self.numbers)}"
        name = "CONV_2D" if data.ndim == 4 else "FULLY_CONNECTED"
        constants = [
            self.builder.constant(f"{at}/weights", data.transpose(0, 2, 3, 1) if data.ndim == 4 else data,
                                  scale=scales, zero_point=_numpy(weights.args[2]), axis=0),
            self.builder.constant(f"{at}/bias", bias.args[0].value.numpy(), scale=_numpy(bias.args[1])),
        ]  # fmt: skip
        options: dict[str, Any] = {}
        if data.ndim == 4:
            found = self._padded(found, [int(size) for size in operator.attrs.padding], at, source)
            options = {
                "padding": "VALID",
                **dict(zip(("stride_h", "stride_w"), map(int, operator.attrs.strides), strict=True)),
            }
        scale, zero_point = _parameters(quantize)
        self.numbers[result] = self.builder.operator(
            name, [found, *constants], scale=scale, zero_point=zero_point, name=at, **options
        )
        self.scales[result] = scale, zero_point

    def _source(self, variable: Any, parameters: tuple[float, int]) -> int:
        """The number of an input, which is new at its first use."""
        if variable not in self.numbers:
            shape = tuple(int(size) for size in variable.ty.shape)
            shape = (shape[0], *shape[2:], shape[1]) if len(shape) == 4 else shape
            scale, zero_point = parameters
            self.numbers[variable] = self.builder.input(
                f"input_{len(self.numbers)}", shape, scale=scale, zero_point=zero_point
            )
        return self.numbers[variable]

    def _padded(self, number: int, pads: list[int], at: str, source: Any) -> int:
        """A PAD in front, which dlasim makes part of the convolution."""
        if not any(pads):
            return number
        top, left, bottom, right = pads
        amounts = self.builder.constant(
            f"{at}/pads", np.array([(0, 0), (top, bottom), (left, right), (0, 0)], np.int32)
        )
        scale, zero_point = _parameters(source)
        return self.builder.operator("PAD", [number, amounts], scale=scale, zero_point=zero_point)


def _numpy(constant: Any) -> Any:
    return constant.value.numpy().ravel().tolist()


def _parameters(conversion: Any) -> tuple[float, int]:
    (scale,), (zero_point,) = _numpy(conversion.args[1]), _numpy(conversion.args[2])
    return scale, zero_point


# --- in its place, a packed function that runs the file ---


def runner(path: Path) -> Callable[[Any, Any], None]:
    """What TVM calls: a tensor to read and one to write, both NCHW."""

    def run(source: Any, target: Any) -> None:
        values = source.numpy()
        result = dlasim.run(path, inputs=values.transpose(0, 2, 3, 1) if values.ndim == 4 else values)
        (output,) = result.outputs
        print(f"  {path.name}: {result.cycles:,} cycles")
        target.copyfrom(np.ascontiguousarray(output.transpose(0, 3, 1, 2) if output.ndim == 4 else output))

    return run


@relax.expr_functor.mutator
class Offload(relax.PyExprMutator):
    """Replaces the calls of partitions."""

    def __init__(self, module: tvm.IRModule) -> None:
        super().__init__(module)
        self.module, self.files = module, []

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        """A call of a partition becomes one of a packed function that is registered here."""
        call = super().visit_call_(call)
        if not isinstance(call.op, tvm.ir.GlobalVar):
            return call
        function, name = self.module[call.op], f"part_{len(self.files)}"
        if "Codegen" not in (function.attrs or {}):
            return call
        translator = Translator(name)
        number = translator.function(function)
        path = translator.builder.save(FOLDER / f"{name}.dlag", [number])
        tvm.register_global_func(f"dlasim.{name}", runner(path), override=True)
        self.files.append(path)
        return relax.call_dps_packed(f"dlasim.{name}", relax.Tuple(list(call.args)), out_ty=call.ty)


def offload(module: tvm.IRModule) -> tuple[tvm.IRModule, list[Path]]:
    """The module with packed functions for its partitions, and their files."""
    module = relax.transform.FuseOpsByPattern(patterns(), bind_constants=True)(module)
    module = relax.transform.MergeCompositeFunctions()(module)
    mutator = Offload(module)
    whole = mutator.visit_expr(module["main"])
    return tvm.IRModule({"main": whole}), mutator.files


def main(arguments: list[str]) -> int:
    """Partition, run and compare."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = Path(arguments[0]) if arguments else write_network(FOLDER / "small.onnx")
    module, files = offload(from_onnx(onnx.load(path), keep_params_in_input=False))
    print(f"TVM {tvm.__version__}, dlasim {dlasim.__version__}: {len(files)} partitions for dlasim")
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")  # exact sums on CPUs without VNNI, too
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    wanted = session.get_inputs()[0]
    image = np.random.default_rng(1).normal(0, 1, wanted.shape).astype(np.float32)
    (expected,) = session.run(None, {wanted.name: image})
    found = machine["main"](tvm.runtime.tensor(image)).numpy()
    print(f"largest difference from onnxruntime: {np.abs(found - expected).max():.4f}, "
          f"of values up to {np.abs(expected).max():.4f}")  # fmt: skip
    print(f"same class: {'yes' if np.argmax(found) == np.argmax(expected) else 'no'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
