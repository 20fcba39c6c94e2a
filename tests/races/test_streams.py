"""The race checker on streams written by hand."""

import time

import pytest

from dlasim.isa.instruction_rows import Init, Unit
from dlasim.isa.registers import Region
from dlasim.sim.races import Race, RaceReport, check_races
from tests.races.streams import SRAM_BYTES, Writer

OPERATIONS, SECONDS = 8000, 5  # at most, as docs/races.md says


def check(writer: Writer) -> RaceReport:
    return check_races(writer.stream(), SRAM_BYTES)


def only_race(writer: Writer) -> Race:
    (race,) = check(writer).races
    return race


def test_a_stream_without_operations_is_clean() -> None:
    writer = Writer()
    writer.cfg(OUT_CHANNELS=7)
    writer.put("NOP")
    assert check(writer).is_clean
    assert str(check(writer)) == "no race, and no read of SRAM that nothing wrote"


def test_reading_what_a_transfer_still_writes_is_a_race() -> None:
    writer = Writer()
    load = writer.read(0x40, 32)
    use = writer.relu(0x50, 0x80, 1, 32, 0)
    race = only_race(writer)
    assert (race.earlier.word, race.later.word) == (load, use)
    assert (race.earlier.operand, race.later.operand) == ("DMA_IN_SRAM_ADDR", "IN")
    assert (race.earlier.unit, race.later.unit) == (Unit.DMA_IN, Unit.VECTOR)
    assert (race.earlier.first, race.earlier.last) == (0x40, 0x5F)
    assert (race.byte, race.wait) == (0x50, "WAIT dma_in, 0")
    assert str(race) == (
        f"race on byte 0x50 of SRAM: word {use} OP_ACT_RELU reads IN at 0x50 to 0x6f on vector, while word "
        f"{load} OP_DMA_READ may still write DMA_IN_SRAM_ADDR at 0x40 to 0x5f on dma_in; "
        f"insert `WAIT dma_in, 0` before word {use}"
    )


def test_the_right_wait_orders_and_a_wait_on_another_unit_does_not() -> None:
    for unit, races in ((Unit.DMA_IN, 0), (Unit.DMA_OUT, 1), (Unit.MAC, 1), (Unit.VECTOR, 1)):
        writer = Writer()
        writer.read(0x40, 32)
        writer.wait(unit)
        writer.relu(0x40, 0x80, 1, 32, 0)
        assert len(check(writer).races) == races, unit


def test_a_wait_covers_what_is_issued_before_it_only() -> None:
    writer = Writer()
    writer.wait(Unit.DMA_IN)
    writer.read(0x40, 32)
    writer.relu(0x40, 0x80, 1, 32, 0)
    assert only_race(writer).wait == "WAIT dma_in, 0"


def test_a_unit_orders_its_own_operations() -> None:
    writer = Writer()
    writer.fill(0x40, 32)
    writer.relu(0x40, 0x40, 1, 32, 0)
    writer.relu(0x40, 0x80, 1, 32, 0)
    assert check(writer).is_clean


def test_two_reads_of_a_byte_are_no_race() -> None:
    writer = Writer()
    writer.read(0x0, 64)
    writer.wait(Unit.DMA_IN)
    writer.relu(0x0, 0x80, 1, 16, 0)
    writer.matmul(0x0, 0x10, 0x100, 4, 4)
    writer.write(0x0, 64)
    assert check(writer).is_clean


def test_overwriting_what_is_still_read_is_a_race() -> None:
    writer = Writer()
    writer.fill(0x0, 64)
    writer.wait(Unit.VECTOR)
    writer.write(0x0, 32)
    writer.write(0x20, 32, offset=64)
    writer.fill(0x10, 8)
    race = only_race(writer)
    assert race.later.writes
    assert not race.earlier.writes
    assert race.wait == "WAIT dma_out, 1"


def test_outstanding_operations_count_back_from_the_wait() -> None:
    for allowed, races in ((0, 0), (1, 0), (2, 1), (255, 1)):
        writer = Writer()
        for address in (0x40, 0x80, 0xC0):
            writer.read(address, 16)
        writer.wait(Unit.DMA_IN, allowed)
        writer.relu(0x80, 0x100, 1, 16, 0)
        found = check(writer).races
        assert len(found) == races, allowed
        assert all(race.wait == "WAIT dma_in, 1" for race in found)


def test_a_proposed_wait_fits_its_field() -> None:
    writer = Writer()
    writer.read(0x0, 16)
    for _ in range(300):
        writer.put("OP_DMA_READ")
        writer.cfg(DMA_IN_SRAM_ADDR=0x40)
    writer.relu(0x0, 0x100, 1, 16, 0)
    # The 301st transfer is the first to leave byte 0 alone, so 299 may be outstanding; the field ends at 255.
    assert only_race(writer).max_outstanding == 255


def test_irq_waits_for_every_unit() -> None:
    writer = Writer()
    writer.read(0x40, 32)
    writer.fill(0x80, 32)
    writer.put("IRQ")
    writer.matmul(0x40, 0x80, 0x100, 4, 4)
    writer.write(0x40, 64 + 32)
    assert [race.wait for race in check(writer).races] == []


def double_buffer(last_wait: bool) -> Writer:
    writer = Writer()
    for tile in range(4):
        half = 0x40 * (tile % 2)
        if tile == 2 or (tile > 2 and last_wait):
            writer.wait(Unit.MAC, 1)
        writer.read(0x100 + half, 16)
        writer.wait(Unit.DMA_IN)
        if tile >= 2:
            writer.wait(Unit.DMA_OUT, 1)
        writer.cfg(OUT_CHANNELS=4)
        writer.matmul(0x100 + half, 0x108 + half, 0x200 + half, 2, 4)
        writer.wait(Unit.MAC)
        writer.write(0x200 + half, 4, offset=4 * tile)
    return writer


def test_double_buffering_with_all_waits_is_clean() -> None:
    assert check(double_buffer(last_wait=True)).is_clean


def test_double_buffering_is_no_race_where_a_later_wait_covers() -> None:
    # Each tile's output waits for its MAC operation, so the wait before the next load adds nothing.
    assert check(double_buffer(last_wait=False)).is_clean


def test_a_buffer_used_again_too_early_is_a_race() -> None:
    writer = Writer()
    for tile in range(3):
        half = 0x40 * (tile % 2)
        load = writer.read(0x100 + half, 16)
        writer.wait(Unit.DMA_IN)
        writer.matmul(0x100 + half, 0x108 + half, 0x200 + 4 * tile, 2, 4)
    race = only_race(writer)
    assert race.later.word == load
    assert race.wait == "WAIT mac, 1"


def test_interleaved_channel_slices_are_apart_and_a_wider_one_is_not() -> None:
    for width, races in ((8, 0), (9, 1)):
        writer = Writer()
        writer.fill(0x0, 512)
        writer.wait(Unit.VECTOR)
        writer.read(0x0, width, 16, 16)  # channels 0 to 7 of 16 pixels
        writer.relu(0x8, 0x8, 16, 8, 16)  # channels 8 to 15
        found = check(writer).races
        assert len(found) == races
        if found:
            assert found[0].byte == 0x8
            assert "IN at 0x8 to 0xff in 16 runs of 8" in str(found[0])


def test_a_broadcast_operand_covers_one_pixel() -> None:
    for target, races in ((0x0, 1), (0x4, 0)):
        writer = Writer()
        writer.fill(0x0, 512)
        writer.wait(Unit.VECTOR)
        writer.cfg(OUT_SIZE=(4, 4), OUT_CHANNELS=4)
        writer.view("IN", 0x80, 4, 16)
        writer.view("IN2", 0x0, 0, 0)
        writer.view("OUT", 0x100, 4, 16)
        writer.put("OP_E_MUL")
        writer.read(target, 4)
        assert len(check(writer).races) == races, target


def test_operands_that_the_fields_leave_out_are_not_accesses() -> None:
    for init, operands in ((Init.ZERO, []), (Init.BIAS, ["PARAM_ADDR"]), (Init.PARTIAL, ["ACC"])):
        writer = Writer()
        writer.fill(0x0, 512)
        writer.wait(Unit.VECTOR)
        writer.read(0x200, 64)
        writer.cfg(
            IN_SIZE=(2, 2), OUT_SIZE=(2, 2), IN_CHANNELS=1, OUT_CHANNELS=1, WEIGHT_ADDR=0x80, PARAM_ADDR=0x200
        )
        writer.view("IN", 0x0, 1, 2)
        writer.view("OUT", 0x100, 4, 8)
        writer.view("ACC", 0x200, 4, 8)
        writer.put("OP_CONV", init=init, out=1)
        assert [race.later.operand for race in check(writer).races] == operands


def test_system_memory_races_too() -> None:
    for region, offset, wait, races in (
        (Region.ARENA, 0x10, False, 1),
        (Region.ARENA, 0x10, True, 0),
        (Region.ARENA, 0x20, False, 0),
        (Region.OUTPUTS, 0x10, False, 0),
    ):
        writer = Writer()
        writer.fill(0x0, 64)
        writer.wait(Unit.VECTOR)
        store = writer.write(0x0, 32, region=Region.ARENA)
        if wait:
            writer.wait(Unit.DMA_OUT)
        load = writer.read(0x80, 32, region=region, offset=offset)
        found = check(writer).races
        assert len(found) == races
        if found:
            (race,) = found
            assert (race.earlier.word, race.later.word) == (store, load)
            assert (race.earlier.operand, race.later.operand) == ("DMA_OUT_OFFSET", "DMA_IN_OFFSET")
            assert (race.byte, race.wait) == (0x10, "WAIT dma_out, 0")
            assert "of region ARENA" in str(race)


def test_a_cursor_may_be_anywhere_in_its_reach() -> None:
    """The arena has 0x100 bytes, the cursor's region 0xc0: 0x40 bytes may lie before what it writes."""
    sizes = {Region.ARENA: 0x100, Region.CURSOR0: 0xC0, Region.OUTPUTS: 0x100}
    for region, offset, size, races in (
        (Region.ARENA, 0x0F, 1, 0),
        (Region.ARENA, 0x10, 1, 1),
        (Region.ARENA, 0x6F, 1, 1),  # the last byte of 0x20 behind 0x10, 0x40 further
        (Region.ARENA, 0x70, 1, 0),
        (Region.CURSOR0, 0x60, 1, 1),
        (Region.CURSOR1, 0x60, 1, 1),
        (Region.OUTPUTS, 0x10, 1, 0),
    ):
        writer = Writer()
        writer.fill(0x0, 64)
        writer.wait(Unit.VECTOR)
        writer.write(0x0, 0x20, region=Region.CURSOR0, offset=0x10)
        writer.read(0x80, size, region=region, offset=offset)
        found = check_races(writer.stream(), SRAM_BYTES, region_bytes=sizes).races
        assert len(found) == races, (region, offset)
        assert all("of region ARENA" in str(race) for race in found)
        unknown = check(writer).races  # without sizes, anywhere behind
        assert len(unknown) == (region is not Region.OUTPUTS and offset >= 0x10)


def test_an_address_in_sram_is_not_one_in_a_region() -> None:
    writer = Writer()
    writer.fill(0x0, 64)
    writer.read(0x80, 32, region=Region.ARENA)
    assert check(writer).is_clean


def test_one_missing_wait_is_one_race() -> None:
    writer = Writer()
    writer.read(0x0, 32)
    first = writer.matmul(0x0, 0x10, 0x100, 4, 4)
    for i in range(5):
        writer.relu(0x0, 0x200 + 16 * i, 1, 16, 0)
    assert only_race(writer).later.word == first


def test_findings_stop_at_the_limit() -> None:
    writer = Writer()
    for i in range(50):
        writer.read(16 * i, 16)
        writer.relu(16 * i, 16 * i, 1, 16, 0)
    report = check(writer)
    assert len(report.races) == 20
    assert not report.is_complete
    assert str(report).endswith("the checker stopped at its limit")
    stream = writer.stream()
    assert len(check_races(stream, SRAM_BYTES, limit=3).races) == 3
    everything = check_races(stream, SRAM_BYTES, limit=1000)
    assert everything.is_complete
    assert len(everything.races) == 50


def test_reading_sram_that_nothing_wrote_is_reported_once() -> None:
    writer = Writer()
    writer.read(0x40, 30)
    writer.wait(Unit.DMA_IN)
    use = writer.relu(0x40, 0x80, 1, 32, 0)
    writer.wait(Unit.VECTOR)
    writer.write(0x40, 32)
    report = check(writer)
    (read,) = report.uninitialised
    assert report.races == ()
    assert (read.access.word, read.access.operand, read.byte) == (use, "IN", 0x5E)
    assert str(report) == (
        f"uninitialised read of byte 0x5e of SRAM: word {use} OP_ACT_RELU reads IN at 0x40 to 0x5f, "
        "and no operation before it in this inference wrote that byte"
    )


def test_an_operation_does_not_initialise_its_own_input() -> None:
    writer = Writer()
    writer.relu(0x40, 0x40, 1, 32, 0)
    (read,) = check(writer).uninitialised
    assert read.byte == 0x40


def test_slices_together_initialise_a_tensor() -> None:
    writer = Writer()
    writer.read(0x0, 8, 16, 16)
    writer.read(0x8, 8, 16, 16)
    writer.wait(Unit.DMA_IN)
    writer.relu(0x0, 0x200, 16, 16, 16)
    assert check(writer).is_clean
    writer = Writer()
    writer.read(0x0, 8, 16, 16)
    writer.read(0x8, 8, 15, 16)
    writer.wait(Unit.DMA_IN)
    writer.relu(0x0, 0x200, 16, 16, 16)
    assert [read.byte for read in check(writer).uninitialised] == [0xF8]


def test_what_follows_a_fault_is_not_checked() -> None:
    writer = Writer()
    writer.read(0x40, 32)
    writer.read(SRAM_BYTES, 1)
    writer.relu(0x40, 0x80, 1, 32, 0)
    assert check(writer).is_clean


def test_an_illegal_word_ends_the_check_too() -> None:
    writer = Writer()
    writer.read(0x40, 32)
    writer.words.append(0)
    writer.relu(0x40, 0x80, 1, 32, 0)
    assert check(writer).is_clean


@pytest.mark.parametrize("slices", [False, True])
def test_thousands_of_operations_without_a_wait_take_seconds(slices: bool) -> None:
    writer = Writer()
    for i in range(OPERATIONS // 2):
        if slices:
            writer.read(16 * (i % 7), 8, 16 + i % 31, 16)
            writer.cfg(OUT_SIZE=(1, 16 + i % 29), OUT_CHANNELS=8)
            writer.view("OUT", 16 * (i % 5) + 8, 16)
            writer.put("OP_FILL")
        else:
            writer.read(i % 300, 1 + i % 200)
            writer.fill(512 + i % 300, 1 + i % 200)
    stream = writer.stream()
    start = time.perf_counter()
    assert check_races(stream, SRAM_BYTES).is_clean
    assert time.perf_counter() - start < SECONDS
