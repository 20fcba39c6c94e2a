"""Tests; a package so that they can share helpers such as tests.oracle."""
