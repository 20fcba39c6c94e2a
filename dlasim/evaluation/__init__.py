"""How often a network is right: its classes for many inputs, beside labels and a network in float."""

from dlasim.evaluation.many_inputs import evaluate
from dlasim.evaluation.outcome import Evaluation

__all__ = ["Evaluation", "evaluate"]
