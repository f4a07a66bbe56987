"""Periodic boxes by Fourier series and exponential time differencing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error, ModelError
from cycloid._fluid_field import FieldFlow, divides_steps
from cycloid._observe import observe
from cycloid._options import as_integer, as_names, as_precision, as_real, as_text, shown

_MOST = 2**27


class SpectralFlow(FieldFlow):
    """A System in a periodic box: real numbers at nodes i L/n, field after field in C order.

    Made by `spectral`. Besides what every System has: `shape`, `size` [m], `points`, `state`,
    `field`, `velocity`, `pressure` and `save_vtk`.

    >>> import cycloid as cy
    >>> line = cy.fluid.spectral("burgers", shape=(8,), size=(1.0,), dt=0.01)
    >>> line.points[:3, 0]
    array([0.   , 0.125, 0.25 ])
    """

    _part = 0.0
    _equation: str
    _options: dict[str, Any]

    @property
    def _ring(self) -> Sequence[bool]:  # type: ignore[override]
        return (True,) * len(self._shape)

    def _varied(self, dt: float, integrator: str, contact: str) -> SpectralFlow:
        orders = {"": self._options["order"], "etdrk2": 2, "etdrk4": 4}
        if contact:
            raise Error(f"the contact of system {self.name!r} cannot be varied")
        if integrator not in orders:
            names = '"etdrk2" or "etdrk4"'
            raise Error(f"the integrator of {self.name!r} is {names}; got {shown(integrator)}")
        options = {**self._options, "order": orders[integrator]}
        if dt > 0:
            options["dt"] = dt
        values = {name: self.parameters[name] for name in self.parameters.names}
        return spectral(self._equation, **options, **values)

    def _components(self, name: str) -> int:
        """How many numbers a block has at each node; 0: one, without an axis of its own."""
        return len(self._shape) if name == "velocity" else 0

    def state(self, **fields: Any) -> np.ndarray:
        """A state row, from fields by name; those that are not given are at rest (of "gray_scott":
        a = 1, b = 0).

        A field is a function of the coordinates, f(x), f(x, y) or f(x, y, z), called with arrays of
        the box's shape, or arrays or numbers. A velocity has d components: f returns a tuple of
        them; as an array it is (*shape, d), or a sequence of d arrays.

        >>> import cycloid as cy
        >>> flow = cy.fluid.spectral("navier_stokes", shape=(8, 8), size=(1, 1), dt=0.01)
        >>> x = flow.state(velocity=lambda x, y: (np.sin(2 * np.pi * y), 0))
        >>> x.shape, float(flow.field(x, "velocity")[0, 2, 0])
        ((128,), 1.0)
        >>> flow.state(speed=1.0)
        Traceback (most recent call last):
        cycloid.Error: fields: expected "velocity"; got 'speed'
        """
        row = self.initial_state().astype(np.float64)
        slices = self.state_slices
        for name, value in fields.items():
            if name not in slices:
                known = ", ".join(f'"{n}"' for n in slices)
                raise Error(f"fields: expected {known}; got {shown(name)}")
            d = self._components(name)
            values = self._values(name, value, d)
            if not np.isfinite(values).all():
                raise Error(f"{name} is not finite at every node")
            row[slices[name]] = np.moveaxis(values, -1, 0).ravel() if d else values.ravel()
        return row.astype(self.dtype)

    def _values(self, name: str, value: Any, d: int) -> np.ndarray:
        """A field's numbers (*shape[, d])."""
        if callable(value):
            value = value(*np.moveaxis(self.points, -1, 0))
            if d and isinstance(value, (list, tuple)):
                value = tuple(value)
        wanted = (*self._shape, d) if d else self._shape
        if d and isinstance(value, (tuple, list)):
            if len(value) != d:
                raise Error(f"{name} has {d} components; got {len(value)}")
            parts = [self._spread(v, f"{name}[{a}]") for a, v in enumerate(value)]
            return np.stack(parts, axis=-1)
        array = as_numbers(value, np.float64, name)
        if d and array.shape == (d, *self._shape) and array.shape != wanted:
            return np.moveaxis(array, 0, -1)
        if d == 1 and array.shape == self._shape:
            return array[..., None]
        if d and array.shape != wanted:
            raise Error(f"{name} must have shape {wanted}; got {array.shape}")
        return array if d else self._spread(array, name)

    def _spread(self, value: Any, what: str) -> np.ndarray:
        array = as_numbers(value, np.float64, what)
        try:
            return np.broadcast_to(array, self._shape)
        except ValueError:
            raise Error(f"{what} must have shape {self._shape}; got {array.shape}") from None

    def _rows(self, x: Any) -> np.ndarray:
        rows = as_numbers(x, self.dtype, "x")
        if rows.ndim == 0 or rows.shape[-1] != self.state_size:
            raise Error(f"a state has {self.state_size} numbers; got an array of {rows.shape}")
        return rows

    def field(self, x: Any, name: str) -> np.ndarray:
        """A field of states x (..., state_size) at the nodes: (..., *shape), of a velocity
        (..., *shape, d), of a vorticity in space (..., *shape, 3). name: a block of the state,
        "vorticity" or "pressure".

        >>> import cycloid as cy
        >>> flow = cy.fluid.spectral("navier_stokes", shape=(16, 16), size=(1, 1), dt=0.01)
        >>> flow.field(flow.state(), "pressure").shape
        (16, 16)
        """
        rows = self._rows(x)
        if name in self.state_slices:
            values = rows[..., self.state_slices[name]]
        else:
            values = observe(self, rows, names=(name,)).values
        nodes = int(np.prod(self._shape))
        if values.shape[-1] % nodes:
            raise Error(f"{name} is no field of {self.name}; got {shown(name)}")
        parts = values.reshape(*rows.shape[:-1], -1, *self._shape)
        axis = rows.ndim - 1
        if name == "velocity" or parts.shape[axis] > 1:
            return np.ascontiguousarray(np.moveaxis(parts, axis, -1))
        return np.ascontiguousarray(np.take(parts, 0, axis))

    def _between(self, values: np.ndarray, points: Any) -> np.ndarray:
        """Fourier series of node values (..., *shape, m) at points (p, d): (..., p, m)."""
        at = as_numbers(points, np.float64, "points")
        d = len(self._shape)
        if at.ndim != 2 or at.shape[1] != d or not np.isfinite(at).all():
            raise Error(f"points must be finite and have shape (p, {d}); got {at.shape}")
        lead = values.shape[: values.ndim - d - 1]
        out = values.reshape(-1, *self._shape, values.shape[-1]).astype(np.float64)
        weights = [periodic_weights(at[:, a], self._shape[a], self._size[a]) for a in range(d)]
        out = np.einsum("pi,bi...->bp...", weights[0], out)
        for w in weights[1:]:
            out = np.einsum("pi,bpi...->bp...", w, out)
        return out.reshape(*lead, len(at), values.shape[-1])

    def velocity(self, x: Any, points: Any) -> np.ndarray:
        """The velocity [m/s] of states x (..., state_size) at points (p, d) [m], by Fourier series:
        (..., p, d).

        >>> import cycloid as cy
        >>> flow = cy.fluid.spectral("navier_stokes", shape=(16, 16), size=(1, 1), dt=0.01)
        >>> x = flow.state(velocity=lambda x, y: (np.sin(2 * np.pi * y), 0))
        >>> flow.velocity(x, [(0.3, 1 / 12)]).round(6)
        array([[0.5, 0. ]])
        """
        if "velocity" not in self.state_slices:
            raise Error(f"{self.name} has no velocity; its fields are {list(self.state_slices)}")
        return self._between(self.field(x, "velocity"), points)

    def pressure(self, x: Any, points: Any) -> np.ndarray:
        """The pressure [Pa] (of unit density, mean zero) of states x at points (p, d) [m], by
        Fourier series: (..., p). Of "navier_stokes" alone.
        """
        if self._equation != "navier_stokes":
            raise Error(f"{self.name} has no pressure; navier_stokes has")
        return self._between(self.field(x, "pressure")[..., None], points)[..., 0]


def periodic_weights(x: np.ndarray, n: int, length: float) -> np.ndarray:
    """Weights (p, n) of n node values in their Fourier series at places x (p) of a period.

    >>> np.abs(periodic_weights(np.array([0.25]), 4, 1.0)).round(12)
    array([[0., 1., 0., 0.]])
    """
    angle = 2 * np.pi / length * (x[:, None] - np.arange(n) * (length / n))
    angle = angle - 2 * np.pi * np.round(angle / (2 * np.pi))
    small = np.abs(angle) < 1e-13
    safe = np.where(small, 1.0, angle)
    below = n * (np.tan(safe / 2) if n % 2 == 0 else np.sin(safe / 2))
    return np.where(small, 1.0, np.sin(n * safe / 2) / below)


def spectral(
    equation: str,
    *,
    shape: Sequence[int],
    size: Sequence[float] | float,
    dt: float,
    order: int = 4,
    inputs: Sequence[str] | str = (),
    probes: Any = None,
    substeps: str | None = None,
    dtype: Any = "float64",
    **parameters: Any,
) -> SpectralFlow:
    """An equation in a periodic box of one to three axes, by Fourier series in space and
    exponential time differencing (ETDRK2 or ETDRK4: order 2 or 4) in time.

    | equation | state | parameters |
    |---|---|---|
    | "navier_stokes" | velocity | viscosity [m²/s] |
    | "burgers" | velocity | viscosity [m²/s] |
    | "kuramoto_sivashinsky", "korteweg_de_vries" (one axis) | u | |
    | "heat" | u | diffusivity [m²/s] |
    | "advection_diffusion" | u | velocity (d) [m/s], diffusivity [m²/s] |
    | "wave" | u, rate | speed [m/s] |
    | "gray_scott" | a, b | diffusivity_a, diffusivity_b [m²/s], feed, kill [1/s] |
    | "shallow_water" (two axes) | velocity, height above `depth` | gravity, depth, coriolis, \
viscosity |

    shape: nodes along each axis, at i L/n. size: lengths [m]; one number for all. dt [s]. inputs:
    "force" (d), a uniform acceleration [m/s²] of "navier_stokes", and "force_field" (d · nodes),
    one at each node, component by component as in the state; both are held over a step. probes:
    points (p, d) [m] of the observable "probe".

    Products are dealiased by the rule of two thirds: of equations with products the wave numbers
    above a third of the nodes are not part of a step, nor is the divergence of a velocity that
    "navier_stokes" is given. A start that crosses more than 1.3 cells in a step (1 at order 2)
    raises Error ("CFL", with the step that is allowed); later it ends the run, in `report.failed`.
    substeps: "auto" divides such a step into 2, 4, … 64 parts; how many there were is in
    report.counters["substeps"].

    >>> import cycloid as cy
    >>> flow = spectral("navier_stokes", shape=(32, 32), size=2 * np.pi, dt=0.01, viscosity=0.05)
    >>> flow
    <System navier_stokes: 2048 states, 0 inputs, dt 10 ms>
    >>> x0 = flow.state(velocity=lambda x, y: (np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)))
    >>> run = cy.rollout(flow, x0, 100, save="last")
    >>> energy = cy.observe(flow, run.states[-1], names=("kinetic_energy",)).values[0]
    >>> round(float(energy / np.pi**2), 12)          # exp(-4 viscosity t)
    0.818730753078
    """
    if not isinstance(equation, str):
        raise TypeError(f"equation must be a name; got {shown(equation)}")
    counts = [as_integer(n, "shape", 1, _MOST) for n in _row(shape, "shape")]
    lengths = _row(size, "size")
    if np.ndim(size) == 0:
        lengths = lengths * len(counts)
    values = {}
    for name, value in parameters.items():
        numbers = np.atleast_1d(as_numbers(value, np.float64, name))
        if numbers.ndim != 1:
            raise Error(f"{name} must be a number or a row; got an array of {numbers.shape}")
        values[as_text(name)] = numbers.tolist()
    at = as_numbers(() if probes is None else probes, np.float64, "probes")
    if at.size and (at.ndim != 2 or at.shape[1] != len(counts)):
        raise ModelError(f"probes must have shape (p, {len(counts)}); got {at.shape}")
    made = SpectralFlow(
        _core.make_spectral(
            as_text(equation),
            counts,
            [as_real(length, "size") for length in lengths],
            as_real(dt, "dt"),
            as_integer(order, "order", 0),
            as_precision(dtype),
            [as_text(name) for name in as_names(inputs, "inputs")],
            values,
            at.ravel().tolist(),
            divides_steps(substeps),
        )
    )
    made._shape, made._equation = tuple(counts), equation
    made._options = {
        "shape": shape, "size": size, "dt": dt, "order": order, "inputs": inputs,
        "probes": probes, "substeps": substeps, "dtype": dtype,
    }
    made._size = tuple(float(length) for length in lengths)
    return made


def _row(value: Any, what: str) -> list[Any]:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{what} must be numbers, one per axis; got {shown(value)}")
    try:
        return list(value) if np.ndim(value) else [value]
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be numbers, one per axis; got {shown(value)}") from None


__all__ = ["SpectralFlow", "spectral"]
