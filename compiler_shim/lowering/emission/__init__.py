"""Emission: tilings and addresses made into command words, by routines that a sweep has compiled.

Read in the order in which data flows: `network_nodes` (what is the same in all programs of a network),
`plan_rows` (the nodes and segments of a plan), `streams` (the order of tiles and stripes), `tiles` (what a
tile loads, computes and stores), `operations` (one operation), `words` (registers, waits and words).
`records` defines the records that they work on, and `emitter` calls them.
"""
