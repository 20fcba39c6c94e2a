"""GAP9 with NE16: MLPerf Tiny's published results, compared with machines of dlasim."""

from __future__ import annotations

from compared.common import Networks, cycles_of, table
from compared.ethos_u55 import network_file
from dlasim.sim.config import preset

# mlcommons/tiny_results_v1.0, 370 MHz: cycles = clock / throughput.
PUBLISHED = {"autoencoder": 65_008, "ResNet8": 228_001, "DS-CNN": 175_922, "VWW": 416_175}
MACHINES = ("default", "ethos-u55-128")


def render(networks: Networks) -> dict[str, str]:
    """The table of the chapter."""
    rows = []
    for title, cycles in PUBLISHED.items():
        reports = (cycles_of(network_file(networks, title), preset(name)) for name in MACHINES)
        rows.append([title, f"{cycles:,}", *(f"{report['cycles']['total']:,}" for report in reports)])
    return {"gap9": table(("network", "GAP9 + NE16", *(f"preset `{name}`" for name in MACHINES)), rows)}
