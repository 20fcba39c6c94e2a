"""What each result of an operation takes to scale: requantizations and divisions, for time and for energy."""

from __future__ import annotations

from collections.abc import Mapping

from dlasim.isa.instruction_rows import Instruction, Out, PoolMode, Unit, adds_tensor
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.formulas import RESULTS_SCALE

SUM_MULTIPLICATIONS = 3  # for a tensor that MAC adds to a result: of both parts, and of their sum
_DIVIDED = (PoolMode.AVERAGE, PoolMode.AVERAGE_UP)


def vector_requantizations(instruction: Instruction) -> int:
    """Of each result of a VECTOR instruction. A sum rescales both inputs and then its output."""
    if instruction.normalizes_rows:  # of int16 also both times that it is brought to the table's scale
        return 3 if instruction.needs_int16 else 1
    return ("OUT_MULT" in instruction.parameters) + 2 * ("IN2_MULT" in instruction.parameters)


def multiplications(instruction: Instruction, fields: Mapping[str, int]) -> int:
    """Of each result, for energy: int32 multiplications; a division counts as one."""
    if instruction.unit is Unit.MAC:
        own = fields.get("out", Out.INT8) == Out.INT8
        return int(own + SUM_MULTIPLICATIONS * adds_tensor(fields))
    if instruction.pools:
        return fields["mode"] != PoolMode.MAX  # a mean is rescaled, an average divided
    return vector_requantizations(instruction)


def mac_result_cycles(config: DlaConfig) -> int:
    """Cycles of RESULTS_SCALE results of the MAC unit."""
    return scaled_cycles(config.mac_results)


def vector_result_cycles(config: DlaConfig, instruction: Instruction, mode: int = PoolMode.MAX) -> int:
    """Cycles of RESULTS_SCALE results of a VECTOR instruction; of a pool in this mode."""
    if not instruction.pools:
        return vector_requantizations(instruction) * scaled_cycles(config.vector_requantizations)
    if mode in _DIVIDED:
        return scaled_cycles(config.vector_divisions)
    return scaled_cycles(config.vector_requantizations) if mode == PoolMode.MEAN else 0


def scaled_cycles(per_cycle: float) -> int:
    """Cycles of RESULTS_SCALE results at a rate, where 0 has no limit."""
    return round(RESULTS_SCALE / per_cycle) if per_cycle else 0
