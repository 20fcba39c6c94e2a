"""Every WAIT of a compiled program is needed, and none asks for more than it must."""

from dataclasses import replace

import numpy as np
import pytest

from dlasim.compiler_shim.compile import load_model, lower_for
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa import codec
from dlasim.isa.file_records import StepKind
from dlasim.isa.instruction_rows import OPCODE
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.program import Program
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.sizes import KIB
from dlasim.sim.races import check_program
from tests.compiler.cases import lower_case, random_case, run_case, striped_case
from tests.compiler.steps import missing_wait

WAIT = BY_MNEMONIC["WAIT"]
ANY = WAIT.field("max_outstanding").highest  # a wait for this is hardly one
SAMPLE = 40


def waits(program: Program) -> list[int]:
    """The words that are WAITs."""
    return [
        number for number, word in enumerate(program.commands) if OPCODE.extract(int(word)) == WAIT.opcode
    ]


def allowed(program: Program, word: int) -> int:
    """How many operations a WAIT lets be outstanding."""
    return WAIT.field("max_outstanding").extract(int(program.commands[word]))


def has_race(program: Program, word: int, outstanding: int) -> bool:
    """Whether the program has a race once a WAIT lets so many operations be outstanding."""
    unit = WAIT.field("unit").extract(int(program.commands[word]))
    commands = program.commands.copy()
    commands[word] = codec.encode("WAIT", unit=unit, max_outstanding=outstanding)
    return bool(check_program(replace(program, commands=commands), limit=1).races)


def check(program: Program, seed: int, count: int = SAMPLE) -> int:
    """No race as it is, and one without any of a sample of its WAITs, or with a weaker one."""
    assert not check_program(program).races
    every = waits(program)
    chosen = np.random.default_rng(seed).permutation(every)[:count].tolist()
    for word in chosen:
        outstanding = allowed(program, word)
        layer = program.layers[program.layer_of_words()[word]].name
        assert has_race(program, word, ANY), f"WAIT at word {word} ({layer}) is not needed"
        if outstanding < ANY:
            assert has_race(program, word, outstanding + 1), f"WAIT at word {word} ({layer}) is too strict"
    return len(chosen)


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """Built-in networks by name, partitioned once."""
    folder, known = tmp_path_factory.mktemp("networks"), {}

    def get(name):
        if name not in known:
            path = folder / f"{name}.tflite"
            path.write_bytes(write_tflite(build_topology(name)))
            known[name] = load_model(path)
        return known[name]

    return get


@pytest.mark.parametrize(
    ("name", "sram_bytes", "options"),
    [
        ("resnet8", 16 * KIB, {}),
        ("resnet8", 64 * KIB, {"fusion": "none", "tiling": "output-channel"}),
        ("resnet8", 512 * KIB, {"fusion": "requant", "depthwise": "emulated"}),
        ("ds_cnn", 8 * KIB, {}),
        ("ds_cnn", 64 * KIB, {"fusion": "none", "depthwise": "emulated"}),
        ("autoencoder", 2 * KIB, {"place": "dla"}),
        ("mnist", 3 * KIB, {"place": "dla"}),
        pytest.param("mobilenet_v1", 64 * KIB, {}, marks=pytest.mark.slow),
        pytest.param("mobilenet_v2", 64 * KIB, {}, marks=pytest.mark.slow),
        pytest.param("mobilenet_v2", 512 * KIB, {"depthwise": "emulated"}, marks=pytest.mark.slow),
    ],
)
def test_each_wait_of_a_network_is_needed(networks, name, sram_bytes, options):
    config = DlaConfig().replace(sram_bytes=sram_bytes)
    assert check(lower_for(networks(name), config, CompileOptions(**options)).program, 0) > 10


# That these networks are computed right is what test_random_networks.py says of the same seeds.
def test_each_wait_of_random_networks_is_needed(tmp_path):
    tried = sum(check(lower_case(random_case(seed), tmp_path).program, seed, 6) for seed in range(30))
    assert tried > 60


def test_each_wait_of_random_stripes_is_needed(tmp_path):
    tried = 0
    for seed in range(500, 530):
        outcome = run_case(striped_case(seed), tmp_path)
        assert not outcome.failure
        assert outcome.lowered is not None
        tried += check(outcome.lowered.program, seed, 6)
    assert tried > 60


def test_a_host_call_that_does_not_wait_is_found(tmp_path):
    """What the cases above check besides: the streams that a host call waits for."""
    found = 0
    for seed in range(40):
        program = lower_case(random_case(seed), tmp_path).program
        for number, step in enumerate(program.steps):
            if step.kind is StepKind.HOST and step.after_streams:
                steps = list(program.steps)
                steps[number] = replace(step, after_streams=step.after_streams - 1)
                assert missing_wait(replace(program, steps=tuple(steps)))
                found += 1
    assert found > 20
