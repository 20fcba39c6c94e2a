"""The readable engine: what every instruction computes, in plain NumPy. The fast one must equal it."""

from dlasim.sim.reference.semantics import SEMANTICS, execute, execute_operation

__all__ = ["SEMANTICS", "execute", "execute_operation"]
