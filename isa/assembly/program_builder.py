"""The program as it grows while its text is read, and the checks that need all of it."""

from __future__ import annotations

import enum
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dlasim.dataclass import dataclass
from dlasim.isa import codec
from dlasim.isa import program as p
from dlasim.isa.assembly.calls import FailedDefinitions, Tensors, UnresolvedCall
from dlasim.isa.assembly.lexer import Token
from dlasim.isa.assembly.lines import LineTable
from dlasim.isa.assembly.parser import Line
from dlasim.isa.assembly.source import SourceText, TextPosition, must_be
from dlasim.isa.assembly.statements import Statement
from dlasim.isa.assembly.symbol_expressions import SymbolicExpression, Symbols
from dlasim.isa.file_records import SLICE, SPAN, WORK, StepKind
from dlasim.isa.registers import Region

MAX_CONSTANT_BYTES = 1 << 28
FINGERPRINT = "FINGERPRINT"  # the symbol for what REQUIRE_CONFIG checks
_HALT = codec.encode("HALT")
U32_MAX = 0xFFFF_FFFF
DEFAULT_CONFIG = p.Requirement(pes=64, input_lanes=1, output_lanes=64, sram_bytes=512 << 10)
Action = Callable[[list[int]], None]


class Mode(enum.Enum):
    """What labels and values belong to."""

    NOTHING = "nothing"
    DATA = "data"
    STREAM = "stream"


@dataclass(slots=True)
class _OpenStream:
    place: TextPosition
    first_word: int
    must_halt: bool
    is_erroneous: bool = False  # some of its lines may not be what they seem


@dataclass(slots=True)
class _OpenLayer:
    place: TextPosition
    index: int
    first_word: int


class Builder:
    """What the text has said so far."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.symbols = Symbols(source)
        for region in Region:
            self.symbols.predefine(region.name, int(region))
        self.mode = Mode.NOTHING
        self.lines = LineTable(source)
        self.name: str | None = None
        self.config: p.Requirement | None = None
        self._given_sizes: frozenset[Region] = frozenset()
        self.constants = bytearray()
        self.commands: array[int] = array("Q")
        self.layers: list[p.Layer] = []
        self.tensors: list[p.TensorDescriptor] = []
        self.tensor_places: list[TextPosition] = []
        self.calls: list[UnresolvedCall] = []
        self.steps: list[p.Step] = []
        self.debug: list[tuple[int, int, tuple[int, ...], tuple[int, ...]]] = []
        self.debug_places: list[TextPosition] = []
        self.work: list[tuple[int, ...]] = []
        # What is unknown after an error, so that nothing more is said of what follows from it.
        self.offsets_are_unknown = self.sizes_are_unknown = False
        self.failed_tensors, self.failed_layers = FailedDefinitions(), FailedDefinitions()
        self._section_is_unknown = False
        self._placeholder_words: set[int] = set()
        self._streams: list[p.Stream] = []
        self._spans: list[tuple[int, int, int]] = []
        self._to_halt: list[tuple[TextPosition, int]] = []
        self._open_stream: _OpenStream | None = None
        self._open_layer: _OpenLayer | None = None
        self._waiting: list[tuple[Sequence[SymbolicExpression], Action]] = []

    def set_config(self, config: p.Requirement, given: frozenset[Region]) -> None:
        """What the program needs; regions that are not `given` become as large as their tensors need."""
        self.config, self._given_sizes = config, given
        self.symbols.predefine(FINGERPRINT, config.fingerprint)

    def now(self, line: Line, minimum: int = 0, maximum: int = U32_MAX) -> int:
        """An expression whose symbols must all be defined above."""
        expression = line.expression()
        value = expression.value(self.source, self.symbols)
        if isinstance(value, Token):
            self.source.fail(value.place, f"{value} is not defined above this line{self.symbols.hint(value)}")
        return self.in_range(expression, value, minimum, maximum)

    def in_range(self, expression: SymbolicExpression, value: int, minimum: int, maximum: int) -> int:
        """`value`, which must be in range; the error points at its expression."""
        if not minimum <= value <= maximum:
            place = expression.start.place
            self.source.fail(place, f"the value {must_be(minimum, maximum)} (got {value})")
        return value

    def when_known(self, expressions: Sequence[SymbolicExpression], action: Action) -> None:
        """UnresolvedCall `action` with the values: at once, or at the end where a symbol comes later."""
        values = [expression.value(self.source, self.symbols) for expression in expressions]
        known = [value for value in values if not isinstance(value, Token)]
        if len(known) == len(values):
            action(known)
        else:
            self._waiting.append((expressions, action))

    def reserve(self, line: Line, token: Token, count: int) -> int:
        """Append `count` zero bytes to the constants; where they start."""
        if not self.is_in(Mode.DATA):
            line.fail(f"{token} must be in .data; put .data above it", token)
        start = len(self.constants)
        if start + count > MAX_CONSTANT_BYTES:
            line.fail(f"the constants exceed {MAX_CONSTANT_BYTES} bytes here", token)
        self.constants += bytes(count)
        return start

    def add_bytes(self, raw: bytes) -> bool:
        """Append bytes to the constants where there is room for them."""
        fits = len(self.constants) + len(raw) <= MAX_CONSTANT_BYTES
        if fits:
            self.constants += raw
        return fits

    def add_word(self, line: Line, token: Token, statement: Statement) -> bool:
        """Append a command word; whether it is final already."""
        if not self.is_in(Mode.STREAM):
            is_data = token.text == ".word" and self.mode is Mode.DATA
            hint = "in .data write .i32, or " if is_data else ""
            line.fail(f"{token} must be in a stream; {hint}put .stream above it", token)
        index = len(self.commands)
        self.add_known_word(statement.word, line.number)

        def put(values: list[int]) -> None:
            self.commands[index] = statement.encode(self.source, values)

        self.when_known([part.expression for part in statement.parts], put)
        return all(isinstance(item, int) for part in statement.parts for item in part.expression.items)

    def add_known_word(self, word: int, line: int) -> None:
        """Append a command word that is final."""
        self.commands.append(word)
        self.lines.of_words.append(line)

    def add_placeholder_word(self, line: int) -> None:
        """An instruction with an error still takes its place, so that the words after it keep theirs."""
        if self.mode is Mode.STREAM:
            self._placeholder_words.add(len(self.commands))
            self.add_known_word(0, line)

    def add_label(self, token: Token) -> None:
        """A label is an offset in the constants, or the index of a command word."""
        if self.mode is Mode.NOTHING or self._section_is_unknown:
            self.symbols.mark_erroneous(token)
        if self.mode is Mode.NOTHING and not self._section_is_unknown:
            self.source.fail(token.place, f"label {token} must be in .data or in a stream; put one above it")
        if self.mode is Mode.DATA and self.offsets_are_unknown:
            self.symbols.mark_erroneous(token)
        elif not self._section_is_unknown:
            self.symbols.define(token, len(self.constants) if self.mode is Mode.DATA else len(self.commands))

    def enter(self, mode: Mode) -> None:
        """What follows belongs to a section of this kind."""
        self.mode, self._section_is_unknown = mode, False

    def is_in(self, mode: Mode) -> bool:
        """Whether this is a section of a kind; where a line above made that unclear, it may well be."""
        found = self.mode is mode or self._section_is_unknown
        self._section_is_unknown |= not found
        return found

    def mark_section_unknown(self) -> None:
        """After an unknown directive, which may have begun another section."""
        self._section_is_unknown = True
        if self._open_stream is not None:
            self._open_stream.is_erroneous = True

    def open_stream(
        self, place: TextPosition, must_halt: bool, after: int, kind: StepKind = StepKind.STREAM
    ) -> None:
        """Begin a command stream and its step."""
        self.close_stream()
        self.steps.append(p.Step(kind, self.stream_count, after))
        self._open_stream = _OpenStream(place, len(self.commands), must_halt)
        self.enter(Mode.STREAM)

    def close_stream(self) -> None:
        """End the stream that is open, if one is."""
        stream, self._open_stream, self.mode = self._open_stream, None, Mode.NOTHING
        if stream is None:
            return
        words = len(self.commands) - stream.first_word
        if not words and not stream.is_erroneous:
            self.source.note(stream.place, "this stream has no instructions; it needs a HALT at least")
        if words and stream.must_halt and not stream.is_erroneous:
            self._to_halt.append((stream.place, len(self.commands) - 1))
        self._streams.append(p.Stream(stream.first_word, words))

    @property
    def stream_count(self) -> int:
        """Streams begun so far."""
        return len(self._streams) + (self._open_stream is not None)

    @property
    def current_layer(self) -> int | None:
        """The layer that is open."""
        return None if self._open_layer is None else self._open_layer.index

    def open_layer(self, place: TextPosition, index: int) -> None:
        """Words from here on belong to a layer."""
        if self._open_layer is not None:
            line = self.source.written_line(self._open_layer.place.line)
            self.source.note(place, f"the layer of line {line} is still open; put .endlayer above this line")
        self._open_layer = _OpenLayer(place, index, len(self.commands))

    def close_layer(self, place: TextPosition) -> None:
        """Words from here on belong to no layer."""
        layer, self._open_layer = self._open_layer, None
        if layer is None:
            self.source.fail(place, "no layer is open here")
        words = len(self.commands) - layer.first_word
        if words:
            self._spans.append((layer.first_word, words, layer.index))

    def finish(self) -> p.Program:
        """The program, once the text has ended; every error of the text if there are any."""
        self.close_stream()
        self.lines.close()
        if self._open_layer is not None:
            self.source.note(self._open_layer.place, "this layer is never closed; add .endlayer after it")
        self._resolve()
        self._check_halts()
        self._check_debug()
        tensors = Tensors(self.source, self.tensors, self.failed_tensors)
        calls = tuple(call.resolve(tensors) for call in self.calls)
        requirement = self._requirement()
        self.source.check()
        return p.Program(
            name=self.name or "",
            requirement=requirement,
            commands=np.array(self.commands, np.uint64),
            streams=tuple(self._streams),
            steps=tuple(self.steps),
            constants=np.frombuffer(bytes(self.constants), np.uint8),
            tensors=tuple(self.tensors),
            host_calls=calls,
            layers=tuple(self.layers),
            spans=np.array(self._spans, SPAN.dtype),
            debug=np.array(self.debug, SLICE.dtype),
            lines=self.lines.finish(),
            work=np.array(self.work, WORK.dtype),
        )

    def _resolve(self) -> None:
        """Finish what waited for symbols; one that is defined nowhere is one error, wherever it is used."""
        if self.config is None:
            self.set_config(DEFAULT_CONFIG, frozenset())
        unknown: dict[str, list[Token]] = {}
        for expressions, action in self._waiting:
            with self.source.collect():
                values = [expression.value(self.source, self.symbols) for expression in expressions]
                missing = [value for value in values if isinstance(value, Token)]
                for token in missing:
                    unknown.setdefault(token.text, []).append(token)
                if not missing:
                    action([value for value in values if not isinstance(value, Token)])
        for uses in unknown.values():
            self.symbols.note_unknown(uses)

    def _check_halts(self) -> None:
        for place, last in self._to_halt:
            if self.commands[last] != _HALT and last not in self._placeholder_words:
                self.source.note(
                    place, "this stream does not end with HALT; add it, or write halt=no if it is to fault"
                )

    def _check_debug(self) -> None:
        count = len(self.commands)
        for place, row in zip(self.debug_places, self.debug, strict=True):
            if row[0] >= count and not self._section_is_unknown:
                known = f"they are numbered 0 to {count - 1}" if count else "the program has none"
                self.source.note(place, f"there is no command word {row[0]}; {known}")

    def _requirement(self) -> p.Requirement:
        need = self.config
        assert need is not None
        members = {
            Region.ARENA: "arena_bytes", Region.INPUTS: "inputs_bytes", Region.OUTPUTS: "outputs_bytes"
        }  # fmt: skip
        for region, member in members.items():
            if region not in self._given_sizes:
                need = replace(need, **{member: self._end_of(region)})
        room = {region: int(getattr(need, member)) for region, member in members.items()}
        if not self.offsets_are_unknown:
            room[Region.CONSTANTS] = len(self.constants)
        if not self.sizes_are_unknown:
            self._check_tensors(room)
        return need

    def _end_of(self, region: Region) -> int:
        ends = [t.offset + t.size_bytes for t in self.tensors if t.region is region]
        return min(max(ends, default=0), U32_MAX)

    def _check_tensors(self, room: dict[Region, int]) -> None:
        for place, tensor in zip(self.tensor_places, self.tensors, strict=True):
            end = tensor.offset + tensor.size_bytes
            size = room.get(tensor.region, end)
            if end > size:
                where = f"byte {end} of {tensor.region.name}"
                self.source.note(place, f"the tensor ends at {where}, which has only {size} bytes")
