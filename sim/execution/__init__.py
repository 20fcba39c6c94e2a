"""Runs a program: the machine as the host sees it, the standalone runner, and the debugger."""
