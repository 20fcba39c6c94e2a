"""`dlasim sweep` and `dlasim plot` as a user meets them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlasim import api
from dlasim.cli import main
from tests.terminal_output import run_in_terminal

DLASIM = [sys.executable, "-P", "-m", "dlasim"]
QUICK = ("--fusion", "requant")  # a plan of it is made quickly
EAGER = """
from dlasim.__main__ import main
from dlasim.system import status_line
status_line._QUIET_SECONDS = 0.0
main()
"""  # shows progress at once, also where the whole sweep takes less than a second


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*DLASIM, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def test_quiet_in_a_pipe(model: Path, tmp_path: Path) -> None:
    done = run("sweep", str(model), "--pes", "64,128", "--sram", "512KiB,1MiB", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "4 points" in done.stderr
    assert "512K 64 O" in done.stdout
    assert (tmp_path / "ds_cnn-sweep" / "results.csv").read_text().count("\n") == 5
    drawn = run("plot", "ds_cnn-sweep", cwd=tmp_path)
    assert drawn.returncode == 0
    assert (tmp_path / "ds_cnn-sweep" / "stacked.png").exists()


def test_the_table_of_another_study_stays(tmp_path: Path) -> None:
    """The same networks with other values replace their own table, which a note says."""
    table = tmp_path / "mine" / "results.csv"

    def sweep(*arguments: str) -> str:
        return run(*arguments, "--pes", "64,128", "--out", "mine", cwd=tmp_path).stderr

    sweep("sweep", "mnist")
    before = table.read_bytes()
    for command, what in (
        ("sweep ds_cnn", "sweep of ds_cnn"), ("sweep ds_cnn mnist", "sweep of models"),
        ("search mnist --minimize energy", "search of mnist"),
    ):  # fmt: skip
        refusal = f"mine/results.csv is not of a {what}; choose another folder"
        assert sweep(*command.split()) == f"dlasim: {refusal}\n"
    assert table.read_bytes() == before
    assert "note" not in sweep("sweep", "mnist")
    again = sweep("sweep", "mnist", "--sram", "64KiB")
    assert "note: this replaces mine/results.csv, the table of `dlasim sweep mnist" in again
    assert table.read_bytes() != before


def test_a_table_of_something_else_stays(tmp_path: Path) -> None:
    table = tmp_path / "results.csv"
    table.write_text("name,age\n")
    done = run("sweep", "mnist", "--out", ".", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2, "dlasim: results.csv is not of a sweep of mnist; choose another folder\n"
    )  # fmt: skip
    assert table.read_text() == "name,age\n"


def test_a_table_without_sweep_json_is_replaced(tmp_path: Path) -> None:
    """A sweep that is killed leaves one."""
    for _ in range(2):
        assert run("sweep", "mnist", "--out", ".", cwd=tmp_path).returncode == 0
        (tmp_path / "sweep.json").unlink()


@pytest.mark.parametrize(
    ("arguments", "columns", "cells"),
    [
        (["--pes", "16,32"], ["model", "machine", "cycles"], [["512K 16 O"], ["512K 32 O"]]),
        (["--dma-bandwidth", "4,unlimited"], ["dma_bandwidth", "cycles"], [["4"], ["unlimited"]]),
        (["--clock", "100,250.5"], ["machine", "clock_mhz", "cycles", "ms"], [["100"], ["250.5"]]),
        (
            ["--timing", "macs,zero", "--fusion", "none,full"],
            ["machine", "timing", "fusion", "cycles", "DLA"],
            [["macs", "none"], ["macs", "full"], ["zero", "none"], ["zero", "full"]],
        ),
        (
            ["--set", "host=riscv", "--set", "cpu=ideal,five_stage"],
            ["machine", "cpu", "cycles"],
            [["ideal"], ["five_stage"]],
        ),
        (["--preset", "paper,nvdla-small"], ["preset", "cycles", "ms"], [["paper"], ["nvdla-small"]]),
    ],
)
def test_whatever_was_swept_is_a_column(
    arguments: list[str], columns: list[str], cells: list[list[str]], model: Path, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    with pytest.raises(SystemExit) as left:
        main(["sweep", str(model), "--jobs", "1", "--out", str(tmp_path), *arguments])
    assert not left.value.code
    head, _, *lines = capsys.readouterr().out.splitlines()
    starts = [head.index(name) for name in columns]
    assert starts == sorted(starts)
    assert len(lines) == len(cells)
    axes = {"pes", "clock_mhz", "timing", "fusion", "cpu", "preset", "depthwise", "host"}
    assert [name for name in head.split() if name in axes] == [name for name in columns if name in axes]
    for line, wanted in zip(lines, cells, strict=True):
        assert all(f"  {cell}  " in line for cell in wanted), line


def test_files_are_relative_to_the_users_folder(model: Path, tmp_path: Path) -> None:
    """Workers run in another folder, so they need absolute paths."""
    (tmp_path / "m.toml").write_text("pes = 32\n")
    (tmp_path / "t.toml").write_text('base = "45nm"\n[constants.mac_pj]\nvalue = 1.0\n')
    arguments = ("sweep", str(model), "--config", "m.toml", "--technology", "t.toml", "--sram", "32KiB,64KiB")
    tables = []
    for jobs in ("1", "2"):
        done = run(*arguments, "--jobs", jobs, "--out", jobs, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        tables.append((tmp_path / jobs / "results.csv").read_text())
    assert tables[0] == tables[1]
    assert tables[0].count(",m.toml,") == tables[0].count(",t.toml,") == tables[0].count(",ok,") == 2


def test_a_studys_technology_is_relative_to_the_study(model: Path, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "t.toml").write_text('base = "45nm"\n[constants.mac_pj]\nvalue = 1.0\n')
    text = f'models = ["{model}"]\nfixed.technology = "t.toml"\naxes.pes = [16, 32]\n'
    (tmp_path / "study" / "s.toml").write_text(text)
    for jobs in ("1", "2"):
        done = run("sweep", "study/s.toml", "--jobs", jobs, "--out", jobs, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_a_machines_file_that_changes_in_between(model: Path, tmp_path: Path) -> None:
    machine = tmp_path / "m.toml"
    found = []
    for number, pes in enumerate((16, 128)):
        machine.write_text(f"pes = {pes}\n")
        rows = api.sweep(model, preset=str(machine), out=tmp_path / str(number), jobs=1).rows()
        found.append([row["pes"] for row in rows])
    assert found == [[16], [128]]


def test_a_line_on_a_terminal(model: Path, tmp_path: Path) -> None:
    axes = ["--pes", "16..256:16", "--sram", "16KiB..1MiB"]
    command = [sys.executable, "-c", EAGER, "sweep", str(model), *axes, *QUICK, "--out", str(tmp_path)]
    shown = run_in_terminal(command, ("stderr",), {**os.environ, "TERM": "xterm"})
    assert b"points/s" in shown
    assert b"best" in shown
    assert b"of 112 points, " in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.tflite"], "nothing.tflite"),
        (["ds_cnn", "--pes", "many"], "pes must be a whole number (got 'many')"),
        (["ds_cnn", "--set", "pes"], "NAME=VALUES"),
        (["ds_cnn", "--set", "speed=3"], "unknown parameter 'speed'"),
        (["ds_cnn", "--where", "pes >"], "the end is missing"),
        (["ds_cnn", "--where", "pes > 64"], "its conditions exclude all"),
        (["ds_cnn", "--jobs", "0"], "--jobs must be from 1 to 4096 (got 0)"),
        (["ds_cnn", "--preset", "none"], "unknown preset"),
        (["ds_cnn", "--config", "a.toml", "--preset", "paper"], "exclude each other"),
        (["ds_cnn", "paper"], "before all models"),
        (["paper", "--fusion", "none"], "its cases set fusion"),
        (["missing.toml"], "cannot read missing.toml"),
        (["ds_cnn", "--set", "cpu=ideal,two_stage"], "has no effect without host = riscv"),
        ([], "MODEL"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["sweep", *arguments])
    printed = capsys.readouterr().err
    assert left.value.code == 2
    assert message in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["nothing"], "cannot read"), (["."], "no results.csv"), (["x.csv", "--set", "top"], "NAME=VALUE")],
)
def test_plots_that_cannot_be(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SystemExit) as left:
        main(["plot", *arguments])
    assert left.value.code == 2
    assert message in capsys.readouterr().err


def test_the_studies_that_ship_are_listed(tmp_path: Path) -> None:
    from dlasim.sweeps.definition.studyfile import shipped_names

    lines = run("sweep", "--list", cwd=tmp_path).stdout.splitlines()[2:]
    assert [line.split()[0] for line in lines] == list(shipped_names())
    guide = (Path(__file__).parents[2] / "docs" / "sweeps.md").read_text()
    assert all(f"| `{name}` |" in guide for name in shipped_names())


def test_each_model_has_its_best_points(tmp_path: Path) -> None:
    done = run("sweep", "ds_cnn", "autoencoder", *QUICK, "--pes", "16..256:16", "--out", "both", cwd=tmp_path)
    lines = done.stdout.splitlines()[2:]
    assert [line.split()[0] for line in lines] == ["ds_cnn"] * 10 + ["autoencoder"] * 10
    assert "the 10 with the fewest cycles of each model above" in done.stderr


def test_a_plot_without_a_kind_is_one_that_fits(model: Path, tmp_path: Path) -> None:
    many = ("--pes", "16..400:16", "--sram", "16KiB..128KiB", *QUICK)
    run("sweep", str(model), *many, "--out", "many", cwd=tmp_path)
    assert run("plot", "many", cwd=tmp_path).stderr == "wrote many/pareto.png\n"
    run("run", str(model), "--timing-only", "--report", "one.json", cwd=tmp_path)
    assert run("plot", "one.json", cwd=tmp_path).stderr == "wrote one-utilization.png\n"
    refused = run("plot", "many", "--kind", "stacked", cwd=tmp_path)
    assert refused.returncode == 2
    assert "100 bars are too many to read" in refused.stderr


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['dlasim', 'sweep', '--help']\n"
        "from dlasim.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numba', 'matplotlib', 'distributed'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_a_sweep_loads_neither_numba_nor_matplotlib(model: Path) -> None:
    code = (
        "import sys\n"
        "from dlasim import api\n"
        f"api.sweep({str(model)!r}, pes=[16, 32], jobs=1)\n"
        "heavy = {'numba', 'matplotlib', 'distributed', 'unicorn'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)
