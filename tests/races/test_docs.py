"""The example of docs/races.md is what the checker says."""

import re
from pathlib import Path

from dlasim.isa.assembly import assemble
from dlasim.sim.races import check_program

DOCS = Path(__file__).parents[2] / "docs" / "races.md"


def test_the_example_prints_what_the_page_shows() -> None:
    text = DOCS.read_text()
    (source,) = re.findall(r"```asm\n(.*?)```", text, re.DOTALL)
    (output,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    report = check_program(assemble(source))
    assert str(report) + "\n" == output


def test_the_proposed_wait_mends_the_example() -> None:
    (source,) = re.findall(r"```asm\n(.*?)```", DOCS.read_text(), re.DOTALL)
    (race,) = check_program(assemble(source)).races
    mended = source.replace("    OP_ACT_RELU", f"    {race.wait}\n    OP_ACT_RELU").replace(
        "OUT_CHANNELS, 15", "OUT_CHANNELS, 16"
    )
    assert mended != source
    assert check_program(assemble(mended)).is_clean
