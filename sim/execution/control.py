"""The register window as the host sees it, apart from what the registers do."""

from __future__ import annotations

from collections.abc import Sequence

from dlasim.isa import registers
from dlasim.isa.registers import BY_ADDRESS, COUNTERS, Access, Register
from dlasim.sim.configuration.config import DlaConfig

WORD = 0xFFFF_FFFF
_COUNTER_PLACES = {
    f"COUNT_{name}_{half}": (number, 32 * high)
    for number, (name, _) in enumerate(COUNTERS)
    for high, half in enumerate(("LOW", "HIGH"))
}
_RESET = {
    register.name: register.reset for register in registers.REGISTERS if register.name not in _COUNTER_PLACES
}
_MOST_COUNT = (1 << registers.COUNTER_BITS) - 1
_FLAGS = {
    (register.name, field.name): field.mask
    for register in registers.REGISTERS
    for field in register.fields
    if field.width == 1
}


class ControlRegisters:
    """Values of the control and counter registers by name; operand registers live in the machine's file."""

    def __init__(self, config: DlaConfig) -> None:
        self._config = config
        self._values: dict[str, int] = {}
        self._counts: list[int] = []
        self._added: Sequence[int] = ()
        self._times = 0  # that these amounts are still to be added to the counts
        self.reset()

    def reset(self) -> None:
        """Back to the table's reset values and the machine's capabilities."""
        self._values = dict(_RESET)
        self._counts = self._added = [0] * len(COUNTERS)
        self._times = 0
        inputs, outputs = self._config.lanes
        self._values |= {
            "CAP_PES": self._config.pes,
            "CAP_GRID": min(inputs, 0xFFFF) | min(outputs, 0xFFFF) << 16,
            "CAP_SRAM_BYTES": self._config.sram_bytes,
            "CAP_CONFIG": self._config.fingerprint,
        }

    def __getitem__(self, name: str) -> int:
        value = self._values.get(name)
        if value is not None:
            return value
        number, shift = _COUNTER_PLACES[name]
        self._settle()
        return (self._counts[number] & _MOST_COUNT) >> shift & WORD

    def __setitem__(self, name: str, value: int) -> None:
        assert name in self._values
        self._values[name] = value & WORD

    def flags(self, name: str, **flags: bool) -> None:
        """Set or clear single flags of a register."""
        for flag, on in flags.items():
            mask = _FLAGS[name, flag]
            self._values[name] = self._values[name] | mask if on else self._values[name] & ~mask

    def flag(self, name: str, flag: str) -> bool:
        """One flag of a register."""
        return bool(self._values[name] & _FLAGS[name, flag])

    def count(self, amounts: Sequence[int]) -> None:
        """Add a completed stream to the performance counters."""
        if amounts is not self._added:
            self._settle()
            self._added = amounts
        self._times += 1

    def _settle(self) -> None:
        times, self._times = self._times, 0
        pairs = zip(self._counts, self._added, strict=True)
        self._counts = [total + times * amount for total, amount in pairs]


def find(offset: int) -> Register | None:
    """The register at a byte offset of the window."""
    return BY_ADDRESS.get(offset)


def may_write(register: Register, value: int) -> bool:
    """Whether the register takes this value at all."""
    if register.access is Access.READ_ONLY or not 0 <= value <= WORD:
        return False
    return register.is_legal(value)
