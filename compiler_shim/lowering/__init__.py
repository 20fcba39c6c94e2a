"""Lowering: compiles a partitioned network for one machine.

Read in the order in which data flows: `tiles` (how a layer is cut, what that takes in SRAM and cycles, and
the search), `segments` (chains of layers whose intermediate tensors never leave SRAM, and tables of what has
been found), `policy` (the tables of one machine), `path_steps`, `states` and `residency` (which tensors stay
in SRAM, which layers run as chains), `addresses` (live ranges and all SRAM addresses), `loads` (loads made
early), `splitting`, `emission`, `lower`.
"""
