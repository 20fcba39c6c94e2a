"""Compiles a routine to flat code for x86-64, which runs wherever it lies in memory: the sections of its
object file behind each other, with no symbol left.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import llvmlite.binding as llvm
from elftools.elf.elffile import ELFFile

from dlasim.errors import DlasimError
from dlasim.native import target
from dlasim.native.object_file import SYMBOL
from dlasim.native.routine import Routine
from dlasim.native.translator import translate

_ALLOCATED, _WRITABLE = 0x2, 0x1  # flags of a section
_RELATIVE = (2, 4)  # R_X86_64_PC32 and R_X86_64_PLT32: 32 bits, from their own place
_MAX_ALIGNMENT = 64


def build_flat(routine: Routine) -> tuple[bytes, int]:
    """The flat code of a routine for any x86-64, and where in it the routine begins."""
    target.initialize()
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(
        cpu="x86-64", opt=3, reloc="pic", codemodel="small"
    )
    lowered = llvm.parse_assembly(translate(routine.function, SYMBOL))
    for each in lowered.functions:
        if not each.is_declaration and each.name != SYMBOL:
            each.linkage = "internal"
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(lowered, builder)
    return _link(machine.emit_object(lowered))


def _link(code: bytes) -> tuple[bytes, int]:
    elf: Any = ELFFile(BytesIO(code))
    starts, image = _place(elf)
    symbols: Any = elf.get_section_by_name(".symtab")
    for section in elf.iter_sections():
        if section["sh_type"] in ("SHT_RELA", "SHT_REL") and section["sh_info"] in starts:
            for relocation in section.iter_relocations():
                _relocate(relocation, starts, starts[section["sh_info"]], symbols, image)
    (entry,) = symbols.get_symbol_by_name(SYMBOL)
    return bytes(image), _address(entry, starts)


def _place(elf: Any) -> tuple[dict[int, int], bytearray]:
    """Where each section begins, by its number, and all of their bytes."""
    starts: dict[int, int] = {}
    image = bytearray()
    for number, section in enumerate(elf.iter_sections()):
        if not section["sh_flags"] & _ALLOCATED or not section.data_size:
            continue
        if section["sh_flags"] & _WRITABLE or section["sh_addralign"] > _MAX_ALIGNMENT:
            raise DlasimError(f"section {section.name} cannot be part of flat code")
        image += bytes(-len(image) % section["sh_addralign"])
        starts[number] = len(image)
        image += section.data()
    return starts, image


def _relocate(relocation: Any, starts: dict[int, int], start: int, symbols: Any, image: bytearray) -> None:
    symbol = symbols.get_symbol(relocation["r_info_sym"])
    if relocation["r_info_type"] not in _RELATIVE:
        raise DlasimError(f"relocation {relocation['r_info_type']} cannot be part of flat code")
    place = start + relocation["r_offset"]
    distance = _address(symbol, starts) + relocation["r_addend"] - place
    image[place : place + 4] = distance.to_bytes(4, "little", signed=True)


def _address(symbol: Any, starts: dict[int, int]) -> int:
    if symbol["st_shndx"] not in starts:
        raise DlasimError(f"{symbol.name or 'a symbol'} is not in the code")
    return int(starts[symbol["st_shndx"]] + symbol["st_value"])
