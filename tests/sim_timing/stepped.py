"""A machine that lives one cycle at a time: the oracle for timelines that are computed in closed form."""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from dlasim.isa import codec, registers
from tests.sim_timing.jobs import (
    Bus,
    Compute,
    Ports,
    Settings,
    Transfer,
    answer_cycles,
    mac_steps,
    memory_of,
    vector_steps,
)

UNITS = ("dma_in", "dma_out", "mac", "vector")
IDLE = {issue: f"idle_{issue}" for issue in ("issue", "wait", "queue")}
OVERLAP = {
    (True, False): "only_compute",
    (False, True): "only_dma",
    (True, True): "both",
    (False, False): "neither",
}
PATIENCE = 1_000_000


@dataclass
class Outcome:
    """What happened, and what each cycle was spent on."""

    issued: list[int] = field(default_factory=list)
    start: dict[int, int] = field(default_factory=dict)
    end: dict[int, int] = field(default_factory=dict)
    markers: list[int] = field(default_factory=list)
    issue: Counter = field(default_factory=Counter)
    units: dict[str, Counter] = field(default_factory=lambda: {unit: Counter() for unit in UNITS})
    overlap: Counter = field(default_factory=Counter)
    owned: Counter = field(default_factory=Counter)
    macs: int = 0
    total: int = 0


@dataclass
class Queued:
    """An operation in a unit's queue; its job exists once it is at the head."""

    number: int
    mnemonic: str
    fields: dict[str, int]
    settings: Settings
    waited: int = 0  # cycles of its latency that passed before
    job: Compute | Transfer | None = None


class SteppedMachine:
    """Issue stage, four units, the bus."""

    def __init__(self, config, words, fluid: bool = True) -> None:
        self._config = config
        self._words = [codec.decode(int(word)) for word in words]
        self._patterns = {register.name: register.reset for register in registers.OPERANDS}
        self._queues: dict[str, list[Queued]] = {unit: [] for unit in UNITS}
        self._bus = Bus(fluid)
        self._ports = Ports(config)
        self._position = 0
        self._countdown = self._cycles_of_word()
        self._block = ""
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """From the doorbell to HALT, or to the fault."""
        for now in range(PATIENCE):
            if self._advance(now):
                self.outcome.total = now
                return self.outcome
            self._spend()
        raise AssertionError("the stepped machine does not come to an end")

    # At the edge of a cycle

    def _advance(self, now: int) -> bool:
        """Everything that takes no time; True at the end of the stream."""
        while True:
            self._settle(now)
            self._block = ""
            decoded = self._fetch()
            if decoded is None:  # a fault: nothing more is issued, units finish
                self._countdown, self._block = 0, "wait"
                return self._idle()
            if self._countdown:
                return False
            mnemonic = decoded.instruction.mnemonic
            self._block = self._hindrance(mnemonic, decoded.values)
            if self._block:
                return False
            self._act(now, mnemonic, decoded)
            if mnemonic == "HALT":
                return True
            self._position += 1
            self._countdown = self._cycles_of_word()

    def _cycles_of_word(self) -> int:
        """What the word at hand takes, an operation's checks included."""
        decoded = self._fetch()
        if decoded is None or self._config.timing != "full":
            return 0
        checks = self._config.check_cycles if decoded.instruction.mnemonic.startswith("OP_") else 0
        return self._config.issue_cycles + checks

    def _fetch(self):
        if self._position >= len(self._words):
            return None
        decoded = self._words[self._position]
        return decoded if decoded.is_legal else None

    def _hindrance(self, mnemonic: str, fields: dict[str, int]) -> str:
        if mnemonic == "WAIT":
            return "wait" if len(self._queues[UNITS[fields["unit"]]]) > fields["max_outstanding"] else ""
        if mnemonic in ("IRQ", "HALT"):
            return "" if self._idle() else "wait"
        if mnemonic.startswith("OP_"):
            unit = _unit(mnemonic)
            others = {"mac": "vector", "vector": "mac"}
            if not self._config.compute_overlap and unit in others and self._queues[others[unit]]:
                return "queue"
            return "queue" if len(self._queues[unit]) >= self._config.queue_depth else ""
        return ""

    def _act(self, now: int, mnemonic: str, decoded) -> None:
        if mnemonic == "CFG":
            index = decoded.values["register"] - registers.OPERANDS[0].index
            self._patterns[registers.OPERANDS[index].name] = decoded.values["value"]
        elif mnemonic == "IRQ":
            self.outcome.markers.append(now)
        elif mnemonic.startswith("OP_"):
            number = len(self.outcome.issued)
            self.outcome.issued.append(now)
            queued = Queued(number, mnemonic, dict(decoded.values), Settings(self._patterns))
            self._queues[_unit(mnemonic)].append(queued)

    def _settle(self, now: int) -> None:
        for queue in self._queues.values():
            while queue:
                head = queue[0]
                if head.job is None:
                    self.outcome.start[head.number] = now
                    head.job = self._begin(head)
                if not head.job.is_done:
                    break
                self.outcome.end[head.number] = now
                queue.pop(0)

    def _idle(self) -> bool:
        return not any(self._queues.values())

    def _begin(self, head: Queued) -> Compute | Transfer:
        config, unit = self._config, _unit(head.mnemonic)
        full = config.timing == "full"
        if unit.startswith("dma"):
            prefix = "DMA_IN" if unit == "dma_in" else "DMA_OUT"
            if not full:
                return Compute([], 0, 0, config)
            transfer = Transfer(head.settings, prefix, config, head.waited, 2 * head.fields.get("packed", 0))
            if head.mnemonic == "OP_DMA_DECODE":
                transfer.decode(head.fields, config)
            return transfer
        make = mac_steps if unit == "mac" else vector_steps
        steps = list(make(head.mnemonic, head.fields, head.settings, config))
        macs = sum(step[0] for step in steps)
        self.outcome.macs += macs
        free = config.replace(sram_bandwidth="unlimited")
        if config.timing == "zero" or (config.timing == "macs" and unit == "vector"):
            return Compute([], 0, 0, free)
        if config.timing == "macs":
            return Compute(
                [(0, 0, 0, Fraction(0), 0, False, False)] * len(range(0, macs, config.pes)), 0, 0, free
            )
        fill, drain = (getattr(config, f"{unit}_{end}") for end in ("fill", "drain"))
        drain += 8 if head.fields.get("sum") else 0  # the stages that add a tensor to results
        in_blocks = unit == "mac" and config.mac_handover == "blocks"
        return Compute(steps, fill, drain, config, answer_cycles(config), unit == "vector", in_blocks)

    # A cycle passes

    def _spend(self) -> None:
        if self._countdown:
            self._countdown -= 1
            issue = "issue"
        else:
            issue = self._block
        self.outcome.issue[issue] += 1
        idle, running, wanted = IDLE[issue], {}, {}
        for unit, queue in self._queues.items():
            if queue:
                running[unit] = queue[0]
            else:
                self.outcome.units[unit][idle] += 1
        self._spend_overlap(running)
        self._spend_dma(running)
        for unit, head in running.items():
            if count := head.job.wanted:
                wanted[unit] = count
        granted = self._ports.grant(wanted) if wanted else wanted
        for unit, head in running.items():
            if isinstance(head.job, Compute):
                self.outcome.units[unit][head.job.cycle(granted.get(unit, 0))] += 1
            else:
                head.job.cross(granted.get(unit, 0))

    def _spend_overlap(self, running: dict[str, Queued]) -> None:
        computing = [running[unit].number for unit in ("mac", "vector") if unit in running]
        moving = "dma_in" in running or "dma_out" in running
        self.outcome.overlap[OVERLAP[bool(computing), moving]] += 1
        if computing:
            self.outcome.owned[min(computing)] += 1

    def _spend_dma(self, running: dict[str, Queued]) -> None:
        wanting = []
        for unit in ("dma_in", "dma_out"):
            if unit not in running:
                continue
            transfer = running[unit].job
            if transfer.wants_bus:
                wanting.append(transfer)
            self.outcome.units[unit]["latency" if transfer.is_waiting else "bus"] += 1
            if transfer.is_waiting:
                transfer.wait()
            self._ask_ahead(unit)
        self._bus.cycle(wanting)

    def _ask_ahead(self, unit: str) -> None:
        """Latencies of transfers behind the current one: of each while fewer than its memory's number of
        outstanding transfers are before it."""
        for place, queued in enumerate(self._queues[unit][1:], 1):
            memory = memory_of(queued.settings, unit.upper(), self._config)
            if place < memory.outstanding and queued.waited < memory.latency:
                queued.waited += 1


def _unit(mnemonic: str) -> str:
    if mnemonic in ("OP_DMA_READ", "OP_DMA_UNPACK", "OP_DMA_DECODE", "OP_DMA_WRITE"):
        return "dma_out" if mnemonic == "OP_DMA_WRITE" else "dma_in"
    return "mac" if mnemonic in ("OP_CONV", "OP_CONV_RELU", "OP_DEPTH_CONV", "OP_MAT_MUL") else "vector"
