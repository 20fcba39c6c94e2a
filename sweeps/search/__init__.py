"""Finds machines in a space too large to sweep."""
