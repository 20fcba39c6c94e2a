"""`dlasim confirm`: runs the best machines of a sweep or a search bit-exactly and on the RTL."""

from __future__ import annotations

import json
from typing import Any

import click

from dlasim.arguments import COUNTS
from dlasim.cli.help_sections import option, with_options
from dlasim.cli.option_types import Number
from dlasim.cli.study_options import LIMIT, MINIMIZE
from dlasim.cli.terminal import say

_EPILOG = """\b
Examples:
  dlasim confirm mobilenet_v2-search
  dlasim confirm resnet8-sweep --minimize energy --top 1
  dlasim confirm resnet8-sweep --limit 'milliseconds < 1' --no-rtl
"""


@click.command("confirm", epilog=_EPILOG)
@click.argument("folder", metavar="DIR")
@with_options(
    option("--top", "At most so many machines.  [default: all]", "N", kind=Number(int, *COUNTS["top"])),
    option("--rtl/--no-rtl", "Also run the RTL in Verilator, which is built first.", kind=bool, default=True),
    LIMIT,
    MINIMIZE,
    option("--json", "Print what was found as JSON.", kind=bool, name="as_json"),
)
def command(folder: str, as_json: bool, **given: Any) -> None:
    """Compare every tensor of the networks on the machines that no other beats, and run them on the RTL.

    The table of the folder gets the columns verified, rtl, rtl_cycles_dla and rtl_ratio.
    """
    from dlasim.confirmation import confirm
    from dlasim.errors import RunError

    found = confirm(folder, on_network=lambda name: say(f"confirming {name}", err=True), **given)
    say(json.dumps(found, indent=2) if as_json else str(found))
    differs = [row for row in found if "differ" in f"{row['verified']}{row['rtl']}"]
    if differs:
        raise RunError(f"{len(differs)} of {len(found)} networks on these machines differ from the reference")
