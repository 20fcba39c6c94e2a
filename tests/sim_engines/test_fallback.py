"""Where no machine code can be built, `auto` runs the readable engine and says so; `fast` is refused."""

from __future__ import annotations

import numpy as np
import pytest

import dlasim
from dlasim.errors import RunError
from dlasim.sim.execution.executor import FastExecutor, ReferenceExecutor, make_executor
from dlasim.sim.fast_engine import engine as fast_engine


@pytest.mark.parametrize(
    "error",
    [
        ImportError("No module named 'llvmlite'"),
        OSError("cannot allocate\nmemory"),
        RuntimeError("no target for this CPU"),
        RunError("cannot compile kernels-portable: no message"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_without_machine_code(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = dlasim.run("mnist").outputs[0]
    assert isinstance(make_executor("auto"), FastExecutor)

    def fail(kind: str) -> None:
        raise error

    monkeypatch.setattr(fast_engine, "load_kernels", fail)
    assert isinstance(make_executor("auto"), ReferenceExecutor)
    note = capsys.readouterr().err
    assert note.count("\n") == 1
    assert note.startswith(f"note: no fast engine here: {' '.join(str(error).split())}; ")
    assert np.array_equal(dlasim.run("mnist").outputs[0], expected)
    with pytest.raises(RunError, match=r"no fast engine here: .*; engine `reference` needs no compiler"):
        make_executor("fast")
