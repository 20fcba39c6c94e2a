"""What the depth of the queues is worth: cycles of whole inferences, kept for the pages that quote them."""

from __future__ import annotations

import csv
from pathlib import Path

from compared.common import Networks, cycles_of
from dlasim.sim.configuration.config import DlaConfig

KEPT = Path(__file__).parent / "queue_depths.csv"
NETWORKS = {
    "mobilenet_v2": "MobileNetV2", "resnet8": "ResNet8", "ds_cnn": "ds_cnn", "mnist": "mnist", "vit": "vit",
}  # fmt: skip
ARRAYS = {"output": "64 O", "8x8": "8x8", "16x16": "16x16"}
DEPTHS = (1, 2, 3, 4)


def measure(networks: Networks) -> None:
    """Run each network on each array with queues of each depth."""
    rows = []
    for name in NETWORKS:
        for array in ARRAYS:
            for depth in DEPTHS:
                machine = DlaConfig().replace(parallel=array, queue_depth=depth)
                cycles = cycles_of(networks.path(name), machine)["cycles"]["dla"]
                rows.append({"network": name, "array": array, "queue_depth": depth, "cycles": cycles})
    with KEPT.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
