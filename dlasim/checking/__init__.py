"""Compares networks with the results of TensorFlow and onnxruntime."""
