"""Every parser that reads what others wrote, and every door through which a guest reaches the DLA."""

from __future__ import annotations

import contextlib
import io
import re
import socket
import tempfile
import zlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np

from dlasim.compiler_shim import compile as shim
from dlasim.compiler_shim.dlag.dlag_reader import read_graph_model
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.forms.partition import partition
from dlasim.compiler_shim.onnx.onnx_import import read_onnx_model
from dlasim.compiler_shim.options import CompileOptions
from dlasim.compiler_shim.tflite.reader import ReadModel, read_model
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.tosa.tosa_import import read_tosa_model
from dlasim.errors import RunError
from dlasim.inputs import load_npy, noise, save_npy
from dlasim.isa import container
from dlasim.isa.assembly import assemble, disassemble
from dlasim.isa.program import Program
from dlasim.isa.registers import REGISTERS, WINDOW_BYTES
from dlasim.sim.configuration import config, machine_files
from dlasim.sim.execution.executor import make_executor
from dlasim.sim.execution.runner import Inference, Simulation, config_of
from dlasim.sim.races import check_program
from dlasim.sweeps.definition.studyfile import read_study
from dlasim.vp.debugging.gdb import GdbServer
from dlasim.vp.debugging.gdb_link import DisconnectedError, PacketLink
from dlasim.vp.devices.dla_device import attach_dla
from dlasim.vp.programs.elf import parse_elf
from dlasim.vp.riscv.costs import load_costs
from dlasim.vp.system.board import Board
from tests.compiler.networks import random_network
from tests.fuzz import result_files
from tests.fuzz.harness import Target
from tests.fuzz.structure import evil
from tests.sim_machine.bench import HALT, Bench, cfg, op
from tests.tflite.one_operator import BUILDERS, random_graph
from tests.tflite.outside_form import moved_outside
from tests.tflite.streaming_model import SHAPE, ZERO_POINT, streaming_model

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FIRMWARE = ROOT / "firmware" / "prebuilt" / "firmware.elf"
NETWORKS = (
    "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "LOGISTIC",
    "MEAN", "PAD", "RESHAPE", "SOFTMAX", "STRIDED_SLICE", "SVDF", "TRANSPOSE_CONV",
)  # fmt: skip
EMULATOR_BYTES = 2 << 30  # Unicorn's buffer for translated code takes one
GRAPH_HEAD_BYTES = 24
MAX_CYCLES = 200_000  # beyond this, computing is slow and no news
MACHINE = config.DlaConfig(sram_bytes=8192)
MACHINES = (
    MACHINE,
    config.DlaConfig(pes=32, parallel="input", sram_bytes=4096),
    config.DlaConfig(pes=128, parallel="8x16", sram_bytes=65_536),
    machine_files.preset("paper"),
)


def _through_file(suffix: str, read: Callable[[Path], object]) -> Callable[[bytes], None]:
    """A check of something that is read by path."""

    def check(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"input{suffix}"
            path.write_bytes(data)
            read(path)

    return check


# --- models ---


@cache
def _graphs() -> tuple[object, ...]:
    return tuple(random_graph(kind, 0) for kind in NETWORKS)


def _model_seeds() -> Sequence[bytes]:
    streaming = streaming_model(np.full(SHAPE, ZERO_POINT, np.int8))
    models = [write_tflite(graph) for graph in _graphs()]  # type: ignore[arg-type]
    return [*models, *map(moved_outside, models), streaming]


def _graph_seeds() -> Sequence[bytes]:
    return [shim.save_graph(graph) for graph in _graphs()]  # type: ignore[arg-type]


def _check_graph_file(path: Path) -> None:
    data = bytearray(path.read_bytes())
    if len(data) >= GRAPH_HEAD_BYTES:  # so that damage is met behind the checksum too
        data[GRAPH_HEAD_BYTES - 4 : GRAPH_HEAD_BYTES] = zlib.crc32(data[GRAPH_HEAD_BYTES:]).to_bytes(
            4, "little"
        )
    path.write_bytes(data)
    _compile(read_graph_model(path))


def _damaged_onnx(random: Random, seeds: Sequence[bytes]) -> bytes:
    from tests.onnx.onnx_damage import damaged

    return damaged(random, seeds)


def _damaged_tosa(random: Random, seeds: Sequence[bytes]) -> bytes:
    from tests.tosa.tosa_damage import damaged

    return damaged(random, seeds)


def _tosa_seeds() -> Sequence[bytes]:
    from tests.tosa.tosa_damage import seeds

    return seeds()


@cache
def _onnx_seeds() -> Sequence[bytes]:
    from tests.onnx.float_networks import small_networks  # onnx takes a second to import
    from tests.onnx.random_networks import sample

    return [*small_networks(), *sample(24)]


def _compile(model: ReadModel) -> None:
    graph = prepare(model, "model")
    lowered = shim.lower_for(partition(graph), MACHINE, CompileOptions(), with_constants=False)
    Simulation(lowered.program, MACHINE, None).run([])


@cache
def _evil_seeds() -> Sequence[bytes]:
    """Every operator in several forms, and networks of a few operators."""
    graphs = [random_graph(kind, seed) for kind in sorted(BUILDERS) for seed in range(3)]
    graphs += [random_network(seed, 6, most_elements=2000) for seed in range(60)]
    return [write_tflite(graph) for graph in graphs]


def _without_faults(program: Program, machine: config.DlaConfig) -> Inference:
    try:
        return Simulation(program, machine, None).run([])
    except RunError as error:
        raise AssertionError(f"the compiler made a program that faults: {error}") from error


def _check_evil(data: bytes) -> None:
    """All that `dlasim run` does with a model, on a machine that depends on it."""
    random = Random(zlib.crc32(data))
    machine = random.choice(MACHINES)
    options = CompileOptions(fusion=random.choice(("none", "requant", "full")))
    graph = prepare(read_model(data), "model")
    program = shim.lower_for(partition(graph), machine, options).program
    container.read(container.write(program), "model.bin")
    found = check_program(program)
    assert not found.races, f"a race: {found.races[0]}"
    timed = _without_faults(program, machine)
    if timed.total_cycles <= MAX_CYCLES:
        computed = Simulation(program, machine, make_executor("auto")).run(noise(program.inputs, 0))
        assert computed.total_cycles == timed.total_cycles, "computing takes time of its own"


# --- programs ---


def _sources() -> Sequence[bytes]:
    return [file.read_bytes() for file in sorted(EXAMPLES.glob("*.s"))]


def _program_seeds() -> Sequence[bytes]:
    return [container.write(assemble(text.decode())) for text in _sources()]


def _check_container(data: bytes) -> None:
    from tests.isa.mutate import fix_checksum

    image = bytearray(data)
    fix_checksum(image)  # so that damage is met behind the checksum too
    program = container.read(bytes(image), "program.bin")
    again = assemble(disassemble(program), "program.s")
    assert container.write(again) == container.write(program), "text is not the same program"
    check_program(program)
    Simulation(program, config_of(program), None).run([])


def _check_assembly(data: bytes) -> None:
    program = assemble(data.decode("utf-8", "replace"), "input.s")
    container.read(container.write(program), "input.bin")


# --- small files ---


def _npy_seeds() -> Sequence[bytes]:
    types = ("int8", "float32", "int64", ">f8", "bool")
    arrays = [np.arange(6).reshape(2, 3).astype(dtype) for dtype in types]
    seeds = [save_npy(array) for array in arrays]
    for version in ((1, 0), (2, 0), (3, 0)):
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asfortranarray(arrays[0]), version=version)
        seeds.append(buffer.getvalue())
    return seeds


def _config_seeds() -> Sequence[bytes]:
    return [file.read_bytes() for file in sorted((ROOT / "sim" / "configuration" / "presets").glob("*.toml"))]


def _cost_seeds() -> Sequence[bytes]:
    return [file.read_bytes() for file in sorted((ROOT / "vp" / "riscv" / "presets").glob("*.toml"))]


def _study_seeds() -> Sequence[bytes]:
    written = b"""models = ["resnet8", {topology = "mobilenet_v1", alpha = 0.25}]
where = ["pes <= 128 or sram_bytes >= 1MiB", "parallel in ('input', 'output') and not pes * 2 > 64"]
[fixed]
fusion = "none"
[axes]
pes = [32, 64]
sram = {from = "64KiB", to = "1MiB", factor = 2}
parallel = ["input", "output", "8x8"]
[[cases]]
name = "a"
depthwise = "cpu"
[[charts]]
kind = "stacked"
file = "a.svg"
"""
    return [written, *(file.read_bytes() for file in sorted((ROOT / "sweeps" / "studies").glob("*.toml")))]


def _check_study(path: Path) -> None:
    study = read_study(path)
    for _, _point in zip(range(50), study.points(), strict=False):
        pass


def _elf_seeds() -> Sequence[bytes]:
    whole = FIRMWARE.read_bytes()
    return [whole, whole[:4096]]


def _check_elf(data: bytes) -> None:
    firmware = parse_elf(data, "input.elf")
    assert all(len(segment.data) <= segment.size_bytes for segment in firmware.segments)
    for address in (0, firmware.entry, 0xFFFF_FFFF):
        assert firmware.describe(address)
    board = Board()
    attach_dla(board, MACHINE, None)
    board.load(firmware)
    result = board.run(max_instructions=2000, max_cycles=100_000)
    assert result.instructions <= 2000 + 100  # the last block runs to its end


# --- the debugger's connection ---


@cache
def _debugger() -> GdbServer:
    board = Board()
    attach_dla(board, MACHINE, None)
    board.load_elf(FIRMWARE)
    server = GdbServer(board, 0)
    server._listener.close()
    board.cpu.enable_debugging()
    board.limit(100_000, 1_000_000)
    return server


def _frame(packet: bytes) -> bytes:
    return b"$%s#%02x" % (packet, sum(packet) & 0xFF)


def _packet_seeds() -> Sequence[bytes]:
    packets = (
        "?", "g", "G" + "00000000" * 33, "p20", "p382", "P1=00000000", "P381=01000000", "m20000000,10",
        "m11000000,40", "M80000000,4:01020304", "M10000000,1:41", "s", "c", "c20000000", "C05;20000000",
        "vCont?",
        "vCont;s:1", "vCont;C05:1", "Z0,20000000,2", "z1,20000004,4", "Z0,80000000,4", "Z2,80010000,4",
        "Z4,11000000,1000", "z3,80010000,4", "Hg0", "T1", "qSupported:swbreak+", "QStartNoAckMode",
        "qXfer:features:read:target.xml:0,3fb", "qfThreadInfo", "qRcmd,68656c70",
        "qRcmd,646c6120535441545553",
        "X80000000,0:", "D", "k",
    )  # fmt: skip
    return [packet.encode() for packet in packets]


def _conversation_seeds() -> Sequence[bytes]:
    whole = b"+".join(_frame(packet) for packet in _packet_seeds() if packet not in (b"D", b"k"))
    return [whole, whole.replace(b"+", b"\x03-"), _frame(b"k"), _frame(b"D"), b"$?#3f", b"-" + whole]


def _check_packet(data: bytes) -> None:
    """One packet, its frame intact."""
    if b"#" not in data and b"$" not in data:
        _check_conversation(_frame(data))


def _check_conversation(data: bytes) -> None:
    """All that a client may say before it hangs up; each answer is a packet that it would take."""
    if _debugger()._ended is not None:
        _debugger.cache_clear()
    server = _debugger()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        theirs.settimeout(1)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        server._link = PacketLink(ours)
        with contextlib.suppress(DisconnectedError):
            server._converse()
        ours.close()
        answers = b"".join(iter(lambda: theirs.recv(1 << 16), b""))
    rest = re.sub(rb"\$([^#$]*)#[0-9a-f]{2}", b"", answers)
    assert not rest.strip(b"+-"), f"an answer that is no packet: {rest[:80]!r}"
    server._stops.clear()


# --- the DLA itself ---


def _words(data: bytes) -> list[int]:
    return np.frombuffer(data[: len(data) // 8 * 8], "<u8").tolist()


def _stream_seeds() -> Sequence[bytes]:
    streams = [assemble(text.decode()).commands for text in _sources()]
    plain = [
        cfg("IN_CHANNELS", 8), cfg("OUT_CHANNELS", 8), cfg("KERNEL", 3, 3),
        cfg("IN_SIZE", 5, 5), cfg("IN_PIXEL_STRIDE", 8), cfg("IN_ROW_STRIDE", 40),
        cfg("OUT_SIZE", 3, 3), cfg("OUT_PIXEL_STRIDE", 8), cfg("OUT_ROW_STRIDE", 24),
        op("OP_CONV", init=1, out=1, quant=1), op("OP_POOL", mode=0), op("OP_ACT_LUT"), op("OP_E_ADD"),
        op("WAIT", unit=2), HALT,
    ]  # fmt: skip
    streams.append(np.array(plain, "<u8"))
    return [np.asarray(words, "<u8").tobytes() for words in streams]


def _check_stream(data: bytes) -> None:
    words = [*_words(data)[:400], HALT]
    timed = Bench(functional=False)
    timed.run(words)
    if timed.dla.now > MAX_CYCLES:
        return
    computed = Bench()
    computed.run(words)
    assert computed.dla.now == timed.dla.now, "computing takes time of its own"
    assert computed.read("ERROR_CODE") == timed.read("ERROR_CODE"), "computing faults differently"


def _access_seeds() -> Sequence[bytes]:
    """Records of nine bytes: kind, size, two of offset, four of value, one of patience."""
    driver = b""
    for register in REGISTERS:
        driver += bytes([0, 2]) + register.address.to_bytes(2, "little") + b"\x01\0\0\0\0"
        driver += bytes([1, 2]) + register.address.to_bytes(2, "little") + b"\x00\0\0\0\3"
    return [driver, driver[::-1]]


def _check_accesses(data: bytes) -> None:
    bench = Bench()
    bench.place([op("OP_FILL"), cfg("OUT_CHANNELS", 3), op("OP_FILL"), HALT])
    for at in range(0, min(len(data), 3600) - 8, 9):
        kind, size, patience = data[at], 1 << data[at + 1] % 3, data[at + 8]
        offset = int.from_bytes(data[at + 2 : at + 4], "little") % (WINDOW_BYTES + 16)
        value = int.from_bytes(data[at + 4 : at + 8], "little") & ((1 << 8 * size) - 1)
        if kind % 2:
            assert 0 <= bench.dla.load(offset, size) < 1 << 8 * size
        else:
            bench.dla.store(offset, size, value)
        bench.dla.tick(bench.dla.now + patience)
    for _ in range(10_000):
        if (due := bench.dla.next_event()) is None or due > 1 << 40:
            break
        bench.dla.tick(due)
    assert 0 <= bench.read("STATUS") < 1 << 32


TARGETS = {
    target.name: target
    for target in (
        Target("tflite", _model_seeds, lambda data: _compile(read_model(data))),
        Target("evil", _evil_seeds, _check_evil, damage=evil),
        Target("dlag", _graph_seeds, _through_file(".dlag", _check_graph_file)),
        Target(
            "onnx",
            _onnx_seeds,
            _through_file(".onnx", lambda path: _compile(read_onnx_model(path))),
            damage=_damaged_onnx,
        ),
        Target(
            "tosa",
            _tosa_seeds,
            _through_file(".tosa", lambda path: _compile(read_tosa_model(path))),
            damage=_damaged_tosa,
        ),
        Target("container", _program_seeds, _check_container),
        # Up to 20 errors of three lines each, with a line before and one after them.
        Target("assembly", _sources, _check_assembly, is_text=True, lines=62, longest_message=20_000),
        Target("config", _config_seeds, _through_file(".toml", machine_files.load_file), is_text=True),
        Target("study", _study_seeds, _through_file(".toml", _check_study), is_text=True),
        Target("cpu_costs", _cost_seeds, _through_file(".toml", load_costs), is_text=True),
        *result_files.targets(_through_file),
        Target("npy", _npy_seeds, _through_file(".npy", load_npy)),
        Target("elf", _elf_seeds, _check_elf, reserved_bytes=EMULATOR_BYTES),
        Target("gdb", _packet_seeds, _check_packet, is_text=True, reserved_bytes=EMULATOR_BYTES),
        Target("gdb_connection", _conversation_seeds, _check_conversation, reserved_bytes=EMULATOR_BYTES),
        Target("stream", _stream_seeds, _check_stream),
        Target("accesses", _access_seeds, _check_accesses),
    )
}
