"""What becomes of an operator: the DLA's instructions, the CPU's call, or a reason why neither."""
