"""`dataclass` of the standard library, in a fraction of its time.

The standard library compiles about six methods of each class when the class is made, and looks at each field
in many ways. That was a fifth of the CPU time of a short command. Here `__init__` is compiled when it has
been called some times, which it never is for most classes of a short command, and the other methods are
functions that serve all classes. `field`, `fields` and `replace` are those of the standard library.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable
from dataclasses import Field
from typing import TYPE_CHECKING, Any, NoReturn

_FIELDS = "__dataclass_fields__"  # where `fields` of the standard library looks, for fields of this type
_PLAIN: Any = dataclasses._FIELD  # type: ignore[attr-defined]
_UNSLOTTED = ("__dict__", "__weakref__")
_Values = Callable[[Any], Any]  # the values of some fields of an instance
_ORDER = ("lt", "le", "gt", "ge")
_CALLS_BEFORE_COMPILING = 16  # to compile `__init__` takes 100 to 200 us, to set fields one by one 3 to 5


def _dataclass(
    *,
    frozen: bool = False,
    slots: bool = False,
    repr: bool = True,
    eq: bool = True,
    order: bool = False,
    weakref_slot: bool = False,
) -> Callable[[type], type]:
    """Makes a class a dataclass; the options mean what they mean in the standard library."""

    def make(cls: type) -> type:
        own = {name for name, value in vars(cls).items() if value is not None}
        fields = _own_fields(cls)
        inherited: dict[str, Field[Any]] = {}
        for base in reversed(cls.__mro__[1:]):
            inherited |= vars(base).get(_FIELDS, {})
        made = _slotted(cls, fields, weakref_slot) if slots else cls
        fields = inherited | fields
        setattr(made, _FIELDS, fields)
        methods: dict[str, Any] = {"__init__": _late_init(made, frozen, slots)}
        methods["__match_args__"] = tuple([name for name, field in fields.items() if field.init])
        methods |= {"__repr__": _repr} if repr else {}
        methods |= _comparisons(made, frozen, order) if eq else {}
        methods |= _FROZEN if frozen else {}
        methods |= _PICKLED if frozen and slots else {}
        for name in methods.keys() - own:
            setattr(made, name, methods[name])
        return made

    return make


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass


def _own_fields(cls: type) -> dict[str, Field[Any]]:
    """What the class itself annotates; a field without a default leaves no attribute."""
    fields = {}
    for name, kind in cls.__annotations__.items():
        default = vars(cls).get(name, dataclasses.MISSING)
        field: Any = default if isinstance(default, Field) else dataclasses.field(default=default)
        field.name, field.type, field._field_type = name, kind, _PLAIN
        fields[name] = field
        if field.default is not dataclasses.MISSING:
            setattr(cls, name, field.default)
        elif default is field:
            delattr(cls, name)
    return fields


def _slotted(cls: type, names: Iterable[str], weakref_slot: bool) -> type:
    """The same class with slots for these names, which only a new class can have."""
    taken = {slot for base in cls.__mro__[1:] for slot in vars(base).get("__slots__", ())}
    slots = [name for name in names if name not in taken]
    kept = {name: value for name, value in vars(cls).items() if name not in (*slots, *_UNSLOTTED)}
    kept["__slots__"] = (*slots, "__weakref__") if weakref_slot else tuple(slots)
    made: type = type(cls)(cls.__name__, cls.__bases__, kept)
    made.__qualname__ = cls.__qualname__
    return made


def _late_init(cls: type, frozen: bool, slots: bool) -> Callable[..., Any]:
    """An `__init__` that compiles its successor when it has been called some times, or wrongly."""
    fields, calls = dataclasses.fields(cls), 0

    def __init__(self: Any, /, *arguments: Any, **named: Any) -> None:  # noqa: N807
        nonlocal calls
        calls += 1
        if calls > _CALLS_BEFORE_COMPILING or not _set_fields(self, fields, frozen, arguments, named):
            method = _compiled_init(cls, frozen, slots)
            cls.__init__ = method  # type: ignore[misc]
            method(self, *arguments, **named)
        elif hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _set_fields(
    item: Any,
    fields: tuple[dataclasses.Field[Any], ...],
    frozen: bool,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> bool:
    """Sets each field to its argument or default; False where the arguments are wrong."""
    names = [field.name for field in fields if field.init]
    given = dict(zip(names, arguments, strict=False))
    if len(given) < len(arguments) or given.keys() & named.keys():
        return False
    given |= named
    assign = object.__setattr__ if frozen else setattr
    for field in fields:
        if field.init and field.name in given:
            assign(item, field.name, given.pop(field.name))
        elif field.default is not dataclasses.MISSING:
            assign(item, field.name, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            assign(item, field.name, field.default_factory())
        elif field.init:
            return False
    return not given


def _compiled_init(cls: type, frozen: bool, slots: bool) -> Callable[..., None]:
    """Sets each field to its argument or default."""
    names: dict[str, Any] = {"_set": object.__setattr__}
    parameters, lines = ["self"], []
    for field in dataclasses.fields(cls):
        parameter, value = _argument(field, names)
        parameters += [parameter] if field.init else []
        lines += [_assignment(cls, field.name, value, names, frozen, slots)] if value else []
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({', '.join(parameters)}):\n {body}", names)
    method: Callable[..., None] = names["__init__"]
    method.__qualname__, method.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return method


def _argument(field: dataclasses.Field[Any], names: dict[str, Any]) -> tuple[str, str]:
    """The parameter for a field, and the value that it gets; none where it is set elsewhere."""
    name, default = field.name, f"_default_{field.name}"
    if field.default_factory is not dataclasses.MISSING:
        names[default] = field.default_factory
        made = f"{default}()"
        return f"{name}={default}", f"{made} if {name} is {default} else {name}" if field.init else made
    if field.default is not dataclasses.MISSING:
        names[default] = field.default
        return f"{name}={default}", name if field.init else default
    return name, name if field.init else ""


def _assignment(cls: type, name: str, value: str, names: dict[str, Any], frozen: bool, slots: bool) -> str:
    """Sets a field; that of a frozen class past its `__setattr__`."""
    if not frozen:
        return f"self.{name} = {value}"
    if not slots:
        return f"_set(self, {name!r}, {value})"
    names[f"_set_{name}"] = getattr(cls, name).__set__  # twice as fast
    return f"_set_{name}(self, {value})"


def _comparisons(cls: type, frozen: bool, order: bool) -> dict[str, Any]:
    """Equality, hash and order by the fields that are compared."""
    values = _reader([field.name for field in dataclasses.fields(cls) if field.compare])
    found = {f"__{name}__": _comparison(name, values) for name in ("eq", *(_ORDER if order else ()))}
    return found | {"__hash__": (lambda self: hash(values(self))) if frozen else None}


def _comparison(name: str, values: _Values) -> Callable[[Any, object], Any]:
    compare = getattr(operator, name)

    def method(self: Any, other: object) -> Any:
        return compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented

    return method


def _reader(names: list[str]) -> _Values:
    """Reads these fields as a tuple."""
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda item: tuple([getattr(item, name) for name in names])


def _repr(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_set(self: Any, name: str, value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


_FROZEN: dict[str, Any] = {"__setattr__": _refuse_set, "__delattr__": _refuse_delete}
# pickle cannot set the fields of a frozen class
_PICKLED: dict[str, Any] = {"__getstate__": _state, "__setstate__": _set_state}
