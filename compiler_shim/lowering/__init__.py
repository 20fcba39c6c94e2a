"""Lowering: a partitioned network onto one configuration.

Read in the order in which data flows: geometry and cuts (what a cut takes and costs), search, tiling and
policy (which cut), allocation (addresses by live range), stripes (chains that keep what lies between in
SRAM), residency and packing (what stays in SRAM, and where everything lies), memory (the arena), constants,
emission (tiles as loads, computations and stores; registers, waits and words), lower.
"""
