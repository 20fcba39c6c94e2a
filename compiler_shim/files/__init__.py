"""Model files: what they are, what they contain, and why one is refused."""
