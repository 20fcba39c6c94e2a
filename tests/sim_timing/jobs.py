"""What the units do with an operation, cycle by cycle: loops over channels, taps and pixels; runs and beats.

Written from docs/timing-model.md and the instruction manual alone; shares nothing with dlasim.sim.
"""

from collections.abc import Iterator
from fractions import Fraction

from dlasim.isa import registers

# Bytes per element of (first input, second input, output) of the element-wise operations.
ELEMENTS = {
    "OP_FILL": (0, 0, 1),
    "OP_REQUANT": (4, 0, 1),
    "OP_E32_SHIFT": (4, 0, 4),
    "OP_E32_ADD": (4, 4, 4),
    "OP_ACT_RELU": (1, 0, 1),
    "OP_ACT_LRELU": (1, 0, 1),
    "OP_ACT_LUT": (1, 0, 1),
    "OP_E_ADD": (1, 1, 1),
    "OP_E_SUB": (1, 1, 1),
    "OP_E_MUL": (1, 1, 1),
    "OP_E_ABS": (1, 0, 1),
    "OP_C_MIN": (1, 1, 1),
    "OP_C_MAX": (1, 1, 1),
}
RECORD, TABLE = 12, 256
BIAS, PARTIAL, INT32, PER_CHANNEL = 1, 2, 1, 1

Step = tuple[int, int, int]  # multiply-accumulates, bytes read from SRAM, bytes written to it


class Settings:
    """The operand registers at issue."""

    def __init__(self, patterns: dict[str, int]) -> None:
        self._patterns = dict(patterns)

    def number(self, name: str) -> int:
        return registers.BY_NAME[name].fields[0].extract(self._patterns[name])

    def pair(self, name: str) -> tuple[int, int]:
        first, second = registers.BY_NAME[name].fields
        return first.extract(self._patterns[name]), second.extract(self._patterns[name])


def mac_steps(mnemonic: str, fields: dict[str, int], at_issue: Settings, config) -> Iterator[Step]:
    """One cycle of the array after the other: a group of output channels, a row, a tap, a group of input
    channels, and then along the row, so that the weights in the array serve the whole row."""
    depthwise = mnemonic == "OP_DEPTH_CONV"
    rows, columns = at_issue.pair("OUT_SIZE")
    inputs, outputs = at_issue.number("IN_CHANNELS"), at_issue.number("OUT_CHANNELS")
    window = Window(at_issue, is_matrix=mnemonic == "OP_MAT_MUL")
    lanes_in, lanes_out = lanes(config)
    if depthwise:
        lanes_in, lanes_out = 1, lanes_out if "x" in config.parallel else config.pes
    out_bytes = 4 if fields.get("out") == INT32 else 1
    record = RECORD if fields["init"] == BIAS or fields["quant"] == PER_CHANNEL else 0
    partial = 4 if fields["init"] == PARTIAL else 0
    depths = [1] if depthwise else [min(lanes_in, inputs - low) for low in range(0, inputs, lanes_in)]
    for first in range(0, outputs, lanes_out):
        group = min(lanes_out, outputs - first)
        per_input = outputs // inputs
        feeding = len({o // per_input for o in range(first, first + group)}) if depthwise else 0
        window.forget()
        for y in range(rows):
            for tap_number, tap in enumerate(window.taps):
                for slice_number, depth in enumerate(depths):
                    opens = tap_number == 0 and slice_number == 0
                    closes = tap_number == len(window.taps) - 1 and slice_number == len(depths) - 1
                    for x in range(columns):
                        reads = depth * group if x == 0 else 0
                        if window.is_new(y, x, tap, slice_number):
                            reads += feeding if depthwise else depth
                        if opens:
                            reads += partial * group + (record * group if y == x == 0 else 0)
                        yield depth * group, reads, out_bytes * group if closes else 0


def vector_steps(mnemonic: str, fields: dict[str, int], at_issue: Settings, config) -> Iterator[Step]:
    """Pixel by pixel, a group of channels at a time, tap by tap."""
    rows, columns = at_issue.pair("OUT_SIZE")
    channels = at_issue.number("OUT_CHANNELS")
    window = Window(at_issue) if mnemonic == "OP_POOL" else None
    first, second, out = ELEMENTS.get(mnemonic, (0, 0, 1))
    once = TABLE if mnemonic == "OP_ACT_LUT" else 0
    record = RECORD if fields.get("quant") == PER_CHANNEL else 0
    for y in range(rows):
        for x in range(columns):
            for low in range(0, channels, config.vector_lanes):
                group = min(config.vector_lanes, channels - low)
                start = y == x == 0
                extra = (once if start and low == 0 else 0) + (record * group if start else 0)
                if window is None:
                    yield 0, extra + (first + second) * group, out * group
                    continue
                for tap in window.taps:
                    reads = group if window.is_new(y, x, tap, low) else 0
                    yield 0, reads, group if tap is window.taps[-1] else 0


class Window:
    """The taps of a kernel, and which input pixels they have met so far."""

    def __init__(self, at_issue: Settings, is_matrix: bool = False) -> None:
        self._size = at_issue.pair("OUT_SIZE" if is_matrix else "IN_SIZE")
        self._stride = (1, 1) if is_matrix else at_issue.pair("STRIDE")
        self._dilation = (1, 1) if is_matrix else at_issue.pair("DILATION")
        self._pad = (0, 0) if is_matrix else at_issue.pair("PAD")
        kernel = (1, 1) if is_matrix else at_issue.pair("KERNEL")
        self.taps = [(y, x) for y in range(kernel[0]) for x in range(kernel[1])]
        self._met: set[tuple[int, int, int]] = set()

    def forget(self) -> None:
        self._met.clear()

    def is_new(self, y: int, x: int, tap: tuple[int, int], part: int) -> bool:
        row = y * self._stride[0] + tap[0] * self._dilation[0] - self._pad[0]
        column = x * self._stride[1] + tap[1] * self._dilation[1] - self._pad[1]
        inside = 0 <= row < self._size[0] and 0 <= column < self._size[1]
        if not inside or (row, column, part) in self._met:
            return False
        self._met.add((row, column, part))
        return True


def lanes(config) -> tuple[int, int]:
    """Input and output channels in parallel."""
    if config.parallel == "input":
        return config.pes, 1
    if config.parallel == "output":
        return 1, config.pes
    inputs, outputs = config.parallel.split("x")
    return int(inputs), int(outputs)


class Compute:
    """An operation in the MAC or VECTOR unit."""

    def __init__(self, steps: list[Step], fill: int, drain: int, port_bytes: int) -> None:
        self._steps, self._next = steps, 0
        self._fill, self._drain, self._port_bytes = fill, drain, port_bytes
        self._to_read = sum(step[1] for step in steps)
        self._needed = steps[0][1] if steps else 0
        self._fetched = self._to_write = 0
        self.macs = 0

    @property
    def is_done(self) -> bool:
        return not (self._fill or self._drain or self._to_write or self._next < len(self._steps))

    def cycle(self) -> str:
        """Do what one cycle allows; the name of what it was spent on."""
        if self._fill:
            self._fill -= 1
            return "fill"
        if self._next < len(self._steps) or self._to_write:
            return self._work()
        self._drain -= 1
        return "drain"

    def _work(self) -> str:
        """Ports write what is ready, then read ahead; the array steps if its bytes are there."""
        spare = self._port_bytes
        spare -= self._write(spare)
        reads = min(spare, self._to_read - self._fetched)
        self._fetched += reads
        stepped = self._step()
        self._write(spare - reads)
        return "work" if stepped else "sram"

    def _write(self, spare: int) -> int:
        written = min(spare, self._to_write)
        self._to_write -= written
        return written

    def _step(self) -> bool:
        if self._next == len(self._steps) or (self._port_bytes and self._needed > self._fetched):
            return False
        macs, _, writes = self._steps[self._next]
        self.macs += macs
        self._to_write += writes if self._port_bytes else 0
        self._next += 1
        if self._next < len(self._steps):
            self._needed += self._steps[self._next][1]
        return True


class Transfer:
    """An operation in a DMA unit: latency, then its runs on the bus, request cycles and beats."""

    def __init__(self, at_issue: Settings, prefix: str, config) -> None:
        self._latency = config.dma_latency
        rates = [rate for rate in (config.dma_bandwidth, config.dma_shared_bandwidth) if rate]
        self.beats = sum(_bus_cycles(run, min(rates, default=0), config) for run in _runs(at_issue, prefix))
        self._left = Fraction(self.beats)

    @property
    def is_done(self) -> bool:
        return not self._latency and self._left <= 0

    @property
    def wants_bus(self) -> bool:
        return not self._latency and self._left > 0

    def wait(self) -> None:
        self._latency -= 1

    def move(self, share: Fraction | int) -> None:
        self._left -= share


def _runs(at_issue: Settings, prefix: str) -> Iterator[int]:
    """Lengths of the stretches of system memory that are contiguous, in the order of the transfer."""
    number = at_issue.number
    address, length = number(f"{prefix}_OFFSET"), 0
    for plane in range(number(f"{prefix}_PLANES")):
        for run in range(number(f"{prefix}_RUNS")):
            start = number(f"{prefix}_OFFSET")
            start += plane * number(f"{prefix}_PLANE_STRIDE") + run * number(f"{prefix}_RUN_STRIDE")
            if start != address and length:
                yield length
                length = 0
            length += number(f"{prefix}_RUN_BYTES")
            address = start + number(f"{prefix}_RUN_BYTES")
    yield length


def _bus_cycles(run_bytes: int, rate: int, config) -> int:
    cycles = 0
    for _ in range(0, run_bytes, config.dma_burst_bytes):
        cycles += config.dma_burst_overhead
    if rate:
        for _ in range(0, run_bytes, rate):
            cycles += 1
    return cycles


class Bus:
    """Shares each cycle among the transfers that want it: evenly in fractions of a beat (fluid), or whole
    beats in turn as an arbiter would."""

    def __init__(self, config, fluid: bool) -> None:
        rates = [rate for rate in (config.dma_bandwidth, config.dma_shared_bandwidth) if rate]
        rate, shared = min(rates, default=0), config.dma_shared_bandwidth
        self._beats = Fraction(shared, rate) if shared else Fraction(2)  # in one cycle, both together
        self._fluid = fluid
        self._credit = Fraction(0)
        self._turn = 0

    def cycle(self, transfers: list[Transfer]) -> None:
        """One cycle for the transfers (at most two) that want the bus."""
        if len(transfers) < 2 or self._beats >= 2:
            for transfer in transfers:
                transfer.move(1)
        elif self._fluid:
            for transfer in transfers:
                transfer.move(self._beats / 2)
        else:
            self._arbitrate(transfers)

    def _arbitrate(self, transfers: list[Transfer]) -> None:
        self._credit = self._credit + self._beats
        for _ in transfers:
            if self._credit >= 1:
                self._credit -= 1
                transfers[self._turn].move(1)
                self._turn = 1 - self._turn
