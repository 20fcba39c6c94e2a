"""Lowering: compiles a partitioned network for one machine.

Read in the order in which data flows: geometry, transfers, tile_buffers and tile_costs (the SRAM and cycles
of a tiling), search, tiling and policy (which tiling), allocation (addresses by live range), stripes (chains
of layers whose intermediate tensors never leave SRAM), residency and buffer_packing (which tensors stay in
SRAM, and all SRAM addresses), memory (aliases, live ranges and the arena), constants, emission (tiles as
loads, computations and stores; registers, waits and words), lower.
"""
