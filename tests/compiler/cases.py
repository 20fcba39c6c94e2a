"""Random networks on random machines with random options; how one is checked, and how a failure shrinks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.checking.interpreters import MICRO
from dlasim.checking.kernel_faults import known_fault
from dlasim.checking.tensorflow_reference import ReferenceModel
from dlasim.checking.verification import verify
from dlasim.compiler_shim.compile import lower_for
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.lowering.lower import Lowered
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.reader import read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.runner import time_compiled
from dlasim.sim.races import check_program
from dlasim.sim.timing.stream_timer import StreamTimer
from tests.compiler.listed_parts import IN_LITERT_ALONE
from tests.compiler.networks import MAX_ELEMENTS, random_network
from tests.compiler.steps import missing_wait
from tests.tflite.unsigned_form import has_unsigned_form, unsigned_form

PARALLEL = ("output", "output", "input", "8x8", "3x5", "1x7", "16x2", "2x32")
SRAM = (16, 100, 300, 700, 1_000, 1_500, 2_050, 3_333, 5_001, 9_000, 16_384, 40_000, 65_536, 1 << 19, 1 << 20)
PES = (1, 2, 3, 8, 15, 16, 31, 64, 64, 100, 128, 256)
UNSIGNED_STEP = 8  # one network of uint8 among so many


@dataclass(frozen=True)
class Case:
    """One network, machine and choice of options; `seed` stands for the network."""

    seed: int
    operators: int
    most_elements: int = MAX_ELEMENTS
    is_line: bool = False
    is_unsigned: bool = False
    is_mixed: bool = False
    machine: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def simpler(self) -> Iterator[Case]:
        """Cases with one thing less that is out of the ordinary."""
        for operators in (*range(1, self.operators),):
            yield replace(self, operators=operators)
        for name in self.machine:
            if name != "sram_bytes":
                yield replace(self, machine={k: v for k, v in self.machine.items() if k != name})
        for name in self.options:
            yield replace(self, options={k: v for k, v in self.options.items() if k != name})


def random_case(seed: int) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng([seed, 1])

    def choice(*values: Any) -> Any:
        return values[int(rng.integers(len(values)))]

    machine: dict[str, Any] = {"parallel": choice(*PARALLEL), "sram_bytes": choice(*SRAM)}
    if machine["parallel"] in ("input", "output"):
        machine["pes"] = choice(*PES)
    variants = {"queue_depth": (1, 2, 3, 8), "dma_bandwidth": (0, 1, 3, 64), "dma_latency": (0, 1, 500),
                "dma_shared_bandwidth": (4,), "sram_bandwidth": (16,), "vector_lanes": (1, 7, 64),
                "dma_burst_overhead": (3,), "issue_cycles": (0, 9), "timing": ("macs", "zero")}  # fmt: skip
    for name, values in variants.items():
        if rng.random() < 0.25:
            machine[name] = choice(*values)
    options = {
        "fusion": choice("full", "full", "requant", "none"),
        "depthwise": choice(*["native"] * 5, *["emulated"] * 4, "cpu"),
        "tiling": choice("auto", "auto", "auto", "output-channel"),
        "place": choice(*["dla"] * 12, *["auto"] * 6, "cpu"),
    }
    if rng.random() < 0.1:
        options["dla_ops"] = frozenset(
            choice(("CONV_2D", "ADD"), ("DEPTHWISE_CONV_2D",), ("CONV_2D", "MEAN"))
        )
    if np.random.default_rng([seed, 3]).random() < 0.15:
        options["requant"] = "cpu"
    # A tile for each element takes long.
    most = MAX_ELEMENTS if machine["sram_bytes"] >= 1_000 else 400
    case = Case(seed, int(rng.integers(1, 13)), most, machine=machine, options=options)
    if seed % UNSIGNED_STEP or not has_unsigned_form(random_network(seed, case.operators, most)):
        return case
    return replace(case, is_unsigned=True)


def striped_case(seed: int) -> Case:
    """A line of operators on images that do not fit: what lowering cuts into stripes."""
    rng = np.random.default_rng([seed, 2])
    machine = {"sram_bytes": int(rng.integers(1_500, 30_000)), "pes": int(rng.choice([8, 64]))}
    depthwise = str(rng.choice(["native", "native", "emulated"]))
    options = {"place": "dla", "depthwise": depthwise}
    return Case(seed, int(rng.integers(3, 9)), is_line=True, machine=machine, options=options)


def mixed_case(seed: int) -> Case:
    """The case of a seed with a network that has operators beyond those of CNNs."""
    return replace(random_case(seed), is_unsigned=False, is_mixed=True)


@dataclass
class Outcome:
    """What became of a case; without a failure, figures of the program."""

    failure: str = ""
    lowered: Lowered | None = None
    config: DlaConfig | None = None
    elements: int = 0


def write_model(case: Case, folder: Path) -> Path:
    """The network as a file."""
    graph = random_network(case.seed, case.operators, case.most_elements, case.is_line, case.is_mixed)
    if case.is_unsigned:
        graph = unsigned_form(graph, case.seed)
    path = folder / f"network_{case.seed}_{case.operators}.tflite"
    path.write_bytes(write_tflite(graph))
    return path


def lower_case(case: Case, folder: Path) -> Lowered:
    """The case lowered, with as much SRAM as it needs; nothing is verified."""
    path = write_model(case, folder)
    network = partition(prepare(read_model(path), path.name))
    config, options = DlaConfig().replace(**case.machine), CompileOptions(**case.options)
    return lower_with_enough(network, config, options)[0]


def run_case(case: Case, folder: Path) -> Outcome:
    """Lower and verify; anything but equality everywhere, or an honest refusal first, is a failure."""
    path = None
    try:
        path = write_model(case, folder)
        network = partition(prepare(read_model(path), path.name))
        config = DlaConfig().replace(**case.machine)
        lowered, config = lower_with_enough(network, config, CompileOptions(**case.options))
        races = check_program(lowered.program)
        if races.races or races.uninitialised:
            found = [*races.races, *races.uninitialised]
            return Outcome(f"{len(found)} from the race checker: {found[0]}")
        unordered = missing_wait(lowered.program)
        if unordered:
            return Outcome(unordered)
        reference = ReferenceModel(path.read_bytes(), lowered.network.tensor_count, isolated=False)
        result = verify(path, lowered, config, runs=1, seed=case.seed, reference=reference)
    except Exception as error:  # whatever it is, the case has to be reported and shrunk
        return Outcome(f"{type(error).__name__}: {error}")
    finally:
        if path is not None:
            path.unlink()
    if result.mismatch is not None:
        return Outcome(str(result.mismatch))
    if result.reference != "TFLite Micro" and not _mixes_references(case):
        return Outcome(f"compared with {result.reference}")
    if result.uncompared:
        return Outcome(f"not compared: {result.uncompared}")
    return Outcome("", lowered, config, result.elements)


def _mixes_references(case: Case) -> bool:
    """Whether TFLite Micro lacks an operator, in uint8 for one, or is wrong, so that LiteRT computes that."""
    graph = random_network(case.seed, case.operators, case.most_elements, case.is_line, case.is_mixed)
    return case.is_unsigned or any(
        operator.kind in IN_LITERT_ALONE or known_fault(MICRO, graph, operator)
        for operator in graph.operators
    )


def lower_with_enough(network: Any, config: DlaConfig, options: CompileOptions) -> tuple[Lowered, DlaConfig]:
    """Lower; where SRAM does not suffice, with as much as the refusal asks for, to the byte."""
    for _ in range(30):
        try:
            return lower_for(network, config, options), config
        except InputError as error:
            words = str(error).split()
            needed = int(words[words.index("needs") + 1])
        if needed <= config.sram_bytes:
            raise AssertionError(f"asked for {needed} bytes, and there were {config.sram_bytes}")
        with_less = config.replace(sram_bytes=max(needed - 1, config.sram_bytes))
        _expect_refusal(network, with_less, options)
        config = config.replace(sram_bytes=needed)
    raise AssertionError("refused again and again")


def _expect_refusal(network: Any, config: DlaConfig, options: CompileOptions) -> None:
    try:
        lower_for(network, config, options)
    except InputError:
        return
    raise AssertionError(f"{config.sram_bytes} bytes suffice, though more were asked for")


def shrink(case: Case, folder: Path) -> Case:
    """A simpler case that fails too."""
    found = True
    while found:
        found = False
        for simpler in case.simpler():
            if run_case(simpler, folder).failure:
                case, found = simpler, True
                break
    return case


def program_cycles(program: Program, config: DlaConfig) -> int:
    """Those of an inference after a preload, as a sweep times it."""
    return time_compiled(program, config, StreamTimer(config)).total_cycles
