"""The kernels that ship as machine code: which CPU gets which, and that they are right."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dlasim.native.host_system import this_cpu
from dlasim.native.levels import LEVELS, Level, this_platform
from dlasim.native.shipped import find_symbol
from dlasim.native.target import describe, host
from dlasim.sim.fast_engine import engine
from dlasim.sim.fast_engine.loader import kernel_unit, kernels_at, runnable_kinds
from dlasim.sim.readable_engine import execute
from tests.sim_engines.generate import COMPUTED, LARGE, SMALL, Scene, random_scene

Bytes = NDArray[np.uint8]
SCALAR = "+cx16,+popcnt,+sahf,+sse3,+ssse3"
SSE4 = f"{SCALAR},+sse4.1,+sse4.2"
HASWELL = f"{SSE4},+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
SKYLAKE = f"{HASWELL},+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
# A CPU of each generation, by what LLVM reports, and the levels that it may run, the best first.
CPUS = {
    "core2": (SCALAR, []),
    "nehalem": (SSE4, ["v2"]),
    "haswell": (HASWELL, ["v3", "v2"]),
    "alderlake": (f"{HASWELL},+avxvnni", ["v3-vnni", "v3", "v2"]),
    "skylake-avx512": (SKYLAKE, ["v4", "v3", "v2"]),
    "icelake-server": (f"{SKYLAKE},+avx512vnni", ["v4-vnni", "v4", "v3", "v2"]),
    "znver5": (f"{SKYLAKE},+avx512vnni,+avxvnni", ["v4-vnni", "v4", "v3-vnni", "v3", "v2"]),
    "sapphirerapids": (
        f"{SKYLAKE},+avx512vnni,+avx512vbmi,+avxvnni,+amx-tile,+amx-int8",
        ["v4-amx", "v4-vnni", "v4", "v3-vnni", "v3", "v2"],
    ),
    "cortex-a53": ("+neon", ["neon"]),
}


@pytest.mark.parametrize("cpu", CPUS)
def test_a_cpu_gets_what_it_can_run(cpu: str) -> None:
    features, expected = CPUS[cpu]
    target = describe(cpu, features, is_x86=cpu != "cortex-a53")
    assert [level.name for level in LEVELS if level.runs_on(target)] == expected


@pytest.fixture(scope="module")
def scenes() -> list[tuple[Scene, Bytes]]:
    """Operations, and what the readable engine leaves in SRAM."""
    rng, found = np.random.default_rng(11), []
    for mnemonic in COMPUTED:
        for limits, count in ((SMALL, 40), (LARGE, 8)):
            for _ in range(count):
                scene = random_scene(rng, mnemonic, limits)
                expected = scene.sram.copy()
                execute(scene.operation, expected)
                found.append((scene, expected))
    return found


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_they_compute_what_the_readable_engine_does(
    level: Level, scenes: list[tuple[Scene, Bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    platform, cpu = this_platform(), this_cpu()
    if platform is None or platform.name != level.platform or cpu is None or not level.runs_on(cpu):
        pytest.skip(f"this computer cannot run {level.name}")
    if level.kind not in runnable_kinds():
        pytest.skip(f"this system does not permit {level.name}")
    address = find_symbol(kernel_unit(level.kind, level))
    assert address is not None
    code = kernels_at(address)
    monkeypatch.setattr(engine, "load_kernels", lambda _: code)
    fast, compiled = engine.Engine(level.kind), 0
    for scene, expected in scenes:
        sram = scene.sram.copy()
        compiled += fast.execute(scene.operation, sram)
        assert np.array_equal(sram, expected), scene.operation
    assert compiled > 20 * len(COMPUTED)


@pytest.mark.skipif(this_cpu() is None, reason="Linux does not tell what this CPU has")
def test_linux_and_llvm_agree_about_this_cpu() -> None:
    cpu, platform = this_cpu(), this_platform()
    assert cpu is not None
    levels = [level for level in LEVELS if platform is not None and level.platform == platform.name]
    features = {name[1:] for level in levels for name in level.features.split(",")}
    assert {name for name in features if cpu.has(name)} == {name for name in features if host().has(name)}
    assert cpu.has_vnni == host().has_vnni
