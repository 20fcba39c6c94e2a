"""Evaluates points: here, in workers, or on a cluster."""
