"""Chains: layers that run together, piece by piece, so that what lies between them never leaves SRAM."""
