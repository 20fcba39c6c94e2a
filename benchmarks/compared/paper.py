"""Sponner et al., TinyML Research Symposium 2021: MobileNetV1 on twelve machines, and its findings.

The paper draws bars and prints no numbers. Its model fits a few lines, and stands here: nothing
of dlasim is used for the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compared.common import Networks, Report, cycles_of, millions, percent, table
from dlasim.sim.configuration.machine_files import preset
from dlasim.sim.configuration.sizes import KIB, MIB

PES = (64, 128)
SRAM = {"256M": 256 * MIB, "1M": MIB, "512K": 512 * KIB}
PARALLEL = ("input", "output")
INT32_BYTES = 4
BROKEN = "**some do not hold**"
CLOSE = 0.1  # per cent
# Channels and stride of the depthwise layers' pointwise successors: table 1 of Howard et al., 2017.
BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))


@dataclass(frozen=True, slots=True)
class PaperLayer:
    """A convolution: square input of `size`, square output of `pixels`, as the paper's flow sees it."""

    size: int
    outputs: int
    kernel: int
    in_channels: int
    out_channels: int

    def tiles(self, sram_bytes: int) -> Iterator[int]:
        """Output channels of each tile: whole input, int32 output, weights and a bias must fit."""
        free = sram_bytes - self.size**2 * self.in_channels
        each = self.outputs**2 * INT32_BYTES + self.kernel**2 * self.in_channels + INT32_BYTES
        most = min(free // each, self.out_channels)
        yield from [most] * (self.out_channels // most)
        if self.out_channels % most:
            yield self.out_channels % most

    def cycles(self, pes: int, sram_bytes: int, parallel: str) -> int:
        """Cycles in which the PEs work, and nothing besides."""
        outer = self.outputs**2 * self.kernel**2
        if parallel == "input":
            return outer * self.out_channels * -(-self.in_channels // pes)
        return sum(outer * self.in_channels * -(-tile // pes) for tile in self.tiles(sram_bytes))


def mobilenet_convolutions() -> list[PaperLayer]:
    """The standard convolutions of MobileNetV1 1.0/224: a stem and 13 pointwise ones."""
    layers, size, channels = [PaperLayer(224, 112, 3, 3, 32)], 112, 32
    for out_channels, stride in BLOCKS:
        size //= stride
        layers.append(PaperLayer(size, size, 1, channels, out_channels))
        channels = out_channels
    return layers


@dataclass(slots=True)
class PaperComparison:
    """Reference and own figures by machine, as (sram, pes, parallel)."""

    plain: dict[tuple[str, int, str], int]
    ours: dict[tuple[str, int, str], Report]
    emulated: Report

    def conv(self, sram: str, pes: int, parallel: str) -> int:
        """Our cycles in standard convolutions."""
        return int(self.ours[sram, pes, parallel]["cycles"]["by_kind"]["CONV"])

    def total(self, sram: str, pes: int, parallel: str) -> int:
        """Our cycles on the DLA."""
        return int(self.ours[sram, pes, parallel]["cycles"]["dla"])


def compare(networks: Networks) -> PaperComparison:
    """Both models on all machines."""
    model, layers = networks.path("mobilenet_v1"), mobilenet_convolutions()
    plain, ours = {}, {}
    flow = {"fusion": "none", "tiling": "output-channel"}
    for name, sram_bytes in SRAM.items():
        for pes in PES:
            for parallel in PARALLEL:
                key = name, pes, parallel
                machine = preset("paper").replace(pes=pes, sram_bytes=sram_bytes, parallel=parallel)
                plain[key] = sum(layer.cycles(pes, sram_bytes, parallel) for layer in layers)
                ours[key] = cycles_of(model, machine, **flow)
    machine = preset("paper").replace(sram_bytes=SRAM["256M"])
    return PaperComparison(plain, ours, cycles_of(model, machine, depthwise="emulated", **flow))


def findings(found: PaperComparison) -> list[tuple[str, str, bool]]:
    """What the paper found, our figures for it, and whether they agree."""

    def pair(left: tuple[str, int, str], right: tuple[str, int, str]) -> tuple[str, bool]:
        less, more = found.conv(*left), found.conv(*right)
        return f"{_label(left)}: {millions(less)} M, {_label(right)}: {millions(more)} M", less < more

    depth = int(found.ours["256M", 64, "output"]["cycles"]["by_kind"]["DEPTH"])
    emulated = int(found.emulated["cycles"]["by_kind"]["DEPTH"])
    texts = (
        ("without tiling, output parallel needs fewer cycles than input parallel",
         *pair(("256M", 64, "output"), ("256M", 64, "input"))),
        ("with 512 KiB, tiles have few output channels, and input parallel is faster",
         *pair(("512K", 64, "input"), ("512K", 64, "output"))),
        ("memory is not everything: 128 PEs with 1 MiB beat 64 with 256 MiB",
         *pair(("1M", 128, "output"), ("256M", 64, "output"))),
        ("depthwise through the standard convolution costs drastically more than its own instruction",
         f"{millions(emulated)} M against {millions(depth)} M", emulated > 10 * depth),
    )  # fmt: skip
    return list(texts)


def render(networks: Networks) -> dict[str, str]:
    """The tables of the chapter, by their names in the template."""
    found = compare(networks)
    rows = [
        (_label(key), millions(plain), millions(found.conv(*key)), percent(found.conv(*key), plain))
        for key, plain in found.plain.items()
    ]
    judged = findings(found)
    verdicts = [
        (f"{number}. {text}", figures, "yes" if holds else "**no**")
        for number, (text, figures, holds) in enumerate(judged, start=1)
    ]
    holds = all(holds for _, _, holds in judged)
    deviations = [100 * abs(found.conv(*key) / plain - 1) for key, plain in found.plain.items()]
    close = sum(deviation <= CLOSE for deviation in deviations)
    return {
        "paper_verdict": "all hold" if holds else BROKEN,
        "paper_close": str(close),
        "paper_others": str(len(deviations) - close),
        "paper_most": f"{max(deviations):.1f}",
        "paper_conv": table(("machine", "plain model", "dlasim", "deviation"), rows),
        "paper_findings": table(("finding", "dlasim", "holds"), verdicts),
        "paper_tiles": table(("machine", "operator", "plain model's tiles", "dlasim's"), _other_tiles(found)),
    }


def _other_tiles(found: PaperComparison) -> Iterator[tuple[str, ...]]:
    """The layers whose cycles differ, and how each model cuts them."""
    for key, report in found.ours.items():
        sram, pes, parallel = key
        rows = [row for row in report["layers"] if row["kind"] == "CONV"]
        for layer, row in zip(mobilenet_convolutions(), rows, strict=True):
            if row["cycles"] != layer.cycles(pes, SRAM[sram], parallel):
                cut = " + ".join(map(str, layer.tiles(SRAM[sram])))
                groups = row["cycles"] // (layer.outputs**2 * layer.kernel**2 * layer.in_channels)
                ours = f"{row['tiles']} tiles, {groups} groups of {pes} channels in all"
                yield _label(key), f"{layer.in_channels} to {layer.out_channels}", f"{cut} channels", ours


def _label(key: tuple[str, int, str]) -> str:
    sram, pes, parallel = key
    return f"{sram} {pes} {parallel[0].upper()}"
