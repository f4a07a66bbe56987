"""What a System shows: blocks of its state, an energy, a robot's sensors and fields of mjData."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from cycloid import _core
from cycloid._arrays import Shape, as_numbers, check_memory, from_rows
from cycloid._core import Error
from cycloid._device_arrays import lies_there
from cycloid._options import as_names, as_real, as_text, as_threads
from cycloid._results import SolverWarning
from cycloid._rollout import Batch, one_step
from cycloid._system import System, check_system


class ObservationGradient(NamedTuple):
    """The gradient of a loss of what follows from a state, such as sensors: each part is shaped
    like what was given, summed over axes that were broadcast.
    """

    x: np.ndarray
    """In the coordinates of the state."""
    x_tangent: np.ndarray
    """In tangent coordinates (..., tangent_size)."""
    controls: np.ndarray
    """Like u; (input_size,) where there was none."""
    params: Any
    """A dict for a dict; the flat vector (n,) where no params were given."""

    def __repr__(self) -> str:
        return (
            f"<ObservationGradient: x {self.x.shape}, controls {self.controls.shape}, "
            f"params {np.shape(self.params) if not isinstance(self.params, dict) else '{...}'}>"
        )


class Layout(NamedTuple):
    """Where the numbers of an observer lie."""

    names: tuple[str, ...]
    slices: dict[str, slice]
    shapes: dict[str, Shape]

    @classmethod
    def of(cls, observer: Any) -> Layout:
        parts = observer.parts
        return cls(
            tuple(observer.names),
            {name: slice(at, at + n) for name, at, n, _ in parts},
            {name: tuple(shape) for name, _, _, shape in parts},
        )

    def take(self, values: np.ndarray, name: str) -> np.ndarray:
        """The numbers of one name, in their shape."""
        if name not in self.slices:
            hint = _core.did_you_mean(as_text(name), list(self.slices)) if self.slices else ""
            raise Error(f'nothing called "{as_text(name)}" is observed{hint}')
        return values[..., self.slices[name]].reshape((*values.shape[:-1], *self.shapes[name]))


class Observation:
    """What a System shows, made by `observe`. It keeps copies of what it was made from.

    values: (..., n), read-only. names: of its n numbers, such as "torso_velocity[2]" or
    "xpos[1][2]"; the name itself where it has one number. slices: where the numbers of each name
    lie in `values`.
    """

    values: np.ndarray
    names: tuple[str, ...]
    slices: dict[str, slice]

    def __init__(self, batch: Batch, layout: Layout, core: Any) -> None:
        self._batch, self._core, self._layout = batch, core, layout
        self.names, self.slices = layout.names, dict(layout.slices)
        values = core.values().reshape((*batch.lead, len(layout.names)))
        self.values = values.astype(batch.system.dtype, copy=False)
        self.values.flags.writeable = False

    def pullback(self, values_bar: Any) -> ObservationGradient:
        """The gradient of a loss, given its derivative with respect to `values` (shaped like them,
        or broadcast to them). May be called again; the arrays are fresh.

        >>> import cycloid as cy
        >>> robot = cy.load('''<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
        ...     <geom size="0.1" pos="0 0 -2"/> <site name="bob" pos="0 0 -2"/> </body> </worldbody>
        ...     <sensor> <velocimeter name="speed" site="bob"/> </sensor> </mujoco>''')
        >>> g = cy.observe(robot, [0.0, 0.0]).pullback([1.0, 0.0, 0.0])
        >>> g.x.round(12)                               # 2 m below the hinge
        array([ 0., -2.])
        """
        bar = as_cotangent(values_bar, self.values.shape, "values")
        return as_given(self._batch, self._core.pullback(bar))

    def __getitem__(self, name: str) -> np.ndarray:
        """The numbers of one name, (..., size), in MuJoCo's shape where it is a field:
        (..., nbody, 3) of "xpos", (..., 3) of "xpos:torso".
        """
        return self._layout.take(self.values, name)

    def __repr__(self) -> str:
        lead = f", batch {self._batch.lead}" if self._batch.lead else ""
        n = len(self.slices)
        return f"<Observation: {n} name{'s' * (n != 1)}, {len(self.names)} numbers{lead}>"


def observe(
    system: System,
    x: Any,
    u: Any = None,
    names: str | Sequence[str] | None = None,
    params: Any = None,
    *,
    t: float = 0.0,
    threads: int | None = None,
) -> Observation:
    """What a System shows at the state x (..., state_size) under the inputs u (..., input_size),
    None for zero; with a pullback.

    names: of what is observed, in this order, as `system.observables` lists them. A block of the
    state is observable in every System. Laws have "energy", kinetic plus potential, where it is
    conserved without damping and input; laws of your own have what they were given (`own_law`).
    None: all of them. params, threads: as in `rollout`. t: the time [s].

    Robots have sensors, "#7" for one without a name, and fields of MuJoCo's mjData, where no sensor
    has the name; None for all sensors that are supported. Fields, of all elements or, as
    "xpos:torso", of one:
      by joint     qpos qvel qacc qfrc_actuator qfrc_constraint
      by tendon    ten_length ten_velocity
      by actuator  act ctrl actuator_force
      by body      xpos xipos xquat subtree_com cinert cvel cfrc_ext, body 0 the world
      by site      site_xpos

    Sensors and fields have MuJoCo's meaning after mj_forward and mj_rnePostConstraint; noise is
    left out; a clock shows t.

    Computed in double precision. Of arrays that lie on the System's device, a DeviceObservation
    there, in the System's precision and without a pullback: blocks of the state, and what follows
    from places, velocities and actuators; accelerations, forces between bodies, contacts, rays,
    distances, cinert, cvel and, with adhesion, qfrc_actuator, actuator velocities and the
    actuators' forces on joints are refused by name: pass NumPy arrays for these. Raises ModelError
    for a name that there is not, and, with the reason, for what is not supported; warns with
    SolverWarning as `step` does where the forces of constraints are among what is shown.

    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum(gravity=10.0)
    >>> pendulum.observables
    ('angle', 'angular_velocity', 'energy')
    >>> seen = cy.observe(pendulum, [0.0, 3.0], names="energy")      # m l² ω²/2 - m g l cos θ
    >>> seen.values, seen.pullback([1.0]).x
    (array([-5.5]), array([0., 3.]))
    >>> robot = cy.load('''<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
    ...     <geom size="0.1" pos="0 0 -2" mass="1"/> <site name="bob" pos="0 0 -2"/> </body>
    ...     </worldbody> <sensor> <jointpos name="angle" joint="hinge"/>
    ...     <framepos name="place" objtype="site" objname="bob"/> </sensor> </mujoco>''')
    >>> seen = cy.observe(robot, [[0.0, 0.0], [1.0, 0.0]])
    >>> seen
    <Observation: 2 names, 4 numbers, batch (2,)>
    >>> seen.names
    ('angle', 'place[0]', 'place[1]', 'place[2]')
    >>> seen["place"].round(3)
    array([[ 0.   ,  0.   , -2.   ],
           [-1.683,  0.   , -1.081]])
    >>> cy.observe(robot, [0.0, 2.0], names=["angle", "cvel:#1"])["cvel:#1"].round(3)
    array([ 0.,  2.,  0., -4.,  0.,  0.])
    >>> cy.observe(robot, [0.0, 0.0], names="angel")
    Traceback (most recent call last):
    cycloid.ModelError: no sensor or field is called "angel"; did you mean "angle"?
    """
    observer, layout = eyes_of(system, names)
    if lies_there(system, x) or lies_there(system, u):
        from cycloid._device_observe import observe_there

        there: Any = observe_there(system, x, u, observer, layout, params, as_real(t, "t"))
        return there
    batch, rows = double_rows(system, x, u, params)
    check_memory(8 * math.prod(batch.lead) * observer.size, "the values")
    core = _core.observe(
        observer, *rows, as_real(t, "t"), as_threads(threads, system._threads)
    )
    if core.warning:
        warnings.warn(core.warning, SolverWarning, stacklevel=2)
    return Observation(batch, layout, core)


def as_cotangent(bar: Any, shape: Shape, what: str) -> np.ndarray:
    """The derivative of a loss with respect to `what`, of this shape or broadcast to it."""
    array = as_numbers(bar, np.float64, f"{what}_bar")
    if array.shape == shape:
        return array
    try:
        return np.ascontiguousarray(np.broadcast_to(array, shape))
    except ValueError:
        raise Error(
            f"{what}_bar must be shaped like {what}, {shape}; got {array.shape}"
        ) from None


def as_given(batch: Batch, g: dict[str, np.ndarray]) -> ObservationGradient:
    """A gradient in rows, each part shaped like what the batch was made from."""
    system = batch.system
    tangent = (*batch.x0_shape[:-1], system.tangent_size)
    u = batch.controls_shape  # with an axis for the one step
    controls = (*u[:-2], system.input_size) if u else (system.input_size,)
    return ObservationGradient(
        from_rows(g["x"].astype(system.dtype), batch.x0_shape, batch.lead, 1),
        from_rows(g["x_tangent"].astype(system.dtype), tangent, batch.lead, 1),
        from_rows(g["controls"].astype(system.dtype), controls, batch.lead, 1),
        batch.params_bar(g["params"]),
    )


def observer_of(system: Any, names: Any) -> Any:
    """The core's observer, made once per choice of names."""
    return eyes_of(system, names)[0]


def eyes_of(system: Any, names: Any) -> tuple[Any, Layout]:
    """The core's observer with its layout, made once per choice of names."""
    check_system(system)
    chosen = None if names is None else tuple(as_text(n) for n in as_names(names, "names"))
    if chosen not in system._observers:
        core = _core.make_observer(system._core, None if chosen is None else list(chosen))
        system._observers[chosen] = core, Layout.of(core)
    return system._observers[chosen]


def double_rows(system: System, x: Any, u: Any, params: Any) -> tuple[Batch, tuple[Any, Any, Any]]:
    """One row per environment, in double; params one for all or one each."""
    batch = one_step(system, x, u, params)
    _, rows, controls, _, parameters = batch.rows
    n = math.prod(batch.lead)

    def each(array: np.ndarray) -> np.ndarray:
        flat = array.reshape((len(array), -1)).astype(np.float64, copy=False)
        return np.repeat(flat, n, axis=0) if len(flat) < n else flat

    if parameters is not None:
        parameters = np.ascontiguousarray(parameters, np.float64)
    return batch, (each(rows), None if controls is None else each(controls), parameters)
