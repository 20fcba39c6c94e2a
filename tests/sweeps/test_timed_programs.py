"""A sweep times the programs that it compiles by a way of its own, which finds what a run finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution import runner
from dlasim.sim.execution.runner import first_and_steady, time_compiled
from dlasim.sim.timing.stream_timer import StreamTimer
from tests.compiler.cases import lower_case, mixed_case, random_case


@pytest.mark.parametrize("make", [random_case, mixed_case])
@pytest.mark.parametrize("weights", ["reload", "keep"])
def test_an_inference_is_that_of_a_run(make, weights, tmp_path: Path) -> None:
    hosts = doorbells = 0
    for seed in range(300, 312):
        case = make(seed)
        try:
            program = lower_case(
                replace(case, options={**case.options, "weights": weights}), tmp_path
            ).program
        except InputError:  # its SRAM does not hold all weights
            continue
        config = DlaConfig().replace(**case.machine)
        config = config.replace(sram_bytes=max(config.sram_bytes, program.requirement.sram_bytes))
        _, wanted = first_and_steady(program, config)
        found = time_compiled(program, config, StreamTimer(config.replace(sram_bytes=1 << 30)))
        runs, again = (
            [(run.start, run.first_word, run.plan.counters) for run in each.runs] for each in (wanted, found)
        )
        assert runs == again
        assert wanted.host == found.host
        assert [*wanted.doorbells] == [*found.doorbells]
        assert wanted.total_cycles == found.total_cycles
        hosts, doorbells = hosts + len(found.host), doorbells + len(found.doorbells)
    assert doorbells or make is random_case
    assert hosts or make is random_case


def test_a_row_is_refused_as_a_run_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(runner, "MAX_MEMORY_BYTES", 1000)
    (row,) = api.sweep("mnist", jobs=1, out=tmp_path)
    assert row["status"] == "refused"
    assert "bytes of system memory" in row["reason"]
    with pytest.raises(InputError, match=row["reason"]):
        api.run("mnist", timing_only=True)
