"""Loads the networks of a study, from files or by built-in name; workers receive them without weights."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from dlasim.compiler_shim.files.recipes import refuse_other_formats
from dlasim.compiler_shim.forms.partition import UnplacedNetwork
from dlasim.dataclass import dataclass
from dlasim.errors import DlasimError, InputError, printable, suggestion, unknown
from dlasim.system.cache import cache_folder
from dlasim.system.fileio import atomic_write, read_file

OnOperator = Callable[[str], None]
_TOPOLOGY_KEYS = {
    "alpha": float, "resolution": int, "classes": int, "layers": int, "context": int, "weight_bits": int,
    "tokens": int, "seed": int,
}  # fmt: skip
_MAX_NAME_LENGTH = 100  # in an error
_MODEL_FORM = "a model must be a name, or a table with file or topology"
_DEMANDS = ("rate", "count", "deadline_ms")  # keys of a model's table, fields of a source
_MAX_DEMAND = 1e9


@dataclass(frozen=True, slots=True)
class Source:
    """Where a network comes from: a file, or the name and arguments of a built-in network. And how often the
    machine runs it: `rate` in a second, `count` in a round, each within `deadline_ms`."""

    label: str
    path: str = ""
    topology: str = ""
    arguments: tuple[tuple[str, Any], ...] = ()
    rate: float = 0.0  # 0: not said
    count: int = 1
    deadline_ms: float = 0.0  # 0: none
    assumes_int8: bool = False  # a float network, timed with stand-in scales

    @property
    def demands(self) -> dict[str, float]:
        """What is said of how often it runs."""
        found = {"rate": self.rate, "count": self.count, "deadline_ms": self.deadline_ms}
        return {name: value for name, value in found.items() if value != (name == "count")}

    def as_dict(self) -> dict[str, Any]:
        """What is needed to find the network again; files have absolute paths."""
        path = str(Path(self.path).resolve()) if self.path else ""
        place = {"label": self.label, "path": path, "topology": self.topology, "arguments": self.arguments}
        return place | {"assumes_int8": self.assumes_int8} | self.demands

    def assumed(self) -> Source:
        """The same network, float, with stand-in scales; its label says so in every table and chart."""
        from dlasim.compiler_shim.files.assumed_scales import MARK  # few need it

        return replace(self, label=f"{self.label} ({MARK})", assumes_int8=True)

    def load(self, numerics: str = "tflm") -> UnplacedNetwork:
        """The network, imported and partitioned."""
        from dlasim.compiler_shim.compile import load_model

        return load_model(self.file(), self.assumes_int8, numerics)

    def content(self) -> str:
        """What tells the model's file from others."""
        return hashlib.sha256(read_file(self.file())).hexdigest()

    def file(self) -> Path:
        """The model as a file; a built-in network is written to the cache on first use."""
        return Path(self.path) if self.path else topology_file(self.topology, dict(self.arguments))


@dataclass(frozen=True, slots=True)
class Blueprint:
    """A partitioned network whose constants are reduced to their shapes: a few KB, enough for timing.

    A `whole` one has its constants, for points that compute tensors.
    """

    content: str  # hash of the model's file
    network: UnplacedNetwork
    constants: tuple[tuple[int, str], ...]  # number and type of those that are left out
    whole: bool = False

    def restore(self) -> UnplacedNetwork:
        """The network with all constants zero, which takes no memory."""
        values = list(self.network.values)
        for number, dtype in self.constants:
            data = np.broadcast_to(np.zeros((), dtype), values[number].shape)
            values[number] = replace(values[number], data=data)
        return replace(self.network, values=tuple(values))


def source(given: Any, folder: Path, origin: str, others: Iterable[str] = ()) -> Source:
    """The source that a study or a flag names.

    It is a file, `mobilenet_v1`, `mobilenet_v1:alpha=0.5,resolution=96`, or a table with `file`, or with
    `topology` and its arguments. `mobilenet_v1@10` runs ten times a second. Paths are relative to `folder`.
    `others` are further names for suggestions.
    """
    if isinstance(given, Mapping):
        return _source_table(given, folder, origin)
    if not isinstance(given, str):
        raise InputError(f"{origin}: {_MODEL_FORM} (got {given!r})")
    path = Path(given) if Path(given).is_absolute() else folder / given
    refuse_other_formats(path)
    if os.path.isfile(path):  # also False if no file can have that name
        return Source(printable(path.stem), str(path))
    start, at, rate = given.rpartition("@")
    if at:
        return _demanding(source(start, folder, origin, others), {"rate": rate}, origin)
    name, _, arguments = given.partition(":")
    if name not in _names():
        files = (file.name for file in path.parent.iterdir()) if os.path.isdir(path.parent) else ()
        hint = suggestion(path.name, (*_names(), *others, *files))
        raise InputError(
            f"{origin}: {given[:_MAX_NAME_LENGTH]!r} is neither a file nor a built-in network"
            f"{hint or '; `dlasim model --list` lists the networks'}"
        )
    pairs = (part.partition("=") for part in arguments.split(",") if part)
    return _topology(name, {key.strip(): value.strip() for key, _, value in pairs}, given, origin)


def blueprint_name(label: str, numerics: str) -> str:
    """What a worker finds the blueprint of a model by, whose constants depend on the arithmetic."""
    return label if numerics == "tflm" else f"{label} by {numerics}"


def read_blueprints(
    sources: Iterable[Source], numerics: Iterable[str], whole: bool = False
) -> dict[str, Blueprint]:
    """The networks of a study, in each arithmetic that its points have, by `blueprint_name`."""
    wanted = dict.fromkeys(("tflm", *numerics))
    return {
        blueprint_name(found.label, each): blueprint(found, whole, each)
        for found in sources
        for each in wanted
    }


def blueprint(found: Source, whole: bool = False, numerics: str = "tflm") -> Blueprint:
    """Load and partition the network; without its weights unless it is `whole`."""
    network, content = found.load(numerics), found.content()
    if whole:
        return Blueprint(content, network, (), whole)
    constants = tuple(
        (number, value.data.dtype.str)
        for number, value in enumerate(network.values)
        if value.data is not None
    )
    stripped_values = list(network.values)
    for number, _ in constants:
        data = stripped_values[number].data
        assert data is not None
        assert data.shape == stripped_values[number].shape
        stripped_values[number] = replace(stripped_values[number], data=None)
    return Blueprint(content, replace(network, values=tuple(stripped_values)), constants)


def _source_table(given: Mapping[str, Any], folder: Path, origin: str) -> Source:
    values = dict(given)
    label = values.pop("label", None)
    demands = {name: values.pop(name) for name in _DEMANDS if name in values}
    if "file" in values and len(values) == 1:
        found = source(str(values["file"]), folder, origin)
    elif "topology" in values:
        name = str(values.pop("topology"))
        text = ",".join(f"{key}={value}" for key, value in values.items())
        found = _topology(name, values, f"{name}:{text}" if text else name, origin)
    else:
        raise InputError(f"{origin}: {_MODEL_FORM} (got {given!r})")
    found = found if label is None else replace(found, label=printable(str(label)))
    return _demanding(found, demands, origin)


def _demanding(found: Source, demands: Mapping[str, Any], origin: str) -> Source:
    """The network with how often it runs."""
    read: dict[str, Any] = {}
    for name, raw in demands.items():
        kind = int if name == "count" else float
        try:
            value = kind(raw) if isinstance(raw, str) or kind(raw) == raw else 0
        except (TypeError, ValueError, OverflowError):
            value = 0
        if isinstance(raw, bool) or not 0 < value <= _MAX_DEMAND:
            wanted = "whole number" if kind is int else "number"
            raise InputError(f"{origin}: {found.label}: {name} must be a {wanted} above 0 (got {raw!r})")
        read[name] = value
    return replace(found, **read)


def _topology(name: str, given: Mapping[str, Any], label: str, origin: str) -> Source:
    if name not in _names():
        raise InputError(f"{origin}: {unknown('built-in network', name, _names())}")
    arguments = []
    for key, value in given.items():
        if key not in _TOPOLOGY_KEYS:
            raise InputError(f"{origin}: {label}: {unknown('argument', str(key), _TOPOLOGY_KEYS)}")
        try:
            arguments.append((key, _TOPOLOGY_KEYS[key](value)))
        except (TypeError, ValueError, OverflowError):
            wanted = "a number" if _TOPOLOGY_KEYS[key] is float else "a whole number"
            raise InputError(f"{origin}: {label}: {key} must be {wanted} (got {value!r})") from None
    return Source(label, topology=name, arguments=tuple(sorted(arguments)))


def _names() -> tuple[str, ...]:
    from dlasim.compiler_shim.topologies import topology_names

    return topology_names()


def topology_file(name: str, arguments: Mapping[str, Any], on_operator: OnOperator | None = None) -> Path:
    """Get the file from the cache if possible: building it takes seconds, since its ranges are measured.

    `on_operator` is called with the name of each operator that is built.
    """
    key = hashlib.sha256(f"{_topology_code()} {name} {sorted(arguments.items())}".encode()).hexdigest()[:16]
    try:
        path = cache_folder() / "networks" / f"{name}-{key}.tflite"
    except DlasimError:
        return _file_in_memory(_topology_bytes(name, arguments, on_operator))
    if path.exists():
        return path
    data = _topology_bytes(name, arguments, on_operator)
    try:
        path.parent.mkdir(exist_ok=True)
        atomic_write(path, data)
    except (OSError, DlasimError):  # such as a full disk
        return _file_in_memory(data)
    return path


def _topology_bytes(name: str, arguments: Mapping[str, Any], on_operator: OnOperator | None) -> bytes:
    from dlasim.compiler_shim.tflite.writer import write_tflite
    from dlasim.compiler_shim.topologies import build_topology

    return write_tflite(build_topology(name, **arguments, on_operator=on_operator))


def _file_in_memory(data: bytes) -> Path:
    """A file that takes no disk space and exists until this process ends."""
    handle = os.memfd_create("network")
    with open(handle, "wb", closefd=False) as file:
        file.write(data)
    return Path(f"/proc/self/fd/{handle}")


@cache
def _topology_code() -> str:
    """Hash of the code that builds and writes networks."""
    root = Path(__file__).parents[2] / "compiler_shim"
    return code_hash([root / "topologies", root / "tflite"])


def code_hash(places: list[Any]) -> str:
    """Hash of these files of code and constants, and of those in these folders."""
    digest = hashlib.sha256()
    pending = list(places)
    while pending:
        place = pending.pop()
        if place.is_dir():
            pending += sorted(
                (item for item in place.iterdir() if item.name != "__pycache__"), key=lambda item: item.name
            )
        elif place.name.endswith((".py", ".toml")):
            digest.update(place.name.encode() + b"\0" + place.read_bytes())
    return digest.hexdigest()
