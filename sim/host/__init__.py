"""Host operators: what the DLA cannot do, exact, on the CPU side of the standalone simulator."""

from dlasim.sim.host.call import TensorSpec
from dlasim.sim.host.host_operation import HostOperation, run_host_op

__all__ = ["HostOperation", "TensorSpec", "run_host_op"]
