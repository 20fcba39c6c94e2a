"""The register window as the host sees it, apart from what the registers do."""

from __future__ import annotations

import numpy as np

from dlasim.isa import registers
from dlasim.isa.registers import BY_ADDRESS, BY_NAME, COUNTERS, Access, Register
from dlasim.sim.accounting import Account
from dlasim.sim.config import DlaConfig
from dlasim.sim.plan import Plan
from dlasim.sim.stream import legal_patterns

WORD = 0xFFFF_FFFF


class ControlRegisters:
    """Values of the control and counter registers by name; operand registers live in the machine's file."""

    def __init__(self, config: DlaConfig) -> None:
        self._config = config
        self._values: dict[str, int] = {}
        self.reset()

    def reset(self) -> None:
        """Back to the table's reset values and the machine's capabilities."""
        self._values = {register.name: register.reset for register in registers.REGISTERS}
        inputs, outputs = self._config.lanes
        self._values |= {
            "CAP_PES": self._config.pes,
            "CAP_GRID": min(inputs, 0xFFFF) | min(outputs, 0xFFFF) << 16,
            "CAP_SRAM_BYTES": self._config.sram_bytes,
            "CAP_CONFIG": self._config.fingerprint,
        }

    def __getitem__(self, name: str) -> int:
        return self._values[name]

    def __setitem__(self, name: str, value: int) -> None:
        assert name in self._values
        self._values[name] = value & WORD

    def flags(self, name: str, **flags: bool) -> None:
        """Set or clear single flags of a register."""
        for field in BY_NAME[name].fields:
            if field.name in flags:
                self._values[name] &= ~field.mask
                self._values[name] |= field.insert(int(flags[field.name]))

    def flag(self, name: str, flag: str) -> bool:
        """One flag of a register."""
        field = next(field for field in BY_NAME[name].fields if field.name == flag)
        return bool(field.extract(self._values[name]))

    def count(self, plan: Plan) -> None:
        """Add a completed stream to the performance counters."""
        for name, amount in counter_values(self._config, plan).items():
            low, high = f"COUNT_{name}_LOW", f"COUNT_{name}_HIGH"
            total = (self[low] | self[high] << 32) + amount
            self[low], self[high] = total & WORD, total >> 32


def find(offset: int) -> Register | None:
    """The register at a byte offset of the window."""
    return BY_ADDRESS.get(offset)


def may_write(register: Register, value: int) -> bool:
    """Whether the register takes this value at all."""
    if register.access is Access.READ_ONLY or not 0 <= value <= WORD:
        return False
    if register.is_operand:
        column = np.array([register.index - registers.OPERANDS[0].index])
        return bool(legal_patterns(column, np.array([value]))[0])
    return register.is_legal(value)


def counter_values(config: DlaConfig, plan: Plan) -> dict[str, int]:
    """What a stream adds to each counter."""
    books: Account = plan.account
    dma_in, dma_out, mac, vector = books.units
    moved = plan.costs.dma_bytes
    values = {
        "CYCLES": books.total,
        "MACS": plan.macs,
        "MACS_POSSIBLE": mac.busy * config.pes,
        "BYTES_READ": int(moved[plan.costs.unit == 0].sum()),
        "BYTES_WRITTEN": int(moved[plan.costs.unit == 1].sum()),
        "DMA_IN_BUSY": dma_in.busy,
        "DMA_OUT_BUSY": dma_out.busy,
        "MAC_BUSY": mac.busy,
        "VECTOR_BUSY": vector.busy,
        "ISSUE_BUSY": books.issue_busy,
        "STALL_WAIT": books.stall_wait,
        "STALL_QUEUE": books.stall_queue,
        "STALL_CONTENTION": dma_in.contention + dma_out.contention,
        "STALL_SRAM": mac.sram + vector.sram,
        "ONLY_COMPUTE": books.only_compute,
        "ONLY_DMA": books.only_dma,
        "BOTH": books.both,
        "NEITHER": books.neither,
    }
    assert tuple(values) == tuple(name for name, _ in COUNTERS)
    return values
