"""RV32IMAC instructions as text, for traces: the names and operands of the specification, no aliases."""

from __future__ import annotations

from functools import lru_cache

from dlasim.vp.riscv.instruction_table import NARROW, RESERVED, WIDE

REGISTER_NAMES = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{number}" for number in range(8)),
    *(f"s{number}" for number in range(2, 12)),
    *(f"t{number}" for number in range(3, 7)),
)

CSR_NAMES = {
    0x300: "mstatus", 0x301: "misa", 0x304: "mie", 0x305: "mtvec", 0x306: "mcounteren",
    0x320: "mcountinhibit", 0x340: "mscratch", 0x341: "mepc", 0x342: "mcause", 0x343: "mtval",
    0x344: "mip", 0xB00: "mcycle", 0xB02: "minstret", 0xB80: "mcycleh", 0xB82: "minstreth",
    0xC00: "cycle", 0xC01: "time", 0xC02: "instret", 0xC80: "cycleh", 0xC81: "timeh",
    0xC82: "instreth", 0xF11: "mvendorid", 0xF12: "marchid", 0xF13: "mimpid", 0xF14: "mhartid",
}  # fmt: skip

# Where each register stands: its lowest bit, how many bits, and what is added.
_REGISTERS = {
    "rd": (7, 5, 0), "rs1": (15, 5, 0), "rs2": (20, 5, 0),
    "narrow_rs2": (2, 5, 0), "low_rd": (2, 3, 8), "low_rs": (7, 3, 8),
}  # fmt: skip
# The pieces of each number: (lowest bit in the word, how many, lowest bit in the number).
_NUMBERS = {
    "low": ((20, 12, 0),),
    "store": ((7, 5, 0), (25, 7, 5)),
    "upper": ((12, 20, 0),),
    "shift": ((20, 5, 0),),
    "small": ((15, 5, 0),),
    "branch": ((8, 4, 1), (25, 6, 5), (7, 1, 11), (31, 1, 12)),
    "jump": ((21, 10, 1), (20, 1, 11), (12, 8, 12), (31, 1, 20)),
    "six": ((2, 5, 0), (12, 1, 5)),
    "six_upper": ((2, 5, 0), (12, 1, 5)),
    "six_shift": ((2, 5, 0),),
    "words": ((10, 3, 3), (6, 1, 2), (5, 1, 6)),
    "sp_words": ((11, 2, 4), (7, 4, 6), (6, 1, 2), (5, 1, 3)),
    "sp_sixteens": ((6, 1, 4), (2, 1, 5), (5, 1, 6), (3, 2, 7), (12, 1, 9)),
    "load_words": ((4, 3, 2), (12, 1, 5), (2, 2, 6)),
    "store_words": ((9, 4, 2), (7, 2, 6)),
    "near_jump": (
        *((3, 3, 1), (11, 1, 4), (2, 1, 5), (7, 1, 6)),
        *((6, 1, 7), (9, 2, 8), (8, 1, 10), (12, 1, 11)),
    ),
    "near_branch": ((3, 2, 1), (10, 2, 3), (2, 1, 5), (5, 2, 6), (12, 1, 8)),
}
_SIGNED = frozenset(
    ("low", "store", "branch", "jump", "six", "six_upper", "sp_sixteens", "near_jump", "near_branch")
)
_TARGETS = frozenset(("branch", "jump", "near_jump", "near_branch"))  # relative to pc
_UPPER = frozenset(("upper", "six_upper"))
_SETS = {"before": 24, "after": 20}  # of what a fence orders
_ORDERS = ("", ".rl", ".aq", ".aqrl")


@lru_cache(maxsize=1 << 14)
def disassemble(word: int, pc: int) -> str:
    """The instruction at `pc`, as objdump writes it without aliases; an unknown one as data."""
    wide = word & 3 == 3
    for name, mask, match, operands, _ in WIDE if wide else NARROW:
        if word & mask == match and name != RESERVED:
            return f"{name} {operands}".rstrip().format_map(_Fields(word, pc))
        if word & mask == match:
            break
    return f".4byte 0x{word:x}" if wide else f".2byte 0x{word:x}"


class _Fields(dict[str, str]):
    """The operands of one instruction by name, made when they are asked for."""

    def __init__(self, word: int, pc: int) -> None:
        super().__init__()
        self._word = word
        self._pc = pc

    def __missing__(self, name: str) -> str:
        if name in _REGISTERS:
            low, bits, first = _REGISTERS[name]
            return REGISTER_NAMES[first + self._bits(low, bits)]
        if name == "csr":
            number = self._bits(20, 12)
            return CSR_NAMES.get(number, f"0x{number:x}")
        if name == "order":
            return _ORDERS[self._bits(25, 2)]
        if name in _SETS:
            kinds = self._bits(_SETS[name], 4)
            return "".join(kind for bit, kind in zip((8, 4, 2, 1), "iorw", strict=True) if kinds & bit) or "0"
        return self._number(name)

    def _number(self, name: str) -> str:
        pieces = _NUMBERS[name]
        value = sum(self._bits(low, bits) << place for low, bits, place in pieces)
        if name in _SIGNED:
            sign = 1 << max(bits + place for _, bits, place in pieces) - 1
            value = (value ^ sign) - sign
        if name in _TARGETS:
            return f"0x{self._pc + value & 0xFFFF_FFFF:x}"
        if name in _UPPER:
            return f"0x{value & 0xF_FFFF:x}"
        return f"0x{value:x}" if name in ("shift", "six_shift") else str(value)

    def _bits(self, low: int, bits: int) -> int:
        return self._word >> low & (1 << bits) - 1
