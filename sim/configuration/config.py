"""The machine's configuration: one frozen object, passed explicitly wherever it is needed."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.sim.configuration.machine_table import PARAMETERS, MachineTable
from dlasim.sim.configuration.parameter_names import TABLES, full_names, is_part
from dlasim.sim.configuration.sizes import size_text

if TYPE_CHECKING:
    from dlasim.isa.program import Requirement

PARALLEL_FORM = "input, output, or a grid such as 8x16 or 8x8x4"


class GridMismatchError(InputError):
    """The grid and the number of PEs contradict each other."""


@dataclass(frozen=True, slots=True)
class DlaConfig(MachineTable):
    """Sizes in bytes, times in cycles, rates in bytes or results per cycle; a limit of 0 is none."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"name must be text (got {self.name!r})")
        for name, parameter in PARAMETERS.items():
            given = getattr(self, name)
            if given is parameter.default:  # as most are
                continue
            value = given if name in TABLES else parameter.checked(name, given)
            if value is not given:
                object.__setattr__(self, name, value)
            if wanted := parameter.outside(value):
                raise InputError(f"{name} {wanted} (got {value!r})")
        inputs, outputs, pixels = self._grid
        if inputs * outputs * pixels != self.pes:
            raise GridMismatchError(
                f"the grid {self.parallel} has {inputs * outputs * pixels} PEs, but pes is {self.pes}; "
                "give only one of parallel and pes"
            )
        if any(not isinstance(table, str) or table for table in (self.memories, self.buses)):
            self._normalize_memories()

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            known = hash(tuple([getattr(self, name) for name in PARAMETERS]))
            object.__setattr__(self, "_hash", known)
            return known

    def _normalize_memories(self) -> None:
        """Check both tables, and keep them in one form."""
        from dlasim.sim.configuration.memory_tables import normalize_tables  # few machines have any

        memories, buses = normalize_tables(self.memories, self.buses)
        object.__setattr__(self, "memories", memories)
        object.__setattr__(self, "buses", buses)

    @property
    def absent_opcodes(self) -> tuple[int, ...]:
        """The opcodes of instructions that it does not have."""
        from dlasim.isa.instructions import BY_MNEMONIC, OPTIONAL

        return tuple(
            BY_MNEMONIC[name].opcode for name, option in OPTIONAL.items() if not getattr(self, option)
        )

    @property
    def _grid(self) -> tuple[int, int, int]:
        """Input channels, output channels and pixels processed in parallel."""
        if self.parallel == "input":
            return self.pes, 1, 1
        if self.parallel == "output":
            return 1, self.pes, 1
        return parse_grid(self.parallel)

    @property
    def lanes(self) -> tuple[int, int]:
        """Input and output channels processed in parallel."""
        return self._grid[:2]

    @property
    def pixel_tile(self) -> tuple[int, int]:
        """Rows and columns of output pixels processed in parallel, as square as their number allows."""
        pixels = self._grid[2]
        rows = max(rows for rows in range(1, math.isqrt(pixels) + 1) if pixels % rows == 0)
        return rows, pixels // rows

    @property
    def depthwise_lanes(self) -> int:
        """Channels of a depthwise convolution processed in parallel: a grid's output lanes, else all PEs."""
        inputs, outputs = self.lanes
        return inputs * outputs if 1 in (inputs, outputs) else outputs

    @property
    def elements(self) -> int:
        """Elements that the VECTOR unit works on in parallel."""
        return self.vector_lanes or self.pes

    @property
    def fingerprint(self) -> int:
        """The fingerprint of this machine that programs lowered for it contain."""
        from dlasim.isa.program import fingerprint  # imports NumPy, which defaults and --help do not need

        return fingerprint(self.pes, *self.lanes, self.sram_bytes)

    @property
    def label(self) -> str:
        """A short name as in the paper's figures: `512K 64 O`."""
        mode = {"input": "I", "output": "O"}.get(self.parallel, self.parallel)
        return f"{size_text(self.sram_bytes)} {self.pes} {mode}"

    def replace(self, **changes: Any) -> DlaConfig:
        """A copy with other values. Sizes may be text such as `512KiB`; a new grid also sets `pes`.

        >>> from dlasim import DlaConfig
        >>> DlaConfig().replace(parallel="8x16", sram="64KiB").label
        '64K 128 8x16'
        """
        changes = self._merged(full_names(changes))
        parallel = changes.get("parallel", self.parallel)
        if "pes" not in changes and isinstance(parallel, str) and parallel not in ("input", "output"):
            changes["pes"] = math.prod(parse_grid(parallel))
        return dataclasses.replace(self, **changes)

    def _merged(self, changes: dict[str, Any]) -> dict[str, Any]:
        """The changes with parts of tables, such as `memories.flash.bandwidth`, merged into their tables."""
        parts = {name: changes.pop(name) for name in tuple(changes) if is_part(name)}
        for table in TABLES if parts else ():
            from dlasim.sim.configuration.memory_tables import merge

            own = {name: value for name, value in parts.items() if name.startswith(f"{table}.")}
            if own:
                changes[table] = merge(changes.get(table, getattr(self, table)), table, own)
        return changes

    def requirement(self, **memory: int) -> Requirement:
        """What a program lowered for this machine requires; keywords are those of Requirement."""
        from dlasim.isa.program import Requirement

        inputs, outputs = self.lanes
        return Requirement(self.pes, inputs, outputs, self.sram_bytes, **memory)

    def as_dict(self) -> dict[str, Any]:
        """Name and value of every parameter."""
        return {name: getattr(self, name) for name in ("name", *PARAMETERS)}


def parse_grid(text: str) -> tuple[int, int, int]:
    """Input lanes, output lanes and pixels of `ICxOC` or `ICxOCxP`."""
    parts = text.lower().split("x")
    is_written = all(part.isascii() and part.isdigit() and len(part) < 8 and int(part) > 0 for part in parts)
    if len(parts) not in (2, 3) or not is_written:
        raise InputError(f"parallel must be {PARALLEL_FORM} (got {text!r})")
    inputs, outputs, pixels = (*map(int, parts), 1)[:3]
    return inputs, outputs, pixels
