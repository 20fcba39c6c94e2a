"""ONNX files: the only place that knows their format and their operators."""

from __future__ import annotations

from pathlib import Path


def is_onnx(path: str | Path) -> bool:
    """Whether a file is ONNX by its name; its content has no mark."""
    return str(path).lower().endswith(".onnx")
