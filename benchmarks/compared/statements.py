"""Sentences of README and docs whose figures follow from measured files: `make accuracy` puts today's in, and
a test compares."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

from compared import area_page, areas
from compared.queue_depths import ARRAYS, DEPTHS, NETWORKS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SMALL = ("default", "ports", "one port")

COMPARED = "compared.csv"
TIMES = "times.csv"
KEPT = (
    "paper_close", "paper_others", "paper_most",
    "ethos_least", "ethos_most", "ethos_close", "ethos_convolutions", "ethos_others_least",
    "ethos_others_most", "nvdla_least", "nvdla_most",
)  # fmt: skip

# A page, and a sentence of it in which each name in braces is a figure.
STATEMENTS = (
    (
        "README.md",
        "networks that the presets were fitted to: {ethos_least} to {ethos_most} %, {ethos_close} of "
        "{ethos_convolutions} convolutions within 0.8 to 1.25 times; five others: {ethos_others_least} to "
        "{ethos_others_most} %",
    ),
    (
        "README.md",
        "one inference with all outputs | {inference_ms} ms (LiteRT: XNNPACK {xnnpack_ms} ms, reference "
        "kernels {reference_ms} ms)",
    ),
    ("README.md", "compiled and timed for 1,014 machines | {machine_ms} ms each"),
    ("README.md", "unlimited bandwidth | {paper_close} within 0.1 %, {paper_others} within {paper_most} %"),
    ("README.md", "every tensor on two machines | [{zoo_exact} of {zoo_tried} tried]"),
    ("README.md", "ResNet-50, seven sizes | {nvdla_least} to {nvdla_most} times"),
    ("README.md", "default machine it takes {default_least} to {default_most} % more on five networks"),
    ("docs/sweeps.md", "Of {search_machines} machines for ResNet-8 and DS-CNN"),
    ("docs/sweeps.md", "computed, and {search_front} machines are on the front of energy, area and time"),
    (
        "docs/sweeps.md",
        "| sampler | 200 evaluations | 1,000 evaluations | | --- | --- | --- | "
        "| grid | {search_grid_200} | {search_grid_1000} |"
        + "".join(
            f" | {name} |"
            + "".join(f" {{{key}}} ({{{key}_least}} to {{{key}_most}}) |" for key in
                      (f"search_{name}_200", f"search_{name}_1000"))
            for name in ("random", "nsga2", "walk")
        ),
    ),
    (
        "docs/virtual-prototype.md",
        "| integer loop (insertion sort) | {mips_sort_hook} | {mips_sort_board} | "
        "| int8 convolution 3x3x32 | {mips_convolution_hook} | {mips_convolution_board} | "
        "| registers only (xorshift) | {mips_xorshift_hook} | {mips_xorshift_board} |",
    ),
    ("docs/how-to/get-an-int8-network.md", "`make exports` does this with {export_networks} networks"),
    ("docs/timing-model.md", "five networks take [{default_least} to {default_most} % more cycles]"),
    (
        "docs/rtl.md",
        "On networks the RTL takes from {small_least} to {small_most} % more cycles than the simulator on "
        "three machines, {small_mean} % in the mean",
    ),
    (
        "docs/rtl.md",
        "On {drawn_machines} machines drawn by chance, with odd lanes, small buffers, slow results and three "
        "to eight ports, it takes from {drawn_least} to {drawn_most} % more, {drawn_mean} % in the mean",
    ),
    (
        "docs/rtl.md",
        "| network | array | 1 | 2 | 3 | 4 | 3 takes more than 4 by |"
        " | --- | --- | ---: | ---: | ---: | ---: | ---: |"
        + "".join(
            f" | {title} | {array} | {{{name}_{key}_1}} | {{{name}_{key}_2}} |"
            f" {{{name}_{key}_3}} | {{{name}_{key}_4}} |"
            f" {{{name}_{key}_loss}} |"
            for name, title in NETWORKS.items()
            for key, array in ARRAYS.items()
        ),
    ),
    ("docs/rtl.md", "cycle-by-cycle) {words_least} to {words_most} % of the words' bytes are used"),
    ("docs/rtl.md", "Three cost {depth_most} % at most here compared with four"),
    ("docs/rtl.md", "operations: {slot_bits} bits for one operation in each. A bit takes {bit_area}"),
    ("docs/rtl.md", "so that depth costs {queues_area} kGE, a depth of four {deep_area}"),
    ("docs/area.md", "{slot_bits} bits for one operation in each queue, and a bit takes {bit_area} GE"),
    ("docs/area.md", "| queues | {slot_bits} for each operation that `queue_depth` holds"),
    ("docs/area.md", "a word of 32 bits takes {word_area} kGE"),
    ("docs/area.md", "64 words are {lane_area} kGE in each lane"),
    (
        "docs/area.md",
        "which takes {int16_lane} kGE and {int16_bits} flip-flops more, and half as much more memory",
    ),
    ("docs/area.md", "48 by 16 bits beside the requantizer, {int16_result} kGE"),
    ("docs/area.md", "a VECTOR lane takes {int16_vector} kGE more, a divider of averages {int16_average}"),
    ("docs/area.md", "MAC's queue keeps {sums_bits} bits more"),
    ("docs/area.md", "16 VECTOR lanes are {stage_area} kGE of the {unlimited_area} of an unlimited stage"),
    ("docs/area.md", "takes {array_mm2} mm² more, as much as {array_kib} KiB of SRAM"),
    ("docs/area.md", "the 64 PEs have {pes_area} of {grid_area} kGE. Queues and control have {front_area}:"),
    (
        "docs/area.md",
        "takes {memory_mm2} mm²; as flip-flops of each lane they would have {flip_flops_area} kGE, more than "
        "all else, and {flip_flops_mm2} mm²",
    ),
    ("docs/area.md", "published areas at 28 nm: {areas_least} to {areas_most} of them"),
    ("docs/area.md", "**Queues, {queues_area} kGE.**"),
    ("docs/area.md", "**Ports, {ports_area} kGE.**"),
    ("docs/area.md", "**Operand checks, {checks_area} kGE.**"),
    (
        "docs/area.md",
        "**Requests for words, {words_area} kGE.** MAC's take {mac_words_area} kGE and VECTOR's "
        "{vector_words_area}.",
    ),
    (
        "docs/area.md",
        "Between the bus and the ports DMA_IN has {arrivals_area} kGE and DMA_OUT {departures_area}",
    ),
    (
        "docs/area.md",
        "{second_memory} kGE for a second one and hardly more for others, up to {odd_rates} for rates in",
    ),
    ("docs/area.md", "of a byte, and from {overlap} on for latencies"),
    (
        "docs/area.md",
        "Depth 1 takes {shallow_area} kGE, depth 4 {deep_area}, which saves at most {depth_most} % of the",
    ),
)  # fmt: skip


def rows_of(name: str) -> list[dict[str, str]]:
    """A measured file of this folder."""
    with (HERE / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def figures() -> dict[str, str]:
    """Each figure by its name, as pages print it."""
    return dict(
        (
            *_of_limits(),
            *_of_words(),
            *_of_depths(),
            *area_page.figures(),
            *_of_zoo(),
            *_of_exports(),
            *zip(("areas_least", "areas_most"), areas.render()["areas_range"].split(" to "), strict=True),
            *_kept(COMPARED),
            *_kept(TIMES),
        )
    )


def keep(tables: dict[str, str]) -> None:
    """Write the figures that comparisons found and pages state."""
    _write(COMPARED, {name: tables[name] for name in KEPT})


def record(**times: str) -> None:
    """Write times that a benchmark measured into their file, which keeps the others, and into the pages."""
    _write(TIMES, dict(_kept(TIMES)) | times)
    write_all()


def _write(name: str, values: dict[str, str]) -> None:
    with (HERE / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("name", "value"))
        writer.writerows(values.items())


def _kept(name: str) -> Iterator[tuple[str, str]]:
    for row in rows_of(name):
        yield row["name"], row["value"]


def _of_limits() -> Iterator[tuple[str, str]]:
    """In per cent, how much longer the RTL takes."""
    longer = {
        (row["network"], row["machine"]): 100 * (int(row["rtl_cycles"]) / int(row["simulator_cycles"]) - 1)
        for row in rows_of("rtl.csv")
    }
    drawn = {machine for _, machine in longer if machine.startswith("drawn")}
    for name, machines in (("default", {"default"}), ("small", SMALL), ("drawn", drawn)):
        chosen = [value for (_, machine), value in longer.items() if machine in machines]
        yield f"{name}_least", _per_cent(min(chosen))
        yield f"{name}_most", _per_cent(max(chosen))
        yield f"{name}_mean", _per_cent(sum(chosen) / len(chosen))
    yield "drawn_machines", str(len(drawn))


def _of_words() -> Iterator[tuple[str, str]]:
    """In per cent, how much of the words that cross the SRAM's ports on the RTL is used."""
    counted = [row for row in rows_of("rtl.csv") if row["rtl_sram_words"]]
    used = [
        100 * int(row["rtl_sram_bytes"]) / int(row["rtl_sram_words"]) / int(row["word_bytes"])
        for row in counted
    ]
    yield "words_least", f"{min(used):.0f}"
    yield "words_most", f"{max(used):.0f}"


def _of_depths() -> Iterator[tuple[str, str]]:
    cycles = {tuple(row.values())[:-1]: int(row["cycles"]) for row in rows_of("queue_depths.csv")}
    losses = []
    for name in NETWORKS:
        for array in ARRAYS:
            found = {depth: cycles[name, array, str(depth)] for depth in DEPTHS}
            losses.append(100 * (found[3] / found[4] - 1))
            yield from ((f"{name}_{array}_{depth}", f"{count:,}") for depth, count in found.items())
            yield f"{name}_{array}_loss", f"{losses[-1]:.2f} %"
    yield "depth_most", f"{max(losses):.2f}"


def _of_zoo() -> Iterator[tuple[str, str]]:
    """From the page, whose models are not all here."""
    counts = re.search(
        r"\*\*all\*\* \|  \| (\d+) \| \d+ \(.*?\) \| (\d+)", (ROOT / "docs" / "zoo.md").read_text("utf-8")
    )
    assert counts, "docs/zoo.md lacks the row **all**"
    yield "zoo_tried", counts[1]
    yield "zoo_exact", counts[2]


def _of_exports() -> Iterator[tuple[str, str]]:
    yield "export_networks", str(len({row["network"] for row in rows_of("exports.csv")}))


def _per_cent(value: float) -> str:
    return f"{round(value, 2) + 0:.2f}".replace("-", "−")  # no −0.00


def update(page: str, text: str) -> str:
    """The page's text with today's figures and tables."""
    found = figures()
    if page == "docs/area.md":
        for table in area_page.tables():
            text = with_table(text, table)
    for own, sentence in STATEMENTS:
        if own == page:
            text = _filled(text, sentence, found, page)
    return text


def with_table(text: str, table: str) -> str:
    """The text with a table in the place of the one that has the same columns."""
    head = table[: table.index("\n") + 1]
    before, found, rest = text.partition(head)
    assert found, f"no table begins with {head}"
    return before + table.rstrip("\n") + rest[rest.index("\n\n") :]


def _filled(text: str, sentence: str, found: dict[str, str], page: str) -> str:
    parts = re.split(r"\{(\w+)\}", sentence)
    spaced = [r"\s+".join(map(re.escape, part.split(" "))) for part in parts[::2]]
    pattern = re.compile(r"([−+\d,.]+(?: %)?)".join(f"({part})" for part in spaced))
    matches = list(pattern.finditer(text))
    assert len(matches) == 1, f"{page} has {len(matches)} times, not once: {sentence}"
    (match,) = matches
    pieces = list(match.groups())
    pieces[1::2] = [found[name] for name in parts[1::2]]
    return text[: match.start()] + "".join(pieces) + text[match.end() :]


def write_all() -> None:
    """Put today's figures into every page."""
    for page in dict(STATEMENTS):
        path = ROOT / page
        path.write_text(update(page, path.read_text(encoding="utf-8")), encoding="utf-8")
