"""Evaluates points on a dask.distributed cluster, with the same results; workers may come and go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from dlasim.errors import InputError, RunError
from dlasim.installation import extra_command
from dlasim.sweeps.definition.models import Blueprint
from dlasim.sweeps.evaluation.evaluate import Entry, Evaluator, code_version
from dlasim.sweeps.evaluation.local import Result, Task, chunks

CHUNKS_PER_CORE = 3  # at a time: enough to hide network latency, few enough to bound memory
CONNECT_SECONDS = 15
_evaluators: dict[str, Evaluator] = {}  # of this worker process, by the hash of the networks


def evaluate_chunk(
    version: str, name: str, blueprints: Mapping[str, Blueprint], chunk: list[Task]
) -> list[Entry]:
    """Runs on a worker: the entries of a chunk, if the worker has the same code as the sweep."""
    if version != code_version():
        raise InputError(
            f"a worker runs another version of dlasim (code {code_version()}, expected {version}); "
            "install the same version on all workers"
        )
    if name not in _evaluators:
        _evaluators.clear()
        _evaluators[name] = Evaluator(blueprints)
    return [_evaluators[name].evaluate(task.model, task.values, task.layers) for task in chunk]


class Cluster:
    """A cluster, by the address of its scheduler such as tcp://host:8786."""

    def __init__(self, address: str) -> None:
        self._address = address

    def run(self, blueprints: Mapping[str, Blueprint], tasks: Iterable[Task]) -> Iterator[list[Result]]:
        """Results a chunk at a time, in order of completion."""
        client = self._connect()
        try:
            yield from self._run(client, blueprints, chunks(tasks))
        finally:
            client.close()

    def _connect(self) -> Any:
        distributed = _distributed()
        try:  # first the address, because a client with a wrong one waits at exit
            distributed.comm.get_address_host_port(self._address)
            return distributed.Client(self._address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            why = " ".join(str(error).split())
            raise InputError(f"--scheduler: cannot connect to {self._address}: {why}") from None

    def _run(
        self, client: Any, blueprints: Mapping[str, Blueprint], todo: Iterator[list[Task]]
    ) -> Iterator[list[Result]]:
        # The networks are the result of a task, which runs again if the only worker that has them dies.
        networks = client.submit(dict, dict(blueprints), pure=False)
        name = "".join(f"{blueprint.content}{blueprint.whole}" for blueprint in blueprints.values())
        sent: dict[str, list[Task]] = {}

        def submit() -> Any:
            chunk = next(todo, None)
            if chunk is None:
                return None
            future = client.submit(evaluate_chunk, code_version(), name, networks, chunk, pure=False)
            sent[future.key] = chunk
            return future

        window = max(sum(client.nthreads().values()), 1) * CHUNKS_PER_CORE
        first = [future for future in (submit() for _ in range(window)) if future is not None]
        done = _distributed().as_completed(first, loop=client.loop)
        for future in done:
            chunk = sent.pop(future.key)
            yield list(zip(chunk, self._result(future), strict=True))
            future.release()
            following = submit()
            if following is not None:
                done.add(following)

    def _result(self, future: Any) -> list[Entry]:
        try:
            entries: list[Entry] = future.result()
        except InputError:
            raise
        except Exception as error:
            why = " ".join(str(error).split())
            raise RunError(f"the cluster at {self._address} failed to evaluate some points: {why}") from None
        return entries


def _distributed() -> Any:
    """The package, imported only if a cluster is used."""
    try:
        return import_module("distributed")
    except ImportError:
        raise InputError(f"--scheduler needs dask.distributed; run {extra_command('distributed')}") from None
