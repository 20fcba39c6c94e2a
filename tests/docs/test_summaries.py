"""Sentences that sum up what their page prints: the tables above them bear them out."""

from __future__ import annotations

import re

import pytest

from dlasim.compiler_shim.topologies import build_topology
from dlasim.sim.host_time.host_estimate import RATES
from tests.docs.test_stated_figures import numbers_of, page
from tests.topologies.test_topologies import multiplications

LANGUAGE, LEAST = "how-to/run-a-language-model.md", "how-to/find-the-least-energy.md"


def test_what_makes_tokens() -> None:
    pattern = r"^([a-z]+\d) +(\d+)  (\d+)KiB +(\d+) +(\d+)" + 4 * r" +([\d.]+)" + "$"
    rows, bounds = dict[tuple[str | int, ...], tuple[float, ...]](), dict[tuple[str | int, ...], float]()
    for form, *machine, rate, bound, energy, area in numbers_of(LANGUAGE, pattern):
        key = form, *map(int, machine)
        rows[key], bounds[key] = (float(rate), float(energy), float(area)), float(bound)
    assert len(rows) == 11
    text = page(LANGUAGE)
    assert "20 tokens a second need 6 bytes per cycle, 3 GB/s at 500 MHz" in text
    assert "Weights of 4 bits need 4 bytes per cycle, 2 GB/s, and a third less energy" in text
    (bytes_rate, bytes_energy, _), (packed_rate, packed_energy, _) = (
        rows["int8", 6, 512, 64, 256],
        rows["int4", 4, 512, 64, 256],
    )
    assert 20 <= min(bytes_rate, packed_rate) <= max(bytes_rate, packed_rate) < 20 * 1.15
    assert packed_energy / bytes_energy == pytest.approx(2 / 3, abs=0.03)
    assert "64 KiB and 16 PEs, less than half the area, cost less than 3 %" in text
    for form, width in (("int8", 6), ("int4", 4)):
        large, small = rows[form, width, 512, 64, 256], rows[form, width, 64, 16, 256]
        assert 0 < 1 - small[0] / large[0] < 0.03
        assert small[2] < large[2] / 2
    assert "1,024 tokens instead of 256 cost a tenth of the speed" in text
    assert 1 - rows["int4", 8, 512, 64, 1024][0] / rows["int4", 8, 512, 64, 256][0] == pytest.approx(
        0.1, abs=0.02
    )
    assert "makes a tenth more tokens of 8 bits and a quarter more of 4 bits, for 0.22 mm²" in text
    for plain, coded, more in (("int8", "coded8", 1.1), ("int4", "coded4", 1.25)):
        before, after = rows[plain, 8, 512, 64, 256], rows[coded, 8, 512, 64, 256]
        assert after[0] / before[0] == pytest.approx(more, abs=0.02)
        assert after[2] - before[2] == pytest.approx(0.22, abs=0.015)
    assert "a token takes 1.02 to 1.03 times what DMA_IN alone takes" in text
    found = [round(bound, 2) for bound in bounds.values()]
    assert (min(found), max(found)) == (1.02, 1.03)


def test_what_compressed_weights_save() -> None:
    rows = {
        (bits, form): (int(cycles.replace(",", "")), int(read.replace(",", "")))
        for bits, form, cycles, read in numbers_of(LANGUAGE, r"^int(\d) +([a-z]+) +([\d,]+) +([\d,]+)$")
    }
    text = page(LANGUAGE)
    assert (
        "Those of 8 bits become a tenth smaller. With 4 bits, a token reads a quarter less than by twos"
        in text
    )
    for bits, before, saved in (("8", "bytes", 0.1), ("4", "unpacking", 0.25)):
        for old, new in zip(rows[bits, before], rows[bits, "decoding"], strict=True):
            assert 1 - new / old == pytest.approx(saved, abs=0.04)


def test_what_the_least_energy_consists_of() -> None:
    pattern = r"^(\d+x\d+) +(\d+) KiB +([\d.]+) ms ([\d.]+) mJ" + 5 * r" +([\d.]+)" + " mm²$"
    rows = {array: tuple(map(float, cells)) for array, *cells in numbers_of(LEAST, pattern)}
    text = page(LEAST)
    winner, *_ = rows
    _, time, energy, memory, *_, area = rows[winner]
    by_sram = {
        int(size): float(value)
        for size, value in numbers_of(LEAST, rf"^{winner} with (\d+) KiB: ([\d.]+) mJ$")
    }
    assert "Bytes of memory take more than half of the winner's energy" in text
    assert memory > energy / 2
    assert "With 1 MiB nothing more is saved" in text
    assert by_sram[1024] >= by_sram[512] == energy
    assert "With 64 KiB the tensors no longer fit, and the energy doubles" in text
    assert 1.9 < by_sram[64] / energy < 2.4
    assert "Buffers take most of the energy of lines" in text
    assert all(row[5] == max(row[3:7]) for array, row in rows.items() if "1" in array.split("x"))
    assert (
        "The array of 8x8 is smaller than the winner and takes more energy, because it works longer" in text
    )
    assert (rows["8x8"][-1] < area, rows["8x8"][2] > energy, rows["8x8"][1] > time) == (True, True, True)
    assert "With 32x32 the area grows faster than the time shrinks" in text
    assert rows["32x32"][-1] / area > time / rows["32x32"][1] > 1


def test_instructions_for_each_multiply_accumulate() -> None:
    text = page("firmware.md")
    assert (
        "takes three to five instructions for each multiply-accumulate (ResNet8 has 12.5 million, DS-CNN "
        "2.7, the autoencoder 0.26)"
    ) in text
    for name, millions in (("resnet8", "12.5"), ("ds_cnn", "2.7"), ("autoencoder", "0.26")):
        (count,) = re.findall(rf"dlasim run {name} --host riscv --place cpu CPU +([\d,]+) instructions", text)
        macs = multiplications(build_topology(name))
        assert macs / 1e6 == pytest.approx(float(millions), rel=0.02)
        assert 3 <= int(count.replace(",", "")) / macs <= 5


def test_a_table_quantizes_in_half_the_time() -> None:
    assert "instead, which takes half as long" in page("firmware.md")
    assert RATES["QUANTIZE_TABLE"].written / RATES["QUANTIZE"].written == pytest.approx(0.5, abs=0.02)
