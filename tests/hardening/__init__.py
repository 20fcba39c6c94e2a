"""Commands against a world that does not play along."""
