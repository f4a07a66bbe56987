"""Trajectories in files of other kinds, chosen by how a name ends.

  .npz   all that an HDF5 file has, as arrays of NumPy; no other package is needed
  .csv   one environment as a table for people: t, states and inputs by name. Read with the system:
         the first row is the start, a row's inputs act until the next one; what comes out must be
         the table
  .mcap  messages "/states" and "/inputs" (JSON) for tools that play recordings of robots, and the
         whole run beside them; needs the package mcap
  .bag   the same as a bag of ROS 1; needs the package rosbags (_trajectory_bag.py)
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cycloid._core import Error
from cycloid._extras import missing
from cycloid._rollout import Trajectory, rollout
from cycloid._system import System

_SLACK = 1e-6  # of a step
KINDS = (".npz", ".csv", ".mcap", ".bag")
# What readers of packed files raise for bytes that make no sense.
DAMAGE = (
    zipfile.BadZipFile, zlib.error, struct.error, lzma.LZMAError, EOFError, NotImplementedError,
    ValueError, KeyError, IndexError, OverflowError, MemoryError, RuntimeError, AttributeError,
)  # fmt: skip

Contents = tuple[dict[str, np.ndarray], dict[str, Any]]


def column_names(slices: dict[str, slice]) -> list[str]:
    """One per number.

    >>> column_names({"angle": slice(0, 1), "velocity": slice(1, 3)})
    ['angle', 'velocity[0]', 'velocity[1]']
    """
    names = []
    for block, own in slices.items():
        n = own.stop - own.start
        names += [block] if n == 1 else [f"{block}[{i}]" for i in range(n)]
    return names


def digest_of(arrays: dict[str, np.ndarray], text: str) -> str:
    """SHA-256 of arrays and text."""
    found = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        found.update(f"{name}{arrays[name].shape}{arrays[name].dtype.str}".encode())
        found.update(np.ascontiguousarray(arrays[name]).tobytes())
    return found.hexdigest()


def npz_bytes(contents: Contents) -> bytes:
    arrays, about = contents
    text = json.dumps(about, sort_keys=True)
    out = io.BytesIO()
    np.savez_compressed(
        out, **arrays, about=np.array(text), digest=np.array(digest_of(arrays, text))
    )
    return out.getvalue()


def read_npz(data: bytes) -> Contents:
    """Raises Error, or what zipfile and NumPy raise, for anything that was not written here."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except DAMAGE as error:
        raise Error(f"it is damaged, or no recording of cycloid: {error}") from None
    if "about" not in arrays or "digest" not in arrays:
        raise Error("it has no array about: no recording of cycloid")
    text, said = str(arrays.pop("about")), str(arrays.pop("digest"))
    if digest_of(arrays, text) != said:
        raise Error("it is damaged: its digest is wrong")
    return arrays, json.loads(text)


def csv_text(run: Trajectory) -> str:
    """Raises Error for a batch."""
    if run.states.ndim != 2:
        raise Error("a table holds one environment; this run is a batch: save it as .npz or .h5")
    system = run.system
    names = ["t", *column_names(system.state_slices), *column_names(system.input_slices)]
    rows = [np.asarray(run.times)[:, None], run.states]
    if system.input_size:
        held = np.minimum(np.asarray(run.steps), run.controls.shape[0] - 1)
        rows.append(run.controls[held])
    lines = [",".join(names)]
    lines += [",".join(f"{x:.17g}" for x in row) for row in np.concatenate(rows, axis=1)]
    return "\n".join(lines) + "\n"


def read_csv(text: str, system: System | None) -> Trajectory:
    """The run of `system` from the table's first row under its inputs."""
    if system is None:
        raise Error("a table says nothing about its system: open(path, system=...)")
    lines = [line for line in text.splitlines() if line.strip()]
    names = [name.strip() for name in lines[0].split(",")] if lines else []
    wanted = ["t", *column_names(system.state_slices), *column_names(system.input_slices)]
    absent = [name for name in wanted if name not in names]
    if absent:
        raise Error(f"it has no column {absent[0]!r}; expected {', '.join(wanted)}")
    cells = [line.split(",") for line in lines[1:]]
    if len(cells) < 2 or any(len(row) != len(names) for row in cells):
        raise Error("expected two rows or more, each as long as the first line")
    try:
        table = np.array([[float(x) for x in row] for row in cells])
    except ValueError as error:
        raise Error(f"it has something that is no number: {error}") from None
    table = table[:, [names.index(name) for name in wanted]]
    if not np.isfinite(table).all():
        raise Error("it has numbers that are not finite")
    steps = np.rint((table[:, 0] - table[0, 0]) / system.timestep).astype(int)
    if (np.diff(steps) < 1).any():
        raise Error(f"its times do not rise by steps of {system.timestep:g} s")
    between = np.abs(table[:, 0] - table[0, 0] - steps * system.timestep) > _SLACK * system.timestep
    if between.any():
        t = table[between.argmax(), 0]
        raise Error(f"its time {t:.17g} s is not a whole number of steps of {system.timestep:g} s")
    n = system.state_size
    controls: Any = int(steps[-1])
    if system.input_size:
        controls = np.repeat(table[:-1, 1 + n :], np.diff(steps), axis=0)
    run = rollout(system, table[0, 1 : 1 + n], controls, save=steps.tolist(), t0=table[0, 0])
    _check_same(run, table[:, 1 : 1 + n])
    return run


def _check_same(run: Trajectory, states: np.ndarray) -> None:
    """A table has neither parameters nor the inputs between its rows."""
    size = np.abs(states).max(axis=0)
    off = np.abs(run.states - states) / (size + 1e-6 * size.max() + 1e-300)
    worst = off.max(axis=1)
    within = 1e-9 if run.system.dtype == np.float64 else 1e-4
    if (worst <= within).all():
        return
    row = int(np.argmax(~(worst <= within)))
    raise Error(
        f"the run from its first row differs from its row {row + 1} by {worst[row]:.2g} of the "
        "largest: other parameters, or inputs between the saved rows, are not in a table; save as "
        ".npz or .h5"
    )


def write_mcap(run: Trajectory, contents: Contents, path: Path) -> None:
    try:
        from mcap.writer import Writer
    except ImportError:
        raise missing("mcap", "cycloid[mcap]") from None
    topics = topics_of(run)
    with path.open("wb") as file:
        out = Writer(file)
        out.start(profile="", library="cycloid")
        out.add_attachment(
            create_time=0, log_time=0, name="run.npz", media_type="application/x-npz",
            data=npz_bytes(contents),
        )  # fmt: skip
        for topic, slices, rows in topics:
            schema = {"type": "object", "properties": {k: {"type": "array"} for k in slices}}
            kind = out.register_schema(topic, "jsonschema", json.dumps(schema).encode())
            channel = out.register_channel(topic, "json", kind)
            for t, row in zip(run.times, rows, strict=True):
                said = {name: row[own].tolist() for name, own in slices.items()}
                moment = round(1e9 * float(t))
                out.add_message(channel, moment, json.dumps(said).encode(), moment)
        out.finish()


def topics_of(run: Trajectory) -> list[tuple[str, dict[str, slice], np.ndarray]]:
    """Names of messages, their blocks and their rows. Raises Error for a batch."""
    if run.states.ndim != 2:
        raise Error("messages are of one environment; this run is a batch: save it as .npz or .h5")
    system = run.system
    topics = [("/states", system.state_slices, run.states)]
    if system.input_size:
        held = np.minimum(np.asarray(run.steps), run.controls.shape[0] - 1)
        topics.append(("/inputs", system.input_slices, run.controls[held]))
    return topics


def read_mcap(path: Path) -> Contents:
    try:
        from mcap.exceptions import McapError
        from mcap.reader import make_reader
    except ImportError:
        raise missing("mcap", "cycloid[mcap]") from None
    with path.open("rb") as file:
        try:
            kept = [a for a in make_reader(file).iter_attachments() if a.name == "run.npz"]
        except (McapError, *DAMAGE) as error:
            raise Error(f"it is damaged, or no recording of cycloid: {error}") from None
    if not kept:
        raise Error("it has no attachment run.npz: no recording of cycloid")
    return read_npz(kept[0].data)


def write_beside(path: Path, write: Callable[[Path], Any]) -> None:
    """Writes a file as a whole, or not at all."""
    beside = path.with_name(path.name + ".part")
    try:
        write(beside)
        os.replace(beside, path)
    except OSError as error:
        raise Error(f'cannot write "{path}": {error}') from None
    finally:
        beside.unlink(missing_ok=True)
