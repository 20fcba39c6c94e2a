"""Named memories: what may be said of them, and what follows for time, energy and the bound."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from dlasim import api
from dlasim.cli import main
from dlasim.errors import InputError
from dlasim.isa.assembly import assemble
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_files import load_file
from dlasim.sim.configuration.parameter_names import read_value
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.timing.plan import plan_stream
from dlasim.sweeps.definition import axes as parameters
from dlasim.sweeps.definition.studyfile import read_study
from tests.sim_timing.jobs import ANSWER

FLASH = {"regions": ["constants"], "bandwidth": 0.4, "latency": 9}


def with_flash(**changes: object) -> DlaConfig:
    return DlaConfig().replace(memories={"flash": FLASH | changes})


def ends(config: DlaConfig, text: str) -> list[int]:
    program = assemble(".program timed\n.stream\n" + text + "HALT\n")
    return plan_stream(config, program.commands, reset_file()).timeline.end.tolist()


def test_a_file_and_parts_describe_the_same_machine(tmp_path):
    path = tmp_path / "machine.toml"
    path.write_text(
        'name = "default"\n[memories.flash]\nregions = "Constants"\nbandwidth = 0.4\nlatency = 9\n'
        'bus = "axi"\n[buses]\naxi = 2\n'
    )
    parts = {"memories.flash.regions": "constants", "memories.flash.bandwidth": "0.4", "buses.axi": 2}
    changed = DlaConfig().replace(**parts, **{"memories.flash.latency": 9, "memories.flash.bus": "axi"})
    assert load_file(path) == changed
    assert DlaConfig().replace(**{name: changed.as_dict()[name] for name in ("memories", "buses")}) == changed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"memories.flash.bandwidth": 1e-4}, "memories.flash.bandwidth must be from 0.001 to 1048576"),
        ({"memories.flash.bandwidth": float("nan")}, "memories.flash.bandwidth must be from 0.001"),
        ({"memories.flash.bandwidth": "fast"}, "memories.flash.bandwidth must be a number (got 'fast')"),
        ({"memories.flash.rate": 1}, "unknown key of memories.flash 'rate'"),
        ({"memories.flash.outstanding": 0}, "memories.flash.outstanding must be from 1 to 255 (got 0)"),
        ({"memories.flash.latency": 1.5}, "memories.flash.latency must be a whole number (got 1.5)"),
        ({"memories.flash.bus": "axi"}, "memories.flash.bus must be system or flash (got 'axi')"),
        ({"memories.flash.regions": "weights"}, "memories.flash.regions: unknown region 'WEIGHTS'"),
        ({"memories.flash.regions": "arena+arena"}, "memories.flash.regions names ARENA twice"),
        ({"memories.rom.regions": "constants"}, "region CONSTANTS is in two memories: flash and rom"),
        ({"memories.rom.latency": 1}, "memories.rom has no regions; set regions"),
        ({"memories.system.latency": 1}, "memories.system is described by the parameters dma_"),
        ({"memories.a b.latency": 1}, "memories: a name has letters, digits, - and _"),
        (
            {"memories.flash.cpu_bandwidth": 0.4},
            "memories.flash.cpu_bandwidth must be less than its bandwidth",
        ),
        ({"memories.flash": 1}, "unknown parameter 'memories.flash'; the form is memories.NAME.KEY"),
        ({"buses.axi.rate": 1}, "unknown parameter 'buses.axi.rate'; the form is buses.NAME"),
        ({"memories": 3}, "memories must be a table (got 3)"),
        ({"memories": "flash"}, "memories must be a table such as {flash = {bandwidth = 1}} (got 'flash')"),
        ({"memories": {"flash": 3}}, "memories.flash must be a table (got 3)"),
        ({"memories": {"flash": 3}, "memories.flash.bandwidth": 1}, "memories.flash must be a table (got 3)"),
        ({"memories": {1: {}}}, "memories: a name has letters, digits, - and _, at most 32 (got 1)"),
        ({"memories": np.array([1, 2])}, "memories must be a table (got array([1, 2]))"),
        ({"memories": None}, "memories must be a table (got None)"),
        ({"buses": {"axi": -1}}, "buses.axi must be from 0.001"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(InputError) as caught:
        with_flash().replace(**changes)
    assert str(caught.value).startswith(message), caught.value
    assert "\n" not in str(caught.value)


def test_rate_latency_and_bursts_are_those_of_the_region():
    """By hand: 9 + 10 / 0.4, with an overhead of 3 for each burst of 4 bytes; elsewhere 64 + 10 / 8."""
    read = "CFG DMA_IN_RUN_BYTES, 10\nCFG DMA_IN_REGION, {}\nOP_DMA_READ\n"
    free = {"issue_cycles": 0, "check_cycles": 0}
    assert ends(with_flash().replace(**free), read.format("CONSTANTS")) == [ANSWER + 9 + 25]
    bursts = with_flash(burst_bytes=4, burst_overhead=3).replace(**free)
    assert ends(bursts, read.format("CONSTANTS")) == [ANSWER + 9 + 25 + 9]
    assert ends(bursts, read.format("ARENA")) == [ANSWER + 64 + 2]
    assert ends(bursts.replace(timing="zero"), read.format("CONSTANTS")) == [0]


def test_the_dma_goes_without_the_cpus_part():
    """1.4 bytes per cycle, of which 1 is the CPU's."""
    read = "CFG DMA_IN_RUN_BYTES, 10\nCFG DMA_IN_REGION, CONSTANTS\nOP_DMA_READ\n"
    shared = with_flash(bandwidth=1.4, cpu_bandwidth=1)
    assert ends(shared.replace(issue_cycles=0, check_cycles=0), read) == [ANSWER + 9 + 25]


def test_a_slow_memory_leaves_the_rest_of_a_shared_bus():
    """A read of 10 bytes at 0.4 and a write at 8, on a bus of 4: the write has 3.6 bytes per cycle."""
    both = "CFG DMA_IN_RUN_BYTES, 40\nCFG DMA_OUT_RUN_BYTES, 288\nCFG DMA_OUT_REGION, OUTPUTS\n"
    both += "OP_DMA_READ\nOP_DMA_WRITE\n"
    shared = with_flash(latency=0).replace(
        dma_shared_bandwidth=4, dma_latency=0, issue_cycles=0, check_cycles=0
    )
    assert ends(shared, both) == [ANSWER + 100, ANSWER + 80]
    alone = shared.replace(**{"memories.flash.bus": "flash"})
    assert ends(alone, both) == [ANSWER + 100, ANSWER + 72]


def report(config: DlaConfig, **changes: object) -> dict:
    return api.run("autoencoder", config, timing_only=True, **changes).report


def test_each_memory_counts_its_bytes_time_and_energy():
    from_flash, plain = report(with_flash()), report(DlaConfig())
    constants = plain["memory"]["constants_bytes"]
    assert plain["memories"] == {"system": plain["dma_bytes"]}
    assert from_flash["memories"]["flash"] == {"read": constants, "write": 0}
    assert from_flash["memories"]["system"]["read"] == plain["dma_bytes"]["read"] - constants
    # 45nm: DRAM 244 pJ per byte, flash 1270.
    others = sum(from_flash["memories"]["system"].values())
    assert from_flash["energy_nj"]["memory"] == pytest.approx(
        (1270 * constants + 244 * others) / 1000, rel=1e-5
    )
    as_sram = report(with_flash(energy="sram"))
    assert as_sram["energy_nj"]["memory"] == pytest.approx((4.6 * constants + 244 * others) / 1000, rel=1e-5)
    with pytest.raises(InputError, match=r"memories.flash.energy must be dram, flash or sram"):
        report(with_flash(energy="core"))


def test_the_bound_knows_the_memory_of_each_byte():
    """Every constant at 0.4 bytes per cycle, and the input at 8; the network reads nothing else. The flash's
    latency comes before; after it, a byte of the output takes a latency of 64 cycles and one more. Both words
    cross the SRAM's ports."""
    from_flash = report(with_flash())
    constants, inputs = from_flash["memory"]["constants_bytes"], 640
    assert from_flash["bound_unit"] == "DMA_IN"
    least = FLASH["latency"] + constants * 10 // 4 + inputs // 8 + 64 + 1 + 2 * ANSWER
    assert from_flash["bound_cycles"] in (least, least + 1)
    assert 1 <= from_flash["bound_ratio"] < 1.02


@pytest.mark.parametrize(
    ("model", "dla_ops", "regions"),
    [
        ("autoencoder", None, {0, 2, 3}),
        ("mnist", "CONV_2D,FULLY_CONNECTED,MAX_POOL_2D", {0, 1, 2}),
        ("mnist", None, {0, 2, 3}),
    ],
)
def test_work_of_transfers_names_their_region(model, dla_ops, regions):
    """Constants and inputs; outputs, or what SOFTMAX on the CPU reads from the arena."""
    work = api.compile(model, dla_ops=dla_ops).program.work
    assert set(work["taps"][work["out_channels"] == 0].tolist()) == regions


def test_slower_flash_is_never_faster():
    cycles = [
        report(with_flash(), **{"memories.flash.bandwidth": rate})["cycles"]["total"] for rate in (8, 2, 0.5)
    ]
    assert cycles == sorted(cycles)


def test_a_sweep_over_a_part_has_its_column(tmp_path):
    found = api.sweep(
        "mnist", out=tmp_path / "s", jobs=1,
        **{"memories.flash.bandwidth": [0.5, 2], "memories.flash.regions": "constants"},
    )  # fmt: skip
    assert found.column("memories.flash.bandwidth") == [0.5, 2]
    slow, fast = found.column("cycles_total")
    flash = {"flash": {"regions": ["constants"], "bandwidth": 2}}
    assert slow > fast == api.run("mnist", timing_only=True, memories=flash).report["cycles"]["total"]


def test_a_memory_without_a_limit_may_be_changed():
    free = with_flash(bandwidth="unlimited")
    assert free.replace(**{"memories.flash.latency": 10}) == with_flash(bandwidth=0, latency=10)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("memories.flash.cpu_bandwidth", "0.5", 0.5),
        ("memories.flash.bandwidth", "unlimited", 0.0),
        ("memories.flash.burst_bytes", "1K", 1024),
        ("memories.flash.latency", "3", 3),
        ("memories.flash.bus", "axi", "axi"),
        ("buses.axi", "1.5", 1.5),
    ],
)
def test_a_flag_and_a_sweep_read_parts_alike(name, text, value):
    in_sweep = parameters.parse(parameters.find(name, "sweep"), text, "sweep")
    assert in_sweep == read_value(name, text) == value
    assert type(in_sweep) is type(value)


def test_a_sweep_refuses_an_unknown_part():
    with pytest.raises(InputError, match=r"sweep: unknown key of memories.flash 'rate'"):
        parameters.find("memories.flash.rate", "sweep")
    with pytest.raises(InputError, match=r"sweep: memories.flash.latency must be a whole number"):
        parameters.parse(parameters.find("memories.flash.latency", "sweep"), "0.5", "sweep")


def test_a_study_gives_both_tables(tmp_path):
    """The memory names a bus that only the other table describes."""
    path = tmp_path / "study.toml"
    path.write_text(
        'models = "mnist"\n[axes]\nmac_fill = [4]\n[fixed.memories.flash]\nregions = ["constants"]\n'
        'bus = "axi"\n[fixed.buses]\naxi = 2\n'
    )
    (point,) = read_study(path).points()
    machine, _ = parameters.resolve(point.values)
    assert machine == DlaConfig().replace(
        memories={"flash": {"regions": ["constants"], "bus": "axi"}}, buses={"axi": 2}
    )


def test_set_on_the_command_line():
    def run(*arguments: str):
        return CliRunner().invoke(main, ["run", "mnist", "--timing-only", *arguments], prog_name="dlasim")

    parts = ["--set", "memories.flash.regions=constants", "--set", "memories.flash.bandwidth=1"]
    assert set(json.loads(run("--json", *parts).stdout)["memories"]) == {"system", "flash"}
    for text, said in (
        ("memories.x=1", "the form is memories.NAME.KEY"),
        ("mac_fill", "--set must be NAME=VALUE (got 'mac_fill')"),
        ("mac_fill=x", "mac_fill must be a whole number (got 'x')"),
        ("mac_file=1", "unknown parameter 'mac_file'; did you mean mac_fill?"),
    ):
        refused = run("--set", text)
        assert refused.exit_code == 2
        assert said in refused.stderr
    assert "pes is given twice" in run("--set", "pes=3", "--pes", "4").stderr
