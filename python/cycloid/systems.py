"""Closed-form laws of motion, each a System.

Every law takes the keywords of `make`: dt, integrator, dtype, vary, rtol, atol, device. Its other
arguments are its parameters, with their defaults; the time step is a parameter too. All are SI.

"dopri5" and, for stiff laws, "sdirk4" divide each step of length dt into substeps as rtol and atol
ask, for each environment on its own; dt is then how long an input is held and how often a state may
be saved, and may be the whole run.

bouncing_ball, bead_on_curve, stick_slip and rimless_wheel have events: impacts, arrivals, changes
of mode. `traj.events` has them, with their times. A start beyond the surface at which one happens
is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error, ParameterError
from cycloid._device import on_device
from cycloid._options import as_integer, as_names, as_precision, as_real, as_text, shown
from cycloid._system import System

__all__ = [
    "bead_on_curve",
    "bouncing_ball",
    "double_pendulum",
    "heat",
    "kepler",
    "lorenz",
    "make",
    "pendulum",
    "projectile",
    "rimless_wheel",
    "spring_chain",
    "stick_slip",
]

names: tuple[str, ...] = tuple(_core.law_names)
"""The laws that `make` knows."""
integrators: tuple[str, ...] = tuple(_core.integrator_names)
"""The integrators; "semi_implicit" and "verlet" need a law of second order."""
adaptive_integrators: tuple[str, ...] = tuple(_core.adaptive_integrator_names)
"""Those that take rtol and atol."""

_MOST_MASSES = 1_000_000


def make(
    law: str,
    values: Mapping[str, Any] | None = None,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
    n: int = 3,
) -> System:
    """A law by name, with parameters by name; n masses for "spring_chain".

    dt: time step [s]. integrator: one of `integrators`. dtype: "float64" or "float32". vary: names
    of parameters that may differ between environments. rtol, and atol in the units of the state:
    tolerances of "dopri5" and "sdirk4"; None: 1e-9 and 1e-11 in float64, 1e-5 and 1e-7 in float32.
    device: "cpu", or "cuda" for a card, which runs rk4 and laws without events.

    >>> make("lorenz", {"rho": 24.0})
    <System lorenz: 3 states, 0 inputs, dt 10 ms>
    >>> make("lorentz")
    Traceback (most recent call last):
    cycloid.ModelError: no law is called "lorentz"; did you mean "lorenz"?
    """
    if not isinstance(values, (Mapping, type(None))):
        raise TypeError(f"expected a mapping of names to values; got {type(values).__name__}")
    for value, what in ((law, "law"), (integrator, "integrator")):
        if not isinstance(value, str):
            raise TypeError(f"{what} must be a name; got {shown(value)}")
    given = {
        as_text(name): _row(value, f"parameter {name!r}") for name, value in (values or {}).items()
    }
    recipe = (
        as_text(law),
        given,
        as_real(dt, "dt"),
        as_text(integrator),
        as_precision(dtype),
        [as_text(name) for name in as_names(vary, "vary")],
        as_integer(n, "n", 1, _MOST_MASSES),
        _tolerance(rtol, "rtol"),
        _tolerance(atol, "atol"),
    )
    system = System(on_device(_core.make_law(*recipe), device))
    system._recipe = recipe
    return system


def _tolerance(value: float | None, what: str) -> float:
    if value is None:
        return 0.0
    number = as_real(value, what)
    if not number > 0:
        raise ParameterError(f"{what} must be positive, or None for the default; got {number}")
    return number


def _row(value: Any, what: str) -> list[float]:
    row = np.atleast_1d(as_numbers(value, np.float64, what))
    if row.ndim > 1:
        raise Error(f"{what} must be one number or a row of them; got an array of {row.shape}")
    return row.tolist()


def pendulum(
    length: float = 1,
    mass: float = 1,
    damping: float = 0,
    gravity: float = 9.81,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
) -> System:
    """A point mass [kg] on a rod [m]. State [angle from hanging [rad], angular velocity [rad/s]],
    input [torque [N·m]]; damping [N·m·s/rad], gravity [m/s²]. Keywords as for `make`.

    >>> pendulum(length=2.0, dt=0.005)
    <System pendulum: 2 states, 1 input, dt 5 ms>
    """
    values = {"length": length, "mass": mass, "damping": damping, "gravity": gravity}
    return make(
        "pendulum",
        values,
        dt=dt,
        integrator=integrator,
        dtype=dtype,
        vary=vary,
        rtol=rtol,
        atol=atol,
        device=device,
    )


def double_pendulum(
    lengths: Sequence[float] = (1, 1),
    masses: Sequence[float] = (1, 1),
    damping: Sequence[float] = (0, 0),
    gravity: float = 9.81,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
) -> System:
    """Two point masses [kg] on rods [m]. State [θ1, θ2 [rad], ω1, ω2 [rad/s]], absolute angles from
    hanging; inputs: the torques in the two joints [N·m], where the dampings [N·m·s/rad] act too;
    gravity [m/s²]. Keywords as for `make`.

    >>> double_pendulum().state_slices
    {'angles': slice(0, 2, None), 'angular_velocities': slice(2, 4, None)}
    """
    values = {"lengths": lengths, "masses": masses, "damping": damping, "gravity": gravity}
    return make(
        "double_pendulum",
        values,
        dt=dt,
        integrator=integrator,
        dtype=dtype,
        vary=vary,
        rtol=rtol,
        atol=atol,
        device=device,
    )


def projectile(
    mass: float = 1,
    drag: float = 0,
    wind: Sequence[float] = (0, 0, 0),
    gravity: float = 9.81,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
) -> System:
    """A projectile [kg] in wind [m/s]. State [position (3) [m], velocity (3) [m/s]], z up; no
    inputs. Drag force -drag·|v - wind|·(v - wind), drag [kg/m]; gravity [m/s²]. Keywords as
    for `make`.

    >>> projectile(drag=0.1, wind=(1, 0, 0)).parameters["wind"]
    array([1., 0., 0.])
    """
    values = {"mass": mass, "drag": drag, "wind": wind, "gravity": gravity}
    return make(
        "projectile",
        values,
        dt=dt,
        integrator=integrator,
        dtype=dtype,
        vary=vary,
        rtol=rtol,
        atol=atol,
        device=device,
    )


def spring_chain(
    n: int,
    mass: float = 1,
    stiffness: float = 1,
    damping: float = 0,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
) -> System:
    """n equal masses [kg] in a row, joined by n + 1 springs [N/m] between two walls. State
    [displacements (n) [m], velocities (n) [m/s]], inputs n forces [N]; damping [N·s/m]. Keywords
    as for `make`.

    >>> spring_chain(5).state_size
    10
    """
    values = {"mass": mass, "stiffness": stiffness, "damping": damping}
    return make(
        "spring_chain",
        values,
        dt=dt,
        integrator=integrator,
        dtype=dtype,
        vary=vary,
        rtol=rtol,
        atol=atol,
        device=device,
        n=n,
    )


def kepler(
    mu: float = 1,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
) -> System:
    """A body about a fixed centre in the plane. State [x, y [m], vx, vy [m/s]], no inputs;
    mu [m³/s²]. Keywords as for `make`.

    >>> kepler(integrator="verlet").input_size
    0
    """
    return make(
        "kepler",
        {"mu": mu},
        dt=dt,
        integrator=integrator,
        dtype=dtype,
        vary=vary,
        rtol=rtol,
        atol=atol,
        device=device,
    )


def lorenz(
    sigma: float = 10,
    rho: float = 28,
    beta: float = 8 / 3,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
) -> System:
    """Lorenz's chaotic system. State [x, y, z], no inputs; sigma and beta [1/s], rho without unit.
    Keywords as for `make`.

    >>> lorenz().parameters.names
    ('sigma', 'rho', 'beta', 'option.timestep')
    """
    values = {"sigma": sigma, "rho": rho, "beta": beta}
    return make(
        "lorenz",
        values,
        dt=dt,
        integrator=integrator,
        dtype=dtype,
        vary=vary,
        rtol=rtol,
        atol=atol,
        device=device,
    )


def bouncing_ball(
    restitution: float = 0.8,
    gravity: float = 9.81,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
) -> System:
    """A ball that falls on a floor. State [height above it [m], velocity [m/s]], no inputs;
    restitution, 0 to 1, without unit; gravity [m/s²]. Event "impact": at height 0, falling, the
    velocity v becomes -restitution·v. From rest at height y the bounces of a ball with restitution
    e < 1 pile up at √(2 y/g)·(1 + e)/(1 - e); a run that reaches that time stops there
    (`report.failed`). A start below the floor is refused. Keywords as for `make`.

    >>> import cycloid as cy
    >>> run = cy.rollout(bouncing_ball(), [1.0, 0.0], 100)
    >>> run.events.time.round(6)       # √(2 / 9.81)
    array([0.451524])
    >>> g = run.pullback(0, event_times_bar=1.0)
    >>> g.x0.round(6)                  # of the time of impact: 1/√(2·9.81), 1/9.81
    array([0.225762, 0.101937])
    """
    values = {"restitution": restitution, "gravity": gravity}
    return make(
        "bouncing_ball",
        values,
        dt=dt,
        integrator=integrator,
        dtype=dtype,
        vary=vary,
        rtol=rtol,
        atol=atol,
        device=device,
    )


def bead_on_curve(
    heights: Sequence[float] | None = None,
    width: float = 2,
    gravity: float = 9.81,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
) -> System:
    """A bead that slides from rest down a curve without friction. The curve is the cubic spline
    through n heights [m] (3 to 64; None: a straight slide, 1 m down, of 22) at the stations
    x = width·s² [m], s = 0, 1/(n-1), …, 1, which lie densely at its beginning. State [s], the
    progress along it, 0 to 1 without unit; no inputs; gravity [m/s²]. Event "arrival", at s = 1,
    ends the run: its time is the time of travel. Where the curve is above its beginning the bead
    stands still, and no arrival comes. Keywords as for `make`.

    >>> import cycloid as cy
    >>> run = cy.rollout(bead_on_curve(), [0.0], 200)      # straight: √(2·(2² + 1²)/9.81)
    >>> run.events.time.round(4)
    array([1.0096])
    >>> g = run.pullback(0, event_times_bar=1.0)
    >>> g.params[1:4].round(2)                             # by the heights after the first [s/m]
    array([18.96, -0.48,  1.64])
    """
    values = {"width": width, "gravity": gravity}
    if heights is not None:
        values["heights"] = heights
    return make(
        "bead_on_curve",
        values,
        dt=dt,
        integrator=integrator,
        dtype=dtype,
        vary=vary,
        rtol=rtol,
        atol=atol,
        device=device,
    )


def stick_slip(
    mass: float = 1,
    stiffness: float = 1,
    damping: float = 0,
    belt: float = 0.21,
    normal_force: float = 1,
    static_friction: float = 0.6,
    kinetic_friction: float = 0.4,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
) -> System:
    """A block [kg] on a moving belt [m/s], held by a spring [N/m] and a damper [N·s/m], pressed on
    the belt by normal_force [N] with dry friction. State [stretch of the spring [m], velocity
    [m/s], mode]: mode 0 sticks to the belt, ±1 slips, with the sign of the velocity against the
    belt; only the events "stick" and "slip" change it. A start whose mode is not that of its
    velocity and pull is refused, and so is static_friction below kinetic_friction (both without
    unit). No inputs. Keywords as for `make`.

    >>> import cycloid as cy
    >>> block = stick_slip()
    >>> run = cy.rollout(block, block.initial_state(), 1000)
    >>> run.events.name
    ('slip', 'stick', 'slip')
    >>> float(run.events.time[0].round(6))     # static_friction·normal_force/(stiffness·belt)
    2.857143
    """
    values = {
        "mass": mass,
        "stiffness": stiffness,
        "damping": damping,
        "belt": belt,
        "normal_force": normal_force,
        "static_friction": static_friction,
        "kinetic_friction": kinetic_friction,
    }
    return make(
        "stick_slip",
        values,
        dt=dt,
        integrator=integrator,
        dtype=dtype,
        vary=vary,
        rtol=rtol,
        atol=atol,
        device=device,
    )


def rimless_wheel(
    length: float = 1,
    half_angle: float = 0.4,
    slope: float = 0.1,
    gravity: float = 9.81,
    *,
    dt: float = 0.01,
    integrator: str = "rk4",
    dtype: Any = "float64",
    vary: Sequence[str] = (),
    rtol: float | None = None,
    atol: float | None = None,
    device: str = "cpu",
) -> System:
    """A wheel of spokes [m] without a rim, 2·half_angle [rad] apart, that rolls down a slope [rad].
    State [angle of the spoke on the ground from the vertical, downhill positive [rad], angular
    velocity [rad/s]], no inputs; gravity [m/s²]. Events: "step", onto the next spoke, and "back";
    both multiply the velocity by cos(2·half_angle), and half_angle must be below π/4. The angle
    stays between slope - half_angle and slope + half_angle; a start beyond is refused. Keywords as
    for `make`.

    >>> import cycloid as cy
    >>> run = cy.rollout(rimless_wheel(), [0.0, 1.0], 200)
    >>> run.events
    <3 events: 3 step>
    """
    values = {"length": length, "half_angle": half_angle, "slope": slope, "gravity": gravity}
    return make(
        "rimless_wheel",
        values,
        dt=dt,
        integrator=integrator,
        dtype=dtype,
        vary=vary,
        rtol=rtol,
        atol=atol,
        device=device,
    )


def heat(
    shape: Any, conductivity: Any, dt: float, slope: float = 0, *, device: str = "cpu"
) -> System:
    """Heat in an insulated box of cells, a large world: one implicit Euler step of length dt [s] is
    one solve with a sparse factor, and so is its pullback.

    shape: one to three numbers of cells, each one metre wide; the state is their temperatures [K],
    in C order, zeros at first. conductivity: one number, or an array of the box's shape [1/s]; a
    cell conducts k (1 + slope T) with T at the step's start, a face the harmonic mean of its cells.
    With a slope [1/K] the matrix changes, and is factored, in every step.

    The conductivity is a parameter, one number per cell (cells,), and may differ between
    environments. A lone box uses all threads; no number depends on how many. device: "cpu", or
    "cuda" for a card, which solves by conjugate gradients to 1e-10.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> box = cy.systems.heat((8, 8), 2.0, dt=0.1)
    >>> box
    <System heat: 64 states, 0 inputs, dt 100 ms>
    >>> x0 = np.zeros((8, 8))
    >>> x0[0, 0] = 64.0
    >>> run = cy.rollout(box, x0.ravel(), 5000, save="last")
    >>> bool(np.allclose(run.states, 1.0))             # it has spread evenly, and none is lost
    True
    """
    cells = shape if isinstance(shape, Sequence) else (shape,)
    sizes = [as_integer(n, "heat: a side of the box", 1, 2**26) for n in cells]
    values = as_numbers(conductivity, np.float64, "conductivity")
    if values.ndim and values.shape not in ((math.prod(sizes),), tuple(sizes)):
        raise ParameterError(
            f"conductivity must be one number, or have the box's shape {tuple(sizes)}; "
            f"got {values.shape}"
        )
    core = _core.make_heat(
        sizes, np.ascontiguousarray(values).ravel(), as_real(dt, "dt"), as_real(slope, "slope")
    )
    box = System(on_device(core, device))
    box._picture = "grid", sizes
    return box
