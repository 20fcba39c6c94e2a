"""Sweeps: many configurations, one table, charts."""
