"""Tests that tosa-tools generates for operators of the integer profile: all that dlasim takes are exact."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dlasim
from dlasim.checking.arm_reference import reference_outputs
from dlasim.compiler_shim.tosa.tosa_import import convert_tosa
from dlasim.errors import InputError
from tests.tosa.tosa_maker import REFERENCE, needs_reference

GENERATOR = shutil.which("tosa_verif_build_tests") or ""
OPERATORS = (
    "abs|add|argmax|arithmetic_right_shift|avg_pool2d|bitwise_and|bitwise_not|bitwise_or|bitwise_xor|cast|clamp|"
    "clz|concat|equal|gather|greater|greater_equal|intdiv|logical_and|logical_left_shift|logical_not|logical_or|"
    "logical_right_shift|logical_xor|max_pool2d|maximum|minimum|mul|negate|reduce_all|reduce_any|reduce_max|"
    "reduce_min|reduce_sum|rescale|resize|reverse|scatter|select|sub|table|tile"
)
# For which the CPU has no kernel: bits of two tensors, and rows at several places that are computed.
REFUSED = {"bitwise_and", "bitwise_or", "bitwise_xor", "scatter"}
OPTIONS = (
    "--profile tosa-pro-int --extension none --test-type positive --no-special-tests --tosa-version 1.0.1 "
    "--tensor-dim-range 1,6 --target-rank 3 --target-rank 4 --max-resize-output-dim 12 "
    "--max-pooling-padding 1 --max-pooling-stride 2 --max-pooling-kernel 2"
)


@pytest.mark.slow
@needs_reference
@pytest.mark.skipif(not GENERATOR, reason="no tosa_verif_build_tests: pip install tosa-tools")
def test_generated_tests_are_exact(tmp_path: Path) -> None:
    command = [GENERATOR, "-o", str(tmp_path), *OPTIONS.split(), "--filter", f"^({OPERATORS})$"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    taken = set[str]()
    for description in sorted(tmp_path.glob("*/*/desc.json")):
        kind = description.parent.parent.name
        if is_exact(description):
            taken.add(kind)
        else:
            assert kind in REFUSED, description.parent.name
    assert taken >= {*OPERATORS.split("|")} - REFUSED


def is_exact(description: Path) -> bool:
    """Whether dlasim computes what the reference model does; False if it refuses the network."""
    given: dict[str, Any] = json.loads(description.read_text(encoding="utf-8"))
    path = description.parent / given["tosa_file"]
    inputs = [np.load(description.parent / name) for name in given["ifm_file"]]
    try:
        convert_tosa(path).run()
    except InputError:
        return False
    names = given["ifm_name"], given["ofm_name"]
    expected = reference_outputs(REFERENCE, path.read_bytes(), path.parent, names, inputs)
    found = dlasim.run(path, inputs=inputs if len(inputs) > 1 else inputs[0]).outputs
    for have, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(have.astype(np.int64), want.astype(np.int64))
    return True
