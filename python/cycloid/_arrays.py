"""From what a user holds to contiguous rows of one precision, and back."""

from __future__ import annotations

import math
import numbers
import os
from typing import Any

import numpy as np

from cycloid._core import Error

Shape = tuple[int, ...]

_HOST = 1  # DLPack's number for the memory of this machine
_MOST_AXES = 32  # of a batch; NumPy has 64 for everything
MACHINE_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # of this machine [bytes]


def as_numbers(value: Any, dtype: Any, what: str) -> np.ndarray:
    """`value` as a C-contiguous array of dtype: anything with numbers in it, or with `__dlpack__`.

    TypeError for what is no number, Error for numbers that make no array. The result may be the
    user's own array: read it, or copy it, but do not keep it.
    """
    array = value if type(value) is np.ndarray else _as_array(value, what)
    flags = array.flags
    if array.dtype == dtype and flags.c_contiguous and flags.aligned:
        return array
    if array.dtype.kind == "O" and all(isinstance(v, numbers.Real) for v in array.flat):
        try:
            array = array.astype(np.float64)
        except OverflowError as error:
            raise Error(f"{what}: {error}") from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{what} must be numbers; got {array.dtype} ({type(value).__name__})")
    check_memory(array.size * np.dtype(dtype).itemsize, what)
    # The largest doubles overflow float32; they arrive as infinity and are refused by name.
    with np.errstate(over="ignore"):
        return np.require(array, dtype, ("C_CONTIGUOUS", "ALIGNED"))


def _as_array(value: Any, what: str) -> np.ndarray:
    try:
        if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
            if int(value.__dlpack_device__()[0]) != _HOST:
                raise Error(
                    f"{what} lies on a card, and this call reads arrays of the CPU: copy it there; "
                    'rollout and step of a System with device="cuda" take it as it is'
                )
            return np.from_dlpack(value)
        if hasattr(value, "mask") and np.ma.is_masked(value):
            raise Error(f"{what} has masked numbers; fill them first")
        return np.asarray(value)
    except TypeError as error:
        raise TypeError(f"{what} must be an array of numbers: {error}") from None
    except (ValueError, RuntimeError, BufferError, AttributeError) as error:
        raise Error(f"{what} must be an array of numbers: {error}") from None


def check_trailing(array: np.ndarray, trailing: Shape, what: str, meaning: str) -> None:
    """Raises unless the shape of `array` ends in `trailing` (-1 fits anything)."""
    n = len(trailing)
    tail = array.shape[array.ndim - n :] if array.ndim >= n else None
    if tail is None or any(t not in (-1, s) for s, t in zip(tail, trailing)):
        wanted = ", ".join(["..."] + ["T" if t == -1 else str(t) for t in trailing])
        raise Error(f"{what} must have shape ({wanted}), {meaning}; got {tuple(array.shape)}")


def check_memory(size: int, what: str, advice: str = "") -> None:
    """Raises when `size` bytes are more than this machine has."""
    if size > MACHINE_BYTES:
        need, have = size / 1e9, MACHINE_BYTES / 1e9
        raise Error(f"{what} would take {need:.3g} GB; this machine has {have:.3g} GB{advice}")


def broadcast(leads: dict[str, Shape]) -> Shape:
    """The leading shape that all the named ones broadcast to."""
    shapes = set(leads.values())
    try:
        lead = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    except ValueError:
        got = ", ".join(f"{name} {shape}" for name, shape in leads.items())
        raise Error(f"leading axes do not broadcast: {got}") from None
    if 0 in lead:
        raise Error(f"the batch is empty: leading axes {lead}")
    if len(lead) > _MOST_AXES:
        raise Error(f"a batch has at most {_MOST_AXES} leading axes; got {len(lead)}")
    return lead


def to_rows(array: np.ndarray, lead: Shape, trailing: int, what: str) -> np.ndarray:
    """One row for all, or one per environment of the batch `lead`."""
    own, tail = array.shape[: array.ndim - trailing], array.shape[array.ndim - trailing :]
    if math.prod(own) == 1:
        return array.reshape((1, *tail))
    rows = math.prod(lead)
    if own != lead:
        check_memory(rows * math.prod(tail) * array.itemsize, f"{what}, broadcast to {lead},")
        array = np.ascontiguousarray(np.broadcast_to(array, lead + tail))
    return array.reshape((rows, *tail))


def from_rows(rows: np.ndarray, shape: Shape, lead: Shape, trailing: int) -> np.ndarray:
    """The gradient in rows, summed over the axes along which an array of `shape` was broadcast.

    Sums are taken in double.
    """
    own, tail = shape[: len(shape) - trailing], shape[len(shape) - trailing :]
    if 0 in tail:
        return np.zeros(shape, rows.dtype)
    if math.prod(own) == 1:
        rows = rows.reshape((-1, *tail))
        if len(rows) > 1:
            rows = rows.sum(axis=0, dtype=np.float64).astype(rows.dtype)
        return rows.reshape(shape)
    full = rows.reshape(lead + tail)
    extra = len(lead) - len(own)
    stretched = tuple(extra + i for i, n in enumerate(own) if n == 1 and lead[extra + i] != 1)
    axes = (*range(extra), *stretched)
    if axes:
        full = full.sum(axis=axes, dtype=np.float64).astype(full.dtype)
    return full.reshape(shape)
