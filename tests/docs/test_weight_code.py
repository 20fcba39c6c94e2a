"""The page on compressed weights: its table, as measured here."""

from __future__ import annotations

import re
from pathlib import Path

from dlasim.compiler_shim.compile import load_model
from dlasim.compiler_shim.lowering.addresses.constants import part_of_weights
from dlasim.compiler_shim.lowering.addresses.weight_codes import whole_weights
from dlasim.compiler_shim.lowering.addresses.weight_encoder import encode_weights
from dlasim.isa.weight_code import CODE_BYTES

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (\w+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d.]+) \|$", re.MULTILINE)


def number(text: str) -> int:
    return int(text.replace(",", ""))


def test_weights_are_as_small_as_the_page_says(model_zoo: Path) -> None:
    rows = ROW.findall((ROOT / "docs" / "weight-code.md").read_text())
    assert len(rows) == 4
    for name, weights, vela, ours, ratio in rows:
        network = load_model(str(model_zoo / "mlperf_tiny" / f"{name}.tflite"))
        nodes = [node for item in network.items for node in item.dla if node.weights is not None]
        parts = [part_of_weights(node, network.values, whole_weights(node)) for node in nodes]
        code = sum(encode_weights(part).words for part in parts) * CODE_BYTES
        assert sum(part.size for part in parts) == number(weights)
        assert code == number(ours), name
        assert float(ratio) == round(code / number(vela), 3) < 1.05
