"""Arm Ethos-U55: what Vela, Arm's compiler, estimates for the MLPerf Tiny networks."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from compared.common import Networks, cycles_of, percent, table
from dlasim.sim.config import preset

MACS = (32, 64, 128, 256)
NETWORKS: dict[str, tuple[str, dict[str, Any]]] = {
    "ResNet8": ("resnet8", {}),
    "DS-CNN": ("ds_cnn", {}),
    "VWW": ("mobilenet_v1", {"alpha": 0.25, "resolution": 96, "classes": 2}),
    "autoencoder": ("autoencoder", {}),
}
KINDS = ("CONV", "DEPTH", "FC", "POOL", "ELTWISE", "SOFTMAX")
VELA_KINDS = {
    "Conv2D": "CONV", "DepthwiseConv2D": "DEPTH", "FullyConnected": "FC", "AvgPool": "POOL",
    "Add": "ELTWISE", "Softmax": "SOFTMAX",
}  # fmt: skip
VELA_OPTIONS = ("--system-config", "Ethos_U55_High_End_Embedded", "--memory-mode", "Sram_Only")
# Vela 5.2.0, --verbose-performance, "Op Cycles" added up by operator, on the built-in networks.
RECORDED: dict[tuple[str, int], tuple[int, ...]] = {
    ("ResNet8", 32): (527_547, 0, 200, 1_904, 172_032, 1_439),
    ("ResNet8", 64): (266_003, 0, 237, 3_168, 86_016, 879),
    ("ResNet8", 128): (136_922, 0, 233, 3_152, 43_008, 768),
    ("ResNet8", 256): (81_548, 0, 233, 3_148, 21_504, 718),
    ("DS-CNN", 32): (154_677, 104_976, 202, 2_932, 0, 1_452),
    ("DS-CNN", 64): (78_037, 53_136, 238, 5_416, 0, 882),
    ("DS-CNN", 128): (48_777, 32_496, 234, 5_400, 0, 771),
    ("DS-CNN", 256): (29_917, 19_872, 234, 5_476, 0, 723),
    ("VWW", 32): (402_329, 293_662, 265, 1_072, 0, 1_400),
    ("VWW", 64): (203_481, 149_502, 413, 1_596, 0, 824),
    ("VWW", 128): (119_976, 87_591, 409, 1_568, 0, 712),
    ("VWW", 256): (86_608, 60_387, 409, 1_560, 0, 662),
    ("autoencoder", 32): (0, 0, 41_362, 0, 0, 0),
    ("autoencoder", 64): (0, 0, 41_090, 0, 0, 0),
    ("autoencoder", 128): (0, 0, 40_929, 0, 0, 0),
    ("autoencoder", 256): (0, 0, 40_929, 0, 0, 0),
}


def network_file(networks: Networks, title: str) -> Path:
    """The built-in network of a title."""
    name, arguments = NETWORKS[title]
    return networks.path(name, **arguments)


def render(networks: Networks) -> dict[str, str]:
    """The tables of the chapter, by their names in the template."""
    totals, kinds = [], []
    for title in NETWORKS:
        row = [title]
        for macs in MACS:
            cycles = cycles_of(network_file(networks, title), preset(f"ethos-u55-{macs}"))["cycles"]
            vela = sum(RECORDED[title, macs])
            row.append(f"{vela:,} / {cycles['dla']:,} ({percent(cycles['dla'], vela)})")
            if macs == 128:
                kinds += [_kind_row(title, cycles)]
        totals.append(row)
    return {
        "ethos_totals": table(("network", *(f"{macs} MACs" for macs in MACS)), totals),
        "ethos_kinds": table(("network", *KINDS, "stall"), kinds),
    }


def _kind_row(title: str, cycles: dict[str, Any]) -> list[str]:
    row = [title]
    for kind, vela in zip(KINDS, RECORDED[title, 128], strict=True):
        ours = cycles["by_kind"].get(kind)
        row.append("" if not vela else f"{vela:,} / {'CPU' if ours is None else f'{ours:,}'}")
    return [*row, f"/ {cycles['stall']:,}"]


def check_recorded(networks: Networks) -> str:
    """Runs Vela, where it is installed, and says how many of the recorded figures it gives again."""
    vela = shutil.which("vela") or shutil.which("vela", path=str(Path(sys.executable).parent))
    if vela is None:
        return "Vela is not installed (pip install ethos-u-vela): recorded figures of version 5.2.0 were used"
    version = subprocess.run([vela, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    wrong = [
        f"{title} {macs}"
        for title, macs in RECORDED
        if _measured(vela, network_file(networks, title), macs) != RECORDED[title, macs]
    ]
    same = len(RECORDED) - len(wrong)
    return f"Vela {version} gives {same} of {len(RECORDED)} recorded rows again" + (
        f", not those of {', '.join(wrong)}" if wrong else ""
    )


def _measured(vela: str, model: Path, macs: int) -> tuple[int, ...]:
    command = [vela, str(model), "--accelerator-config", f"ethos-u55-{macs}", *VELA_OPTIONS]
    command += ["--verbose-performance", "--output-dir", str(model.parent / "vela")]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    ruler = next(number for number, line in enumerate(shown) if line.startswith("-----"))
    cycles: Counter[str] = Counter()
    for line in shown[ruler + 1 :]:
        columns = line.split()
        if not columns:
            break
        cycles[VELA_KINDS[columns[0]]] += int(columns[5])
    return tuple(cycles[kind] for kind in KINDS)
