"""A program as the machine reads it: operations, the bytes that each touches, the faults it would raise."""
