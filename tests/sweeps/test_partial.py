"""A sweep that ends early leaves a table of what is done, which says so, and the same command goes on."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dlasim import api
from dlasim.sweeps.definition.study_builder import build_study
from dlasim.sweeps.evaluation import evaluate, progress
from dlasim.sweeps.results import sweep_tables
from dlasim.sweeps.results.sweep_result import SweepResult, open_results
from tests.hardening.commands import DLASIM, call, listen_to_ctrl_c

SIZES = [f"{size}KiB" for size in range(16, 76, 2)]
OPTIONS = ["--sram", ",".join(SIZES), "--pes", "16,48", "--fusion", "none", "--tiling", "output-channel"]
POINTS = 2 * len(SIZES)
# Tables after every chunk instead of every 20 s.
REFRESHING = (
    sys.executable, "-P", "-c",
    "from dlasim.sweeps.results import sweep_tables as tables\n"
    "tables.REFRESH_SECONDS = tables.REFRESH_SHARE = 0\n"
    "from dlasim.cli import main; main()",
)  # fmt: skip


def start(model: Path, out: Path, *more: str, command: tuple[str, ...] = DLASIM) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*command, "sweep", str(model), *OPTIONS, "--out", str(out), *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=listen_to_ctrl_c,
    )  # fmt: skip


def wait_until(process: subprocess.Popen[str], cache: Path, count: int) -> None:
    while sum(path.read_bytes().count(b"\n") for path in cache.glob("*.jsonl")) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@pytest.fixture(scope="module")
def complete(model: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of the table of a sweep that nothing has interrupted."""
    folder = tmp_path_factory.mktemp("complete")
    process = start(model, folder)
    assert (process.communicate()[1], process.returncode)[1] == 0
    return (folder / "results.csv").read_text().splitlines()


def check_partial(folder: Path, complete: list[str], *, is_killed: bool = False) -> int:
    """That the table has a row for each point, as it would be, or without figures; how many are done.

    What was killed may have died between the table and its description, which then tells of a table before.
    """
    table = open_results(folder)
    statuses = table.column("status")
    done = statuses.count("ok")
    assert statuses.count("pending") == POINTS - done > 0
    assert table.partial == f"partial: {done} of {POINTS} points"
    lines = (folder / "results.csv").read_text().splitlines()
    for line, whole in zip(lines, complete, strict=True):
        assert line == whole or (",pending,not done yet," in line and line[:60] == whole[:60])
    about = json.loads((folder / "sweep.json").read_text())
    assert about["points"] == POINTS
    assert about["statuses"]["pending"] == POINTS - done or is_killed
    assert about["statuses"]["pending"] >= POINTS - done
    return done


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "term")],
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_what_is_done_is_kept(
    model: Path, tmp_path: Path, complete: list[str], number: int, code: int, word: str, jobs: str
) -> None:
    process = start(model, tmp_path, "--jobs", jobs)
    wait_until(process, tmp_path / "cache", 10)
    process.send_signal(number)
    printed = process.communicate()
    assert process.returncode == code
    assert printed[0] == ""
    said = re.fullmatch(
        rf"dlasim: {word}\w*: (\d+) of {POINTS} points done, see (\S+); the same command goes on\n",
        printed[1],
    )
    assert said is not None, printed
    assert said[2] == f"{tmp_path}/results.csv"
    assert check_partial(tmp_path, complete) == int(said[1]) >= 10
    again = start(model, tmp_path, "--jobs", jobs)
    assert f"{POINTS} points in" in again.communicate()[1]
    assert (tmp_path / "results.csv").read_text().splitlines() == complete
    assert open_results(tmp_path).partial == ""
    lines = [line for path in (tmp_path / "cache").glob("*.jsonl") for line in path.read_text().splitlines()]
    assert len(lines) == POINTS, "points were evaluated twice"


def test_a_killed_sweep_leaves_a_table(model: Path, tmp_path: Path, complete: list[str]) -> None:
    process = start(model, tmp_path, "--jobs", "1", command=REFRESHING)
    wait_until(process, tmp_path / "cache", 10)
    while not (tmp_path / "sweep.json").exists():
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert check_partial(tmp_path, complete, is_killed=True) > 0


def test_charts_and_pages_say_that_a_table_is_partial(model: Path, tmp_path: Path) -> None:
    interrupt_in_python(model, tmp_path, 5)
    chart = call("plot", tmp_path, "--kind", "pareto", "-o", tmp_path / "chart.svg")
    assert chart.returncode == 0, chart.stderr
    assert open_results(tmp_path).plot("pareto").figure.get_suptitle().endswith("partial: 5 of 8 points")
    assert call("report", tmp_path, "-o", tmp_path / "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "(partial: 5 of 8 points)" in page
    assert '"refused":[]' in page.replace(" ", "")
    assert "partial: 5 of 8 points" in repr(open_results(tmp_path))
    assert "partial: 5 of 8 points" in open_results(tmp_path)._repr_html_()


def interrupt_in_python(model: Path, out: Path | None, count: int) -> str:
    """Ctrl-C once so many of 8 points are done; what it says."""
    real, calls = evaluate.timing_entry, 0

    def some(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls > count:
            raise KeyboardInterrupt
        return real(*arguments)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "timing_entry", some)
        with pytest.raises(KeyboardInterrupt) as stopped:
            api.sweep(model, out=out, pes=[16, 32], sram="16KiB..128KiB", fusion="none", jobs=1)
    return str(stopped.value)


def test_in_python(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = interrupt_in_python(model, tmp_path / "out", 3)
    assert said == f"3 of 8 points done, see {tmp_path}/out/results.csv; the same call goes on"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert "with out=FOLDER" in interrupt_in_python(model, None, 3)
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "the temporary folder is still there"


def test_without_a_point_there_is_no_table(model: Path, tmp_path: Path) -> None:
    assert interrupt_in_python(model, tmp_path, 0) == "0 of 8 points done; the same call goes on"
    assert not (tmp_path / "results.csv").exists()
    refused = call("plot", tmp_path)
    assert "has no results.csv: its sweep has not come so far; run it again" in refused.stderr


def test_a_large_table_is_announced(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dlasim.cli import main
    from dlasim.sweeps.evaluation import sweep

    def stop(*_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "MAX_KEPT", 1)
    monkeypatch.setattr(evaluate, "timing_entry", stop)
    with pytest.raises(SystemExit) as left:
        main(["sweep", str(model), "--pes", "16,32", "--jobs", "1", "--out", str(tmp_path)])
    assert left.value.code == 130
    assert capsys.readouterr().err.splitlines() == [
        "writing the table of what is done; Ctrl-C again leaves without it",
        "dlasim: interrupted: 0 of 2 points done; the same command goes on",
    ]


def test_lines_in_a_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.LINE_SECONDS == 60
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.05)
    with progress.Progress(1440, 100) as shown:
        for _ in range(1000):
            shown.add(5000, "resnet8 64K 16 I\x1b")
        while not capsys.readouterr().err.startswith("1,100 of 1,440 points, "):
            time.sleep(0.01)
        time.sleep(0.06)
        line = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(
        r"1,100 of 1,440 points, [\d,.]+ points/s, \d+ min left, best 5,000 cycles: resnet8 64K 16 I\?", line
    )
    time.sleep(0.1)
    assert capsys.readouterr().err == "", "a line after the end"
    with progress.Progress(10, 0, visible=False):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_a_short_sweep_in_a_pipe_shows_no_progress(model: Path, tmp_path: Path) -> None:
    process = call("sweep", model, "--out", tmp_path, "--jobs", "1", "--pes", "16,32")
    assert len(process.stderr.splitlines()) == 1


def test_a_table_of_before_knows_no_status(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("point,cycles_total\n0,5\n")
    assert SweepResult(tmp_path / "results.csv").partial == ""
    assert os.fspath(open_results(tmp_path).path).endswith("results.csv")


def test_the_total_grows_with_what_is_expected() -> None:
    """A search evaluates the neighbours of its winner beyond its evaluations."""
    shown = progress.Progress(4, 0, visible=False)
    for _ in range(4):
        shown.add(None, "")
    shown.expect(3)
    shown.add(None, "")
    assert shown._line().startswith("5 of 7 points")
    shown.expect(1)
    assert shown._line().startswith("5 of 7 points"), "as expected before"


def test_a_large_table_is_not_written_before_it_pays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first table of a million points takes minutes, in which no worker would be fed."""
    now = [0.0]
    written = []
    monkeypatch.setattr(sweep_tables.time, "perf_counter", lambda: now[0])
    study = build_study(["mnist"], {})
    tables = sweep_tables.SweepTables(study, tmp_path, "", False, {})
    monkeypatch.setattr(tables, "write", lambda points: written.append(len(points)))
    for now[0] in (21.0, 1000.0):
        tables.refresh(range(1_000_000))
    assert not written
    tables.refresh(range(100))
    now[0] = 30_000.0
    tables.refresh(range(1_000_000))
    assert written == [100, 1_000_000]
