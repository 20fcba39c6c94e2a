"""`make demo`: what dlasim does, as commands that a reader can repeat; results land in out/demo."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = Path("out/demo")
STEPS = (
    ("What is installed, and what is missing for what", "doctor"),
    ("A built-in int8 network, written without TensorFlow", f"model resnet8 -o {OUT}/resnet8.tflite"),
    ("Its outputs and its cycles, layer by layer", f"run {OUT}/resnet8.tflite --output {OUT}"),
    ("The same on a machine with twice the PEs", f"run {OUT}/resnet8.tflite --pes 128 --timing-only"),
    ("An instruction, looked up in the table that everything reads", "isa OP_CONV"),
    ("The smallest whole program, assembled", f"asm examples/relu.s -o {OUT}/relu.bin"),
    ("… and turned back into text", f"disasm {OUT}/relu.bin --annotate -o {OUT}/relu.s"),
)


def main() -> int:
    """Run every step; the first that fails ends it."""
    os.chdir(ROOT)
    OUT.mkdir(parents=True, exist_ok=True)
    for title, arguments in STEPS:
        print(f"\n# {title}\n$ dlasim {arguments}", flush=True)
        done = subprocess.run([sys.executable, "-m", "dlasim", *shlex.split(arguments)], check=False)
        if done.returncode:
            return done.returncode
    print(f"\nResults are in {OUT}:")
    for file in sorted(OUT.iterdir()):
        print(f"  {file.name:<20} {file.stat().st_size:>10,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
