"""Every tensor of a TOSA network: outputs by Arm's reference model where that is installed, all others by
dlasim's kernels.

It is a program of the PyPI package `tosa-tools`, which asks for a NumPy of its own: it is looked for in PATH.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dlasim.checking.own_kernels import HostKernels
from dlasim.checking.tensorflow_reference import Reference
from dlasim.compiler_shim.files.importing import prepare
from dlasim.compiler_shim.files.input_file import InputFile
from dlasim.compiler_shim.tflite.reader import ReadModel
from dlasim.compiler_shim.tosa.tosa_import import convert_tosa
from dlasim.errors import RunError

Array = NDArray[Any]
PROGRAM = "tosa_reference_model"
_SECONDS = 600


class ArmReference(HostKernels):
    """A TOSA file. Where a RESCALE rounds once and the DLA comes only near to that, differences are told."""

    def __init__(self, file: InputFile) -> None:
        converter = convert_tosa(file)
        super().__init__(prepare(ReadModel(converter.run(), frozenset()), str(file)))
        self._file, self._nearest, self._program = file, converter.nearest, shutil.which(PROGRAM)
        self._names = converter.inputs, converter.outputs

    def run(self, inputs: Sequence[Array], given: Mapping[int, Array] | None = None) -> Reference:
        """All tensors after one inference."""
        found = super().run(inputs, given)
        if self._program is None:
            return found
        notes: list[str] = []
        for number, output in zip(self._graph.outputs, self._outputs(inputs), strict=True):
            own = found.tensors[number]
            differing = int(np.count_nonzero(own != output))
            if differing and self._nearest:
                name = self._graph.tensors[number].name
                notes.append(
                    f"output {name}: {differing} of {own.size} elements differ from Arm's reference model: "
                    f"{len(self._nearest)} RESCALEs round once, which the DLA cannot do to the last bit"
                )
            elif differing:
                found.tensors[number] = output
        return Reference("Arm's reference model and dlasim's kernels", found.tensors, tuple(notes))

    def _outputs(self, inputs: Sequence[Array]) -> list[Array]:
        with tempfile.TemporaryDirectory() as folder:
            return reference_outputs(str(self._program), self._file.data, Path(folder), self._names, inputs)


def reference_outputs(
    program: str,
    model: bytes,
    folder: Path,
    names: tuple[Sequence[str], Sequence[str]],
    inputs: Sequence[Array],
) -> list[Array]:
    """What the reference model computes; `names` are those of inputs and outputs."""
    (folder / "model.tosa").write_bytes(model)
    files = [
        [folder / f"{what}{n}.npy" for n in range(len(names[k]))] for k, what in enumerate(("in", "out"))
    ]
    for path, data in zip(files[0], inputs, strict=True):
        np.save(path, data)
    command = [program, "--tosa_file", str(folder / "model.tosa")]
    for option, some, paths in zip(("ifm", "ofm"), names, files, strict=True):
        command += [f"--{option}_name", ",".join(some), f"--{option}_file", ",".join(map(str, paths))]
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False,
            env={**os.environ, "PATH": ""},  # it would start a debugger to say where it has stopped
        )  # fmt: skip
        if done.returncode == 0:
            return [np.load(path) for path in files[1]]
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise RunError(f"{program} does not run: {type(error).__name__}") from None
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    raise RunError(f"{program} refuses the network: {lines[0][:200] if lines else done.returncode}")
