"""A program to text that assembles back to the same program, down to the last byte of its file."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dlasim.errors import InputError
from dlasim.isa import host_ops, program
from dlasim.isa.assembly.annotate import operation_comments
from dlasim.isa.assembly.description import SCALAR
from dlasim.isa.assembly.lexer import quote
from dlasim.isa.assembly.program_builder import FINGERPRINT, MAX_CONSTANT_BYTES
from dlasim.isa.assembly.word_text import word_texts
from dlasim.isa.codec import encode, encode_cfg
from dlasim.isa.file_records import StepKind
from dlasim.isa.host_attributes import decode_attributes
from dlasim.isa.instructions import BY_OPCODE
from dlasim.isa.program import HostCall, Layer, Program, Requirement, Step, Stream, TensorDescriptor
from dlasim.isa.registers import Region

_INDENT = "    "
_HALT = encode("HALT")
_ROW_BYTES = 32  # of constants in one line
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def disassemble(source: Program, annotate: bool = False) -> str:
    """The text of a program; `annotate` adds what each operation reads and computes, as comments."""
    if len(source.constants) > MAX_CONSTANT_BYTES:
        raise InputError(
            f"text can hold at most {MAX_CONSTANT_BYTES} bytes of constants "
            f"(the program has {len(source.constants)})"
        )
    lines = _head(source)
    lines += _Steps(source, annotate).lines()
    lines += _data(source, annotate)
    return "\n".join([*lines, ""])


def _head(source: Program) -> list[str]:
    version = f"{program.ISA_MAJOR}.{program.ISA_VERSION & 0xFFFF}"
    lines = [
        f"; dlasim program, ISA {version}",
        f".program {quote(source.name)}",
        _config(source.requirement),
    ]
    if not _starts_with_line(source):
        lines.append(".line none")
    if source.tensors:
        lines += ["", *(_tensor(i, tensor) for i, tensor in enumerate(source.tensors))]
    return lines


def _config(need: Requirement) -> str:
    return (
        f".config pes={need.pes} grid={need.grid_text} sram={_size(need.sram_bytes)} "
        f"arena={need.arena_bytes} inputs={need.inputs_bytes} outputs={need.outputs_bytes} "
        f"peak={need.sram_peak_bytes}"
    )


def _size(count: int) -> str:
    for unit, name in _UNITS:
        if count and count % unit == 0:
            return f"{count // unit}{name}"
    return str(count)


def _tensor(index: int, tensor: TensorDescriptor) -> str:
    shape = "x".join(map(str, tensor.shape)) or SCALAR
    text = (
        f".tensor {quote(tensor.name)}, {tensor.type.name}, {tensor.role.name.lower()}, "
        f"{tensor.region.name}+{tensor.offset:#x}, shape={shape}"
    )
    scale = _float32(tensor.scale)
    if scale != "0.0" or tensor.zero_point:
        text += f", scale={scale}, zero_point={tensor.zero_point}"
    return f"{text}  ; {index}"


def _float32(value: float) -> str:
    """The shortest decimal number that rounds to this float32."""
    exact = np.float32(value)
    text = str(exact)
    return text if np.float32(float(text)) == exact else repr(float(exact))


class _Steps:
    """Streams and host calls in their order, with layers and debug information around the words."""

    def __init__(self, source: Program, annotate: bool) -> None:
        self._source = source
        self._annotate = annotate
        self._comments = operation_comments(source) if annotate else {}
        check = encode_cfg("REQUIRE_CONFIG", source.requirement.fingerprint)
        self._texts = word_texts(source.commands, {check: f"CFG REQUIRE_CONFIG, {FINGERPRINT}"})
        self._lines: list[str] = []
        self._declared = 0  # layers named so far
        spans = [tuple(map(int, span.item())) for span in source.spans]
        self._starts = {first: (words, layer) for first, words, layer in spans}
        self._ends = {first + words for first, words, _ in spans}
        assert all(words for _, words, _ in spans), "a span without words"
        self._boxes, self._late_boxes = _boxes(source.debug)
        self._source_lines = _source_lines(source)
        cuts = {*self._starts, *self._ends, *self._boxes, *self._source_lines}
        self._cuts = np.array(sorted(cuts), np.int64)
        self._host_words, self._host_layers = _host_places(source)
        self._open_until = 0  # the word after the span that is open, if one is

    def lines(self) -> list[str]:
        """The text of every step."""
        for step in self._source.steps:
            self._lines.append("")
            if step.is_stream:
                self._stream(step, self._source.streams[step.index])
            else:
                self._host(step, self._source.host_calls[step.index])
        self._declare(len(self._source.layers))
        return [*self._lines, *self._late_boxes, *map(_work, self._source.work)]

    def _stream(self, step: Step, stream: Stream) -> None:
        first, end = stream.first_word, stream.first_word + stream.words
        must_halt = int(self._source.commands[end - 1]) == _HALT
        self._lines.append(
            f".stream after={step.after_streams}{'' if must_halt else ' halt=no'}"
            f"{' preload=yes' if step.kind is StepKind.PRELOAD else ''}"
            f"  ; {step.index}: words {first} to {end - 1}"
        )
        position = first
        start, stop = np.searchsorted(self._cuts, (first, end), "left")
        for cut in self._cuts[start:stop].tolist():
            self._words(position, cut)
            self._mark(cut)
            position = cut
        self._words(position, end)
        if end in self._ends:
            self._close(end)

    def _words(self, first: int, end: int) -> None:
        if not self._comments:
            self._lines += [_INDENT + text for text in self._texts[first:end]]
            return
        for index in range(first, end):
            self._lines.append(_INDENT + self._texts[index])
            self._lines += [f"{_INDENT};   {comment}" for comment in self._comments.get(index, ())]

    def _mark(self, word: int) -> None:
        """The directives before a word: the end of a layer, the start of another, debug information."""
        if word in self._ends:
            self._close(word)
        if word in self._starts:
            words, layer = self._starts[word]
            self._open_until = word + words
            self._open(layer, self._hosted(word, word + words))
        self._lines += [_INDENT + box for box in self._boxes.get(word, ())]
        if word in self._source_lines:
            self._lines.append(self._source_lines[word])

    def _close(self, word: int) -> None:
        if self._open_until == word:
            self._lines.append(".endlayer")
            self._open_until = 0

    def _open(self, layer: int, needed: int) -> None:
        """Open a layer after naming it and all up to `needed`; naming is in the order of the table."""
        if layer == self._declared and needed <= layer:
            self._lines.append(_layer(self._source.layers[layer]))
            self._declared += 1
            return
        self._declare(max(layer, needed) + 1)
        self._lines.append(f".layer {layer}  ; {quote(self._source.layers[layer].name)}")

    def _declare(self, count: int) -> None:
        """Name all layers below `count`."""
        for layer in self._source.layers[self._declared : count]:
            self._lines += [_layer(layer), ".endlayer"]
        self._declared = max(self._declared, count)

    def _hosted(self, first: int, end: int) -> int:
        """The highest layer of a host call between two words of a span, -1 for none."""
        words = self._host_words
        inside = slice(bisect_right(words, first), bisect_left(words, end))
        return max(self._host_layers[inside], default=-1)

    def _host(self, step: Step, call: HostCall) -> None:
        text = _host_text(call, step.after_streams)
        comments = [f";   {line}" for line in _host_comments(call, self._source)] if self._annotate else []
        if self._open_until or call.layer < self._declared:
            self._lines += [f"{text}, layer={call.layer}", *comments]
        else:
            self._declare(call.layer)
            self._open(call.layer, -1)
            self._lines += [_INDENT + text, *(_INDENT + comment for comment in comments), ".endlayer"]


def _starts_with_line(source: Program) -> bool:
    runs = source.lines.runs
    return len(runs) > 0 and int(runs[0]["first_word"]) == 0


def _source_lines(source: Program) -> dict[int, str]:
    """The directives that say where words come from, by the word that they precede."""
    lines: dict[int, str] = {}
    named = None
    for first, words, file, line in source.lines.runs.tolist():
        name = "" if file == named else f", {quote(source.lines.files[file])}"
        lines[first] = f".line {line}{name}"
        lines[first + words] = ".line none"
        named = file
    return lines


def _host_places(source: Program) -> tuple[list[int], list[int]]:
    """For each host call in order: the command words before it, and its layer."""
    words, layers, position = [], [], 0
    for step in source.steps:
        if step.is_stream:
            position = source.streams[step.index].first_word + source.streams[step.index].words
        else:
            words.append(position)
            layers.append(source.host_calls[step.index].layer)
    return words, layers


def _layer(layer: Layer) -> str:
    operator = (
        layer.operator
        if layer.operator.isidentifier() and layer.operator.isascii()
        else quote(layer.operator)
    )
    return f".layer {quote(layer.name)}, {operator}, {layer.kind.name}, macs={layer.macs}"


def _work(row: np.void) -> str:
    layer, opcode, *numbers = row.item()
    instruction = BY_OPCODE[opcode]
    names = ("count", "region" if instruction.is_transfer else "taps", "in_channels", "out_channels")
    parts = [f"{name}={number}" for name, number in zip(names, numbers, strict=True) if number]
    return ", ".join((f".work {instruction.mnemonic}", f"layer={layer}", *parts))


def _host_text(call: HostCall, after: int) -> str:
    name = host_ops.BY_CODE[call.code].name
    parts = [f".host {name}", f"inputs={_operands(call.inputs)}", f"outputs={_operands(call.outputs)}"]
    if call.attributes:
        parts.append(f"attributes=({', '.join(map(str, call.attributes))})")
    return ", ".join((*parts, f"after={after}"))


def _operands(tensors: Sequence[int]) -> str:
    return f"({', '.join(str(tensor) for tensor in tensors)})"


def _host_comments(call: HostCall, source: Program) -> list[str]:
    """Operands and attributes of a host call by name."""
    operator = host_ops.BY_CODE[call.code]
    lines = []
    for what, tensors in (("inputs", call.inputs), ("outputs", call.outputs)):
        names = [quote(source.tensors[tensor].name) for tensor in tensors]
        lines.append(f"{what}: {', '.join(names)}")
    if operator.attributes:
        values = vars(decode_attributes(operator, call.attributes))
        lines.append(" ".join(f"{name}={value}".replace(" ", "") for name, value in values.items()))
    return lines


def _boxes(debug: NDArray[np.void]) -> tuple[dict[int, list[str]], list[str]]:
    """Debug information by word; rows that are out of order stand at the end and name their word."""
    ordered = bool((np.diff(debug["word"].astype(np.int64)) >= 0).all())
    by_word: dict[int, list[str]] = {}
    late = []
    for word, tensor, start, size in debug.tolist():
        text = f".debug tensor={tensor}, start={_box(start)}, size={_box(size)}"
        if ordered:
            by_word.setdefault(word, []).append(text)
        else:
            late.append(f"{text}, word={word}")
    return by_word, late


def _box(sides: Sequence[int]) -> str:
    return f"({', '.join(str(int(side)) for side in sides)})"


def _data(source: Program, annotate: bool) -> list[str]:
    """The data section: rows of hexadecimal digits, and what is zero as a count."""
    if not len(source.constants):
        return []
    names: dict[int, list[str]] = {}
    if annotate:
        for i, tensor in enumerate(source.tensors):
            if tensor.region is Region.CONSTANTS:
                names.setdefault(tensor.offset, []).append(
                    f"; {i}: {quote(tensor.name)} at {tensor.offset:#x}"
                )
    cuts = [
        0,
        *(offset for offset in sorted(names) if 0 < offset < len(source.constants)),
        len(source.constants),
    ]
    lines = ["", ".data"]
    for start, end in pairwise(cuts):
        lines += names.get(start, ())
        lines += _bytes(source.constants[start:end])
    return lines


def _bytes(data: NDArray[np.uint8]) -> list[str]:
    rows = -(-len(data) // _ROW_BYTES)
    padded = np.zeros(rows * _ROW_BYTES, np.uint8)
    padded[: len(data)] = data
    blank: NDArray[np.bool_] = padded.reshape(rows, _ROW_BYTES).max(axis=1) == 0
    changes = np.flatnonzero(np.diff(blank)) + 1
    digits = data.tobytes().hex()
    lines = []
    for start, end in pairwise([0, *changes.tolist(), rows]):
        if blank[start]:
            lines.append(f".zero {min(end * _ROW_BYTES, len(data)) - start * _ROW_BYTES}")
            continue
        width = 2 * _ROW_BYTES
        lines += [f'.hex "{digits[i : i + width]}"' for i in range(start * width, end * width, width)]
    return lines
