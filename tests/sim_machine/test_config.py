"""Configurations: from TOML, from presets, and what is refused."""

import dataclasses
from pathlib import Path

import pytest

from dlasim.errors import InputError
from dlasim.sim.configuration import config, machine_files
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.memory_tables import RATE_SCALE
from dlasim.sim.timing.memory_timing import memories_of


def load(tmp_path: Path, text: str | bytes) -> DlaConfig:
    file = tmp_path / "machine.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return machine_files.load_file(file)


def test_a_file_has_what_it_says_and_defaults_otherwise(tmp_path: Path) -> None:
    loaded = load(tmp_path, 'pes = 128\nsram_bytes = "1MiB"\ndma_burst_bytes = "1K"\nclock_mhz = 800\n')
    assert loaded == DlaConfig(
        name="machine", pes=128, sram_bytes=1 << 20, dma_burst_bytes=1024, clock_mhz=800.0
    )


def test_a_grid_brings_its_pes(tmp_path: Path) -> None:
    assert load(tmp_path, 'parallel = "8x16"').pes == 128


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('srm = "1MiB"', r"unknown parameter 'srm'; did you mean sram\?"),
        ("dma_bandwith = 8", r"unknown parameter 'dma_bandwith'; did you mean dma_bandwidth\?"),
        ("zzz = 8", "unknown parameter 'zzz'; known are name, pes"),
        (
            'sram_bytes = "1 MB of it"',
            r"must be a size such as 512KiB, 1M or 65536 \(got '1 MB of it'\)",
        ),
        ('sram_bytes = ""', "must be a size"),
        ("sram_bytes = 1.5", r"sram_bytes must be a whole number \(got 1.5\)"),
        ("sram_bytes = true", r"sram_bytes must be a whole number \(got True\)"),
        ("sram_bytes = [1]", "must be a whole number"),
        ("sram_bytes = 15", r"sram_bytes must be from 16 to 2147483648 \(got 15\)"),
        ('sram_bytes = "4GiB"', "sram_bytes must be from 16"),
        ('pes = "64"', r"pes must be a whole number \(got '64'\)"),
        (
            'parallel = "both"',
            r"parallel must be input, output, or a grid such as 8x16 or 8x8x4 \(got 'both'\)",
        ),
        (
            'parallel = "0x8"',
            r"parallel must be input, output, or a grid such as 8x16 or 8x8x4 \(got '0x8'\)",
        ),
        ("parallel = 8", r"parallel must be text \(got 8\)"),
        ('parallel = "8x8"\npes = 32', "the grid 8x8 has 64 PEs, but pes is 32; give only one"),
        ("clock_mhz = nan", r"clock_mhz must be from 0.001 to 100000 \(got nan\)"),
        ("clock_mhz = inf", r"clock_mhz must be from 0.001 to 100000 \(got inf\)"),
        ('clock_mhz = "fast"', r"clock_mhz must be a number \(got 'fast'\)"),
        ('mac_handover = "rows"', r"mac_handover must be results or blocks \(got 'rows'\)"),
        ('timing = "slow"', r"timing must be full, macs or zero \(got 'slow'\)"),
        ("[machine]\npes = 64", "unknown parameter 'machine'"),
        ("pes = ", "is not valid TOML"),
        ("pes = 64\npes = 65", "is not valid TOML"),
        (b"\xff\xfe", "is not valid TOML"),
        ("x = " + "[" * 5000, "its tables or arrays nest too deeply"),
    ],
)
def test_what_is_wrong_is_one_line_with_the_file(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load(tmp_path, text)
    assert "machine.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"cannot read /nowhere/machine\.toml"):
        machine_files.load_file("/nowhere/machine.toml")


def test_every_preset_loads_and_says_what_it_is() -> None:
    assert {"default", "paper", "nvdla-small", "ethos-u55-128"} <= set(machine_files.preset_names())
    for name in machine_files.preset_names():
        assert machine_files.preset(name).name == name
        assert len(machine_files.preset_summary(name)) > 10


PRESETS = Path(config.__file__).parent / "presets"
COUNTED = {field.name for field in dataclasses.fields(DlaConfig)} - {
    "name",
    "memories",
    "buses",
    "pes",
    "parallel",
    "timing",
    "technology",
}
FREE = ("sram_bandwidth", "line_buffer_bytes", "weight_buffer_bytes", "accumulators", "mac_results",
        "vector_requantizations", "vector_divisions", "dma_bandwidth", "vector_lanes")  # fmt: skip


@pytest.mark.parametrize("name", machine_files.preset_names())
def test_each_number_of_a_preset_has_a_source(name: str) -> None:
    """A preset leaves nothing to defaults; each line says where its value is from, or that it is ours."""
    lines = [line for line in (PRESETS / f"{name}.toml").read_text().splitlines() if not line.startswith("#")]
    stated = [line.split(" = ", 1)[0] for line in lines]
    stated = [name for name in stated if not name.startswith("memories.")]  # few machines have any
    assert set(stated) - {"pes", "parallel"} == COUNTED
    assert "parallel" in stated
    for line in lines:
        assert len(line.partition(" # ")[2]) > 3, line


@pytest.mark.parametrize("name", machine_files.preset_names())
def test_only_the_papers_machine_has_anything_for_nothing(name: str) -> None:
    machine = machine_files.preset(name)
    free = [parameter for parameter in FREE if getattr(machine, parameter) == 0]
    if name == "paper":
        assert free == list(FREE)
        assert "unlimited" in "".join((PRESETS / "paper.toml").read_text().splitlines()[:2])
    else:
        assert not free
        assert machine.dma_latency > 0


def test_a_preset_has_its_constants_in_flash() -> None:
    """That of Vela's Shared_Sram: an eighth of the core's 8 bytes per cycle."""
    machine = machine_files.preset("ethos-u55-128-flash")
    timing = {memory.name: memory for memory in memories_of(machine)}["flash"]
    assert (timing.bandwidth, timing.latency, timing.burst_bytes) == (RATE_SCALE, 64, 128)
    assert machine.replace(memories="", name="ethos-u55-128") == machine_files.preset("ethos-u55-128")


def test_the_vector_unit_of_the_papers_machine_follows_its_pes() -> None:
    paper = machine_files.preset("paper")
    assert (paper.elements, paper.replace(pes=128).elements) == (64, 128)
    assert DlaConfig(pes=128).elements == 16


def test_a_third_number_of_a_grid_is_pixels() -> None:
    machine = DlaConfig().replace(parallel="8x8x4")
    assert (machine.pes, machine.lanes, machine.pixel_tile) == (256, (8, 8), (2, 2))
    assert (machine.depthwise_lanes, machine.label) == (8, "512K 256 8x8x4")
    assert [DlaConfig().replace(parallel=f"1x1x{p}").pixel_tile for p in (1, 2, 6, 7, 9)] == [
        (1, 1), (1, 2), (2, 3), (1, 7), (3, 3),
    ]  # fmt: skip
    assert machine.fingerprint != machine.replace(parallel="8x32").fingerprint


def test_the_default_preset_is_the_default() -> None:
    assert machine_files.preset("default") == DlaConfig()


def test_the_paper_spends_nothing_but_compute() -> None:
    paper = machine_files.preset("paper")
    free = (
        "issue_cycles",
        "check_cycles",
        "mac_fill",
        "mac_drain",
        "vector_fill",
        "vector_drain",
        "dma_latency",
    )
    assert [getattr(paper, name) for name in free] == [0] * len(free)
    assert paper.dma_bandwidth == 0


def test_an_unknown_preset_is_told_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown preset 'papers'; did you mean paper\?"):
        machine_files.preset("papers")


def test_pes_alone_leave_a_mode_and_a_new_mode_leaves_pes() -> None:
    assert DlaConfig().replace(pes=128).lanes == (1, 128)
    assert DlaConfig().replace(parallel="input").lanes == (64, 1)
    assert DlaConfig().replace(parallel="4x8").replace(parallel="input").lanes == (32, 1)


@pytest.mark.parametrize(("parallel", "lanes"), [("input", 64), ("output", 64), ("8x8", 8), ("1x64", 64)])
def test_depthwise_lanes(parallel: str, lanes: int) -> None:
    assert DlaConfig(parallel=parallel).depthwise_lanes == lanes


def test_labels_are_the_papers() -> None:
    assert DlaConfig().label == "512K 64 O"
    assert DlaConfig(sram_bytes=256 << 20, pes=128, parallel="input").label == "256M 128 I"


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        DlaConfig().pes = 1  # type: ignore[misc]
