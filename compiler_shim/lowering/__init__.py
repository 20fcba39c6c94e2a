"""Lowering: compiles a partitioned network for one machine.

Read in the order in which data flows: `geometry`, `transfers`, `tile_buffers` and `tile_costs` (the SRAM and
cycles of a tiling), `search`, `tiling` and `policy` (which tiling), `stripes` (chains of layers whose
intermediate tensors never leave SRAM), `memory` and `allocation` (aliases, live ranges, and addresses by
them), `states` and `residency` (which tensors stay in SRAM, which layers run as chains), `buffer_packing`
and `sram_plan` (all SRAM addresses), `packed_segments`, `prefetch_addresses`, `load_schedule` and `prefetch`
(loads made early), `constants`, `emission`, `lower`.
"""
