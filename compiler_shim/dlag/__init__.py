"""`.dlag` files: a network for any machine, as JSON and constants, and a way to build one in Python."""
