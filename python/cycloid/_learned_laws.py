"""Laws of motion that are networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cycloid import _core
from cycloid._core import Error
from cycloid._options import as_integer, as_names, as_precision, as_real, as_text, check_one_of
from cycloid._system import System
from cycloid.networks import as_sizes
from cycloid.systems import _tolerance

_KINDS = ("neural_ode", "hamiltonian", "lagrangian", "deep_lagrangian")
_MATRICES = ("identity", "constant", "network")
_MOST = 2**16


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
    rtol: float | None = None,
    atol: float | None = None,
) -> System:
    """The law x_dot = N([x, u]), with N a dense network. State "x" (n), inputs "u" (inputs).

    hidden: widths of its hidden layers; activation: one of `cycloid.networks.activations`; dt: time
    step [s]; integrator: one of `cycloid.systems.integrators`, but not "semi_implicit" or "verlet";
    seed: of the first weights; angles: numbers of the state that are angles [rad], which the
    network sees through sine and cosine. rtol, atol: of "dopri5" and "sdirk4". Parameters
    "neural_ode.weight0" (out, in), "neural_ode.bias0", …; observable "x_dot".

    >>> import cycloid as cy
    >>> cy.learn.neural_ode(2, inputs=1, hidden=(32,))
    <System neural_ode: 2 states, 1 input, dt 10 ms>
    """
    return _law(
        *("neural_ode", n, inputs, hidden, activation, dt, integrator, seed, dtype, vary),
        *(angles, rtol, atol),
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
    )


def _matrix(given: str | None, n: int, inputs: int) -> str:
    if given is None:
        return "identity" if inputs == n else "constant"
    if not isinstance(given, str):
        raise Error(f"input_matrix must be one of {', '.join(_MATRICES)}; got {given!r}")
    return given
