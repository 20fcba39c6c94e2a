"""Whether the CPU waits for every stream whose memory it touches, derived from the streams themselves.

The standalone simulator computes a stream at its doorbell, so no wrong value would ever show this.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dlasim.isa.program import Program
from dlasim.sim.programs.operation import reset_file
from dlasim.sim.programs.stream import decode_stream
from dlasim.sim.races.accesses import SPACE_BYTES, SRAM, access_table


class Span(NamedTuple):
    """Bytes of a region that something reads or writes."""

    region: int
    first: int
    end: int
    writes: bool

    def meets(self, other: Span) -> bool:
        """Whether both touch a byte that one of them writes."""
        apart = self.end <= other.first or other.end <= self.first
        return self.region == other.region and not apart and (self.writes or other.writes)


def missing_wait(program: Program) -> str:
    """A host call that runs beside a stream of which it touches memory; nothing if there is none."""
    streams: list[list[Span]] = []
    file = reset_file()
    for step in program.steps:
        if step.is_stream:
            place = program.streams[step.index]
            words = program.commands[place.first_word : place.first_word + place.words]
            stream = decode_stream(words, file, program.requirement.fingerprint)
            file = [int(value) & 0xFFFF_FFFF for value in stream.final_file]
            table = access_table(stream, len(stream))
            streams.append(
                [
                    Span(
                        int(space) - 1,
                        int(low) % SPACE_BYTES,
                        int(low) % SPACE_BYTES + int(high - low),
                        bool(writes),
                    )
                    for space, low, high, writes in zip(
                        table.space, table.low, table.high, table.writes, strict=True
                    )
                    if space != SRAM
                ]
            )
            continue
        mine = list(_spans(program, step.index))
        for number in range(step.after_streams, len(streams)):
            for theirs in streams[number]:
                if any(span.meets(theirs) for span in mine):
                    return f"host call {step.index} does not wait for stream {number}"
    return ""


def _spans(program: Program, call: int) -> Iterator[Span]:
    for numbers, writes in (
        (program.host_calls[call].inputs, False),
        (program.host_calls[call].outputs, True),
    ):
        for number in numbers:
            if number >= 0:
                tensor = program.tensors[number]
                yield Span(tensor.region, tensor.offset, tensor.offset + tensor.size_bytes, writes)
