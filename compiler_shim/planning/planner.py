"""Chooses the program: passes make plans, the simulator's issue stage times them, and the one that costs
least by the objective is kept.

`passes` lists them; `docs/planner.md` explains the search and what it leaves out.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from dlasim.compiler_shim.calls.nodes import PlacedNetwork
from dlasim.compiler_shim.facts import once
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.forms.weight_forms import compress_weights
from dlasim.compiler_shim.lowering.addresses.kept_constants import kept_bytes
from dlasim.compiler_shim.lowering.addresses.sram_plan import SramPlan
from dlasim.compiler_shim.lowering.lower import Lowered
from dlasim.compiler_shim.lowering.tiles.node_kinds import NodeKinds
from dlasim.compiler_shim.network.edges import cut_edges
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.placement import Placements
from dlasim.compiler_shim.planning.candidates import TimedPlan
from dlasim.compiler_shim.planning.objective_passes import PASSES_FOR
from dlasim.compiler_shim.planning.passes import PASSES, QUICK_PASSES, Pass
from dlasim.compiler_shim.planning.plan_maker import PlanMaker, PlanMemory
from dlasim.compiler_shim.planning.plan_search import PlanSearch
from dlasim.errors import InputError
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig

THOROUGH_ZEAL = 3  # times as many plans, of a round that starts from all plans before


def fastest_plan(
    network: UnplacedNetwork,
    config: DlaConfig,
    options: CompileOptions,
    memory: PlanMemory | None = None,
) -> ChosenPlan:
    """The plan for a network on a machine that costs least by the objective, by default the fastest; an
    InputError where no program can be made."""
    maker = PlanMaker(config, options, memory or PlanMemory())
    if options.io == "int8":
        network = cut_edges(network)
    placements = _placements(network, maker)
    room = config.sram_bytes - maker.kept_bytes
    search = PlanSearch(placements, maker, min(room, maker.memory.sufficient_bytes))
    if maker.kept_bytes and not _is_enough(search, search.size):
        raise _refusal(search)
    _search(search, options)
    return ChosenPlan(maker, placements, search.cheapest)


def _search(search: PlanSearch, options: CompileOptions) -> None:
    """Run the passes. A thorough search tries what the others try, so it never loses to them."""
    objective = PASSES_FOR[options.objective]
    _run(search, *(QUICK_PASSES if options.effort == "quick" else PASSES), *objective)
    if options.effort == "thorough":
        quick = search.anew()
        _run(quick, *QUICK_PASSES, *objective)
        search.timed += quick.timed
        search.zeal = THOROUGH_ZEAL
        _run(search, *PASSES, *objective)


def _run(search: PlanSearch, *passes: Pass) -> None:
    for each in passes:
        each.run(search)
        if search.refusal is not None and not search.timed:
            raise search.refusal


class ChosenPlan:
    """The plan that costs least on a machine."""

    def __init__(self, maker: PlanMaker, placements: Placements, timed: TimedPlan) -> None:
        self._maker, self._placements, self._timed = maker, placements, timed

    @property
    def plan(self) -> SramPlan:
        """With one memory, machines with the same object get the same program for different SRAM sizes."""
        return self._timed.plan

    @property
    def sufficient_sram_bytes(self) -> int | None:
        """The SRAM size from which on the program stays the same; None if the machine has less."""
        return self._maker.sufficient_sram_bytes

    def lower(self, with_constants: bool = True) -> Lowered:
        """The program; without constants it serves for timing only."""
        lowered = self._maker.emit(self._timed.candidate, with_constants)
        return replace(lowered, network=self._placements.explained(lowered.network))

    def program(self) -> Program:
        """The program alone, for timing only."""
        return self._maker.emit(self._timed.candidate, with_constants=False).program


def _placements(network: UnplacedNetwork, maker: PlanMaker) -> Placements:
    """The placements of a network; found with the SRAM that suffices, unless the memory has them."""
    memory = maker.memory
    if memory.placements is None:
        memory.node_kinds = _node_kinds(network)
        policy = maker.policy(maker.machine)
        memory.placements = Placements(compress_weights(network, maker.config), policy)
        most_on_dla = memory.placements.most_on_dla()
        memory.sufficient_bytes = _sufficient_bytes(maker, most_on_dla)
        memory.constants_bytes = kept_bytes(most_on_dla)
    return memory.placements


@once
def _node_kinds(network: UnplacedNetwork) -> NodeKinds:
    """The kinds of its nodes, which all machines share."""
    del network
    return NodeKinds()


def _refusal(search: PlanSearch) -> InputError:
    """That weights cannot stay, and how many bytes that takes."""
    kept, machine = search.maker.kept_bytes, search.maker.config
    working = _least_working_bytes(search)
    return InputError(
        f"to keep its weights, the network needs {kept + working} bytes of SRAM, {kept} for weights and "
        f"{working} for everything else, but the machine has {machine.sram_bytes}"
    )


def _least_working_bytes(search: PlanSearch) -> int:
    """The least SRAM besides that of weights in which there is a plan."""
    refused, enough = max(search.size, 0), max(2 * search.size, 64)
    while not _is_enough(search, enough):
        refused, enough = enough, 2 * enough
    while enough - refused > 1:
        size = (refused + enough) // 2
        refused, enough = (refused, size) if _is_enough(search, size) else (size, enough)
    return enough


def _is_enough(search: PlanSearch, size: int) -> bool:
    """Whether there is a plan for this much SRAM with everything on the DLA that can be there."""
    network, maker = search.placements.most_on_dla(), search.maker
    with suppress(InputError):
        maker.plan(maker.kind(network), size)
        return size > 0
    return False


def _sufficient_bytes(maker: PlanMaker, network: PlacedNetwork) -> int:
    """The most SRAM that plans use: a machine with more gets the same program."""
    most = maker.kind(network).planner.sufficient_bytes()
    return 1 << max(most - 1, 0).bit_length()
