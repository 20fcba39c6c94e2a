"""TOSA files (`.tosa`), integer profile, to the graph of every model."""
