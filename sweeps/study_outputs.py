"""Writes the charts and the page that a study asks for in addition to its table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from dlasim.errors import InputError, one_of
from dlasim.sweeps.result import SweepResult
from dlasim.sweeps.study import Study


def write_outputs(study: Study, result: SweepResult) -> Iterator[Path]:
    """Draw the charts and write the page; yields the path of each file once it is written."""
    folder = result.path.parent
    if study.charts:
        from dlasim.sweeps.charts import draw  # matplotlib takes its time to load

        for order in study.charts:
            draw(result, order.kind, folder / order.file, **order.settings)
            yield folder / order.file
    if study.page:
        yield _page(study).write_page(study, result, folder)


def output_names(study: Study) -> list[str]:
    """The names of the files that `write_outputs` writes."""
    return [*(order.file for order in study.charts), *([_page(study).NAME] if study.page else [])]


def _page(study: Study) -> ModuleType:
    from dlasim.sweeps import paper_page, prototype_page

    pages = {"paper": paper_page, "prototype": prototype_page}
    if study.page not in pages:
        raise InputError(f"study {study.name}: page must be {one_of(pages)} (got {study.page!r})")
    return pages[study.page]
