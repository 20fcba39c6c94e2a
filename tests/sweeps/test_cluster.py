"""A sweep and a search on a real cluster of four worker processes, of which one is killed half-way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlasim import api
from dlasim.errors import InputError
from dlasim.sweeps.results.sweep_result import open_results

pytest.importorskip("distributed", reason="dask.distributed is not installed")
WORKERS = 4
AXES = {"pes": "16..256:16", "sram": "16KiB..1MiB", "parallel": "input,output", "fusion": "requant"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The scheduler's address, and the workers."""
    folder = tmp_path_factory.mktemp("cluster")
    python = [sys.executable, "-P", "-W", "ignore", "-m", "distributed.cli"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    known = folder / "scheduler.json"
    scheduler = subprocess.Popen(
        [*python[:-1], "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
         "--no-dashboard", "--scheduler-file", str(known)], **quiet,
    )  # fmt: skip
    worker = [*python[:-1], "distributed.cli.dask_worker", "--scheduler-file", str(known), "--nthreads", "1",
              "--no-dashboard", "--no-nanny", "--local-directory", str(folder)]  # fmt: skip
    deadline = time.monotonic() + 30
    while not known.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = [subprocess.Popen(worker, **quiet) for _ in range(WORKERS)]
    import json

    yield json.loads(known.read_text())["address"], workers
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


def run_while_one_dies(
    arguments: list[str], folder: Path, address: str, worker: subprocess.Popen[bytes]
) -> bytes:
    """The table of a command on the cluster, of which a worker is killed once 40 points are done."""
    command = [sys.executable, "-P", "-m", "dlasim", *arguments, "--out", str(folder), "--scheduler", address]
    for name, text in AXES.items():
        command += [f"--{name}", text]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while sum(path.read_bytes().count(b"\n") for path in (folder / "cache").glob("*.jsonl")) < 40:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    assert worker.poll() is None
    os.kill(worker.pid, signal.SIGKILL)
    printed = process.communicate(timeout=240)[1]
    assert process.returncode == 0, printed
    return (folder / "results.csv").read_bytes()


def test_a_worker_dies_half_way(
    model: Path, tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = cluster
    expected = api.sweep(model, out=tmp_path / "local", jobs=2, **AXES).path.read_bytes()
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(WORKERS, timeout=120)
    assert run_while_one_dies(["sweep", str(model)], tmp_path / "far", address, workers[0]) == expected


def test_a_worker_dies_in_a_search(
    model: Path, tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = cluster
    goals = ["--minimize", "energy,area", "--limit", "area < 4"]
    near = api.search(model, out=tmp_path / "near", jobs=1, minimize="energy,area", limits="area < 4",
                      evaluations=100, **AXES)  # fmt: skip
    arguments = ["search", str(model), *goals, "--evaluations", "100"]
    assert run_while_one_dies(arguments, tmp_path / "far", address, workers[1]) == near.path.read_bytes()


def test_ctrl_c_keeps_what_is_done(
    model: Path, tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    from tests.hardening.commands import listen_to_ctrl_c

    axes = [word for name, text in AXES.items() for word in (f"--{name}", text)]
    command = [sys.executable, "-P", "-m", "dlasim", "sweep", str(model), "--out", str(tmp_path),
               "--scheduler", cluster[0], *axes]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=listen_to_ctrl_c
    )
    while sum(path.read_bytes().count(b"\n") for path in (tmp_path / "cache").glob("*.jsonl")) < 20:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    printed = process.communicate(timeout=120)[1]
    assert process.returncode == 130
    assert printed.splitlines()[-1].endswith("results.csv; the same command goes on"), printed
    assert "Traceback" not in printed
    assert 20 <= open_results(tmp_path).column("status").count("ok") < 224


def test_an_address_where_nobody_is(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dlasim.sweeps.evaluation import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(InputError, match=r"--scheduler: cannot connect to tcp://127\.0\.0\.1:9"):
        api.sweep(model, scheduler="tcp://127.0.0.1:9", pes=[16])


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("somewhere", "missing port number"),
        ("xyz://h:1", "unknown address scheme"),
        ("tcp://h:x", "invalid literal"),
    ],
)
def test_an_address_that_is_none(model: Path, address: str, why: str) -> None:
    with pytest.raises(InputError, match=rf"^--scheduler: cannot connect to {address}: {why}"):
        api.sweep(model, scheduler=address, pes=[16])
