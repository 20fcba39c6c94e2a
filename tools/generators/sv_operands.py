"""Which SRAM operands an operation has, as functions of its command word, for the RTL's checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dlasim.isa.instruction_rows import Extent, Instruction, Operand, Unit, When
from dlasim.isa.instructions import INSTRUCTIONS
from generators import sv_text

# In the order in which an instruction's row lists them, which is the order in which they are checked.
_ORDER = ("IN", "IN2", "WEIGHT_ADDR", "ACC", "PARAM_ADDR", "LUT_ADDR", "OUT")
_MEMBERS = {name: name.removesuffix("_ADDR").lower() for name in _ORDER}
_EXTENTS = tuple(extent for extent in Extent if extent is not Extent.TRANSFER)


def operand_lines() -> Iterator[str]:
    """The types and functions."""
    yield from sv_text.enumeration(
        "extent_kind_t", 4, [(f"EXTENT_{extent.name}", place) for place, extent in enumerate(_EXTENTS)]
    )
    yield from sv_text.comment(
        "An SRAM operand: whether the operation has it, what it covers, its elements' bytes as a power of 2, "
        "and whether it must not overlap itself."
    )
    members = [
        ("logic", "present"),
        ("logic [1:0]", "size"),
        ("logic", "disjoint"),
        ("extent_kind_t", "extent"),
    ]
    yield from sv_text.structure("operand_use_t", members)
    tables = [([f"EXTENT_{each.name}"], str(each.table_bytes)) for each in _EXTENTS if each.table_bytes]
    body = sv_text.case_returns("extent", tables, "0")
    yield from sv_text.function("logic [31:0]", "table_bytes", "input extent_kind_t extent", body)
    yield from sv_text.structure(
        "operand_uses_t", [("operand_use_t", member) for member in _MEMBERS.values()]
    )
    yield ""
    yield from sv_text.function("operand_uses_t", "operand_uses", "input logic [63:0] word", _uses())
    yield ""
    yield from sv_text.comment(
        "Whether an operation reads ACT_MIN; has elements of its choice; has those of int16 alone; has "
        "weights of its choice; may add a tensor; has a kernel; sums over input channels."
    )
    yield from _set("is_clamped", lambda i: "ACT_MIN" in i.parameters)
    yield from _set("has_elements", lambda i: any(field.name == "elements" for field in i.fields))
    yield from _set("needs_int16", lambda i: i.needs_int16)
    yield from _set("has_weights", lambda i: any(field.name == "weights" for field in i.fields))
    yield from _set("has_sum", lambda i: bool(i.sum_parameters))
    yield from _set("has_kernel", lambda i: "KERNEL" in i.parameters)
    yield from _set("sums_channels", lambda i: i.unit is Unit.MAC and not _is_depthwise(i))


def _is_depthwise(instruction: Instruction) -> bool:
    return any(operand.extent is Extent.DEPTH_WEIGHTS for operand in instruction.operands)


def _uses() -> Iterator[str]:
    yield "operand_uses_t uses;"
    yield "uses = '0;"
    yield "case (word[7:0])"
    for instruction in INSTRUCTIONS:
        if instruction.unit in (Unit.MAC, Unit.VECTOR):
            yield f"{sv_text.INDENT}OPCODE_{instruction.mnemonic}: begin"
            places = [_ORDER.index(operand.register) for operand in instruction.operands]
            assert places == sorted(places), f"{instruction.mnemonic} lists its operands in another order"
            for operand in instruction.operands:
                yield 2 * sv_text.INDENT + _use(instruction, operand)
            yield f"{sv_text.INDENT}end"
    yield f"{sv_text.INDENT}default: ;"
    yield "endcase"
    yield "return uses;"


def _use(instruction: Instruction, operand: Operand) -> str:
    present = " || ".join(_holds(instruction, when) for when in operand.present_when) or "1'b1"
    size = f"2'd{operand.element_bytes.bit_length() - 1}"
    for bytes_, when in operand.other_widths:
        size = f"{_holds(instruction, when)} ? 2'd{bytes_.bit_length() - 1} : {size}"
    disjoint = "1'b1" if operand.writes or operand.extent is Extent.INPUT else "1'b0"
    extent = f"EXTENT_{operand.extent.name}"
    return f"uses.{_MEMBERS[operand.register]} = {{{present}, {size}, {disjoint}, {extent}}};"


def _holds(instruction: Instruction, when: When) -> str:
    field = instruction.field(when.field)
    bits = f"word[{field.low + field.width - 1}:{field.low}]" if field.width > 1 else f"word[{field.low}]"
    return " || ".join(f"{bits} == {sv_text.literal(value, field.width)}" for value in when.values)


def _set(name: str, chosen: Callable[[Instruction], bool]) -> Iterator[str]:
    labels = [f"OPCODE_{i.mnemonic}" for i in INSTRUCTIONS if i.is_operation and chosen(i)]
    body = sv_text.case_returns("opcode", [(labels, "1'b1")], "1'b0")
    yield from sv_text.function("logic", name, "input logic [7:0] opcode", body)
    yield ""
