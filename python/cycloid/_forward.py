"""Accelerations, forces and mass matrices of a robot at a state, with their gradients."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers, broadcast, check_memory, check_trailing, from_rows, to_rows
from cycloid._observe import ObservationGradient, as_cotangent, as_given, double_rows, observer_of
from cycloid._options import as_real
from cycloid._results import SolverWarning
from cycloid._robot import Robot, check_robot
from cycloid._rollout import Batch


class Contacts(NamedTuple):
    """Where geoms touch, as in MuJoCo's mjData.contact and in its order; those that are within
    their gap and have no force are listed too. n is the most of any row of the batch; rows with
    fewer are filled up with zeros, and geoms of -1.
    """

    pos: np.ndarray
    """(..., n, 3): in the world [m]."""
    frame: np.ndarray
    """(..., n, 3, 3): by rows the normal, which points from the first geom to the second, and two
    tangents."""
    dist: np.ndarray
    """(..., n): between the surfaces [m]; negative where they penetrate."""
    force: np.ndarray
    """(..., n, 6): force and torque on the second geom's body, in the frame, as mj_contactForce
    [N, N·m]."""
    geoms: np.ndarray
    """(..., n, 2): the geoms' indices."""
    count: np.ndarray
    """(...): how many there are."""

    def __repr__(self) -> str:
        return f"<Contacts: {self.count.tolist()}>"


class Forward:
    """What follows from a state and its inputs, made by `forward`. Leading axes are the batch.

    qacc (..., nv): accelerations [m/s², rad/s²]. mass_matrix (..., nv, nv): M, armature included.
    bias (..., nv): Coriolis, centrifugal and gravity forces [N, N·m]; M qacc + bias = all others,
    those of constraints included. body_pos (..., bodies, 3): in the world [m], body 0 is the world.
    body_quat (..., bodies, 4). site_pos (..., sites, 3) [m]. energy (..., 2): potential and kinetic
    [J]. contacts: as `Contacts` says. sensors: by name, (..., size) of every sensor that is
    supported.
    """

    qacc: np.ndarray
    mass_matrix: np.ndarray
    bias: np.ndarray
    body_pos: np.ndarray
    body_quat: np.ndarray
    site_pos: np.ndarray
    energy: np.ndarray
    contacts: Contacts
    sensors: dict[str, np.ndarray]

    def __init__(self, batch: Batch, core: Any, observer: Any, sensors: np.ndarray) -> None:
        self._batch, self._core = batch, core
        nv, dtype = batch.system.nv, batch.system.dtype
        tails = {
            "qacc": (nv,),
            "mass_matrix": (nv, nv),
            "bias": (nv,),
            "body_pos": (core.bodies, 3),
            "body_quat": (core.bodies, 4),
            "site_pos": (core.sites, 3),
            "energy": (2,),
        }
        for name, tail in tails.items():
            array = getattr(core, name)().reshape((*batch.lead, *tail))
            setattr(self, name, array.astype(dtype, copy=False))
        self.contacts = _contacts(core.contacts(), batch)
        values = sensors.reshape((*batch.lead, observer.size)).astype(dtype, copy=False)
        self.sensors = {name: values[..., at : at + n] for name, at, n, _ in observer.parts}

    def pullback(
        self, qacc: Any = None, mass_matrix: Any = None, bias: Any = None
    ) -> ObservationGradient:
        """The gradient of a loss, given its derivatives with respect to `qacc`, `mass_matrix` and
        `bias` (each shaped like it, or broadcast to it; None for zero). `observe` has gradients of
        poses, energy and sensors; `contacts` are values without a gradient here, a contact sensor
        has it. May be called again; the arrays are fresh.

        Each entry of `mass_matrix` counts by itself: M is symmetric, and the two places of an entry
        add up. Entries that are zero for every state have no gradient.

        >>> import cycloid as cy
        >>> robot = cy.load('''<mujoco> <option gravity="0 0 -10"/> <worldbody> <body>
        ...     <joint name="hinge" axis="0 1 0"/>
        ...     <inertial pos="0 0 -1" mass="3" diaginertia="1 1 1"/> </body> </worldbody>
        ...     </mujoco>''')
        >>> f = cy.forward(robot, [0.0, 0.0])              # 4 q'' = -30 sin q
        >>> f.pullback(qacc=[1.0]).x.round(12)
        array([-7.5,  0. ])
        """
        bars = {"qacc": qacc, "mass_matrix": mass_matrix, "bias": bias}
        given = {
            name: None if bar is None else as_cotangent(bar, getattr(self, name).shape, name)
            for name, bar in bars.items()
        }
        return as_given(self._batch, self._core.pullback(**given))

    def __repr__(self) -> str:
        return f"<Forward: {_size(self._batch)}>"


class InverseDynamicsGradient(NamedTuple):
    """The gradient of a loss of joint forces: each part is shaped like what was given, summed over
    axes that were broadcast.
    """

    x: np.ndarray
    """In the coordinates of the state."""
    x_tangent: np.ndarray
    """In tangent coordinates (..., tangent_size)."""
    qacc: np.ndarray
    """Like qacc."""
    controls: np.ndarray
    """Like u; (input_size,) where there was none."""
    params: Any
    """A dict for a dict; the flat vector (n,) where no params were given."""

    def __repr__(self) -> str:
        return f"<InverseDynamicsGradient: x {self.x.shape}, qacc {self.qacc.shape}>"


class InverseDynamics:
    """The forces that an acceleration takes, made by `inverse_dynamics`.

    tau: (..., nv) [N, N·m], read-only.
    """

    tau: np.ndarray

    def __init__(self, batch: Batch, qacc_shape: tuple[int, ...], core: Any) -> None:
        self._batch, self._qacc_shape, self._core = batch, qacc_shape, core
        tau = core.tau().reshape((*batch.lead, batch.system.nv))
        self.tau = tau.astype(batch.system.dtype, copy=False)
        self.tau.flags.writeable = False

    def pullback(self, tau_bar: Any) -> InverseDynamicsGradient:
        """The gradient of a loss, given its derivative with respect to `tau` (shaped like it, or
        broadcast to it). May be called again; the arrays are fresh.

        >>> import cycloid as cy
        >>> robot = cy.load('''<mujoco> <option gravity="0 0 -10"/> <worldbody> <body name="bob">
        ...     <joint name="hinge" axis="0 1 0"/>
        ...     <inertial pos="0 0 -1" mass="3" diaginertia="1 1 1"/> </body> </worldbody>
        ...     </mujoco>''')
        >>> found = cy.inverse_dynamics(robot, [0.0, 0.0], [2.0], {"body:bob.mass": 3.0})
        >>> g = found.pullback([1.0])                      # tau = (1 + m) q'' + 10 m sin q
        >>> g.x.round(12), g.qacc, g.params
        (array([30.,  0.]), array([4.]), {'body:bob.mass': array(2.)})
        """
        batch, dtype = self._batch, self._batch.system.dtype
        rows = self._core.pullback(as_cotangent(tau_bar, self.tau.shape, "tau"))
        g = as_given(batch, rows)
        qacc = from_rows(rows["qacc"].astype(dtype), self._qacc_shape, batch.lead, 1)
        return InverseDynamicsGradient(g.x, g.x_tangent, qacc, g.controls, g.params)

    def __repr__(self) -> str:
        return f"<InverseDynamics: {_size(self._batch)}>"


def _contacts(rows: dict[str, np.ndarray], batch: Batch) -> Contacts:
    n = int(rows["count"].max(initial=0))

    def shaped(name: str, *tail: int) -> np.ndarray:
        array = rows[name].reshape((*batch.lead, n, *tail))
        whole = array.dtype == np.int64
        return array if whole else array.astype(batch.system.dtype, copy=False)

    return Contacts(
        shaped("pos", 3),
        shaped("frame", 3, 3),
        shaped("dist"),
        shaped("force", 6),
        shaped("geoms", 2),
        rows["count"].reshape(batch.lead),
    )


def _size(batch: Batch) -> str:
    n = batch.system.nv
    lead = f", batch {batch.lead}" if batch.lead else ""
    return f"{n} degree{'s' * (n != 1)} of freedom{lead}"


def forward(
    system: Robot, x: Any, u: Any = None, params: Any = None, *, t: float = 0.0
) -> Forward:
    """What MuJoCo has after mj_forward: accelerations, mass matrix, bias, poses, energy, contacts,
    sensors. Arguments as in `observe`. Computed in double precision. Warns with SolverWarning as
    `step` does.

    >>> import cycloid as cy
    >>> robot = cy.load('''<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
    ...     <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.001" mass="3"/> </body> </worldbody>
    ...     </mujoco>''')
    >>> f = cy.forward(robot, [0.5, 0.0])
    >>> f.mass_matrix.round(3), f.energy.round(3)       # m l²/3; -m g l/2 cos(0.5)
    (array([[1.001]]), array([-12.914,   0.   ]))
    >>> (f.mass_matrix @ f.qacc + f.bias).round(12)
    array([0.])
    """
    check_robot(system)
    observer = observer_of(system, None)
    batch, rows = double_rows(system, x, u, params)
    check_memory(8 * math.prod(batch.lead) * system.nv**2, "the mass matrices")
    t = as_real(t, "t")
    core = _core.forward(system._core, *rows, t)
    if core.warning:
        warnings.warn(core.warning, SolverWarning, stacklevel=2)
    sensors = _core.observe(observer, *rows, t, system._threads).values()
    return Forward(batch, core, observer, sensors)


def inverse_dynamics(
    system: Robot, x: Any, qacc: Any, params: Any = None, *, u: Any = None
) -> InverseDynamics:
    """The forces tau (..., nv) on the degrees of freedom [N, N·m] that give the robot at the state
    x (..., state_size) the acceleration qacc (..., nv) [m/s², rad/s²]; with a pullback.

    tau = M qacc + bias, M and bias as in `forward`: what all other forces together must be. It is
    MuJoCo's qfrc_inverse of mj_inverse, without constraints, plus qfrc_passive: springs, dampers,
    the medium and gravity compensation are not subtracted, and neither are actuators and applied
    forces. Coordinates are those of qvel: the first three of a free joint are in world axes, its
    last three and a ball's in the body's.

    params: as in `rollout`. u (..., input_size): only the poses of mocap bodies in it count; None
    for zero. Leading axes broadcast. Computed in double precision.

    >>> import cycloid as cy
    >>> robot = cy.load('''<mujoco> <option gravity="0 0 -10"/> <worldbody> <body>
    ...     <joint name="hinge" axis="0 1 0"/>
    ...     <inertial pos="0 0 -1" mass="3" diaginertia="1 1 1"/> </body> </worldbody>
    ...     </mujoco>''')
    >>> cy.inverse_dynamics(robot, [0.0, 0.0], [[0.0], [2.0]]).tau    # (1 + 3) q'' at the bottom
    array([[0.],
           [8.]])
    """
    check_robot(system)
    x = as_numbers(x, system.dtype, "x0")
    check_trailing(x, (system.state_size,), "x0", system._meaning)
    qacc = as_numbers(qacc, system.dtype, "qacc")
    check_trailing(qacc, (system.nv,), "qacc", "one acceleration per degree of freedom")
    lead = broadcast({"x0": x.shape[:-1], "qacc": qacc.shape[:-1]})
    check_memory(8 * math.prod(lead) * (system.state_size + 2 * system.nv), "the forces")
    every = np.ascontiguousarray(np.broadcast_to(x, (*lead, system.state_size)))
    batch, rows = double_rows(system, every, u, params)
    batch.x0_shape = x.shape
    wanted = to_rows(np.broadcast_to(qacc, (*batch.lead, system.nv)), batch.lead, 1, "qacc")
    core = _core.inverse_dynamics(system._core, *rows, np.ascontiguousarray(wanted, np.float64))
    return InverseDynamics(batch, qacc.shape, core)
