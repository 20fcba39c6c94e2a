"""Plans of streams that ran before. The same words with the same registers and regions give the same plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dlasim.isa import codec
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.timing.plan import Plan, plan_stream

MAX_CACHED_PLANS = 1024  # then all are forgotten: bounds memory, not the result
MAX_CACHED_WORDS = 1 << 20  # of their streams, since a guest may submit any number of long ones


@lru_cache(maxsize=1)
def plans_of(config: DlaConfig) -> PlanCache:
    """Those of all machines of a configuration, here and on boards; of the last one asked for."""
    return PlanCache(config)


class PlanCache:
    """Plans streams of machines of one configuration."""

    def __init__(self, config: DlaConfig) -> None:
        self._config = config
        self._plans: dict[tuple[object, ...], Plan] = {}
        self._planned_words = 0

    def plan(self, words: NDArray[np.uint64], file: Sequence[int], region_bytes: Mapping[int, int]) -> Plan:
        """The plan of the stream that starts at the first of `words`, with these operand registers."""
        halt = np.flatnonzero(words == np.uint64(codec.encode("HALT")))
        words = words[: halt[0] + 1] if len(halt) else words
        key = (words.tobytes(), tuple(file), tuple(region_bytes.values()))
        if key not in self._plans:
            if len(self._plans) >= MAX_CACHED_PLANS or self._planned_words >= MAX_CACHED_WORDS:
                self._plans.clear()
                self._planned_words = 0
            self._planned_words += len(words)
            self._plans[key] = plan_stream(self._config, words.copy(), file, region_bytes)
        return self._plans[key]
