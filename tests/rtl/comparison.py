"""A stream on the RTL and on the simulator, which must agree in everything."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dlasim.isa.instruction_rows import UNITS, WORD_BYTES, Unit
from dlasim.isa.registers import COUNTERS, OPERANDS, Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import Executor, ReferenceExecutor
from dlasim.sim.timing.plan import Plan, plan_stream
from tests.rtl.machine import Events, RtlMachine
from tests.rtl.sram_counters import agrees_by_rule, crossed

Array = NDArray[np.uint8]


@dataclass
class Comparison:
    """What differs, in words; empty where nothing does."""

    config: DlaConfig
    plan: Plan
    events: Events
    sram_operations: int = 0  # whose bytes at the SRAM's ports were compared
    differences: list[str] = field(default_factory=list)

    def note(self, what: str, rtl: object, simulator: object) -> None:
        """Remember a difference, if it is one."""
        if rtl != simulator:
            self.differences.append(f"{what}: RTL {rtl}, simulator {simulator}")

    @property
    def wrong_results(self) -> list[str]:
        """The differences that no limit of ports or results may make: all but times."""
        return [text for text in self.differences if text.startswith(_RESULTS)]

    @property
    def cycles(self) -> tuple[int, int]:
        """What the stream took: RTL, simulator."""
        return self.events.ends[-1], self.plan.timeline.total


_RESULTS = (
    "SRAM:", "SRAM bytes", "memory:", "fault:", "registers:", "what energy counts",
    "counter MACS:", "counter BYTES_READ:", "counter BYTES_WRITTEN:",
)  # fmt: skip


def compare_stream(
    rtl: RtlMachine,
    config: DlaConfig,
    words: NDArray[np.uint64],
    file: Sequence[int],
    sram: Array,
    places: Sequence[tuple[int, int]],
    executor: Executor | None = None,
) -> Comparison:
    """Run the stream from this state on both sides.

    `places` are base and size of the regions, whose bytes the RTL's memory holds; the words go to the start
    of region COMMANDS.
    """
    base, _ = places[Region.COMMANDS]
    rtl.memory[base : base + WORD_BYTES * len(words)] = words.view(np.uint8)
    memory = np.array(rtl.memory)
    plan = plan_stream(config, words, file, {number: size for number, (_, size) in enumerate(places)})
    events = _run(rtl, plan, file, sram, places, len(words))
    result = Comparison(config, plan, events)
    after = sram.copy()
    regions = [memory[start : start + size] for start, size in places]
    (executor or ReferenceExecutor()).run(plan, after, regions, None, 0)
    _compare_times(result)
    if config.sram_bandwidth and plan.fault is None:
        _compare_crossing(result, config)
    _compare_bytes(result, "SRAM", rtl.sram, after)
    _compare_bytes(result, "memory", rtl.memory, memory)
    result.note("fault", rtl.fault(), plan.fault)
    result.note("registers", rtl.file(), list(plan.final_file))
    counted = {name: value for (name, _), value in zip(COUNTERS, rtl.counters(), strict=True)}
    for (name, _), theirs in zip(COUNTERS, plan.counters, strict=True):
        result.note(f"counter {name}", counted[name], theirs)
    if plan.fault is None:
        for name, events in energy_events(plan).items():
            result.note(f"what energy counts as {name}", counted[name], events)
    return result


def energy_events(plan: Plan) -> dict[str, int]:
    """What `sim/physical/energy.py` multiplies by its constants, by the counter that must be equal."""
    costs, unit = plan.costs, plan.costs.unit
    return {
        "MACS": int(costs.macs.sum()),
        "BYTES_READ": int(costs.dma_bytes[unit == Unit.DMA_IN].sum()),
        "BYTES_WRITTEN": int(costs.dma_bytes[unit == Unit.DMA_OUT].sum()),
    }


def _run(
    rtl: RtlMachine,
    plan: Plan,
    file: Sequence[int],
    sram: Array,
    places: Sequence[tuple[int, int]],
    words: int,
) -> Events:
    rtl.reset()
    rtl.sram = sram
    rtl.place_regions(places)
    for register, value in zip(OPERANDS, file, strict=True):
        if value != register.reset:
            rtl.write_offset(register.address, value)
    rtl.write("QUEUE_SIZE", words)
    rtl.write("DOORBELL", words)
    return rtl.run(limit=2 * plan.timeline.total + 1000)


def _compare_times(result: Comparison) -> None:
    plan, events = result.plan, result.events
    timeline, unit = plan.timeline, plan.costs.unit
    result.note("total", events.ends[-1:], [timeline.total])
    result.note("markers", events.markers, list(timeline.markers))
    for number in UNITS:
        mine = unit == number
        result.note(f"{number.name} issued", events.issued[number], timeline.issued[mine].tolist())
        result.note(f"{number.name} ends", events.done[number], timeline.end[mine].tolist())


def _compare_crossing(result: Comparison, config: DlaConfig) -> None:
    """The bytes that energy counts for the SRAM, of each operation for which both count by the same rule."""
    plan = result.plan
    for number, moved in enumerate(crossed(result.events, plan)):
        operation = plan.stream.operation(number)
        if agrees_by_rule(operation, config):
            result.sram_operations += 1
            what = f"SRAM bytes of operation {number}, {operation.instruction.mnemonic}"
            result.note(what, moved, int(plan.costs.sram_bytes[number]))


def _compare_bytes(result: Comparison, what: str, rtl: Array, simulator: Array) -> None:
    differ = np.flatnonzero(rtl != simulator)
    if len(differ):
        at = int(differ[0])
        result.differences.append(
            f"{what}: {len(differ)} bytes, the first at {at:#x}: RTL {rtl[at]}, simulator {simulator[at]}"
        )
