"""TFLite operators as host calls: attributes, records and tables, computed exactly as TFLite Micro does."""

from dlasim.compiler_shim.operators.bound import HostCall
from dlasim.compiler_shim.operators.lower import HOST_KINDS, lower_host

__all__ = ["HOST_KINDS", "HostCall", "lower_host"]
