"""Which host calls the firmware has kernels for: what is lacking is refused by name before anything runs."""

from __future__ import annotations

from dlasim.errors import InputError, printable
from dlasim.isa import host_ops
from dlasim.isa.host_attributes import decode_attributes
from dlasim.isa.host_ops import BinaryFunction, HostOperator, UnaryFunction
from dlasim.isa.host_validation import refusal, view
from dlasim.isa.program import HostCall, Program

# Element types whose arithmetic the firmware has; operators that only move elements take any.
_ARITHMETIC = ("int8", "int32", "bool")
_INTEGERS = ("int8", "int32", "int64", "uint8", "int16", "bool")
_ALLOWED_TYPES = {
    "CAST": _INTEGERS,
    "BINARY": _ARITHMETIC,
    "UNARY": ("int32",),
    "REDUCE": _INTEGERS,
    "CUMULATIVE_SUM": _INTEGERS,
    "TOP_K": _INTEGERS,
    "COMPARE": _INTEGERS,
}
_FUNCTIONS: dict[str, tuple[int, ...]] = {
    "BINARY": tuple(BinaryFunction),
    "UNARY": (UnaryFunction.ABS, UnaryFunction.NEG, UnaryFunction.SQUARE),
}


def refuse_missing_kernels(program: Program) -> None:
    """An InputError that names the first host call that the firmware cannot compute."""
    for call in program.host_calls:
        reason = missing_kernel(program, call)
        if reason is not None:
            known = 0 <= call.layer < len(program.layers)
            layer = printable(program.layers[call.layer].name) if known else "?"
            raise InputError(f"{program.label}, layer {layer}: the firmware has no kernel for {reason}")


def missing_kernel(program: Program, call: HostCall) -> str | None:
    """What the firmware lacks for this call, None if nothing."""
    operator = host_ops.BY_CODE[call.code]
    if not operator.firmware:
        return operator.name
    if _is_refused(program, operator, call):
        return None  # the firmware itself says why
    types = [program.tensors[number].type.name for number in (*call.inputs, *call.outputs) if number >= 0]
    return _missing_type(operator, types) or _missing_function(operator, call)


def _is_refused(program: Program, operator: HostOperator, call: HostCall) -> bool:
    inputs, outputs = (
        [view(program.tensors[number].type.name, program.tensors[number].shape) for number in numbers]
        for numbers in (call.inputs, call.outputs)
    )
    return refusal(operator, call.attributes, inputs, outputs) is not None


def _missing_type(operator: HostOperator, types: list[str]) -> str | None:
    if operator.name == "ARG_MAX":
        types = types[:1]  # where the result is a position
        allowed: tuple[str, ...] = _INTEGERS
    else:
        allowed = _ALLOWED_TYPES.get(operator.name, ())
    wrong = [name for name in types if allowed and name not in allowed]
    return f"{operator.name} of {wrong[0]}" if wrong else None


def _missing_function(operator: HostOperator, call: HostCall) -> str | None:
    functions = _FUNCTIONS.get(operator.name)
    if functions is None:
        return None
    function = decode_attributes(operator, call.attributes).function
    return None if function in functions else f"{operator.name} with function {function}"
