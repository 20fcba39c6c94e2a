"""`dataclass` of the standard library, in a fraction of its time.

The standard library compiles about six methods of each class when the class is made, and looks at each field
in many ways. That was a fifth of the CPU time of a short command. Here `__init__` is compiled when it has
been called some times, which it never is for most classes of a short command, and the other methods are
functions that serve all classes. `field`, `fields` and `replace` are those of the standard library.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping
from dataclasses import Field
from typing import TYPE_CHECKING, Any, NoReturn

_FIELDS = "__dataclass_fields__"  # where `fields` of the standard library looks, for fields of this type
_PLAIN: Any = dataclasses._FIELD  # type: ignore[attr-defined]
_UNSLOTTED = ("__dict__", "__weakref__")
_CALLS_BEFORE_COMPILING = 40  # to compile `__init__` takes 100 to 200 us, to set fields one by one 3


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
    shared: dict[str, Any] = {"__repr__": _repr} if repr else {}
    if eq:
        shared |= {"__eq__": _EQUAL, "__hash__": _hash if frozen else None}
    if order:
        shared |= _ORDERED
    if frozen:
        shared |= _FROZEN | (_PICKLED if slots else {})

    def make(cls: type) -> type:
        own = _own_fields(cls)
        fields: dict[str, Field[Any]] = {}
        for base in reversed(cls.__mro__[1:]):
            fields |= vars(base).get(_FIELDS, {})
        fields |= own
        methods = shared | {"__init__": _late_init(lambda: made, frozen, slots)}
        methods["__match_args__"] = tuple([name for name, field in fields.items() if field.init])
        members = vars(cls)
        added = {name: method for name, method in methods.items() if members.get(name) is None}
        added |= {_FIELDS: fields}
        if eq:
            added["_compared_values"] = _reader(fields)
        made = _slotted(cls, own, added, weakref_slot) if slots else _extended(cls, own, added)
        return made

    return make


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    dataclass = _dataclass


def _own_fields(cls: type) -> dict[str, Field[Any]]:
    """What the class itself annotates."""
    fields, members = {}, vars(cls)
    for name, kind in cls.__annotations__.items():
        default = members.get(name, dataclasses.MISSING)
        field: Any = default if isinstance(default, Field) else dataclasses.field(default=default)
        field.name, field.type, field._field_type = name, kind, _PLAIN
        fields[name] = field
    return fields


def _slotted(cls: type, own: Mapping[str, object], added: dict[str, Any], weakref_slot: bool) -> type:
    """The same class with slots for its fields, which only a new class can have, and what is added."""
    taken = {slot for base in cls.__mro__[1:] for slot in vars(base).get("__slots__", ())}
    slots = [name for name in own if name not in taken]
    kept = {name: value for name, value in vars(cls).items() if name not in own and name not in _UNSLOTTED}
    kept["__slots__"] = (*slots, "__weakref__") if weakref_slot else tuple(slots)
    made: type = type(cls)(cls.__name__, cls.__bases__, kept | added)
    made.__qualname__ = cls.__qualname__
    return made


def _extended(cls: type, own: Mapping[str, Field[Any]], added: dict[str, Any]) -> type:
    """The class with what is added; a field without a default leaves no attribute."""
    for name, field in own.items():
        if field.default is not dataclasses.MISSING:
            setattr(cls, name, field.default)
        elif name in vars(cls):
            delattr(cls, name)
    for name, value in added.items():
        setattr(cls, name, value)
    return cls


def _late_init(owner: Callable[[], type], frozen: bool, slots: bool) -> Callable[..., Any]:
    """An `__init__` that compiles its successor when it has been called some times, or wrongly."""
    fields: tuple[Field[Any], ...] = ()
    calls, assign = 0, object.__setattr__ if frozen else setattr

    def __init__(self: Any, /, *arguments: Any, **named: Any) -> None:  # noqa: N807
        nonlocal calls, fields
        calls += 1
        fields = fields or dataclasses.fields(owner())
        if calls > _CALLS_BEFORE_COMPILING or not _set_fields(self, fields, assign, arguments, named):
            cls: Any = owner()
            cls.__init__ = _compiled_init(cls, frozen, slots)
            cls.__init__(self, *arguments, **named)
        elif hasattr(self, "__post_init__"):
            self.__post_init__()

    return __init__


def _set_fields(
    item: Any,
    fields: tuple[Field[Any], ...],
    assign: Callable[[Any, str, Any], None],
    arguments: tuple[Any, ...],
    named: dict[str, Any],
) -> bool:
    """Sets each field to its argument or default; False where the arguments are wrong."""
    given = dict(zip(item.__match_args__, arguments, strict=False)) | named
    used = 0
    for field in fields:
        name = field.name
        if field.init and name in given:
            used += 1
            assign(item, name, given[name])
        elif field.default is not dataclasses.MISSING:
            assign(item, name, field.default)
        elif field.default_factory is not dataclasses.MISSING:
            assign(item, name, field.default_factory())
        elif field.init:
            return False
    return used == len(given) == len(arguments) + len(named)


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


def _reader(fields: Mapping[str, Field[Any]]) -> Callable[[Any], Any]:
    """Reads the fields of an instance that are compared."""
    names = [name for name, field in fields.items() if field.compare]
    return operator.attrgetter(*(names or ["__class__"]))


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, object], Any]:
    """A method that compares instances of one class by these fields, as tuples do."""

    def method(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = self._compared_values
        return compare((values(self),), (values(other),))

    return method


def _hash(self: Any) -> int:
    return hash(self._compared_values(self))


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


_EQUAL = _comparison(operator.eq)
_ORDERED = {f"__{name}__": _comparison(getattr(operator, name)) for name in ("lt", "le", "gt", "ge")}
_FROZEN: dict[str, Any] = {"__setattr__": _refuse_set, "__delattr__": _refuse_delete}
# pickle cannot set the fields of a frozen class
_PICKLED: dict[str, Any] = {"__getstate__": _state, "__setstate__": _set_state}
