"""The RTL's decoder of compressed weights against the readable engine, word by word."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from dlasim.compiler_shim.lowering.addresses.weight_encoder import encode_weights
from dlasim.sim.readable_engine.weight_decoder import decode_words
from tests.rtl.builder import RTL, needs_verilator

BENCH = Path(__file__).parent / "weight_decoder.sv"


def random_transfer(rng: np.random.Generator, number: int) -> tuple[np.ndarray, int]:
    """Words and steps: every other encoded, else of any bits, few or many of them 1."""
    if number % 2:
        weights = np.clip(np.round(rng.normal(0, rng.choice([0.3, 2, 9, 40]), 300)), -128, 127)
        weights[rng.random(300) < rng.choice([0, 0.8])] = 0
        weights[:150] *= rng.integers(0, 2)
        code = encode_weights(weights.astype(np.int8))
        return np.frombuffer(code.to_bytes(), np.uint8).reshape(-1, 16), code.steps
    words = int(rng.integers(1, 6))
    bits = rng.random((words, 128)) < rng.choice([0.03, 0.2, 0.5, 0.9])
    bits[:, :4] = rng.random((words, 4)) < 0.5
    code = np.packbits(bits, axis=1, bitorder="little")
    code[code[:, 0] & 15 == 15, 1:4] = 0  # a run of less than 16
    return code, words + int(rng.integers(0, 3))


def test_every_step_is_the_engines(tmp_path: Path) -> None:
    needs_verilator()
    rng = np.random.default_rng(21)
    transfers = [random_transfer(rng, number) for number in range(1000)]
    lines = []
    for code, steps in transfers:
        lines += [f"{len(code)} {steps}", *(word[::-1].tobytes().hex(" ", 4) for word in code)]
    (tmp_path / "transfers.txt").write_text("\n".join(lines) + "\n")
    sources = [str(RTL / "dla_weight_decoder.sv"), str(BENCH)]
    make = [
        "verilator",
        "--binary",
        "-O1",
        "-CFLAGS",
        "-O0",
        "-Wno-fatal",
        "--top-module",
        "weight_decoder_bench",
        "--Mdir",
        "build",
    ]
    subprocess.run([*make, *sources], cwd=tmp_path, check=True, capture_output=True)
    command = [str(tmp_path / "build" / "Vweight_decoder_bench")]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    found = [bytes.fromhex(line) for line in done.stdout.splitlines()[: len(transfers)]]
    assert found == [decode_words(code, steps).tobytes() for code, steps in transfers]
    assert {int(word[0]) & 15 for code, _ in transfers for word in code} == set(range(16))
