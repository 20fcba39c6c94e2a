"""The machine's configuration: one frozen object, passed explicitly wherever it is needed."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dlasim.dataclass import dataclass
from dlasim.errors import InputError, one_of, printable, unknown
from dlasim.fileio import parse_toml, read_toml
from dlasim.isa.limits import MAX_SRAM_BYTES
from dlasim.sim.sizes import KIB, SIZE_FORM, UNLIMITED, parse_size, size_text

if TYPE_CHECKING:
    from dlasim.isa.program import Requirement

MAX_PES = 1 << 20
_PRESETS = Path(__file__).parent / "presets"
# Parameters that may be unlimited, which is 0.
LIMITS = (
    "sram_bandwidth", "line_buffer_bytes", "weight_buffer_bytes", "accumulators", "mac_weights",
    "mac_results", "vector_requantizations", "vector_divisions", "dma_bandwidth", "dma_shared_bandwidth",
)  # fmt: skip
MIN_RATES = ("mac_results", "vector_requantizations", "vector_divisions")
MIN_RATE = 0.01  # results in a cycle
TIMINGS = ("full", "macs", "zero")
HANDOVERS = ("results", "blocks")
TABLES = ("memories", "buses")  # parameters that are tables, with parts such as memories.flash.bandwidth
PARALLEL_FORM = "input, output, or a grid such as 8x16 or 8x8x4"
# The names of the command line, which are shorter.
ALIASES = {
    "sram": "sram_bytes",
    "line_buffer": "line_buffer_bytes",
    "weight_buffer": "weight_buffer_bytes",
    "dma_burst": "dma_burst_bytes",
    "clock": "clock_mhz",
}


class GridMismatchError(InputError):
    """The grid and the number of PEs contradict each other."""


@dataclass(frozen=True, slots=True)
class DlaConfig:
    """Sizes in bytes, times in cycles, rates in bytes or results per cycle; a limit of 0 is none."""

    name: str = "default"
    pes: int = 64
    parallel: str = "output"  # input, output, or a grid ICxOC, or ICxOCxP for P output pixels at a time
    sram_bytes: int = 512 * KIB
    sram_bandwidth: int = 16  # of each port, which is as wide as a bank
    sram_ports: int = 4  # shared by MAC, VECTOR and both DMA units
    sram_dma_ports: int = 0  # 1: each DMA unit has a port of its own, and does not share those
    sram_banks: int = 8  # each serves one port in a cycle
    line_buffer_bytes: int = 16 * KIB  # of MAC and of VECTOR: bytes of the input
    weight_buffer_bytes: int = 8 * KIB  # of MAC
    accumulators: int = 32  # of each output lane: output pixels worked on together
    mac_step_group: int = 1  # steps of an output that the array takes together, needed or not
    mac_handover: str = "results"  # results: each leaves when it is done; blocks: docs/timing-model.md
    mac_weights: int = 0  # that reach the array in a cycle
    mac_results: float = 4.0  # that leave the MAC unit in a cycle
    vector_requantizations: float = 4.0  # in a cycle of the VECTOR unit
    vector_divisions: float = 1.0  # in a cycle, for averages
    dma_bandwidth: int = 8  # each way
    dma_shared_bandwidth: int = 0  # both ways together
    dma_latency: int = 64  # from the start of a transfer to its first byte
    dma_burst_bytes: int = 64
    dma_burst_overhead: int = 0  # cycles lost per burst
    # Named memories, as a table of TOML; regions that they hold are not in memory `system`.
    memories: str = ""
    buses: str = ""  # bytes per cycle of buses other than `system`, likewise
    vector_lanes: int = 16  # 0: as many as PEs
    issue_cycles: int = 1  # per instruction word
    queue_depth: int = 4  # operations that a unit holds, the running one included
    compute_overlap: int = 1  # MAC and VECTOR work side by side; 0: in turns
    mac_fill: int = 4
    mac_drain: int = 4
    vector_fill: int = 2
    vector_drain: int = 2
    clock_mhz: float = 500.0
    timing: str = "full"  # full; macs: a MAC operation takes macs / PEs, all else nothing; zero
    technology: str = "45nm"  # energy constants: a name, or a path that ends in .toml

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            self._check_type(field.name)
        for name in _RANGES:
            if wanted := outside_range(name, getattr(self, name)):
                raise InputError(f"{name} {wanted} (got {getattr(self, name)})")
        if self.timing not in TIMINGS:
            raise InputError(f"timing must be {one_of(TIMINGS)} (got {self.timing!r})")
        if self.mac_handover not in HANDOVERS:
            raise InputError(f"mac_handover must be {one_of(HANDOVERS)} (got {self.mac_handover!r})")
        inputs, outputs, pixels = self._grid
        if inputs * outputs * pixels != self.pes:
            raise GridMismatchError(
                f"the grid {self.parallel} has {inputs * outputs * pixels} PEs, but pes is {self.pes}; "
                "give only one of parallel and pes"
            )
        if self.memories or self.buses:
            self._normalize_memories()

    def _normalize_memories(self) -> None:
        """Check both tables, and keep them in one form."""
        from dlasim.sim.memory_tables import normalize_tables  # few machines have any

        memories, buses = normalize_tables(self.memories, self.buses)
        object.__setattr__(self, "memories", memories)
        object.__setattr__(self, "buses", buses)

    def _check_type(self, name: str) -> None:
        value, expected = getattr(self, name), _TYPES[name]
        if name in TABLES:
            return
        check_word(name, value)
        if value == UNLIMITED and name in LIMITS:
            object.__setattr__(self, name, expected(0))
        elif name.endswith("_bytes") and isinstance(value, str):
            object.__setattr__(self, name, _size(name, value))
        elif expected is float and isinstance(value, int) and not isinstance(value, bool):
            object.__setattr__(self, name, float(value))
        elif not isinstance(value, expected) or isinstance(value, bool):
            raise InputError(f"{name} must be {_TYPE_NAMES[expected]} (got {value!r})")

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
        changes = self._merged(_full_names(changes))
        parallel = changes.get("parallel", self.parallel)
        if "pes" not in changes and isinstance(parallel, str) and parallel not in ("input", "output"):
            changes["pes"] = math.prod(parse_grid(parallel))
        return dataclasses.replace(self, **changes)

    def _merged(self, changes: dict[str, Any]) -> dict[str, Any]:
        """The changes with parts of tables, such as `memories.flash.bandwidth`, merged into their tables."""
        parts = {name: changes.pop(name) for name in tuple(changes) if is_part(name)}
        for table in TABLES if parts else ():
            from dlasim.sim.memory_tables import merge

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
        return {name: getattr(self, name) for name in _TYPES}


_TYPES: dict[str, type] = {
    field.name: {"int": int, "str": str, "float": float}[str(field.type)]
    for field in dataclasses.fields(DlaConfig)
}
_MOST_BITS = 64
_TYPE_NAMES = {int: "a whole number", str: "text", float: "a number"}
_RANGES: dict[str, tuple[float, float]] = {
    "pes": (1, MAX_PES),
    "sram_bytes": (16, MAX_SRAM_BYTES),
    "sram_bandwidth": (0, 1 << 20),
    "sram_ports": (1, 64),
    "sram_dma_ports": (0, 1),
    "sram_banks": (1, 1 << 10),
    "line_buffer_bytes": (0, MAX_SRAM_BYTES),
    "weight_buffer_bytes": (0, MAX_SRAM_BYTES),
    "accumulators": (0, 1 << 20),
    "mac_step_group": (1, 64),
    "mac_weights": (0, 1 << 20),
    "mac_results": (0, 1 << 20),
    "vector_requantizations": (0, 1 << 20),
    "vector_divisions": (0, 1 << 20),
    "dma_bandwidth": (0, 1 << 20),
    "dma_shared_bandwidth": (0, 1 << 20),
    "dma_latency": (0, 1 << 20),
    "dma_burst_bytes": (1, 1 << 20),
    "dma_burst_overhead": (0, 1 << 20),
    "vector_lanes": (0, 1 << 16),
    "issue_cycles": (0, 1 << 10),
    "queue_depth": (1, 255),
    "compute_overlap": (0, 1),
    "mac_fill": (0, 1 << 16),
    "mac_drain": (0, 1 << 16),
    "vector_fill": (0, 1 << 16),
    "vector_drain": (0, 1 << 16),
    "clock_mhz": (0, 100_000),
}


def check_word(name: str, value: Any) -> None:
    """Refuse an integer of more than 64 bits, which neither fits a float nor can be shown in a message."""
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise InputError(f"{name} must have at most {_MOST_BITS} bits (got {value.bit_length():,})")


def outside_range(name: str, value: float) -> str:
    """`must be from 1 to 255` if that is the range of the parameter and the value is outside it, else ``."""
    low, high = _RANGES[name]
    if name in MIN_RATES:
        fits = value == 0 or MIN_RATE <= value <= high
        return "" if fits else f"must be from {MIN_RATE} to {high}, or {UNLIMITED}"
    if name == "clock_mhz":
        return "" if 0 < value <= high else f"must be above 0 and at most {high}"
    return "" if low <= value <= high else f"must be from {low} to {high}"


def _full_names(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes with the names of the fields; an unknown name, or two for one field, is an error."""
    found: dict[str, Any] = {}
    for given, value in changes.items():
        name = ALIASES.get(given, given)
        if name not in _TYPES and not is_part(name):
            raise InputError(unknown("parameter", given, (*_TYPES, *ALIASES)))
        if name in found:
            raise InputError(f"{name} is given twice, also as {given}")
        found[name] = value
    return found


def is_part(name: str) -> bool:
    """Whether this is the name of a part of a table: `memories.flash.bandwidth`, `buses.axi`."""
    return name.partition(".")[0] in TABLES and "." in name


def kind_of(name: str) -> type:
    """The type of the values of a parameter or of a part of a table; an unknown name is an error."""
    if is_part(name):
        from dlasim.sim.memory_tables import part_kind

        return part_kind(name)
    if name not in _TYPES:
        raise InputError(unknown("parameter", name, (*_TYPES, *ALIASES)))
    return _TYPES[name]


def read_value(name: str, text: str) -> Any:
    """The value of a parameter that a text gives; DlaConfig checks its range."""
    kind, text = kind_of(name), text.strip()
    if kind is str:
        return text
    if text.lower() == UNLIMITED and _may_be_unlimited(name):
        return kind(0)
    if name.endswith("_bytes") and (size := parse_size(text)) is not None:
        return size
    try:
        return kind(text)
    except ValueError:
        raise InputError(f"{name} must be {wanted(name)} (got {text!r})") from None


def wanted(name: str) -> str:
    """What a value of the parameter must be: `a whole number`, `a size such as …`."""
    return SIZE_FORM if name.endswith("_bytes") else _TYPE_NAMES[kind_of(name)]


def _may_be_unlimited(name: str) -> bool:
    if is_part(name):
        from dlasim.sim.memory_tables import is_limit

        return is_limit(name)
    return name in LIMITS


def _size(name: str, value: str) -> int:
    size = parse_size(value)
    if size is None:
        raise InputError(f"{name} must be {SIZE_FORM} (got {value!r})")
    return size


def parse_grid(text: str) -> tuple[int, int, int]:
    """Input lanes, output lanes and pixels of `ICxOC` or `ICxOCxP`."""
    parts = text.lower().split("x")
    is_written = all(part.isascii() and part.isdigit() and len(part) < 8 and int(part) > 0 for part in parts)
    if len(parts) not in (2, 3) or not is_written:
        raise InputError(f"parallel must be {PARALLEL_FORM} (got {text!r})")
    inputs, outputs, pixels = (*map(int, parts), 1)[:3]
    return inputs, outputs, pixels


def from_mapping(values: Mapping[str, Any], origin: str) -> DlaConfig:
    """A configuration from a table of parameters; `origin` names the table in errors."""
    try:
        return DlaConfig().replace(**dict(values))
    except InputError as error:
        raise InputError(f"{origin}: {error}") from None


def load_file(path: str | Path) -> DlaConfig:
    """Read the configuration in a TOML file."""
    values = read_toml(path)
    values.setdefault("name", printable(Path(path).stem))
    return from_mapping(values, str(path))


def preset_names() -> tuple[str, ...]:
    """The names of the presets that dlasim includes."""
    return tuple(sorted(item.name[:-5] for item in _PRESETS.iterdir() if item.name.endswith(".toml")))


def preset(name: str) -> DlaConfig:
    """The preset of that name."""
    if name not in preset_names():
        raise InputError(unknown("preset", name, preset_names()))
    return from_mapping({"name": name, **parse_toml(_preset_text(name), name)}, f"preset {name}")


def preset_summary(name: str) -> str:
    """A description of a preset: the first sentence of its file."""
    comment = " ".join(
        line.removeprefix("#").strip()
        for line in itertools.takewhile(lambda line: line.startswith("#"), _preset_text(name).splitlines())
    )
    return re.split(r"[.:] ", comment.rstrip("."), maxsplit=1)[0]


def _preset_text(name: str) -> str:
    return (_PRESETS / f"{name}.toml").read_text(encoding="utf-8")
