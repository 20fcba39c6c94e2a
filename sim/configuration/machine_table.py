"""The table of the machine's parameters: what each is, its range, and what follows from it elsewhere."""

from __future__ import annotations

from dlasim.dataclass import dataclass
from dlasim.isa.limits import MAX_SRAM_BYTES
from dlasim.isa.weight_code import CODE_BYTES
from dlasim.sim.configuration.parameters import Better, Form, Rtl, RtlLimit, row, rows_of
from dlasim.sim.configuration.sizes import KIB

MAX_PES = 1 << 20
_MIN_RATE = 0.01  # results in a cycle


class _KnownHash:
    """Has room for its hash: that of all fields takes 2 us, and a sweep asks 300 times for each machine."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True)
class MachineTable(_KnownHash):
    """The fields of a machine, each with its row; DlaConfig adds what follows from them."""

    # fmt: off
    name: str = "default"
    pes: int = row(64, "Processing elements: multiply-accumulates per cycle.", flag="--pes", low=1,
        high=MAX_PES)
    parallel: str = row("output",
        "Channels processed in parallel; a grid such as 8x8 (or 8x8x4, of 4 pixels) also sets --pes.",
        flag="--parallel", form=Form.GRID, no_area="it is not a quantity; a grid sets pes")
    sram_bytes: int = row(512 * KIB, "Size of the accelerator's SRAM, such as 512KiB.", part="SRAM",
        flag="--sram", form=Form.SIZE, low=16, high=MAX_SRAM_BYTES, better=Better.MORE, rtl=Rtl.SAME)
    sram_bandwidth: int = row(16, "Bytes per cycle of each SRAM port, or `unlimited`.", part="SRAM",
        flag="--sram-bandwidth", may_be_unlimited=True, better=Better.MORE, rtl=Rtl.SAME)
    sram_ports: int = row(4, "SRAM ports, which MAC, VECTOR and both DMA units share.", part="SRAM",
        flag="--sram-ports", low=1, high=64, better=Better.MORE, rtl=Rtl.SAME)
    sram_dma_ports: int = row(0,
        "1: each DMA unit has an SRAM port of its own; 0: they share those of the other units.",
        part="SRAM", flag="--sram-dma-ports", high=1, rtl=Rtl.SAME)
    sram_banks: int = row(8, "SRAM banks; each serves one port per cycle.", part="SRAM",
        flag="--sram-banks", low=1, high=1 << 10, better=Better.MORE, rtl=Rtl.SAME)
    line_buffer_bytes: int = row(16 * KIB,
        "Size of the buffer for input lines of MAC, and of that of VECTOR, or `unlimited`.",
        part="MAC and VECTOR", flag="--line-buffer", form=Form.SIZE, high=MAX_SRAM_BYTES,
        may_be_unlimited=True, better=Better.MORE, rtl=Rtl.SAME)
    weight_buffer_bytes: int = row(8 * KIB, "Size of the buffer for weights, or `unlimited`.",
        part="MAC and VECTOR", flag="--weight-buffer", form=Form.SIZE, high=MAX_SRAM_BYTES,
        may_be_unlimited=True, better=Better.MORE, rtl=Rtl.SAME)
    # More are not always better: sums leave them when a block is done.
    accumulators: int = row(32,
        "Accumulators of each output lane: output pixels worked on together, or `unlimited`.",
        part="MAC and VECTOR", flag="--accumulators", may_be_unlimited=True, rtl=Rtl.SAME)
    # It changes no cycle, so the RTL, which has a memory, runs either machine.
    accumulator_storage: str = row("memory",
        "What accumulators are made of: `flip-flops` of each lane, or one `memory` of all lanes.",
        part="MAC and VECTOR", form=Form.WORD, choices=("flip-flops", "memory"),
        no_area="it is not a quantity")
    mac_step_group: int = row(1,
        "Steps of an output (taps, slices of input channels) that the array takes together.",
        part="MAC and VECTOR", flag="--mac-step-group", low=1, high=64, rtl=Rtl.SAME,
        no_area="it says how an array walks, not what it is made of")
    mac_handover: str = row("results",
        "Whether `results` leave the array one by one, or `blocks` of pixels enter and leave it whole.",
        part="MAC and VECTOR", flag="--mac-handover", form=Form.WORD, choices=("results", "blocks"),
        rtl=Rtl.CHOICE, no_area="both ways have accumulators for two blocks")
    mac_weights: int = row(0, "Weights per cycle that reach the array, or `unlimited`.",
        part="MAC and VECTOR", flag="--mac-weights", may_be_unlimited=True, better=Better.MORE, rtl=Rtl.SAME)
    mac_results: float = row(4.0, "Results per cycle that leave the MAC unit, or `unlimited`.",
        part="MAC and VECTOR", flag="--mac-results", may_be_unlimited=True, least_if_limited=_MIN_RATE,
        better=Better.MORE, rtl=Rtl.CYCLES_EACH)
    mac_sums: int = row(0,
        "1: MAC can add a second tensor of int8 to its results as they leave; 0: it can't.",
        part="MAC and VECTOR", flag="--mac-sums", high=1, better=Better.MORE, rtl=Rtl.SAME)
    vector_requantizations: float = row(4.0,
        "Requantizations per cycle of the VECTOR unit, of which a sum takes three, or `unlimited`.",
        part="MAC and VECTOR", flag="--vector-requantizations", may_be_unlimited=True,
        least_if_limited=_MIN_RATE, better=Better.MORE, rtl=Rtl.CYCLES_EACH)
    vector_divisions: float = row(1.0,
        "Divisions per cycle of the VECTOR unit, for averages, or `unlimited`.",
        part="MAC and VECTOR", flag="--vector-divisions", may_be_unlimited=True, least_if_limited=_MIN_RATE,
        better=Better.MORE, rtl=Rtl.CYCLES_EACH)
    dma_bandwidth: int = row(8, "Bytes per cycle in each direction, or `unlimited`.", part="DMA",
        flag="--dma-bandwidth", may_be_unlimited=True, better=Better.MORE, rtl=Rtl.SAME,
        rtl_limit=RtlLimit("must be at least 1", low=1))
    dma_shared_bandwidth: int = row(0, "Bytes per cycle in both directions together, or `unlimited`.",
        part="DMA", flag="--dma-shared-bandwidth", may_be_unlimited=True, better=Better.MORE, rtl=Rtl.SAME)
    dma_latency: int = row(64, "Cycles before a transfer's first byte.", part="DMA", flag="--dma-latency",
        better=Better.LESS, rtl=Rtl.SAME, no_area="the memory takes the time, not the DLA")
    dma_burst_bytes: int = row(64, "Size of a DMA burst.", part="DMA", flag="--dma-burst", form=Form.SIZE,
        low=1, better=Better.MORE, rtl=Rtl.SAME, no_area="it says where a transfer is cut")
    dma_burst_overhead: int = row(0, "Cycles lost per burst.", part="DMA", flag="--dma-burst-overhead",
        better=Better.LESS, rtl=Rtl.SAME,
        no_area="the memory takes the time; the DLA has a counter if it is not 0")
    dma_unpacking: int = row(0,
        "Bytes per cycle from which DMA_IN unpacks weights of 4 bits, twice as many; 0: it can't.",
        part="DMA", flag="--dma-unpacking", high=1 << 10, better=Better.MORE, rtl=Rtl.SAME)
    dma_decoding: int = row(0,
        "Bytes per cycle from which DMA_IN decodes weights, at most four times as many; 0: it can't.",
        part="DMA", flag="--dma-decoding", high=CODE_BYTES, better=Better.MORE, rtl=Rtl.SAME)
    memories: str = row("", "Named memories: by name a table of bandwidth, latency, regions and more.",
        part="DMA", form=Form.TABLE)
    buses: str = row("", "Bytes per cycle of buses that memories name.", part="DMA", form=Form.TABLE,
        no_area="only the parts of a byte in their rates count, as part of memories")
    int16: int = row(0,
        "1: MAC and VECTOR also take elements of int16, MAC in two passes over their bytes; 0: only int8.",
        part="MAC and VECTOR", flag="--int16", high=1, better=Better.MORE, rtl=Rtl.SAME)
    vector_lanes: int = row(16, "Elements per cycle of the vector unit; 0: as many as PEs.",
        part="MAC and VECTOR", flag="--vector-lanes", high=1 << 16, better=Better.MORE)
    issue_cycles: int = row(1, "Cycles per instruction word.", part="Issue of instructions",
        flag="--issue-cycles", high=1 << 10, better=Better.LESS, rtl=Rtl.SAME,
        rtl_limit=RtlLimit("must be at least 1", low=1), no_area="the stage is the same, and waits")
    check_cycles: int = row(16, "Cycles for the checks of an operation, before its word's own.",
        part="Issue of instructions", high=1 << 10, better=Better.LESS, rtl=Rtl.SAME,
        rtl_limit=RtlLimit("must be at least 16", low=16),
        no_area="one circuit checks one operand after the other")
    queue_depth: int = row(3, "Operations that each unit holds, including the running one.",
        part="Issue of instructions", flag="--queue-depth", low=1, high=255, better=Better.MORE,
        rtl=Rtl.SAME)
    compute_overlap: int = row(1, "1: MAC and VECTOR work side by side; 0: in turns.",
        part="MAC and VECTOR", flag="--compute-overlap", high=1, better=Better.MORE, rtl=Rtl.SAME,
        no_area="units that take turns are the same units")
    mac_fill: int = row(4, "Cycles to fill the pipeline of MAC.", part="MAC and VECTOR", high=1 << 16,
        better=Better.LESS, rtl=Rtl.SAME, rtl_limit=RtlLimit("must be at least 4", low=4))
    mac_drain: int = row(6, "Cycles to drain the pipeline of MAC.", part="MAC and VECTOR", high=1 << 16,
        better=Better.LESS, rtl=Rtl.SAME, rtl_limit=RtlLimit("must be at least 6", low=6))
    vector_fill: int = row(2, "Cycles to fill the pipeline of VECTOR.", part="MAC and VECTOR", high=1 << 16,
        better=Better.LESS, rtl=Rtl.SAME, rtl_limit=RtlLimit("must be at least 2", low=2))
    vector_drain: int = row(8, "Cycles to drain the pipeline of VECTOR.", part="MAC and VECTOR",
        high=1 << 16, better=Better.LESS, rtl=Rtl.SAME, rtl_limit=RtlLimit("must be at least 8", low=8))
    clock_mhz: float = row(500.0, "Clock in MHz.", flag="--clock", low=0.001, high=100_000,
        no_area="synthesis knows no clock; a faster one takes a greater supply")
    timing: str = row("full", "What takes time: everything, only multiply-accumulates, or nothing.",
        flag="--timing", form=Form.WORD, choices=("full", "macs", "zero"),
        rtl_limit=RtlLimit("must be full", word="full"), no_area="it says what takes time in a simulation")
    technology: str = row("45nm",
        "Constants of energy and area: 45nm, 45nm-flash, 28nm, 22nm, or a FILE.toml that replaces some.",
        flag="--technology", no_area="it is not a quantity")


PARAMETERS = rows_of(MachineTable)
