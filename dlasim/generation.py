"""How fast a language model reads a prompt and answers: prefill and decode, apart."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from dlasim.arguments import checked
from dlasim.dataclass import dataclass
from dlasim.errors import InputError
from dlasim.isa.file_records import DataType, Role
from dlasim.loading import Machine, load
from dlasim.pace import Pace, pace
from dlasim.sim.execution.runner import first_and_steady

if TYPE_CHECKING:
    from dlasim.choices import Choices
    from dlasim.compiler_shim.files.input_file import InputFile
    from dlasim.isa.program import Program


@dataclass(frozen=True, slots=True)
class TokenRates:
    """The pace of a prompt and of an answer. A step takes as long at any position of the context, since
    attention reads all of the caches; a model with a longer context has larger ones."""

    prompt: int  # tokens
    at_once: int  # of the prompt in a step
    prefill: Pace  # the steps of the prompt, the last of which makes the first token of the answer
    decode: Pace  # a step for a token of the answer, after the first
    cache_bytes: int  # of all variables

    @property
    def is_step_by_step(self) -> bool:
        """Whether the prompt takes a step for each token, as the answer does."""
        return self.at_once == 1

    @property
    def first_token_milliseconds(self) -> float:
        """The time to the first token of the answer."""
        return self.prefill.milliseconds

    @property
    def prefill_tokens_per_second(self) -> float:
        """Tokens of the prompt in a second."""
        return 1000 * self.prompt / self.prefill.milliseconds

    @property
    def prefill_token_nj(self) -> float:
        """The energy of a token of the prompt."""
        return self.prefill.energy_nj / self.prompt

    @property
    def decode_tokens_per_second(self) -> float:
        """Tokens of the answer in a second, after the first."""
        return self.decode.per_second

    @property
    def decode_token_nj(self) -> float:
        """The energy of a token of the answer."""
        return self.decode.energy_nj

    def as_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "prompt": self.prompt,
            "at_once": self.at_once,
            "cache_bytes": self.cache_bytes,
            "prefill_steps": self.prefill.count,
            "first_token_milliseconds": self.first_token_milliseconds,
            "prefill_tokens_per_second": self.prefill_tokens_per_second,
            "prefill_token_nj": self.prefill_token_nj,
            "decode_tokens_per_second": self.decode_tokens_per_second,
            "decode_token_nj": self.decode_token_nj,
        }


@checked("config", "model", "prefill")  # which have messages of their own
def token_rates(
    model: str | Path | InputFile,
    config: Machine | None = None,
    *,
    prefill: str | Path | InputFile | None = None,
    prompt: int = 64,
    **choices: Unpack[Choices],
) -> TokenRates:
    """The rates of a language model that makes a token a step, with a prompt of so many tokens.

    `prefill` is a model that takes several of them at once; without it the prompt is taken step by step.
    Nothing is computed. Cycles of the CPU are estimated.

    >>> import dlasim
    >>> found = dlasim.token_rates("smollm2:layers=1,context=16,classes=100", prompt=4)
    >>> found.is_step_by_step, found.prefill.cycles == 4 * found.decode.cycles
    (True, True)
    """
    loaded = load(model, config, choices, with_constants=False)
    program, machine = loaded.program, loaded.config
    if _caches(program) and (count := _tokens_of_a_step(program)) > 1:
        raise InputError(
            f"{program.label} takes {count} tokens in a step; it can be `prefill` of one that takes one"
        )
    first, later = first_and_steady(program, machine)
    decode = pace(program, machine, (later, later), 1, later.total_cycles)
    reader, at_once = program, 1
    if prefill is not None:
        reader = load(prefill, config, choices, with_constants=False).program
        first, later = first_and_steady(reader, machine)
        at_once = _tokens(reader, program)
        if _caches(reader) != _caches(program):
            raise InputError(f"{reader.label} does not keep the caches that {program.label} keeps")
    steps = -(-prompt // at_once)
    cycles = first.total_cycles + (steps - 1) * later.total_cycles
    read = pace(reader, machine, (first, later), steps, cycles)
    caches = sum(tensor.size_bytes for tensor in program.tensors if tensor.role is Role.VARIABLE)
    return TokenRates(prompt, at_once, read, decode, caches)


def _caches(program: Program) -> list[tuple[int, ...]]:
    """The shapes of what stays from one step to the next."""
    return sorted(tensor.shape for tensor in program.tensors if tensor.role is Role.VARIABLE)


def _tokens_of_a_step(program: Program) -> int:
    """How many numbers of tokens the first input has; 1 where it has none of whole numbers."""
    first = program.inputs[0]
    return prod(first.shape) if first.type in (DataType.int32, DataType.int64) else 1


def _tokens(prefill: Program, decode: Program) -> int:
    """How many tokens a step of the first takes, where one of the second takes one."""
    for many, one in zip(prefill.inputs[:1], decode.inputs[:1], strict=False):
        times, rest = divmod(prod(many.shape), prod(one.shape))
        if many.type == one.type and times and not rest:
            return times
    raise InputError(
        f"{prefill.label} does not take the tokens that {decode.label} takes: their first inputs have shapes "
        f"{', '.join(str(list(tensor.shape)) for tensor in (*prefill.inputs[:1], *decode.inputs[:1]))}"
    )
