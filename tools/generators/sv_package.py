"""`dla_isa.sv`: opcodes, fields, registers, faults and what operations read, for the RTL."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator

from dlasim.isa import registers
from dlasim.isa.bits import Field
from dlasim.isa.faults import Fault
from dlasim.isa.instruction_rows import (
    OPCODE,
    RECORD_BYTES,
    SOFTMAX_PASSES,
    WORD_BITS,
    WORD_BYTES,
    Elements,
    Init,
    Instruction,
    Out,
    PoolMode,
    Quant,
    ShiftMode,
    SigmoidMode,
    Sum,
    Unit,
    Weights,
)
from dlasim.isa.instructions import INSTRUCTIONS, sum_registers
from dlasim.isa.kept_bits import is_kept, kept_bits, legal_bits, lies_in_sram
from dlasim.isa.registers import (
    BY_NAME,
    COUNTER_BITS,
    COUNTERS,
    OPERAND_BASE,
    OPERANDS,
    REGISTER_BITS,
    REGISTERS,
    WINDOW_BYTES,
    Access,
    Region,
    Register,
)
from generators import sv_text
from generators.sv_operands import operand_lines

FILE_NAME = "dla_isa.sv"
ADDRESS_BITS = WINDOW_BYTES.bit_length() - 1
INDEX_BITS = len(OPERANDS).bit_length()
_WAIVERS = (
    "// The package names all of the table, used or not, and its functions look at parts of their arguments.",
    "/* verilator lint_off UNUSEDPARAM */",
    "/* verilator lint_off UNUSEDSIGNAL */",
)
# The instructions that the RTL executes: it reports others as illegal.
IMPLEMENTED = frozenset(
    {
        "NOP", "CFG", "WAIT", "IRQ", "HALT", "OP_DMA_READ", "OP_DMA_UNPACK", "OP_DMA_DECODE",
        "OP_DMA_WRITE", "OP_FILL",
        "OP_CONV", "OP_CONV_RELU", "OP_DEPTH_CONV", "OP_MAT_MUL",
        "OP_REQUANT", "OP_E32_SHIFT", "OP_E32_ADD", "OP_POOL", "OP_ACT_RELU", "OP_ACT_LRELU", "OP_ACT_LUT",
        "OP_E_ADD", "OP_E_SUB", "OP_E_MUL", "OP_E_ABS", "OP_C_MIN", "OP_C_MAX", "OP_SOFTMAX",
        "OP_E_SQDIFF", "OP_E16_ADD", "OP_E16_MUL", "OP_E16_SIGMOID", "OP_E16_SOFTMAX", "OP_E16_LUT",
    }
)  # fmt: skip
CONTROL = tuple(register for register in REGISTERS if register.group == "control")


def render() -> str:
    """The package."""
    notice = "The DLA's instructions and registers. Generated from the tables in dlasim/isa; edit those."
    body = (sv_text.INDENT + line if line else "" for line in _lines())
    lines = [
        *sv_text.comment(notice),
        "",
        *_WAIVERS,
        "package dla_isa;",
        *body,
        "endpackage",
        "",
        *_restored(),
        "",
    ]
    return "\n".join(lines)


def _restored() -> Iterator[str]:
    """The waivers end with the package."""
    return (line.replace("lint_off", "lint_on") for line in _WAIVERS[1:])


def _lines() -> Iterator[str]:
    yield from _sizes()
    yield from _enumerations()
    yield from _opcodes()
    yield from _decoding()
    yield from _control_registers()
    yield from _operand_registers()
    yield from operand_lines()


def _sizes() -> Iterator[str]:
    yield sv_text.number("WORD_BYTES", WORD_BYTES)
    yield sv_text.number("RECORD_BYTES", RECORD_BYTES)
    yield sv_text.number("SOFTMAX_PASSES", SOFTMAX_PASSES)
    yield sv_text.number("ADDRESS_BITS", ADDRESS_BITS)
    yield sv_text.number("REGION_COUNT", registers.REGION_COUNT)
    yield ""


def _enumerations() -> Iterator[str]:
    units = [(f"UNIT_{unit.name}", int(unit)) for unit in Unit]
    yield from sv_text.enumeration("unit_t", 3, units)
    yield sv_text.number("UNIT_COUNT", len(Unit) - 1)
    yield ""
    yield from sv_text.enumeration("fault_t", 4, [(f"FAULT_{fault.name}", int(fault)) for fault in Fault])
    yield ""
    for kind in (Init, Out, Quant, Elements, Weights, Sum, PoolMode, ShiftMode, SigmoidMode):
        prefix = kind.__name__.removesuffix("Mode").upper()
        bits = max(1, (len(kind) - 1).bit_length())
        yield from (sv_text.constant(f"{prefix}_{member.name}", int(member), bits) for member in kind)
    for region in Region:
        yield sv_text.constant(f"REGION_{region.name}", int(region), 3)
    yield ""


def _opcodes() -> Iterator[str]:
    for instruction in INSTRUCTIONS:
        yield sv_text.constant(f"OPCODE_{instruction.mnemonic}", instruction.opcode, OPCODE.width)
    yield ""
    yield from sv_text.comment("Where the fields of a command word lie. NAME_LOW +: NAME_BITS selects one.")
    places: dict[str, Field] = {"OPCODE": OPCODE}
    for instruction in INSTRUCTIONS:
        for field in instruction.fields:
            name = field.name.upper() if instruction.is_operation else f"{instruction.mnemonic}_{field.name}"
            known = places.setdefault(name.upper(), field)
            assert (known.low, known.width) == (field.low, field.width), "a field's place is its name's"
    for name, field in places.items():
        yield sv_text.number(f"{name}_LOW", field.low)
        yield sv_text.number(f"{name}_BITS", field.width)
    yield ""


def _decoding() -> Iterator[str]:
    by_unit = [
        ([f"OPCODE_{i.mnemonic}" for i in INSTRUCTIONS if i.unit is unit], f"UNIT_{unit.name}")
        for unit in Unit
        if unit is not Unit.ISSUE
    ]
    body = sv_text.case_returns("opcode", by_unit, "UNIT_ISSUE")
    yield from sv_text.function("unit_t", "unit_of", "input logic [7:0] opcode", body)
    yield ""
    yield from sv_text.comment(
        "Whether a word is an instruction: opcode, reserved bits, values of its fields."
    )
    rows = [([f"OPCODE_{i.mnemonic}"], _legal_word(i)) for i in INSTRUCTIONS if i.mnemonic in IMPLEMENTED]
    body = sv_text.case_returns(f"word[{OPCODE.width - 1}:0]", rows, "1'b0")
    yield from sv_text.function("logic", "is_instruction", f"input logic [{WORD_BITS - 1}:0] word", body)
    yield ""


def _legal_word(instruction: Instruction) -> str:
    claimed = OPCODE.mask
    for field in instruction.fields:
        claimed |= field.mask
    reserved = ~claimed & ((1 << WORD_BITS) - 1)
    terms = [f"(word & {sv_text.literal(reserved, WORD_BITS)}) == '0"] if reserved else []
    terms += [_in_range(field, "word") for field in instruction.fields if not _is_whole(field)]
    return " && ".join(terms) or "1'b1"


def _is_whole(field: Field) -> bool:
    """Whether every bit pattern of a field is legal."""
    span = (1 << field.width) - 1
    return field.highest - field.lowest == span


def _in_range(field: Field, subject: str) -> str:
    """That a field's value is legal: how far it lies beyond the lowest, modulo its width."""
    bits = f"{subject}[{field.low + field.width - 1}:{field.low}]"
    highest = sv_text.literal(field.highest - field.lowest, field.width)
    if field.lowest == 0:
        return f"{bits} <= {highest}"
    return f"({bits} - {sv_text.literal(field.lowest, field.width)}) <= {highest}"


def _legal_value(register: Register, subject: str) -> str:
    """That a pattern is legal for a register."""
    claimed = 0
    for field in register.fields:
        claimed |= field.mask
    reserved = ~claimed & ((1 << REGISTER_BITS) - 1)
    terms = [f"({subject} & {sv_text.literal(reserved, REGISTER_BITS)}) == '0"] if reserved else []
    terms += [_in_range(field, subject) for field in register.fields if not _is_whole(field)]
    return " && ".join(terms) or "1'b1"


def _control_registers() -> Iterator[str]:
    yield from sv_text.comment("Offsets of registers in the host's window, and values after reset.")
    for register in CONTROL:
        yield sv_text.constant(f"ADDRESS_{register.name}", register.address, ADDRESS_BITS)
    for name in ("ID", "ISA_VERSION"):
        yield sv_text.constant(f"RESET_{name}", BY_NAME[name].reset, REGISTER_BITS)
    yield ""
    first = BY_NAME[f"COUNT_{COUNTERS[0][0]}_LOW"].address
    yield sv_text.constant("ADDRESS_COUNTERS", first, ADDRESS_BITS, "low and high half of each in turn")
    yield sv_text.number("COUNTER_COUNT", len(COUNTERS))
    yield sv_text.number("COUNTER_BITS", COUNTER_BITS)
    for place, (name, _) in enumerate(COUNTERS):
        yield sv_text.number(f"COUNT_{name}", place)
    yield ""
    yield from sv_text.comment("What the host may write, at all and while a stream runs or after a fault.")
    yield from _address_set("is_writable", lambda register: register.access is not Access.READ_ONLY)
    yield from _address_set("is_writable_while_busy", lambda register: register.while_busy)
    rows = [
        ([f"ADDRESS_{register.name}"], _legal_value(register, "value"))
        for register in CONTROL
        if register.access is not Access.READ_ONLY
    ]
    body = sv_text.case_returns("address", rows, "1'b0")
    parameters = f"input logic [{ADDRESS_BITS - 1}:0] address, input logic [31:0] value"
    yield from sv_text.function("logic", "is_legal_control", parameters, body)
    yield ""


def _address_set(name: str, chosen: Callable[[Register], bool]) -> Iterator[str]:
    labels = [f"ADDRESS_{register.name}" for register in CONTROL if chosen(register)]
    body = sv_text.case_returns("address", [(labels, "1'b1")], "1'b0")
    yield from sv_text.function("logic", name, f"input logic [{ADDRESS_BITS - 1}:0] address", body)
    yield ""


def _operand_registers() -> Iterator[str]:
    yield from sv_text.comment(
        "The operand registers. operand_file_t names what operand_words_t numbers: word i is the register "
        "at ADDRESS_OPERANDS + 4 i, which CFG calls FIRST_REGISTER + i."
    )
    yield sv_text.constant("ADDRESS_OPERANDS", OPERAND_BASE, ADDRESS_BITS)
    yield sv_text.constant("FIRST_REGISTER", OPERANDS[0].index, 10)
    yield sv_text.number("OPERAND_COUNT", len(OPERANDS))
    yield sv_text.number("OPERAND_INDEX_BITS", INDEX_BITS)
    yield sv_text.number("OPERAND_REQUIRE_CONFIG", _place("REQUIRE_CONFIG"))
    yield ""
    yield from _pair_types()
    yield f"typedef logic [{len(OPERANDS) - 1}:0][{REGISTER_BITS - 1}:0] operand_words_t;"
    members = [(type_of(register), register.name.lower()) for register in OPERANDS]
    yield from sv_text.structure("operand_file_t", reversed(members))
    yield ""
    yield "localparam operand_words_t OPERAND_RESET = {"
    patterns = [sv_text.literal(register.reset, REGISTER_BITS) for register in reversed(OPERANDS)]
    for start in range(0, len(patterns), 8):
        row = ", ".join(patterns[start : start + 8])
        yield f"{sv_text.INDENT}{row}{',' if start + 8 < len(patterns) else ''}"
    yield "};"
    yield ""
    for name, values in (
        ("int unsigned OPERAND_KEPT_BITS", [str(legal_bits(register)) for register in OPERANDS]),
        ("bit OPERAND_SIGNED", [str(int(any(f.signed for f in register.fields))) for register in OPERANDS]),
    ):
        yield f"localparam {name}[{len(OPERANDS)}] = '{{"
        yield from (sv_text.INDENT + line for line in textwrap.wrap(", ".join(values), sv_text.WIDTH - 4))
        yield "};"
    yield ""
    rows = _grouped((_legal_value(register, "value"), place) for place, register in enumerate(OPERANDS))
    labelled = [([f"{INDEX_BITS}'d{place}" for place in places], legal) for legal, places in rows.items()]
    body = sv_text.case_returns("index", labelled, "1'b0")
    parameters = f"input logic [{INDEX_BITS - 1}:0] index, input logic [31:0] value"
    yield from sv_text.function("logic", "is_legal_operand", parameters, body)
    yield ""
    for unit, kind in ((Unit.MAC, "mac"), (Unit.VECTOR, "vector")):
        yield from _snapshot(kind, _registers_of(unit))
    yield from _dma_snapshots()


def _place(name: str) -> int:
    return BY_NAME[name].index - OPERANDS[0].index


def _pair_types() -> Iterator[str]:
    shapes = {type_of(register): register.fields for register in OPERANDS if not register.is_plain}
    for kind, fields in shapes.items():
        ordered = sorted(fields, key=lambda field: -field.low)
        yield from sv_text.structure(kind, [(f"logic [{f.width - 1}:0]", f.name) for f in ordered])


def type_of(register: Register) -> str:
    """The type of a register in the operand file."""
    if register.is_plain:
        sign = " signed" if register.fields[0].signed else ""
        return f"logic{sign} [{REGISTER_BITS - 1}:0]"
    return "offset_t" if register.name == "PAD" else "extent_t"


def _grouped(pairs: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def _registers_of(unit: Unit) -> list[Register]:
    names = {name for i in INSTRUCTIONS if i.unit is unit for name in i.registers}
    return [register for register in OPERANDS if register.name in names]


def _snapshot(kind: str, chosen: list[Register]) -> Iterator[str]:
    """The registers that a unit reads behind its queue, and what that keeps of them."""
    chosen = [register for register in chosen if is_kept(register)]
    yield from sv_text.comment(f"What an operation of {kind.upper()} reads of the registers at issue.")
    yield from sv_text.structure(f"{kind}_operands_t", [(type_of(r), r.name.lower()) for r in chosen])
    yield ""
    yield from _slot(kind, {kind: ""}, chosen)


def _dma_snapshots() -> Iterator[str]:
    """One type for both directions: the names without their prefix."""
    chosen = _registers_of(Unit.DMA_IN)
    names = [r.name.removeprefix("DMA_IN_") for r in chosen]
    assert names == [r.name.removeprefix("DMA_OUT_") for r in _registers_of(Unit.DMA_OUT)]
    yield from sv_text.comment("What a transfer reads of the registers at issue.")
    yield from sv_text.structure("dma_operands_t", [("logic [31:0]", name.lower()) for name in names])
    yield ""
    for prefix in ("dma_in", "dma_out"):
        pairs = [(name.lower(), f"{prefix}_{name.lower()}") for name in names]
        yield from _taking(f"{prefix}_operands", "dma_operands_t", pairs)
    yield from _slot("dma", {"dma_in": "dma_in_", "dma_out": "dma_out_"}, chosen)


def _slot(kind: str, sources: dict[str, str], chosen: list[Register]) -> Iterator[str]:
    """The bits of the registers that a queue keeps, taken from the file, and as registers again."""
    names = {r.name.removeprefix("DMA_IN_").lower(): r for r in chosen}
    yield from sv_text.comment(
        "What its queue keeps of them: the bits of legal values, of places in SRAM those of `place`."
    )
    members = [(f"logic [{kept_bits(register) - 1}:0]", name) for name, register in names.items()]
    yield from sv_text.structure(f"{kind}_slot_t", members)
    only_sums = sum_registers(Unit.MAC) if kind == "mac" else set()
    for function, prefix in sources.items():
        body = [f"{kind}_slot_t kept;"]
        for name, register in names.items():
            mask = " & place" if lies_in_sram(register) else f"[{kept_bits(register) - 1}:0]"
            value = f"file.{prefix}{name}{mask}"
            value = f"sums ? {value} : '0" if register.name in only_sums else value
            body.append(f"kept.{name} = {value};")
        parameters = "input operand_file_t file, input logic [31:0] place"
        parameters += ", input logic sums" if only_sums else ""
        yield from sv_text.function(f"{kind}_slot_t", f"{function}_slot", parameters, [*body, "return kept;"])
    body = [f"{kind}_operands_t read;"]
    for name, register in names.items():
        signed = register.is_plain and register.fields[0].signed
        value = f"$signed(kept.{name})" if signed else f"kept.{name}"
        cast = f"{REGISTER_BITS}'({value})" if kept_bits(register) < REGISTER_BITS else value
        body.append(f"read.{name} = {cast};")
    parameters = f"input {kind}_slot_t kept"
    yield from sv_text.function(f"{kind}_operands_t", f"{kind}_kept", parameters, [*body, "return read;"])
    yield ""


def _taking(name: str, kind: str, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    body = [
        f"{kind} taken;",
        *(f"taken.{target} = file.{source};" for target, source in pairs),
        "return taken;",
    ]
    yield from sv_text.function(kind, name, "input operand_file_t file", body)
    yield ""
