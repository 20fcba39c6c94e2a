"""NVDLA: the published ResNet-50 figures, compared with machines of the same MACs, buffer and memory."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from compared.common import Networks, Report, cycles_of, millions, table
from dlasim.compiler_shim.topologies import build_topology
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_files import preset
from dlasim.sim.configuration.sizes import KIB, UNLIMITED

CLOCK_HZ = 1e9
WINOGRAD_GAIN = 2.25
FEWEST_CHANNELS, FEWEST_KERNELS = 16, 128  # what the published formula rounds up to


@dataclass(frozen=True, slots=True)
class PublishedPoint:
    """A line of the published table, and the array and vector lanes of the configuration next to it."""

    buffer_kib: int
    bandwidth: float  # GB/s at 1 GHz: bytes per cycle
    published_fps: float
    parallel: str
    vector_lanes: int

    @property
    def macs(self) -> int:
        """Multiply-accumulates per cycle."""
        inputs, outputs = self.parallel.split("x")
        return int(inputs) * int(outputs)

    @property
    def machine(self) -> DlaConfig:
        """The machine in our terms, with all tensors and constants in a DRAM of the published bandwidth."""
        small = preset("nvdla-small")
        dram = {"regions": ["constants", "arena", "inputs", "outputs"], "bandwidth": self.bandwidth}
        return small.replace(
            parallel=self.parallel,
            sram_bytes=self.buffer_kib * KIB,
            dma_bandwidth=max(1, int(self.bandwidth)),
            dma_shared_bandwidth=max(1, int(self.bandwidth)),
            memories={"dram": dram | {"latency": small.dma_latency, "burst_bytes": 32}},
            vector_lanes=self.vector_lanes,
            mac_results=self.vector_lanes,
            vector_requantizations=3 * self.vector_lanes,
            sram_bandwidth=int(self.parallel.split("x")[0]),
        )


# What the published formula does not count, each with all above it: the output stage, the VECTOR unit, the
# ports with their buffers and pipelines.
FREED: tuple[dict[str, object], ...] = (
    {},
    {"mac_results": UNLIMITED},
    {"vector_lanes": 4096, "vector_requantizations": UNLIMITED, "vector_divisions": UNLIMITED},
    {
        "sram_bandwidth": UNLIMITED, "line_buffer_bytes": UNLIMITED, "weight_buffer_bytes": UNLIMITED,
        "mac_fill": 0, "mac_drain": 0,
    },
)  # fmt: skip

# Arrays and lanes: spec/defs of nvdla/hw for 2048, 1024, 512, 256 and 64 MACs; those of 128 and 32 are ours.
POINTS = (
    PublishedPoint(512, 20, 269, "64x32", 16),
    PublishedPoint(256, 15, 153, "64x16", 4),
    PublishedPoint(256, 10, 93, "32x16", 2),
    PublishedPoint(256, 5, 46, "32x8", 1),
    PublishedPoint(256, 2, 20, "16x8", 1),
    PublishedPoint(128, 1, 7.3, "8x8", 1),
    PublishedPoint(128, 0.5, 3.6, "8x4", 1),
)


@dataclass(frozen=True, slots=True)
class ConvolutionShape:
    """What the published formula asks about a layer."""

    pixels: int
    in_channels: int
    out_channels: int
    kernel: int
    stride: int

    def slots(self, winograd: bool) -> float:
        """MACs that the formula charges: channels and kernels rounded up, 3x3 through Winograd or not."""
        channels = -(-self.in_channels * self.stride**2 // FEWEST_CHANNELS) * FEWEST_CHANNELS
        kernels = -(-self.out_channels // FEWEST_KERNELS) * FEWEST_KERNELS
        slots = channels * self.pixels * kernels * self.kernel**2 / self.stride**2
        return slots / WINOGRAD_GAIN if winograd and self.kernel == 3 else slots


def convolutions_of(network: str) -> Iterator[ConvolutionShape]:
    """The convolutions and fully connected layers of a built-in network."""
    graph = build_topology(network)
    for operator in graph.operators:
        if operator.kind not in ("CONV_2D", "FULLY_CONNECTED"):
            continue
        weights = graph.tensors[operator.inputs[1]].shape
        output = graph.tensors[operator.outputs[0]].shape
        if operator.kind == "CONV_2D":
            stride = int(operator.options["stride_h"])
            yield ConvolutionShape(output[1] * output[2], weights[3], weights[0], weights[1], stride)
        else:
            yield ConvolutionShape(1, weights[1], weights[0], 1, 1)


def sheet_rows() -> list[dict[str, str]]:
    """What columns Y, AA, AB, AN, AO, AR and AS of the sheet ResNet50 give, and give without some terms."""
    with (Path(__file__).parent / "nvdla_sheet.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def render(networks: Networks) -> dict[str, str]:
    """The tables of the chapter, by their names in the template."""
    layers = list(convolutions_of("resnet50"))
    speeds, terms, ratios, freed, sheet = [], [], [], [], []
    for point, published in zip(POINTS, sheet_rows(), strict=True):
        reports = list(_freed(networks, point))
        report = reports[0]
        label = f"{point.macs} / {point.buffer_kib} / {point.bandwidth:g}"
        fps = CLOCK_HZ / report["cycles"]["dla"]
        ratios.append(fps / point.published_fps)
        speeds.append((label, f"{point.published_fps:g}", f"{fps:.3g}", f"{ratios[-1]:.2f}"))
        terms.append((label, *_terms(point, layers, report)))
        moved = sum(report["dma_bytes"].values()) / 1e6
        sheet.append((label, *list(published.values())[1:], f"{fps:.3g}", f"{moved:.0f}"))
        rates = [CLOCK_HZ / each["cycles"]["dla"] for each in reports]
        freed.append((label, *(f"{rate / point.published_fps:.2f}" for rate in rates)))
        if point is POINTS[0]:
            first, whole = report["layers"][0]["busy_cycles"], report["cycles"]["dla"]
    return {
        "nvdla_first": millions(first, 1),
        "nvdla_whole": millions(whole, 1),
        "nvdla_verdict": f"{min(ratios):.2f} to {max(ratios):.2f} of the published rates",
        "nvdla_least": f"{min(ratios):.2f}",
        "nvdla_most": f"{max(ratios):.2f}",
        "nvdla_speeds": table(("MACs / buffer KiB / GB/s", "published fps", "dlasim fps", "ratio"), speeds),
        "nvdla_terms": table(_TERMS, terms),
        "nvdla_freed": table(_FREED, freed),
        "nvdla_sheet": table(_SHEET, sheet),
    }


def _freed(networks: Networks, point: PublishedPoint) -> Iterator[Report]:
    """The machine as it is, and with more and more of it free."""
    machine = point.machine
    for changes in FREED:
        machine = machine.replace(**changes)
        yield cycles_of(networks.path("resnet50"), machine)


def _terms(point: PublishedPoint, layers: list[ConvolutionShape], report: Report) -> list[str]:
    published = CLOCK_HZ / point.published_fps
    cycles, moved = report["cycles"], sum(report["dma_bytes"].values())
    kinds = cycles["by_kind"]
    return [
        millions(published),
        *(
            millions(sum(layer.slots(winograd) for layer in layers) / point.macs)
            for winograd in (True, False)
        ),
        millions(kinds["CONV"] + kinds["FC"]),
        millions(kinds["POOL"] + kinds["ELTWISE"]),
        millions(cycles["stall"]),
        millions(cycles["dla"]),
        f"{published * point.bandwidth / 1e6:.0f}",
        f"{moved / 1e6:.0f}",
    ]


_FREED = ("machine", "as it is", "output stage free", "and VECTOR", "and ports, fill, drain")
_SHEET = (
    "machine",
    "the sheet",
    "without Winograd",
    "and without reading again",
    "its MB",
    "dlasim",
    "our MB",
)
_TERMS = ("machine", "published", "MAC, Winograd", "MAC, without", "ours: MAC", "vector", "stall", "all",
          "published MB at most", "our MB")  # fmt: skip
