"""Arrays that lie on the device of a System: those of torch, CuPy and JAX, and anything else with
`__dlpack__` or `__cuda_array_interface__`. They are read where they lie; what comes out lies there
too, as an array of the same framework, or as a DeviceArray.

Streams: a producer of DLPack makes CUDA's legacy default stream wait for its own, and kernels run
there; of `__cuda_array_interface__` the stream that it names is waited for. Calls wait for the
device before they return, so that whoever reads a result finds it.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import Shape, from_rows, to_rows
from cycloid._core import Error
from cycloid._system import System

_LEGACY_STREAM = 1  # of CUDA, in DLPack's numbers
_CUDA = 2  # kind of memory, likewise
_NEVER_THERE = (np.ndarray, np.generic, list, tuple, int, float, str, type(None))


class DeviceArray:
    """Numbers on the device of a System, C-contiguous, for whoever knows DLPack or, of a card, the
    CUDA array interface: `torch.from_dlpack(a)`, `cupy.from_dlpack(a)`. np.asarray(a) copies them
    to this machine.

    shape, dtype: as of a NumPy array.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> from cycloid._device_arrays import DeviceArray
    >>> system = cy.systems.pendulum(device="host")    # kernels on this machine, for tests
    >>> a = DeviceArray.of(system, np.array([[1.0, 0.5]]))
    >>> a
    <DeviceArray (1, 2) float64 on kernels on the host>
    >>> run = cy.rollout(system, a, 10)
    >>> run.states
    <DeviceArray (1, 11, 2) float64 on kernels on the host>
    >>> np.asarray(run.states)[0, 0]
    array([1. , 0.5])
    """

    def __init__(self, system: System, shape: Shape, dtype: Any) -> None:
        self._system, self.shape, self.dtype = system, tuple(shape), np.dtype(dtype)
        make = getattr(_core, f"device_empty_{self.dtype.name}")
        self._core = make(system._core, list(self.shape))
        self._address = _core.device_view(self._core.__dlpack__()).address

    @classmethod
    def of(cls, system: System, values: np.ndarray) -> DeviceArray:
        """A copy of a NumPy array."""
        out = cls(system, values.shape, values.dtype)
        put = getattr(_core, f"device_put_{out.dtype.name}")
        put(system._core, out._address, np.ascontiguousarray(values))
        return out

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __dlpack__(self, **options: Any) -> Any:
        return self._core.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._core.__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.__dlpack_device__()[0] != _CUDA:
            raise AttributeError("this memory is not that of a card")
        return {
            "shape": self.shape, "typestr": self.dtype.str, "data": (self._address, False),
            "strides": None, "stream": None, "version": 3,
        }  # fmt: skip

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("numbers on a device cannot be read without a copy")
        values = _fetched(self._system, self._address, self.shape, self.dtype)
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        return f"<DeviceArray {self.shape} {self.dtype} on {self._system.device}>"


@dataclass
class View:
    """Where an array's numbers are, for as long as this lives."""

    address: int
    shape: Shape
    contiguous: bool
    dtype: str
    owner: Any


def lies_there(system: System, value: Any) -> bool:
    """Whether an array lies in the memory of the System's device."""
    if isinstance(value, _NEVER_THERE) or system.device == "cpu":
        return False
    device = getattr(value, "__dlpack_device__", None)
    if device is None:
        return hasattr(value, "__cuda_array_interface__")
    kind, number = device()
    if int(kind) != _core.device_memory_kind(system._core):
        return False
    if number != 0 and int(kind) == _CUDA:
        raise Error(f"the array is on card {number}, and kernels run on card 0: move it there")
    return True


def view_of(system: System, value: Any, what: str) -> View:
    """Where its numbers are; they may be read by kernels now."""
    try:
        if not hasattr(value, "__dlpack__"):
            return _view_of_interface(system, value)
        card = _core.device_memory_kind(system._core) == _CUDA
        given = _core.device_view(value.__dlpack__(stream=_LEGACY_STREAM if card else None))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise Error(f"{what} cannot be read where it lies: {error}") from None
    return View(given.address, tuple(given.shape), given.contiguous, given.dtype, given)


def _view_of_interface(system: System, value: Any) -> View:
    told = value.__cuda_array_interface__
    if (stream := told.get("stream")) is not None:
        _core.device_wait_for(system._core, stream)
    shape, dtype = tuple(told["shape"]), np.dtype(told["typestr"])
    dense = np.lib.stride_tricks.as_strided(np.empty(0, dtype), shape, told.get("strides"))
    name = dtype.name if told["typestr"][:1] in "<=|" else "other"
    contiguous = told.get("strides") is None or dense.flags.c_contiguous
    return View(told["data"][0], shape, contiguous, name, value)


def to_host(system: System, value: Any, what: str) -> np.ndarray:
    """A copy on this machine."""
    view = view_of(system, value, what)
    if view.dtype == "other" or not view.contiguous:
        raise Error(
            f"{what} lies on the device: it must be contiguous, in float32 or float64; "
            "make it so there, or pass a NumPy array"
        )
    return _fetched(system, view.address, view.shape, np.dtype(view.dtype))


def _fetched(system: System, address: int, shape: Shape, dtype: np.dtype) -> np.ndarray:
    get = getattr(_core, f"device_get_{dtype.name}")
    return get(system._core, address, math.prod(shape)).reshape(shape)


class Framework:
    """Who made an array: how to shape it where it lies, and to hand over what we made."""

    def __init__(self, system: System, like: Any) -> None:
        self._system, self._xp = system, _namespace(like)
        self.torch = _package(like) == "torch"

    def rows(self, value: Any, lead: Shape, trailing: int, dtype: Any, what: str) -> Any:
        """One row for all, or one for each environment of `lead`, contiguous, in dtype: the array
        itself where it is so already."""
        if not lies_there(self._system, value) or self._xp is None:
            return self._own_rows(value, lead, trailing, dtype, what)
        split = value.ndim - trailing
        own, tail = value.shape[:split], tuple(value.shape)[split:]
        value = self.cast(value, dtype)
        if math.prod(own) == 1:
            value = value.reshape((1, *tail))
        elif tuple(own) != lead:
            value = self._xp.broadcast_to(value, (*lead, *tail)).reshape((-1, *tail))
        else:
            value = value.reshape((-1, *tail))
        if not bool(self._xp.isfinite(value).all()):
            raise Error(f"{what} holds a number that is not finite")
        return self._dense(value)

    def _own_rows(self, value: Any, lead: Shape, trailing: int, dtype: Any, what: str) -> Any:
        """Of an array that knows no operations: as it is, or by way of this machine."""
        if lies_there(self._system, value):
            view = view_of(self._system, value, what)
            own = view.shape[: len(view.shape) - trailing]
            if view.contiguous and view.dtype == np.dtype(dtype).name and own in ((), lead):
                return value
            value = to_host(self._system, value, what)
        rows = to_rows(np.asarray(value, dtype), lead, trailing, what)
        if not np.isfinite(rows).all():
            raise Error(f"{what} holds a number that is not finite")
        return DeviceArray.of(self._system, rows)

    def repeated(self, value: Any, n: int, dtype: Any) -> Any:
        """n rows of one."""
        if self._xp is None or isinstance(value, DeviceArray):
            row = to_host(self._system, value, "x0").reshape((1, -1))
            return DeviceArray.of(self._system, np.repeat(row.astype(dtype), n, axis=0))
        return self._dense(self._xp.broadcast_to(value, (n, *value.shape[1:])))

    def cast(self, value: Any, dtype: Any) -> Any:
        name = np.dtype(dtype).name
        if self.torch:
            return value.to(getattr(self._xp, name))
        return value if value.dtype == name else value.astype(name)

    def _dense(self, value: Any) -> Any:
        if self.torch:
            return value.contiguous()
        contiguous = getattr(self._xp, "ascontiguousarray", None)
        return contiguous(value) if contiguous else value

    def give(self, made: DeviceArray, shape: Shape, dtype: Any = None) -> Any:
        """What we made, as an array of the framework in this shape."""
        if self._xp is None:
            made.shape = tuple(shape)
            return made
        array = self._xp.from_dlpack(made).reshape(shape)
        return array if dtype is None else self.cast(array, dtype)

    def summed(self, made: DeviceArray, shape: Shape, lead: Shape, trailing: int) -> Any:
        """A gradient in rows of all environments, summed to the shape of what was given."""
        if self._xp is None:
            if math.prod(shape) == made.size:
                return self.give(made, shape)
            rows = from_rows(np.asarray(made), shape, lead, trailing)
            return DeviceArray.of(self._system, rows)
        tail = shape[len(shape) - trailing :]
        full = self.give(made, lead + tail)
        own = shape[: len(shape) - trailing]
        extra = len(lead) - len(own)
        stretched = [extra + i for i, n in enumerate(own) if n == 1 and lead[extra + i] != 1]
        axes = (*range(extra), *stretched)
        if axes:
            full = full.sum(axes)
        return full.reshape(shape)


def _package(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _namespace(value: Any) -> Any:
    """The module with the functions of an array, or None."""
    if _package(value) in ("torch", "cupy"):
        return sys.modules[_package(value)]
    if hasattr(value, "__array_namespace__"):
        return value.__array_namespace__()
    return None
