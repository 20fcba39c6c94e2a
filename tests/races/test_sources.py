"""Races and uninitialised reads of an assembled program name the lines of its text."""

from dlasim.isa.assembly import assemble
from dlasim.isa.container import read, write
from dlasim.sim.races import check_program

_TEXT = """.stream
    CFG DMA_IN_RUN_BYTES, 16
    CFG DMA_IN_REGION, ARENA
    OP_DMA_READ

    CFG OUT_ADDR, 16
    CFG OUT_CHANNELS, 16
    OP_E_ABS
    HALT
.config arena=16
"""


def test_both_accesses_of_a_race_have_their_line() -> None:
    report = check_program(read(write(assemble(_TEXT, "early.s"))))
    (race,) = report.races
    assert (race.earlier.source, race.later.source) == ("early.s:4", "early.s:8")
    assert str(race).endswith("insert `WAIT dma_in, 0` before word 5 (early.s:8)")
    assert "while word 2 (early.s:4) OP_DMA_READ may" in str(race)


def test_without_a_source_there_are_words_alone() -> None:
    (race,) = check_program(assemble(_TEXT)).races
    assert str(race).endswith("before word 5")


def test_uninitialised_reads_have_their_line() -> None:
    text = ".stream\nCFG OUT_ADDR, 16\nOP_E_ABS\nHALT"
    (read_,) = check_program(assemble(text, "none.s")).uninitialised
    assert "word 1 (none.s:3) OP_E_ABS reads IN at 0x0 to 0x0" in str(read_)
