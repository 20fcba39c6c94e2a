"""The documents say what the tables say, completely."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dlasim.cli import main
from dlasim.isa.documents.markdown import escape
from dlasim.isa.faults import FAULT_DOCS, Fault
from dlasim.isa.file_records import ENUMS, RECORDS
from dlasim.isa.host_ops import HOST_OPERATORS
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import REGISTERS
from tests.tool_module import tool_module

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {name: render() for name, render in tool_module("generators.pages").PAGES.items()}


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["isa", *arguments], prog_name="dlasim")


def section(page: str, title: str) -> str:
    """The text below a heading, up to the next of any level."""
    match = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", PAGES[page], re.MULTILINE | re.DOTALL)
    assert match, f"{page} has no section {title}"
    return match[1]


def bits_of(text: str) -> list[int]:
    """Every bit that an encoding table claims, with repetition."""
    ranges = re.findall(r"^\| (\d+)(?::(\d+))? \|", text, re.MULTILINE)
    return [bit for high, low in ranges for bit in range(int(low or high), int(high) + 1)]


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda i: i.mnemonic)
def test_each_instruction_has_a_complete_section(instruction: object) -> None:
    row = next(i for i in INSTRUCTIONS if i is instruction)
    text = section("isa.md", row.mnemonic)
    encoding = text.partition("**Encoding**")[2].partition("**Operands")[0].partition("**Registers")[0]
    assert sorted(bits_of(encoding)) == list(range(64)), "the encoding shows each bit once"
    assert f"0x{row.opcode:02X}" in text
    for field in row.fields:
        assert f"| {field.name} |" in encoding
        assert all(name in encoding for name in field.names)
    for name in row.registers:
        assert f"[{name}](registers.md#" in text
    for fault in row.errors:
        assert f"[{fault.name}](#faults)" in text
    assert ("Overlap: " in text) == row.is_operation, "operations say what overlapping operands mean"


def test_each_register_has_a_row_with_its_address_access_and_meaning() -> None:
    for register in REGISTERS:
        row = re.search(
            rf"^\| 0x{register.address:03X} \| {register.name} \|.*$", PAGES["registers.md"], re.MULTILINE
        )
        assert row, register.name
        assert f"| {register.access.value}" in row[0]
        assert escape(register.doc) in row[0]
        assert (", busy" in row[0]) == register.while_busy


def test_each_part_of_a_packed_register_has_a_row() -> None:
    for register in REGISTERS:
        for field in register.fields if not register.is_plain else ():
            assert f"| {field.name} |" in PAGES["registers.md"]


def test_each_fault_record_enumeration_and_host_operator_is_documented() -> None:
    for fault in Fault:
        assert f"| {int(fault)} | {fault.name} | {escape(FAULT_DOCS[fault])} |" in PAGES["isa.md"]
    for record in RECORDS:
        text = section("program-format.md", record.name)
        assert all(f"| {member.name} |" in text for member in record.members)
    for kind, _ in ENUMS:
        text = section("program-format.md", kind.__name__)
        assert all(f"| {int(member)} | {member.name} |" in text for member in kind)
    for operator in HOST_OPERATORS:
        text = section("host-operators.md", operator.name)
        assert all(f"| {attribute.name} |" in text for attribute in operator.attributes)


def test_record_offsets_are_those_of_packed_members() -> None:
    sizes = {"u8": 1, "u32": 4, "i32": 4, "u64": 8, "f32": 4}
    for record in RECORDS:
        rows = re.findall(r"^\| (\d+) \| (\w+) \|", section("program-format.md", record.name), re.MULTILINE)
        position = 0
        for member, (offset, name) in zip(record.members, rows, strict=True):
            assert (int(offset), name) == (position, member.name)
            position += sizes[member.type] * member.count


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_headings(page: str) -> None:
    prose = re.sub(r"```.*?```", "", PAGES[page], flags=re.DOTALL)
    for target in re.findall(r"(?<!\\)\]\(([^)]*)\)", prose):
        file, _, anchor = target.partition("#")
        text = PAGES.get(file or page) or (DOCS / file).read_text("utf-8")  # a page written by hand
        titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
        assert anchor in anchors, f"{page} links to {target}"


@pytest.mark.parametrize("page", PAGES)
def test_tables_have_as_many_cells_in_each_row(page: str) -> None:
    for block in re.findall(r"(?:^\|.*\|\n)+", PAGES[page], re.MULTILINE):
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(counts) == 1, block


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("OP_CONV", "OP_CONV: convolution"),
        ("conv", "OP_CONV: convolution"),
        ("op_wait", "WAIT: block"),
        ("kernel", "KERNEL: size of the window"),
        ("MISALIGNED", "MISALIGNED: an int32"),
        ("softmax", "SOFTMAX: host operator"),
        ("layerkind", "LayerKind: layer kinds"),
    ],
)
def test_names_are_found_in_any_case(name: str, expected: str) -> None:
    assert call(name).stdout.startswith(expected)


def test_a_name_with_two_meanings_shows_both() -> None:
    shown = call("PAD").stdout
    assert "PAD: pixels before" in shown
    assert "PAD: host operator" in shown


def test_an_unknown_name_suggests_and_fails() -> None:
    result = call("OP_CNOV")
    assert result.exit_code == 2
    assert result.stderr.startswith("dlasim: unknown name 'OP_CNOV'; did you mean OP_CONV")
    assert len(result.stderr.splitlines()) == 1


def test_without_a_name_everything_is_listed() -> None:
    shown = call().stdout
    names = (
        [i.mnemonic for i in INSTRUCTIONS] + [r.name for r in REGISTERS] + [o.name for o in HOST_OPERATORS]
    )
    assert all(name in shown for name in names)


def test_json_is_complete_and_matches_the_tables() -> None:
    entries = json.loads(call("--format", "json").stdout)
    by_kind: dict[str, dict[str, dict[str, object]]] = {}
    for entry in entries:
        by_kind.setdefault(entry["kind"], {})[entry["name"]] = entry
    assert {n: e["opcode"] for n, e in by_kind["instruction"].items()} == {
        i.mnemonic: i.opcode for i in INSTRUCTIONS
    }
    assert {n: e["address"] for n, e in by_kind["register"].items()} == {r.name: r.address for r in REGISTERS}
    assert {n: e["code"] for n, e in by_kind["fault"].items()} == {f.name: int(f) for f in Fault}
    assert {n: e["size_bytes"] for n, e in by_kind["record"].items()} == {
        r.name: r.size_bytes for r in RECORDS
    }
    assert set(by_kind["enumeration"]) == {kind.__name__ for kind, _ in ENUMS}
    assert {n: e["code"] for n, e in by_kind["host operator"].items()} == {
        o.name: o.code for o in HOST_OPERATORS
    }


@pytest.mark.parametrize("kind", ["text", "markdown", "json", "c"])
def test_each_format_shows_one_entry_of_each_topic(kind: str) -> None:
    names = ["OP_POOL", "STRIDE", "QUEUE", "tensor", "Role", "CONV_2D"]
    result = call("--format", kind, *names)
    assert result.exit_code == 0
    assert all(name.lower() in result.stdout.lower() for name in names)
