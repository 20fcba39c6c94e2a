"""Attaching devices: what cannot work is refused in one line; files on the command line."""

from pathlib import Path

import pytest

from dlasim.errors import InputError, RunError
from dlasim.vp.devices.device import Device
from dlasim.vp.devices.memory_map import DeviceRegister
from dlasim.vp.system.board import Board
from dlasim.vp.system.device_loading import attach_devices, parse_spec


class Counter(Device):
    """Reads as one more each time."""

    registers = (DeviceRegister("COUNT", 0, 4, "reads so far"),)

    def __init__(self):
        self.count = 0

    def load(self, offset, size):
        self.count += 1
        return self.count


class NoStore:
    def load(self, offset, size):
        return 0


class Mute(Device):
    """Neither load nor store."""


@pytest.mark.parametrize(
    ("device", "base", "size", "irq", "message"),
    [
        (Counter(), 0x1000_0000, 0x1000, None, "overlaps UART at 0x10000000 to 0x10000fff"),
        (Counter(), 0x0200_8000, 0x1000, None, "overlaps CLINT at 0x02000000 to 0x0200ffff"),
        (Counter(), 0x8000_0000, 0x1000, None, "overlaps RAM at 0x80000000"),
        (Counter(), 0x1FFF_F000, 0x2000, None, "overlaps FLASH at 0x20000000"),
        (Counter(), 0x3000_0004, 0x1000, None, r"address must be a multiple of 0x1000 \(got 0x30000004\)"),
        (Counter(), -4, 0x1000, None, r"address must be a multiple of 0x1000 \(got -0x4\)"),
        (Counter(), 0x3000_0000, 100, None, r"size must be a multiple of 0x1000 \(got 0x64\)"),
        (Counter(), 0x3000_0000, 0, None, "0 bytes at 0x30000000"),
        (Counter(), -0x1000, 0x1000, None, "not within the 32-bit address space"),
        (Counter(), 0xFFFF_F000, 0x2000, None, "not within the 32-bit address space"),
        (Counter(), 0.5, 0x1000, None, r"address must be an integer \(got 0.5\)"),
        (Counter(), 0x3000_0000, 0x1000, 32, r"irq must be a bit of mip, 0 to 31 \(got 32\)"),
        (NoStore(), 0x3000_0000, 0x1000, None, r"NoStore has no method store\(\)"),
        (Counter, 0x3000_0000, 0x1000, None, "Counter is a class; attach an object"),
        (Mute(), 0x3000_0000, 0x1000, None, r"Mute defines neither load\(\) nor store\(\)"),
    ],
)
def test_what_cannot_work_is_refused(device, base, size, irq, message):
    with pytest.raises(InputError, match=message) as caught:
        Board().attach(device, base, size, irq)
    assert len(str(caught.value).splitlines()) == 1


def test_traces_name_registers_of_the_boards_and_the_users(build):
    source = """
    int main(void)
    {
        read32(0x30000000u); read32(0x11000024u); write32(0x1100002cu, 5); read32(0x11000000u);
        read32(0x30000008u); return 0;
    }"""
    from dlasim.sim.configuration.config import DlaConfig
    from dlasim.vp.devices.dla_device import attach_dla

    board, lines = Board(), []
    attach_dla(board, DlaConfig(), None)
    board.attach(Counter(), 0x3000_0000, 0x1000)
    board.load_elf(build(source=source))
    board.run(trace_mmio=lines.append)
    accesses = [line.split(" ", 1)[1] for line in lines]
    assert accesses[:5] == [
        "load32 0x30000000 Counter COUNT -> 0x00000001",
        "load32 0x11000024 DLA STATUS -> 0x00000000 (busy=0 fault=0 refused=0)",
        "store32 0x1100002c DLA IRQ_ENABLE <- 0x00000005 (done=1 marker=0 fault=1)",
        "load32 0x11000000 DLA ID -> 0x31414c44",
        "load32 0x30000008 Counter -> 0x00000002",
    ]


DEVICE = """
from dataclasses import dataclass
from dlasim.vp.devices.device import Device

@dataclass
class Point:
    x: int = 3

class Doubler(Device):
    def __init__(self, board):
        self.board, self.value = board, 0
    def load(self, offset, size):
        return {4: "text", 8: 1 // self.value if self.value else 0}.get(offset, 2 * self.value)
    def store(self, offset, size, value):
        self.value = value // (1 if offset == 0 else 0)

class Bare(Device):
    def load(self, offset, size):
        return Point().x

class Broken(Device):
    def __init__(self):
        raise ValueError("not today")
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "my devices" / "doubler.py"
    path.parent.mkdir()
    path.write_text(DEVICE)
    return str(path)


def test_a_device_from_a_file_with_or_without_the_board(build, file):
    source = """
    int main(void)
    {
        write32(0x30000000u, 21);
        return read32(0x30000000u) + read32(0x40000000u) == 45 ? 0 : 1;
    }"""
    board = Board()
    attach_devices(board, [f"{file}:Doubler@0x30000000,irq=11", f"{file}:Bare@1073741824,size=8192"])
    board.load_elf(build(source=source))
    assert board.run(max_instructions=100_000).exit_code == 0


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("write32(0x30000004u, 1)", r"device Doubler: store\(0x4, 4, 0x1\): ZeroDivisionError"),
        ("read32(0x30000004u)", r"device Doubler: load\(0x4, 4\) returned 'text'; it must return an integer"),
    ],
)
def test_what_a_device_raises_is_one_line(build, file, access, message):
    board = Board()
    attach_devices(board, [f"{file}:Doubler@0x30000000"])
    board.load_elf(build(source=f"int main(void) {{ {access}; return 0; }}"))
    with pytest.raises(RunError, match=message):
        board.run(max_instructions=100_000)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("doubler:Doubler@0x1000", r"--device must be FILE.py:CLASS@ADDRESS"),
        ("FILE:Doubler", "--device must be FILE.py:CLASS@ADDRESS"),
        ("FILE:Doubler@here", "expected a number such as 0x30000000 or 4096, got 'here'"),
        ("FILE:Doubler@0x30000000,speed=3", "unknown setting 'speed'"),
        ("FILE:Dubler@0x30000000", "has no class Dubler; did you mean Doubler"),
        ("FILE:Broken@0x30000000", r"Broken\(\): ValueError: not today"),
        ("FILE:Point@0x30000000", r"Point has no method load\(\)"),
        ("FILE:Doubler@0x10000000", "overlaps UART"),
        ("nowhere.py:Doubler@0x30000000", "nowhere.py"),
    ],
)
def test_a_device_that_cannot_be_had_is_one_line(file, spec, message):
    with pytest.raises(InputError, match=message) as caught:
        attach_devices(Board(), [spec.replace("FILE", file)])
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("text", ["def x(:", "import nothing_of_that_name", "\0", "raise OSError(3, 'x')"])
def test_a_file_that_cannot_be_run_is_one_line(tmp_path, text):
    path = tmp_path / "bad.py"
    path.write_text(text)
    with pytest.raises(InputError, match=r"bad\.py") as caught:
        attach_devices(Board(), [f"{path}:Doubler@0x30000000"])
    assert len(str(caught.value).splitlines()) == 1


def test_nothing_beside_the_file_or_in_the_current_folder_is_imported(tmp_path, monkeypatch):
    (tmp_path / "helper_beside.py").write_text("raise SystemExit('imported')")
    path = tmp_path / "device.py"
    path.write_text("import helper_beside")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="No module named 'helper_beside'"):
        attach_devices(Board(), ["device.py:Doubler@0x30000000"])


def test_the_parts_of_a_spec():
    spec = parse_spec("/a:b/c@d.py:Timer@0x40000000,size=0x2000,irq=7")
    assert (spec.file, spec.class_name, spec.base) == ("/a:b/c@d.py", "Timer", 0x4000_0000)
    assert (spec.size_bytes, spec.irq) == (0x2000, 7)
