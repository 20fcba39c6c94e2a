"""Sweeps: evaluate many configurations into one table, and draw charts from it.

A study (`definition`) defines points. Each point is evaluated (`evaluation`) in this process, in worker
processes or on a cluster. Finished points are stored and written as a table (`results`), with charts
(`charts`) and interactive pages (`page`).
"""
