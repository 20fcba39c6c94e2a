"""The files that the options of a command name as something to read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def input_files(given: Mapping[str, Any]) -> Iterator[str]:
    """Every such file; outputs must not overwrite one of them."""
    for name in ("config_file", "labels", "steps"):
        if given.get(name):
            yield given[name]
    yield from given.get("inputs", ())
    if (given.get("cpu") or "").endswith(".toml"):
        yield given["cpu"]
    if (given.get("technology") or "").endswith(".toml"):
        from dlasim.sim.physical.technology import technology_files

        yield from technology_files(given["technology"])
    for device in given.get("devices", ()):
        yield device.rpartition("@")[0].rpartition(":")[0]  # FILE.py:CLASS@ADDRESS
