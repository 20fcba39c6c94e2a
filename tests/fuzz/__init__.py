"""Fuzz targets: whatever the bytes, each parser takes them or refuses them in one line, and in time.

The default tests try some hundreds of inputs for each target, and every input in `corpus`, which are those
that once found a defect. `make fuzz` tries as many as one likes: `python -m tests.fuzz [TARGET…] --count N`.
"""
