"""The C headers: they compile without a warning, and C sees the numbers that Python sees."""

from __future__ import annotations

import ctypes
import importlib.util
import platform
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from dlasim.cli import main
from dlasim.isa import codec, program
from dlasim.isa.faults import Fault
from dlasim.isa.file_records import ENUMS, FORMAT_VERSION, MAGIC, RECORDS
from dlasim.isa.host_ops import HOST_OPERATORS
from dlasim.isa.instruction_rows import Unit
from dlasim.isa.instructions import INSTRUCTIONS
from dlasim.isa.registers import REGISTERS, Region
from tests.tool_module import tool_module

STRICT = ["-Wall", "-Wextra", "-Werror", "-std=c11", "-pedantic", "-O1", "-ffreestanding", "-nostdinc"]
RISCV = ["-target", "riscv32-freestanding-none", "-march=rv32imac", "-mabi=ilp32"]
HOST = ["-target", f"{platform.machine()}-linux-gnu", "-fPIC"]
HEADERS = tool_module("generators.c_headers").HEADERS
INCLUDES = "".join(f'#include "{name}"\n' for name in HEADERS)

Zig = Callable[..., None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the headers, generated now."""
    place = tmp_path_factory.mktemp("headers")
    for name, render in HEADERS.items():
        (place / name).write_text(render(), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def zig(folder: Path) -> Zig:
    """Runs a tool of the cross toolchain in that folder."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("ziglang is not installed: no C compiler to check the headers with")
    headers = str(Path(spec.submodule_search_locations[0]) / "lib" / "include")

    def run(tool: str, *arguments: str) -> None:
        extra = [*STRICT, "-isystem", headers, "-I."] if tool == "clang" else []
        command = [sys.executable, "-P", "-m", "ziglang", tool, *extra, *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    return run


def compile_riscv(zig: Zig, folder: Path, text: str) -> None:
    (folder / "check.c").write_text(text, encoding="utf-8")
    zig("clang", *RISCV, "-c", "check.c", "-o", "check.o")


@pytest.mark.parametrize("name", HEADERS)
def test_each_header_stands_alone_and_may_be_included_twice(zig: Zig, folder: Path, name: str) -> None:
    compile_riscv(zig, folder, f'#include "{name}"\n#include "{name}"\nint unused;\n')


def test_all_headers_in_one_compile(zig: Zig, folder: Path) -> None:
    shown = CliRunner().invoke(main, ["isa", "--format", "c"], prog_name="dlasim").stdout
    (folder / "all.h").write_text(shown, encoding="utf-8")
    compile_riscv(zig, folder, '#include "all.h"\nint unused;\n')


def test_constants_are_those_of_the_tables(zig: Zig, folder: Path) -> None:
    expected: dict[str, int] = {
        "DLA_PROGRAM_FORMAT_VERSION": FORMAT_VERSION,
        "sizeof(DLA_PROGRAM_MAGIC)": len(MAGIC),
        "DLA_ISA_MAJOR": program.ISA_MAJOR,
        "DLA_HOST_OP_SOFTMAX": 13,
    }
    expected |= {f"DLA_OPCODE_{i.mnemonic}": i.opcode for i in INSTRUCTIONS}
    expected |= {f"DLA_FAULT_{fault.name}": int(fault) for fault in Fault}
    expected |= {f"DLA_UNIT_{unit.name}": int(unit) for unit in Unit}
    expected |= {f"DLA_REGION_{region.name}": int(region) for region in Region}
    expected |= {f"DLA_REG_{r.name}": r.address for r in REGISTERS}
    expected |= {f"DLA_RESET_{r.name}": r.reset for r in REGISTERS}
    expected |= {f"DLA_REGISTER_NUMBER(DLA_REG_{r.name})": r.index for r in REGISTERS}
    expected |= {f"DLA_HOST_OP_{operator.name}": operator.code for operator in HOST_OPERATORS}
    for register in REGISTERS:
        for field in () if register.is_plain else register.fields:
            expected[f"DLA_{register.name}_{field.name.upper()}_SHIFT"] = field.low
            expected[f"DLA_{register.name}_{field.name.upper()}_MASK"] = field.mask
    lines = [f'_Static_assert({name} == {value}u, "{name}");' for name, value in expected.items()]
    compile_riscv(zig, folder, INCLUDES + "\n".join(lines))


def test_structs_have_the_layout_of_the_file(zig: Zig, folder: Path) -> None:
    lines = ["#include <stddef.h>"]
    for record in RECORDS:
        name = f"struct dla_program_{record.name}"
        lines += [f'_Static_assert(sizeof({name}) == {record.size_bytes}, "size");']
        fields = record.dtype.fields
        assert fields is not None
        for member in record.members:
            offset = fields[member.name][1]
            lines += [f'_Static_assert(offsetof({name}, {member.name}) == {offset}, "{member.name}");']
    for operator in HOST_OPERATORS:
        word = 0
        for attribute in operator.attributes:
            name = f"struct dla_host_{operator.name.lower()}"
            lines += [
                f'_Static_assert(offsetof({name}, {attribute.name}) == {4 * word}, "{attribute.name}");'
            ]
            word += attribute.count
    compile_riscv(zig, folder, INCLUDES + "\n".join(lines))


def test_enumerations_have_the_numbers_of_the_file(zig: Zig, folder: Path) -> None:
    prefixes = ("SECTION", "DATA_TYPE", "ROLE", "STEP_KIND", "LAYER_KIND")
    lines = []
    for (kind, _), prefix in zip(ENUMS, prefixes, strict=True):
        lines += [f'_Static_assert(DLA_{prefix}_{m.name.upper()} == {int(m)}, "{m.name}");' for m in kind]
    compile_riscv(zig, folder, INCLUDES + "\n".join(lines))


def test_a_wrong_number_would_be_noticed(zig: Zig, folder: Path) -> None:
    with pytest.raises(AssertionError, match="static assertion failed"):
        compile_riscv(zig, folder, f'{INCLUDES}_Static_assert(DLA_OPCODE_HALT == 0x06, "HALT");')


@pytest.mark.skipif(sys.platform != "linux", reason="loads what it compiles, as a Linux shared object")
def test_c_encodes_what_python_encodes(zig: Zig, folder: Path) -> None:
    lines = [INCLUDES]
    for instruction in INSTRUCTIONS:
        name = instruction.mnemonic.lower()
        parameters = ", ".join(f"uint32_t p{i}" for i, _ in enumerate(instruction.fields))
        arguments = ", ".join(f"p{i}" for i, _ in enumerate(instruction.fields))
        prototype = f"uint64_t {name}({parameters or 'void'})"
        lines += [f"{prototype};", f"{prototype} {{ return dla_encode_{name}({arguments}); }}"]
    (folder / "encode.c").write_text("\n".join(lines), encoding="utf-8")
    zig("clang", *HOST, "-c", "encode.c", "-o", "encode.o")
    zig("ld.lld", "-shared", "encode.o", "-o", "encode.so")
    library = ctypes.CDLL(str(folder / "encode.so"))
    numbers = random.Random(0)
    for instruction in INSTRUCTIONS:
        function = library[instruction.mnemonic.lower()]
        function.restype = ctypes.c_uint64
        function.argtypes = [ctypes.c_uint32] * len(instruction.fields)
        for _ in range(20):
            values = {f.name: numbers.randint(f.lowest, f.highest) for f in instruction.fields}
            assert function(*values.values()) == codec.encode(instruction.mnemonic, **values)
