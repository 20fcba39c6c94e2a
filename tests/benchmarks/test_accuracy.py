"""The accuracy page's references stand on their own, and dlasim meets them."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
# Millions of CONV cycles of the plain model, from the specification of the paper's flow.
SPECIFIED = {
    ("256M", 64, "input"): 12.44, ("256M", 64, "output"): 8.77,
    ("256M", 128, "input"): 8.63, ("256M", 128, "output"): 4.75,
    ("1M", 64, "input"): 12.44, ("1M", 64, "output"): 11.97,
    ("1M", 128, "input"): 8.63, ("1M", 128, "output"): 8.35,
    ("512K", 64, "input"): 12.44, ("512K", 64, "output"): 29.77,
    ("512K", 128, "input"): 8.63, ("512K", 128, "output"): 26.15,
}  # fmt: skip


def module(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """A module beside the benchmark scripts, as they import it."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module(f"compared.{name}")


def test_the_plain_model_gives_the_specified_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = module(monkeypatch, "paper")
    layers = paper.mobilenet_convolutions()
    for (sram, pes, parallel), cycles in SPECIFIED.items():
        total = sum(layer.cycles(pes, paper.SRAM[sram], parallel) for layer in layers)
        assert total / 1e6 == pytest.approx(cycles, abs=0.005)


def test_convolution_cycles_are_those_of_the_paper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    paper, common = module(monkeypatch, "paper"), module(monkeypatch, "common")
    model = common.Networks(tmp_path)
    for (sram, pes, parallel), cycles in SPECIFIED.items():
        machine = paper.preset("paper").replace(pes=pes, sram_bytes=paper.SRAM[sram], parallel=parallel)
        path = model.path("mobilenet_v1")
        report = common.cycles_of(path, machine, fusion="none", tiling="output-channel")
        assert report["cycles"]["by_kind"]["CONV"] / 1e6 == pytest.approx(cycles, rel=0.01)


@pytest.mark.parametrize("macs", [32, 64, 128, 256])
@pytest.mark.parametrize("title", ["ResNet8", "DS-CNN", "VWW", "autoencoder"])
def test_ethos_u55_takes_the_cycles_that_vela_estimates(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, title: str, macs: int
) -> None:
    """Its totals, recorded from Vela 5.2.0."""
    ethos, common = module(monkeypatch, "ethos_u55"), module(monkeypatch, "common")
    path = ethos.network_file(common.Networks(tmp_path), title)
    report = common.cycles_of(path, ethos.preset(f"ethos-u55-{macs}"))
    assert report["cycles"]["dla"] == pytest.approx(sum(ethos.by_kind(title, macs)), rel=0.1)


def test_nvdlas_formula_charges_each_mac_at_least_once(monkeypatch: pytest.MonkeyPatch) -> None:
    nvdla = module(monkeypatch, "nvdla")
    for layer in nvdla.convolutions_of("resnet8"):
        macs = layer.pixels * layer.in_channels * layer.out_channels * layer.kernel**2
        assert macs <= layer.slots(winograd=False)
        gain = layer.slots(winograd=False) / layer.slots(winograd=True)
        assert gain == pytest.approx(2.25 if layer.kernel == 3 else 1)


def test_the_page_has_the_measurements_of_the_rtl(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "accuracy.md").read_text()
    tables = module(monkeypatch, "rtl").render()
    assert tables["rtl_cycles"] in page
    assert all(text.strip() in page for text in tables.values())


def test_the_pages_are_whole_and_every_model_of_the_zoo_is_exact() -> None:
    accuracy = (ROOT / "docs" / "accuracy.md").read_text()
    assert "$" not in accuracy
    assert "**no**" not in accuracy
    zoo = (ROOT / "docs" / "zoo.md").read_text()
    counts = re.search(r"\*\*all\*\* \|  \| (\d+) \| (\d+) \(.*?\) \| (\d+)", zoo)
    assert counts is not None
    tried, compiled, exact = map(int, counts.groups())
    assert compiled == exact > 10
    _, _, reasons = zoo.partition("| refused because | models |\n| --- | ---: |\n")
    refused = re.findall(r"^\| .* \| (\d+) \|$", reasons.partition("\n\n")[0], re.MULTILINE)
    assert tried - compiled == sum(map(int, refused))  # each with its reason


def test_pages_state_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures that follow from measured files and from areas: `make docs` puts them in."""
    statements = module(monkeypatch, "statements")
    for page in {page for page, _ in statements.STATEMENTS}:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert statements.update(page, text) == text, page


def test_a_statement_is_in_its_page_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of another table once got the figures of the table that has such a row, too."""
    statements = module(monkeypatch, "statements")
    row = "| mnist | {one} | {four} |"
    assert (
        statements._filled("| mnist | 1 | 2 |", row, {"one": "3", "four": "4"}, "page") == "| mnist | 3 | 4 |"
    )
    with pytest.raises(AssertionError, match="page has 2 times, not once"):
        statements._filled("| mnist | 1 | 2 |\n| mnist | 3 | 4 |", row, {}, "page")


def test_energy_is_of_the_order_that_gap9_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Less than a product of other makers, whose cores and second memory are not counted, but not by four
    times. The supply has the effect that it has there."""
    gap9, common = module(monkeypatch, "gap9"), module(monkeypatch, "common")
    networks, (fast, slow) = common.Networks(tmp_path), gap9.POINTS
    for title in fast.microjoules:
        energies = [gap9.report_at(networks, point, title)["energy_nj"]["total"] for point in gap9.POINTS]
        for point, energy in zip(gap9.POINTS, energies, strict=True):
            assert 0.25 < energy / 1000 / point.microjoules[title] < 1
        published = slow.microjoules[title] / fast.microjoules[title]
        assert energies[1] / energies[0] == pytest.approx(published, rel=0.03)


def test_exports_of_pytorch_are_taken_and_near(monkeypatch: pytest.MonkeyPatch) -> None:
    exports = module(monkeypatch, "exports")
    rows = exports.read()
    assert exports.PAGE.read_text(encoding="utf-8").endswith("\n\n" + exports.chapter())
    assert sum(row.is_near for row in rows) >= 0.9 * len(rows) > 0
    assert all(row.layers > 0 and row.elements > 0 for row in rows if row.is_taken)
