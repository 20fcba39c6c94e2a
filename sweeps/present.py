"""What a study asks for besides its table: charts, and a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dlasim.sweeps.result import SweepResult
from dlasim.sweeps.study import Study


def present(study: Study, result: SweepResult) -> Iterator[Path]:
    """Draw and write; yields what is there now."""
    folder = result.path.parent
    if study.charts:
        from dlasim.sweeps.charts import draw  # matplotlib takes its time to load

        for order in study.charts:
            draw(result, order.kind, folder / order.file, **order.settings)
            yield folder / order.file
    if study.page:
        from dlasim.sweeps.page import write_page

        yield write_page(study, result, folder)
