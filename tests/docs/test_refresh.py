"""What puts today's figures into pages finds a line whatever its numbers have become."""

from pathlib import Path

import pytest

from tests.docs.refresh import refresh


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("conv  37,369  4  20 µJ", "conv  37,412  4  20.1 µJ"),  # three digits of 20.0 are 20
        ("conv  37,369  2x2  999 nJ", "conv  37,369  4  1.02 µJ"),
    ],
)
def test_a_line_with_other_numbers_replaces_the_one_before(tmp_path: Path, before: str, after: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ dlasim run\n{before}\n```\n", encoding="utf-8")
    refresh(page, [before], f"head\n{after}\n")
    assert page.read_text(encoding="utf-8") == f"```console\n$ dlasim run\n{after}\n```\n"
