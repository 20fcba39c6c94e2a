"""Makes an int8 network of one in float, with somebody else's quantizer."""
