"""The table of a report's figures: what each is called, its unit, how it is worked out, what it means.

The JSON report, a sweep's columns, the printed summary and `docs/figures.md` follow from these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from dlasim.dataclass import dataclass
from dlasim.isa.instruction_rows import UNITS, WORD_BYTES, Unit
from dlasim.sim.physical.area import COMPONENTS, areas
from dlasim.sim.physical.clock import max_clock_hz
from dlasim.sim.physical.memory_macros import MEMORIES, memory_kib
from dlasim.sim.reports.figure_parts import ENERGY_COMPONENTS, KINDS

if TYPE_CHECKING:
    from dlasim.sim.reports.measured import Measured

Report = Mapping[str, Any]
AREA_PARTS = {**COMPONENTS, **MEMORIES}  # of the area in square millimetres
_MAX_NUMBER = 1 << 64


@dataclass(frozen=True, slots=True)
class Figure:
    """One row.

    `name` is the path in the JSON report; a figure without one is only in a sweep's table, where `derive`
    works it out from a report. `column` names it there, and `missing` is the cell where the report lacks it.
    A figure without `get` belongs to an object above it, or is added by the virtual prototype.
    """

    name: str
    unit: str
    text: str
    get: Callable[[Any], Any] | None = None
    column: str = ""
    label: str = ""  # what the printed summary calls it
    section: str = ""  # of the page
    page: str = "timing-model"  # in docs
    derive: Callable[[Report], Any] | None = None
    missing: Any = None
    dla_only: bool = False  # of a layer on the CPU it says nothing
    macs_only: bool = False  # of a layer without MACs it says nothing
    more_is_better: bool = False
    is_physical: bool = False  # depends on SRAM size, clock or technology even where the program does not

    def cell(self, report: Report) -> Any:
        """The figure's cell in a row of a table."""
        if self.derive is not None:
            return self.derive(report)
        value: Any = report
        for part in self.name.split("."):
            value = value.get(part)
            if value is None:
                return self.missing
        return value


def values(table: Iterable[Figure], source: Any) -> dict[str, Any]:
    """The figures of a table that have a getter, as the nested objects of the JSON report."""
    result: dict[str, Any] = {}
    for figure in table:
        if figure.get is not None:
            parents, last = _path(figure.name)
            owner = result
            for parent in parents:
                owner = owner.setdefault(parent, {})
            owner[last] = figure.get(source)
    return result


@cache
def _path(name: str) -> tuple[list[str], str]:
    """The names of the objects above a figure, and its own."""
    *parents, last = name.split(".")
    return parents, last


def is_number(value: Any) -> bool:
    """Whether a value from a file can be a figure: a finite number that is not larger than any counter."""
    return isinstance(value, (int, float)) and abs(value) <= _MAX_NUMBER


def columns(table: Iterable[Figure]) -> tuple[str, ...]:
    """The columns of a table."""
    return tuple(figure.column for figure in table if figure.column)


def cells(table: Iterable[Figure], report: Report) -> list[Any]:
    """The cells below those columns."""
    return [figure.cell(report) for figure in table if figure.column]


def _term(name: str, text: str, label: str, section: str = "") -> Figure:
    return Figure(name, "cycles", text, lambda account: getattr(account, name), "", label, section)


# Of each unit; together they are the cycles of the DLA.
UNIT_FIGURES: tuple[Figure, ...] = (
    _term("work", "it works, by the formulas of MAC, VECTOR and DMA", "work", "mac"),
    _term("fill", "its pipeline fills, once per operation", "pipeline fill", "mac"),
    _term("drain", "its pipeline drains, once per operation", "pipeline drain", "mac"),
    _term("latency", "it waits for its first byte, of a memory or of the SRAM", "latency", "dma"),
    _term("output", "its results are more than the output stage takes", "output stage", "the-output-stage"),
    _term("sram", "the SRAM's ports are too narrow for the operation", "SRAM bandwidth", "sram-ports"),
    _term("contention", "others use the DMA bus or the SRAM's ports too", "contention",
        "operations-that-share"),
    _term("idle_issue", "it is idle while words are being issued", "idle: issue is busy"),
    _term("idle_wait", "it is idle while a WAIT, IRQ or HALT blocks issue",
        "idle: issue waits for another unit"),
    _term("idle_queue", "it is idle while the full queue of another unit blocks issue",
        "idle: another unit's queue is full"),
)  # fmt: skip

LAYER_FIGURES: tuple[Figure, ...] = (
    Figure("name", "text", "what the layer is called", lambda layer: layer.name, "name", "layer"),
    Figure("operator", "text", "its TFLite operator", lambda layer: layer.operator, "operator", "operator"),
    Figure("kind", "text", "the kind that its cycles count as", lambda layer: layer.kind, "kind"),
    Figure("unit", "text", "`dla` or `cpu`", lambda layer: layer.unit, "unit", "unit"),
    Figure("cycles", "cycles",
        "attributed to it: its operation is the oldest that runs, or the CPU works on it; all layers and the "
        "stall add up to the total, less the overlap",
        lambda layer: layer.cycles, "cycles", "cycles", "cycle-accounting"),
    Figure("busy_cycles", "cycles",
        "in which any of its operations computes; layers that overlap both count them, so they may add up to "
        "more than the total",
        lambda layer: layer.busy_cycles, "busy_cycles", "busy", "cycle-accounting"),
    Figure("macs", "MACs", "multiply-accumulates done", lambda layer: layer.macs, "macs", "MACs",
        macs_only=True),
    Figure("utilization", "share", "macs / (PEs · busy_cycles); 0 on the CPU",
        lambda layer: layer.utilization, "utilization", "used", "cycle-accounting", dla_only=True,
        macs_only=True),
    Figure("tiles", "count", "its compute operations", lambda layer: layer.tiles, "tiles", "tiles",
        dla_only=True),
    Figure("dma_bytes.read", "bytes", "read from system memory", lambda layer: layer.read, "dma_read_bytes",
        "read", dla_only=True),
    Figure("dma_bytes.write", "bytes", "written to system memory", lambda layer: layer.written,
        "dma_write_bytes", "written", dla_only=True),
    Figure("energy_nj", "nJ", "of its operations, or of its instructions on the CPU",
        lambda layer: energy_digits(layer.energy_nj), "energy_nj", "energy"),
)  # fmt: skip


def _moved(unit: Unit) -> Callable[[Measured], int]:
    return lambda run: run.moved_bytes(unit)


def energy_digits(nanojoules: float) -> float:
    """Six digits: the constants have two or three."""
    return float(f"{nanojoules:.6g}")


def _part(name: str) -> Callable[[Measured], float]:
    return lambda run: energy_digits(run.energy[name])


def _area(*names: str) -> Callable[[Measured], float]:
    """Of these components together."""
    return lambda run: round(sum(areas(run.config)[name].kge for name in names), 1)


def _area_mm2(name: str) -> Callable[[Measured], float]:
    """Four digits: the constants have two or three."""
    return lambda run: float(f"{run.area_mm2[name]:.4g}")


def _memory(*names: str) -> Callable[[Measured], float]:
    """The size of these memories together."""
    return lambda run: sum(memory_kib(run.config)[name] for name in names)


def _count(unit: str) -> Callable[[Report], int]:
    return lambda report: sum(layer["unit"] == unit for layer in report["layers"])


def _artifact_bytes(run: Measured) -> int:
    return len(run.program.commands) * WORD_BYTES + len(run.program.constants)


def _over_bound(run: Measured) -> float | None:
    least = run.bound.cycles if run.bound else 0
    return round(run.inference.total_cycles / least, 4) if least else None


def _milliseconds(report: Report) -> float:
    microseconds: float = report["cycles"]["total"] / report["config"]["clock_mhz"]
    return round(microseconds / 1000, 6)


def _units(run: Measured) -> dict[str, dict[str, int]]:
    if run.account is None:
        return {}
    return {
        unit.name: values(UNIT_FIGURES, part) for unit, part in zip(UNITS, run.account.units, strict=True)
    }


def _layers(run: Measured) -> list[dict[str, Any]]:
    return [values(LAYER_FIGURES, layer) for layer in run.layers]


RUN_FIGURES: tuple[Figure, ...] = (
    Figure("cycles.total", "cycles", "from the first step to the end of the last: DLA + CPU - overlap",
        lambda run: run.inference.total_cycles, "cycles_total", "total"),
    Figure("", "ms", "cycles.total at the machine's clock", column="milliseconds", derive=_milliseconds,
           is_physical=True),
    Figure("bound_cycles", "cycles",
        "what the most loaded unit needs for compulsory work and traffic; null without section WORK",
        lambda run: run.bound.cycles if run.bound else None, "bound_cycles", "bound", "the-lower-bound"),
    Figure("bound_unit", "text", "that unit; null without work",
        lambda run: run.bound.unit if run.bound else None),
    Figure("bound_ratio", "ratio", "cycles.total / bound_cycles; null without work", _over_bound,
        "bound_ratio", section="the-lower-bound"),
    Figure("cycles.dla", "cycles", "the streams, each from its doorbell to its HALT",
        lambda run: run.dla_cycles, "cycles_dla", "DLA"),
    Figure("cycles.cpu", "cycles",
        "the CPU's work, not its waits; measured with --host riscv, otherwise an estimate",
        lambda run: run.cpu_cycles, "cycles_cpu", "CPU", "the-cpu-without-a-board"),
    Figure("cycles.overlap", "cycles", "those in which CPU and DLA both work",
        lambda run: run.overlap_cycles, "cycles_overlap", "overlap", more_is_better=True),
    Figure("cycles.by_kind", "cycles",
        "an object: for each kind of layer the DLA's cycles in which the oldest running compute operation "
        "is of this kind, including fill and drain",
        lambda run: run.cycles_by_kind, section="cycle-accounting"),
    *(
        Figure(f"cycles.by_kind.{kind}", "cycles", f"those of kind {kind}", None, f"cycles_{kind.lower()}")
        for kind in KINDS
    ),
    Figure("cycles.stall", "cycles", "the other cycles of the DLA: no compute operation runs",
        lambda run: run.dla_cycles - sum(run.cycles_by_kind.values()), "cycles_stall", "stall",
        "cycle-accounting"),
    Figure("cycles.dma", "cycles", "those of the DLA in which a transfer runs", lambda run: run.dma_cycles,
        "cycles_dma"),
    Figure("macs", "MACs", "multiply-accumulates of the DLA", lambda run: run.macs, "macs", "MACs"),
    Figure("utilization", "share", "macs / (PEs · cycles.dla)", lambda run: run.utilization, "utilization",
        "used", "cycle-accounting", more_is_better=True),
    Figure("dma_bytes.read", "bytes", "read from system memory", _moved(Unit.DMA_IN), "dma_read_bytes",
        "read"),
    Figure("dma_bytes.write", "bytes", "written to system memory", _moved(Unit.DMA_OUT), "dma_write_bytes",
        "written"),
    Figure("memories", "object", "`read` and `write`: the bytes of each memory behind the DMA",
        lambda run: run.memory_bytes, section="memories"),
    Figure("sram_peak_bytes", "bytes", "one past the highest byte of SRAM in use",
        lambda run: run.sram_peak_bytes, "sram_peak_bytes", "SRAM"),
    Figure("energy_nj.total", "nJ", "of the inference, by the constants of the machine's technology",
        _part("total"), "energy_nj", "energy", page="cost-model", is_physical=True),
    Figure("energy_nj.uncertainty", "nJ",
        "uncertainty of the total, from the uncertainties of the constants",
        _part("uncertainty"), "energy_uncertainty_nj", page="cost-model", is_physical=True),
    *(
        Figure(f"energy_nj.{name}", "nJ", text, _part(name), f"energy_{name}_nj", page="cost-model",
            is_physical=True)
        for name, text in ENERGY_COMPONENTS.items()
    ),
    Figure("supply_v", "V", "supply at which the technology reaches the clock",
        lambda run: round(run.supply_volts, 3), "supply_v", page="cost-model", is_physical=True),
    Figure("max_clock_hz", "Hz", "what the slowest block of the RTL allows, without wires",
        lambda run: max_clock_hz(run.config), "max_clock_hz", page="rtl", more_is_better=True,
        is_physical=True),
    Figure("area_kge.total", "kGE", "the logic of the DLA, in thousands of NAND2 gates", _area(*COMPONENTS),
        "area_kge", "area", page="area", is_physical=True),
    *(
        Figure(f"area_kge.{name}", "kGE", text, _area(name), f"area_{name}_kge", page="area",
            is_physical=True)
        for name, text in COMPONENTS.items()
    ),
    Figure("area_mm2.total", "mm2",
        "the DLA with its memories, by the constants of the machine's technology",
        _area_mm2("total"), "area_mm2", page="area", is_physical=True),
    Figure("area_mm2.uncertainty", "mm2",
        "uncertainty of the total, from the uncertainties of the constants",
        _area_mm2("uncertainty"), "area_uncertainty_mm2", page="area", is_physical=True),
    *(
        Figure(f"area_mm2.{name}", "mm2", text, _area_mm2(name), f"area_{name}_mm2", page="area",
            is_physical=True)
        for name, text in AREA_PARTS.items()
    ),
    Figure("sram_kib.total", "KiB", "all memories of the DLA", _memory(*MEMORIES), "sram_kib", page="area",
        is_physical=True),
    *(
        Figure(f"sram_kib.{name}", "KiB", text, _memory(name), f"sram_{name}_kib" if name != "sram" else "",
            page="area", is_physical=True)
        for name, text in MEMORIES.items()
    ),
    Figure("memory.arena_peak_bytes", "bytes", "system memory for tensors between steps",
        lambda run: run.program.requirement.arena_bytes, "arena_peak_bytes", "arena"),
    Figure("memory.constants_bytes", "bytes", "weights, records and tables in system memory",
        lambda run: len(run.program.constants), "constants_bytes", "constants"),
    Figure("memory.artifact_bytes", "bytes", "command words and constants", _artifact_bytes,
        "artifact_bytes"),
    Figure("cpu.instructions", "instructions", "of the inference; null without a board", lambda _: None,
        "cpu_instructions"),
    Figure("cpu.estimated", "boolean", "whether cycles.cpu is an estimate", lambda _: True),
    Figure("cpu.setup_instructions", "instructions",
        "before and after the inference; only with --host riscv",
        column="cpu_setup_instructions"),
    Figure("cpu.idle_cycles", "cycles", "in which the CPU sleeps; only with --host riscv",
        column="cpu_idle_cycles", more_is_better=True),
    Figure("memory.stack_peak_bytes", "bytes", "the firmware's stack; only with --host riscv",
        column="stack_peak_bytes"),
    Figure("memory.ram_peak_bytes", "bytes", "the board's RAM in use; only with --host riscv",
        column="ram_peak_bytes"),
    Figure("", "s", "time that emulating the board took on this computer", column="simulation_seconds",
        derive=lambda report: report.get("simulation_seconds")),
    Figure("subgraphs", "count", "parts of the network that run on the DLA without the CPU in between",
        lambda run: len(run.program.streams), "subgraphs"),
    Figure("", "count", "layers on the DLA", column="layers_dla", derive=_count("dla"), more_is_better=True),
    Figure("", "count", "layers on the CPU", column="layers_cpu", derive=_count("cpu")),
    Figure("", "count", "compute operations of all layers", column="tiles",
        derive=lambda report: sum(layer["tiles"] for layer in report["layers"])),
    Figure("layers", "list", "the figures of each layer, in the model's order", _layers),
    Figure("units", "object", "the figures of each unit", _units),
    *(
        Figure(f"units.{unit.name}.{term.name}", term.unit, f"those of {unit.name}", None,
            f"unit_{unit.name.lower()}_{term.name}", missing=0)
        for unit in UNITS
        for term in UNIT_FIGURES
    ),
    Figure("wall_seconds", "s", "what dlasim itself took, by phase", lambda run: dict(run.wall_seconds)),
)  # fmt: skip
