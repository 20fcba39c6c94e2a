"""Devices from files of the user's, as `--device FILE.py:CLASS@ADDRESS` names them.

The file is run by its path. Nothing is looked up by name: neither the current folder nor the file's own is
put on the import path. What the device raises becomes one line that says which device it was.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from operator import index
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from dlasim.dataclass import dataclass
from dlasim.errors import DlasimError, InputError, RunError, one_of, suggestion
from dlasim.sim.configuration.config import DlaConfig
from dlasim.sim.execution.executor import Executor
from dlasim.system.fileio import read_file
from dlasim.vp.devices.bus import check_interface
from dlasim.vp.devices.device import Device
from dlasim.vp.devices.dla_device import DlaDevice, attach_dla
from dlasim.vp.devices.memory_map import PAGE_BYTES
from dlasim.vp.system.board import Board
from dlasim.vp.system.run_control import RunControl

FORM = "FILE.py:CLASS@ADDRESS[,irq=N][,size=BYTES]"
_MAX_SOURCE_BYTES = 1 << 24
_Result = TypeVar("_Result")
DLAS = ("simulator", "rtl")


@dataclass(frozen=True, slots=True)
class DeviceSpec:
    """What class of which file goes where."""

    file: str
    class_name: str
    base: int
    size_bytes: int = PAGE_BYTES
    irq: int | None = None


def parse_spec(text: str) -> DeviceSpec:
    """A spec from its text; an InputError says what is wrong with it."""
    where, _, place = text.rpartition("@")
    file, _, class_name = where.rpartition(":")
    if not file.endswith(".py") or not class_name.isidentifier():
        raise InputError(f"--device must be {FORM} (got {text!r})")
    address, *settings = place.split(",")
    numbers: dict[str, int | None] = {"size": PAGE_BYTES, "irq": None}
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in numbers:
            raise InputError(f"--device {text}: unknown setting {name!r}; known are irq and size")
        numbers[name] = _number(value, text)
    return DeviceSpec(file, class_name, _number(address, text), numbers["size"] or 0, numbers["irq"])


def attach_devices(board: Board, specs: Sequence[str]) -> None:
    """Puts the devices on a board; each class is called with the board, if it takes anything."""
    for text in [specs] if isinstance(specs, str) else specs:
        spec = parse_spec(text)
        device = _make(spec, board)
        check_interface(spec.class_name, device)
        board.attach(_Guarded(spec.class_name, device), spec.base, spec.size_bytes, spec.irq, spec.class_name)


def _number(value: str, text: str) -> int:
    try:
        return int(value, 0)
    except ValueError:
        raise InputError(
            f"--device {text}: expected a number such as 0x30000000 or 4096, got {value!r}"
        ) from None


def _find_class(spec: DeviceSpec) -> type[Any]:
    module = _run_file(spec.file)
    found = vars(module).get(spec.class_name)
    if not isinstance(found, type):
        names = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise InputError(f"{spec.file} has no class {spec.class_name}{suggestion(spec.class_name, names)}")
    return found


def _run_file(file: str) -> ModuleType:
    source = read_file(file, _MAX_SOURCE_BYTES)
    module = ModuleType(f"dlasim_device_{Path(file).stem}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        code = compile(source, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"{file}{f':{line}' if line else ''}: {_message(error)}") from error
    _guard(file, InputError, lambda: exec(code, vars(module)))
    return module


def _make(spec: DeviceSpec, board: Board) -> Any:
    kind = _find_class(spec)
    try:
        arguments = [board] if inspect.signature(kind).parameters else []
    except ValueError:  # no signature to be had
        arguments = []
    return _guard(f"{spec.file}: {spec.class_name}()", InputError, lambda: kind(*arguments))


class _Guarded(Device):
    """A device whose exceptions end the run with a line of their own."""

    def __init__(self, name: str, inner: Device) -> None:
        self._name = name
        self._inner = inner

    def load(self, offset: int, size: int) -> int:
        """Load from the device; anything but an integer is an error."""
        return self._integer(f"load({offset:#x}, {size})", lambda: self._inner.load(offset, size))

    def store(self, offset: int, size: int, value: int) -> None:
        """Store to the device."""
        call = f"store({offset:#x}, {size}, {value:#x})"
        self._guard(call, lambda: self._inner.store(offset, size, value))

    def describe(self, offset: int, value: int) -> tuple[str, str]:
        """Describe an access to the device."""
        return self._guard("describe()", lambda: self._inner.describe(offset, value))

    def tick(self, now: int) -> None:
        """Tell the device the time."""
        self._guard(f"tick({now})", lambda: self._inner.tick(now))

    def next_event(self) -> int | None:
        """Ask the device for its next event; anything but an integer or None is an error."""
        event = self._guard("next_event()", self._inner.next_event)
        return None if event is None else self._integer("next_event()", lambda: event)

    def interrupt(self) -> bool:
        """Ask the device for its interrupt."""
        return self._guard("interrupt()", lambda: bool(self._inner.interrupt()))

    def reset(self) -> None:
        """Reset the device."""
        self._guard("reset()", self._inner.reset)

    def _guard(self, call: str, action: Callable[[], _Result]) -> _Result:
        return _guard(f"device {self._name}: {call}", RunError, action)

    def _integer(self, call: str, action: Callable[[], int]) -> int:
        value = self._guard(call, action)
        try:
            return index(value)
        except TypeError:
            raise RunError(
                f"device {self._name}: {call} returned {value!r}; it must return an integer"
            ) from None


def _guard(what: str, kind: type[DlasimError], action: Callable[[], _Result]) -> _Result:
    """What the action returns; what it raises is an error of this kind that says where it was."""
    try:
        return action()
    except DlasimError:
        raise
    except (Exception, SystemExit) as error:
        raise kind(f"{what}: {_message(error)}") from error


def _message(error: BaseException) -> str:
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def attach_accelerator(
    board: Board, config: DlaConfig, executor: Executor | None, run_control: RunControl
) -> DlaDevice:
    """The one that `run_control` names."""
    if run_control.dla not in DLAS:
        raise InputError(f"dla must be {one_of(DLAS)} (got {run_control.dla!r})")
    if run_control.dla == "rtl":
        from dlasim.vp.system.rtl_device import attach_rtl  # needs Verilator

        return attach_rtl(board, config, run_control.vcd)
    if run_control.vcd is not None:
        raise InputError("--vcd needs --dla rtl: only the RTL has waveforms")
    return attach_dla(board, config, executor)
