"""Nothing finished is lost, nothing is half-written: killed sweeps, torn files, dying workers, neighbours."""

import json
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from dlasim import api
from dlasim.errors import DlasimError, InputError
from dlasim.sweeps.evaluation.evaluate import FIGURES, LAYER_COLUMNS, Entry
from dlasim.sweeps.results.journal import MISSING, Journal
from tests.hardening.commands import listen_to_ctrl_c
from tests.native.processes import wait_until_gone

SWEEP = [sys.executable, "-P", "-m", "dlasim", "sweep"]
AXES = ["--pes", "16..256:16", "--sram", "16KiB..1MiB", "--parallel", "input,output",
        "--fusion", "requant"]  # fmt: skip  # a plan of it is made quickly
POINTS = 16 * 7 * 2


def lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))


def start(model: Path, out: Path, *more: str) -> subprocess.Popen[bytes]:
    command = [*SWEEP, str(model), *AXES, "--out", str(out), "--jobs", "2", *more]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=listen_to_ctrl_c
    )


def finish(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Its exit code, and what it said."""
    printed = process.communicate()[1].decode()
    return process.returncode, printed


def wait_for_points(process: subprocess.Popen[bytes], folder: Path, count: int) -> None:
    while lines(folder) < count:
        assert process.poll() is None, "the sweep ended before it could be killed"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def expected(model: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("expected")
    assert finish(start(model, folder))[0] == 0
    return (folder / "results.csv").read_bytes()


def children(pid: int) -> list[int]:
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(word) for word in listed.stdout.split()]


def test_killed_and_resumed(model: Path, tmp_path: Path, expected: bytes) -> None:
    workers: list[int] = []
    for share in (10, 40, 70):
        process = start(model, tmp_path)
        wait_for_points(process, tmp_path / "cache", share)
        workers += children(process.pid)
        process.kill()
        finish(process)
        assert not (tmp_path / "results.csv").exists()
    before = lines(tmp_path / "cache")
    code, printed = finish(start(model, tmp_path))
    assert code == 0
    assert f"{before} of them from the cache" in printed
    assert (tmp_path / "results.csv").read_bytes() == expected
    assert lines(tmp_path / "cache") == POINTS
    assert wait_until_gone(workers), "workers outlive the sweep that was killed"


def test_workers_that_die_are_replaced(model: Path, tmp_path: Path, expected: bytes) -> None:
    process = start(model, tmp_path)
    for share in (10, 60):
        wait_for_points(process, tmp_path / "cache", share)
        os.kill(children(process.pid)[0], signal.SIGKILL)
    assert finish(process)[0] == 0
    assert (tmp_path / "results.csv").read_bytes() == expected


def test_two_sweeps_share_a_cache(model: Path, tmp_path: Path, expected: bytes) -> None:
    both = [start(model, tmp_path / name, "--cache", str(tmp_path / "shared")) for name in ("one", "two")]
    assert [finish(process)[0] for process in both] == [0, 0]
    for name in ("one", "two"):
        assert (tmp_path / name / "results.csv").read_bytes() == expected
    third = start(model, tmp_path / "three", "--cache", str(tmp_path / "shared"))
    assert f"{POINTS} of them from the cache" in finish(third)[1]


def test_two_sweeps_into_one_folder(model: Path, tmp_path: Path, expected: bytes) -> None:
    both = [start(model, tmp_path) for _ in range(2)]
    assert [finish(process)[0] for process in both] == [0, 0]
    assert (tmp_path / "results.csv").read_bytes() == expected
    assert [path.name for path in tmp_path.glob(".*")] == []


def figures(number: int) -> list[int]:
    return [number] * len(FIGURES)


def test_torn_and_damaged_lines_do_not_count(tmp_path: Path) -> None:
    keys = [f"{number << 64:032x}" for number in range(1, 9)]
    with Journal(tmp_path) as writer:
        writer.append((key, Entry("ok", "", figures(number))) for number, key in enumerate(keys))
    (segment,) = tmp_path.glob("*.jsonl")
    whole = segment.read_bytes()
    for cut in range(len(whole)):
        segment.write_bytes(whole[:cut])
        with Journal(tmp_path) as reader:
            reader.refresh()
            found = [place != MISSING for place in reader.find(keys, False)]
        assert sum(found) == whole[:cut].count(b"\n")
    segment.write_bytes(whole.replace(b'"f":[2,', b'"f":[4,'))
    with Journal(tmp_path) as reader:
        reader.refresh()
        places = reader.find(keys, False)
        assert places[2] == MISSING
        assert reader.read(places[3]).figures == figures(3)


def test_keys_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    with Journal(tmp_path) as one, Journal(tmp_path) as two:
        one.append([("ab" * 8 + "00" * 8, Entry("ok", "", figures(1)))])
        two.refresh()
        assert two.find(["ab" * 8 + "11" * 8], False) == [MISSING]


def test_what_others_add_is_found(tmp_path: Path) -> None:
    key, layer = "ab" * 16, [0] * len(LAYER_COLUMNS)
    with Journal(tmp_path) as one, Journal(tmp_path) as two:
        one.append([(key, Entry("ok", "", figures(1)))])
        assert two.find([key], False) == [MISSING]
        two.refresh()
        assert two.read(two.find([key], False)[0]).figures == figures(1)
        assert two.find([key], True) == [MISSING]  # it has no layers
        one.append([(key, Entry("ok", "", figures(1), [layer]))])
        two.refresh()
        assert two.read(two.find([key], True)[0]).layers == [layer]


KEY = "ef" * 16
GOOD = {"k": KEY, "s": "ok", "r": "", "f": [1] * len(FIGURES)}
WRONG = [
    [], 5, None, {}, {"k": KEY}, GOOD | {"k": 5}, GOOD | {"k": "not hexadecimal"}, GOOD | {"k": "ef"},
    GOOD | {"s": "fine"}, GOOD | {"s": None}, GOOD | {"r": 1}, GOOD | {"f": []}, GOOD | {"f": [1]},
    GOOD | {"f": None}, GOOD | {"f": ["1"] * len(FIGURES)}, GOOD | {"f": [None] * len(FIGURES)},
    GOOD | {"l": 1}, GOOD | {"l": [[1]]}, GOOD | {"l": [None]}, GOOD | {"more": 1}, GOOD | {"s": "refused"},
]  # fmt: skip


def checked(body: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(body), body)


@pytest.mark.parametrize(
    "body", [b"no JSON", b"[" * 9000, b"\xff", *(json.dumps(record).encode() for record in WRONG)]
)
def test_a_wrong_record_with_a_right_checksum_does_not_count(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "other.jsonl").write_bytes(
        checked(body) + checked(json.dumps(GOOD | {"k": "ab" * 16}).encode())
    )
    with Journal(tmp_path) as journal:
        journal.refresh()
        places = journal.find([KEY, "ab" * 16], False)
        assert places[0] == MISSING
        assert journal.read(places[1]).figures == figures(1)


def test_a_sweep_goes_on_over_wrong_records(model: Path, tmp_path: Path) -> None:
    before = api.sweep(model, out=tmp_path, pes=[16, 32], jobs=1)
    rows = list(before)
    (segment,) = (tmp_path / "cache").glob("*.jsonl")
    records = [json.loads(line[9:]) for line in segment.read_bytes().splitlines()]
    segment.write_bytes(b"".join(checked(json.dumps(record | {"f": []}).encode()) for record in records))
    assert list(api.sweep(model, out=tmp_path, pes=[16, 32], jobs=1)) == rows


def test_a_pipe_in_the_cache_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    with Journal(tmp_path) as journal, pytest.raises(InputError, match="expected a file, got a pipe"):
        journal.refresh()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (Path.unlink, "cannot read .*other.jsonl: No such file"),
        (lambda path: path.write_bytes(bytes(path.stat().st_size)), "other.jsonl changed while it was read"),
    ],
    ids=["disappears", "changes"],
)
def test_a_segment_that_does_not_stay_as_it_was_is_one_line(
    tmp_path: Path, change: Callable[[Path], object], said: str
) -> None:
    path = tmp_path / "other.jsonl"
    path.write_bytes(checked(json.dumps(GOOD).encode()))
    with Journal(tmp_path) as journal:
        journal.refresh()
        change(path)
        with pytest.raises(DlasimError, match=said):
            journal.find([KEY], False)


def test_failures_are_tried_again(tmp_path: Path) -> None:
    with Journal(tmp_path) as one, Journal(tmp_path) as two:
        one.append([("cd" * 16, Entry("failed", "a bug"))])
        two.refresh()
        assert two.find(["cd" * 16], False) == [MISSING]


def test_no_resume_works_everything_out_again(model: Path, tmp_path: Path) -> None:
    for resume, total in ((True, 2), (True, 2), (False, 4)):
        api.sweep(model, out=tmp_path, pes=[16, 32], jobs=1, resume=resume)
        assert lines(tmp_path / "cache") == total


def test_a_bug_is_a_row_and_an_exit_code(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dlasim.cli import main
    from dlasim.sweeps.evaluation import evaluate

    real = evaluate.fastest_plan

    def faulty(network: object, config: object, *more: object, **named: object) -> object:
        assert config.pes != 32, "what must not be"  # type: ignore[attr-defined]
        return real(network, config, *more, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(evaluate, "fastest_plan", faulty)
    with pytest.raises(SystemExit) as left:
        main(["sweep", str(model), "--pes", "16,32,64", "--jobs", "1", "--out", str(tmp_path)])
    assert left.value.code == 1
    assert "what must not be" in capsys.readouterr().err
    text = (tmp_path / "results.csv").read_text()
    assert text.count(",ok,") == 2
    assert text.count(",failed,") == 1
