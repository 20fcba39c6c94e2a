"""The machines that the RTL is built for: small ones of every kind, quick to build, and large ones."""

import re

from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_files import preset

# An SRAM with a port for whatever a unit wants, and an output stage as wide as the array: exact to the cycle.
IDEAL = {
    "sram_bandwidth": "unlimited", "mac_results": "unlimited", "vector_requantizations": "unlimited",
    "vector_divisions": "unlimited",
}  # fmt: skip
_SMALL = {"sram_bytes": 64 * 1024, "vector_lanes": 4}

MACHINES = {
    "output": {"parallel": "output", "pes": 16, **_SMALL},
    "input": {"parallel": "input", "pes": 16, **_SMALL},
    "grid": {"parallel": "4x4", **_SMALL, "dma_unpacking": 8, "dma_decoding": 16},
    "narrow": {
        "parallel": "8x2", **_SMALL, "dma_bandwidth": 1, "dma_latency": 5, "dma_burst_bytes": 16,
        "dma_burst_overhead": 3, "queue_depth": 1, "compute_overlap": 0, "dma_unpacking": 5,
        "dma_decoding": 16,
    },
    "wide": {
        "parallel": "2x8", **_SMALL, "vector_lanes": 8, "dma_bandwidth": 64, "dma_latency": 200,
        "dma_burst_bytes": 10, "dma_burst_overhead": 1, "queue_depth": 7, "mac_fill": 9, "mac_drain": 8,
        "dma_unpacking": 7, "dma_decoding": 16, "mac_sums": 1,
    },
    "shared": {
        "parallel": "2x3", **_SMALL, "vector_lanes": 5, "dma_bandwidth": 8, "dma_shared_bandwidth": 11,
        "dma_latency": 1, "vector_fill": 3, "vector_drain": 11, "dma_unpacking": 3,
        "dma_decoding": 3,
    },
    "small": {
        "parallel": "1x1", "sram_bytes": 12_000, "vector_lanes": 1, "dma_bandwidth": 3,
        "dma_shared_bandwidth": 2, "dma_latency": 0, "issue_cycles": 3, "queue_depth": 2,
        "dma_decoding": 7,
    },
    "int16": {"parallel": "3x4", **_SMALL, "int16": 1},
    # Weights come at a limited rate, and steps in groups, of which some are lost.
    "paced": {
        "parallel": "3x4", **_SMALL, "mac_weights": 1, "mac_step_group": 3, "accumulators": 20, "mac_sums": 1,
        "int16": 1,
    },
    # Sums leave by whole blocks of several groups of channels, whose last steps are lost. Each result takes a
    # cycle, and there are accumulators for all that waits.
    "blocks": {
        "parallel": "3x4", **_SMALL, "mac_handover": "blocks", "accumulators": 125, "mac_results": 1,
        "mac_weights": 3, "mac_step_group": 4,
    },
}  # fmt: skip
# Some regions lie in memories of their own, with fractions of a byte per cycle: one on a bus of its own, for
# both directions; two buses; a bus that three memories share.
SEVERAL_MEMORIES = {
    "flash": {
        "parallel": "4x4", **_SMALL, "dma_unpacking": 8, "dma_decoding": 16, "queue_depth": 4,
        "memories": {
            "flash": {
                "regions": ["constants", "outputs"], "bandwidth": 0.7, "latency": 20, "outstanding": 3,
                "burst_bytes": 12, "burst_overhead": 2, "bus": "flash",
            },
        },
    },
    "two buses": {
        "parallel": "2x3", **_SMALL, "vector_lanes": 5, "dma_shared_bandwidth": 11, "dma_latency": 1,
        "dma_burst_overhead": 1, "dma_unpacking": 3, "dma_decoding": 3, "buses": {"axi": 4.5},
        "memories": {
            "flash": {"regions": ["constants"], "bandwidth": 2.5, "latency": 0, "burst_bytes": 7},
            "psram": {
                "regions": ["arena", "inputs"], "bandwidth": 6.25, "latency": 9, "outstanding": 2,
                "burst_overhead": 0, "bus": "axi",
            },
        },
    },
    "one bus": {
        "parallel": "8x2", **_SMALL, "dma_bandwidth": 4, "dma_latency": 30, "queue_depth": 2,
        "dma_unpacking": 2, "dma_decoding": 16, "buses": {"axi": 5},
        "memories": {
            "flash": {
                "regions": ["constants"], "bandwidth": 3.6, "cpu_bandwidth": 0.4, "outstanding": 9,
                "bus": "axi",
            },
            "psram": {"regions": ["arena"], "bus": "axi"},
            "sensor": {"regions": ["inputs"], "bandwidth": 1.5, "latency": 3, "bus": "axi"},
        },
    },
}  # fmt: skip
LARGE = {
    "64 O": {},
    "64 I": {"parallel": "input"},
    "8x8": {"parallel": "8x8"},
    "8x8 shared bus": {"parallel": "8x8", "dma_shared_bandwidth": 8},
    "8x8 1 B/cycle": {"parallel": "8x8", "dma_bandwidth": 1},
    "8x8 64 KiB": {"parallel": "8x8", "sram_bytes": 64 * 1024},
}

# Every mistake must be able to show on it, so nothing of it is as it is by default.
MUTANT = {
    "parallel": "2x3", "sram_bytes": 12_000, "vector_lanes": 2, "dma_bandwidth": 4, "dma_shared_bandwidth": 5,
    "dma_latency": 3, "dma_burst_bytes": 10, "dma_burst_overhead": 2, "issue_cycles": 2, "queue_depth": 2,
    "mac_fill": 6, "mac_drain": 7, "vector_fill": 3, "vector_drain": 10, "mac_sums": 1,
    "dma_decoding": 5,
}  # fmt: skip
# For mistakes in elements of int16; an odd number of input lanes parts the bytes of a weight.
MUTANT_INT16 = MUTANT | {
    "parallel": "3x2", "int16": 1, "vector_requantizations": 0.5, "mac_sums": 0, "dma_decoding": 0,
}  # fmt: skip

# With limits: the simulator counts bytes, the RTL meets words and banks, so times are near, not equal.
LIMITED = {
    "ports": {"parallel": "4x4", **_SMALL, "dma_unpacking": 8, "dma_decoding": 8},
    "one port": {
        "parallel": "4x4", **_SMALL, "sram_ports": 1, "sram_bandwidth": 8, "mac_results": 2,
        "vector_requantizations": 2, "vector_divisions": 0.5,
    },
}  # fmt: skip
INT16_LIMITED = {"int16 and sums with ports": {"parallel": "4x4", **_SMALL, "mac_sums": 1, "int16": 1}}
# Drawn by chance, without limits: even and odd lanes, with all else that a machine may have.
INT16_DRAWN = {
    "int16 drawn 6x3": {
        "parallel": "6x3", **_SMALL, "int16": 1, "mac_sums": 1, "vector_lanes": 7, "dma_bandwidth": 5,
        "dma_unpacking": 4, "dma_decoding": 9, "queue_depth": 3, "mac_fill": 7,
    },
    "int16 drawn input": {
        "parallel": "input", "pes": 12, **_SMALL, "int16": 1, "vector_lanes": 1, "dma_shared_bandwidth": 7,
        "issue_cycles": 2, "vector_fill": 4, "vector_drain": 9,
    },
    "int16 drawn output": {
        "parallel": "output", "pes": 9, "sram_bytes": 20_000, "int16": 1, "vector_lanes": 16,
        "dma_latency": 0, "queue_depth": 1, "compute_overlap": 0,
    },
}  # fmt: skip
PACED_LIMITED = {
    "paced with ports": {
        "parallel": "4x4", **_SMALL, "mac_weights": 3, "mac_step_group": 4, "accumulators": 4,
        "sram_dma_ports": 1,
    },
}  # fmt: skip
BLOCKS_LIMITED = {
    "blocks with ports": {
        "parallel": "4x4", **_SMALL, "mac_handover": "blocks", "accumulators": 96, "sram_dma_ports": 1,
        "sram_ports": 2, "line_buffer_bytes": 2048,
    },
}  # fmt: skip
MEMORIES_LIMITED = {
    "flash with ports": {
        "parallel": "4x4", **_SMALL, "dma_unpacking": 8, "dma_decoding": 8,
        "memories": {
            "flash": {
                "regions": ["constants", "inputs"], "bandwidth": 0.7, "latency": 20, "outstanding": 2,
                "bus": "flash",
            },
        },
    },
}  # fmt: skip
# Several pixels at once: two rows of two, two rows of three where blocks leave whole, and behind ports.
PIXELS = {
    "four pixels": {"parallel": "3x2x4", **_SMALL, "int16": 1, "mac_sums": 1, "mac_fill": 7},
    "six pixels in blocks": {
        "parallel": "3x4x6", **_SMALL, "mac_handover": "blocks", "accumulators": 125, "mac_results": 1,
        "mac_weights": 3, "mac_step_group": 4,
    },
}  # fmt: skip
PIXELS_LIMITED = {
    "four pixels with ports": {"parallel": "4x4x4", **_SMALL, "int16": 1, "mac_sums": 1},
    "two pixels, one port": {
        "parallel": "4x4x2", **_SMALL, "sram_ports": 1, "sram_bandwidth": 8, "line_buffer_bytes": 1024,
        "weight_buffer_bytes": 512, "accumulators": 4, "mac_results": 4,
    },
}  # fmt: skip
PRESETS_IN_BLOCKS = ("ethos-u55-32", "ethos-u55-64", "ethos-u55-128", "ethos-u55-256")
LARGE_LIMITED = {
    "default": {},
    "default, one port of 8": {"sram_ports": 1, "sram_bandwidth": 8},
    "8x8 with limits": {"parallel": "8x8"},
}
# Only results leave at a limited rate: odd lanes and rates, and few accumulators.
RESULTS_ALONE = {
    "24 O, slow results": {
        "parallel": "output", "pes": 24, "mac_results": 0.5, "sram_bandwidth": "unlimited",
    },
    "5x7, odd rates": {
        "parallel": "5x7", "mac_results": 1.5, "accumulators": 3, "mac_fill": 9, "mac_step_group": 3,
        "vector_lanes": 5, "vector_requantizations": 0.75, "vector_divisions": 0.3,
        "sram_bandwidth": "unlimited",
    },
}  # fmt: skip
# Large ones with odd lanes, slow results or few narrow ports.
ODD_LIMITED = {
    "24 O, half a result": {"parallel": "output", "pes": 24, "mac_results": 0.5},
    "12x20, two ports of 8": {"parallel": "12x20", "sram_ports": 2, "sram_bandwidth": 8},
}
# Drawn by chance: odd lanes, few or narrow ports, small buffers, slow results.
DRAWN_LIMITED = {
    "drawn 8x4, three ports of 4": {
        "parallel": "8x4", **_SMALL, "vector_lanes": 5, "sram_bandwidth": 4, "sram_ports": 3,
        "sram_banks": 16, "line_buffer_bytes": 4096, "weight_buffer_bytes": 4096, "accumulators": 16,
        "mac_results": 4, "vector_requantizations": 2, "vector_divisions": 1, "dma_bandwidth": 4,
    },
    "drawn 7x4, eight ports of 4": {
        "parallel": "7x4", **_SMALL, "vector_lanes": 4, "sram_bandwidth": 4, "sram_ports": 8,
        "sram_banks": 16, "line_buffer_bytes": 4096, "weight_buffer_bytes": 1024, "accumulators": 4,
        "mac_results": 0.5, "vector_requantizations": 0.5, "vector_divisions": 0.5, "dma_bandwidth": 16,
    },
    "drawn 2x9, three ports of 16": {
        "parallel": "2x9", **_SMALL, "vector_lanes": 8, "sram_bandwidth": 16, "sram_ports": 3,
        "sram_banks": 4, "line_buffer_bytes": 2048, "weight_buffer_bytes": 8192, "accumulators": 4,
        "mac_results": 2, "vector_requantizations": 4, "vector_divisions": 1, "dma_bandwidth": 4,
    },
}  # fmt: skip
# As MUTANT, for mistakes in what limits: each limit is one that some operation alone meets.
MUTANT_LIMITS = {
    "parallel": "4x8", "sram_bytes": 64 * 1024, "vector_lanes": 16, "sram_ports": 2, "sram_bandwidth": 4,
    "sram_banks": 4, "line_buffer_bytes": 2048, "accumulators": 2, "mac_results": 1,
    "vector_requantizations": 2, "vector_divisions": 0.5,
}  # fmt: skip


def machine(name: str) -> DlaConfig:
    """One of them by name."""
    if name in PRESETS_IN_BLOCKS:
        return preset(name)
    limited = (
        LIMITED
        | INT16_LIMITED
        | PACED_LIMITED
        | BLOCKS_LIMITED
        | MEMORIES_LIMITED
        | PIXELS_LIMITED
        | LARGE_LIMITED
        | RESULTS_ALONE
        | ODD_LIMITED
        | DRAWN_LIMITED
        | {"mutant with limits": MUTANT_LIMITS}
    )
    mutants = {"mutant": MUTANT, "mutant of int16": MUTANT_INT16}
    described = (MACHINES | SEVERAL_MEMORIES | INT16_DRAWN | PIXELS | LARGE | limited | mutants)[name]
    limits = {} if name in limited else IDEAL
    return DlaConfig(name=re.sub(r"\W+", "-", name)).replace(**limits | described)
