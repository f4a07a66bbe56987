"""Recordings made by Systems, to learn from."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._options import as_integer
from cycloid._recording import Recording
from cycloid._rollout import rollout
from cycloid._system import System, check_system


def record(
    system: System,
    x0: Any,
    steps: int,
    *,
    runs: int | None = None,
    controls: Any = None,
    params: Any = None,
    every: int = 1,
    noise: Any = 0.0,
    seed: int = 0,
    path: str | os.PathLike[str] | None = None,
) -> list[Recording]:
    """Runs a System and gives what it did as recordings of whole states, one per run.

    x0: rows (runs, state_size), or f(rng, n) -> (n, state_size) that draws starts, with a NumPy
    generator. controls: (steps, input_size), (runs, steps, input_size), or f(rng, n) that draws
    such; None: zeros. params: as `rollout` takes them, or f(rng, n) -> {name: (n, ...)} for names
    in `vary`. every: steps between samples, an input is held over these. noise: standard
    deviation of what is added to the samples, one number or one per state. path: a folder, into
    which run0.h5, run1.h5, … are written (HDF5, needs h5py), or with a suffix ".npz" in place of
    ".h5": "folder/*.npz".

    A run that fails ends where it failed, or raises Error when nothing is left of it.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> start = lambda rng, n: rng.uniform(-1, 1, size=(n, 2))
    >>> data = cy.learn.record(cy.systems.pendulum(), start, 100, runs=3, every=5, noise=0.01)
    >>> data[0], len(data)
    (<Recording: 21 samples of 2 numbers, 0 to 1 s>, 3)
    """
    check_system(system)
    rng = np.random.default_rng(as_integer(seed, "seed", 0, 2**63))
    steps, every = as_integer(steps, "steps", 1, 2**40), as_integer(every, "every", 1, 2**40)
    if steps % every:
        raise Error(f"steps must be a multiple of every = {every}; got {steps}")
    if callable(x0):
        count = as_integer(1 if runs is None else runs, "runs", 1, 2**31)
        x0 = x0(rng, count)
    starts = np.atleast_2d(as_numbers(x0, system.dtype, "x0"))
    count = len(starts)
    if runs is not None and runs != count:
        raise Error(f"x0 has {count} rows, and runs = {runs}")
    u = _drawn(controls, rng, count)
    if u is not None:
        u = as_numbers(u, system.dtype, "controls")
        held = u if u.shape[-2] == steps else np.repeat(u, every, axis=-2)
        u = np.broadcast_to(held, (count, *held.shape[-2:]))
        if u.shape != (count, steps, system.input_size):
            raise Error(
                f"controls must have shape ({count}, {steps}, {system.input_size}), or "
                f"{steps // every} rows that are held for {every} steps; got {u.shape}"
            )
        if (u.reshape((count, -1, every, system.input_size)) != u[:, ::every][:, :, None]).any():
            raise Error(f"controls must be held over the {every} steps between samples")
    values = _drawn(params, rng, count)
    run = rollout(system, starts, steps if u is None else u, values, save=every)
    sigma = np.broadcast_to(as_numbers(noise, np.float64, "noise"), (system.state_size,))
    ends = {f.environment: f.step // every for f in run.report.failed}
    recordings = []
    for e in range(count):
        end = ends.get(e, steps // every) + 1
        if end < 2:
            raise Error(f"run {e} fails at once: {run.report.failed}")
        rows = np.asarray(run.states[e, :end], np.float64)
        rows = rows + sigma * rng.normal(size=rows.shape)
        given = None
        if u is not None:
            given = np.concatenate([u[e, ::every], u[e, -1:]])[:end]
        recordings.append(Recording(run.times[:end], rows, given, x0=starts[e]))
    if path is not None:
        _write(recordings, pathlib.Path(path))
    return recordings


def _drawn(value: Any, rng: np.random.Generator, count: int) -> Any:
    draw: Callable[..., Any] | None = value if callable(value) else None
    drawn = value if draw is None else draw(rng, count)
    if isinstance(drawn, Mapping) or drawn is None:
        return drawn
    return np.asarray(drawn)


def _write(recordings: list[Recording], path: pathlib.Path) -> None:
    suffix, folder = ".h5", path
    if path.name.startswith("*."):
        suffix, folder = path.suffix, path.parent
    folder.mkdir(parents=True, exist_ok=True)
    for i, r in enumerate(recordings):
        r.save(folder / f"run{i}{suffix}")
