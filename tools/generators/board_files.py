"""The linker script and C headers, from the memory map, the devices' registers and the launch block."""

from __future__ import annotations

from collections.abc import Iterator

from dlasim.vp.devices import clint, exit_device, memory_map, uart
from dlasim.vp.devices.memory_map import AddressRange, DeviceRegister, MemoryMap
from dlasim.vp.programs import launch
from generators.written import prose

_NOTICE = "Generated from dlasim/vp/devices/memory_map.py; edit that, not this."
_REGISTERS: dict[str, tuple[DeviceRegister, ...]] = {
    "EXIT": exit_device.REGISTERS,
    "CLINT": clint.REGISTERS,
    "UART": uart.REGISTERS,
}
_INTERRUPTS = {
    "SOFTWARE": memory_map.MACHINE_SOFTWARE_INTERRUPT,
    "TIMER": memory_map.MACHINE_TIMER_INTERRUPT,
    "EXTERNAL": memory_map.MACHINE_EXTERNAL_INTERRUPT,
}


def c_header(board: MemoryMap | None = None) -> str:
    """The header `dlasim_board.h`: bases, sizes, registers, interrupt numbers."""
    board = board or MemoryMap()
    lines = [
        f"/* The board's memory map. {_NOTICE} */",
        "#ifndef DLASIM_BOARD_H",
        "#define DLASIM_BOARD_H",
        "",
    ]
    for region in (board.flash, board.program, board.ram, *memory_map.DEVICES):
        lines += _region_lines(region)
    lines += ["/* Values for the exit device's STATUS. */"]
    lines += [f"#define DLASIM_EXIT_PASS 0x{exit_device.EXIT_PASS:04x}u"]
    lines += [f"#define DLASIM_EXIT_FAIL 0x{exit_device.EXIT_FAIL:04x}u /* | code << 16 */", ""]
    lines += ["/* Bits of the UART's LINE_STATUS. */"]
    lines += [f"#define DLASIM_UART_RECEIVED 0x{uart.RECEIVED:02x}u"]
    lines += [f"#define DLASIM_UART_READY_TO_SEND 0x{uart.READY_TO_SEND:02x}u", ""]
    lines += ["/* Bit numbers in mip and mie, cause codes in mcause. The DLA drives the external one. */"]
    lines += [f"#define DLASIM_INTERRUPT_{name} {bit}" for name, bit in _INTERRUPTS.items()]
    return "\n".join([*lines, "", "#endif", ""])


def _region_lines(region: AddressRange) -> Iterator[str]:
    prefix = f"DLASIM_{region.name}"
    yield f"/* {region.name}: {region.doc}. */"
    yield f"#define {prefix}_BASE 0x{region.base:08x}u"
    yield f"#define {prefix}_BYTES 0x{region.size_bytes:08x}u"
    for register in _REGISTERS.get(region.name, ()):
        yield f"/* {8 * register.size_bytes} bits, {register.doc}. */"
        yield f"#define {prefix}_{register.name} (DLASIM_{region.name}_BASE + 0x{register.offset:04x}u)"
    yield ""


def linker_script(board: MemoryMap | None = None) -> str:
    """The script `board.ld`: code and constants in flash, stack at the bottom of RAM, data above it."""
    board = board or MemoryMap()
    return prose("board.ld").format(
        notice=_NOTICE,
        flash_base=board.flash.base,
        firmware_bytes=memory_map.FIRMWARE_SLOT_BYTES,
        program_base=board.program.base,
        program_bytes=board.program.size_bytes,
        ram_base=board.ram.base,
        ram_bytes=board.ram.size_bytes,
    )


def launch_header() -> str:
    """The header `dlasim_launch.h`."""
    members, carried = (
        [f"    uint32_t {name}; /* {doc} */" for name, doc in each]
        for each in (launch.MEMBERS, launch.CARRIED_MEMBERS)
    )
    return "\n".join(
        [
            "/* What the loader tells the firmware. Generated from vp/programs/launch.py; edit that. */",
            "#ifndef DLASIM_LAUNCH_H",
            "#define DLASIM_LAUNCH_H",
            "",
            "#include <stdint.h>",
            "",
            "struct dlasim_launch {",
            *members,
            "};",
            "",
            "/* An output that becomes an input of the next inference. */",
            "struct dlasim_carried {",
            *carried,
            "};",
            "",
            "#endif",
            "",
        ]
    )
