"""The texts below the fields of classes, which only the source of their module has."""

from __future__ import annotations

import ast
import inspect
from functools import cache
from itertools import pairwise
from types import ModuleType


def fields_of(module: ModuleType, name: str) -> dict[str, str]:
    """Each field that the class itself declares, and its type as it is written."""
    body = _classes(module)[name].body
    return {
        ast.unparse(node.target): ast.unparse(node.annotation)
        for node in body
        if isinstance(node, ast.AnnAssign)
    }


def texts_of(module: ModuleType, name: str) -> dict[str, str]:
    """What stands below the fields of a class, and of those of the module that it extends."""
    node = _classes(module).get(name)
    if node is None:
        return {}
    found = {key: text for base in node.bases for key, text in texts_of(module, ast.unparse(base)).items()}
    for field, below in pairwise(node.body):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            found[ast.unparse(field.target)] = str(ast.literal_eval(below.value))
    return found


@cache
def _classes(module: ModuleType) -> dict[str, ast.ClassDef]:
    tree = ast.parse(inspect.getsource(module))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
