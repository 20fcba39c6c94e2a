"""dlasim: instruction-set simulator and virtual prototype of an int8 deep-learning accelerator."""

__version__ = "0.1.0"
