"""GAP9 with NE16: MLPerf Tiny's published results, compared with machines of dlasim."""

from __future__ import annotations

from typing import NamedTuple

from compared.common import Networks, Report, cycles_of, percent, span, table
from compared.ethos_u55 import network_file
from dlasim.sim.configuration.machine_files import preset

# mlcommons/tiny_results_v1.0, 370 MHz: cycles = clock / throughput.
PUBLISHED = {"autoencoder": 65_008, "ResNet8": 228_001, "DS-CNN": 175_922, "VWW": 416_175}
MACHINES = ("default", "ethos-u55-128")
NEAREST = "ethos-u55-128"  # NE16 has 162 MACs of int8 per cycle


class Point(NamedTuple):
    """A clock and a supply at which the results' energies were measured, in microjoules."""

    clock_mhz: float
    volts: float
    microjoules: dict[str, float]


POINTS = (
    Point(370, 0.8, {"autoencoder": 7.3, "ResNet8": 40.4, "DS-CNN": 26.7, "VWW": 59.1}),
    Point(240, 0.65, {"autoencoder": 5.3, "ResNet8": 27.7, "DS-CNN": 18.7, "VWW": 41.3}),
)
# 22FDX at GAP9's clock, its second memory level in place of system memory.
TECHNOLOGY = """base = "22nm"

[constants]
clock_mhz = 370

[regions]
CONSTANTS = "sram"
ARENA = "sram"
INPUTS = "sram"
OUTPUTS = "sram"
COMMANDS = "sram"
"""
_SHOWN_PARTS = 3


def render(networks: Networks) -> dict[str, str]:
    """The tables of the chapter."""
    rows = []
    for title, cycles in PUBLISHED.items():
        reports = (cycles_of(network_file(networks, title), preset(name)) for name in MACHINES)
        rows.append([title, f"{cycles:,}", *(f"{report['cycles']['total']:,}" for report in reports)])
    head = ("network", "GAP9 + NE16", *(f"preset `{name}`" for name in MACHINES))
    fast = {title: report_at(networks, POINTS[0], title) for title in PUBLISHED}
    energies = {title: report["energy_nj"] for title, report in fast.items()}
    ratios = [energies[title]["total"] / 1000 / most for title, most in POINTS[0].microjoules.items()]
    uncertainties = [each["uncertainty"] / each["total"] for each in energies.values()]
    return {
        "gap9": table(head, rows),
        "gap9_range": span(ratios, 2),
        "gap9_uncertainty": f"{100 * max(uncertainties):.0f} %",
        "gap9_macs": ", ".join(
            f"{report['macs'] / PUBLISHED[title]:.0f} in {title}" for title, report in fast.items()
        ),
        "gap9_cycles": span(PUBLISHED[title] / report["cycles"]["total"] for title, report in fast.items()),
        "gap9_each": span(_each_cycle(networks, point, title) for point in POINTS for title in PUBLISHED),
        "gap9_idle": span(
            (
                100 * (each["clock"] + each["logic_leakage"] + each["sram_leakage"]) / each["total"]
                for each in energies.values()
            ),
            0,
        ),
        "gap9_logic": f"{fast['ResNet8']['area_kge']['total'] / 1000:.2f}",
        "gap9_energy": _energies(networks),
        "gap9_supplies": _supplies(networks),
    }


def _energies(networks: Networks) -> str:
    """Published and modelled energy at both points."""
    rows = [_energy_row(networks, point, title) for point in POINTS for title in point.microjoules]
    head = (
        "network", "point", "GAP9", f"`{NEAREST}`", "deviation", "GAP9 a cycle", "dlasim a cycle",
        "largest parts",
    )  # fmt: skip
    return table(head, rows)


def _supplies(networks: Networks) -> str:
    """What the lower supply leaves of the energy, published and modelled: for the nearest preset."""
    fast, slow = POINTS
    rows = []
    for title in fast.microjoules:
        modelled = [report_at(networks, point, title)["energy_nj"]["total"] for point in POINTS]
        published = slow.microjoules[title] / fast.microjoules[title]
        rows.append([title, f"{published:.2f}", f"{modelled[1] / modelled[0]:.2f}"])
    return table(("network", "GAP9", "dlasim"), rows)


def report_at(networks: Networks, point: Point, title: str) -> Report:
    """A network on the nearest preset at one of the points."""
    file = networks.folder / "gap9.toml"
    file.write_text(TECHNOLOGY, encoding="utf-8")
    machine = preset(NEAREST).replace(technology=str(file), clock_mhz=point.clock_mhz)
    return cycles_of(network_file(networks, title), machine)


def _each_cycle(networks: Networks, point: Point, title: str) -> float:
    """How many times the energy of a cycle GAP9's is."""
    report = report_at(networks, point, title)
    ours = report["energy_nj"]["total"] / 1000 / report["cycles"]["total"]
    return point.microjoules[title] / PUBLISHED[title] / ours


def _energy_row(networks: Networks, point: Point, title: str) -> list[str]:
    report = report_at(networks, point, title)
    measured, modelled = point.microjoules[title], report["energy_nj"]["total"] / 1000
    volts = f"{point.volts} V, {point.clock_mhz} MHz"
    return [
        title, volts, f"{measured} µJ", f"{modelled:.1f} µJ", percent(modelled, measured),
        f"{1e6 * measured / PUBLISHED[title]:.0f} pJ", f"{1e6 * modelled / report['cycles']['total']:.0f} pJ",
        _largest_parts(report),
    ]  # fmt: skip


def _largest_parts(report: Report) -> str:
    parts = {name: part for name, part in report["energy_nj"].items() if name not in ("total", "uncertainty")}
    shown = sorted(parts, key=lambda name: -parts[name])[:_SHOWN_PARTS]
    return ", ".join(f"{name} {100 * parts[name] / report['energy_nj']['total']:.0f} %" for name in shown)
