"""The RTL has no warning of Verilator's, on any machine, and says which machines it cannot be."""

import subprocess

import pytest

from tests.rtl.builder import lint_command
from tests.rtl.machines import LARGE, LARGE_LIMITED, LIMITED, MACHINES, machine


@pytest.mark.parametrize("name", [*MACHINES, *LARGE, *LIMITED, *LARGE_LIMITED])
def test_no_warning(name: str) -> None:
    done = subprocess.run(lint_command(machine(name)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"issue_cycles": 0}, "issue_cycles must be at least 1"),
        ({"check_cycles": 15}, "check_cycles must be at least 16"),
        ({"mac_fill": 3}, "mac_fill of at least 4 and mac_drain of at least 6"),
        ({"mac_results": 1, "accumulators": "unlimited"}, "accumulators must be limited"),
        ({"vector_drain": 1}, "vector_fill of at least 2 and vector_drain of at least 8"),
    ],
)
def test_a_machine_that_cannot_be_built_is_refused(change: dict[str, int | str], message: str) -> None:
    command = lint_command(machine("grid").replace(parallel="2x2", vector_lanes=1, **change))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert message in done.stderr
