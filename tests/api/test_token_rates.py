"""Prefill and decode of language models, compared with steps that are run."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import dlasim
from dlasim.cli import main
from dlasim.errors import InputError

SMALL = "layers=1,classes=64"
DECODER = f"smollm2:{SMALL},context=16"
READER = f"{DECODER},tokens=4"
PROMPT = 6


def step(number: int, tokens: int = 1) -> dict[str, np.ndarray]:
    places = number * tokens + np.arange(tokens)
    return {"token": places[None] % 64, "position": places[None]}


def test_without_a_model_for_it_the_prompt_is_taken_step_by_step() -> None:
    session = dlasim.Session(DECODER, sram="64KiB")
    for number in range(PROMPT):
        last = session.step(step(number))
    found = dlasim.token_rates(DECODER, prompt=PROMPT, sram="64KiB")
    assert found.is_step_by_step
    assert found.prefill.as_dict() == pytest.approx(session.pace.as_dict())
    assert found.first_token_milliseconds == pytest.approx(session.milliseconds)
    assert found.prefill_tokens_per_second == pytest.approx(session.steps_per_second)
    assert found.decode.cycles == last.cycles
    assert found.decode_tokens_per_second == pytest.approx(1000 / last.milliseconds)
    assert found.decode_token_nj == pytest.approx(session.energy_nj / PROMPT)


def test_a_prompt_is_taken_several_tokens_at_once() -> None:
    reader = dlasim.Session(READER)
    for number in range(2):  # 6 tokens, 4 at once
        reader.step(step(number, 4))
    found = dlasim.token_rates(DECODER, prefill=READER, prompt=PROMPT)
    assert (found.at_once, found.prefill.count) == (4, 2)
    assert found.first_token_milliseconds == pytest.approx(reader.milliseconds)
    assert found.prefill_token_nj == pytest.approx(reader.energy_nj / PROMPT)
    slow = dlasim.token_rates(DECODER, prompt=PROMPT)
    assert found.decode == slow.decode
    assert found.first_token_milliseconds < slow.first_token_milliseconds


def test_a_longer_context_costs_time_in_each_step() -> None:
    found = [dlasim.token_rates(f"smollm2:{SMALL},context={length}") for length in (16, 256)]
    assert [rates.cache_bytes for rates in found] == [2 * 3 * 64 * length for length in (16, 256)]
    assert found[0].decode_tokens_per_second > found[1].decode_tokens_per_second
    assert found[0].decode_token_nj < found[1].decode_token_nj


def test_weights_that_stay_are_loaded_once() -> None:
    usual = dlasim.run(DECODER, weights="keep", sram="8MiB", timing_only=True).report
    found = dlasim.token_rates(DECODER, prompt=PROMPT, weights="keep", sram="8MiB")
    first, later = usual["first_inference"]["cycles"], usual["cycles"]["total"]
    assert first > later == found.decode.cycles
    assert found.prefill.cycles == first + (PROMPT - 1) * later


def test_a_model_for_the_prompt_must_take_the_same_tokens() -> None:
    with pytest.raises(InputError, match=r"does not take the tokens that .* takes: their first inputs"):
        dlasim.token_rates(DECODER, prefill="mnist")
    with pytest.raises(InputError, match=r"prompt must be from 1 to 1000000 \(got 0\)"):
        dlasim.token_rates(DECODER, prompt=0)


def call(*arguments: str):
    return CliRunner().invoke(main, ["tokens", *arguments], prog_name="dlasim")


def test_the_command_has_a_row_for_each_model() -> None:
    shown = call(DECODER, DECODER, "--prefill", DECODER, "--prefill", READER, "--prompt", str(PROMPT))
    assert shown.exit_code == 0, shown.output
    assert ["6, step by step" in line for line in shown.stdout.splitlines()[2:]] == [True, False]
    assert "6, 4 at once" in shown.stdout.splitlines()[3]
    rows = json.loads(call(DECODER, "--prefill", READER, "--prompt", str(PROMPT), "--json").stdout)
    found = dlasim.token_rates(DECODER, prefill=READER, prompt=PROMPT)
    assert rows == [{"model": DECODER, **found.as_dict()}]


def test_models_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(
        InputError, match="takes 4 tokens in a step; it can be `prefill` of one that takes one"
    ):
        dlasim.token_rates(READER)
    with pytest.raises(InputError, match="does not keep the caches"):
        dlasim.token_rates(DECODER.replace("layers=1", "layers=2"), prefill=READER)
    with pytest.raises(InputError, match="prompt must be from 1 to 1000000"):
        dlasim.token_rates(DECODER, prompt=10**30)


def test_a_model_without_caches_is_told() -> None:
    """A network of images gets a row like any other."""
    told = CliRunner().invoke(main, ["tokens", "mnist", DECODER]).output
    assert "mnist keeps nothing of earlier tokens" in told
    assert f"{DECODER} keeps nothing" not in told


def test_each_model_needs_one_for_its_prompt() -> None:
    done = call(DECODER, DECODER, "--prefill", READER)
    assert done.exit_code == 2
    assert "--prefill must be given once for each MODEL (got 1)" in done.stderr
