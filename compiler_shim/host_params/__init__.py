"""TFLite operators as host calls: attributes, records and tables, computed exactly as TFLite Micro does."""

from dlasim.compiler_shim.host_params.lower import HOST_KINDS, lower_host
from dlasim.compiler_shim.host_params.site import HostCall

__all__ = ["HOST_KINDS", "HostCall", "lower_host"]
