"""The numbers in the timing manual are those of the code."""

import doctest
from pathlib import Path

MANUAL = Path(__file__).parents[2] / "docs" / "timing-model.md"


def test_every_example_of_the_manual():
    results = doctest.testfile(str(MANUAL), module_relative=False)
    assert results.attempted > 30
    assert results.failed == 0
