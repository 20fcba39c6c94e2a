"""How dlasim and its extras are installed: messages use these commands, and a test holds every page to them.

dlasim is in no package index, so pip must not look for it there. Once dlasim is installed, pip takes the list
of an extra's packages from it.
"""

from __future__ import annotations

FROM_CHECKOUT = "pip install ."  # in a checkout; with an extra: pip install '.[NAME]'


def extra_command(name: str) -> str:
    """The command that adds an extra to an installed dlasim."""
    return f"pip install 'dlasim[{name}]'"
