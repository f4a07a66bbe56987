"""Recordings: what was measured of a system, from arrays and from files."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._extras import missing
from cycloid._options import as_names, as_text
from cycloid._system import System, check_system
from cycloid._trajectory_formats import DAMAGE


class Recording:
    """What was measured, at times that need not be even.

    times: (S,) [s], rising. values: (S, m), NaN where nothing was measured; (S,) for m = 1. names:
    what was measured, as `observe` takes them, or blocks of the state ("angle", "qpos"), together m
    numbers; None: whole rows of the state. controls: (S, input_size), row i acts from times[i] to
    times[i+1], the last one is not used; None: zeros. sigma: the noise's standard deviation, one
    number or one per column; None: from the residuals. x0: (state_size,) at times[0], if known.

    Quaternions are four columns, with either sign. NaN belongs in values only.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> recording = cy.Recording(np.arange(5) * 0.1, np.zeros((5, 2)), sigma=0.01)
    >>> recording
    <Recording: 5 samples of 2 numbers, 0 to 0.4 s>
    >>> cy.Recording([0.0, 0.2, 0.1], np.zeros((3, 2)))
    Traceback (most recent call last):
    cycloid.Error: times must rise; times[2] = 0.1 follows 0.2
    """

    times: np.ndarray
    values: np.ndarray
    controls: Any
    names: tuple[str, ...] | None
    sigma: np.ndarray | None
    x0: Any

    def __init__(
        self,
        times: Any,
        values: Any,
        controls: Any = None,
        *,
        names: str | Sequence[str] | None = None,
        sigma: Any = None,
        x0: Any = None,
    ) -> None:
        self.times = _kept(times, "times")
        self.values = _kept(values, "values")
        _check_times(self.times)
        samples = self.times.size
        if self.values.ndim == 1:
            self.values = self.values.reshape((-1, 1))
        if self.values.ndim != 2 or len(self.values) != samples or self.values.shape[1] == 0:
            raise Error(
                f"values must have shape ({samples}, m), one row per time; got {self.values.shape}"
            )
        if np.isinf(self.values).any():
            raise Error(
                "values must be numbers, or NaN where nothing was measured; some are infinite"
            )
        self.controls = None if controls is None else _kept(controls, "controls")
        if self.controls is not None:
            if self.controls.ndim == 1:
                self.controls = self.controls.reshape((-1, 1))
            if self.controls.ndim != 2 or len(self.controls) != samples:
                raise Error(
                    f"controls must have shape ({samples}, inputs), one row per time; "
                    f"got {self.controls.shape}"
                )
            bad = np.argwhere(~np.isfinite(self.controls))
            if len(bad):
                i, j = bad[0]
                raise Error(
                    f"controls must be finite; row {i}, input {j} is {self.controls[i, j]}: NaN "
                    "belongs in values only"
                )
        self.names = None if names is None else tuple(as_text(n) for n in as_names(names, "names"))
        self.sigma = None if sigma is None else _kept(sigma, "sigma").reshape(-1)
        if self.sigma is not None:
            if self.sigma.size not in (1, self.values.shape[1]):
                raise Error(
                    f"sigma must be one number or one for each of {self.values.shape[1]} columns; "
                    f"got {self.sigma.size}"
                )
            if not (np.isfinite(self.sigma) & (self.sigma > 0)).all():
                raise Error(f"sigma must be positive and finite; got {self.sigma}")
        self.x0 = None if x0 is None else _kept(x0, "x0").reshape(-1)
        if self.x0 is not None and not np.isfinite(self.x0).all():
            raise Error("x0 must be finite")

    @classmethod
    def load(cls, path: str | os.PathLike[str], system: System | None = None) -> Recording:
        """A recording from a file, by its suffix.

        .csv: a column "t" or "time" [s], outputs and inputs of `system` by name ("angle",
        "qpos[1]"), others are left out. .npz and .h5, .hdf5: arrays times, values and, where there
        are, controls, names, sigma and x0, as `save` writes them; HDF5 needs h5py.
        """
        path = pathlib.Path(path)
        if not path.exists():
            raise FileNotFoundError(f'there is no file "{path}"')
        suffix = path.suffix.lower()
        if suffix == ".csv":
            check_system(system)
            assert system is not None
            try:
                rows, _ = _core.read_recording_csv(system._core, str(path))
            except UnicodeDecodeError as error:  # names of columns
                raise Error(f'"{path}" is no text in UTF-8: {error}') from None
            return from_rows(rows)
        try:
            if suffix == ".npz":
                with np.load(path, allow_pickle=False) as arrays:
                    return cls._from_arrays({key: arrays[key] for key in arrays.files}, path)
            if suffix in (".h5", ".hdf5"):
                with _h5py().File(path, "r") as file:
                    return cls._from_arrays({key: file[key][()] for key in file}, path)
        except (Error, PermissionError, IsADirectoryError, MemoryError):
            raise
        except (*DAMAGE, OSError, TypeError) as error:
            raise Error(f'"{path}" is damaged, or no recording of cycloid: {error}') from None
        raise Error(f'"{path}": expected .csv, .npz or .h5')

    @classmethod
    def _from_arrays(cls, arrays: dict[str, Any], path: pathlib.Path) -> Recording:
        for key in ("times", "values"):
            if key not in arrays:
                raise Error(f'"{path}" has no array "{key}"; it has {sorted(arrays)}')
        names = arrays.get("names")
        if names is not None:
            names = [n.decode() if isinstance(n, bytes) else str(n) for n in np.asarray(names).flat]
        return cls(
            arrays["times"],
            arrays["values"],
            arrays.get("controls"),
            names=names,
            sigma=arrays.get("sigma"),
            x0=arrays.get("x0"),
        )

    def save(self, path: str | os.PathLike[str], system: System | None = None) -> None:
        """Writes a file that `load` reads, by its suffix; .csv needs the system, for the names of
        its columns, and keeps neither sigma nor x0."""
        path = pathlib.Path(path)
        suffix = path.suffix.lower()
        arrays = {"times": self.times, "values": self.values}
        for key in ("controls", "sigma", "x0"):
            if getattr(self, key) is not None:
                arrays[key] = getattr(self, key)
        if suffix == ".csv":
            if system is None:
                raise Error(f'"{path}": .csv needs system=, for the names of its columns')
            check_system(system)
            _core.write_recording_csv(system._core, self._rows, str(path))
        elif suffix == ".npz":
            if self.names is not None:
                arrays["names"] = np.array(self.names)
            np.savez_compressed(path, **arrays)
        elif suffix in (".h5", ".hdf5"):
            with _h5py().File(path, "w") as file:
                file.attrs["schema"] = "cycloid.recording 1"
                for key, array in arrays.items():
                    file.create_dataset(key, data=array)
                if self.names is not None:
                    file.create_dataset("names", data=[n.encode() for n in self.names])
        else:
            raise Error(f'"{path}": expected .csv, .npz or .h5')

    @property
    def _rows(self) -> tuple[Any, ...]:
        """As the core takes it."""
        return (
            self.times,
            self.values,
            np.zeros(0) if self.controls is None else self.controls,
            [] if self.names is None else list(self.names),
            [] if self.sigma is None else self.sigma.tolist(),
            [] if self.x0 is None else self.x0.tolist(),
        )

    def __len__(self) -> int:
        return self.times.size

    def __repr__(self) -> str:
        missing_share = float(np.isnan(self.values).mean())
        gaps = f", {missing_share:.0%} missing" if missing_share > 0 else ""
        m = self.values.shape[1]
        return (
            f"<Recording: {self.times.size} samples of {m} number{'s' * (m != 1)}, "
            f"{self.times[0]:g} to {self.times[-1]:g} s{gaps}>"
        )


def from_rows(rows: tuple[Any, ...]) -> Recording:
    """The recording that the core gives."""
    times, values, controls, names, sigma, x0 = rows
    samples = len(times)
    return Recording(
        times,
        values.reshape((samples, -1)),
        controls.reshape((samples, -1)) if controls.size else None,
        names=names or None,
        sigma=sigma or None,
        x0=x0 or None,
    )


def _kept(value: Any, what: str) -> np.ndarray:
    array = as_numbers(value, np.float64, what).copy()
    array.flags.writeable = False
    return array


def _check_times(times: np.ndarray) -> None:
    if times.ndim != 1 or times.size < 2:
        raise Error(f"times must have shape (S,), two samples at least; got {times.shape}")
    bad = np.flatnonzero(~np.isfinite(times))
    if bad.size:
        raise Error(f"times must be finite; times[{bad[0]}] is {times[bad[0]]}")
    falls = np.flatnonzero(np.diff(times) <= 0)
    if falls.size:
        i = falls[0] + 1
        raise Error(f"times must rise; times[{i}] = {times[i]} follows {times[i - 1]}")


def _h5py() -> Any:
    try:
        import h5py
    except ModuleNotFoundError:
        raise missing("h5py", "cycloid[record]") from None
    return h5py
