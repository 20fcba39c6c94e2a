"""Machines in TOML files: those of users, and the presets that dlasim includes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dlasim.errors import InputError, printable, unknown
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_table import PARAMETERS
from dlasim.sim.configuration.parameter_names import full_names
from dlasim.system.fileio import parse_toml, read_toml

_PRESETS = Path(__file__).parent / "presets"


def from_mapping(values: Mapping[str, Any], origin: str) -> DlaConfig:
    """A configuration from a table of parameters; `origin` names the table in errors."""
    try:
        for name, value in full_names(values).items():
            if name in PARAMETERS:
                PARAMETERS[name].refuse_zero(name, value)
        return DlaConfig().replace(**dict(values))
    except InputError as error:
        raise InputError(f"{origin}: {error}") from None


def load_file(path: str | Path) -> DlaConfig:
    """Read the configuration in a TOML file."""
    values = read_toml(path)
    values.setdefault("name", printable(Path(path).stem))
    return from_mapping(values, str(path))


def preset_names() -> tuple[str, ...]:
    """The names of the presets that dlasim includes."""
    return tuple(sorted(item.name[:-5] for item in _PRESETS.iterdir() if item.name.endswith(".toml")))


def preset(name: str) -> DlaConfig:
    """The preset of that name."""
    if name not in preset_names():
        raise InputError(unknown("preset", name, preset_names()))
    return from_mapping({"name": name, **parse_toml(_preset_text(name), name)}, f"preset {name}")


def preset_summary(name: str) -> str:
    """A description of a preset: the first sentence of its file."""
    comment = " ".join(
        line.removeprefix("#").strip()
        for line in itertools.takewhile(lambda line: line.startswith("#"), _preset_text(name).splitlines())
    )
    return re.split(r"[.:] ", comment.rstrip("."), maxsplit=1)[0]


def _preset_text(name: str) -> str:
    return (_PRESETS / f"{name}.toml").read_text(encoding="utf-8")
