"""`dlasim search`: finds the best machines in a space that is too large to sweep."""

from __future__ import annotations

import json
from typing import Any

import click

from dlasim.arguments import COUNTS
from dlasim.cli.help_sections import SectionedCommand, option, with_options
from dlasim.cli.option_types import Choice, Number
from dlasim.cli.study_options import (
    given_axes,
    goals_of,
    run_options,
    settings_of,
    space_options,
)
from dlasim.cli.terminal import say
from dlasim.system import interrupts

SAMPLERS = ("auto", "walk", "nsga2", "tpe", "random")
_EPILOG = """\b
Examples:
  dlasim search kwt --limit 'milliseconds < 10' --minimize energy,area
  dlasim search mobilenet_v2@10 kwt@20 --limit 'energy < 2mJ' --minimize area
  dlasim search resnet8 --pes 16..256:16 --set sram_ports=2,3,4
  dlasim search study.toml --evaluations 5000 --sampler nsga2 --out found

VALUES are as in `dlasim sweep`. Without a parameter of several values, the space is that of what an architect
may choose freely: array, SRAM and its ports, bus, lanes, buffers, queues. The folder is that of a sweep:
`dlasim plot`, `dlasim report` and `dlasim confirm` read it. The same command goes on after an interruption.
"""


@click.command("search", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("targets", metavar="MODEL…|STUDY", nargs=-1, required=True)
@with_options(
    option("--json", "Print the machines of the front as JSON.", kind=bool, name="as_json"),
)  # fmt: skip
@space_options
@with_options(
    option("--evaluations", "How many machines to evaluate.", "N", kind=Number(int, *COUNTS["evaluations"]),
        default=1000),
    option("--sampler", "What proposes machines; nsga2 and tpe are Optuna's (extra `search`), auto is walk.",
        kind=Choice(SAMPLERS), default="auto"),
    option("--seed", "Seed of the sampler.", "N", kind=Number(int, 0, 2**32 - 1), default=0),
)  # fmt: skip
@run_options("search")
def command(targets: tuple[str, ...], **given: Any) -> None:
    """Find the machines that take least of what --minimize names and keep to every --limit; write
    DIR/results.csv.

    The networks run on one machine: limits and objectives are about all of them together.
    """
    from dlasim.cli.decision_text import print_decision, print_explanation, print_sensitivity
    from dlasim.errors import RunError, counted
    from dlasim.sweeps.definition.study_builder import build_search
    from dlasim.sweeps.results.decision import Decision
    from dlasim.sweeps.search.machine_search import SearchOrder, run_search, space_size

    study = build_search(targets, given_axes(given), given["where"], goals_of(given))
    settings = settings_of(given, study, "search")
    order = SearchOrder(given["evaluations"], given["seed"], given["sampler"])
    with interrupts.terminations():
        outcome = run_search(study, settings, order)
    decision = Decision(outcome.result)
    if given["as_json"]:
        say(json.dumps(decision.front, indent=2))
    else:
        print_decision(decision)
        print_explanation(decision)
        print_sensitivity(decision)
    machines = outcome.points // len(study.models)
    parts = [f"{counted(machines, 'machine')} of {space_size(study):,} in {outcome.seconds:.1f} s"]
    if outcome.discarded:
        parts.append(f"{outcome.discarded:,} discarded by their least time, energy and area")
    say(f"{study.name}: {'; '.join(parts)}; wrote {outcome.result.path}", err=True)
    if outcome.first_failure:
        raise RunError(f"{outcome.statuses['failed']} points failed; the first: {outcome.first_failure}")
