"""Operands that share bytes: every engine reads each byte before it writes it."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from dlasim.isa import codec
from dlasim.isa.instruction_rows import INT32_BYTES, Extent
from dlasim.isa.instructions import BY_MNEMONIC
from dlasim.isa.registers import OPERANDS, REGION_COUNT, Region
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.fast_engine import Engine
from dlasim.sim.fast_engine.loader import runnable_kinds
from dlasim.sim.programs.footprint import Box, footprints
from dlasim.sim.programs.operation import Operation, reset_file
from dlasim.sim.readable_engine import execute as execute_reference
from dlasim.sim.timing.plan import plan_stream
from tests.sim_engines import oracle
from tests.sim_engines.generate import COMPUTED, Limits, is_legal, random_scene

# Many operations of one and two pixels: those have kernels of their own.
TINY = Limits(pixels=3, channels=5, kernel=2, sram_bytes=8192)
WIDE = Limits(pixels=2, channels=40, kernel=2, sram_bytes=8192)
SCENES = {TINY: 10, WIDE: 3}  # of each pair of operands


@pytest.fixture(scope="module")
def engines():
    """Each way to execute an operation, by name."""
    return {"reference": execute_reference} | {kind: Engine(kind).execute for kind in runnable_kinds()}


def addresses(box: Box) -> np.ndarray:
    """Every byte of a box, listed."""
    planes = np.arange(box.planes) * box.plane_stride
    runs = np.arange(box.runs) * box.run_stride
    return np.unique(box.address + np.add.outer(np.add.outer(planes, runs), np.arange(box.run_bytes)))


def overlapping(rng, mnemonic: str, pair: tuple[str, str], limits: Limits):
    """A legal operation in which this pair of operands shares a byte, and its SRAM; None for bad luck."""
    scene = random_scene(rng, mnemonic, limits)
    present = {f.operand.register: f for f in footprints(scene.operation)}
    if not set(pair) <= present.keys():
        return None
    fixed, moved = (present[name] for name in pair)
    operation = scene.operation
    if pair[1] == "OUT":  # in place, or moved from a little further
        for register, source in zip(moved.operand.registers, fixed.operand.registers, strict=True):
            operation = moved_to(operation, register, operation.value(source))
        address = fixed.box.address - int(rng.choice([0, rng.integers(0, fixed.box.address + 1)]))
    else:
        low, high = fixed.box.address - (moved.box.end - moved.box.address) + 1, fixed.box.end
        address = int(rng.integers(max(0, low), high))
    address -= address % moved.element_bytes
    operation = moved_to(operation, moved.operand.address_register, address)
    if not is_legal(operation, limits.sram_bytes):
        return None
    boxes = {f.operand.register: f.box for f in footprints(operation)}
    shared = np.intersect1d(*(addresses(boxes[name]) for name in pair))
    return (operation, scene.sram) if len(shared) else None


def moved_to(operation: Operation, register: str, address: int) -> Operation:
    """The same operation with one register changed."""
    file = list(operation.file)
    file[[operand.name for operand in OPERANDS].index(register)] = address
    return replace(operation, file=file)


def pairs_of(mnemonic: str) -> list[tuple[str, str]]:
    """Every two operands of an instruction that may share bytes: two that it reads, or OUT and one of its
    form, with elements of the same size."""
    *inputs, output = BY_MNEMONIC[mnemonic].operands
    names = [operand.register for operand in inputs]
    wide = output.element_bytes == INT32_BYTES or output.int32_when is not None
    upon = [
        (operand.register, output.register)
        for operand in inputs
        if operand.extent is Extent.OUTPUT and (operand.element_bytes == output.element_bytes or wide)
    ]
    return [*itertools.combinations(names, 2), *upon]


CASES = [(mnemonic, pair) for mnemonic in COMPUTED for pair in pairs_of(mnemonic)]


@pytest.mark.parametrize("limits", [TINY, WIDE], ids=["tiny", "wide"])
@pytest.mark.parametrize(
    ("mnemonic", "pair"), CASES, ids=lambda value: "-".join(value) if isinstance(value, tuple) else value
)
def test_what_may_share_bytes_reads_them_before_it_writes(engines, mnemonic, pair, limits):
    rng = np.random.default_rng(sum(mnemonic.encode()) + sum("".join(pair).encode()))
    left = SCENES[limits]
    for _ in range(400 * left):
        scene = overlapping(rng, mnemonic, pair, limits)
        if scene is None:
            continue
        operation, sram = scene
        expected = oracle.execute(operation, sram.tobytes())
        for name, execute in engines.items():
            after = sram.copy()
            execute(operation, after)
            assert after.tobytes() == expected, (name, operation)
        left -= 1
        if not left:
            return
    pytest.fail(f"{left} operations that overlap are missing")


@pytest.mark.parametrize("engine", ["reference", "fast"])
@pytest.mark.parametrize("mnemonic", ["OP_DMA_READ", "OP_DMA_WRITE"])
def test_a_transfer_may_read_a_byte_many_times(engine, mnemonic):
    """Source runs that repeat, interleave or run backwards through each other; bytes copied one by one."""
    rng = np.random.default_rng(7)
    executor = make_executor(engine)
    for _ in range(100):
        values = transfer(rng), transfer(rng, planes_apart=True)
        planes, runs, size = (int(number) for number in rng.integers(1, 5, 3))
        is_read = mnemonic == "OP_DMA_READ"
        prefix = "DMA_IN" if is_read else "DMA_OUT"
        system, inside = values if is_read else values[::-1]
        words = [
            codec.encode_cfg(f"{prefix}_{name}", value)
            for name, value in {
                "REGION": int(Region.OUTPUTS), "PLANES": planes, "RUNS": runs, "RUN_BYTES": size,
                "OFFSET": system[0], "RUN_STRIDE": system[1], "PLANE_STRIDE": system[2],
                "SRAM_ADDR": inside[0], "RUN_SRAM_STRIDE": inside[1], "PLANE_SRAM_STRIDE": inside[2],
            }.items()
        ]  # fmt: skip
        stream = np.array([*words, codec.encode(mnemonic), codec.encode("HALT")], np.uint64)
        plan = plan_stream(DlaConfig(sram_bytes=1024), stream, reset_file())
        assert plan.fault is None
        sram = rng.integers(0, 256, 1024, np.uint8)
        regions = [rng.integers(0, 256, 1024, np.uint8) for _ in range(REGION_COUNT)]
        memories = [bytes(regions[Region.OUTPUTS]), bytearray(sram)]
        if not is_read:
            memories = [bytes(sram), bytearray(regions[Region.OUTPUTS])]
        for plane, run, byte in itertools.product(range(planes), range(runs), range(size)):
            place = [start + plane * far + run * near + byte for start, near, far in values]
            memories[1][place[1]] = memories[0][place[0]]
        executor.run(plan, sram, regions, None, 0)
        assert bytes(sram if is_read else regions[Region.OUTPUTS]) == memories[1]


def transfer(rng, planes_apart: bool = False) -> tuple[int, int, int]:
    """Address, stride of runs and stride of planes; apart from each other, or however they fall."""
    near = int(rng.integers(4, 9)) if planes_apart else int(rng.integers(0, 7))
    return int(rng.integers(0, 64)), near, int(rng.integers(4, 9)) * 8 if planes_apart else near // 2
