"""The planner's page: how little SRAM each network of its table needs, and what Vela needs."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from dlasim import api
from dlasim.sim.configuration.sizes import KIB

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "planner.md"
NETWORKS = {
    "ResNet8": "resnet8",
    "VWW": "mobilenet_v1:alpha=0.25,resolution=96,classes=2",
    "MobileNetV2": "mobilenet_v2",
    "DS-CNN": "ds_cnn",
    "autoencoder": "autoencoder",
}
ENOUGH, STEP = 4096 * KIB, KIB // 2
MOST = 1.1  # times the cycles with enough


@pytest.mark.parametrize("title", NETWORKS)
def test_the_least_sram_of_a_network(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    by_size, by_performance = importlib.import_module("compared.ethos_u55").VELA_SRAM[title]
    least, page = cycles(title, ENOUGH), PAGE.read_text(encoding="utf-8")
    (shown,) = re.findall(rf"^\| {title} \| ([\d.]+) KiB", page, re.MULTILINE)
    size = round(float(shown) * KIB)
    more = cycles(title, size) / least - 1
    row = f"| {title} | {shown} KiB | {100 * more:.1f} % | {by_size} KiB ({by_performance}) |"
    assert row in page
    assert cycles(title, size) <= MOST * least < cycles(title, size - STEP)


def cycles(title: str, sram_bytes: int) -> int:
    return api.run(NETWORKS[title], sram_bytes=sram_bytes, timing_only=True, check_races=False).cycles
