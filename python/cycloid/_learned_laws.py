"""Laws of motion that are networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cycloid import _core
from cycloid._core import Error
from cycloid._options import as_integer, as_names, as_precision, as_real, as_text, check_one_of
from cycloid._system import System
from cycloid.networks import as_sizes
from cycloid.systems import _tolerance

_KINDS = ("neural_ode", "hamiltonian", "lagrangian", "deep_lagrangian", "constrained")
_MATRICES = ("identity", "constant", "network")
_MOST = 2**16
_NO_POINTS = {
    "dimension": 2,
    "stabilisation": 0.0,
    "distances": [],
    "masses": [],
    "lengths": [],
    "anchors": [],
}


@dataclass(frozen=True)
class Impact:
    """An event of a learned law: where guard falls through zero, a velocity turns round.

    normal (n): the guard is normal · q - level for a law with coordinates, normal · x - level for
    `neural_ode`. restitution e in [0, 1]: the velocity along the normal becomes -e times what it
    was. mobility (n): the velocity that a unit impulse along the normal gives, M⁻¹ normal; None:
    the normal, right for one coordinate and for equal masses. For a `neural_ode`, `sense` (n) says
    which combination of the state turns round and `direction` (n), None: sense, what changes.
    Parameters "name.guard", "name.level", "name.restitution", "name.sense", "name.direction", of
    the whole state's size, all differentiable.

    >>> import cycloid as cy
    >>> floor = cy.learn.Impact([1.0], restitution=0.8, name="floor")
    >>> law = cy.learn.hamiltonian(1, hidden=(16,), events=[floor])
    >>> float(law.parameters["floor.restitution"])
    0.8
    """

    normal: Sequence[float]
    level: float = 0.0
    restitution: float = 1.0
    mobility: Sequence[float] | None = None
    sense: Sequence[float] | None = None
    direction: Sequence[float] | None = None
    name: str = "impact"


def _jumps(events: Sequence[Any], kind: str, n: int) -> list[tuple[Any, ...]]:
    made = []
    for event in events:
        if not isinstance(event, Impact):
            raise Error(f"events holds cycloid.learn.Impact; got {event!r}")
        if not str(event.name).isidentifier() or event.name in [m[0] for m in made]:
            raise Error(f"an impact needs a name of its own, a word; got {event.name!r}")
        rows = []
        for what in ("normal", "mobility", "sense", "direction"):
            given = getattr(event, what)
            if given is None:
                rows.append(None)
                continue
            row = [as_real(number, what) for number in given]
            if len(row) != n:
                raise Error(f'impact "{event.name}": {what} has {n} numbers; got {len(row)}')
            rows.append(row)
        normal, mobility, sense, direction = rows
        level, bounce = as_real(event.level, "level"), as_real(event.restitution, "restitution")
        if kind == "neural_ode":
            if sense is None or mobility is not None:
                raise Error(
                    f'impact "{event.name}": a neural_ode has no velocities of its own; say with '
                    "sense=, and direction=, which numbers of the state turn round"
                )
            made.append((event.name, normal, level, bounce, sense, direction or sense))
            continue
        if sense is not None or direction is not None:
            raise Error(f'impact "{event.name}": sense and direction are for neural_ode')
        zeros, moved = [0.0] * n, mobility or normal
        # A momentum changes along the normal, a velocity by the mobility (system/event/jump.h).
        first, last = (moved, normal) if kind == "hamiltonian" else (normal, moved)
        made.append((event.name, normal + zeros, level, bounce, zeros + first, zeros + last))
    return made


def _law(
    kind: str,
    n: int,
    inputs: int,
    hidden: Sequence[int],
    activation: str,
    dt: float,
    integrator: str,
    seed: int,
    dtype: Any,
    vary: Sequence[str],
    angles: Sequence[int],
    rtol: float | None,
    atol: float | None,
    *,
    dissipation: bool = False,
    separable: bool = False,
    input_matrix: str = "constant",
    side_hidden: Sequence[int] = (32, 32),
    events: Sequence[Any] = (),
    points: dict[str, Any] | None = None,
) -> System:
    check_one_of(input_matrix, _MATRICES, "input_matrix")
    law = {
        "kind": _KINDS.index(kind),
        "n": as_integer(n, "n", 1, _MOST),
        "inputs": as_integer(inputs, "inputs", 0, _MOST),
        "hidden": as_sizes(hidden, "hidden"),
        "side_hidden": as_sizes(side_hidden, "side_hidden"),
        "activation": as_text(activation),
        "dissipation": bool(dissipation),
        "separable": bool(separable),
        "input_matrix": _MATRICES.index(input_matrix),
        "angles": sorted(as_integer(a, "an angle", 0) for a in angles),
        "seed": as_integer(seed, "seed", 0, 2**64 - 1),
        "jumps": _jumps(events, kind, n),
        **(points or _NO_POINTS),
    }
    return System(
        _core.make_learned(
            law,
            as_real(dt, "dt"),
            as_text(integrator),
            as_precision(dtype),
            [as_text(name) for name in as_names(vary, "vary")],
            _tolerance(rtol, "rtol"),
            _tolerance(atol, "atol"),
        )
    )


def neural_ode(
    n: int,
    inputs: int = 0,
    hidden: Sequence[int] = (64, 64),
    activation: str = "tanh",
    dt: float = 0.01,
    integrator: str = "rk4",
    seed: int = 0,
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    angles: Sequence[int] = (),
    *,
    events: Sequence[Impact] = (),
    rtol: float | None = None,
    atol: float | None = None,
) -> System:
    """The law x_dot = N([x, u]), with N a dense network. State "x" (n), inputs "u" (inputs).

    hidden: widths of its hidden layers; activation: one of `cycloid.networks.activations`; dt: time
    step [s]; integrator: one of `cycloid.systems.integrators`, but not "semi_implicit" or "verlet";
    seed: of the first weights; angles: numbers of the state that are angles [rad], which the
    network sees through sine and cosine. events: `Impact`s, four at most. rtol, atol: of "dopri5"
    and "sdirk4". Parameters "neural_ode.weight0" (out, in), "neural_ode.bias0", …; observable
    "x_dot".

    >>> import cycloid as cy
    >>> cy.learn.neural_ode(2, inputs=1, hidden=(32,))
    <System neural_ode: 2 states, 1 input, dt 10 ms>
    """
    return _law(
        *("neural_ode", n, inputs, hidden, activation, dt, integrator, seed, dtype, vary),
        *(angles, rtol, atol),
        events=events,
    )


def hamiltonian(
    n: int,
    inputs: int = 0,
    hidden: Sequence[int] = (200, 200),
    activation: str = "tanh",
    dt: float = 0.01,
    integrator: str = "rk4",
    seed: int = 0,
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    angles: Sequence[int] = (),
    *,
    dissipation: bool = False,
    separable: bool = False,
    input_matrix: str = "constant",
    side_hidden: Sequence[int] = (32, 32),
    events: Sequence[Impact] = (),
    rtol: float | None = None,
    atol: float | None = None,
) -> System:
    """Hamilton's equations of a network H. State "q" (n), "p" (n), inputs "u" (inputs).

        q_dot = dH/dp,    p_dot = -dH/dq - D(q) dH/dp + B u

    separable: H = V(q) + T(p), two networks. dissipation: D = E E', E a lower triangle that a
    network of q gives, so that the energy never grows by itself. input_matrix: B is "identity"
    (inputs = n), "constant", numbers "input.matrix" (n, inputs), or a "network" of q. side_hidden:
    hidden layers of the networks for D and B. angles: of q [rad]. The others as in `neural_ode`;
    integrator="implicit_midpoint" is symplectic, and, where separable, "semi_implicit" and "verlet"
    (kicks of p and drifts of q in turn) are.

    Parameters "hamiltonian.weight0" (or "potential.…" and "kinetic.…"), "dissipation.weight0",
    "input.weight0", …; observables "x_dot" and "energy", H.

    >>> import cycloid as cy
    >>> law = cy.learn.hamiltonian(1, hidden=(32, 32), dissipation=True)
    >>> law
    <System hamiltonian: 2 states, 0 inputs, dt 10 ms>
    >>> cy.observe(law, [1.0, 0.5], names=["x_dot", "energy"]).values.shape
    (3,)
    """
    return _law(
        *("hamiltonian", n, inputs, hidden, activation, dt, integrator, seed, dtype, vary),
        *(angles, rtol, atol),
        dissipation=dissipation,
        separable=separable,
        input_matrix=input_matrix,
        side_hidden=side_hidden,
        events=events,
    )


def lagrangian(
    n: int,
    inputs: int = 0,
    hidden: Sequence[int] = (128, 128),
    activation: str = "softplus",
    dt: float = 0.01,
    integrator: str = "rk4",
    seed: int = 0,
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    angles: Sequence[int] = (),
    *,
    dissipation: bool = False,
    input_matrix: str | None = None,
    side_hidden: Sequence[int] = (32, 32),
    events: Sequence[Impact] = (),
    rtol: float | None = None,
    atol: float | None = None,
) -> System:
    """Lagrange's equations of L = |v|²/2 + N(q, v). State "q" (n), "velocity" (n), inputs "u".

        M v_dot = dL/dq - C v - D(q) v + B u,    M = d²L/dv dv,  C = d²L/dv dq

    input_matrix: None: "identity" where inputs = n, else "constant". The others as in
    `hamiltonian`, with every integrator, "semi_implicit" and "verlet" too. Parameters
    "lagrangian.weight0", …; observables "x_dot" and "energy", v · dL/dv - L.

    >>> import cycloid as cy
    >>> cy.learn.lagrangian(2, inputs=2, hidden=(32, 32), angles=(0, 1))
    <System lagrangian: 4 states, 2 inputs, dt 10 ms>
    """
    return _law(
        *("lagrangian", n, inputs, hidden, activation, dt, integrator, seed, dtype, vary),
        *(angles, rtol, atol),
        dissipation=dissipation,
        input_matrix=_matrix(input_matrix, n, inputs),
        side_hidden=side_hidden,
        events=events,
    )


def deep_lagrangian(
    n: int,
    inputs: int | None = None,
    hidden: Sequence[int] = (64, 64),
    activation: str = "softplus",
    dt: float = 0.01,
    integrator: str = "rk4",
    seed: int = 0,
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    angles: Sequence[int] = (),
    *,
    dissipation: bool = False,
    input_matrix: str | None = None,
    side_hidden: Sequence[int] = (32, 32),
    events: Sequence[Impact] = (),
    rtol: float | None = None,
    atol: float | None = None,
) -> System:
    """Lagrange's equations with a mass matrix M(q) by its triangular factor and a potential V(q),
    both networks. State "q" (n), "velocity" (n), inputs "u"; None: n of them.

        M v_dot = d(v' M v / 2)/dq - M_dot v - dV/dq - D(q) v + B u,    M = F F' + 1e-6

    Keywords as in `lagrangian`; dissipation is friction that grows with the velocity. Parameters
    "mass.weight0", "potential.weight0", …; observables "x_dot" and "energy", v' M v / 2 + V.

    >>> import cycloid as cy
    >>> cy.learn.deep_lagrangian(2, hidden=(32, 32), angles=(0, 1), integrator="verlet")
    <System deep_lagrangian: 4 states, 2 inputs, dt 10 ms>
    """
    inputs = n if inputs is None else inputs
    return _law(
        *("deep_lagrangian", n, inputs, hidden, activation, dt, integrator, seed, dtype, vary),
        *(angles, rtol, atol),
        dissipation=dissipation,
        input_matrix=_matrix(input_matrix, n, inputs),
        side_hidden=side_hidden,
        events=events,
    )


def constrained(
    masses: Sequence[float],
    distances: Sequence[tuple[int, int, float]],
    anchors: Sequence[Sequence[float]] = (),
    inputs: int = 0,
    hidden: Sequence[int] = (128, 128),
    activation: str = "softplus",
    dt: float = 0.01,
    integrator: str = "rk4",
    seed: int = 0,
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    *,
    dimension: int = 2,
    stabilisation: float = 0.0,
    dissipation: bool = False,
    input_matrix: str = "constant",
    side_hidden: Sequence[int] = (32, 32),
    rtol: float | None = None,
    atol: float | None = None,
) -> System:
    """Points in Cartesian coordinates with a learned potential V, held at fixed distances. State
    "position" (points × dimension) [m], "velocity" [m/s], point by point; inputs "u".

        m v_dot = -dV/dq - D(q) v + B u + J' λ,    λ such that the distances keep

    masses [kg]: one for each point. distances: (i, j, length [m]) of two points; points are the
    masses, then the anchors, which stand still at `anchors` (…, dimension) [m]. A start should
    keep the distances, and its velocities too: observable "violation" (distances) [m] is what is
    too much. stabilisation α [1/s] pulls such errors back as 1/α does in time. The others as in
    `lagrangian`, with every integrator. Parameters "masses", "lengths", "anchors",
    "potential.weight0", …; observables "x_dot", "energy", m |v|² / 2 + V, and "violation".
    Motion does not tell masses and V from the same times a factor: hold one mass.

    >>> import cycloid as cy
    >>> law = cy.learn.constrained([1.0, 1.0], [(2, 0, 1.0), (0, 1, 1.0)], [(0.0, 0.0)])
    >>> law
    <System constrained: 8 states, 0 inputs, dt 10 ms>
    >>> run = cy.rollout(law, [1.0, 0, 1, -1, 0, 0, 0, 0], 100)
    >>> bool(abs(cy.observe(law, run.states[-1], names=["violation"]).values).max() < 1e-6)
    True
    """
    d = as_integer(dimension, "dimension", 1, 3)
    pairs, lengths = [], []
    for given in distances:
        if len(given) != 3:
            raise Error(f"a distance is (point, point, length); got {given!r}")
        pairs.append([as_integer(i, "a point", 0) for i in given[:2]])
        lengths.append(as_real(given[2], "a length"))
    places = []
    for anchor in anchors:
        if len(anchor) != d:
            raise Error(f"an anchor has {d} coordinates; got {anchor!r}")
        places += [as_real(number, "an anchor") for number in anchor]
    weights = [as_real(mass, "a mass") for mass in masses]
    if not weights:
        raise Error("constrained: there must be at least one mass")
    law = _law(
        *("constrained", d * len(weights), inputs, hidden, activation, dt, integrator, seed),
        *(dtype, vary, (), rtol, atol),
        dissipation=dissipation,
        input_matrix=input_matrix,
        side_hidden=side_hidden,
        points={
            "dimension": d,
            "stabilisation": as_real(stabilisation, "stabilisation"),
            "distances": pairs,
            "masses": weights,
            "lengths": lengths,
            "anchors": places,
        },
    )
    law._picture = "points", (d, pairs)
    return law


def _matrix(given: str | None, n: int, inputs: int) -> str:
    if given is None:
        return "identity" if inputs == n else "constant"
    if not isinstance(given, str):
        raise Error(f"input_matrix must be one of {', '.join(_MATRICES)}; got {given!r}")
    return given
