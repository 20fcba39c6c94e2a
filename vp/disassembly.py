"""RV32IMAC instructions as text, for traces: the names and operands of the specification, no aliases."""

from __future__ import annotations

from functools import lru_cache

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

# (name, mask, match, operands); the first row that matches counts. Braces name the fields below.
_BRANCH, _LOAD, _STORE = "{rs1},{rs2},{branch}", "{rd},{low}({rs1})", "{rs2},{store}({rs1})"
_IMMEDIATE, _SHIFT, _THREE = "{rd},{rs1},{low}", "{rd},{rs1},{shift}", "{rd},{rs1},{rs2}"
_ATOMIC, _CSR, _CSR_IMMEDIATE = "{rd},{rs2},({rs1})", "{rd},{csr},{rs1}", "{rd},{csr},{small}"


def _by_function(
    opcode: int, operands: str, names: str, mask: int = 0x707F
) -> list[tuple[str, int, int, str]]:
    """Rows that differ in funct3, in its order; `-` where there is none."""
    return [
        (name, mask, opcode | funct3 << 12, operands)
        for funct3, name in enumerate(names.split())
        if name != "-"
    ]


_WIDE = (
    ("lui", 0x7F, 0x37, "{rd},{upper}"),
    ("auipc", 0x7F, 0x17, "{rd},{upper}"),
    ("jal", 0x7F, 0x6F, "{rd},{jump}"),
    ("jalr", 0x707F, 0x67, _LOAD),
    *_by_function(0x63, _BRANCH, "beq bne - - blt bge bltu bgeu"),
    *_by_function(0x03, _LOAD, "lb lh lw - lbu lhu"),
    *_by_function(0x23, _STORE, "sb sh sw"),
    *_by_function(0x13, _IMMEDIATE, "addi - slti sltiu xori - ori andi"),
    *_by_function(0x13, _SHIFT, "- slli - - - srli", 0xFE00_707F),
    *_by_function(0x4000_0013, _SHIFT, "- - - - - srai", 0xFE00_707F),
    *_by_function(0x33, _THREE, "add sll slt sltu xor srl or and", 0xFE00_707F),
    *_by_function(0x4000_0033, _THREE, "sub - - - - sra", 0xFE00_707F),
    *_by_function(0x0200_0033, _THREE, "mul mulh mulhsu mulhu div divu rem remu", 0xFE00_707F),
    *_by_function(0x73, _CSR, "- csrrw csrrs csrrc"),
    *_by_function(0x73, _CSR_IMMEDIATE, "- - - - - csrrwi csrrsi csrrci"),
    ("lr.w{order}", 0xF9F0_707F, 0x1000_202F, "{rd},({rs1})"),
    *(
        (f"{name}.w{{order}}", 0xF800_707F, funct5 << 27 | 0x202F, _ATOMIC)
        for name, funct5 in (
            *(("sc", 3), ("amoswap", 1), ("amoadd", 0), ("amoxor", 4), ("amoand", 12), ("amoor", 8)),
            *(("amomin", 16), ("amomax", 20), ("amominu", 24), ("amomaxu", 28)),
        )
    ),
    ("fence", 0x707F, 0x000F, "{before},{after}"),
    ("fence.i", 0x707F, 0x100F, ""),
    ("ecall", 0xFFFF_FFFF, 0x0000_0073, ""),
    ("ebreak", 0xFFFF_FFFF, 0x0010_0073, ""),
    ("mret", 0xFFFF_FFFF, 0x3020_0073, ""),
    ("wfi", 0xFFFF_FFFF, 0x1050_0073, ""),
)

_RESERVED = ""
_NARROW = (
    (_RESERVED, 0xFFE3, 0x0000, ""),
    ("c.addi4spn", 0xE003, 0x0000, "{low_rd},sp,{sp_words}"),
    ("c.lw", 0xE003, 0x4000, "{low_rd},{words}({low_rs})"),
    ("c.sw", 0xE003, 0xC000, "{low_rd},{words}({low_rs})"),
    ("c.nop", 0xFFFF, 0x0001, ""),
    ("c.addi", 0xE003, 0x0001, "{rd},{six}"),
    ("c.jal", 0xE003, 0x2001, "{near_jump}"),
    ("c.li", 0xE003, 0x4001, "{rd},{six}"),
    (_RESERVED, 0xF07F, 0x6001, ""),
    (_RESERVED, 0xFFFF, 0x6101, ""),
    ("c.addi16sp", 0xEF83, 0x6101, "sp,{sp_sixteens}"),
    ("c.lui", 0xE003, 0x6001, "{rd},{six_upper}"),
    ("c.srli", 0xFC03, 0x8001, "{low_rs},{six_shift}"),
    ("c.srai", 0xFC03, 0x8401, "{low_rs},{six_shift}"),
    ("c.andi", 0xEC03, 0x8801, "{low_rs},{six}"),
    ("c.sub", 0xFC63, 0x8C01, "{low_rs},{low_rd}"),
    ("c.xor", 0xFC63, 0x8C21, "{low_rs},{low_rd}"),
    ("c.or", 0xFC63, 0x8C41, "{low_rs},{low_rd}"),
    ("c.and", 0xFC63, 0x8C61, "{low_rs},{low_rd}"),
    ("c.j", 0xE003, 0xA001, "{near_jump}"),
    ("c.beqz", 0xE003, 0xC001, "{low_rs},{near_branch}"),
    ("c.bnez", 0xE003, 0xE001, "{low_rs},{near_branch}"),
    ("c.slli", 0xF003, 0x0002, "{rd},{six_shift}"),
    (_RESERVED, 0xEF83, 0x4002, ""),
    ("c.lwsp", 0xE003, 0x4002, "{rd},{load_words}(sp)"),
    (_RESERVED, 0xFFFF, 0x8002, ""),
    ("c.jr", 0xF07F, 0x8002, "{rd}"),
    ("c.mv", 0xF003, 0x8002, "{rd},{narrow_rs2}"),
    ("c.ebreak", 0xFFFF, 0x9002, ""),
    ("c.jalr", 0xF07F, 0x9002, "{rd}"),
    ("c.add", 0xF003, 0x9002, "{rd},{narrow_rs2}"),
    ("c.swsp", 0xE003, 0xC002, "{narrow_rs2},{store_words}(sp)"),
)

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
    for name, mask, match, operands in _WIDE if wide else _NARROW:
        if word & mask == match and name != _RESERVED:
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
