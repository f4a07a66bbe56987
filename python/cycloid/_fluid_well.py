"""Flows in HDF5, in the layout of The Well, a collection of simulations for machine learning.

  /            dataset_name, grid_type, n_spatial_dims, n_trajectories, simulation_parameters and
               one attribute for each of those
  /dimensions  spatial_dims; time (T), x, y[, z]: where the numbers live
  /boundary_conditions/x_periodic, ...   bc_type, associated_dims; mask along the axis
  /scalars     field_names; parameters of one number
  /t0_fields   field_names; scalars over cells (n, T, *shape)
  /t1_fields   vectors (n, T, *shape, d);  /t2_fields  tensors, which flows here have none of
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._options import as_names, as_text
from cycloid._trajectory_file import as_path, h5py
from cycloid._trajectory_formats import write_beside

_AXES = ("x", "y", "z")


@dataclass
class WellFile:
    """What `cycloid.fluid.read_well` finds."""

    name: str
    """Of the dataset."""
    times: np.ndarray
    """(T) [s]"""
    points: list[np.ndarray]
    """Along each axis [m]."""
    fields: dict[str, np.ndarray] = field(default_factory=dict)
    """Scalars (n, T, *shape), vectors (n, T, *shape, d), tensors (n, T, *shape, d, d)."""
    parameters: dict[str, float] = field(default_factory=dict)
    """Numbers of the simulation."""
    boundary: dict[str, str] = field(default_factory=dict)
    """By axis: "PERIODIC", "WALL" or "OPEN"."""


def _mark(node: Any, **attributes: Any) -> None:
    for key, value in attributes.items():
        node.attrs[key] = value


def write_well(
    path: Any, flow: Any, states: Any, times: Any = None, names: Sequence[str] | str = "velocity"
) -> None:
    """Writes fields of states (T, state_size) or (n, T, state_size) of a flow as HDF5 in the layout
    of The Well. times: (T) [s], by default one per step; names: as `flow.field` takes them.

    Needs h5py: pip install cycloid[record].

    >>> import pathlib, tempfile
    >>> import cycloid as cy
    >>> flow = cy.fluid.lattice((4, 4), viscosity=0.1)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "flow.hdf5"
    >>> cy.fluid.write_well(path, flow, [flow.state()])
    >>> cy.fluid.read_well(path).fields["velocity"].shape
    (1, 1, 4, 4, 2)
    """
    rows = as_numbers(states, np.float64, "states")
    if rows.ndim == 2:
        rows = rows[None]
    if rows.ndim != 3 or rows.shape[2] != flow.state_size:
        raise Error(f"states has shape (n, T, {flow.state_size}); got {rows.shape}")
    when = np.arange(rows.shape[1]) * flow.timestep if times is None else np.asarray(times, float)
    if when.shape != rows.shape[1:2]:
        raise Error(f"there are {rows.shape[1]} states in time; got times {when.shape}")
    where, package = as_path(path), h5py()
    fields = _fields(flow, rows, names)
    write_beside(where, lambda beside: _write(package, beside, flow, len(rows), when, fields))


def _fields(flow: Any, rows: np.ndarray, names: Any) -> dict[str, np.ndarray]:
    """By name, (n, T, *shape[, d]). Raises Error for what is no field over the cells."""
    fields = {}
    for given in as_names(names, "names"):
        name = as_text(given)
        values = np.stack([flow.field(run, name) for run in rows])
        if values.shape[2 : 2 + len(flow.shape)] != flow.shape or values.ndim > 4 + len(flow.shape):
            raise Error(
                f"{name!r} is no field over the cells {flow.shape} of {flow.name}; it has shape "
                f"{values.shape[2:]}"
            )
        fields[name] = values.astype(np.float32)
    return fields


def _kind_of(flow: Any, axis: int) -> str:
    """As The Well names the ends of an axis."""
    sides = flow._sides[axis] if hasattr(flow, "_sides") else ("periodic",) * 2
    if {"inflow", "outflow"} & set(sides):
        return "OPEN"
    return "PERIODIC" if set(sides) == {"periodic"} else "WALL"


def _write(
    package: Any, path: Any, flow: Any, runs: int, when: np.ndarray, fields: dict[str, np.ndarray]
) -> None:
    d = len(flow.shape)
    spatial = _AXES[:d]
    fixed = {"sample_varying": False, "time_varying": False}
    default = flow.parameters.unpack(flow.parameters.default)
    numbers = {k: float(v) for k, v in default.items() if np.size(v) == 1}
    with package.File(path, "w") as file:
        _mark(file, dataset_name=flow.name, grid_type="cartesian", n_spatial_dims=d,
              n_trajectories=runs, simulation_parameters=list(numbers), **numbers)
        dimensions = file.create_group("dimensions")
        _mark(dimensions, spatial_dims=list(spatial))
        _mark(dimensions.create_dataset("time", data=when), sample_varying=False)
        conditions = file.create_group("boundary_conditions")
        for a, axis in enumerate(spatial):
            line = np.moveaxis(flow.points[..., a], a, 0).reshape(flow.shape[a], -1)[:, 0]
            _mark(dimensions.create_dataset(axis, data=line), **fixed)
            kind = _kind_of(flow, a)
            group = conditions.create_group(f"{axis}_{kind.lower()}")
            _mark(group, bc_type=kind, associated_dims=[axis], associated_fields=[], **fixed)
            mask = np.zeros(flow.shape[a], bool)
            mask[[0, -1]] = True
            group.create_dataset("mask", data=mask)
        scalars = file.create_group("scalars")
        _mark(scalars, field_names=list(numbers))
        for key, value in numbers.items():
            _mark(scalars.create_dataset(key, data=value), **fixed)
        for order in range(3):
            group = file.create_group(f"t{order}_fields")
            own = {k: v for k, v in fields.items() if v.ndim - 2 - d == order}
            _mark(group, field_names=list(own))
            for name, values in own.items():
                node = group.create_dataset(name, data=values)
                _mark(node, dim_varying=[True] * d, sample_varying=True, time_varying=True)


def read_well(path: Any, names: Sequence[str] | str | None = None) -> WellFile:
    """Reads a file in the layout of The Well: all its fields, or those of the given names.

    Needs h5py: pip install cycloid[record].

    >>> import pathlib, tempfile
    >>> import cycloid as cy
    >>> flow = cy.fluid.lattice((4, 4), viscosity=0.1)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "flow.hdf5"
    >>> cy.fluid.write_well(path, flow, [flow.state()])
    >>> cy.fluid.read_well(path).fields["velocity"].shape
    (1, 1, 4, 4, 2)
    """
    where = as_path(path)
    if not where.exists():
        raise FileNotFoundError(f'there is no file "{where}"')
    wanted = None if names is None else set(as_names(names, "names"))
    package = h5py()
    try:
        found = _read(package, where, wanted)
    except Error:
        raise
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise Error(f'"{where}" is damaged, or not in the layout of The Well: {error}') from None
    missing = [] if wanted is None else sorted(wanted - set(found.fields))
    if missing:
        raise Error(f'"{where}" has no field {missing[0]!r}; it has {sorted(found.fields)}')
    return found


def _read(package: Any, where: Path, wanted: set[str] | None) -> WellFile:
    with package.File(where, "r") as file:
        if "dimensions" not in file or "time" not in file["dimensions"]:
            raise Error(f'"{where}" is not in the layout of The Well: it has no dimensions/time')

        def words(node: Any, key: str) -> list[str]:
            return [w.decode() if isinstance(w, bytes) else str(w) for w in node.attrs.get(key, [])]

        dimensions = file["dimensions"]
        found = WellFile(
            str(file.attrs.get("dataset_name", where.stem)),
            dimensions["time"][()],
            [dimensions[axis][()] for axis in words(dimensions, "spatial_dims")],
        )
        for group in (file[f"t{order}_fields"] for order in range(3) if f"t{order}_fields" in file):
            for name in words(group, "field_names"):
                if wanted is None or name in wanted:
                    found.fields[name] = group[name][()]
        for name in words(file.get("scalars", file), "field_names"):
            value = file["scalars"][name][()]
            if np.size(value) == 1:
                found.parameters[name] = float(np.reshape(value, ())[()])
        for group in file.get("boundary_conditions", {}).values():
            for axis in words(group, "associated_dims"):
                found.boundary[axis] = str(group.attrs["bc_type"])
    return found
