"""How one layer is cut into tiles: their shapes, buffers and costs, and the search for the best."""
