"""The parts that figures are split into: what takes energy, and the kinds of layers."""

from __future__ import annotations

from dlasim.isa.file_records import LayerKind

# What takes energy, and what each part counts.
ENERGY_COMPONENTS = {
    "mac": "multiply-accumulates",
    "requantization": "requantizations and divisions",
    "vector": "steps of the vector lanes",
    "sram": "accesses of the SRAM",
    "buffers": "accesses of line buffers and weight buffer",
    "memory": "bytes that cross the bus of system memory",
    "clock": "clock of the DLA's flip-flops, of a unit while it works",
    "sram_leakage": "leakage of the DLA's memories, from start to end",
    "logic_leakage": "leakage of the DLA's logic, from start to end",
    "cpu": "instructions of the CPU",
}
KINDS = tuple(kind.name for kind in LayerKind if kind is not LayerKind.HOST)
