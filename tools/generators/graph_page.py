"""`docs/graph-format.md`: the schema of `.dlag` files; operators and options are those of the table."""

from __future__ import annotations

from dlasim.compiler_shim.dlag.dlag_layout import DTYPES, HEAD, MAX_TENSORS, VERSION
from dlasim.compiler_shim.network.graph import MAX_DIMENSIONS
from dlasim.compiler_shim.operators.definition import CLASSES, OperatorDefinition
from dlasim.compiler_shim.operators.fields import SchemaField, enum_numbers, left_out
from dlasim.compiler_shim.operators.table import OPERATORS
from generators.written import prose


def page() -> str:
    """The whole page."""
    rows = [OPERATORS[kind] for kind in sorted(OPERATORS)]
    enums = sorted({field.enum for row in rows for field in row.options.fields if field and field.enum})
    return prose("graph-format.md").format(
        version=VERSION,
        head_bytes=HEAD.size,
        dtypes=", ".join(f"`{name}`" for name in DTYPES),
        max_tensors=f"{MAX_TENSORS:,}",
        max_rank=MAX_DIMENSIONS,
        classes="\n".join(f"| {name} | {', '.join(types)} |" for name, types in CLASSES.items()),
        operators="\n".join(_row(row) for row in rows),
        enums="\n".join(f"| {enum} | {', '.join(_members(enum))} |" for enum in enums),
    )


def _members(enum: str) -> list[str]:
    return [f"`{name}`" for name in enum_numbers(enum) if enum != "TensorType" or name in DTYPES]


def _row(row: OperatorDefinition) -> str:
    options = ", ".join(_option(field) for field in row.options.fields if field is not None)
    return f"| {row.name} | `{row.operands}` | {options or '-'} |"


def _option(field: SchemaField) -> str:
    default = left_out(field)
    kind = field.enum or {"bool": "bool", "float32": "float"}.get(field.item, "int")
    shown = (
        "[]"
        if field.is_vector
        else {True: "true", False: "false"}.get(default, default)
        if kind == "bool"
        else default
    )
    return f"`{field.name}`: {kind}{' list' if field.is_vector else ''} = {shown}"
