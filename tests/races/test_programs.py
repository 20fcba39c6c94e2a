"""The race checker on whole programs."""

from collections.abc import Sequence

import numpy as np

from dlasim.isa.file_records import SPAN, LayerKind, StepKind
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.program import Layer, Program, Requirement, Step, Stream
from dlasim.isa.registers import Region
from dlasim.sim.races import check_program
from tests.races.streams import SRAM_BYTES, Writer


def program(*writers: Writer, order: Sequence[int] | None = None, **more: object) -> Program:
    words = [writer.array() for writer in writers]
    starts = np.cumsum([0, *map(len, words)]).tolist()
    streams = tuple(Stream(starts[i], len(words[i])) for i in range(len(words)))
    steps = [Step(StepKind.STREAM, i) for i in (order or range(len(words)))]
    steps.insert(1, Step(StepKind.HOST, 0, 1))
    return Program(
        name="by hand",
        requirement=Requirement(64, 1, 64, SRAM_BYTES, 256, 256, 256),
        commands=np.concatenate(words),
        streams=streams,
        steps=tuple(steps),
        constants=np.zeros(256, np.uint8),
        **more,  # type: ignore[arg-type]
    )


def load() -> Writer:
    writer = Writer()
    writer.read(0x40, 32)
    return writer


def use(source: int = 0x40) -> Writer:
    writer = Writer()
    writer.relu(source, 0x100, 1, 32, 0)
    return writer


def test_halt_orders_streams_and_sram_lasts() -> None:
    assert check_program(program(load(), use())).is_clean


def test_streams_run_in_the_order_of_the_steps() -> None:
    report = check_program(program(use(), load(), order=(0, 1)))
    assert [read.byte for read in report.uninitialised] == [0x40]
    assert check_program(program(use(), load(), order=(1, 0))).is_clean


def test_registers_carry_over_to_the_next_stream() -> None:
    again = Writer()
    again.put("OP_DMA_READ")  # to 0x40, as the stream before set it up
    again.relu(0x40, 0x100, 1, 32, 0)
    report = check_program(program(load(), again))
    (race,) = report.races
    assert race.earlier.first == 0x40


def test_findings_name_words_of_the_program_and_layers() -> None:
    racy = load()
    racy.relu(0x50, 0x100, 1, 32, 0)
    first, second = use(0x200), racy
    begin = len(first.array())
    spans = np.array([(0, begin, 1), (begin, len(second.words), 0)], SPAN.dtype)
    layers = (Layer("conv_1", "CONV_2D", LayerKind.CONV), Layer("relu_0", "RELU", LayerKind.ACT))
    report = check_program(program(first, second, layers=layers, spans=spans))
    (race,) = report.races
    assert race.later.word == begin + len(second.words) - 1
    assert race.later.layer == race.earlier.layer == "conv_1"
    assert f"word {race.later.word} OP_ACT_RELU of layer conv_1 reads IN" in str(race)
    assert [read.access.layer for read in report.uninitialised] == ["relu_0", "conv_1"]


def test_a_fault_ends_the_check_of_the_program() -> None:
    beyond = load()
    beyond.read(0x40, 32, region=Region.ARENA, offset=250)  # region ARENA has 256 bytes
    beyond.relu(0x40, 0x100, 1, 32, 0)
    assert check_program(program(beyond, use(0x300))).is_clean


def test_the_limit_holds_for_all_streams_together() -> None:
    writers = []
    for stream in range(5):
        writer = Writer()
        for i in range(3):
            writer.read(64 * i, 64)
            writer.wait(Unit.VECTOR)
            writer.fill(64 * i, 16 + stream)
        writers.append(writer)
    report = check_program(program(*writers), limit=1000)
    assert report.is_complete
    assert len(report.races) == 15
    short = check_program(program(*writers), limit=7)
    assert short.races == report.races[:7]
    assert not short.is_complete
