"""Files that another NPU's compiler wrote: one message names it, whatever else the file holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from onnx import helper

from dlasim.cli import main
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tflite.reader import read_tflite
from tests.onnx.test_onnx_faults import model as onnx_model
from tests.onnx.test_onnx_faults import refusal as onnx_refusal
from tests.tflite.test_damaged_files import raw_model, refusal

CUSTOM = 32


def compiled_model(operator: str) -> bytes:
    """As Vela writes it: commands are a constant, scratch memory is a tensor that nothing writes."""
    scale = {"scale": [0.5], "zero_point": [0]}
    tensors = [
        {"shape": [16], "type": 3, "buffer": 1, "name": "main_split_1_command_stream"},
        {"shape": [64], "type": 3, "buffer": 0, "name": "main_split_1_scratch"},
        {"shape": [1, 4], "type": 9, "buffer": 0, "name": "x", "quantization": scale},
        {"shape": [1, 4], "type": 9, "buffer": 0, "name": "y", "quantization": scale},
    ]
    operators = [{"inputs": [0, 1, 2], "outputs": [3]}]
    subgraph = {"tensors": tensors, "inputs": [2], "outputs": [3], "operators": operators}
    codes = [{"deprecated_builtin_code": CUSTOM, "builtin_code": CUSTOM, "custom_code": operator}]
    buffers = [{}, {"data": np.zeros(16, np.uint8)}]
    return encode("Model", raw_model(subgraphs=[subgraph], operator_codes=codes, buffers=buffers), 1024)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("ethos-u", "Vela compiled this file for Arm's Ethos-U (operator ethos-u)"),
        ("edgetpu-custom-op", "edgetpu_compiler compiled this file for Google's Edge TPU"),
        ("NeutronGraph", "the eIQ Neutron converter compiled this file for NXP's Neutron NPU"),
        ("XC_conv2d_v2", "xcore-opt compiled this file for XMOS's xcore (operator XC_conv2d_v2)"),
        ("MTKEXT_GELU", "MediaTek"),
        ("vsi-npu", "VeriSilicon"),
        ("DISPATCH_OP_3", "LiteRT's compiler compiled this file for the NPU of a phone"),
    ],
)
def test_the_compiler_is_named(operator: str, expected: str) -> None:
    message = refusal(compiled_model(operator))
    assert expected in message
    assert "give dlasim the file from before that compiler" in message


@pytest.mark.parametrize("command", ["run", "explain", "inspect", "verify"])
def test_every_command_says_so(command: str, tmp_path: Path) -> None:
    path = tmp_path / "vela.tflite"
    path.write_bytes(compiled_model("ethos-u"))
    result = CliRunner().invoke(main, [command, str(path)])
    assert result.exit_code == 2
    assert f"{path}: Vela compiled this file for Arm's Ethos-U" in result.output
    assert result.output.count("\n") == 1


@pytest.mark.parametrize("operator", ["ethos-u85-like", "my-ethos-u", "XCORE", "NeutronGraph2"])
def test_other_custom_operators_are_not_taken_for_one(operator: str) -> None:
    codes = [{"deprecated_builtin_code": CUSTOM, "builtin_code": CUSTOM, "custom_code": operator}]
    model = encode("Model", raw_model(operator_codes=codes), 256)
    assert read_tflite(model).operators[0].kind == f"CUSTOM[{operator}]"


def test_onnx_files_hold_compiled_contexts(tmp_path: Path) -> None:
    node = helper.make_node("EPContext", ["x"], ["y"], domain="com.microsoft", main_context=1)
    message = onnx_refusal(tmp_path, onnx_model([node], []))
    assert "onnxruntime compiled this file for one of its execution providers (operator EPContext)" in message
