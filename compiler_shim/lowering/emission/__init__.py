"""Emission: tilings and addresses made into command words, by routines that a sweep has compiled.

Read in the order in which data flows: `rows` (nodes as numbers), `streams` (tiles and stripes in their
order), `tiles` (what a tile loads, computes and stores), `operations` (one operation), `words` (registers,
waits and words); `layout` says what lies where in the routines' memories, and `emitter` calls them.
"""
