"""How long the CPU's part takes, estimated operator by operator."""
