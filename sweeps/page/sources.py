"""The page that suits what is given: one run, two runs, or a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dlasim.errors import InputError
from dlasim.sweeps.definition.goals import NO_GOALS, Goals
from dlasim.sweeps.results.report_file import ENDING, read_report
from dlasim.sweeps.results.result_files import ABOUT
from dlasim.sweeps.results.sweep_result import open_results


def page_of(sources: Sequence[str], where: str | None = None, goals: Goals = NO_GOALS) -> str:
    """The page of reports (`.json`) or of the table of a sweep (a folder or a `.csv`)."""
    reports = [source for source in sources if source.endswith(ENDING) and Path(source).name != ABOUT]
    if reports and (len(reports) < len(sources) or len(reports) > 2):
        raise InputError(
            f"a page shows one run, two runs or one sweep (got {len(reports)} reports and "
            f"{len(sources) - len(reports)} other files)"
        )
    if not reports:
        return _sweep(sources, where, goals)
    if where is not None:
        raise InputError("--where chooses points of a sweep; a report has none")
    if goals:
        raise InputError("--limit and --minimize are about points of a sweep; a report has none")
    if len(reports) == 1:
        from dlasim.sweeps.page.run import run_page

        return run_page(read_report(reports[0]))
    from dlasim.sweeps.page.comparison import comparison_page

    before, after = reports
    return comparison_page(read_report(before), read_report(after), (before, after))


def _sweep(sources: Sequence[str], where: str | None, goals: Goals) -> str:
    from dlasim.sweeps.page.sweep import sweep_page

    if len(sources) != 1:
        raise InputError(f"a page shows one sweep (got {len(sources)})")
    source = Path(sources[0])
    return sweep_page(open_results(source.parent if source.name == ABOUT else source), where, goals)
