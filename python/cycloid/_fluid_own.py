"""A user's own equation in a periodic box: x_t = L x + N(x), with a symbol and a term in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._options import as_integer, as_names, as_real
from cycloid._own_law import own_law
from cycloid._system import System

Parameters = dict[str, np.ndarray]


class _Box:
    """The box and its transforms. With coefficients' cotangents divided by weight and number of
    nodes, `to` and `back` are each other's adjoints (cycloid/fluid/transform/fft.h)."""

    def __init__(self, shape: list[int], size: list[float]) -> None:
        self.shape, self.axes = tuple(shape), tuple(range(-len(shape), 0))
        numbers = [np.fft.fftfreq(n, 1 / n) for n in shape]
        numbers[-1] = np.abs(numbers[-1][: shape[-1] // 2 + 1])
        grid = np.meshgrid(*numbers, indexing="ij")
        self.k = np.stack([2 * np.pi / length * g for g, length in zip(grid, size)])
        self.kept = np.all([np.abs(g) <= (n - 1) // 3 for g, n in zip(grid, shape)], axis=0)
        half = grid[-1]
        weight = np.where((half == 0) | (2 * half == shape[-1]), 1.0, 2.0)
        self.weight = weight * np.prod(shape)

    def to(self, x: np.ndarray) -> np.ndarray:
        return self.kept * np.fft.rfftn(x, axes=self.axes, norm="forward")

    def back(self, X: np.ndarray) -> np.ndarray:
        return np.fft.irfftn(self.kept * X, s=self.shape, axes=self.axes, norm="forward")

    def derivative(self, x: np.ndarray, axis: int, order: int = 1) -> np.ndarray:
        """∂^order x / ∂(axis)^order at the nodes; its adjoint is (-1)^order times itself."""
        return self.back((1j * self.k[axis]) ** order * self.to(x))


class _OwnStep:
    """The step of `own_spectral` and its pullback, one environment at a time."""

    def __init__(self, box: _Box, fields: int, order: int, functions: Mapping[str, Any]) -> None:
        self.box, self.fields, self.order = box, fields, order
        self.parts = _core.etd_parts(order)
        self.f = functions
        self._table: tuple[bytes, float, np.ndarray, np.ndarray] | None = None

    def table(self, p: Parameters, dt: float) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and slopes (coefficients, fields, *modes)."""
        modes = (self.fields, *self.box.k.shape[1:])
        try:
            L = np.broadcast_to(np.asarray(self.f["symbol"](self.box.k, p), complex), modes)
        except ValueError:
            raise Error(
                f"symbol must return numbers of shape {modes}, or such as spread to it"
            ) from None
        if not np.isfinite(L[:, self.box.kept]).all():
            raise Error("symbol is not finite at every wave vector that is kept")
        L = np.where(self.box.kept, L, 0)
        key = L.tobytes()
        if self._table is None or self._table[:2] != (key, dt):
            z = np.ascontiguousarray(dt * L).view(float).ravel()
            shape = (-1, *modes, 2)
            value, slope = (
                np.ascontiguousarray(a.reshape(shape)).view(complex)[..., 0]
                for a in _core.etd_coefficients(self.order, dt, z)
            )
            self._table = key, dt, value, slope
        return self._table[2], self._table[3]

    def term(self, u: np.ndarray, p: Parameters) -> np.ndarray:
        N = np.asarray(self.f["term"](u, p, self.box.derivative), float)
        if N.shape != u.shape:
            raise Error(f"term must return an array of shape {u.shape}; got {N.shape}")
        return N

    def stages(self, x: np.ndarray, p: Parameters, dt: float) -> tuple[list[Any], list[Any]]:
        """[û, N_1, …, û⁺ at the end], and node values of the stages."""
        value, _ = self.table(p, dt)
        known, nodes = [self.box.to(x)], []
        U = known[0]
        for stage in self.parts:
            nodes.append(self.box.back(U))
            known.append(self.box.to(self.term(nodes[-1], p)))
            U = sum(s * value[c] * known[i] for c, i, s in stage)
        return [*known, U], nodes

    def step(self, x: np.ndarray, p: Parameters, dt: float) -> np.ndarray:
        return self.box.back(self.stages(x, p, dt)[0][-1])

    def pullback(
        self, x: np.ndarray, p: Parameters, dt: float, bar: np.ndarray
    ) -> tuple[np.ndarray, Parameters]:
        value, slope = self.table(p, dt)
        known, nodes = self.stages(x, p, dt)
        p_bar = {name: np.zeros(np.shape(v)) for name, v in p.items()}
        L_bar = np.zeros_like(value[0])
        known_bar = [np.zeros_like(k) for k in known[:-1]]
        U_bar = self.box.to(bar)

        def gather(given: Mapping[str, Any] | None) -> None:
            for name, v in (given or {}).items():
                p_bar[name] = p_bar[name] + v

        for i in reversed(range(len(self.parts))):
            for c, j, s in self.parts[i]:
                known_bar[j] += s * np.conj(value[c]) * U_bar
                L_bar += s * dt * np.conj(slope[c] * known[j]) * U_bar
            u_bar, own = self.f["term_pullback"](
                nodes[i], p, self.box.derivative, self.box.back(known_bar[i + 1])
            )
            gather(own)
            U_bar = self.box.to(np.asarray(u_bar, float))
        known_bar[0] += U_bar
        if self.f["symbol_pullback"] is not None:
            scaled = self.box.weight * self.box.kept * L_bar
            gather(self.f["symbol_pullback"](self.box.k, p, scaled))
        return self.box.back(known_bar[0]), p_bar


def own_spectral(
    symbol: Callable[..., Any],
    term: Callable[..., Any],
    term_pullback: Callable[..., Any] | None = None,
    *,
    shape: Sequence[int],
    size: Sequence[float] | float,
    dt: float,
    order: int = 4,
    fields: Sequence[str] | str = "u",
    parameters: Mapping[str, Any] | None = None,
    symbol_pullback: Callable[..., Any] | None = None,
    name: str = "own_spectral",
) -> System:
    """An equation of your own in a periodic box, x_t = L x + N(x), by the scheme of `spectral`:

        symbol(k, p) -> L                                    k (d, *modes) [1/m]
        term(u, p, d) -> N                                   u, N (fields, *shape) at the nodes
        term_pullback(u, p, d, N_bar) -> (u_bar, {name: cotangent})
        symbol_pullback(k, p, L_bar) -> {name: cotangent}

    L is real or complex, (fields, *modes) or what spreads to it; d(f, axis, order=1) differentiates
    a field at the nodes, and its adjoint is (-1)^order times itself. p {name: array} are the
    `parameters`, {name: default}. L_bar is complex: a real parameter's share is the sum of
    Re(conj(∂L/∂p) L_bar). Without `term_pullback` there is no gradient; without `symbol_pullback`
    it knows parameters through the term alone.

    Kept are wave numbers up to a third of the nodes. The functions run in Python: tens of times
    slower than the equations of `spectral`. float64.

    Fisher's equation of growth, u_t = D u_xx + r u (1 - u):

    >>> import cycloid as cy
    >>> growth = own_spectral(
    ...     lambda k, p: -0.01 * k[0] ** 2,
    ...     lambda u, p, d: p["r"] * u * (1 - u),
    ...     lambda u, p, d, bar: (p["r"] * (1 - 2 * u) * bar, {"r": (u * (1 - u) * bar).sum()}),
    ...     shape=(32,), size=1.0, dt=0.1, parameters={"r": 2.0})
    >>> x0 = 0.1 + 0.05 * np.cos(2 * np.pi * np.arange(32) / 32)
    >>> bool(cy.check_gradient(growth, x0, 5).max_relative_error < 1e-6)
    True
    """
    counts = [as_integer(n, "shape", 4, 2**27) for n in np.atleast_1d(shape).tolist()]
    lengths = [as_real(v, "size") for v in np.atleast_1d(size).tolist()]
    if np.ndim(size) == 0:
        lengths = lengths * len(counts)
    if not 1 <= len(counts) <= 3 or len(lengths) != len(counts) or min(lengths) <= 0:
        raise Error(
            "shape has one to three numbers, and size a positive length for each; "
            f"got {shape}, {size}"
        )
    if as_integer(order, "order", 0) not in (2, 4):
        raise Error(f"order is 2 or 4 (ETDRK2, ETDRK4); got {order}")
    for function, what in ((symbol, "symbol"), (term, "term")):
        if not callable(function):
            raise TypeError(f"{what} must be a function; got {type(function).__name__}")
    names = as_names(fields, "fields")
    box = _Box(counts, lengths)
    own = _OwnStep(box, len(names), order, {
        "symbol": symbol, "term": term, "term_pullback": term_pullback,
        "symbol_pullback": symbol_pullback,
    })
    full = (len(names), *box.shape)

    def each(p: Mapping[str, np.ndarray], b: int) -> Parameters:
        return {key: value[b] for key, value in p.items()}

    def step(x: Any, u: Any, p: Any, t: Any, h: float) -> np.ndarray:
        rows = [own.step(x[b].reshape(full), each(p, b), h).ravel() for b in range(len(x))]
        return np.stack(rows)

    def pullback(x: Any, u: Any, p: Any, t: Any, h: float, bar: np.ndarray) -> tuple[Any, Any, Any]:
        rows = [
            own.pullback(x[b].reshape(full), each(p, b), h, bar[b].reshape(full))
            for b in range(len(x))
        ]
        return (
            np.stack([r[0].ravel() for r in rows]), 0,
            {key: np.stack([np.asarray(r[1][key], float) for r in rows]) for key in p},
        )

    nodes = int(np.prod(counts))
    default = {key: as_numbers(v, np.float64, key) for key, v in (parameters or {}).items()}
    own.term(np.zeros(full), default)  # looks at them
    own.table(default, as_real(dt, "dt"))
    return own_law(
        step, pullback if term_pullback is not None else None,
        states={field: nodes for field in names}, parameters=default, dt=dt, name=name,
    )
