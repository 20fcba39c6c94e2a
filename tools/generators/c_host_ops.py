"""`dla_host_ops.h`: the operators of the CPU, and the attributes of their calls as C structs."""

from __future__ import annotations

from collections.abc import Iterator

from dlasim.isa import host_op_rows
from dlasim.isa.host_op_rows import HostOperator, Word
from dlasim.isa.host_ops import HOST_OPERATORS
from dlasim.isa.limits import MAX_RANK
from generators import c_text

FILE_NAME = "dla_host_ops.h"
_C_TYPES = {Word.INTEGER: "int32_t", Word.FLOAT32: "float", Word.ELEMENT: "int32_t"}


def render() -> str:
    """The header."""
    doc = "The operators of host calls. An operator's struct lies over the attribute words of its calls."
    return c_text.header(FILE_NAME, doc, "dlasim/isa/host_ops.py", _lines())


def _lines() -> Iterator[str]:
    yield c_text.define("DLA_HOST_MAX_RANK", f"{MAX_RANK}u")
    yield from c_text.comment("ADD and SUB keep this many bits below the point while they add.")
    yield c_text.define("DLA_HOST_ADD_LEFT_SHIFT", str(host_op_rows.ADD_LEFT_SHIFT))
    yield c_text.define("DLA_HOST_DIFFERENCE_LEFT_SHIFT", str(host_op_rows.DIFFERENCE_LEFT_SHIFT))
    yield c_text.define("DLA_HOST_SUM_LEFT_SHIFT", str(host_op_rows.SUM_LEFT_SHIFT))
    yield c_text.define("DLA_HOST_COMPARE_LEFT_SHIFT", str(host_op_rows.COMPARE_LEFT_SHIFT))
    yield from c_text.comment("RESIZE_BILINEAR weighs its pixels in units of 2^-this.")
    yield c_text.define("DLA_HOST_RESIZE_FRACTION_BITS", str(host_op_rows.RESIZE_FRACTION_BITS))
    yield ""
    yield from c_text.comment("Member `code` of a host call.")
    yield from c_text.enumeration("DLA_HOST_OP", ((op.name, op.code, "") for op in HOST_OPERATORS))
    kinds = {a.values: None for op in HOST_OPERATORS for a in op.attributes if a.values is not None}
    for kind in kinds:
        yield from c_text.plain_enumeration(kind, kind.__doc__ or kind.__name__)
    for operator in HOST_OPERATORS:
        yield from _operator_lines(operator)
    yield from c_text.comment("X(operator, function) for each operator that the firmware has a kernel for.")
    kernels = [f"X({operator.name}, {operator.firmware})" for operator in HOST_OPERATORS if operator.firmware]
    yield " \\\n    ".join(("#define DLA_HOST_KERNELS(X)", *kernels))
    yield ""


def _operator_lines(operator: HostOperator) -> Iterator[str]:
    """One operator: its tensors, and the struct of its attributes if it has any."""
    inputs = ", ".join(f"{operand.name}{'…' if operand.repeated else ''}" for operand in operator.inputs)
    outputs = ", ".join(operand.name for operand in operator.outputs)
    yield from c_text.comment(
        f"{operator.name}: {operator.doc}\nInputs: {inputs}. Outputs: {outputs}.".replace("…", "...")
    )
    yield c_text.define(f"DLA_HOST_{operator.name}_WORDS", f"{operator.words}u")
    if operator.attributes:
        members = [(_C_TYPES[one.word], one.name, one.count, one.doc) for one in operator.attributes]
        name, size = f"dla_host_{operator.name.lower()}", f"4 * DLA_HOST_{operator.name}_WORDS"
        yield from c_text.packed_struct(name, members, size)
    yield ""
