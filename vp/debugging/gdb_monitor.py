"""What `monitor` commands answer: the board's state, in the words of its manual."""

from __future__ import annotations

from collections.abc import Callable

from dlasim.dataclass import dataclass
from dlasim.isa.registers import BY_NAME, REGISTER_BYTES, REGISTERS, Access, Register
from dlasim.vp.devices import memory_map
from dlasim.vp.devices.dla_device import DlaDevice
from dlasim.vp.system.board import Board

_MAX_FUNCTIONS = 15
_LINES = {
    "software": memory_map.MACHINE_SOFTWARE_INTERRUPT,
    "timer": memory_map.MACHINE_TIMER_INTERRUPT,
    "external": memory_map.MACHINE_EXTERNAL_INTERRUPT,
}


@dataclass(frozen=True, slots=True)
class _Command:
    """A command: its usage, its description, and the function that answers it."""

    usage: str
    doc: str
    answer: Callable[[Board, list[str]], str]


def monitor(board: Board, text: str) -> str:
    """The answer to a command as lines of text."""
    name, *arguments = text.split() or ["help"]
    command = _COMMANDS.get(name)
    if command is None:
        return f"unknown command {ascii(name)[1:-1]}; `monitor help` lists all\n"
    if arguments and command.usage == name:
        return f"monitor {name} takes no arguments (got {ascii(' '.join(arguments))[1:-1]})\n"
    return command.answer(board, arguments).rstrip("\n") + "\n"


def _help(_board: Board, _arguments: list[str]) -> str:
    return "\n".join(f"monitor {command.usage:12} {command.doc}" for command in _COMMANDS.values())


def _counts(board: Board, _arguments: list[str]) -> str:
    counts = board.counts
    return (
        f"{counts.instructions:,} instructions, {counts.cycles:,} cycles, "
        f"{board.idle_cycles:,} of them asleep in wfi; CPU {board.config.cpu}"
    )


def _interrupts(board: Board, _arguments: list[str]) -> str:
    pending, enabled = board.bus.pending(), board.cpu.read_csr("mie")
    lines = [
        f"{name:9} bit {bit:2}  {'raised' if pending >> bit & 1 else 'low':6}  "
        f"{'enabled' if enabled >> bit & 1 else 'disabled'} in mie"
        for name, bit in _LINES.items()
    ]
    on = board.cpu.read_csr("mstatus") >> 3 & 1
    return "\n".join([*lines, f"mstatus.MIE is {on}: interrupts are {'taken' if on else 'held back'}"])


def _devices(board: Board, _arguments: list[str]) -> str:
    lines = []
    for attachment in sorted(board.bus.attachments, key=lambda attachment: attachment.base):
        device = attachment.device
        event = device.next_event()
        due = "" if event is None else f"; next event in {max(0, event - board.counts.cycles):,} cycles"
        lines.append(
            f"0x{attachment.base:08x} to 0x{attachment.base + attachment.size_bytes - 1:08x}  "
            f"{type(device).__name__}{due}"
        )
    return "\n".join(lines)


def _dla(board: Board, arguments: list[str]) -> str:
    device = next((a.device for a in board.bus.attachments if isinstance(a.device, DlaDevice)), None)
    if device is None:
        return "this board has no DLA"
    if not arguments:
        shown = [register for register in REGISTERS if register.group == "control"]
    else:
        names = [name.upper() for name in arguments]
        unknown = [name for name in names if name not in BY_NAME]
        if unknown:
            return f"the DLA has no register {ascii(unknown[0])[1:-1]}; `monitor dla` lists them"
        shown = [BY_NAME[name] for name in names]
    readable = [register for register in shown if register.access is not Access.WRITE_ONLY]
    return (
        "\n".join(_register(register, device.load(register.address, REGISTER_BYTES)) for register in readable)
        or "this register is write-only"
    )


def _register(register: Register, value: int) -> str:
    address = memory_map.DLA.base + register.address
    text = f"0x{address:08x}  {register.name:22} 0x{value:08x}"
    if register.is_plain:
        return text
    return f"{text}  " + " ".join(f"{field.name}={field.extract(value)}" for field in register.fields)


def _blocks(board: Board, _arguments: list[str]) -> str:
    blocks = board.counts.recent_blocks()
    return "\n".join(board.firmware.describe(address) for address in blocks) or "nothing has run yet"


def _profile(board: Board, _arguments: list[str]) -> str:
    functions = board.profile()[:_MAX_FUNCTIONS]
    lines = [
        f"{function.cycles:14,} {function.instructions:14,} {function.entries:10,}  {function.name}"
        for function in functions
    ]
    return "\n".join([f"{'cycles':>14} {'instructions':>14} {'entries':>10}  function", *lines])


_COMMANDS = {
    command.usage.split()[0]: command
    for command in (
        _Command("help", "lists these commands", _help),
        _Command("counts", "instructions and cycles since reset", _counts),
        _Command("interrupts", "the interrupt lines, and which are enabled", _interrupts),
        _Command("devices", "the devices, and the next event of each", _devices),
        _Command(
            "dla [NAME]",
            "registers of the accelerator with their fields: all of control, or those named",
            _dla,
        ),
        _Command("blocks", "the last basic blocks that started, oldest first", _blocks),
        _Command("profile", "where the cycles went so far, by function", _profile),
    )
}
