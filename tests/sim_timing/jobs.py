"""What the units do with an operation, cycle by cycle: loops over channels, taps and pixels; runs and beats.

Written from docs/timing-model.md and the instruction manual alone; shares nothing with dlasim.sim.
"""

import math
import tomllib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from dlasim.isa import registers

# Bytes per element of (first input, second input, output) of the element-wise operations.
ELEMENTS = {
    "OP_FILL": (0, 0, 1),
    "OP_E16_ADD": (4, 4, 4),
    "OP_E16_MUL": (4, 4, 4),
    "OP_E16_SIGMOID": (4, 0, 4),
    "OP_E16_SOFTMAX": (2, 0, 2),
    "OP_E16_LUT": (2, 0, 2),
    "OP_REQUANT": (4, 0, 1),
    "OP_E32_SHIFT": (4, 0, 4),
    "OP_E32_ADD": (4, 4, 4),
    "OP_ACT_RELU": (1, 0, 1),
    "OP_ACT_LRELU": (1, 0, 1),
    "OP_ACT_LUT": (1, 0, 1),
    "OP_E_ADD": (1, 1, 1),
    "OP_E_SUB": (1, 1, 1),
    "OP_E_SQDIFF": (1, 1, 1),
    "OP_E_MUL": (1, 1, 1),
    "OP_E_ABS": (1, 0, 1),
    "OP_C_MIN": (1, 1, 1),
    "OP_C_MAX": (1, 1, 1),
    "OP_SOFTMAX": (1, 0, 1),
}
RECORD = 12
TABLES = {
    "OP_ACT_LUT": 256, "OP_SOFTMAX": 1024, "OP_E16_SIGMOID": 1024, "OP_E16_SOFTMAX": 4096, "OP_E16_LUT": 2048,
}  # fmt: skip
ELEMENT_BYTES = 1, 2  # of int8 and int16
BIAS, PARTIAL, INT32, PER_CHANNEL = 1, 2, 1, 1

REQUANTIZATIONS = {"OP_REQUANT": 1, "OP_ACT_RELU": 1, "OP_ACT_LRELU": 1, "OP_E_ADD": 3, "OP_E_SUB": 3,
                   "OP_E_SQDIFF": 3, "OP_E16_ADD": 2, "OP_E_MUL": 1, "OP_E_ABS": 1,
                   "OP_SOFTMAX": 1, "OP_E16_SOFTMAX": 3}  # fmt: skip
MEAN, AVERAGES = 2, (1, 3)
QUEUE = 64  # bytes between the SRAM's ports and a unit, besides its buffers
ANSWER = 2  # cycles from a request at the ports until its word has crossed

Exact = Fraction | int  # integers where they do: their sums take a tenth of the time
# Multiply-accumulates, bytes read from SRAM; results, cycles that each needs in the output stage, its bytes;
# whether it is the first, and the last, of a block that takes accumulators.
Step = tuple[int, int, int, Exact, int, bool, bool]


class Settings:
    """The operand registers at issue."""

    def __init__(self, patterns: dict[str, int]) -> None:
        self._patterns = dict(patterns)

    def number(self, name: str) -> int:
        return registers.BY_NAME[name].fields[0].extract(self._patterns[name])

    def pair(self, name: str) -> tuple[int, int]:
        first, second = registers.BY_NAME[name].fields
        return first.extract(self._patterns[name]), second.extract(self._patterns[name])


def each(per_cycle: float) -> Exact:
    """Cycles of one of so many in a cycle; 0 is no limit."""
    cycles = 1 / Fraction(per_cycle) if per_cycle else Fraction(0)
    return cycles.numerator if cycles.denominator == 1 else cycles


def mac_steps(mnemonic: str, fields: dict[str, int], at_issue: Settings, config) -> Iterator[Step]:
    """One cycle of the array after the other: a group of output channels, a block of pixels, a tap, a group
    of input channels, and then along the block, so that the weights in the array serve all of it. A turn is
    what the array does in a cycle: a pixel, or several."""
    depthwise = mnemonic == "OP_DEPTH_CONV"
    rows, columns = at_issue.pair("OUT_SIZE")
    inputs, outputs = at_issue.number("IN_CHANNELS"), at_issue.number("OUT_CHANNELS")
    lanes_in, lanes_out = lanes(config)
    if depthwise:
        lanes_in, lanes_out = 1, lanes_out if "x" in config.parallel else config.pes
    held = min(inputs, lanes_out) if depthwise else inputs
    element = ELEMENT_BYTES[fields.get("elements", 0)]
    window = Window(at_issue, config.line_buffer_bytes, element * held, is_matrix=mnemonic == "OP_MAT_MUL")
    out_bytes = 4 if fields.get("out") == INT32 else element
    record = RECORD if fields["init"] == BIAS or fields["quant"] == PER_CHANNEL else 0
    partial = 4 if fields["init"] == PARTIAL else fields.get("sum", 0)  # the tensor to be added is of bytes
    halves = 1 + fields.get("weights", 0)  # bytes of a weight, each of which takes a lane
    lows = range(0, halves * inputs, lanes_in)
    depths = [1] if depthwise else [min(lanes_in, halves * inputs - low) for low in lows]
    products = [(low + depth) // halves - low // halves for low, depth in zip(lows, depths, strict=False)]
    turns = list(pixel_turns(rows, columns, config))
    block = config.accumulators or len(turns)
    order = list(step_order(len(window.taps), len(depths), config.mac_step_group))
    order = [(step, byte) for step in order for byte in range(element)]  # low bytes, then high ones
    load = math.ceil(Fraction(math.prod(lanes(config)), config.mac_weights)) if config.mac_weights else 1
    stage = each(config.mac_results)
    in_blocks = config.mac_handover == "blocks"
    at_once = max(block // len(turns), 1) if in_blocks else 1  # groups of output channels in a block
    whole_filter = len(window.taps) * (1 if depthwise else halves * inputs)
    in_words = not depthwise and config.mac_handover == "results"  # each filter's weights
    word = (config.sram_bandwidth or 1) if in_words else 1
    takes = bool(config.accumulators and not in_blocks and (config.sram_bandwidth or config.mac_results))
    for low in range(0, outputs, lanes_out * at_once):
        firsts = range(low, min(low + lanes_out * at_once, outputs), lanes_out)
        window.next_group(keeps_all=not depthwise and bool(low))
        for start in range(0, len(turns), block):
            together = turns[start : start + block]
            made: list[tuple[int, int, int, bool]] = []  # MACs, bytes of input and others, whether at once
            finished = 0
            for first in firsts:
                group = min(lanes_out, outputs - first)
                per_input = outputs // inputs
                feeding = len({o // per_input for o in range(first, first + group)}) if depthwise else 0
                used = offset = 0  # weights of a filter before a step; what has crossed of the group's
                for number, (step, byte) in enumerate(order):
                    depth = depths[step[1]] if step and not byte else 0  # weights come once
                    multiplied = products[step[1]] if depth else 0
                    used += depth
                    again = group * min(math.ceil(used / word) * word, whole_filter)
                    kept = (
                        again
                        if not config.weight_buffer_bytes
                        else min(again, max(offset, config.weight_buffer_bytes))
                    )
                    offset, weights = again, again - kept if start else again - offset
                    is_early = bool(in_blocks and step and step[1] < config.mac_step_group)
                    for turn, pixels in enumerate(together):
                        reads, of_input = 0 if turn else weights, 0
                        for y, x in pixels:
                            part = (step[1], first) if step and depthwise else step and step[1]
                            if step and window.is_new(y, x, window.taps[step[0]], part):
                                of_input += element * (feeding if depthwise else depth) // halves
                            if number == 0:
                                reads += partial * group + (record * group if y == x == 0 else 0)
                        results = group * len(pixels) if number == len(order) - 1 else 0
                        if in_blocks:
                            finished += results
                            made.append((multiplied * group * len(pixels), of_input, reads, is_early))
                        else:
                            begins = takes and number == turn == 0
                            ends = takes and bool(results) and turn == len(together) - 1
                            macs = multiplied * group * len(pixels)
                            yield macs, of_input + reads, results, stage, out_bytes, begins, ends
                    for _ in range(len(together), load):  # the weights of the next step are not there yet
                        if in_blocks:
                            made.append((0, 0, 0, False))
                        else:
                            yield 0, 0, 0, stage, out_bytes, False, False
            yield from _handed_over(made, config.line_buffer_bytes, finished, stage, out_bytes)


def _handed_over(
    made: list[tuple[int, int, int, bool]], room: int, results: int, stage: Exact, out_bytes: int
) -> Iterator[Step]:
    """The steps of a block that is handed over whole: it begins with its input in the line buffer, as much of
    the first slices of channels as that holds, and all its results leave at its end."""
    early = sum(of_input for _, of_input, _, is_early in made if is_early)
    held = left = min(early, room) if room else early
    for number, (macs, of_input, reads, is_early) in enumerate(made):
        kept = min(of_input, left) if is_early else 0
        left -= kept
        reads += of_input - kept + (held if number == 0 else 0)
        yield macs, reads, results if number == len(made) - 1 else 0, stage, out_bytes, False, False


def pixel_turns(rows: int, columns: int, config) -> Iterator[list[tuple[int, int]]]:
    """The output pixels that a grid of several takes together: 2 of a row, 2x2, 2x4."""
    pixels = int((*config.parallel.split("x"), 1, 1, 1)[2])
    height, width = {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (2, 2), 8: (2, 4)}[pixels]
    for top in range(0, rows, height):
        for left in range(0, columns, width):
            right = min(left + width, columns)
            yield [(y, x) for y in range(top, min(top + height, rows)) for x in range(left, right)]


def step_order(taps: int, slices: int, group: int) -> Iterator[tuple[int, int] | None]:
    """The steps of an output as pairs of a tap and a slice of input channels, None for one that is lost:
    full groups of slices first, then what remains, in groups of taps or of slices, whichever loses less."""
    whole = slices // group * group
    yield from ((tap, part) for tap in range(taps) for part in range(whole))
    rest = range(whole, slices)
    lost_taps, lost_slices = -taps % group, (group - len(rest)) % group
    if lost_taps * len(rest) <= lost_slices * taps:
        for part in rest:
            yield from ((tap, part) for tap in range(taps))
            yield from [None] * lost_taps
    else:
        for tap in range(taps):
            yield from ((tap, part) for part in rest)
            yield from [None] * lost_slices


def vector_steps(mnemonic: str, fields: dict[str, int], at_issue: Settings, config) -> Iterator[Step]:
    """Pixel by pixel, a group of channels at a time, tap by tap."""
    rows, columns = at_issue.pair("OUT_SIZE")
    channels = at_issue.number("OUT_CHANNELS")
    element = ELEMENT_BYTES[fields.get("elements", 0)]
    line = element * channels
    window = Window(at_issue, config.line_buffer_bytes, line) if mnemonic == "OP_POOL" else None
    first, second, out = ELEMENTS.get(mnemonic, (0, 0, element))
    if element > 1:
        first, second, out = element * bool(first), element * bool(second), element
    once = TABLES.get(mnemonic, 0)
    record = RECORD if fields.get("quant") == PER_CHANNEL else 0
    stage = REQUANTIZATIONS.get(mnemonic, 0) * each(config.vector_requantizations)
    if window and fields["mode"] in AVERAGES:
        stage = each(config.vector_divisions)
    elif window and fields["mode"] == MEAN:
        stage = each(config.vector_requantizations)
    if mnemonic in ("OP_SOFTMAX", "OP_E16_SOFTMAX"):
        for pixel in range(rows * columns):
            yield from softmax_steps(channels, 0 if pixel else once, stage, config, out)
        return
    for y in range(rows):
        for x in range(columns):
            for low in range(0, channels, config.vector_lanes):
                group = min(config.vector_lanes, channels - low)
                start = y == x == 0
                extra = (once if start and low == 0 else 0) + (record * group if start else 0)
                if window is None:
                    yield 0, extra + (first + second) * group, group, stage, out, False, False
                    continue
                for tap in window.taps:
                    # A pixel comes with all of its channels, in the first turn that meets it.
                    reads = line if low == 0 and window.is_new(y, x, tap, 0) else 0
                    yield 0, reads, group if tap is window.taps[-1] else 0, stage, out, False, False


def softmax_steps(channels: int, table: int, stage: Exact, config, size: int) -> Iterator[Step]:
    """The greatest element; the sum; then its reciprocal, in 31 cycles; the results. The table comes first. A
    row that the line buffer does not hold is read in each pass."""
    groups = [min(config.vector_lanes, channels - low) for low in range(0, channels, config.vector_lanes)]
    again = size if config.line_buffer_bytes and size * channels > config.line_buffer_bytes else 0
    for number, group in enumerate(groups):
        yield 0, size * group + (0 if number else table), 0, stage, size, False, False
    for group in groups:
        yield 0, again * group, 0, stage, size, False, False
    for _ in range(31):
        yield 0, 0, 0, stage, size, False, False
    for group in groups:
        yield 0, again * group, group, stage, size, False, False


class Window:
    """The taps of a kernel, and which input pixels they find in the line buffer.

    The buffer has room for some lines of `channels` channels. With as many as lie under the window it keeps
    each line for as long as a window needs it. With fewer it keeps every line whose number leaves a small
    remainder, and fetches the others for each row of the output and each row of taps.
    """

    def __init__(self, at_issue: Settings, buffer_bytes: int, channels: int, is_matrix: bool = False) -> None:
        self._size = at_issue.pair("OUT_SIZE" if is_matrix else "IN_SIZE")
        self._stride = (1, 1) if is_matrix else at_issue.pair("STRIDE")
        self._dilation = (1, 1) if is_matrix else at_issue.pair("DILATION")
        self._pad = (0, 0) if is_matrix else at_issue.pair("PAD")
        kernel = (1, 1) if is_matrix else at_issue.pair("KERNEL")
        self.taps = [(y, x) for y in range(kernel[0]) for x in range(kernel[1])]
        self._met: set[tuple[int, ...]] = set()
        rows, columns = at_issue.pair("OUT_SIZE")
        inside = [
            {o * self._stride[axis] + tap[axis] * self._dilation[axis] - self._pad[axis]
             for o in range((rows, columns)[axis]) for tap in self.taps} & set(range(self._size[axis]))
            for axis in (0, 1)
        ]  # fmt: skip
        line = max(len(inside[1]) * channels, 1)
        self._span = min((kernel[0] - 1) * self._dilation[0] + 1, self._size[0])
        self._lines = min(buffer_bytes // line, self._span) if buffer_bytes else self._span
        self._holds_all = not buffer_bytes or line * len(inside[0]) <= buffer_bytes

    def next_group(self, keeps_all: bool) -> None:
        """Another group of output channels begins; one that reads the same input may find all of it."""
        if not (keeps_all and self._holds_all):
            self._met.clear()

    def is_new(self, y: int, x: int, tap: tuple[int, int], part: int) -> bool:
        row = y * self._stride[0] + tap[0] * self._dilation[0] - self._pad[0]
        column = x * self._stride[1] + tap[1] * self._dilation[1] - self._pad[1]
        inside = 0 <= row < self._size[0] and 0 <= column < self._size[1]
        met = (row, column, part) if row % self._span < self._lines else (row, column, part, y, tap[0])
        if not inside or met in self._met:
            return False
        self._met.add(met)
        return True


def lanes(config) -> tuple[int, int]:
    """Input and output channels in parallel."""
    if config.parallel == "input":
        return config.pes, 1
    if config.parallel == "output":
        return 1, config.pes
    inputs, outputs = config.parallel.split("x")[:2]
    return int(inputs), int(outputs)


class Compute:
    """An operation in the MAC or VECTOR unit."""

    def __init__(
        self,
        steps: list[Step],
        fill: int,
        drain: int,
        config,
        answer: int = 0,
        waits_for_results: bool = False,
        in_blocks: bool = False,
    ) -> None:
        """`answer`: cycles until what is asked for first may come. `waits_for_results`: steps with results
        wait until less than a cycle is left of those before. Else results leave by turns of pixels, no more
        than a turn in a cycle; two blocks have accumulators, which a block gives back `fill` cycles after its
        last results have left."""
        self._waits = waits_for_results
        self._now, self._latency = 0, fill
        self._blocks, self._returns = 0, deque[int]()  # blocks with accumulators; when those left come back
        self._steps, self._next = steps, 0
        self._in_blocks, self._held = in_blocks, 0  # bytes that wait for the last result of their block
        self._answer, self._fill, self._drain = answer, fill, drain
        self._word, self._is_limited = config.sram_bandwidth, bool(config.sram_bandwidth)
        self._ahead = QUEUE + config.line_buffer_bytes + config.weight_buffer_bytes
        self._to_read = sum(step[1] for step in steps)
        self._needed = steps[0][1] if steps else 0
        self._fetched = self._to_write = 0
        # Results in the output stage: how many, cycles and bytes of each, and whether they end a block.
        self._leaving: deque[tuple[int, Exact, int, bool]] = deque()
        self._spent: Exact = 0
        self.macs = 0

    @property
    def _is_active(self) -> bool:
        return bool(self._next < len(self._steps) or self._leaving or self._to_write)

    @property
    def is_done(self) -> bool:
        return not (self._answer or self._fill or self._drain or self._is_active)

    @property
    def wanted(self) -> int:
        """Bytes that it would move in this cycle: whole words, unless they are its last."""
        if self._answer or self._fill or not self._is_limited or not self._is_active:
            return 0
        is_last = self._next == len(self._steps) and not self._leaving
        writes = self._to_write if is_last else self._to_write // self._word * self._word
        until = min(self._to_read, max(self._consumed + self._ahead, self._needed + self._word))
        return writes + max(0, until - self._fetched)

    @property
    def _consumed(self) -> int:
        return self._needed - (self._steps[self._next][1] if self._next < len(self._steps) else 0)

    def cycle(self, granted: int) -> str:
        """Do what one cycle allows, with so many bytes at the ports; the name of what it was spent on."""
        if self._answer:
            self._answer -= 1
            return "latency"
        if self._fill:
            self._fill -= 1
            return "fill"
        if not self._is_active:
            self._drain -= 1
            return "drain"
        self._now += 1
        while self._returns and self._returns[0] < self._now:
            self._returns.popleft()
            self._blocks -= 1
        written = min(granted, self._to_write)
        self._to_write -= written
        self._fetched += granted - written
        if self._step():
            name = "work"
        else:
            has_bytes = not self._is_limited or self._needed <= self._fetched
            is_output = has_bytes if self._next < len(self._steps) else self._leaving
            name = "output" if is_output else "sram"
        self._leave()
        return name

    @property
    def _behind(self) -> Exact:
        """Cycles until all results have left."""
        return sum((count * cycles for count, cycles, *_ in self._leaving), 0) - self._spent

    def _leave(self) -> None:
        """A cycle of the output stage."""
        self._spent += 1
        while self._leaving and self._leaving[0][1] <= self._spent:
            results, cycles, size, ends = self._leaving.popleft()
            self._spent -= cycles
            self._held += size if self._is_limited else 0
            if results == 1 or not self._in_blocks:
                self._to_write, self._held = self._to_write + self._held, 0
            if results > 1:
                self._leaving.appendleft((results - 1, cycles, size, ends))
            elif ends:
                self._returns.append(self._now + self._latency)
        if not self._leaving:
            self._spent = 0

    def _step(self) -> bool:
        if self._next == len(self._steps) or (self._is_limited and self._needed > self._fetched):
            return False
        macs, _, results, cycles, size, begins, ends = self._steps[self._next]
        if (self._waits and results and self._behind >= 1) or (begins and self._blocks == 2):
            return False
        self.macs += macs
        self._blocks += begins
        if results and (cycles or ends) and not (self._waits or self._in_blocks):
            self._leaving.append((1, max(results * cycles, 1), results * size, ends))
        elif results and cycles:
            self._leaving.append((results, cycles, size, ends))
        elif self._is_limited:
            self._to_write += results * size
        self._next += 1
        if self._next < len(self._steps):
            self._needed += self._steps[self._next][1]
        return True


class Transfer:
    """An operation in a DMA unit: latency, then its runs on the bus, request cycles and beats; what a beat
    brings waits in a buffer of two words for the SRAM's ports."""

    def __init__(self, at_issue: Settings, prefix: str, config, waited: int = 0, packed: int = 0) -> None:
        """So many cycles of its latency have passed already; so many bytes at its start are packed."""
        self.memory = memory_of(at_issue, prefix, config)
        self._latency = self.memory.latency - waited
        runs = list(_runs(at_issue, prefix, self.memory.rate))
        self.beats = sum(_beats(run, self.memory) for run in runs)
        self.beats += sum(_requests(run, self.memory) for run in _runs(at_issue, prefix, 0))
        if packed:
            self.beats = _packed_cycles(runs[0] - packed, packed, self.memory, config)
        self._left: Exact = self.beats  # a fraction once the bus is shared
        self._word, self._is_limited = config.sram_bandwidth, bool(config.sram_bandwidth and self.beats)
        self._bytes = sum(runs) if self._is_limited else 0
        self._crossed = 0

    def decode(self, fields, config) -> None:
        """It decodes words, and copies what follows them."""
        self.beats = self._left = _decoding_cycles(fields, self.memory, config)
        if not self.beats:
            self._bytes, self._is_limited = 0, False

    @property
    def is_done(self) -> bool:
        return not self._latency and self._left <= 0 and self._crossed == self._bytes

    @property
    def _arrived(self) -> int:
        done = self.beats - max(self._left, 0)
        return int(self._bytes * done // self.beats) if self.beats else 0

    @property
    def wants_bus(self) -> bool:
        room = not self._is_limited or self._arrived - self._crossed < self._word + QUEUE
        return not self._latency and self._left > 0 and room

    @property
    def is_waiting(self) -> bool:
        """Whether its first byte has not come."""
        return bool(self._latency)

    @property
    def wanted(self) -> int:
        """Bytes that it would move through the ports: whole words, unless they are its last."""
        waiting = self._arrived - self._crossed
        return waiting if self._left <= 0 or not self._word else waiting // self._word * self._word

    def cross(self, granted: int) -> None:
        self._crossed += granted

    def wait(self) -> None:
        self._latency -= 1

    def move(self, share: Exact) -> None:
        self._left -= share


def answer_cycles(config) -> int:
    """Cycles from a request at the ports until its word has crossed."""
    return ANSWER if config.sram_bandwidth else 0


def port_bytes(config) -> int:
    """Bytes that the ports move in a cycle; 0: no limit."""
    return config.sram_bandwidth * (1 if config.sram_dma_ports else min(config.sram_ports, config.sram_banks))


class Ports:
    """The SRAM's ports in a cycle: the units take turns, a word each, while they want any."""

    def __init__(self, config) -> None:
        self._word, self._ports = config.sram_bandwidth, min(config.sram_ports, config.sram_banks)
        self._own = ("dma_in", "dma_out") if config.sram_dma_ports else ()  # who has a port of its own
        self._turn = 0

    def grant(self, wanted: dict[str, int]) -> dict[str, int]:
        """The bytes of each unit."""
        granted = {unit: min(wanted[unit], self._word) if unit in self._own else 0 for unit in wanted}
        units = [unit for unit in wanted if unit not in self._own]
        for _ in range(self._ports if self._word else 0):
            for at in range(len(units)):
                unit = units[(self._turn + at) % len(units)]
                size = min(self._word, wanted[unit] - granted[unit])
                if size > 0:
                    granted[unit] += size
                    self._turn = (self._turn + at + 1) % len(units)
                    break
        return granted


def _runs(at_issue: Settings, prefix: str, beat: Fraction | int) -> Iterator[int]:
    """Lengths of the stretches across which beats go on, in order: of system memory that is contiguous;
    a run that is shorter than a beat goes on only where the SRAM's side is contiguous, too."""
    number = at_issue.number
    run_bytes, planes = number(f"{prefix}_RUN_BYTES"), range(number(f"{prefix}_PLANES"))
    ends, length = (0, 0), 0
    for plane, run in product(planes, range(number(f"{prefix}_RUNS"))):
        starts = tuple(
            plane * number(f"{prefix}_PLANE_{stride}") + run * number(f"{prefix}_RUN_{stride}")
            for stride in ("STRIDE", "SRAM_STRIDE")
        )
        goes_on = starts[0] == ends[0] and (run_bytes >= beat or starts[1] == ends[1])
        if length and not goes_on:
            yield length
            length = 0
        length += run_bytes
        ends = starts[0] + run_bytes, starts[1] + run_bytes
    yield length


def _requests(run_bytes: int, memory: "RegionMemory") -> int:
    return memory.burst_overhead * len(range(0, run_bytes, memory.burst_bytes))


def _beats(run_bytes: int, memory: "RegionMemory") -> int:
    cycles, moved = 0, Fraction(0)
    while memory.rate and moved < run_bytes:
        moved += memory.rate
        cycles += 1
    return cycles


def _packed_cycles(run_bytes: int, packed: int, memory: "RegionMemory", config) -> int:
    """Requests for all bytes; the packed ones as fast as they are unpacked, then the others in beats anew."""
    limits = memory.rate, Fraction(config.dma_unpacking), Fraction(port_bytes(config), 2)
    cycles = sum(memory.burst_overhead for _ in range(0, run_bytes, memory.burst_bytes))
    for size, rate in ((packed, min(rate for rate in limits if rate)), (run_bytes - packed, memory.rate)):
        moved = Fraction(0)
        while rate and moved < size:
            moved += rate
            cycles += 1
    return cycles


def _decoding_cycles(fields, memory: "RegionMemory", config) -> int:
    """Requests for all bytes; then steps of whole cycles, in which a word of 16 bytes passes the bus and
    the decoder, and four times as many may pass the ports; then the others in beats."""
    limits = memory.rate, Fraction(config.dma_decoding), Fraction(port_bytes(config), 4)
    size = 16 * fields["words"] + 4 * fields["copied"]
    cycles = sum(memory.burst_overhead for _ in range(0, size, memory.burst_bytes))
    parts = [(16, min(rate for rate in limits if rate))] * fields["steps"] + [
        (4 * fields["copied"], memory.rate)
    ]
    for part, rate in parts:
        moved = Fraction(0)
        while rate and moved < part:
            moved += rate
            cycles += 1
    return cycles


@dataclass(frozen=True)
class RegionMemory:
    """What a region of system memory lies in. `rate` is that of a transfer alone; `limit` and `bus_limit` are
    what the memory and its bus move in a cycle for everybody; 0: no limit."""

    name: str
    bus: str
    rate: Fraction
    limit: Fraction
    bus_limit: Fraction
    latency: int
    outstanding: int
    burst_bytes: int
    burst_overhead: int


def memory_of(at_issue: Settings, prefix: str, config) -> RegionMemory:
    """The memory of a transfer."""
    region = ("CONSTANTS", "ARENA", "INPUTS", "OUTPUTS", "COMMANDS")[at_issue.number(f"{prefix}_REGION")]
    return memory_of_region(region, config)


@cache
def memory_of_region(region: str, config) -> RegionMemory:
    """The memory of a region: a named one, or the one that the machine's own parameters describe."""
    tables = tomllib.loads(f"memories = {config.memories or '{}'}\nbuses = {config.buses or '{}'}")
    tables["buses"]["system"] = config.dma_shared_bandwidth
    found, table = "system", {}
    for name, candidate in tables["memories"].items():
        if region in candidate["regions"]:
            found, table = name, candidate
    bus = table.get("bus", "system")
    limits = [Fraction(str(number)) for number in (table.get("bandwidth", 0), tables["buses"].get(bus, 0))]
    rates = [*limits, Fraction(config.dma_bandwidth), Fraction(port_bytes(config))]
    return RegionMemory(
        found, bus, min([rate for rate in rates if rate], default=Fraction(0)), *limits,
        table.get("latency", config.dma_latency) + answer_cycles(config), table.get("outstanding", 1),
        table.get("burst_bytes", config.dma_burst_bytes),
        table.get("burst_overhead", config.dma_burst_overhead),
    )  # fmt: skip


class Bus:
    """Shares each cycle among the transfers that want it: evenly in fractions of a beat (fluid), or whole
    beats in turn as an arbiter would."""

    def __init__(self, fluid: bool) -> None:
        self._fluid = fluid
        self._credit = Fraction(0)
        self._turn = 0
        self._shares: dict[tuple[str, str], tuple[Exact, ...]] = {}  # by the memories of two

    def cycle(self, transfers: list[Transfer]) -> None:
        """One cycle for the transfers (at most two) that want the bus."""
        if len(transfers) < 2:
            for transfer in transfers:
                transfer.move(1)
            return
        memories = [transfer.memory for transfer in transfers]
        names = memories[0].name, memories[1].name
        if names not in self._shares:
            self._shares[names] = self._share(memories)
        shares = self._shares[names]
        if self._fluid or min(shares) == 1:
            for transfer, share in zip(transfers, shares, strict=True):
                transfer.move(share)
        else:
            assert shares[0] == shares[1]
            self._arbitrate(transfers, sum(shares))

    def _share(self, memories: list[RegionMemory]) -> tuple[Exact, ...]:
        """The beats of each of two transfers in a cycle."""
        rates, limit = [memory.rate for memory in memories], self._limit(memories)
        if not limit or sum(rates) <= limit:
            return 1, 1
        return tuple(
            min(1, max(limit / 2, limit - other) / mine)
            for mine, other in zip(rates, reversed(rates), strict=True)
        )

    def _limit(self, memories: list[RegionMemory]) -> Fraction:
        """What both transfers together can move in a cycle."""
        first, second = memories
        limits = [first.bus_limit] if first.bus == second.bus else []
        if first.name == second.name:
            limits.append(first.limit)
        return min([limit for limit in limits if limit], default=Fraction(0))

    def _arbitrate(self, transfers: list[Transfer], beats: Exact) -> None:
        self._credit = self._credit + beats
        for _ in transfers:
            if self._credit >= 1:
                self._credit -= 1
                transfers[self._turn].move(1)
                self._turn = 1 - self._turn
