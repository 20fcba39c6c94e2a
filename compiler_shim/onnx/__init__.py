"""ONNX files: the only place that knows their format and their operators."""
