"""Interactive pages: one HTML file that shows a run, two runs side by side, or a sweep.

`document` joins data, style sheet and scripts to a file that works offline. `run`, `comparison` and
`sweep` collect the data; the scripts in `assets` draw them.
"""
