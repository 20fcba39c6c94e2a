"""Variables that a file keeps as resources, as variables of the graph.

A streaming model reads and assigns its variables by handles (VAR_HANDLE), and CALL_ONCE runs a subgraph that
assigns their initial values. Here each variable becomes a tensor, READ_VARIABLE and ASSIGN_VARIABLE copies
from it and to it. Everything happens on the tables as decoded, before a graph is made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from dlasim.compiler_shim.network.graph import label
from dlasim.compiler_shim.operators.fields import enum_numbers
from dlasim.compiler_shim.tflite.decoding import Values
from dlasim.compiler_shim.tflite.operator_options import kind_of
from dlasim.dataclass import dataclass
from dlasim.errors import InputError, printable

_RESOURCES = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
_OPERANDS = {"VAR_HANDLE": (0, 1), "READ_VARIABLE": (1, 1), "ASSIGN_VARIABLE": (2, 0), "CALL_ONCE": (0, 0)}


@dataclass(slots=True)
class _Variable:
    """A variable: its new tensor's number, the table of a tensor like it, and where its first value is."""

    name: str
    number: int
    like: Values | None = None
    initial: Values | None = None
    is_assigned: bool = False
    operators: list[Values] = field(default_factory=list)


def has_resources(model: Values) -> bool:
    """Whether the model has more than one subgraph only to give variables their first value."""
    kinds = [kind_of(code) for code in model["operator_codes"]]
    return "VAR_HANDLE" in kinds and not {"IF", "WHILE", "CALL"} & set(kinds)


class ResourceRemover:
    """Rewrites a model's first subgraph; `name` is how errors call the file."""

    def __init__(self, model: Values, name: str) -> None:
        self._model, self._name = model, name
        self._kinds = [kind_of(code) for code in model["operator_codes"]]
        self._main: Values = dict(model["subgraphs"][0])
        self._tensors: list[Values] = list(self._main["tensors"])
        self._variables: dict[tuple[str, str], _Variable] = {}
        self._reshape = len(self._kinds)

    def subgraph(self) -> Values:
        """The subgraph without resources; the model has one operator code more."""
        operators = self._without_handles(self._main, self._tensors, is_main=True)
        for operator in self._main["operators"]:
            if self._kind(operator) == "CALL_ONCE":
                self._read_initial_values(operator)
        code = enum_numbers("BuiltinOperator")["RESHAPE"]
        self._model["operator_codes"].append(
            {"builtin_code": code, "deprecated_builtin_code": code, "custom_code": None, "version": 1}
        )
        for variable in self._variables.values():
            self._tensors[variable.number] = self._variable_tensor(variable)
        return {**self._main, "tensors": self._tensors, "operators": operators}

    def _bad(self, what: str) -> InputError:
        return InputError(f"{self._name}: {what}")

    def _kind(self, operator: Values) -> str:
        code = operator["opcode_index"]
        return self._kinds[code] if code < len(self._kinds) else ""

    def _operands(self, operator: Values, tensors: Sequence[Values]) -> tuple[list[int], list[int]]:
        kind = self._kind(operator)
        inputs, outputs = ([int(number) for number in operator[side][:3]] for side in ("inputs", "outputs"))
        right = (len(inputs), len(outputs)) == _OPERANDS[kind]
        if not right or not all(0 <= number < len(tensors) for number in (*inputs, *outputs)):
            raise self._bad(f"{kind} has the wrong number of tensors, or one that does not exist")
        return inputs, outputs

    def _variable(self, operator: Values) -> _Variable:
        options = operator["builtin_options"] or {}
        key = (options.get("container") or "", options.get("shared_name") or "")
        if key not in self._variables:
            name = printable(key[1]) or f"variable {len(self._variables)}"
            self._variables[key] = _Variable(name, len(self._tensors))
            self._tensors.append({})
        return self._variables[key]

    def _without_handles(self, graph: Values, tensors: Sequence[Values], is_main: bool) -> list[Values]:
        """The subgraph's operators without resources; what it does with variables is noted."""
        handles: dict[int, _Variable] = {}
        kept = []
        for operator in graph["operators"]:
            kind = self._kind(operator)
            if kind not in _RESOURCES:
                kept.append(operator)
                continue
            inputs, outputs = self._operands(operator, tensors)
            if kind == "VAR_HANDLE":
                handles[outputs[0]] = self._variable(operator)
                if is_main:
                    self._tensors[outputs[0]] = _unread_tensor(tensors[outputs[0]])
                continue
            if kind == "CALL_ONCE":
                if not is_main:
                    raise self._bad("CALL_ONCE in a subgraph that CALL_ONCE runs is not supported")
                continue
            if inputs[0] not in handles:
                raise self._bad(f"{kind} reads a handle that no earlier VAR_HANDLE creates")
            variable = handles[inputs[0]]
            value = tensors[outputs[0] if kind == "READ_VARIABLE" else inputs[1]]
            if not is_main:
                variable.initial = value
            elif kind == "READ_VARIABLE":
                variable.like = value
                kept.append(self._copy(variable.number, outputs[0], value))
            else:
                variable.is_assigned = True
                variable.like = variable.like or value
                kept.append(self._copy(inputs[1], variable.number, value))
        return kept

    def _copy(self, source: int, target: int, value: Values) -> Values:
        return {
            "opcode_index": self._reshape,
            "inputs": np.array([source]),
            "outputs": np.array([target]),
            "builtin_options_type": enum_numbers("BuiltinOptions")["ReshapeOptions"],
            "builtin_options": {"new_shape": value["shape"]},
        }

    def _read_initial_values(self, operator: Values) -> None:
        options = operator["builtin_options"] or {}
        index = options.get("init_subgraph_index", 0)
        count = len(self._model["subgraphs"])
        if not 0 < index < count:
            raise self._bad(f"CALL_ONCE runs subgraph {index}, but the file has only {count} subgraphs")
        graph = self._model["subgraphs"][index]
        others = self._without_handles(graph, graph["tensors"], is_main=False)
        if others:
            raise self._bad(
                f"CALL_ONCE runs {label(self._kind(others[0]))}; only variables may be assigned there"
            )

    def _variable_tensor(self, variable: _Variable) -> Values:
        """The variable's tensor: constant if nothing assigns it, else one that begins as zeros."""
        like = variable.like
        if like is None:  # nothing reads it
            return _unread_tensor({"name": variable.name})
        found = {**like, "name": variable.name, "buffer": 0, "is_variable": True}
        if variable.initial is None:
            return found
        if list(variable.initial["shape"]) != list(like["shape"]) or variable.initial["type"] != like["type"]:
            raise self._bad(f"variable {label(variable.name)} begins as a tensor of another shape or type")
        if not variable.is_assigned:
            return {**found, "buffer": variable.initial["buffer"], "is_variable": False}
        if not self._is_zero(variable.initial, like):
            raise self._bad(
                f"variable {label(variable.name)} begins with values other than 0, which is not supported"
            )
        return found

    def _is_zero(self, initial: Values, like: Values) -> bool:
        number, buffers = initial["buffer"], self._model["buffers"]
        data = (
            np.asarray(buffers[number]["data"], np.uint8) if number < len(buffers) else np.zeros(0, np.uint8)
        )
        quantization = like["quantization"]
        points = quantization["zero_point"] if quantization is not None else []
        point = int(points[0]) if len(points) else 0
        types = enum_numbers("TensorType")
        if like["type"] in (types["int8"], types["uint8"]):
            return bool((data == point & 0xFF).all())
        return point == 0 and not data.any()


def _unread_tensor(values: Values) -> dict[str, Any]:
    """The tensor that stands for a handle, or for a variable that no operator uses: none reads it."""
    return {
        "name": values["name"],
        "shape": np.array([1]),
        "type": enum_numbers("TensorType")["int32"],
        "buffer": 0,
        "quantization": None,
        "is_variable": False,
        "sparsity": None,
        "shape_signature": np.array([], np.int32),
    }
