"""Makes plans of a placed network for a machine, and keeps the one that the simulator times fastest."""
