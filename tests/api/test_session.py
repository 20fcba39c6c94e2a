"""Sessions: state that lasts from step to step, compared with TFLite Micro that is handed its caches."""

from __future__ import annotations

import numpy as np
import pytest

import dlasim
from dlasim.compiler_shim.tflite.writer import write_tflite
from dlasim.errors import InputError
from dlasim.isa.host_op_rows import PLACE_CURSOR
from dlasim.isa.host_ops import BY_NAME
from dlasim.loading import load
from dlasim.on_board import host_options, run_steps
from dlasim.sim.execution.executor import make_executor
from tests.oracle import output_indices, run_tflite_micro

STEPS, WIDTH, LENGTH = 5, 16, 8
SCALE = 1 / 16


def decoder(keeps_cache: bool):
    """One step of attention over a cache, which is a variable, or an input that comes back as an output."""
    rng = np.random.default_rng(7)
    build = dlasim.GraphBuilder("decoder", rounding="twice")

    def linear(name, source):
        weights = build.constant(name, rng.integers(-127, 128, (WIDTH, WIDTH)).astype(np.int8), scale=0.01)
        return build.operator("FULLY_CONNECTED", [source, weights], scale=SCALE, keep_num_dims=True)

    token = build.input("token", (1, 1, WIDTH), scale=SCALE)
    place = build.input("place", (1, LENGTH, WIDTH), scale=1.0)
    shape = 1, LENGTH, WIDTH
    make = build.variable if keeps_cache else build.input
    cache = make("cache", shape, scale=SCALE)
    row = build.operator("MUL", [place, linear("key", token)], scale=SCALE)
    new = build.operator("ADD", [cache, row], scale=SCALE, name="new_cache")
    scores = build.operator("BATCH_MATMUL", [linear("query", token), new], scale=SCALE, adj_y=True)
    weights = build.operator("SOFTMAX", [scores], scale=1 / 256, zero_point=-128, beta=1.0)
    result = build.operator("BATCH_MATMUL", [weights, new], scale=SCALE, name="result")
    if keeps_cache:
        build.assign(cache, new)
    return build, [result] if keeps_cache else [result, new]


def prompt():
    rng = np.random.default_rng(3)
    places = np.zeros((STEPS, 1, LENGTH, WIDTH), np.int8)
    for number in range(STEPS):
        places[number, :, number] = 1
    return {"token": rng.integers(-128, 128, (STEPS, 1, 1, WIDTH), np.int8), "place": places}


@pytest.fixture
def models(tmp_path):
    paths = {}
    for keeps_cache in (False, True):
        build, outputs = decoder(keeps_cache)
        paths[keeps_cache] = build.save(tmp_path / f"decoder_{keeps_cache}.dlag", outputs)
    return paths


def expected():
    """The results of TFLite Micro, which gets the cache of the step before."""
    build, outputs = decoder(keeps_cache=False)
    model = write_tflite(build.graph(outputs))
    result, new_cache = output_indices(model)
    given, cache, found = prompt(), np.zeros((1, LENGTH, WIDTH), np.int8), []
    for number in range(STEPS):
        tensors = run_tflite_micro(model, [given["token"][number], given["place"][number], cache])
        cache = tensors[new_cache]
        found.append(tensors[result])
    return np.stack(found), cache


@pytest.mark.parametrize("host", ["none", "riscv"])
@pytest.mark.parametrize("sram", ["2KiB", "16KiB", "512KiB"])
def test_caches_are_carried_from_step_to_step(models, sram, host) -> None:
    session = dlasim.Session(models[False], carry={"new_cache": "cache"}, sram=sram, host=host)
    results, caches = session.run(prompt())
    theirs, last = expected()
    np.testing.assert_array_equal(results, theirs)
    np.testing.assert_array_equal(caches[-1], last)
    np.testing.assert_array_equal(session.variables["cache"], last)


@pytest.mark.parametrize(("engine", "host"), [("fast", "none"), ("reference", "none"), ("fast", "riscv")])
def test_variables_last_until_the_session_is_reset(models, engine, host) -> None:
    session = dlasim.Session(models[True], sram="16KiB", engine=engine, host=host)
    theirs, last = expected()
    for _ in range(2):
        (results,) = session.run(prompt())
        np.testing.assert_array_equal(results, theirs)
        np.testing.assert_array_equal(session.variables["cache"], last)
        session.reset()
    assert session.steps == session.cycles == 0
    if host == "none":  # on the board, the firmware does it after reset
        assert not session.variables["cache"].any()


@pytest.mark.parametrize("submission", ["queue", "registers"])
def test_a_step_on_the_board_takes_what_its_firmware_takes_for_each_of_many(models, submission) -> None:
    options = {"submission": submission}
    session = dlasim.Session(models[True], host="riscv", host_options=options)
    results = session.run(prompt())
    rows = [[array[number] for array in prompt().values()] for number in range(STEPS)]
    loaded = load(models[True], None, {})
    board = host_options(inferences=STEPS, **options)
    done, report = run_steps(loaded, make_executor("auto"), rows, [], board)
    np.testing.assert_array_equal(np.stack([step.outputs[0] for step in done.steps]), results[0])
    cycles = {step.total_cycles for step in done.steps}
    assert cycles == {session.result.cycles}
    assert session.cycles == sum(step.total_cycles for step in done.steps)
    for name in ("cycles", "layers", "units", "energy_nj"):
        assert session.result.report[name] == report[name]


def test_a_session_on_the_board_has_its_dla_cycles(models) -> None:
    sessions = [dlasim.Session(models[True], host=host) for host in ("none", "riscv")]
    for session in sessions:
        session.run(prompt())
    ours, boards = (session.result.report["cycles"] for session in sessions)
    assert ours["dla"] == boards["dla"]
    assert sessions[1].result.report["cpu"]["estimated"] is False


def test_gdb_needs_a_run_to_the_end(models) -> None:
    with pytest.raises(InputError, match="gdb_port needs a run from reset to exit"):
        dlasim.Session(models[True], host="riscv", host_options={"gdb_port": 0})


def test_time_adds_up_over_steps(models) -> None:
    session = dlasim.Session(models[True], clock_mhz=100)
    done = [session.step({name: array[0] for name, array in prompt().items()}) for _ in range(3)]
    once = dlasim.run(models[True], clock_mhz=100, timing_only=True)
    assert [step.cycles for step in done] == [once.cycles] * 3
    assert session.milliseconds == pytest.approx(3 * once.milliseconds)
    assert session.steps_per_second == pytest.approx(1000 / once.milliseconds)
    assert session.result.cycles == once.cycles


def test_a_carried_input_may_be_given_in_any_step(models) -> None:
    cache = np.full((1, LENGTH, WIDTH), 5, np.int8)
    given = {name: array[0] for name, array in prompt().items()} | {"cache": cache}
    found = dlasim.Session(models[False], carry={"new_cache": "cache"}).step(given)
    for one, other in zip(found.outputs, dlasim.run(models[False], inputs=given).outputs, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("carry", "message"),
    [
        ({"cache": "cache"}, "unknown output 'cache'; did you mean new_cache?"),
        ({"new_cache": "caches"}, "unknown input 'caches'; did you mean cache?"),
        (
            {"result": "cache"},
            "output result cannot become input cache: one is int8 [1, 1, 16] of scale 0.0625 and zero point "
            "0, the other int8 [1, 8, 16] of scale 0.0625 and zero point 0",
        ),
    ],
)
def test_what_cannot_be_carried_is_named(models, carry, message) -> None:
    with pytest.raises(InputError) as caught:
        dlasim.Session(models[False], carry=carry)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "inputs",
    [
        {},
        {"token": np.zeros(()), "place": np.zeros(())},
        prompt() | {"token": np.zeros((2, 16))},
        {"token": np.zeros((0, 16))},
    ],
)
def test_steps_must_be_as_many_of_each_input(models, inputs) -> None:
    with pytest.raises(InputError, match="as many steps along their first dimension"):
        dlasim.Session(models[True]).run(inputs)


def test_a_session_has_a_result_after_its_first_step(models) -> None:
    with pytest.raises(InputError, match="after its first step"):
        _ = dlasim.Session(models[True]).result


def test_assigned_values_must_fit_their_variable() -> None:
    build = dlasim.GraphBuilder("wrong")
    variable = build.variable("state", (1, 4), scale=0.5)
    value = build.input("x", (1, 4), scale=0.25)
    with pytest.raises(InputError, match="assign: x must have shape, type and scale of state"):
        build.assign(variable, value)
    with pytest.raises(InputError, match="assign: there is no tensor 9"):
        build.assign(9, value)


def appending(keeps_cache: bool, length: int = LENGTH, reads_old: bool = False):
    """One step that writes a row of a cache, in place if that is a variable, and reads all of it."""
    build = dlasim.GraphBuilder("appending", rounding="twice")
    row = build.input("row", (1, 1, WIDTH), scale=SCALE)
    start = build.input("start", (3,), dtype="int32")
    make = build.variable if keeps_cache else build.input
    cache = make("cache", (1, length, WIDTH), scale=SCALE)
    new = build.operator("DYNAMIC_UPDATE_SLICE", [cache, row, start], scale=SCALE, name="new_cache")
    result = build.operator("BATCH_MATMUL", [row, new], scale=SCALE, adj_y=True, name="result")
    if reads_old:
        result = build.operator("ADD", [cache, new], scale=SCALE)
    if keeps_cache:
        build.assign(cache, new)
    return build, [result] if keeps_cache else [result, new]


def rows():
    rng = np.random.default_rng(5)
    start = [[0, number - 1, 0] for number in range(STEPS + 5)]  # beyond both ends
    return {
        "row": rng.integers(-128, 128, (len(start), 1, 1, WIDTH), np.int8),
        "start": np.array(start, np.int32),
    }


def test_a_cache_is_appended_to_in_place(tmp_path) -> None:
    build, outputs = appending(keeps_cache=False)
    model = write_tflite(build.graph(outputs))
    cache, theirs, (result, new_cache) = np.zeros((1, LENGTH, WIDTH), np.int8), [], output_indices(model)
    for row, start in zip(*rows().values(), strict=True):
        tensors = run_tflite_micro(model, [row, start, cache])
        cache = tensors[new_cache]
        theirs.append(tensors[result])
    build, outputs = appending(keeps_cache=True)
    session = dlasim.Session(build.save(tmp_path / "appending.dlag", outputs), sram="16KiB")
    np.testing.assert_array_equal(session.run(rows())[0], np.stack(theirs))
    np.testing.assert_array_equal(session.variables["cache"], cache)
    assert [call.code for call in session.program.host_calls] == [PLACE_CURSOR]


def test_appending_costs_its_own_bytes(tmp_path) -> None:
    cycles = []
    for length in (8, 512):
        build, outputs = appending(keeps_cache=True, length=length)
        report = dlasim.run(build.save(tmp_path / "appending.dlag", outputs), timing_only=True).report
        rows = [layer for layer in report["layers"] if layer["operator"] == "DYNAMIC_UPDATE_SLICE"]
        assert [layer["unit"] for layer in rows] == ["cpu", "dla"]
        cycles.append([layer["cycles"] for layer in rows])
    assert cycles[0] == cycles[1]


def many_caches(count: int, kinds: int, dtype: str = "int8"):
    """Caches of as many lengths as kinds, all appended to from the same position."""
    build = dlasim.GraphBuilder("caches", rounding="twice")
    row = build.input("row", (1, 1, WIDTH), dtype=dtype, scale=SCALE)
    start = build.input("start", (3,), dtype="int32")
    results = []
    for number in range(count):
        cache = build.variable(f"cache{number}", (1, 4 + number % kinds, WIDTH), dtype=dtype, scale=SCALE)
        new = build.operator("DYNAMIC_UPDATE_SLICE", [cache, row, start], dtype=dtype, scale=SCALE)
        build.assign(cache, new)
        results.append(new)
    return build, results


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize(("kinds", "cursors", "by_cpu"), [(1, 1, 0), (2, 2, 0), (3, 2, 2)])
def test_caches_of_one_shape_share_a_cursor(tmp_path, dtype, kinds, cursors, by_cpu) -> None:
    """There are two; the rest is the CPU's. All have the same rows in the end."""
    build, results = many_caches(6, kinds, dtype)
    session = dlasim.Session(build.save(tmp_path / "caches.dlag", results), int16=1)
    calls = [call.code for call in session.program.host_calls]
    assert calls.count(PLACE_CURSOR) == cursors
    assert calls.count(BY_NAME["UPDATE_SLICE"].code) == by_cpu
    rows = np.random.default_rng(3).integers(-128, 128, (9, 1, 1, WIDTH)).astype(dtype)
    expected = {name: np.zeros_like(cache) for name, cache in session.variables.items()}
    for number, row in enumerate(rows):
        outputs = session.step({"row": row, "start": np.array([0, number, 0], np.int32)}).outputs
        for cache, output in zip(expected.values(), outputs, strict=True):
            cache[0, min(number, cache.shape[1] - 1)] = row[0, 0]
            np.testing.assert_array_equal(output, cache)
    for name, cache in session.variables.items():
        np.testing.assert_array_equal(cache, expected[name])


def test_an_old_value_that_is_read_later_is_kept(tmp_path) -> None:
    """The cache is copied then, and both values are right."""
    build, outputs = appending(keeps_cache=True, reads_old=True)
    session = dlasim.Session(build.save(tmp_path / "kept.dlag", outputs), sram="16KiB")
    given = {"row": np.full((2, 1, 1, WIDTH), 3, np.int8), "start": np.zeros((2, 3), np.int32)}
    (sums,) = session.run(given)
    assert sums[:, 0, 0, 0].tolist() == [3, 6]


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_the_board_updates_in_place_too(tmp_path, host) -> None:
    build, outputs = appending(keeps_cache=True)
    path = build.save(tmp_path / "appending.dlag", outputs)
    given = {name: array[2] for name, array in rows().items()}
    found = dlasim.run(path, inputs=given, repeat=2, host=host).outputs[0]
    session = dlasim.Session(path)
    for _ in range(2):
        step = session.step(given)
    np.testing.assert_array_equal(found, step.outputs[0])


@pytest.mark.parametrize("host", ["none", "riscv"])
def test_a_cache_in_place_is_verified_too(tmp_path, host) -> None:
    build, outputs = appending(keeps_cache=True)
    verification = dlasim.verify(build.save(tmp_path / "appending.dlag", outputs), host=host)
    assert verification.passed
    assert verification.uncompared == []
    assert verification.elements >= verification.runs * LENGTH * WIDTH


def test_an_old_value_may_be_read_before_it_is_updated(tmp_path) -> None:
    build = dlasim.GraphBuilder("before", rounding="twice")
    row = build.input("row", (1, 1, WIDTH), scale=SCALE)
    start = build.input("start", (3,), dtype="int32")
    cache = build.variable("cache", (1, LENGTH, WIDTH), scale=SCALE)
    turned = build.operator("RESHAPE", [cache], scale=SCALE, new_shape=(1, WIDTH, LENGTH))
    before = build.operator("BATCH_MATMUL", [row, turned], scale=SCALE)
    new = build.operator("DYNAMIC_UPDATE_SLICE", [cache, row, start], scale=SCALE)
    build.assign(cache, new)
    path = build.save(tmp_path / "before.dlag", [before])
    session = dlasim.Session(path, sram="16KiB")
    assert [call.code for call in session.program.host_calls] == [PLACE_CURSOR]
    given = {"row": np.full((1, 1, WIDTH), 8, np.int8), "start": [0, 0, 0]}
    outputs = [session.step(given) for _ in range(2)]
    assert not outputs[0].outputs[0].any()
    assert outputs[1].outputs[0].any()
    assert dlasim.verify(path).passed


def test_only_the_first_step_loads_weights_that_stay() -> None:
    usual = dlasim.run("mnist", weights="keep", timing_only=True).report
    session = dlasim.Session("mnist", weights="keep")
    steps = [session.step() for _ in range(3)]
    assert steps[0].cycles > steps[1].cycles == steps[2].cycles
    first, later = usual["first_inference"]["energy_nj"], usual["energy_nj"]["total"]
    assert first > later
    assert session.energy_nj == pytest.approx(first + 2 * later)


@pytest.mark.parametrize(
    ("choices", "message"),
    [({"carry": 5}, "carry must be "), ({"check_races": "no"}, "check_races must be True or False")],
)
def test_wrong_arguments_of_a_session_are_one_line(models, choices, message) -> None:
    with pytest.raises(InputError, match=message):
        dlasim.Session(models[True], **choices)
    with pytest.raises(InputError, match="inputs must be "):
        dlasim.Session(models[True]).run([1, 2])


def test_a_session_that_is_reset_has_no_result(models) -> None:
    session = dlasim.Session(models[True])
    session.run(prompt())
    session.reset()
    assert session.energy_nj == 0
    with pytest.raises(InputError, match="after its first step"):
        _ = session.result


def taking(tokens: int):
    """A step of so many tokens: their rows are appended to a cache, which they read by a causal mask."""
    rng = np.random.default_rng(9)
    build = dlasim.GraphBuilder("taking", rounding="twice")
    given = build.input("token", (1, tokens, WIDTH), scale=SCALE)
    start = build.input("start", (3,), dtype="int32")
    mask = build.input("mask", (1, tokens, LENGTH), scale=1.0)
    cache = build.variable("cache", (1, LENGTH, WIDTH), scale=SCALE)
    weights = build.constant("weights", rng.integers(-127, 128, (WIDTH, WIDTH)).astype(np.int8), scale=0.005)
    row = build.operator("FULLY_CONNECTED", [given, weights], scale=SCALE, keep_num_dims=True)
    new = build.operator("DYNAMIC_UPDATE_SLICE", [cache, row, start], scale=SCALE)
    scores = build.operator("BATCH_MATMUL", [given, new], scale=SCALE, adj_y=True)
    masked = build.operator("ADD", [scores, mask], scale=4 * SCALE)
    parts = build.operator("SOFTMAX", [masked], scale=1 / 256, zero_point=-128, beta=1.0)
    result = build.operator("BATCH_MATMUL", [parts, new], scale=SCALE)
    build.assign(cache, new)
    return build, [result]


def taken(session, tokens, first: int):
    places = first + np.arange(tokens.shape[1])
    mask = np.where(np.arange(LENGTH) <= places[:, None], 0, -128).astype(np.int8)
    return session.step({"token": tokens, "start": [0, first, 0], "mask": mask[None]}).outputs[0]


def test_a_decoder_goes_on_with_the_caches_of_a_prompt(tmp_path) -> None:
    """Four tokens at once and then one by one give what steps of one give, bit for bit."""
    paths = {
        tokens: taking(tokens)[0].save(tmp_path / f"{tokens}.dlag", taking(tokens)[1]) for tokens in (1, 4)
    }
    given = np.random.default_rng(10).integers(-128, 128, (1, LENGTH, WIDTH), np.int8)
    alone, prompt, answer = (dlasim.Session(paths[tokens]) for tokens in (1, 4, 1))
    expected = np.concatenate([taken(alone, given[:, i : i + 1], i) for i in range(LENGTH)], axis=1)
    found = [taken(prompt, given[:, :4], 0)]
    answer.restore(prompt.variables)
    found += [taken(answer, given[:, i : i + 1], i) for i in range(4, LENGTH)]
    np.testing.assert_array_equal(np.concatenate(found, axis=1), expected)
    np.testing.assert_array_equal(answer.variables["cache"], alone.variables["cache"])
    assert len(np.unique(expected)) > 50


def test_caches_that_come_back_are_restored_too(models) -> None:
    sessions = [dlasim.Session(models[False], carry={"new_cache": "cache"}) for _ in range(2)]
    rows = [{name: array[number] for name, array in prompt().items()} for number in range(3)]
    for row in rows[:2]:
        sessions[0].step(row)
    sessions[1].restore(sessions[0].variables)
    first, second = (session.step(rows[2]).outputs for session in sessions)
    np.testing.assert_array_equal(first[1], second[1])
    assert second[1].any(axis=-1).sum() == 3


def test_what_does_not_fit_is_not_restored(models) -> None:
    session = dlasim.Session(models[True])
    with pytest.raises(InputError, match="unknown variable 'cash'; did you mean cache"):
        session.restore({"cash": np.zeros(1, np.int8)})
    with pytest.raises(InputError, match=r"variable cache: expected int8 \[1, 8, 16\], got int8 \[1, 8\]"):
        session.restore({"cache": np.zeros((1, 8), np.int8)})
    board = dlasim.Session(models[True], host="riscv")
    with pytest.raises(InputError, match="the firmware keeps the variables"):
        board.restore({})
