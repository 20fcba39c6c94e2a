"""A search finds the front of all machines, with the same table on every way to it."""

import random
import statistics
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import dlasim
from benchmarks.search import hypervolume
from dlasim import api
from dlasim.cli import main
from dlasim.errors import InputError
from dlasim.sim.configuration.parameter_names import ALIASES
from dlasim.sweeps.definition.axes import catalogue
from dlasim.sweeps.definition.goals import read_goals
from dlasim.sweeps.definition.models import blueprint, source
from dlasim.sweeps.definition.study import WORKLOAD
from dlasim.sweeps.definition.study_builder import build_search
from dlasim.sweeps.results.decision import Decision
from dlasim.sweeps.results.sweep_result import SweepResult, open_results
from dlasim.sweeps.search import machine_search as searching
from dlasim.sweeps.search.least_figures import LeastFigures
from dlasim.sweeps.search.samplers import Answer, Place, SearchAxis, make_sampler

SPACE: dict[str, Any] = {
    "parallel": ["1x16", "4x4", "8x8"],
    "sram": "16KiB..64KiB",
    "mac_results": [1, 4],
    "dma_bandwidth": [2, 8],
    "vector_lanes": [4, 16],
    "fusion": "requant",
}
MODELS = ["ds_cnn", "mnist"]
LIMITS = ["milliseconds < 1", "area < 2"]
GOALS: dict[str, Any] = {"limits": LIMITS, "minimize": ["energy", "area"]}
DEMANDED = ("cycles_total", "milliseconds", "energy_nj", "load", "power_mw")
ANY_MACHINE: dict[str, list[Any]] = {
    "parallel": ["1x16", "64x1", "4x4", "8x16", "8x8x4"], "sram": ["16KiB", "64KiB", "1MiB"],
    "sram_bandwidth": [4, 16, 0], "sram_ports": [1, 2, 4], "dma_bandwidth": [1, 4, 0],
    "vector_lanes": [1, 16, 64], "mac_results": [0, 1, 16], "accumulators": [1, 8, 0],
    "line_buffer": ["1KiB", "16KiB", 0], "weight_buffer": ["1KiB", "8KiB", 0], "clock": [50, 200, 900],
    "technology": ["45nm", "22nm", "45nm-flash"], "fusion": ["none", "requant"],
    "place": ["auto", "dla", "cpu"], "depthwise": ["native", "emulated", "cpu"],
    "mac_handover": ["results", "blocks"],
}  # fmt: skip
STEPPED = [name for name in SPACE if name != "fusion"]
AXES = [SearchAxis(f"p{number}", 8, True) for number in range(6)]


def costs(decision: Decision) -> list[tuple[float, float]]:
    return [(row["energy_nj"], row["area_mm2"]) for row in decision.front]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    """All machines of the space."""
    return api.sweep(*MODELS, out=tmp_path_factory.mktemp("whole"), jobs=1, **GOALS, **SPACE)


def test_nothing_on_the_front_is_discarded(whole: SweepResult, tmp_path: Path) -> None:
    """As many evaluations as machines: what remains are those that bounds have discarded."""
    cache = whole.path.parent / "cache"
    # An area that most machines exceed: those are not planned.
    areas = sorted(set(whole.column("area_mm2")))
    most = areas[len(areas) // 4]
    goals = {**GOALS, "limits": [*LIMITS, f"area < {most}"]}
    found = api.search(*MODELS, out=tmp_path, cache=cache, jobs=1, sampler="random", **goals, **SPACE)
    assert 0 < len(found) < len(whole)
    within = [cost for cost in costs(Decision(whole)) if cost[1] < most]
    assert within
    assert costs(Decision(found)) == within


@pytest.mark.parametrize("sampler", ["walk", "nsga2", "tpe"])
def test_few_evaluations_find_most_of_the_front(whole: SweepResult, tmp_path: Path, sampler: str) -> None:
    if sampler != "walk":
        pytest.importorskip("optuna", reason="Optuna is not installed")
    cache = whole.path.parent / "cache"
    found = api.search(
        *MODELS, out=tmp_path, cache=cache, jobs=1, sampler=sampler,
        evaluations=24 if sampler == "walk" else 32,  # Optuna's begin with random machines
        **GOALS, **SPACE,
    )  # fmt: skip
    corner = (
        max(energy for energy, _ in costs(Decision(whole))),
        max(area for _, area in costs(Decision(whole))),
    )
    corner = corner[0] * 1.1, corner[1] * 1.1
    share = hypervolume(costs(Decision(found)), corner) / hypervolume(costs(Decision(whole)), corner)
    assert share > 0.9
    winner = Decision(found).winner
    assert winner is not None
    assert winner["energy_nj"] == Decision(whole).winner["energy_nj"]  # type: ignore[index]


def test_rows_are_those_of_a_sweep(whole: SweepResult, tmp_path: Path) -> None:
    found = api.search(*MODELS, out=tmp_path, jobs=2, evaluations=10, **GOALS, **SPACE)
    known = {_identity(row): row for row in whole}
    for row in found:
        same = known[_identity(row)]
        assert {name: row[name] for name in row if name not in ("point", "machine")} == {
            name: same[name] for name in same if name not in ("point", "machine")
        }


def _identity(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(
        row[name]
        for name in ("model", "parallel", "sram_bytes", "mac_results", "dma_bandwidth", "vector_lanes")
    )


def test_the_table_does_not_depend_on_who_evaluates(tmp_path: Path) -> None:
    settings: Any = {"evaluations": 20, "seed": 3, **GOALS, **SPACE}
    results = [api.search(*MODELS, out=tmp_path / str(jobs), jobs=jobs, **settings) for jobs in (1, 2)]
    tables = [result.path.read_bytes() for result in results]
    assert tables[0] == tables[1]


def test_an_interrupted_search_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: Any = {"jobs": 1, "evaluations": 40, **GOALS, **SPACE}
    expected = api.search(*MODELS, out=tmp_path / "whole", **settings).path.read_bytes()
    monkeypatch.setattr(searching, "BATCH", 8)
    with monkeypatch.context() as patch:
        take, taken = searching._MachineSearch._take, []

        def interrupted(*given: Any) -> None:
            taken.append(given)
            if len(taken) > 20:
                raise KeyboardInterrupt
            take(*given)

        patch.setattr(searching._MachineSearch, "_take", interrupted)
        with pytest.raises(
            KeyboardInterrupt, match=r"20 of 40 machines done, see .*results.csv; the same call"
        ):
            api.search(*MODELS, out=tmp_path / "part", **settings)
    part = open_results(tmp_path / "part")
    assert part.partial == "partial: 20 of 40 machines"
    assert len(part) == 60
    monkeypatch.undo()
    again = api.search(*MODELS, out=tmp_path / "part", **settings)
    assert again.partial == ""
    assert again.path.read_bytes() == expected


def test_least_figures_are_below_those_of_plans(whole: SweepResult) -> None:
    for name in MODELS:
        model = source(name, Path(), "x")
        least = LeastFigures([model], {model.label: blueprint(model)})
        for row in whole:
            if row["model"] == name:
                values = {key: "" if row[key] is None else row[key] for key in catalogue()}
                found = least.of(values)
                assert 0 < found["cycles_total"] <= row["cycles_total"]
                assert 0 < found["energy_nj"] <= row["energy_nj"]
                assert found["area_kge"] == row["area_kge"]
                assert found["sram_kib"] == row["sram_kib"]


@pytest.mark.parametrize("seed", range(3))
def test_least_figures_hold_on_any_machine(seed: int) -> None:
    choose = random.Random(seed).choice
    models = [source("ds_cnn@20", Path(), "x"), source("mnist@3", Path(), "x")]
    with dlasim.Explorer({"ds_cnn": 20, "mnist": 3}, jobs=1) as explorer:
        least, ran = LeastFigures(models, explorer.blueprints), 0
        for _ in range(8):
            found = explorer(**{name: choose(values) for name, values in ANY_MACHINE.items()})
            bounds = least.of({key: "" if found[key] is None else found[key] for key in catalogue()})
            ran += found.ran
            for name in (
                ("cycles_total", "milliseconds", "energy_nj", "load", "power_mw") if found.ran else ()
            ):
                assert 0 < bounds[name] <= found[name] * (1 + 1e-5), (name, found)  # rows have six digits
    assert ran > 4


def test_the_bound_of_energy_discards(tmp_path: Path) -> None:
    """Weights of the autoencoder alone take more than the limit; no machine is planned."""
    with pytest.raises(
        InputError, match="proposed machines can keep to the limits, by their least time, energy"
    ):
        api.search(
            "autoencoder", minimize="area", limits="energy < 50uJ", pes=[32, 64], place="dla", out=tmp_path
        )


def _front_of(
    sampler: Any, cost: Callable[[Place], tuple[float, float]], budget: int
) -> list[tuple[float, float]]:
    found = []
    while len(found) < budget:
        for place in sampler.ask(16):
            found.append(cost(place))
            sampler.tell(place, Answer(found[-1]))
    return found


def test_the_walk_beats_random_places() -> None:
    """On a space of 262,144 places with a front between two corners, and traps."""

    def cost(place: Place) -> tuple[float, float]:
        return (
            sum((value - 1) ** 2 for value in place) + 3 * (place[0] % 2),
            sum((value - 6) ** 2 for value in place) + 3 * (place[1] % 2),
        )

    corner = (200.0, 200.0)
    shares = {
        name: statistics.median(
            hypervolume(_front_of(make_sampler(name, AXES, 2, seed, 400), cost, 400), corner)
            for seed in range(5)
        )
        for name in ("walk", "random")
    }
    best = hypervolume([cost(tuple([value] * 6)) for value in range(1, 7)], corner)
    assert shares["walk"] > 0.95 * best
    assert shares["walk"] > 1.05 * shares["random"]


def test_limits_draw_the_walk() -> None:
    """Only 1 in 4,096 places is within; the excess says where."""

    def answer(place: Place) -> Answer:
        return Answer((float(place[5]), float(-place[5])), float(sum(abs(value - 5) for value in place[:4])))

    sampler = make_sampler("walk", AXES, 2, 0, 500)
    found = []
    for _ in range(30):
        for place in sampler.ask(16):
            found.append(answer(place))
            sampler.tell(place, found[-1])
    assert sum(not each.excess for each in found) > 20


def test_samplers_never_propose_a_place_twice() -> None:
    axes = [SearchAxis("a", 3, True), SearchAxis("b", 3, False)]
    for name in ("walk", "random"):
        sampler = make_sampler(name, axes, 1, 0, 9)
        places: list[Place] = []
        while some := sampler.ask(4):
            places += some
            for place in some:
                sampler.tell(place, Answer((random.Random(sum(place)).random(),)))
        assert len(places) == len(set(places)) == 9


def test_a_sampler_of_your_own() -> None:
    class Diagonal:
        def __init__(self) -> None:
            self.told: list[tuple[Place, Answer]] = []

        def ask(self, count: int) -> list[Place]:
            return [(len(self.told) % 2, len(self.told) % 3)] if len(self.told) < 6 else []

        def tell(self, place: Place, answer: Answer) -> None:
            self.told.append((place, answer))

    own = Diagonal()
    found = api.search("mnist", minimize="energy", sampler=own, pes=[8, 16], sram="16KiB..64KiB", jobs=1)
    assert len(found) == 6
    assert [answer.costs for _, answer in own.told] == [(row["energy_nj"],) for row in found]


def test_the_space_of_default_is_large_and_can_be() -> None:
    study = build_search(["mnist"], {}, (), read_goals([], ["energy"], "x"))
    assert searching.space_size(study) > 10**8
    given = build_search(["mnist"], {"sram": "64KiB", "pes": "64"}, (), read_goals([], ["energy"], "x"))
    assert given.axes["sram_bytes"] == (65536,)
    assert "parallel" not in given.axes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mnist"], "needs something to minimize"),
        (["mnist", "--minimize", "energy", "--pes", "8,16", "--where", "pes > 16"], "has no points"),
        (
            ["mnist", "--minimize", "energy", "--pes", "8,16", "--limit", "area < 1"],
            "proposed machines can keep to the limits",
        ),
        (["mnist", "--minimize", "energy", "--limit", "other: area < 1"], "no network is called 'other'"),
        (["mnist", "--minimize", "energy", "--evaluations", "0"], "--evaluations must be from 1"),
        (["mnist", "--minimize", "energy", "--sampler", "best"], "--sampler must be"),
        (["paper", "--minimize", "energy"], "has cases"),
        (["nothing", "--minimize", "energy"], "neither a file nor a built-in network"),
        (["mnist", "--minimize", "energy", "--pes", "many"], "pes must be a whole number"),
        ([], "missing argument"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["search", "--jobs", "1", *arguments])
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_optuna(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(
        InputError, match=r"needs Optuna; run pip install 'dlasim\[search\]', or take --sampler walk"
    ):
        api.search("mnist", minimize="energy", sampler="tpe", pes=[8, 16], out=tmp_path)


def test_the_command_answers(tmp_path: Path) -> None:
    folder = str(tmp_path / "found")
    space = [
        "--pes",
        "4,8,16,32",
        "--sram",
        "16KiB..64KiB",
        "--limit",
        "area < 2.2",
        "--minimize",
        "energy,area",
    ]
    done = CliRunner().invoke(main, ["search", "mnist", *space, "--jobs", "1", "--out", folder])
    assert done.exit_code == 0, done.output
    assert "least energy within the limits: " in done.output
    assert "along the front" in done.output
    assert "from the winner" in done.output
    for command in (["plot", folder], ["report", folder, "-o", f"{folder}/page.html"]):
        assert CliRunner().invoke(main, command).exit_code == 0


def test_steps_that_pay_only_together_are_found(whole: SweepResult, tmp_path: Path) -> None:
    """From a machine none of whose neighbours is smaller within a limit of energy, but two steps are."""
    axes = {name: sorted({row[ALIASES.get(name, name)] for row in whole}, key=str) for name in STEPPED}
    axes |= {name: sorted(values) for name, values in axes.items() if name != "parallel"}
    machines = {
        tuple(row[ALIASES.get(name, name)] for name in STEPPED): (row["area_mm2"], row["energy_nj"])
        for row in whole
        if row["model"] == WORKLOAD
    }
    place, smaller, limit = next(stuck_places(machines, axes))

    class Once:
        asked = False

        def ask(self, count: int) -> list[Place]:
            places = [] if self.asked else [tuple(map(list.index, axes.values(), place))]
            self.asked = True
            return places

        def tell(self, place: Place, answer: Answer) -> None:
            pass

    found = api.search(
        *MODELS, out=tmp_path, cache=whole.path.parent / "cache", jobs=1, sampler=Once(),
        limits=f"energy_nj < {limit}", minimize="area", fusion="requant", **axes,
    )  # fmt: skip
    winner = Decision(found).winner
    assert winner is not None
    assert winner["area_mm2"] <= machines[smaller][0] < machines[place][0]


def stuck_places(
    machines: dict[tuple[Any, ...], tuple[float, float]], axes: dict[str, list[Any]]
) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...], float]]:
    """Machines, a smaller one two steps away, and a limit of energy that no single smaller step keeps to."""
    for place, (area, energy) in machines.items():
        near = []
        for number, (name, values) in enumerate(axes.items()):
            here = values.index(place[number])
            others = values if name == "parallel" else values[max(here - 1, 0) : here + 2]
            near += [
                (number, (*place[:number], it, *place[number + 1 :])) for it in others if it != place[number]
            ]
        smaller = [machines[one][1] for _, one in near if machines[one][0] < area]
        for (axis, one), (other_axis, other) in product(near, near):
            both = (*place[:axis], one[axis], *place[axis + 1 :])
            both = (*both[:other_axis], other[other_axis], *both[other_axis + 1 :])
            most = max(energy, machines[other][1], machines[both][1])
            if axis != other_axis and machines[both][0] < area and smaller and most < min(smaller):
                yield place, both, (most + min(smaller)) / 2
