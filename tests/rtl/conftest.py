"""Every test here builds the RTL, and is left out of `make test`; `make rtl` runs them."""

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.rtl import builder
from tests.rtl.machine import RtlMachine
from tests.rtl.machines import machine
from tests.rtl.streams import MEMORY_BYTES
from tests.tool_module import tool_module


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in this folder."""
    for item in items:
        if "tests/rtl" in item.path.as_posix():
            item.add_marker(pytest.mark.rtl)


@pytest.fixture(autouse=True)
def verilator() -> None:
    """Skip where the RTL cannot be built."""
    builder.needs_verilator()


@pytest.fixture
def synthesis() -> ModuleType:
    """tools/synthesis.py, where its programs are installed."""
    tool = tool_module("synthesis")
    if lacking := tool.missing():
        pytest.skip(f"no synthesis without {lacking}")
    return tool


@pytest.fixture
def rtl(request: pytest.FixtureRequest) -> Iterator[RtlMachine]:
    """The RTL of the machine that the test's parameter `name` names."""
    config = machine(request.getfixturevalue("name"))
    with RtlMachine(builder.build(config), config.sram_bytes, MEMORY_BYTES) as running:
        yield running
