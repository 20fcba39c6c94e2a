"""Lowering: a partitioned network onto one configuration."""
