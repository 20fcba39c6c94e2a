"""Writes the charts and the page that a study asks for in addition to its table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dlasim.errors import InputError, one_of
from dlasim.sweeps.definition.study import Study
from dlasim.sweeps.results.sweep_result import SweepResult

if TYPE_CHECKING:
    from dlasim.sweeps.pages.table_page import TablePage


def write_outputs(study: Study, result: SweepResult, missing: dict[str, str] | None = None) -> Iterator[Path]:
    """Draw and write; yields what is there now. A chart that has no point among those that ran is left out:
    the page says so, and `missing` has its name and the reason."""
    folder = result.path.parent
    missing = {} if missing is None else missing
    if study.charts:
        from dlasim.sweeps.charts import draw  # matplotlib takes its time to load
        from dlasim.sweeps.charts.data import ChartError

        for order in study.charts:
            try:
                draw(result, order.kind, folder / order.file, **order.settings)
            except ChartError as error:
                missing[order.file] = str(error)
            else:
                yield folder / order.file
    if study.page:
        yield _page(study).write_page(study, result, folder, missing)


def output_names(study: Study) -> list[str]:
    """The names of the files that `write_outputs` writes; settings that charts do not have are refused, so
    that nothing runs in vain."""
    if study.charts:
        from dlasim.sweeps.charts import check_settings  # matplotlib takes its time to load

        for order in study.charts:
            check_settings(order.kind, order.settings)
    return [*(order.file for order in study.charts), *([_page(study).NAME] if study.page else [])]


def _page(study: Study) -> TablePage:
    from dlasim.sweeps.pages.table_page import FOOTPRINT, SUBGRAPHS

    pages = {"footprint": FOOTPRINT, "subgraphs": SUBGRAPHS}
    if study.page not in pages:
        raise InputError(f"study {study.name}: page must be {one_of(pages)} (got {study.page!r})")
    return pages[study.page]
