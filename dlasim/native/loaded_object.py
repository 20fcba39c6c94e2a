"""Loads a function from an object file for x86-64 without LLVM, which needs 40 ms for it.

It is for objects that need nothing but addresses filled in, as those of the kernels do: without sections that
are written, and without functions of other libraries but C's for memory.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from mmap import MAP_SHARED, PROT_EXEC, PROT_READ, mmap
from struct import Struct, unpack_from
from typing import NamedTuple

import numpy as np

from dlasim.native.machine_function import MachineFunction
from dlasim.native.object_file import SYMBOL

_SECTION, _SYMBOL, _RELOCATION = Struct("<IIQQQQIIQQ"), Struct("<IBBHQQ"), Struct("<QQq")
_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8  # types of sections
_WRITABLE, _ALLOCATED = 0x1, 0x2  # flags of sections
_UNDEFINED, _COMMON = 0, 0xFFF2  # of a symbol: that of another object, and zeros without a section
_ADDRESS = 1  # R_X86_64_64, a relocation that fills in all of an address
_MEMORY_FUNCTIONS = ("memcpy", "memmove", "memset")
_PAGE = 4096


class UnsupportedObjectError(Exception):
    """An object that only LLVM can load."""


class LoadedObject(MachineFunction):
    """The function of an object, in memory that is executable and that nobody can write any more."""

    def __init__(self, code: bytes, arguments: int) -> None:
        """Raises UnsupportedObjectError, or OSError where the system lets no memory be executed."""
        linked = _LinkedObject(code)
        descriptor = os.memfd_create("object")
        try:
            os.ftruncate(descriptor, linked.size_bytes)
            self._memory = mmap(descriptor, linked.size_bytes, MAP_SHARED, PROT_READ | PROT_EXEC)
            base = np.frombuffer(self._memory, np.uint8).__array_interface__["data"][0]
            os.pwrite(descriptor, linked.image(base), 0)
        finally:
            os.close(descriptor)
        super().__init__(base + linked.entry, arguments)


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_bytes: int


class _Symbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


class _LinkedObject:
    """The sections of an object that are in memory, one after the other."""

    def __init__(self, code: bytes) -> None:
        self._code, self.size_bytes = code, 0
        (first,), (count,) = unpack_from("<Q", code, 0x28), unpack_from("<H", code, 0x3C)
        table = code[first : first + count * _SECTION.size]
        self._sections = [_Section._make(each) for each in _SECTION.iter_unpack(table)]
        (symbols,) = [each for each in self._sections if each.type == _SYMBOLS]
        self._symbols = [_Symbol._make(each) for each in _SYMBOL.iter_unpack(self._bytes(symbols))]
        self._names = self._sections[symbols.link]
        self._starts = self._place_sections()
        self._zeros = {
            n: self._place(8, 8) for n, each in enumerate(self._symbols) if each.section == _COMMON
        }
        (self.entry,) = [
            self._starts[each.section] + each.value for each in self._symbols if self._name(each) == SYMBOL
        ]

    def image(self, base: int) -> bytes:
        """What is in memory if that begins at address `base`."""
        image = bytearray(self.size_bytes)
        for number, start in self._starts.items():
            data = self._bytes(self._sections[number])
            image[start : start + len(data)] = data
        for place, symbol, addend in self._relocations():
            image[place : place + 8] = (self._address(symbol, base) + addend).to_bytes(8, "little")
        return bytes(image)

    def _place_sections(self) -> dict[int, int]:
        starts = {}
        for number, section in enumerate(self._sections):
            if section.flags & _ALLOCATED and section.size:
                if section.flags & _WRITABLE or section.type == _NO_BITS or section.alignment > _PAGE:
                    raise UnsupportedObjectError(f"section {number}")
                starts[number] = self._place(section.size, max(section.alignment, 1))
        return starts

    def _place(self, size: int, alignment: int) -> int:
        start = -(-self.size_bytes // alignment) * alignment
        self.size_bytes = start + size
        return start

    def _relocations(self) -> Iterator[tuple[int, int, int]]:
        """The place of each, its symbol, and what is added to that."""
        for section in self._sections:
            if section.type == _RELOCATIONS and section.info in self._starts:
                for offset, info, addend in _RELOCATION.iter_unpack(self._bytes(section)):
                    if info & 0xFFFF_FFFF != _ADDRESS:
                        raise UnsupportedObjectError(f"relocation {info & 0xFFFF_FFFF}")
                    yield self._starts[section.info] + offset, info >> 32, addend

    def _address(self, number: int, base: int) -> int:
        """Where a symbol is."""
        symbol = self._symbols[number]
        if symbol.section in self._starts:
            return base + self._starts[symbol.section] + symbol.value
        if number in self._zeros:
            return base + self._zeros[number]
        name = self._name(symbol)
        if symbol.section != _UNDEFINED or name not in _MEMORY_FUNCTIONS:
            raise UnsupportedObjectError(f"symbol {name}")
        return ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0

    def _name(self, symbol: _Symbol) -> str:
        start = self._names.offset + symbol.name
        return self._code[start : self._code.index(0, start)].decode()

    def _bytes(self, section: _Section) -> bytes:
        return self._code[section.offset : section.offset + section.size]
