"""Writes docs/zoo.md: models tried, compiled, bit-exact.

    python benchmarks/zoo.py [--write] [--resume] [FOLDER]

The built-in networks, those that Keras users export, and every .tflite below FOLDER, each compiled for two
machines and compared with TensorFlow tensor by tensor; counted by source and by the types of their tensors,
refusals by reason. Prints the page; with --write it goes where it belongs. Fails if a model that compiles is
not bit-exact. With --resume it takes what a run that was stopped has found, from out/zoo.json. The prose is
compared/zoo.md.in. The networks of Keras are built by tests/keras_networks.py.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from compared import exports, statements
from compared.common import Networks, cycles_of, table

from dlasim import api
from dlasim.compiler_shim.tflite.reader import read_tflite
from dlasim.compiler_shim.topologies import topology_names
from dlasim.errors import InputError, RunError
from dlasim.sim.configuration.config import DlaConfig
from tests.keras_networks import BUILDERS, keras_network

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "zoo.md"
KEPT = HERE.parent / "out" / "zoo.json"  # outcomes of this run
BUILT_IN = "Built-in networks"
KERAS = "Networks of Keras"
MACHINES: tuple[tuple[str, dict[str, str | int]], ...] = (
    ("default machine", {}),
    ("64 KiB, 8x8", {"sram_bytes": 64 << 10, "parallel": "8x8", "fusion": "requant"}),
)
TIMES = "cycles", "CPU, %", "cycles / bound", "with `--io int8`"
EXTRA = (
    ("mobilenet_v1 0.25, 96x96", "mobilenet_v1", {"alpha": 0.25, "resolution": 96}),
    ("mobilenet_v2 0.35, 96x96", "mobilenet_v2", {"alpha": 0.35, "resolution": 96}),
)


@dataclass(slots=True)
class ModelOutcome:
    """What became of a model."""

    types: str = ""
    operators: int = 0
    on_dla: int = 0
    macs: int = 0
    tensors: int = 0
    times: list[str] = field(default_factory=lambda: [""] * len(TIMES))
    verdicts: list[str] = field(default_factory=list)

    @property
    def has_compiled(self) -> bool:
        """Whether every machine has a program."""
        return all(not verdict.startswith("refused") for verdict in self.verdicts)

    @property
    def is_exact(self) -> bool:
        """Whether every tensor was TensorFlow's on every machine."""
        return all(verdict.startswith("yes") for verdict in self.verdicts)


def main(arguments: list[str]) -> int:
    """Try everything; print or write the page."""
    folders = [Path(argument) for argument in arguments if not argument.startswith("--")]
    if "--resume" not in arguments:
        KEPT.unlink(missing_ok=True)
    outcomes: dict[str, dict[str, ModelOutcome]] = {KERAS: {}, BUILT_IN: {}}
    with TemporaryDirectory() as temporary:
        for title, name, find in _models(Path(temporary), folders):
            outcomes.setdefault(title, {})[name] = _once(f"{title}, {name}", find)
    page = render(outcomes)
    if "--write" in arguments:
        PAGE.write_text(page, encoding="utf-8")
        statements.write_all()
        print(f"wrote docs/{PAGE.name}", file=sys.stderr)
    else:
        print(page)
    return int(any("**no**" in verdict for group in outcomes.values() for one in group.values()
                   for verdict in one.verdicts))  # fmt: skip


def _models(temporary: Path, folders: list[Path]) -> Iterator[tuple[str, str, Callable[[], Path]]]:
    """Chapter and name of every model, and what finds or makes its file."""
    networks = Networks(temporary)
    for name in topology_names():
        yield BUILT_IN, name, partial(networks.path, name)
    for title, name, arguments in EXTRA:
        yield BUILT_IN, title, partial(networks.path, name, **arguments)
    for name in BUILDERS:
        yield KERAS, name, partial(keras_network, name, temporary, has_float_edges=True)
    for folder in folders:
        for path in sorted(folder.rglob("*.tflite")):
            name = path.relative_to(folder).with_suffix("")
            yield f"`{name.parent}`", name.name, partial(Path, path)


def _once(title: str, find: Callable[[], Path]) -> ModelOutcome:
    """What became of a model, unless that is kept."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if title not in kept:
        kept[title] = asdict(attempt(title, find()))
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(kept))
    return ModelOutcome(**kept[title])


def attempt(name: str, path: Path) -> ModelOutcome:
    """Compile for each machine, and compare every tensor with TensorFlow's over four inputs."""
    outcome = ModelOutcome(_types(path))
    for _, choices in MACHINES:
        try:
            if not outcome.verdicts:
                rows = api.explain(path, **choices)
                outcome.operators, outcome.on_dla = len(rows), sum(row["unit"] == "dla" for row in rows)
                outcome.macs = sum(row["macs"] for row in rows)
            result = api.verify(path, **choices)
        except (InputError, RunError) as error:
            outcome.verdicts.append(f"refused: {error}".replace(f"{path}: ", ""))
        else:
            outcome.tensors = result.tensors
            why = result.mismatch or f"TensorFlow does not compute {', '.join(result.uncompared)}"
            outcome.verdicts.append("yes" if result.passed else f"**no**: {why}")
    if outcome.has_compiled:
        outcome.times = _times(path)
    print(f"{name}: {'; '.join(outcome.verdicts)}", file=sys.stderr)
    return outcome


def _times(path: Path) -> list[str]:
    """What TIMES has of a model, on the default machine."""
    report, inside = (cycles_of(path, DlaConfig(), **io) for io in ({}, {"io": "int8"}))
    cycles = report["cycles"]
    without = f"{inside['cycles']['total']:,}" if inside["left_out"] else ""
    share = f"{100 * cycles['cpu'] / cycles['total']:.1f}"
    return [f"{cycles['total']:,}", share, f"{report['bound_ratio']:.2f}", without]


def _types(path: Path) -> str:
    """The types of the tensors that the model computes, and of its inputs."""
    graph = read_tflite(path)
    found = {tensor.dtype for tensor in graph.tensors if not tensor.is_constant}
    return ", ".join(sorted(found, key=lambda dtype: (dtype.startswith("float"), dtype)))


def render(outcomes: dict[str, dict[str, ModelOutcome]]) -> str:
    """The page."""
    everything = [outcome for group in outcomes.values() for outcome in group.values()]
    tried, compiled = len(everything), sum(outcome.has_compiled for outcome in everything)
    exact = sum(outcome.is_exact for outcome in everything)
    rows = []
    for title, group in outcomes.items():
        for types in sorted({outcome.types for outcome in group.values()}):
            rows.append(_count(title, types, [one for one in group.values() if one.types == types]))
    whole = (f"{number} ({100 * number / tried:.0f} %)" for number in (compiled, exact))
    counts = table(
        ("models", "types of tensors", "tried", "compiled", "bit-exact"),
        [*rows, ("**all**", "", str(tried), *whole)],
    )
    counts = "\n".join((counts, *_refusals(everything)))
    files = tried - len(outcomes[BUILT_IN]) - len(outcomes[KERAS])
    template = Template((HERE / "compared" / "zoo.md.in").read_text(encoding="utf-8"))
    head = template.substitute(counts=counts, files=files)
    chapters = [f"## {title}\n\n{_chapter(group)}" for title, group in outcomes.items()]
    return "\n".join([head.rstrip("\n") + "\n", *chapters, exports.chapter()])


def _count(title: str, types: str, group: list[ModelOutcome]) -> tuple[str, ...]:
    compiled = sum(outcome.has_compiled for outcome in group)
    return title, types, str(len(group)), str(compiled), str(sum(outcome.is_exact for outcome in group))


def _refusals(outcomes: list[ModelOutcome]) -> Iterator[str]:
    """How many models were refused for each reason, without the place in the model."""
    reasons: Counter[str] = Counter()
    for outcome in outcomes:
        refused = {verdict for verdict in outcome.verdicts if verdict.startswith("refused")}
        reasons.update({verdict.split("): ", 1)[-1] for verdict in refused})
    if reasons:
        yield table(
            ("refused because", "models"), [(why, str(count)) for why, count in reasons.most_common()]
        )
    else:
        yield "No model was refused."


def _chapter(group: dict[str, ModelOutcome]) -> str:
    head = ("model", "operators on the DLA", "MACs there", *TIMES, "exact tensors")
    return table(
        head,
        [
            (name, f"{one.on_dla} of {one.operators}", f"{one.macs:,}", *one.times, _exactness(one))
            for name, one in group.items()
        ],
    )


def _exactness(outcome: ModelOutcome) -> str:
    """How many tensors are exact, or by machine why not all are."""
    if outcome.is_exact:
        return str(outcome.tensors)
    if not outcome.has_compiled:
        return "refused"
    machines = (title for title, _ in MACHINES)
    return "; ".join(f"{title}: {verdict}" for title, verdict in zip(machines, outcome.verdicts, strict=True))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
