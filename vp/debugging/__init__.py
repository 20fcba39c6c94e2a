"""A GDB server for the board."""
