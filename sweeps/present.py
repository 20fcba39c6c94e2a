"""What a study asks for besides its table: charts, and a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from dlasim.errors import InputError
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
        yield _writer(study)(study, result, folder)


def _writer(study: Study) -> Callable[[Study, SweepResult, Path], Path]:
    from dlasim.sweeps import page, prototype_page

    writers = {"paper": page.write_page, "prototype": prototype_page.write_page}
    if study.page not in writers:
        raise InputError(
            f"study {study.name}: page = {study.page!r} is unknown (allowed: {', '.join(writers)})"
        )
    return writers[study.page]
