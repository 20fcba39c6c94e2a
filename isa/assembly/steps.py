"""Directives that order the program: streams, host calls, layers, and what debuggers want to know."""

from __future__ import annotations

from collections.abc import Callable

from dlasim.errors import suggestion
from dlasim.isa import host_ops
from dlasim.isa import program as p
from dlasim.isa.assembly.builder import Builder, Mode
from dlasim.isa.assembly.calls import Call
from dlasim.isa.assembly.expressions import number
from dlasim.isa.assembly.instructions import parse_word
from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.parser import Line
from dlasim.isa.records import LayerKind, StepKind

_LAYER_KINDS = tuple(kind.name for kind in LayerKind)
_ANSWERS = ("no", "yes")


def _stream(builder: Builder, line: Line, directive: Token) -> None:
    started = builder.stream_count
    given = line.keywords(
        {
            "after": lambda: builder.now(line, 0, started),
            "halt": lambda: line.choice("an answer", _ANSWERS),
        }
    )
    builder.open_stream(directive.place, bool(given.get("halt", 1)), given.get("after", 0))


def _word(builder: Builder, line: Line, directive: Token) -> None:
    builder.add_word(line, directive, parse_word(line))


def _host(builder: Builder, line: Line, directive: Token) -> None:
    """`OPERATOR, inputs=(…), outputs=(…), attributes=(…), layer=…, after=…`."""
    builder.close_stream()
    started = builder.stream_count
    place = line.next
    operator = _operator(line)
    line.accept(",")
    given = line.keywords(
        {
            "inputs": lambda: line.items(lambda: _tensor(line)),
            "outputs": lambda: line.items(lambda: _tensor(line)),
            "attributes": lambda: line.items(lambda: builder.now(line, -(1 << 31), (1 << 31) - 1)),
            "layer": lambda: _layer_index(builder, line),
            "after": lambda: builder.now(line, 0, started),
        }
    )
    layer = given.get("layer", builder.current_layer)
    if layer is None:
        line.fail("a host call of no layer (allowed: layer=…, or between .layer and .endlayer)", directive)
    inputs, outputs = given.get("inputs", ()), given.get("outputs", ())
    attributes = given.get("attributes", ())
    if wrong := p.call_mismatch(operator, len(inputs), len(outputs), len(attributes)):
        line.fail(wrong, place)
    builder.steps.append(p.Step(StepKind.HOST, len(builder.calls), given.get("after", started)))
    builder.calls.append(Call(p.HostCall(operator.code, (), (), attributes, layer), inputs, outputs))


def _operator(line: Line) -> host_ops.HostOperator:
    token = line.expect_kind("a host operator", Kind.NAME, Kind.NUMBER)
    if token.kind is Kind.NUMBER:
        operator = host_ops.BY_CODE.get(number(line.source, token))
    else:
        operator = host_ops.BY_NAME.get(token.text.upper())
    if operator is None:
        hint = suggestion(token.text, host_ops.BY_NAME)
        line.fail(f"{token} is no host operator (allowed: those of docs/host-operators.md){hint}", token)
    return operator


def _tensor(line: Line) -> Token:
    return line.expect_kind("a tensor", Kind.NAME, Kind.STRING, Kind.NUMBER)


def _layer(builder: Builder, line: Line, directive: Token) -> None:
    """`"name", OPERATOR, KIND, macs=…` opens a new layer; `"name"` or a number opens a known one again."""
    name = line.next
    if name.kind in (Kind.STRING, Kind.NAME):
        line.take()
        index = _new_layer(builder, line, name) if line.accept(",") else _layer_by_name(builder, line, name)
    else:
        index = _layer_index(builder, line)
    line.expect_end()
    builder.open_layer(directive.place, index)


def _new_layer(builder: Builder, line: Line, name: Token) -> int:
    operator = line.expect_kind("the layer's operator", Kind.NAME, Kind.STRING).text
    line.expect(",")
    kind = LayerKind(line.choice("a kind of layer", _LAYER_KINDS))
    line.accept(",")
    given = line.keywords({"macs": lambda: builder.now(line, 0, (1 << 64) - 1)})
    builder.layers.append(p.Layer(name.text, operator, kind, given.get("macs", 0)))
    return len(builder.layers) - 1


def _layer_index(builder: Builder, line: Line) -> int:
    if line.next.kind in (Kind.STRING, Kind.NAME):
        return _layer_by_name(builder, line, line.take())
    start = line.next
    index = builder.now(line)
    if index >= len(builder.layers):
        line.fail(f"there are {len(builder.layers)} layers above, not {index + 1}", start)
    return index


def _layer_by_name(builder: Builder, line: Line, name: Token) -> int:
    found = [i for i, layer in enumerate(builder.layers) if layer.name == name.text]
    if not found:
        hint = suggestion(name.text, [layer.name for layer in builder.layers])
        line.fail(
            f"no layer {name} above (allowed: a known layer; name, OPERATOR, KIND for a new one){hint}", name
        )
    if len(found) > 1:
        numbers = ", ".join(str(i) for i in found[:8])
        line.fail(f"{name} names several layers (allowed: a number of {numbers})", name)
    return found[0]


def _end_layer(builder: Builder, line: Line, directive: Token) -> None:
    line.expect_end()
    builder.close_layer(directive.place)


def _debug(builder: Builder, line: Line, directive: Token) -> None:
    """`tensor=…, start=(y, x, c), size=(h, w, c), word=…`: the box that an instruction writes."""

    def box() -> tuple[int, ...]:
        start = line.next
        values = line.items(lambda: builder.now(line))
        if len(values) != 3:
            line.fail("a box has three sides (allowed: rows, columns, channels)", start)
        return values

    given = line.keywords(
        {
            "tensor": lambda: builder.now(line),
            "start": box,
            "size": box,
            "word": lambda: builder.now(line),
        }
    )
    missing = [name for name in ("tensor", "start", "size") if name not in given]
    if missing:
        line.fail(f"missing {', '.join(missing)} (allowed: tensor=, start=(), size=(), word=)", directive)
    if "word" not in given and builder.mode is not Mode.STREAM:
        line.fail("no instruction follows (allowed: in a stream, or with word=)", directive)
    word = given.get("word", len(builder.commands))
    builder.debug.append((word, given["tensor"], given["start"], given["size"]))
    builder.debug_places.append(directive.place)


DIRECTIVES: dict[str, Callable[[Builder, Line, Token], None]] = {
    ".stream": _stream,
    ".word": _word,
    ".host": _host,
    ".layer": _layer,
    ".endlayer": _end_layer,
    ".debug": _debug,
}
