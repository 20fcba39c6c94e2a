"""The arithmetic of TensorFlow's integers, defined once for the engines, the CPU and the compiler."""
