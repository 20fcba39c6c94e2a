"""Limits that programs, their files and the machine's configuration share."""

MAX_RANK = 6  # dimensions that a tensor's descriptor and a host operator's attributes have room for
MAX_SRAM_BYTES = 1 << 31  # what address registers reach
MAX_LANES = 0xFFFF  # what CAP_GRID has room for
