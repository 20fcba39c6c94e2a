"""Real networks in ONNX, exported by PyTorch and quantized by onnxruntime, on one of the two hosts each."""

from __future__ import annotations

from pathlib import Path

import pytest

import dlasim

NETWORKS = {"conv1d.qop": "riscv", "decoder.qdq8": "none", "encoder.qdq8": "none", "gru.qdq8": "none",
            "ln.qdq8": "riscv", "unet.qdq8": "none"}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_within_a_step_of_onnxruntime(model_zoo: Path, name: str) -> None:
    found = dlasim.verify(model_zoo / "more" / f"{name}.onnx", sram="256KiB", host=NETWORKS[name])
    assert found.program.passed, found.program.mismatch
    assert found.passed
    assert found.steps <= 1
