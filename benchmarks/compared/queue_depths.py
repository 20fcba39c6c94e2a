"""What the depth of the queues is worth: cycles of whole inferences, kept for the pages that quote them."""

from __future__ import annotations

import csv
from pathlib import Path

from compared.common import Networks, cycles_of
from dlasim.sim.configuration.config import DlaConfig

KEPT = Path(__file__).parent / "queue_depths.csv"
NETWORKS = {"mobilenet_v2": "MobileNetV2", "resnet8": "ResNet8", "ds_cnn": "ds_cnn", "mnist": "mnist"}
DEPTHS = (1, 4)
_IDEAL = {
    "sram_bandwidth": "unlimited", "mac_results": "unlimited", "vector_requantizations": "unlimited",
    "vector_divisions": "unlimited",
}  # fmt: skip


def measure(networks: Networks) -> None:
    """Run each network with queues of each depth, where ports and output stage have no limits."""
    rows = []
    for name in NETWORKS:
        for depth in DEPTHS:
            machine = DlaConfig().replace(**_IDEAL, queue_depth=depth)
            cycles = cycles_of(networks.path(name), machine)["cycles"]["dla"]
            rows.append({"network": name, "queue_depth": depth, "cycles": cycles})
    with KEPT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
