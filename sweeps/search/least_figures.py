"""What a machine takes at least, known before anything is planned: time, energy, area and memories.

A layer is computed by MAC or by the CPU, which needs a cycle for each multiply-accumulate or more. However
they share the layers, a fraction `part` of MAC's cycles and the rest of the CPU's add up to no more than the
time that either takes. The sum is least where each layer is where it counts less. Its energy is at least that
of the cheaper place, and what leaks in the least time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from dlasim.compiler_shim.compile import lower_for
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.options import CompileOptions
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import BY_MNEMONIC, BY_OPCODE
from dlasim.isa.registers import Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.physical.energy import EnergyModel
from dlasim.sim.physical.technology import technology
from dlasim.sim.reports.figures import RUN_FIGURES
from dlasim.sim.reports.measured import Measured
from dlasim.sim.timing.lower_bound import find_bound
from dlasim.sweeps.definition.axes import resolve
from dlasim.sweeps.definition.models import Blueprint, Source
from dlasim.sweeps.definition.workload import MW_PER_NJ_PER_SECOND

# Of the work that counts as MAC's in a bound: each part gives a bound, and the greatest counts.
_PARTS = (0.5, 0.8, 0.95, 0.99, 0.999)
_ENOUGH_SRAM = 1 << 24  # bytes in which tiles are cut by the machine alone
_MS_PER_SECOND = 1000.0
_READ = BY_MNEMONIC["OP_DMA_READ"].opcode
_OF_MACHINE = [figure for figure in RUN_FIGURES if figure.page == "area" and figure.get is not None]


@dataclass(frozen=True, slots=True)
class _MacLayer:
    """A layer's work of MAC, how many multiply-accumulates it is, and the constants that it reads."""

    work: Any
    macs: int
    constant_bytes: int


@dataclass(frozen=True, slots=True)
class _LeastRun:
    """What an inference takes at least."""

    cycles: float
    energy_nj: float


class LeastFigures:
    """What the figures of machines are at least, for some networks."""

    def __init__(self, models: Sequence[Source], blueprints: Mapping[str, Blueprint]) -> None:
        self._models = models
        self._networks = {name: blueprint.restore() for name, blueprint in blueprints.items()}
        self._layers: dict[tuple[str, CompileOptions], list[_MacLayer]] = {}

    def of(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The least figures of a machine by column; those that are not known are missing."""
        config, options = resolve(values)
        found: dict[str, Any] = {**values, **_machine_figures(config)}
        if values["host"] != "none" or config.timing != "full":
            return found
        least = {model.label: self._least(model.label, config, options) for model in self._models}
        total = sum(model.count * least[model.label].cycles for model in self._models)
        energy = sum(model.count * least[model.label].energy_nj for model in self._models)
        found |= {"cycles_total": total, "milliseconds": _milliseconds(total, config), "energy_nj": energy}
        if any(model.rate for model in self._models):
            busy = sum(model.rate * least[model.label].cycles for model in self._models)
            power = sum(model.rate * least[model.label].energy_nj for model in self._models)
            found["load"] = _milliseconds(busy, config) / _MS_PER_SECOND
            found["power_mw"] = power * MW_PER_NJ_PER_SECOND
        return found

    def _least(self, label: str, config: DlaConfig, options: CompileOptions) -> _LeastRun:
        layers = self._mac_layers(label, config, options)
        cycles = [find_bound(config, layer.work).units.get(Unit.MAC.name, 0) for layer in layers]
        pairs = list(zip(cycles, layers, strict=True))
        model = EnergyModel(technology(config.technology), config)
        on_mac = [model.least_mac_nj(layer.macs, mac, layer.constant_bytes) for mac, layer in pairs]
        if options.place == "dla":
            total, computed = float(sum(cycles)), sum(on_mac)
        else:
            total = max(
                sum(min(part * mac, (1 - part) * layer.macs) for mac, layer in pairs) for part in _PARTS
            )
            on_cpu = [model.instructions_nj(layer.macs) for layer in layers]
            computed = sum(map(min, on_mac, on_cpu))
        leaked = model.leaked_nj(model.memory_leakage_mw() + model.logic_leakage_mw(), total)
        return _LeastRun(total, leaked + computed)

    def _mac_layers(self, label: str, config: DlaConfig, options: CompileOptions) -> list[_MacLayer]:
        """The work of a network with these options; planned once, for a machine with room."""
        key = label, options
        if key not in self._layers:
            self._layers[key] = []
            with suppress(InputError):  # it does not run with these options: the points will say why
                self._layers[key] = _layers_of(self._networks[label], config, options)
        return self._layers[key]


def _layers_of(network: UnplacedNetwork, config: DlaConfig, options: CompileOptions) -> list[_MacLayer]:
    roomy = config.replace(sram_bytes=max(config.sram_bytes, _ENOUGH_SRAM))
    work = lower_for(network, roomy, replace(options, place="dla"), with_constants=False).program.work
    is_mac = np.array([BY_OPCODE[opcode].unit is Unit.MAC for opcode in work["opcode"].tolist()], bool)
    is_constant = (work["opcode"] == _READ) & (work["taps"] == Region.CONSTANTS)
    found = []
    for layer in dict.fromkeys(work["layer"][is_mac].tolist()):
        chosen = work[is_mac & (work["layer"] == layer)]
        constants = work["count"][is_constant & (work["layer"] == layer)].sum()
        found.append(_MacLayer(chosen, sum(prod(sizes) for _, _, *sizes in chosen.tolist()), int(constants)))
    return found


def _milliseconds(cycles: float, config: DlaConfig) -> float:
    return cycles / config.clock_mhz / _MS_PER_SECOND


def _machine_figures(config: DlaConfig) -> dict[str, Any]:
    nothing_ran: Any = None  # figures of the machine alone need neither a program nor its run
    machine = Measured(nothing_ran, config, nothing_ran, {})
    return {figure.column: figure.get(machine) for figure in _OF_MACHINE if figure.get and figure.column}
