"""TFLite operators: a table of them, and for each the shapes of its outputs and its calls of host operators.

What a call's attributes, records and tables hold is computed exactly as TFLite Micro does it.
"""
