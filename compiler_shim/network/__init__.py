"""The network as a graph, and rewriting passes that keep its results."""
