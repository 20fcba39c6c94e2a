"""Directives that order the program: streams, host calls, layers, and what debuggers want to know."""

from __future__ import annotations

from collections.abc import Callable

from dlasim.errors import counted
from dlasim.isa import host_op_rows, host_ops
from dlasim.isa import program as p
from dlasim.isa.assembly.calls import UnresolvedCall
from dlasim.isa.assembly.lexer import Kind, Token
from dlasim.isa.assembly.parser import Line
from dlasim.isa.assembly.program_builder import Builder, Mode
from dlasim.isa.assembly.source import Refused, joined, suggestion_text
from dlasim.isa.assembly.statements import parse_word
from dlasim.isa.assembly.symbol_expressions import number
from dlasim.isa.file_records import LayerKind, StepKind
from dlasim.isa.instructions import BY_MNEMONIC, INSTRUCTIONS
from dlasim.isa.registers import REGION_COUNT

_LAYER_KINDS = tuple(kind.name for kind in LayerKind)
_ANSWERS = ("no", "yes")
_UNKNOWN_LAYER = -1  # after an error


def _stream(builder: Builder, line: Line, directive: Token) -> None:
    started = builder.stream_count
    try:
        given = line.keywords(
            {
                "after": lambda: builder.now(line, 0, started),
                "halt": lambda: line.choice("an answer", _ANSWERS),
                "preload": lambda: line.choice("an answer", _ANSWERS),
            }
        )
    except Refused:
        builder.open_stream(directive.place, must_halt=False, after=0)
        raise
    kind = StepKind.PRELOAD if given.get("preload", 0) else StepKind.STREAM
    if kind is StepKind.PRELOAD and builder.steps:
        line.fail("only the first step of a program may be a preload", directive)
    builder.open_stream(directive.place, bool(given.get("halt", 1)), given.get("after", 0), kind)


def _word(builder: Builder, line: Line, directive: Token) -> None:
    try:
        statement = parse_word(line)
    except Refused:
        builder.add_placeholder_word(line.number)
        raise
    builder.add_word(line, directive, statement)


def _line(builder: Builder, line: Line, directive: Token) -> None:
    """`NUMBER, "FILE"`, `NUMBER` or `none`: the source line of the words that follow."""
    start = line.next
    if start.kind is Kind.NAME:
        if line.take().text.casefold() != "none":
            line.fail("write a line number, or none where the words have no source line", start)
        line.expect_end()
        return builder.lines.begin(directive.place, None, None)
    number = builder.now(line, 1)
    file = line.expect_kind("the name of the file", Kind.STRING).text if line.accept(",") else None
    line.expect_end()
    return builder.lines.begin(directive.place, number, file)


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
        line.fail(
            "this host call belongs to no layer; add layer=, or put it between .layer and .endlayer",
            directive,
        )
    inputs, outputs = given.get("inputs", ()), given.get("outputs", ())
    attributes = given.get("attributes", ())
    if wrong := p.call_mismatch(operator, len(inputs), len(outputs), len(attributes)):
        line.fail(wrong, place)
    builder.steps.append(p.Step(StepKind.HOST, len(builder.calls), given.get("after", started)))
    builder.calls.append(
        UnresolvedCall(p.HostCall(operator.code, (), (), attributes, layer), inputs, outputs)
    )


def _operator(line: Line) -> host_op_rows.HostOperator:
    token = line.expect_kind("a host operator", Kind.NAME, Kind.NUMBER)
    if token.kind is Kind.NUMBER:
        operator = host_ops.BY_CODE.get(number(line.source, token))
    else:
        operator = host_ops.BY_NAME.get(token.text.upper())
    if operator is None:
        hint = suggestion_text(token.text, host_ops.BY_NAME) or "; `dlasim isa host` lists all"
        line.fail(f"unknown host operator {token}{hint}", token)
    return operator


def _tensor(line: Line) -> Token:
    return line.expect_kind("a tensor", Kind.NAME, Kind.STRING, Kind.NUMBER)


def _layer(builder: Builder, line: Line, directive: Token) -> None:
    """`"name", OPERATOR, KIND, macs=…` opens a new layer; `"name"` or a number opens a known one again."""
    index, name = _UNKNOWN_LAYER, None
    try:
        if line.next.kind in (Kind.STRING, Kind.NAME):
            name = line.take()
            index = (
                _new_layer(builder, line, name) if line.accept(",") else _layer_by_name(builder, line, name)
            )
        else:
            index = _layer_index(builder, line)
        line.expect_end()
    except Refused:
        builder.failed_layers.add(name.text if name else None)
        raise
    finally:
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
    if index >= len(builder.layers) and not builder.failed_layers:
        known = counted(len(builder.layers), "layer")
        line.fail(f"there is no layer {index}; the text has {known} above this line", start)
    return index


def _layer_by_name(builder: Builder, line: Line, name: Token) -> int:
    found = [i for i, layer in enumerate(builder.layers) if layer.name == name.text]
    if builder.failed_layers.may_hold(name.text):
        raise Refused
    if not found:
        hint = suggestion_text(name.text, [layer.name for layer in builder.layers])
        hint = hint or "; to define it, write its operator and kind as well: .layer NAME, OPERATOR, KIND"
        line.fail(f"unknown layer {name}{hint}", name)
    if len(found) > 1:
        numbers = joined(str(i) for i in found[:8])
        line.fail(f"{name} names several layers; write the number instead: {numbers}", name)
    return found[0]


def _end_layer(builder: Builder, line: Line, directive: Token) -> None:
    builder.close_layer(directive.place)
    line.expect_end()


def _debug(builder: Builder, line: Line, directive: Token) -> None:
    """`tensor=…, start=(y, x, c), size=(h, w, c), word=…`: the box that an instruction writes."""

    def box() -> tuple[int, ...]:
        start = line.next
        values = line.items(lambda: builder.now(line))
        if len(values) != 3:
            line.fail(f"a box has three sides: rows, columns and channels (got {len(values)})", start)
        return values

    given = line.keywords(
        {"tensor": lambda: builder.now(line), "start": box, "size": box, "word": lambda: builder.now(line)}
    )
    missing = [name for name in ("tensor", "start", "size") if name not in given]
    if missing:
        line.fail(f".debug needs {joined([f'{name}=' for name in missing], 'and')} as well", directive)
    if "word" not in given and not builder.is_in(Mode.STREAM):
        line.fail("no instruction follows this .debug; put it in a stream, or add word=", directive)
    word = given.get("word", len(builder.commands))
    builder.debug.append((word, given["tensor"], given["start"], given["size"]))
    builder.debug_places.append(directive.place)


def _work(builder: Builder, line: Line, directive: Token) -> None:
    """`INSTRUCTION, layer=…, count=…, taps=…, in_channels=…, out_channels=…`: what a layer must do. A
    transfer has `region` instead of `taps`."""
    token = line.expect_kind("an operation", Kind.NAME)
    instruction = BY_MNEMONIC.get(token.text.upper())
    if instruction is None or not instruction.is_operation:
        operations = [row.mnemonic for row in INSTRUCTIONS if row.is_operation]
        line.fail(f"unknown operation {token}{suggestion_text(token.text, operations)}", token)
    line.accept(",")
    given = line.keywords(
        {
            "layer": lambda: _layer_index(builder, line),
            "count": lambda: builder.now(line, 0, (1 << 64) - 1),
            **dict.fromkeys(("in_channels", "out_channels"), lambda: builder.now(line)),
            **(
                {"region": lambda: builder.now(line, 0, REGION_COUNT - 1)}
                if instruction.is_transfer
                else {"taps": lambda: builder.now(line)}
            ),
        }
    )
    given["taps"] = given.pop("region", given.get("taps", 0))
    if "layer" not in given:
        line.fail(".work needs layer= as well", directive)
    numbers = (given.get(name, 0) for name in ("count", "taps", "in_channels", "out_channels"))
    builder.work.append((given["layer"], instruction.opcode, *numbers))


DIRECTIVES: dict[str, Callable[[Builder, Line, Token], None]] = {
    ".stream": _stream,
    ".word": _word,
    ".line": _line,
    ".host": _host,
    ".layer": _layer,
    ".endlayer": _end_layer,
    ".debug": _debug,
    ".work": _work,
}
