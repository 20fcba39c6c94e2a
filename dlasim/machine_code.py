"""All that is compiled: the routines of the compiler and of timing, the emulator's hooks, and the kernels."""

from __future__ import annotations

from dlasim.compiler_shim.lowering.addresses.allocation import PLACE
from dlasim.compiler_shim.lowering.addresses.tensor_packing import PACK
from dlasim.compiler_shim.lowering.addresses.weight_encoder import ENCODE
from dlasim.compiler_shim.lowering.emission.plan_rows import ROWS
from dlasim.compiler_shim.lowering.emission.streams import EMIT
from dlasim.compiler_shim.lowering.loads.load_schedule import LOADS
from dlasim.compiler_shim.lowering.loads.segment_times import TIMES
from dlasim.compiler_shim.lowering.states import CHOOSE
from dlasim.compiler_shim.lowering.tiles.known_tilings import TILINGS
from dlasim.native.unit import CodeUnit
from dlasim.sim.fast_engine.loader import best_kind, host_unit, level_units
from dlasim.sim.physical.activity import ACTIVITY
from dlasim.sim.programs.legality import LEGALITY
from dlasim.sim.timing.accounting import ACCOUNT
from dlasim.sim.timing.issue import WALK
from dlasim.sim.timing.lower_bound import DIVIDE
from dlasim.sim.timing.read_columns import READ
from dlasim.vp.riscv.block_counters import EXECUTIONS, SUMS
from dlasim.vp.riscv.decode import CLASSES
from dlasim.vp.riscv.native_hooks import HOOKS, hook_unit

ROUTINES = (
    *(TILINGS, CHOOSE, PLACE, PACK, TIMES, LOADS, ROWS, EMIT, ENCODE),
    *(LEGALITY, READ, WALK, DIVIDE, ACTIVITY, ACCOUNT, CLASSES, SUMS, EXECUTIONS),
)


def routine_units() -> list[CodeUnit]:
    """What is compiled for every CPU of a platform alike."""
    return [*(each.unit for each in ROUTINES), *map(hook_unit, HOOKS)]


def shipped_units() -> list[CodeUnit]:
    """All that ships."""
    return [*routine_units(), *level_units()]


def units_here() -> list[CodeUnit]:
    """What this computer can run."""
    return [*routine_units(), host_unit(best_kind())]
