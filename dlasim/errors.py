"""The errors a user can meet: one base class, each message a single clear line."""


class DlasimError(Exception):
    """Anything a user can cause; the command prints it as one line and leaves with `exit_code`."""

    exit_code = 2


class InputError(DlasimError):
    """A file, flag or value handed in is wrong; the message says what is allowed."""


class RunError(DlasimError):
    """A program or check failed while running."""

    exit_code = 1
