"""TFLite flatbuffers: the only place that knows the file format."""
