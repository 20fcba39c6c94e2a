"""The instruction set: one table that encoder, assembler, documentation and headers come from."""
