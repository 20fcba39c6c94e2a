"""The readable engine: what every instruction computes, in plain NumPy. The fast one must equal it."""

from dlasim.sim.readable_engine.semantics import SEMANTICS, execute, execute_operation

__all__ = ["SEMANTICS", "execute", "execute_operation"]
