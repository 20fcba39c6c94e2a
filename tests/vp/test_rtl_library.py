"""What `--dla rtl` refuses, in one line each, before anything is built; and how libraries are kept."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dlasim import api
from dlasim.errors import InputError, RunError
from dlasim.isa.weight_code import CODE_BYTES, STEP_WEIGHTS
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.memory_tables import MAX_MEMORIES, RATE_SCALE
from dlasim.vp.devices.dla_device import RtlFigures
from dlasim.vp.system import rtl_device, rtl_library
from tests.rtl.machines import machine


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"timing": "macs"}, "timing must be full (got macs)"),
        (
            {"sram_bandwidth": 16, "accumulators": "unlimited"},
            "accumulators must be at least 1 where sram_bandwidth, mac_results or mac_weights is limited, or "
            "mac_step_group is not 1 (got unlimited)",
        ),
        (
            {"mac_step_group": 2, "accumulators": "unlimited"},
            "accumulators must be at least 1 where sram_bandwidth, mac_results or mac_weights is limited, or "
            "mac_step_group is not 1 (got unlimited)",
        ),
        (
            {"sram_bandwidth": 144},
            "sram_bandwidth must be unlimited or a power of 2, and not 1 (got 144)",
        ),
        ({"sram_bandwidth": 1}, "sram_bandwidth must be unlimited or a power of 2, and not 1 (got 1)"),
        ({"dma_bandwidth": 0}, "dma_bandwidth must be at least 1 (got 0)"),
        ({"issue_cycles": 0}, "issue_cycles must be at least 1 (got 0)"),
        ({"check_cycles": 15}, "check_cycles must be at least 16 (got 15)"),
        ({"mac_fill": 3}, "mac_fill must be at least 4 (got 3)"),
        ({"vector_drain": 1}, "vector_drain must be at least 8 (got 1)"),
    ],
)
def test_machines_without_rtl(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as caught:
        rtl_library.load(machine("8x8 shared bus").replace(**change))
    assert str(caught.value) == f"--dla rtl: the RTL does not support this machine: {message}"


def test_without_verilator(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RunError, match=r"^--dla rtl: verilator is not installed; install .*apt-get install"):
        rtl_library.load(machine("8x8 shared bus"))


def test_a_verilator_in_the_current_folder_is_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "verilator"
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(RunError, match="verilator is not installed"):
        rtl_library.load(machine("8x8 shared bus"))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("host_options", "message"),
    [
        (
            {"dla": "rtl", "vcd": "waves.txt"},
            "--vcd must name a file that ends in .vcd or .fst (got waves.txt)",
        ),
        (
            {"dla": "rtl", "vcd": "/no/such/waves.vcd"},
            "cannot write /no/such/waves.vcd: there is no folder /no/such",
        ),
        ({"vcd": "waves.vcd"}, "--vcd needs --dla rtl: only the RTL has waveforms"),
        ({"dla": "silicon"}, "dla must be simulator or rtl (got 'silicon')"),
    ],
)
def test_options(host_options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        api.run("mnist", host="riscv", host_options=host_options)
    assert str(caught.value) == message


def test_every_parameter_of_the_rtl_has_a_value() -> None:
    """Those of the top module, but for those that follow from others."""
    text = (Path(rtl_library.__file__).parents[2] / "rtl" / "dla.sv").read_text()
    head = text[text.index("#(") : text.index(") (")]
    names = {line.split("=")[0].split()[-1] for line in head.splitlines() if "parameter" in line}
    derived = {"MEMORY", "PORTS", "DMA_WORDS", "PORT_BYTES", "BEAT_BYTES"}
    assert set(rtl_library.parameters(DlaConfig())) == names - derived


def test_memories_are_packed_as_the_rtl_reads_them() -> None:
    text = (Path(rtl_library.__file__).parents[2] / "rtl" / "dla_memory.sv").read_text()
    fields = re.findall(r"logic \[(\d+):0\] (\w+);", text[: text.index("} memory_t;")])
    assert [(name, int(high) + 1) for high, name in fields] == list(rtl_library.MEMORY_BITS.items())
    numbers = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)[,;]", text)}
    assert numbers["MOST_MEMORIES"] == MAX_MEMORIES + 1
    assert (numbers["REGIONS"], numbers["NUMBER_BITS"]) == (rtl_library.REGIONS, rtl_library.NUMBER_BITS)
    assert numbers["RATE_SCALE"] == RATE_SCALE
    assert (numbers["CODE_BYTES"], numbers["STEP_WEIGHTS"]) == (CODE_BYTES, STEP_WEIGHTS)


# --- the cache of libraries ---


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[bytes]:
    """Every library that is built, without Verilator; the cache is in `tmp_path`."""
    done: list[bytes] = []

    def build(*_: object) -> bytes:
        done.append(b"library %d" % len(done))
        return done[-1]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(rtl_library, "_tool", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(rtl_library, "_run", lambda *_: "Verilator 5")
    monkeypatch.setattr(rtl_library, "_build", build)
    return done


def library() -> bytes:
    return rtl_library._object(machine("8x8 shared bus"), "")


def test_a_library_is_built_once(builds: list[bytes]) -> None:
    assert [library(), library()] == [b"library 0"] * 2
    assert builds == [b"library 0"]


@pytest.mark.parametrize("damage", [lambda old: old[:-1], lambda old: old[:40] + b"?" + old[41:]])
def test_a_damaged_library_is_built_anew(
    damage: Callable[[bytes], bytes], builds: list[bytes], tmp_path: Path
) -> None:
    library()
    (kept,) = (tmp_path / "dlasim").glob("rtl-*.o")
    whole = kept.read_bytes()
    kept.write_bytes(damage(whole))
    assert library() == b"library 1"
    assert len(kept.read_bytes()) == len(whole)


@pytest.mark.parametrize("name", ["write", "lock"])
def test_a_full_cache_disk(name: str, builds: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rtl_library.Cache, name, full)
    assert library() == b"library 0"


def test_without_any_cache(builds: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise RunError("no folder to keep compiled code in")

    monkeypatch.setattr(rtl_library, "open_cache", none)
    assert library() == b"library 0"


def test_a_full_temporary_disk(builds: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rtl_library, "_build", full)
    with pytest.raises(RunError, match=r"^--dla rtl: cannot build the RTL: No space left on device$"):
        library()


# --- streams that last ---


class Stream:
    """In place of the RTL: a stream with a marker in every cycle."""

    def __init__(self, cycles: int) -> None:
        self.left = cycles
        self.calls: list[int] = []

    def dla_running(self, _handle: None) -> bool:
        return self.left > 0

    def dla_run(self, _handle: None, cycles: int, events: Any, most: int, count: Any) -> int:
        self.calls.append(cycles)
        ran = min(cycles, self.left)
        self.left -= ran
        found = [(cycle + 1) << 1 for cycle in range(ran)] + ([ran << 1 | 1] if not self.left else [])
        count._obj.value = min(len(found), most)
        events[: count._obj.value] = found[:most]
        return ran

    def dla_reset(self, _handle: None) -> None:
        self.left = 0

    def reset(self) -> None:
        """Of the simulator beside it."""


def device_with(stream: Stream) -> rtl_device.RtlDevice:
    device = object.__new__(rtl_device.RtlDevice)
    device._library, device._handle = stream, None  # type: ignore[assignment]
    device.dla = stream  # type: ignore[assignment]
    device._events = (ctypes.c_uint64 * 1024)()
    device._cycle, device._started, device._figures = 70, 60, RtlFigures()
    device._lasted = [[], []]
    return device


def test_the_end_of_a_stream_with_many_markers_counts() -> None:
    """A call tells of some events only; in between, Ctrl-C is noticed."""
    stream = Stream(5_000)
    device = device_with(stream)
    device._advance(1_000_000)
    assert device._lasted == [[5_010], []]
    assert max(stream.calls) <= 500


def test_what_a_reset_ends_is_not_compared() -> None:
    """Otherwise the simulator's next stream would be compared with the RTL's last one."""
    device = device_with(Stream(5_000))
    device._advance(1_000_000)
    device.reset()
    device._compare(1, 300)
    assert device._figures.streams == 0
