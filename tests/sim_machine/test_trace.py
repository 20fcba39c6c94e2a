"""Traces: the Trace Event format, tracks without overlaps, counters that a walk over bytes gives."""

import itertools
import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from dlasim import api
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.compiler_shim.topologies import build_topology
from dlasim.isa.assembly import assemble
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.configuration.machine_files import preset
from dlasim.sim.configuration.sizes import KIB
from dlasim.sim.execution.runner import Simulation, config_of
from dlasim.sim.programs.footprint import footprints
from dlasim.sim.reports.occupancy import occupancy_changes
from dlasim.sim.reports.trace import trace_events

EXAMPLES = Path(__file__).parents[2] / "examples"
CASES = {
    "resnet8": ({}, {}),
    "resnet8 in stripes": ({"sram_bytes": 40 * KIB}, {}),
    "paper": ({"name": "paper"}, {"fusion": "none", "tiling": "output-channel"}),
    "odd clock": ({"clock_mhz": 333.0, "parallel": "8x16"}, {"depthwise": "cpu"}),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "resnet8.tflite"
    path.write_bytes(write_tflite(build_topology("resnet8", seed=0)))
    return path


@pytest.fixture(scope="module", params=CASES)
def traced(request, model):
    """A program, its configuration, an inference and the trace."""
    machine, options = CASES[request.param]
    config = preset("paper") if machine.get("name") == "paper" else DlaConfig().replace(**machine)
    program = api.compile(model, config, **options).program
    inference = Simulation(program, config, None).run()
    return program, config, inference, trace_events(program, config, inference)


def spans(trace):
    """The complete events of each track, by their start; times in picoseconds, which are whole."""
    tracks = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            start = round(event["ts"] * 1e6)
            tracks[event["pid"], event["tid"]].append((start, start + round(event["dur"] * 1e6), event))
    return {track: sorted(events, key=lambda item: item[:2]) for track, events in tracks.items()}


def track_names(trace):
    return {
        event["args"]["name"]: (event["pid"], event["tid"])
        for event in trace["traceEvents"]
        if event["name"] == "thread_name"
    }


def test_is_in_the_trace_event_format(traced):
    trace = json.loads(json.dumps(traced[3], allow_nan=False))
    assert set(trace) == {"traceEvents", "displayTimeUnit", "otherData"}
    required = {"M": {"args"}, "X": {"ts", "dur", "args"}, "C": {"ts", "args"}}
    for event in trace["traceEvents"]:
        assert {"ph", "name", "pid", "tid"} | required[event["ph"]] <= set(event)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        for key in ("ts", "dur"):
            assert isinstance(event.get(key, 0), int | float)
            assert event.get(key, 0) >= 0
        if event["ph"] == "C":
            assert all(isinstance(value, int | float) for value in event["args"].values())


def test_every_track_is_named_and_none_overlaps_itself(traced):
    trace = traced[3]
    named = track_names(trace)
    assert list(named) == ["DMA_IN", "DMA_OUT", "MAC", "VECTOR", "layers", "host calls"]
    assert set(spans(trace)) <= set(named.values())
    for events in spans(trace).values():
        for (_, end, _), (start, _, _) in itertools.pairwise(events):
            assert start >= end


def test_units_show_every_operation_and_its_cycles(traced):
    _, config, inference, trace = traced
    named = track_names(trace)
    by_unit = {
        name: Counter((event["name"], event["args"]["cycles"]) for _, _, event in spans(trace).get(track, []))
        for name, track in named.items()
    }
    expected = defaultdict(Counter)
    for run in inference.runs:
        for number in range(run.plan.operations):
            instruction = run.plan.stream.operation(number).instruction
            cycles = int(run.plan.timeline.end[number] - run.plan.timeline.start[number])
            expected[instruction.unit.name][instruction.mnemonic, cycles] += 1
    for name in ("DMA_IN", "DMA_OUT", "MAC", "VECTOR"):
        assert by_unit[name] == expected[name]
    last = max(end for events in spans(trace).values() for _, end, _ in events)
    assert last <= round(inference.total_cycles / config.clock_mhz * 1e6) + 1


def test_layers_cover_their_compute_operations(traced):
    program, config, _, trace = traced
    named, tracks = track_names(trace), spans(trace)
    layers = tracks[named["layers"]]
    if config.name != "paper":  # where some layers take no time at all
        on_dla = [layer.name for layer in program.layers if layer.kind.name != "HOST"]
        assert {event["name"] for _, _, event in layers} == set(on_dla)
    for unit in ("MAC", "VECTOR"):
        for start, end, event in tracks[named[unit]]:
            mine = [(a, b) for a, b, layer in layers if layer["name"] == event["args"]["layer"]]
            others = [(a, b) for a, b, layer in layers if layer["name"] != event["args"]["layer"]]
            covered = sum(max(0, min(end, b) - max(start, a)) for a, b in (*mine, *others))
            assert covered == end - start


def test_counters(traced):
    _, config, _, trace = traced
    counters = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "C":
            counters[event["name"]].append((event["ts"], event["args"]["value"]))
    assert set(counters) == {"DMA bytes read per cycle", "DMA bytes written per cycle", "SRAM bytes occupied"}
    for values in counters.values():
        times = [time for time, _ in values]
        assert times == sorted(set(times))
        assert values[-1][1] == 0
    occupied = [value for _, value in counters["SRAM bytes occupied"]]
    assert 0 < max(occupied) <= config.sram_bytes
    if config.name != "paper":
        for name in ("read", "written"):
            assert max(value for _, value in counters[f"DMA bytes {name} per cycle"]) <= config.dma_bandwidth


def test_bandwidth_is_that_of_the_transfers(model):
    config = DlaConfig()
    program = api.compile(model, config).program
    inference = Simulation(program, config, None).run()
    trace = trace_events(program, config, inference)
    for name, place in (("read", "dma_in"), ("written", "dma_out")):
        steps = [
            (event["ts"] * config.clock_mhz, event["args"]["value"])
            for event in trace["traceEvents"]
            if event["name"] == f"DMA bytes {name} per cycle"
        ]
        area = sum((b - a) * level for (a, level), (b, _) in itertools.pairwise(steps))
        moved = sum(
            int(run.plan.costs.dma_bytes[number])
            for run in inference.runs
            for number in range(run.plan.operations)
            if run.plan.stream.operation(number).instruction.unit.name.lower() == place
        )
        assert area == pytest.approx(moved, rel=1e-2)  # levels are rounded to a thousandth


TWO_STREAMS = """
.tensor x, int8, input,  INPUTS,  shape=1x1x8x1
.tensor y, int8, output, OUTPUTS, shape=1x1x8x1
.stream
    CFG DMA_IN_REGION, INPUTS
    CFG DMA_IN_RUN_BYTES, 8
    OP_DMA_READ
    CFG OUT_ADDR, 4
    CFG OUT_CHANNELS, 2
    WAIT dma_in, 0
    OP_FILL
    HALT
.stream
    CFG OUT_ADDR, 16
    CFG OUT_CHANNELS, 8
    CFG IN_ADDR, 0
    OP_E_ABS
    CFG OUT_ADDR, 40
    CFG IN_ADDR, 32
    OP_E_ABS
    CFG DMA_OUT_REGION, OUTPUTS
    CFG DMA_OUT_SRAM_ADDR, 16
    CFG DMA_OUT_RUN_BYTES, 8
    WAIT vector, 0
    OP_DMA_WRITE
    HALT
"""


@pytest.mark.parametrize("name", ["relu", "convolution", "double_buffering", "race", "two streams"])
def test_occupancy_is_that_of_single_bytes(name):
    text = TWO_STREAMS if name == "two streams" else (EXAMPLES / f"{name}.s").read_text()
    program = assemble(text)
    inference = Simulation(program, config_of(program), None).run()
    changes = Counter()
    for cycle, amount in zip(*occupancy_changes(inference.runs), strict=True):
        changes[int(cycle)] += int(amount)
    assert {k: v for k, v in changes.items() if v} == {k: v for k, v in by_bytes(inference.runs).items() if v}


def by_bytes(runs):
    """The same, a byte at a time, forwards: each holds [since when, until when]."""
    held, changes = {}, Counter()

    def close(byte):
        start, end = held.pop(byte)
        changes[start] += 1
        changes[end] -= 1

    for run in runs:
        for number in range(run.plan.operations):
            start, end = (
                int(t[number]) + run.start for t in (run.plan.timeline.start, run.plan.timeline.end)
            )
            operands = footprints(run.plan.stream.operation(number))
            for operand in sorted(operands, key=lambda footprint: footprint.operand.writes):
                for byte in bytes_of(operand.box):
                    if operand.operand.writes:
                        if byte in held:
                            close(byte)
                        held[byte] = [start, end]
                    else:
                        held.setdefault(byte, [0, end])[1] = end
    for byte in list(held):
        close(byte)
    return changes


def bytes_of(box):
    return {
        box.address + plane * box.plane_stride + run * box.run_stride + byte
        for plane in range(box.planes)
        for run in range(box.runs)
        for byte in range(box.run_bytes)
    }


def test_no_operations_no_occupancy():
    cycles, amounts = occupancy_changes([])
    assert amounts.sum() == 0
    assert len(cycles) == len(amounts)
