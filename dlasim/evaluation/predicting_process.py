"""A worker process: receives samples and returns predictions over a socket."""

from __future__ import annotations

from multiprocessing.connection import Connection
from typing import Any


def main(arguments: list[str]) -> None:
    """Receive the task, then answer portions of samples until the socket closes. An error is an answer."""
    (descriptor,) = arguments
    link: Connection[Any, Any] = Connection(int(descriptor))
    from dlasim.errors import DlasimError
    from dlasim.evaluation.predictor import Predictor

    try:
        task = link.recv()
        predictor: Predictor | None = None
        while True:
            samples = link.recv()
            try:
                predictor = predictor or Predictor(task)
                link.send([predictor.find(sample) for sample in samples])
            except DlasimError as error:
                link.send(error)
    except (EOFError, OSError):
        return
