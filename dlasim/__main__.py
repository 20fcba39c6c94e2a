"""Where the command begins, as `dlasim` and as `python -m dlasim`."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # The current folder, which may hold a numpy.py; the package has been found already.
    del sys.path[0]


def main() -> None:
    """Run the command; Ctrl-C is one line also while its modules still load."""
    try:
        _fill_closed_streams()
        from dlasim.cli import main as command

        command(prog_name="dlasim")
    except KeyboardInterrupt:
        sys.stderr.write("dlasim: interrupted\n")
        sys.exit(130)


def _fill_closed_streams() -> None:
    """What a shell closed (`<&-`, `>&-`, `2>&-`) is the null device: no file of ours may take its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            assert os.open(os.devnull, os.O_RDWR) == number, "the lowest free number is the next one"
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


if __name__ == "__main__":
    main()
