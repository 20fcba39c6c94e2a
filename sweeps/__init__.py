"""Sweeps: many configurations, one table, charts.

A study (`study`, `studyfile`, `build`) spans points; each is evaluated (`evaluate`) here, in worker processes
(`local`, `worker`) or on a cluster (`cluster`); what is finished is kept (`journal`) and becomes a table
(`sweep`, `table`, `result`) and charts (`charts`).
"""
