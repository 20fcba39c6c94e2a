"""The simulator: executes DLA programs bit for bit and says what they cost."""
