"""The fast engine: compiled kernels equal to the readable engine bit for bit; importing loads no compiler."""

from dlasim.sim.fast_engine.engine import Engine, PreparedStream

__all__ = ["Engine", "PreparedStream"]
