"""Options that are single numbers, names, or choices among them."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._results import Truncate

MOST_STEPS = 10**12
_MOST = 2**62  # of any other whole number


def shown(value: Any) -> str:
    """A value in a message: short, whatever it is."""
    try:
        text = repr(value)
    except Exception:  # a user's __repr__, or an int too long to print
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def as_text(value: Any) -> str:
    """A name as the core can read it."""
    text = value if isinstance(value, str) else shown(value)
    return text.encode("utf-8", "replace").decode()


def as_real(value: Any, what: str) -> float:
    """One finite number."""
    array = as_numbers(value, np.float64, what)
    if array.ndim:
        raise Error(f"{what} must be one number; got an array of shape {array.shape}")
    if not np.isfinite(array):
        raise Error(f"{what} must be finite; got {array}")
    return float(array)


def is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def as_integer(value: Any, what: str, least: int, most: int = _MOST) -> int:
    """One whole number from `least` to `most`."""
    if not is_integer(value):
        raise TypeError(f"{what} must be an int; got {shown(value)}")
    if not least <= value <= most:
        bounds = f"at least {least}" if value < least else f"at most {most}"
        raise Error(f"{what} must be {bounds}; got {shown(value)}")
    return int(value)


def as_names(value: Any, what: str) -> tuple[str, ...]:
    """One name, or several."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise TypeError(f"{what} must be a name or several; got {type(value).__name__}")
    names = tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what} must be names; got {shown(name)}")
    return names


def as_precision(dtype: Any) -> str:
    """The name of a precision, for the core; whether it has that one is the core's to say."""
    try:
        return np.dtype(dtype).name
    except (TypeError, ValueError):
        raise Error(f'dtype must be "float64" or "float32"; got {shown(dtype)}') from None


def check_one_of(value: Any, known: Sequence[str], what: str, others: str = "") -> None:
    """Raises, with the nearest name, unless `value` is one of the known."""
    if not isinstance(value, str) or value not in known:
        options = ", ".join(f'"{name}"' for name in known)
        hint = _core.did_you_mean(as_text(value), list(known)) if isinstance(value, str) else ""
        hint = hint if "did you mean" in hint else ""
        raise Error(f"{what}: expected {options}{others}; got {shown(value)}{hint}")


def as_save(save: Any) -> tuple[str, list[int]]:
    """`save` as the core takes it."""
    if isinstance(save, str):
        check_one_of(save, ("all", "last"), "save", ", an int k (every k-th) or a list of steps")
        return save, []
    if is_integer(save):
        return "every", [min(as_integer(save, "save", 1), MOST_STEPS)]
    if isinstance(save, (Sequence, np.ndarray)):
        try:
            steps = np.asarray(save)
        except ValueError as error:
            raise Error(f"save: {error}") from None
        if steps.ndim == 1 and (steps.dtype.kind in "iu" or steps.size == 0):
            return "at", [as_integer(s, "save", -_MOST) for s in steps.tolist()]
    raise TypeError(
        "save: expected 'all', 'last', an int k (every k-th) or a list of steps; "
        f"got {type(save).__name__}"
    )


def saved_states(save: tuple[str, list[int]], T: int) -> int:
    """How many states `as_save` makes of a run of T steps."""
    kind, steps = save
    if kind == "every":
        return T // steps[0] + 1
    return {"all": T + 1, "last": 1, "at": len(steps)}[kind]


NO_GRADIENT_OF_TIMES = "times must be plain numbers; they have no gradient"


def as_times(times: Any, save: Any) -> list[float]:
    """The times of `rollout` as the core takes them: empty for None."""
    if times is None:
        return []
    if not (isinstance(save, str) and save == "all"):
        raise Error("give save= or times=, not both: times says which states are saved")
    rows = as_numbers(times, np.float64, "times")
    if rows.ndim != 1 or rows.size == 0:
        raise Error(f"times must be a row of at least one time [s]; got an array of {rows.shape}")
    return rows.tolist()


def as_memory(memory: Any) -> tuple[str, int]:
    """`memory` as the core takes it."""
    if isinstance(memory, Truncate):
        return "truncate", min(as_integer(memory.k, "Truncate(k): k", 1), MOST_STEPS)
    if is_integer(memory):
        return "checkpoints", min(as_integer(memory, "memory", 1), MOST_STEPS)
    if not isinstance(memory, str):
        raise TypeError(
            "memory: expected 'auto', 'all', 'sqrt', 'reversible', an int (checkpoints), "
            f"Truncate(k) or a budget such as '64MB'; got {type(memory).__name__}"
        )
    if memory in ("checkpoints", "truncate"):  # the core's own words for the two above
        raise Error(f"memory: give an int of checkpoints, or Truncate(k); got {memory!r}")
    return as_text(memory), 0


def kept_states(memory: tuple[str, int], T: int) -> int:
    """The states of an environment that the adjoint keeps, at most, when it is told how many."""
    kind, value = memory
    if kind == "checkpoints":
        return min(value, T) + 1
    if kind == "truncate":
        return T // value + value
    return T if kind == "all" else 0


def as_threads(threads: Any, default: int) -> int:
    """0: as many as the machine offers."""
    if threads is None:
        return default
    return as_integer(threads, "threads", 1, _core.most_threads)


def as_run_options(
    save: Any, memory: Any, threads: Any, default_threads: int, failed: Any
) -> tuple[tuple[str, list[int]], tuple[str, int], int, bool]:
    """save, memory and threads of a rollout as the core takes them; whether what failed is skipped
    by the gradient.
    """
    check_one_of(failed, ("raise", "skip"), "failed")
    number = as_threads(threads, default_threads)
    return as_save(save), as_memory(memory), number, failed == "skip"
