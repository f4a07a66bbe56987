"""Trajectories in files (HDF5, through h5py), with all that is needed to run them again.

Datasets of the root, all in chunks with Fletcher-32 checksums:
  states (..., S, n)   times (S) [s]   steps (S)   controls (..., T, m)   x0 (..., n)   params
and, of a robot, model: the bytes of its .cym file. Attributes of the root: schema (the version of
this layout), units (JSON), seed, model (JSON: how to make the system), parameters (JSON: names),
digest (SHA-256 of all of them, which a file that was cut off does not have).
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from cycloid import _core, systems
from cycloid._contact import HuntCrossley
from cycloid._core import Error, ModelError
from cycloid._extras import missing
from cycloid._options import as_integer, shown
from cycloid._results import Events, Report
from cycloid._robot import Keywords, Robot
from cycloid._rollout import Batch, Trajectory, rollout
from cycloid._system import System, check_system
from cycloid._trajectory_bag import read_bag, write_bag
from cycloid._trajectory_formats import (
    KINDS,
    csv_text,
    npz_bytes,
    read_csv,
    read_mcap,
    read_npz,
    write_beside,
    write_mcap,
)

SCHEMA = 1
_CHUNK = 1 << 18  # [bytes], about
_LONGEST_ATTRIBUTE = 60_000  # [bytes]; HDF5 keeps attributes below 64 kB
_ARRAYS = ("states", "times", "steps", "controls", "x0", "params")


def h5py() -> Any:
    """The package, or an ImportError that says how to get it."""
    try:
        import h5py as package
    except ImportError:
        raise missing("h5py", "cycloid[record]") from None
    return package


def save(trajectory: Trajectory, path: Any, seed: int | None = None) -> None:
    """`Trajectory.save`."""
    file = as_path(path)
    if not file.parent.is_dir():
        raise FileNotFoundError(f'cannot write "{file}": there is no folder "{file.parent}"')
    kind = file.suffix.lower()
    if kind == ".csv":
        table = csv_text(trajectory)
        return write_beside(file, lambda beside: beside.write_text(table))
    package = h5py() if kind not in KINDS else None
    arrays, about = contents(trajectory, seed)
    if kind == ".npz":
        return write_beside(file, lambda beside: beside.write_bytes(npz_bytes((arrays, about))))
    if kind in (".mcap", ".bag"):
        put = write_mcap if kind == ".mcap" else write_bag
        return write_beside(file, lambda beside: put(trajectory, (arrays, about), beside))
    return write_beside(file, lambda beside: write_hdf5(package, beside, arrays, about))


def contents(
    trajectory: Trajectory, seed: int | None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What a file holds: arrays, and numbers and texts by name."""
    number = -1 if seed is None else as_integer(seed, "seed", 0, 2**63 - 1)
    arrays = {
        "states": trajectory.states,
        "times": np.asarray(trajectory.times),
        "steps": np.asarray(trajectory.steps),
        "controls": trajectory.controls,
        "x0": trajectory.x0,
        "params": trajectory.params,
    }
    how, model = described(trajectory.system)
    if model is not None:
        arrays["model"] = model
    origin = trajectory._core.origin()
    how |= {"t0": origin["t0"], "sampled": origin["sampled"], "steps": trajectory._batch.steps}
    return arrays, {
        "schema": SCHEMA,
        "seed": number,
        "units": units_of(trajectory.system),
        "model": how,
        "parameters": list(trajectory.system.parameters.names),
    }


def write_hdf5(
    package: Any, path: Path, arrays: dict[str, np.ndarray], about: dict[str, Any]
) -> None:
    with package.File(path, "w") as out:
        for name, array in arrays.items():
            write(out, name, array)
        for name in ("units", "model", "parameters"):
            out.attrs[name] = as_attribute(about[name])
        out.attrs["seed"], out.attrs["schema"] = about["seed"], about["schema"]
        out.attrs["digest"] = digest(out)


def as_path(path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path: expected a path; got {shown(path)}")
    return Path(os.fsdecode(path))


def write(out: Any, name: str, array: np.ndarray) -> None:
    """A dataset in chunks, along the axis of time where there is one."""
    array = np.ascontiguousarray(array)
    if array.size == 0 or array.ndim == 0:
        out.create_dataset(name, data=array)
        return
    axis = max(0, array.ndim - 2)
    row = array.dtype.itemsize * int(np.prod(array.shape[axis + 1 :], dtype=np.int64))
    chunk = [1] * axis + [min(array.shape[axis], max(1, _CHUNK // max(row, 1)))]
    out.create_dataset(
        name, data=array, chunks=(*chunk, *array.shape[axis + 1 :]), fletcher32=True
    )


def as_attribute(value: Any) -> str:
    """As JSON; what is too long for an attribute is left out, and said to be."""
    text = json.dumps(value)
    return text if len(text) < _LONGEST_ATTRIBUTE else json.dumps("too long for an attribute")


def units_of(system: System) -> dict[str, Any]:
    """By block."""
    return {"times": "s", "states": system.state_units, "controls": system.input_units}


def digest(file: Any) -> str:
    """SHA-256 of everything in a file but the digest itself."""
    found = hashlib.sha256()
    for name in sorted(file):
        found.update(name.encode())
        found.update(str((file[name].shape, file[name].dtype.str)).encode())
        found.update(np.ascontiguousarray(file[name][()]).tobytes())
    for name in sorted(file.attrs):
        if name != "digest":
            found.update(f"{name}={file.attrs[name]}".encode())
    return found.hexdigest()


# ---- systems ---------------------------------------------------------------------------------


def described(system: System) -> tuple[dict[str, Any], np.ndarray | None]:
    """How to make a system again, and the bytes of its model."""
    about = {"name": system.name, "state_size": system.state_size, "input_size": system.input_size}
    if isinstance(system, Robot):
        handle, name = tempfile.mkstemp(suffix=".cym")
        os.close(handle)
        try:
            system.save(name)
            model = np.frombuffer(Path(name).read_bytes(), np.uint8)
        finally:
            os.unlink(name)
        contact = system._contact
        about |= {
            "kind": "robot",
            "dtype": str(system.dtype),
            "inputs": list(system.input_slices),
            "vary": list(system.vary),
            "contact": list(contact) if contact is not None else None,
            "refine": system._refine,
        }
        return about, model
    if system._recipe is not None:
        return about | {"kind": "law", "recipe": list(system._recipe)}, None
    return about | {"kind": "other"}, None


def made(about: dict[str, Any], model: np.ndarray | None, label: str) -> System:
    """The system of a file."""
    if about["kind"] == "law":
        law, values, dt, integrator, dtype, vary, n, rtol, atol = about["recipe"]
        tolerances = {"rtol": rtol or None, "atol": atol or None}
        return systems.make(
            law, values, dt=dt, integrator=integrator, dtype=dtype, vary=vary, n=n, **tolerances
        )
    if about["kind"] == "robot" and model is not None:
        handle, name = tempfile.mkstemp(suffix=".cym")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(model.tobytes())
            core, notes = _core.read_model(os.fsencode(name), True)
        finally:
            os.unlink(name)
        contact = "mujoco" if about["contact"] is None else HuntCrossley(*about["contact"])
        keywords = Keywords(
            about["dtype"], True, "exact", about["inputs"], about["vary"], "refuse", contact,
            about["refine"],
        )
        return keywords.robot(core, notes)
    raise ModelError(
        f'{label}: its system "{about["name"]}" is none that a file can hold (a law in Python, a '
        "closed loop, a large world): make it again and hand it over, open(path, system=...)"
    )


# ---- reading ---------------------------------------------------------------------------------


class RecordedTrajectory(Trajectory):
    """A trajectory from a file. `states` are those of the file; what needs the run itself, a
    pullback, events or the report, runs it again at that time.
    """

    def __init__(
        self, system: System, arrays: dict[str, np.ndarray], about: dict[str, Any]
    ) -> None:
        self._arrays, self._about, self._run = arrays, about, None
        controls = arrays["controls"] if system.input_size else about["steps"]
        self._batch = Batch(system, arrays["x0"], controls, arrays["params"], system.dtype)
        del self._batch.rows
        self.states, self.times, self.steps = (
            arrays[name] for name in ("states", "times", "steps")
        )
        for array in (self.states, self.times, self.steps):
            array.flags.writeable = False
        expected = (*self._batch.lead, self.steps.size, system.state_size)
        if self.states.shape != expected or self.times.shape != self.steps.shape:
            raise Error(
                f"its states have shape {self.states.shape}; its steps, start and inputs make it "
                f"{expected}"
            )

    @property
    def _again(self) -> Trajectory:
        """The run, made again."""
        if self._run is None:
            a, about, system = self._arrays, self._about, self._batch.system
            controls = a["controls"] if system.input_size else about["steps"]
            which: dict[str, Any] = {"save": a["steps"].tolist()}
            if about["sampled"]:
                which = {"times": a["times"].tolist()}
            self._run = rollout(
                system, a["x0"], controls, a["params"], t0=about["t0"], **which
            )
            span = np.ptp(self.states, axis=tuple(range(self.states.ndim - 1))) + 1e-12
            off = float((np.abs(self._run.states - self.states) / span).max(initial=0))
            if off > 1e-3:
                warnings.warn(
                    f"the run of this file, made again, has other states, by {off:.2g} of their "
                    "range: another release or machine wrote it; gradients are those of the new "
                    "run",
                    stacklevel=4,
                )
        return self._run

    @property
    def _core(self) -> Any:  # type: ignore[override]
        return self._again._core

    @property
    def events(self) -> Events:  # type: ignore[override]
        """What happened on the way, of the run made again."""
        return self._again.events

    @property
    def report(self) -> Report:  # type: ignore[override]
        """What went wrong, of the run made again."""
        return self._again.report

    @property
    def seed(self) -> int | None:
        """As it was saved."""
        return self._about["seed"]

    def __repr__(self) -> str:
        lead = f", batch {self._batch.lead}" if self._batch.lead else ""
        n = self._batch.steps
        return (
            f"<Trajectory of {self.system.name}: {n} step{'' if n == 1 else 's'}{lead}, "
            f"{self.steps.size} saved, from a file>"
        )


def open(path: str | os.PathLike[str], *, system: System | None = None) -> Trajectory:
    """A trajectory that `Trajectory.save` or `cycloid simulate --record` wrote, with its pullback:
    the run is made again when it is asked for.

    system: for a world that a file cannot hold (a law in Python, a closed loop, a large world), the
    same one, made again; a table (.csv) needs it too. HDF5 needs h5py: pip install cycloid[record];
    .mcap needs mcap, .bag rosbags; .npz and .csv need nothing.

    Raises FileNotFoundError if there is no such file, Error for one that is damaged, cut off, of
    another kind or of a newer release, ModelError where the system is needed.

    >>> import os, tempfile
    >>> import cycloid as cy
    >>> run = cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run.save(os.path.join(folder, "run.h5"))
    ...     again = cy.open(os.path.join(folder, "run.h5"))
    >>> again
    <Trajectory of pendulum: 100 steps, 101 saved, from a file>
    >>> again.pullback(1.0).x0 == run.pullback(1.0).x0
    array([ True,  True])
    """
    file = as_path(path)
    if system is not None:
        check_system(system)
    kind = file.suffix.lower()
    package = h5py() if kind not in KINDS else None
    if not file.exists():
        raise FileNotFoundError(f'there is no file "{file}"')
    label = f'"{file}"'
    try:
        if kind == ".csv":
            return read_csv(file.read_text(), system)
        arrays, about = _read(package, file) if package else _read_other(file)
        used = system or made(about, arrays.pop("model", None), label)
        for key in ("state_size", "input_size"):
            if getattr(used, key) != about[key]:
                raise Error(
                    f"it is of a system with {key} {about[key]}; {used.name!r} has "
                    f"{getattr(used, key)}"
                )
        return RecordedTrajectory(used, arrays, about)
    except ModelError:
        raise
    except Error as error:
        raise Error(f"{label}: {error}") from None
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, MemoryError) as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Error(f"{label}: it is damaged, or no recording of cycloid: {what}") from None


def _read_other(file: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Of .npz, .mcap and .bag."""
    kind = file.suffix.lower()
    if kind == ".npz":
        arrays, about = read_npz(file.read_bytes())
    else:
        arrays, about = read_mcap(file) if kind == ".mcap" else read_bag(file)
    check_schema(about.get("schema"))
    check_arrays(arrays)
    how: dict[str, Any] = about["model"]
    how["seed"] = about["seed"] if about["seed"] >= 0 else None
    return arrays, how


def check_schema(schema: Any) -> None:
    if not isinstance(schema, (int, np.integer)) or schema < 1:
        raise Error(f"its schema is {schema!r}; expected a number from 1 to {SCHEMA}")
    if schema > SCHEMA:
        raise Error(
            f"its schema is {schema}, of a newer release; this one reads up to {SCHEMA}: "
            "update cycloid"
        )


def check_arrays(arrays: dict[str, np.ndarray]) -> None:
    absent = [name for name in _ARRAYS if name not in arrays]
    if absent:
        raise Error(f"it has no dataset {absent[0]!r}")
    for name in ("states", "times", "controls", "x0", "params"):
        if not np.isfinite(arrays[name]).all():
            raise Error(f"its {name} are not finite")


def _read(package: Any, file: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    with package.File(file, "r") as read:
        attributes = dict(read.attrs)
        schema = attributes.get("schema")
        if schema is None:
            raise Error("it has no attribute schema: no recording of cycloid")
        check_schema(schema)
        if "digest" in attributes and digest(read) != attributes["digest"]:
            raise Error("it is damaged: its digest is wrong")
        arrays = {name: read[name][()] for name in read if name in (*_ARRAYS, "model")}
    check_arrays(arrays)
    about = json.loads(attributes["model"])
    if "digest" not in attributes:  # written while it ran, perhaps not to its end
        about["steps"] = int(arrays["steps"][-1])
        if about["input_size"]:
            about["steps"] = arrays["controls"].shape[-2]
    about["seed"] = int(attributes["seed"]) if int(attributes["seed"]) >= 0 else None
    return arrays, about
