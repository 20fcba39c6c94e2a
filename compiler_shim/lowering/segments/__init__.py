"""Layers that run together, piece by piece: chains in stripes of rows."""
