"""Weights that are loaded early: what, when, and where to."""
