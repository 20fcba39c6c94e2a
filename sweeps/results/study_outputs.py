"""Draws the charts that a study asks for in addition to its table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dlasim.sweeps.definition.study import Study
from dlasim.sweeps.results.sweep_result import SweepResult


def write_outputs(study: Study, result: SweepResult, missing: dict[str, str]) -> Iterator[Path]:
    """Draw; yields what is there now. A chart that has no point among those that ran is left out: `missing`
    has its name and the reason."""
    if not study.charts:
        return
    from dlasim.sweeps.charts import draw  # matplotlib takes its time to load
    from dlasim.sweeps.charts.data import ChartError

    for order in study.charts:
        path = result.path.parent / order.file
        try:
            draw(result, order.kind, path, **order.settings)
        except ChartError as error:
            missing[order.file] = str(error)
        else:
            yield path


def output_names(study: Study) -> list[str]:
    """The names of the files that `write_outputs` writes; settings that charts do not have are refused, so
    that nothing runs in vain."""
    if study.charts:
        from dlasim.sweeps.charts import check_settings  # matplotlib takes its time to load

        for order in study.charts:
            check_settings(order.kind, order.settings)
    return [order.file for order in study.charts]
