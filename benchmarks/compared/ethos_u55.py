"""Arm Ethos-U55: what Vela, Arm's compiler, estimates for the MLPerf Tiny networks."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from compared.common import Networks, Report, cycles_of, percent, signed, table
from dlasim.sim.configuration.machine_files import preset

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
# Totals of Vela's Python core (--debug-force-legacy-core), in the order of MACS.
PYTHON_CORE = {
    "ResNet8": (787_935, 394_675, 181_754, 100_120),
    "DS-CNN": (314_358, 157_531, 80_855, 46_121),
    "VWW": (712_570, 357_464, 212_533, 137_919),
    "autoencoder": (40_581, 40_334, 40_293, 40_293),
}
# Its default core, --verbose-performance, on the built-in networks: of each layer the columns "Op Cycles" and
# "NPU", which is without waiting for the SRAM. The operators of a softmax are added up.
RECORDED_FILE = Path(__file__).with_name("vela-5.2.0.csv")
# Its totals of built-in networks that the presets were not fitted to.
OTHERS_FILE = Path(__file__).with_name("vela-others-5.2.0.csv")
# KiB of SRAM that it reports with 64 MACs for `--optimise Size`, and for `Performance`; with the former its
# estimates of cycles are at most 0.1 % higher.
VELA_SRAM = {
    "ResNet8": ("35", "48"),
    "VWW": ("48", "72"),
    "MobileNetV2": ("353.5", "1,470"),
    "DS-CNN": ("15.6", "15.6"),
    "autoencoder": ("0.8", "0.8"),
}
VELA_FLASH = 249_744  # autoencoder, 128 MACs, --memory-mode Shared_Sram: 0.47 GB/s of flash at 500 MHz
CLOSE = (0.8, 1.25)
CONVOLUTIONS = ("CONV", "DEPTH")


def recorded() -> list[dict[str, str]]:
    """The rows of the file."""
    with RECORDED_FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def by_kind(title: str, macs: int) -> tuple[int, ...]:
    """The recorded cycles of a network, added up by kind of operator."""
    sums = Counter[str]()
    for row in recorded():
        if row["network"] == title:
            sums[row["kind"]] += int(row[f"cycles_{macs}"])
    return tuple(sums[kind] for kind in KINDS)


def network_file(networks: Networks, title: str) -> Path:
    """The built-in network of a title."""
    name, arguments = NETWORKS[title]
    return networks.path(name, **arguments)


def render(networks: Networks) -> dict[str, str]:
    """The tables of the chapter, by their names in the template."""
    reports = {
        (title, macs): cycles_of(network_file(networks, title), preset(f"ethos-u55-{macs}"))
        for title in NETWORKS
        for macs in MACS
    }
    ratios = {key: _layer_ratios(key, report) for key, report in reports.items() if key[0] != "autoencoder"}
    every = [ratio for some in ratios.values() for ratio in some]
    close = sum(map(_is_close, every))
    totals = {key: int(report["cycles"]["dla"]) for key, report in reports.items()}
    off = [cycles / sum(by_kind(*key)) - 1 for key, cycles in totals.items()]
    others = [_other_totals(networks, row) for row in other_networks()]
    others_off = [ours / vela - 1 for _, pairs in others for vela, ours in pairs]
    near = sum(abs(each) <= 0.1 for each in off)
    return {
        "ethos_verdict": f"{near} of {len(off)} totals within 10 %, {100 * close / len(every):.0f} % of "
        "convolution layers within 0.8 to 1.25",
        "ethos_totals": table(("network", *_HEAD), _total_rows(totals)),
        "ethos_layers": table(("network", *_HEAD), _layer_rows(ratios)),
        "ethos_close": str(close),
        "ethos_convolutions": str(len(every)),
        "ethos_least": signed(min(off)),
        "ethos_most": signed(max(off)),
        "ethos_others_least": signed(min(others_off)),
        "ethos_others_most": signed(max(others_off)),
        "ethos_others": table(
            ("network", *_HEAD), [[title, *(_against(*pair) for pair in pairs)] for title, pairs in others]
        ),
        "ethos_kinds": table(
            ("network", *KINDS, "stall"),
            [_kind_row(title, reports[title, 128]["cycles"]) for title in NETWORKS],
        ),
        "ethos_memory": table(("network", *_HEAD), _npu_rows(totals)),
        **_flash(networks),
        "ethos_blocks": f"{_ratio_of('VWW', 256, 'pointwise_3', reports):.1f}",
        "ethos_bursts": f"{ratios['VWW', 256][0]:.2f}",
        "ethos_first_waits": _first_waits("VWW", 256),
        "ethos_handover": _without_handover(networks, totals),
    }


def other_networks() -> list[dict[str, str]]:
    """The rows of the file of totals."""
    with OTHERS_FILE.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _other_totals(networks: Networks, row: dict[str, str]) -> tuple[str, list[tuple[int, int]]]:
    """A network's title, and by size Vela's cycles and ours."""
    arguments = {name: read(row[name]) for name, read in _ARGUMENTS.items() if row[name]}
    path = networks.path(row["topology"], **arguments)
    ours = (cycles_of(path, preset(f"ethos-u55-{macs}"))["cycles"]["dla"] for macs in MACS)
    return row["network"], [
        (int(row[f"cycles_{macs}"]), int(own)) for macs, own in zip(MACS, ours, strict=True)
    ]


_ARGUMENTS: dict[str, Any] = {"alpha": float, "resolution": int}
_HEAD = tuple(f"{macs} MACs" for macs in MACS)


def _layer_ratios(key: tuple[str, int], report: Report) -> list[float]:
    """Our cycles over Vela's, of each convolution."""
    title, macs = key
    ours = {row["name"]: row["cycles"] for row in report["layers"]}
    return [
        ours[row["layer"]] / int(row[f"cycles_{macs}"])
        for row in recorded()
        if row["network"] == title and row["kind"] in CONVOLUTIONS
    ]


def _is_close(ratio: float) -> bool:
    return CLOSE[0] <= ratio <= CLOSE[1]


def _total_rows(totals: dict[tuple[str, int], int]) -> Iterator[list[str]]:
    for title in NETWORKS:
        yield [title, *(_against(sum(by_kind(title, macs)), totals[title, macs]) for macs in MACS)]
        python = zip(MACS, PYTHON_CORE[title], strict=True)
        yield ["its Python core", *(_against(cycles, totals[title, macs]) for macs, cycles in python)]


def _against(vela: int, ours: int) -> str:
    return f"{vela:,} / {ours:,} ({percent(ours, vela)})"


def _layer_rows(ratios: dict[tuple[str, int], list[float]]) -> Iterator[list[str]]:
    for title in dict.fromkeys(title for title, _ in ratios):
        row = [title]
        for macs in MACS:
            some = ratios[title, macs]
            inside = sum(map(_is_close, some))
            row.append(f"{min(some):.2f} / {mean(some):.2f} / {max(some):.2f}; {inside} of {len(some)}")
        yield row


def _npu_rows(totals: dict[tuple[str, int], int]) -> Iterator[list[str]]:
    """Against Vela's cycles without those in which layers wait for the SRAM."""
    for title in NETWORKS:
        row = [title]
        for macs in MACS:
            npu = sum(int(each[f"npu_{macs}"]) for each in recorded() if each["network"] == title)
            waiting = sum(by_kind(title, macs)) - npu
            row.append(f"{waiting:,}; {percent(totals[title, macs], npu)}")
        yield row


def _flash(networks: Networks) -> dict[str, str]:
    """The autoencoder with its constants in Vela's off-chip flash: 0.125 of the core's 8 bytes per cycle."""
    report = cycles_of(network_file(networks, "autoencoder"), preset("ethos-u55-128-flash"))
    constants = report["memories"]["flash"]["read"]
    return {
        "ethos_flash": _against(VELA_FLASH, int(report["cycles"]["dla"])),
        "vela_flash": f"{VELA_FLASH:,}",
        "ethos_flash_bytes": f"{constants:,}",
        "ethos_flash_more": f"{100 * (constants / VELA_FLASH - 1):.1f}",
    }


def _ratio_of(title: str, macs: int, layer: str, reports: dict[tuple[str, int], Report]) -> float:
    """Our cycles of a layer over Vela's."""
    (vela,) = (
        int(row[f"cycles_{macs}"]) for row in recorded() if (row["network"], row["layer"]) == (title, layer)
    )
    (ours,) = (row["cycles"] for row in reports[title, macs]["layers"] if row["name"] == layer)
    return float(ours / vela)


def _first_waits(title: str, macs: int) -> str:
    """Vela's cycles in which a network's first layer waits for the SRAM."""
    row = next(row for row in recorded() if row["network"] == title)
    return f"{int(row[f'cycles_{macs}']) - int(row[f'npu_{macs}']):,}"


def _without_handover(networks: Networks, totals: dict[tuple[str, int], int]) -> str:
    """By how many per cent fewer cycles three networks take with 256 MACs if results pass one by one."""
    machine = preset("ethos-u55-256").replace(mac_handover="results")
    lower = []
    for title in ("ResNet8", "DS-CNN", "VWW"):
        cycles = cycles_of(network_file(networks, title), machine)["cycles"]["dla"]
        lower.append(f"{100 * (1 - cycles / totals[title, 256]):.1f}")
    return f"{', '.join(lower[:-1])} and {lower[-1]}"


def _kind_row(title: str, cycles: dict[str, Any]) -> list[str]:
    row = [title]
    for kind, vela in zip(KINDS, by_kind(title, 128), strict=True):
        ours = cycles["by_kind"].get(kind)
        row.append("" if not vela else f"{vela:,} / {'CPU' if ours is None else f'{ours:,}'}")
    return [*row, f"/ {cycles['stall']:,}"]


def check_recorded(networks: Networks) -> str:
    """Runs Vela, where it is installed, and says how many of the recorded figures it gives again."""
    vela = shutil.which("vela") or shutil.which("vela", path=str(Path(sys.executable).parent))
    if vela is None:
        return "Vela is not installed (pip install ethos-u-vela): recorded figures of version 5.2.0 were used"
    version = subprocess.run([vela, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    cases = [(title, macs) for title in NETWORKS for macs in MACS]
    wrong = [
        f"{title} {macs}"
        for title, macs in cases
        if _measured(vela, network_file(networks, title), macs) != by_kind(title, macs)
    ]
    same = len(cases) - len(wrong)
    return f"Vela {version} gives {same} of {len(cases)} recorded rows again" + (
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
