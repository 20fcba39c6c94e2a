"""`make demo`: what dlasim does, as commands that a reader can repeat; results land in out/demo."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("out/demo")
VENV = ".venv/bin in your PATH"
STEPS = (
    ("What is installed, and what is missing for what", "doctor"),
    ("A built-in int8 network, written without TensorFlow", f"model resnet8 -o {OUT}/resnet8.tflite"),
    ("Compiled for a machine of 64 PEs and 64 KiB, and compared with TensorFlow bit for bit",
     f"verify {OUT}/resnet8.tflite --sram 64KiB"),
    ("Its cycles, layer by layer", f"run {OUT}/resnet8.tflite --sram 64KiB --output {OUT}"),
    ("The same program, run by RISC-V firmware on the virtual prototype",
     f"run {OUT}/resnet8.tflite --sram 64KiB --host riscv --report {OUT}/riscv.json"),
    ("A dozen machines",
     f"sweep {OUT}/resnet8.tflite --out {OUT}/sweep --pes 32,64,128 --sram 16KiB,256KiB "
     "--parallel input,output"),
    ("… as a chart", f"plot {OUT}/sweep -o {OUT}/cycles.png"),
)  # fmt: skip
NEXT = (
    f"dlasim explain {OUT}/resnet8.tflite --sram 16KiB    where each operator runs, how it is cut, and why",
    "dlasim sweep paper --out out/paper                figures of the paper that started this",
    "dlasim isa OP_CONV                                the instruction behind most of those cycles",
    "dlasim disasm --help                              a compiled program as text, with its registers",
)


def main() -> int:
    """Run every step; the first that fails ends it."""
    os.chdir(ROOT)
    OUT.mkdir(parents=True, exist_ok=True)
    for title, arguments in STEPS:
        print(f"\n# {title}\n$ dlasim {arguments}", flush=True)
        done = subprocess.run([sys.executable, "-P", "-m", "dlasim", *shlex.split(arguments)], check=False)
        if done.returncode:
            return done.returncode
    print(f"\nThe chart is {OUT}/cycles.png, its numbers {OUT}/sweep/results.csv. Try next, with {VENV}:")
    for line in NEXT:
        print(f"  {line}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
