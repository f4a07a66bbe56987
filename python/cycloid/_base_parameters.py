"""Base parameters: the combinations of masses, first moments and inertias that move a robot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from cycloid._core import Error, ParameterError
from cycloid._forward import forward
from cycloid._system import System

_FIELDS = ("mass", "com", "inertia")
_SAMPLES = 24  # states at which the regressor is evaluated, per body
_DEPENDENT = 1e-8  # of a column's length: what is left of one that others make up
_SMALL = 1e-9  # factors that are rounding
_NULL = 1e-8  # singular values that are none, as in the core

# Of one body: inertia about its frame's origin (xx yy zz xy xz yz), first moment mass * com, mass.
# In this order, so that masses and what hangs on them go into the bodies before.
_NUMBERS = (*(f"inertia_o[{i}]" for i in range(6)), *(f"moment[{i}]" for i in range(3)), "mass")
_AT = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


class Combination(NamedTuple):
    """A base parameter: numbers of bodies and their factors, the first of which is 1."""

    name: str
    factors: dict[str, float]

    def __str__(self) -> str:
        text = ""
        for number, factor in self.factors.items():
            size = abs(factor)
            sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
            text += sign + ("" if abs(size - 1) < _SMALL else f"{size:.6g} ") + number
        return text


def bodies_of(system: System, names: list[str]) -> list[str]:
    """The bodies whose masses, centres or inertias are named, in the system's order."""
    found = set()
    for name in names:
        base = name.partition("[")[0]
        if base.startswith("body:") and base.rpartition(".")[2] in _FIELDS:
            found.add(base.rpartition(".")[0][len("body:"):])
    if not found:
        raise ParameterError(
            'reparametrise="base" is for inertial parameters: name some, such as "body:link.mass"'
        )
    order = [n.rpartition(".")[0][len("body:"):] for n in system.parameters.names
             if n.startswith("body:") and n.endswith(".mass")]
    return [b for b in order if b in found]


def inertial_names(body: str) -> list[str]:
    return [f"body:{body}.{field}" for field in _FIELDS]


def _shift(mass: float, com: np.ndarray) -> np.ndarray:
    """Steiner's term, mass (c·c 1 - c cᵀ)."""
    return mass * (com @ com * np.eye(3) - np.outer(com, com))


def _six(matrix: np.ndarray) -> np.ndarray:
    return np.array([matrix[i, j] for i, j in _AT])


def linear_numbers(mass: float, com: np.ndarray, inertia: np.ndarray) -> np.ndarray:
    """(10,), as _NUMBERS names them, of mass, com (3) and inertia (6) about the com."""
    return np.concatenate([inertia + _six(_shift(mass, com)), mass * com, [mass]])


def linear_slopes(mass: float, com: np.ndarray) -> np.ndarray:
    """∂(linear_numbers)/∂(mass, com, inertia), (10, 10)."""
    slopes = np.zeros((10, 10))
    slopes[:6, 0] = _six(_shift(1.0, com))
    for k in range(3):
        unit = np.eye(3)[k]
        cross = np.outer(unit, com) + np.outer(com, unit)
        slopes[:6, 1 + k] = _six(mass * (2 * com[k] * np.eye(3) - cross))
    slopes[:6, 4:] = np.eye(6)
    slopes[6:9, 0] = com
    slopes[6:9, 1:4] = mass * np.eye(3)
    slopes[9, 0] = 1.0
    return slopes


def _physical(numbers: np.ndarray) -> dict[str, Any]:
    mass, com = numbers[9], numbers[6:9] / numbers[9]
    return {"mass": mass, "com": com, "inertia": numbers[:6] - _six(_shift(mass, com))}


def _random_states(system: System, count: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = np.tile(system.initial_state(), (count, 1)).astype(float)
    x[:, : system.nq] += rng.uniform(-1.5, 1.5, (count, system.nq))
    x[:, system.nq : system.nq + system.nv] = rng.normal(size=(count, system.nv))
    return x


def regressor(system: System, vector: np.ndarray, bodies: list[str]) -> np.ndarray:
    """Y with forces = Y φ + what other things do, at random states and accelerations, φ being the
    linear numbers of these bodies; (samples * nv, 10 * bodies). Exact: forces are linear in φ."""
    x = _random_states(system, _SAMPLES * len(bodies))
    acceleration = np.random.default_rng(1).normal(size=(len(x), system.nv))
    unit = np.concatenate([np.ones(3), np.zeros(6), [1.0]])  # far from every limit
    start = system.parameters.unpack(vector)

    def forces(changed: Mapping[str, np.ndarray]) -> np.ndarray:
        values = dict(start)
        for body in bodies:
            for field, value in _physical(changed.get(body, unit)).items():
                values[f"body:{body}.{field}"] = value
        seen = forward(system, x, None, system.parameters.pack(values))
        return (np.einsum("sij,sj->si", seen.mass_matrix, acceleration) + seen.bias).ravel()

    first = forces({})
    columns = []
    for body in bodies:
        for k in range(10):
            moved = unit.copy()
            moved[k] += 0.1
            columns.append((forces({body: moved}) - first) / 0.1)
    return np.stack(columns, 1)


def combinations(system: System, vector: np.ndarray, bodies: list[str]) -> list[Combination]:
    """The base parameters of these bodies: as many as the regressor has independent columns."""
    if not hasattr(system, "nv") or system.nv == 0:
        raise Error('reparametrise="base" is for robots')
    Y = regressor(system, vector, bodies)
    names = [f"{body}.{number}" for body in bodies for number in _NUMBERS]
    length = np.linalg.norm(Y, axis=0)
    kept: list[int] = []
    basis = np.zeros((len(Y), 0))
    dependent: list[int] = []
    for j in range(Y.shape[1]):
        if length[j] <= 1e-10 * length.max():
            continue  # moves nothing
        column = Y[:, j] / length[j]
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        if np.linalg.norm(rest) > _DEPENDENT:
            kept.append(j)
            basis = np.concatenate([basis, (rest / np.linalg.norm(rest))[:, None]], 1)
        else:
            dependent.append(j)
    scaled = Y[:, kept] / length[kept]
    factors = np.linalg.lstsq(scaled, Y[:, dependent], rcond=None)[0] / length[kept, None]
    out = []
    for i, j in enumerate(kept):
        row = {names[j]: 1.0}
        for k, factor in zip(dependent, factors[i]):
            if abs(factor) > _SMALL * max(1.0, np.abs(factors[i]).max()):
                row[names[k]] = float(factor)
        out.append(Combination(f"base:{names[j]}", row))
    return out


class BaseNumbers(NamedTuple):
    """A fit in base parameters; numbers that are not inertial follow them as they were."""

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    combinations: tuple[Combination, ...]


def base_numbers(
    system: System, vector: np.ndarray, names: tuple[str, ...], values: np.ndarray, root: np.ndarray
) -> BaseNumbers:
    """From the numbers of a fit by name, and a square root of their information (rows, k).

    The covariance is J (RᵀR)⁺ Jᵀ, with J the slopes of base parameters by the numbers; infinite on
    the diagonal where J touches what the data do not determine.
    """
    bodies = bodies_of(system, list(names))
    found = combinations(system, vector, bodies)
    place = {name: i for i, name in enumerate(names)}
    linear, slopes = {}, np.zeros((10 * len(bodies), len(names)))
    for b, body in enumerate(bodies):
        own = [place[f"body:{body}.mass"],
               *(place[f"body:{body}.com[{i}]"] for i in range(3)),
               *(place[f"body:{body}.inertia[{i}]"] for i in range(6))]
        mass, com, inertia = values[own[0]], values[own[1:4]], values[own[4:]]
        numbers = linear_numbers(mass, com, inertia)
        linear |= {f"{body}.{n}": v for n, v in zip(_NUMBERS, numbers)}
        slopes[10 * b : 10 * b + 10, own] = linear_slopes(mass, com)
    row_of = {f"{body}.{n}": 10 * b + i for b, body in enumerate(bodies)
              for i, n in enumerate(_NUMBERS)}
    others = [i for i, n in enumerate(names) if not _is_inertial(n)]
    J = np.zeros((len(found) + len(others), len(names)))
    base = np.zeros(len(J))
    for i, combination in enumerate(found):
        for number, factor in combination.factors.items():
            base[i] += factor * linear[number]
            J[i] += factor * slopes[row_of[number]]
    for i, at in enumerate(others, len(found)):
        base[i], J[i, at] = values[at], 1.0
    size = np.where(values == 0, 1.0, np.abs(values))
    _, s, Vt = np.linalg.svd(root * size, full_matrices=True)
    s = np.concatenate([s, np.zeros(len(Vt) - len(s))])
    seen = s > _NULL * max(s[0], 1e-300)
    along = (J * size) @ Vt.T
    covariance = (along[:, seen] / s[seen] ** 2) @ along[:, seen].T
    blind = np.linalg.norm(along[:, ~seen], axis=1) > 1e-5 * np.linalg.norm(along, axis=1)
    covariance[blind] = covariance[:, blind] = 0.0
    covariance[blind, blind] = np.inf
    labels = (*(c.name for c in found), *(names[i] for i in others))
    return BaseNumbers(labels, base, covariance, tuple(found))


def _is_inertial(name: str) -> bool:
    base = name.partition("[")[0]
    return base.startswith("body:") and base.rpartition(".")[2] in _FIELDS
