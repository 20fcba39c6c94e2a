"""Sweeps: evaluate many configurations into one table, and draw charts from it.

A study (`study`, `studyfile`, `study_builder`) defines points. Each point is evaluated (`evaluate`) in this
process, in worker processes (`local`, `worker`) or on a cluster (`cluster`). Finished points are stored
(`journal`) and written as a table (`sweep`, `csv_table`, `sweep_result`), with charts (`charts`) and
a page (`study_outputs`).
"""
