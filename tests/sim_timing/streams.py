"""Random machines and random legal streams for them, small enough to step through."""

import random
from dataclasses import dataclass

import numpy as np

from dlasim.isa import codec, registers
from dlasim.sim.configuration.config import DlaConfig

SRAM_BYTES = 1 << 20
MAC = ("OP_CONV", "OP_CONV_RELU", "OP_DEPTH_CONV", "OP_MAT_MUL")
POINTWISE = ("OP_FILL", "OP_REQUANT", "OP_E32_ADD", "OP_E_ADD", "OP_ACT_LUT", "OP_C_MAX", "OP_ACT_RELU")
KINDS = (*MAC, "OP_POOL", *POINTWISE, "OP_DMA_READ", "OP_DMA_READ", "OP_DMA_WRITE", "OP_DMA_WRITE")
# Have elements of int16.
INT16 = ("OP_CONV", "OP_DEPTH_CONV", "OP_MAT_MUL", "OP_POOL", "OP_E_ADD", "OP_E16_SOFTMAX", "OP_E16_LUT")
SUMMING = ("OP_CONV", "OP_DEPTH_CONV", "OP_MAT_MUL")  # can add a tensor to their results
WITH_UNPACKING = (*KINDS, "OP_DMA_UNPACK", "OP_DMA_UNPACK", "OP_DMA_DECODE")
WINDOWED = ("OP_CONV", "OP_CONV_RELU", "OP_DEPTH_CONV", "OP_POOL")


@dataclass(frozen=True)
class Sizes:
    """How large operations get."""

    rows: int = 3
    columns: int = 3
    channels: int = 9
    kernel: int = 3
    least_rows: int = 1
    padding: int = 1
    multiplier: int = 2
    run_bytes: int = 40
    runs: int = 3


def random_config(rng: random.Random, **changes) -> DlaConfig:
    """A machine with every parameter drawn anew; no limit on SRAM bandwidth or results, no shared bus."""
    parallel = rng.choice(["input", "output", "2x3", "4x2", "1x1"])
    sizes = {} if "x" in parallel else {"pes": rng.choice([1, 2, 3, 4, 8, 64])}
    drawn = {
        "parallel": parallel,
        **sizes,
        "sram_bytes": SRAM_BYTES,
        "dma_bandwidth": rng.choice([0, 1, 3, 8]),
        "dma_latency": rng.choice([0, 1, 7, 20]),
        "dma_burst_bytes": rng.choice([1, 8, 10, 64]),
        "dma_burst_overhead": rng.choice([0, 0, 1, 3]),
        "vector_lanes": rng.choice([1, 2, 4, 16]),
        "issue_cycles": rng.choice([0, 1, 1, 2, 3]),
        "queue_depth": rng.choice([1, 2, 3, 4]),
        "mac_fill": rng.choice([0, 1, 4]),
        "mac_drain": rng.choice([0, 2, 4]),
        "vector_fill": rng.choice([0, 2]),
        "vector_drain": rng.choice([0, 1]),
        "sram_bandwidth": 0,
        "mac_results": 0,
        "vector_requantizations": 0,
        "vector_divisions": 0,
    }
    more = random.Random(str(drawn))
    if "x" in parallel and more.random() < 0.4:
        drawn["parallel"] += more.choice(["x2", "x4"])
    drawn["compute_overlap"] = more.choice([0, 1, 1])
    drawn["check_cycles"] = more.choice([0, 0, 1, 4])
    drawn["dma_unpacking"] = random.Random(str(drawn)).choice([1, 2, 5, 9])
    drawn["dma_decoding"] = random.Random(str(drawn)).choice([1, 3, 8, 16])
    drawn |= {"mac_step_group": more.choice([1, 1, 2, 3, 4]), "mac_weights": more.choice([0, 0, 2, 8])}
    drawn |= changes
    if "pes" in changes:
        drawn |= {"parallel": changes.get("parallel", parallel)}
    return DlaConfig().replace(**drawn)


def random_limits(rng: random.Random) -> dict[str, float]:
    """An SRAM with few ports, small buffers and a slow output stage."""
    return {
        "sram_bandwidth": rng.choice([1, 2, 4, 8, 16]),
        "sram_ports": rng.choice([1, 2, 4]),
        "sram_banks": rng.choice([1, 4]),
        "line_buffer_bytes": rng.choice([8, 32, 4096]),
        "weight_buffer_bytes": rng.choice([8, 32, 4096]),
        "accumulators": rng.choice([1, 4, 32]),
        "mac_results": rng.choice([0.25, 1, 2, 3, 0]),
        "vector_requantizations": rng.choice([0.5, 1, 4, 0]),
        "vector_divisions": rng.choice([0.25, 1, 0]),
    }


def random_memories(rng: random.Random) -> dict[str, object]:
    """One to three named memories, some on buses of their own, some on one that others share."""
    regions = ["CONSTANTS", "ARENA", "INPUTS", "OUTPUTS", "COMMANDS"]
    rng.shuffle(regions)
    memories = {}
    for name in rng.sample(["flash", "sram", "dram"], rng.randint(1, 3)):
        mine, regions = regions[: rng.randint(1, 2)], regions[2:]
        if not mine:
            break
        keys = {
            "bandwidth": rng.choice([0.3, 0.5, 1, 1.25, 2, 3, 8]),
            "latency": rng.choice([0, 1, 5, 20]),
            "outstanding": rng.choice([1, 2, 3, 8]),
            "burst_bytes": rng.choice([1, 8, 10]),
            "burst_overhead": rng.choice([0, 0, 1]),
            "bus": rng.choice(["system", "axi", name]),
        }
        kept = rng.sample(sorted(keys), rng.randint(1, len(keys)))
        memories[name] = {"regions": mine} | {key: keys[key] for key in kept}
    return {
        "memories": memories,
        "buses": {"axi": rng.choice([0.7, 1, 4])},
        "dma_shared_bandwidth": rng.choice([0, 1, 3, 8]),
    }


class StreamWriter:
    """Writes the words of a stream; registers only where they change, unless it likes to repeat itself."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._known = {register.name: register.reset for register in registers.OPERANDS}
        self.words: list[int] = []

    def set(self, name: str, *values: int) -> None:
        """CFG of a register: one number, or the two halves of a packed one."""
        register = registers.BY_NAME[name]
        pattern = register.pack(**{f.name: v for f, v in zip(register.fields, values, strict=True)})
        if self._known[name] != pattern or self._rng.random() < 0.1:
            self.words.append(codec.encode_cfg(name, pattern))
        self._known[name] = pattern

    def emit(self, mnemonic: str, **fields: int) -> None:
        """Any other word."""
        self.words.append(codec.encode(mnemonic, **fields))

    def stream(self) -> np.ndarray:
        """The words, ended with HALT."""
        return np.array([*self.words, codec.encode("HALT")], np.uint64)


def random_stream(
    rng: random.Random, operations: int, sizes: Sizes | None = None, kinds=KINDS, more: str = ""
) -> np.ndarray:
    """A legal stream with waits and interrupts strewn in. `more`: what most operations that can take it have,
    `int16` elements or a `sum` with a tensor."""
    writer = StreamWriter(rng)
    for _ in range(operations):
        mnemonic = rng.choice(kinds)
        has_more = more if more and rng.random() < 0.7 else ""
        random_operation(writer, rng, mnemonic, sizes or Sizes(), has_more)
        while rng.random() < 0.3:
            _random_control(writer, rng)
    return writer.stream()


def random_operation(
    writer: StreamWriter, rng: random.Random, mnemonic: str, sizes: Sizes, more: str = ""
) -> None:
    """Registers and word of one operation."""
    if mnemonic.startswith("OP_DMA"):
        run = _transfer(writer, rng, "DMA_OUT" if mnemonic == "OP_DMA_WRITE" else "DMA_IN", sizes)
        if mnemonic == "OP_DMA_UNPACK":
            writer.set("DMA_IN_RUNS", 1)
            writer.set("DMA_IN_PLANES", 1)
            return writer.emit(mnemonic, packed=rng.randint(0, run // 4))
        if mnemonic == "OP_DMA_DECODE":
            writer.set("DMA_IN_RUNS", 1)
            writer.set("DMA_IN_PLANES", 1)
            copied = rng.randint(0, run // 4)
            steps = -(-(run - 4 * copied) // 64) + rng.randrange(4)
            return writer.emit(mnemonic, words=rng.randint(0, steps), steps=steps, copied=copied)
        return writer.emit(mnemonic)
    fields = {}
    if mnemonic in MAC:
        fields = {"init": rng.randrange(3), "quant": rng.randrange(2)}
        fields |= {"out": rng.randrange(2)} if mnemonic != "OP_CONV_RELU" else {}
    elif mnemonic == "OP_POOL":
        fields = {"mode": rng.randrange(3)}
    elif mnemonic == "OP_REQUANT":
        fields = {"quant": rng.randrange(2)}
    _geometry(writer, rng, mnemonic, sizes)
    if more == "int16" and mnemonic in INT16 and "E16" not in mnemonic:
        fields["elements"] = 1
        if mnemonic == "OP_MAT_MUL":
            fields["weights"] = rng.randrange(2)
            writer.set("WEIGHT_ADDR", 2 * rng.randrange(500))
    if more == "sum" and mnemonic in SUMMING:
        fields["sum"] = 1
    if more and mnemonic in SUMMING:
        fields |= {"init": rng.randrange(2), "quant": 1, "out": 0}
    return writer.emit(mnemonic, **fields)


def _random_control(writer: StreamWriter, rng: random.Random) -> None:
    match rng.randrange(8):
        case 0:
            writer.emit("IRQ")
        case 1:
            writer.emit("NOP")
        case _:
            writer.emit("WAIT", unit=rng.randrange(4), max_outstanding=rng.randrange(3))


def _transfer(writer: StreamWriter, rng: random.Random, prefix: str, sizes: Sizes) -> int:
    """The registers of a transfer; the bytes of a run."""
    run = rng.randint(1, sizes.run_bytes)
    runs, planes = rng.randint(1, sizes.runs), rng.randint(1, 2)
    # Either contiguous or with a gap that no coincidence closes.
    run_stride = run + rng.choice([0, 0, 1009])
    plane_stride = runs * run_stride + rng.choice([0, 0, 100_003])
    writer.set(f"{prefix}_REGION", rng.choice((0, 1, 2) if prefix == "DMA_IN" else (1, 3)))
    writer.set(f"{prefix}_OFFSET", rng.randrange(1000))
    writer.set(f"{prefix}_SRAM_ADDR", rng.randrange(SRAM_BYTES // 2))
    writer.set(f"{prefix}_RUN_BYTES", run)
    writer.set(f"{prefix}_RUNS", runs)
    writer.set(f"{prefix}_PLANES", planes)
    writer.set(f"{prefix}_RUN_STRIDE", run_stride)
    writer.set(f"{prefix}_PLANE_STRIDE", plane_stride)
    run_sram_stride = run + (13 if plane_stride % 3 == 0 else 0)
    writer.set(f"{prefix}_RUN_SRAM_STRIDE", run_sram_stride)
    writer.set(f"{prefix}_PLANE_SRAM_STRIDE", runs * run_sram_stride + (17 if run % 3 == 0 else 0))
    return run


def _geometry(writer: StreamWriter, rng: random.Random, mnemonic: str, sizes: Sizes) -> None:
    outs = [rng.randint(sizes.least_rows, sizes.rows), rng.randint(1, sizes.columns)]
    channels = rng.randint(1, sizes.channels)
    out_channels = rng.randint(1, sizes.channels)
    if mnemonic == "OP_DEPTH_CONV":
        out_channels = channels * rng.choice([1, 1, sizes.multiplier])
    elif mnemonic == "OP_POOL":
        out_channels = channels
    kernel = [rng.randint(1, sizes.kernel) for _ in range(2)]
    stride = [rng.randint(1, 2) for _ in range(2)]
    dilation = [rng.choice([1, 1, 2]) if k > 1 else 1 for k in kernel]
    ins = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(outs, stride, kernel, dilation, strict=True)]
    pad = [
        rng.randint(0, min(sizes.padding, i - 1)) if k > 1 else 0 for i, k in zip(ins, kernel, strict=True)
    ]
    ins = [i - p for i, p in zip(ins, pad, strict=True)]
    if mnemonic in WINDOWED:
        for name, pair in (("KERNEL", kernel), ("STRIDE", stride), ("DILATION", dilation), ("PAD", pad)):
            writer.set(name, *pair)
        writer.set("IN_SIZE", *ins)
    writer.set("OUT_SIZE", *outs)
    writer.set("OUT_CHANNELS", out_channels)
    writer.set("IN_CHANNELS", channels)
    for view in ("IN", "IN2", "OUT", "ACC"):  # wide enough for int32, so that nothing overlaps itself
        pixel = 4 * max(channels, out_channels)
        apart = SRAM_BYTES // 2 if view == "OUT" else 0  # from all that the operation reads
        writer.set(f"{view}_ADDR", apart + 4 * rng.randrange(1000))
        writer.set(f"{view}_PIXEL_STRIDE", pixel)
        writer.set(f"{view}_ROW_STRIDE", pixel * max(ins[1], outs[1]) + 4 * rng.randrange(3))
    writer.set("WEIGHT_ADDR", rng.randrange(1000))
    writer.set("PARAM_ADDR", 4 * rng.randrange(1000))
    writer.set("LUT_ADDR", 4 * rng.randrange(1000))
