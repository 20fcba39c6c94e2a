"""Entry point of `dlasim` and `python -m dlasim`."""

import atexit
import gc
import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # Drop the current folder, which may contain a numpy.py; the package itself is already imported.
    del sys.path[0]


def main() -> None:
    """Run the command; Ctrl-C prints one line even while modules are being imported."""
    try:
        gc.set_threshold(400_000, 50, 50)  # a command makes hardly any reference cycles
        atexit.register(gc.freeze)  # so that Python does not look for them when it ends
        # NumPy's other threads compute nothing here, but each spins while it waits, from its start.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        from dlasim.system import interrupts

        interrupts.listen()
        _fill_closed_streams()
        from dlasim.cli import main as command

        command(prog_name="dlasim")
    except (KeyboardInterrupt, RuntimeError) as error:
        from dlasim.errors import is_interrupt

        if not is_interrupt(error):
            raise
        sys.stderr.write("dlasim: interrupted\n")
        sys.exit(130)
    finally:
        from dlasim.system import interrupts

        interrupts.close()


def _fill_closed_streams() -> None:
    """Open closed standard streams (`<&-`, `>&-`, `2>&-`) as the null device, to keep their numbers taken."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            assert os.open(os.devnull, os.O_RDWR) == number, "open() returns the lowest free descriptor"
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


if __name__ == "__main__":
    main()
