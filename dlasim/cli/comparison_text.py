"""What `dlasim verify` says of an ONNX model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dlasim.cli.terminal import say
from dlasim.errors import RunError, counted

if TYPE_CHECKING:
    from dlasim.checking.onnx_comparison import OnnxComparison


def print_comparison(model: str, result: OnnxComparison, as_json: bool) -> None:
    """The result as lines or as JSON; a RunError if it did not pass."""
    if as_json:
        say(json.dumps({"model": model, **result.as_dict()}, indent=2))
    if result.program.mismatch is not None:
        raise RunError(f"{model} differs from dlasim's own kernels: {result.program.mismatch}")
    share = 100 * result.differing / max(result.elements, 1)
    outputs = sum(output.elements for output in result.outputs)
    differing = sum(output.differing for output in result.outputs)
    steps = max((output.steps for output in result.outputs), default=0)
    layers = counted(result.elements, "element")
    text = (
        f"layer by layer {share:.2f} % of {layers} differ from {result.reference}, by "
        f"{counted(result.steps, 'step')} at most; outputs: {differing:,} of {outputs:,}, by "
        f"{counted(steps, 'step')} at most; the largest output is the same for {result.same_top} of "
        f"{counted(result.runs, 'input')}"
    )
    if not result.passed:
        worst = max(result.layers, key=lambda layer: (layer.steps, layer.differing))
        raise RunError(f"{model}: {text}; most in {worst.name}")
    if not as_json:
        say(f"{model}: {text}")
