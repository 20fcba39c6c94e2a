"""`python -m dlasim` is the `dlasim` command."""

from dlasim.cli import main

main(prog_name="dlasim")
