"""What reports call the layers: the names that a network's author gave, as far as the file still tells.

A converter names a tensor after all that it fused, with the model's own name in front of each: for one
`model/relu/Relu;model/bn/FusedBatchNormV3;model/conv/Conv2D`. Of that the layer's name stays, here `conv`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from dlasim.compiler_shim.network.graph import Graph, Operator
from dlasim.compiler_shim.operators.table import OPERATORS

_MAX_LENGTH = 48
# Names of a hostile file are as long as it likes.
_MAX_READ = 4096  # characters of a name that a file may make as long as it likes
_MAX_WORDS = 8  # the last parts of a path, which alone are looked at
# Names that say nothing: of the function that a converter made, or of a tensor that has none.
_NAMELESS = re.compile(r"(Stateful)?PartitionedCall|Identity|tensor|main|", re.IGNORECASE)
_NUMBER = re.compile(r"[:_.\d]*(_int8)?[:_.\d]*$")
Path = tuple[str, ...]


class Namer:
    """Hands out names, each only once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._uses: Counter[str] = Counter()

    def name(self, wanted: str) -> str:
        """The name, with a number behind it where it is taken."""
        stem = wanted[:_MAX_LENGTH]
        while True:
            self._uses[stem] += 1
            name = stem if self._uses[stem] == 1 else f"{stem}_{self._uses[stem]}"
            if name not in self._taken:
                self._taken.add(name)
                return name


def layer_names(graph: Graph, names: Namer) -> list[str]:
    """One name for each operator, all different, in their order; of its kind and number where it has none."""
    paths = [_path(graph.tensors[operator.outputs[0]].name, operator.kind) for operator in graph.operators]
    paths = _without_common_scope(paths)
    uses = Counter(path[:-1] for path in paths if len(path) > 1) + Counter(paths)
    return [
        names.name("/".join(_shortest(path, uses)) or _numbered(operator, number))
        for number, (operator, path) in enumerate(zip(graph.operators, paths, strict=True))
    ]


def _shortest(path: Path, uses: Counter[Path]) -> Path:
    """The path without its last word where that is not needed to tell operators apart."""
    return path[:-1] if len(path) > 1 and uses[path[:-1]] == 1 else path


def _path(name: str, kind: str) -> Path:
    """The words of the part that tells most; none if that is nothing."""
    parts = [part for part in map(_words, name[:_MAX_READ].split(";")) if part]
    # The last word of the part that tells of the operator itself, not of what is fused into it.
    for last in OPERATORS[kind].name_words if kind in OPERATORS else ():
        for part in parts:
            if part[-1].rstrip("0123456789") == last:
                return part
    return parts[0] if parts else ()


def _words(part: str) -> Path:
    words = (re.sub(r"[^\w.:-]", "_", word).removeprefix("tfl.") for word in part.split("/"))
    return tuple(word for word in words if not _NAMELESS.fullmatch(_NUMBER.sub("", word)))[-_MAX_WORDS:]


def _without_common_scope(paths: Sequence[Path]) -> list[Path]:
    """The paths without the model's name, with which all of several words begin; the last word stays."""
    while True:
        scopes = [path[0] for path in paths if len(path) > 1]
        if len(scopes) < 2 or len(set(scopes)) > 1:
            return list(paths)
        paths = [path[1:] if len(path) > 1 else path for path in paths]


def _numbered(operator: Operator, number: int) -> str:
    """By kind, and the number that errors and viewers give the operator."""
    found = re.search(r"\d+$", operator.location)
    return f"{operator.kind.lower()}_{found[0] if found else number}"
