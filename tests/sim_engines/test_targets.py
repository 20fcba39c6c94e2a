"""Kernels as other CPUs get them, run here: each build in a process of its own, told that it is elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

ROOT = Path(__file__).parents[2]
_BASELINE = "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt"
_AVX2 = f"{_BASELINE},+avx,+avx2,+fma,+bmi,+bmi2,+f16c,+lzcnt,+movbe"
# CPU, features, pixels, vectors, is_x86, kind. The last one stands for machines without x86 instructions.
TARGETS = {
    "avx-vnni": ("alderlake", f"{_AVX2},+avxvnni", 6, 1, True, "vnni"),
    "avx2": ("haswell", _AVX2, 6, 1, True, "portable"),
    "sse4": ("nehalem", _BASELINE, 2, 1, True, "portable"),
    "no-x86": ("nehalem", _BASELINE, 4, 1, False, "portable"),
}
_PROGRAM = """
import numpy as np
from dlasim.native import build, library, target
*description, kind = {target!r}
elsewhere = target.Target(*description)
target.host = lambda: elsewhere
from dlasim.sim.fast_engine import engine, loader
unit = loader.kernel_unit(kind)
address = library._loaded(build.build_object(unit), unit.symbol)
code = loader.kernels_at(address)
engine.load_kernels = lambda kind: code
from dlasim.sim.readable_engine import execute
from tests.sim_engines.generate import COMPUTED, LARGE, SMALL, random_scene
kernels, rng = engine.Engine(kind), np.random.default_rng(7)
for mnemonic in COMPUTED:
    for limits, count in ((SMALL, 60), (LARGE, 12)):
        for _ in range(count):
            scene = random_scene(rng, mnemonic, limits)
            expected = scene.sram.copy()
            execute(scene.operation, expected)
            kernels.execute(scene.operation, scene.sram)
            assert np.array_equal(scene.sram, expected), scene.operation
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_kernels_of_another_cpu(name):
    here = llvm.get_host_cpu_features()
    needed = [feature.removeprefix("+") for feature in TARGETS[name][1].split(",")]
    missing = [feature for feature in needed if not here.get(feature)]
    if missing:
        pytest.skip(f"this CPU cannot run it: no {missing[0]}")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    program = _PROGRAM.format(target=TARGETS[name])
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
