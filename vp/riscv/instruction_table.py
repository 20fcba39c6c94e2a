"""The table of RV32IMAC: for each instruction its name, its encoding, its operands, and its class."""

from __future__ import annotations

from enum import IntEnum, auto


class InstructionClass(IntEnum):
    """What the cost tables tell apart; names in lower case are the keys of their TOML files."""

    ALU = 0
    MULTIPLY = auto()
    MULTIPLY_HIGH = auto()
    DIVIDE = auto()
    LOAD = auto()
    STORE = auto()
    ATOMIC = auto()
    BRANCH = auto()
    JUMP = auto()
    JUMP_REGISTER = auto()
    CSR = auto()
    SYSTEM = auto()
    ILLEGAL = auto()


_C = InstructionClass
InstructionRow = tuple[str, int, int, str, InstructionClass]
RESERVED = ""  # the name of encodings that are no instruction

# (name, mask, match, operands, class); the first row that matches counts, and what none does is illegal.
# Braces name the fields of disassembly.py. What is left to implementations (in fences) is not looked at.
_BRANCH, _LOAD, _STORE = "{rs1},{rs2},{branch}", "{rd},{low}({rs1})", "{rs2},{store}({rs1})"
_IMMEDIATE, _SHIFT, _THREE = "{rd},{rs1},{low}", "{rd},{rs1},{shift}", "{rd},{rs1},{rs2}"
_ATOMIC, _CSR, _CSR_IMMEDIATE = "{rd},{rs2},({rs1})", "{rd},{csr},{rs1}", "{rd},{csr},{small}"


def _by_function(
    opcode: int, operands: str, kind: InstructionClass, names: str, mask: int = 0x707F
) -> list[InstructionRow]:
    """Rows that differ in funct3, in its order; `-` where there is none."""
    return [
        (name, mask, opcode | funct3 << 12, operands, kind)
        for funct3, name in enumerate(names.split())
        if name != "-"
    ]


WIDE: tuple[InstructionRow, ...] = (
    ("lui", 0x7F, 0x37, "{rd},{upper}", _C.ALU),
    ("auipc", 0x7F, 0x17, "{rd},{upper}", _C.ALU),
    ("jal", 0x7F, 0x6F, "{rd},{jump}", _C.JUMP),
    ("jalr", 0x707F, 0x67, _LOAD, _C.JUMP_REGISTER),
    *_by_function(0x63, _BRANCH, _C.BRANCH, "beq bne - - blt bge bltu bgeu"),
    *_by_function(0x03, _LOAD, _C.LOAD, "lb lh lw - lbu lhu"),
    *_by_function(0x23, _STORE, _C.STORE, "sb sh sw"),
    *_by_function(0x13, _IMMEDIATE, _C.ALU, "addi - slti sltiu xori - ori andi"),
    *_by_function(0x13, _SHIFT, _C.ALU, "- slli - - - srli", 0xFE00_707F),
    *_by_function(0x4000_0013, _SHIFT, _C.ALU, "- - - - - srai", 0xFE00_707F),
    *_by_function(0x33, _THREE, _C.ALU, "add sll slt sltu xor srl or and", 0xFE00_707F),
    *_by_function(0x4000_0033, _THREE, _C.ALU, "sub - - - - sra", 0xFE00_707F),
    *_by_function(0x0200_0033, _THREE, _C.MULTIPLY, "mul", 0xFE00_707F),
    *_by_function(0x0200_0033, _THREE, _C.MULTIPLY_HIGH, "- mulh mulhsu mulhu", 0xFE00_707F),
    *_by_function(0x0200_0033, _THREE, _C.DIVIDE, "- - - - div divu rem remu", 0xFE00_707F),
    *_by_function(0x73, _CSR, _C.CSR, "- csrrw csrrs csrrc"),
    *_by_function(0x73, _CSR_IMMEDIATE, _C.CSR, "- - - - - csrrwi csrrsi csrrci"),
    ("lr.w{order}", 0xF9F0_707F, 0x1000_202F, "{rd},({rs1})", _C.ATOMIC),
    *(
        (f"{name}.w{{order}}", 0xF800_707F, funct5 << 27 | 0x202F, _ATOMIC, _C.ATOMIC)
        for name, funct5 in (
            *(("sc", 3), ("amoswap", 1), ("amoadd", 0), ("amoxor", 4), ("amoand", 12), ("amoor", 8)),
            *(("amomin", 16), ("amomax", 20), ("amominu", 24), ("amomaxu", 28)),
        )
    ),
    ("fence", 0x707F, 0x000F, "{before},{after}", _C.SYSTEM),
    ("fence.i", 0x707F, 0x100F, "", _C.SYSTEM),
    ("ecall", 0xFFFF_FFFF, 0x0000_0073, "", _C.SYSTEM),
    ("ebreak", 0xFFFF_FFFF, 0x0010_0073, "", _C.SYSTEM),
    ("mret", 0xFFFF_FFFF, 0x3020_0073, "", _C.SYSTEM),
    ("wfi", 0xFFFF_FFFF, 0x1050_0073, "", _C.SYSTEM),
)

# Hints (results for x0, shifts by 0) are executed; they do nothing.
NARROW: tuple[InstructionRow, ...] = (
    (RESERVED, 0xFFE3, 0x0000, "", _C.ILLEGAL),
    ("c.addi4spn", 0xE003, 0x0000, "{low_rd},sp,{sp_words}", _C.ALU),
    ("c.lw", 0xE003, 0x4000, "{low_rd},{words}({low_rs})", _C.LOAD),
    ("c.sw", 0xE003, 0xC000, "{low_rd},{words}({low_rs})", _C.STORE),
    ("c.nop", 0xFFFF, 0x0001, "", _C.ALU),
    ("c.addi", 0xE003, 0x0001, "{rd},{six}", _C.ALU),
    ("c.jal", 0xE003, 0x2001, "{near_jump}", _C.JUMP),
    ("c.li", 0xE003, 0x4001, "{rd},{six}", _C.ALU),
    (RESERVED, 0xF07F, 0x6001, "", _C.ILLEGAL),
    (RESERVED, 0xFFFF, 0x6101, "", _C.ILLEGAL),
    ("c.addi16sp", 0xEF83, 0x6101, "sp,{sp_sixteens}", _C.ALU),
    ("c.lui", 0xE003, 0x6001, "{rd},{six_upper}", _C.ALU),
    ("c.srli", 0xFC03, 0x8001, "{low_rs},{six_shift}", _C.ALU),
    ("c.srai", 0xFC03, 0x8401, "{low_rs},{six_shift}", _C.ALU),
    (RESERVED, 0xF803, 0x8001, "", _C.ALU),  # shifts by 32 or more are left to custom extensions
    ("c.andi", 0xEC03, 0x8801, "{low_rs},{six}", _C.ALU),
    ("c.sub", 0xFC63, 0x8C01, "{low_rs},{low_rd}", _C.ALU),
    ("c.xor", 0xFC63, 0x8C21, "{low_rs},{low_rd}", _C.ALU),
    ("c.or", 0xFC63, 0x8C41, "{low_rs},{low_rd}", _C.ALU),
    ("c.and", 0xFC63, 0x8C61, "{low_rs},{low_rd}", _C.ALU),
    ("c.j", 0xE003, 0xA001, "{near_jump}", _C.JUMP),
    ("c.beqz", 0xE003, 0xC001, "{low_rs},{near_branch}", _C.BRANCH),
    ("c.bnez", 0xE003, 0xE001, "{low_rs},{near_branch}", _C.BRANCH),
    ("c.slli", 0xF003, 0x0002, "{rd},{six_shift}", _C.ALU),
    (RESERVED, 0xEF83, 0x4002, "", _C.ILLEGAL),
    ("c.lwsp", 0xE003, 0x4002, "{rd},{load_words}(sp)", _C.LOAD),
    (RESERVED, 0xFFFF, 0x8002, "", _C.ILLEGAL),
    ("c.jr", 0xF07F, 0x8002, "{rd}", _C.JUMP_REGISTER),
    ("c.mv", 0xF003, 0x8002, "{rd},{narrow_rs2}", _C.ALU),
    ("c.ebreak", 0xFFFF, 0x9002, "", _C.SYSTEM),
    ("c.jalr", 0xF07F, 0x9002, "{rd}", _C.JUMP_REGISTER),
    ("c.add", 0xF003, 0x9002, "{rd},{narrow_rs2}", _C.ALU),
    ("c.swsp", 0xE003, 0xC002, "{narrow_rs2},{store_words}(sp)", _C.STORE),
)
