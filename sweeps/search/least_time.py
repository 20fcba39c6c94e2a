"""What a machine takes at least, known before anything is planned: its time, its area and its memories.

A layer is computed by MAC or by the CPU, which needs a cycle for each multiply-accumulate or more. However
they share the layers, a fraction `part` of MAC's cycles and the rest of the CPU's add up to no more than the
time that either takes. The sum is least where each layer is where it counts less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any

from dlasim.compiler_shim.compile import lower_for
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.compiler_shim.options import CompileOptions
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa.instructions import BY_OPCODE, Unit
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.reports.figures import RUN_FIGURES
from dlasim.sim.reports.measured import Measured
from dlasim.sim.timing.lower_bound import find_bound
from dlasim.sweeps.definition.axes import resolve
from dlasim.sweeps.definition.models import Blueprint, Source

_PARTS = (0.5, 0.8, 0.95, 0.99, 0.999)
_ENOUGH_SRAM = 1 << 24
_MS_PER_SECOND = 1000.0
_OF_MACHINE = [figure for figure in RUN_FIGURES if figure.page == "area" and figure.get is not None]


@dataclass(frozen=True, slots=True)
class _MacLayer:
    """A layer's work of MAC, and how many multiply-accumulates it is."""

    work: Any
    macs: int


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
        milliseconds = {
            model.label: self._cycles(model.label, config, options) / config.clock_mhz / _MS_PER_SECOND
            for model in self._models
        }
        total = sum(model.count * milliseconds[model.label] for model in self._models)
        found |= {"milliseconds": total, "cycles_total": total * config.clock_mhz * _MS_PER_SECOND}
        if any(model.rate for model in self._models):
            busy = sum(model.rate * milliseconds[model.label] for model in self._models)
            found["load"] = busy / _MS_PER_SECOND
        return found

    def _cycles(self, label: str, config: DlaConfig, options: CompileOptions) -> float:
        layers = self._mac_layers(label, config, options)
        cycles = [find_bound(config, layer.work).units.get(Unit.MAC.name, 0) for layer in layers]
        return max(
            sum(min(part * mac, (1 - part) * layer.macs) for mac, layer in zip(cycles, layers, strict=True))
            for part in _PARTS
        )

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
    is_mac = [BY_OPCODE[opcode].unit is Unit.MAC for opcode in work["opcode"].tolist()]
    layers = work["layer"].tolist()
    found = []
    for layer in dict.fromkeys(number for number, mac in zip(layers, is_mac, strict=True) if mac):
        chosen = work[[mac and number == layer for number, mac in zip(layers, is_mac, strict=True)]]
        found.append(_MacLayer(chosen, sum(prod(sizes) for _, _, *sizes in chosen.tolist())))
    return found


def _machine_figures(config: DlaConfig) -> dict[str, Any]:
    nothing_ran: Any = None  # figures of the machine alone need neither a program nor its run
    machine = Measured(nothing_ran, config, nothing_ran, {})
    return {figure.column: figure.get(machine) for figure in _OF_MACHINE if figure.get and figure.column}
