"""docs/driver-api.md has every function of the firmware's headers, as it is declared, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "driver-api.md"
HEADERS = ("src/runtime.h", "src/program.h", "src/dla.h", "src/uart.h", "boot/boot.h")
_FUNCTION = re.compile(
    r"^(?:static inline )?(?:enum \w+|struct \w+|_Noreturn void|\w+) \*?(\w+)\([^;{]*\)", re.M
)


def _code(text: str) -> str:
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def _declared(header: str) -> dict[str, str]:
    text = _code((ROOT / "firmware" / header).read_text())
    found = {match[1]: " ".join(match[0].split()) for match in _FUNCTION.finditer(text)}
    return {**found, **({"program_data": _program_data(text)} if "program_data" in text else {})}


def _program_data(text: str) -> str:
    match = re.search(r"^static inline void \*program_data\([^{]*\)", text, re.M)
    assert match is not None
    return " ".join(match[0].split())


@pytest.mark.parametrize("header", HEADERS)
def test_each_function_is_described_as_it_is_declared(header: str) -> None:
    page = " ".join(PAGE.read_text().split())
    declared = _declared(header)
    assert len(declared) >= 3
    assert [text for text in declared.values() if f"`{text}" not in page] == []


def test_nothing_else_is_described() -> None:
    declared = {name for header in HEADERS for name in _declared(header)}
    entries = re.findall(r"^`[^`]*?\b(\w+)\([^`]*`\n: ", PAGE.read_text(), re.M)
    assert set(entries) == declared


def test_the_numbers_of_the_statuses() -> None:
    header = _code((ROOT / "firmware/src/status.h").read_text())
    table = re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE.read_text(), re.M)
    assert dict(table) == dict(re.findall(r"(\w+) = (\d+),", header))
