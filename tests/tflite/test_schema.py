"""Our table of the schema against the generated classes of the `tflite` package."""

import importlib

import numpy as np
import pytest

from dlasim.compiler_shim.operators.fields import SCALARS, enum_names, enum_numbers
from dlasim.compiler_shim.operators.table import CUSTOM_NAMES, OPERATORS
from dlasim.compiler_shim.tflite.encoding import encode
from dlasim.compiler_shim.tflite.schema import TABLES
from tests.tflite.one_operator import BUILDERS

# What the generated code leaves out of the plain rule "snake_case to CamelCase".
OPTION_TABLES = sorted(name for name in TABLES if name.endswith("Options"))


def camel_case(name):
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def unusual_value(field, position):
    """A value that differs from the default and from its neighbours' values."""
    if field.is_vector:
        return [position + 1, position + 2]
    if field.kind == "bool":
        return not field.default
    return position + 1.5 if field.kind == "float32" else position + 2


@pytest.mark.parametrize("table", [*OPTION_TABLES, "OperatorCode", "Buffer"])
def test_every_field_is_found_where_tensorflow_looks_for_it(table):
    fields = [field for field in TABLES[table] if field is not None and field.kind in (*SCALARS, "[int32]")]
    values = {field.name: unusual_value(field, position) for position, field in enumerate(fields)}
    reader = getattr(importlib.import_module(f"tflite.{table}"), table).GetRootAs(encode(table, values, 64))
    for field in fields:
        if table == "OperatorCode" and field.name == "builtin_code":
            continue  # the generated accessor mixes the two codes
        if field.is_vector:
            found = getattr(reader, f"{camel_case(field.name)}AsNumpy")().tolist()
        else:
            found = getattr(reader, camel_case(field.name))()
        assert found == values[field.name], field.name


@pytest.mark.parametrize("table", OPTION_TABLES)
def test_an_empty_table_has_tensorflows_defaults(table):
    reader = getattr(importlib.import_module(f"tflite.{table}"), table).GetRootAs(encode(table, {}, 64))
    for field in TABLES[table]:
        if field is not None and not field.is_vector:
            expected = None if field.kind == "string" else field.default
            assert getattr(reader, camel_case(field.name))() == expected, field.name


def test_every_options_table_is_in_the_union():
    assert set(OPTION_TABLES) <= set(enum_numbers("BuiltinOptions"))
    of_rows = {row.options.table for row in OPERATORS.values() if not row.options.flexible} - {""}
    assert of_rows == set(OPTION_TABLES) - {"CallOnceOptions", "VarHandleOptions"}


def test_every_operator_is_tensorflows_and_has_a_test_network():
    assert set(OPERATORS) - set(CUSTOM_NAMES) <= set(enum_numbers("BuiltinOperator"))
    assert set(OPERATORS) - set(CUSTOM_NAMES) == set(BUILDERS)


def test_tensor_types_are_named_as_numpy_names_them():
    names = enum_names("TensorType")
    assert names[9] == "int8"
    assert all(np.dtype(names[number]).itemsize for number in (0, 2, 3, 4, 6, 7, 9, 12))
