"""Derivatives of inverse and forward dynamics and of the mass matrix equal Pinocchio's.

Pinocchio's free joint has its velocity in the body's axes; ours (MuJoCo's) has the linear part in
the world's. With R the body's orientation, v_b = Rᵀ v_w, f_b = Rᵀ f_w and a_b = Rᵀ a_w - ω × v_b,
and a displacement of the body by δ and θ in its own axes is one by R δ and θ in ours. `body_axes`
is this change of coordinates with its derivatives. All other joints are the same on both sides.
"""

from xml.etree import ElementTree

import models
import mujoco
import numpy as np
import pinocchio
import pytest

import cycloid as cy

# Both sides are closed-form recursions; what differs is rounding, multiplied by the condition of
# the mass matrix, which is 1e5 on robots with light fingers.
TOLERANCE = 1e-9

STANDING = [
    "panda_description/panda",
    "ur_description/ur5_robot",
    "kinova_description/kinova",
    "xarm_description/xarm7",
    "baxter_description/baxter",
    "tiago_pro_description/tiago_pro",
    "talos_data/talos_full_v2",
]
FLYING = [
    "go2_description/go2",
    "solo_description/solo12",
    "simple_humanoid_description/simple_humanoid",
    "g1_description/g1_29dof_rev_1_0",
]


def cross_matrix(x):
    return np.cross(x, -np.eye(3))


def error(got, expected):
    assert got.shape == expected.shape
    return np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-3)


class Case:
    """A URDF in both engines, and a random point."""

    def __init__(self, name):
        robot = ElementTree.parse(models.MODELS["urdf/" + name]).getroot()
        for link in robot.iter("link"):
            for shape in [e for e in link if e.tag in ("visual", "collision")]:
                link.remove(shape)
        self.flies = name in FLYING
        base = [pinocchio.JointModelFreeFlyer()] if self.flies else []
        self.pin = pinocchio.buildModelFromXML(ElementTree.tostring(robot, "unicode"), *base)
        self.data = self.pin.createData()
        if self.flies:
            children = {child.get("link") for child in robot.iter("child")}
            root = next(l.get("name") for l in robot.iter("link") if l.get("name") not in children)
            floating = f"""<joint name="root_joint" type="floating"> <parent link="universe"/>
                <child link="{root}"/> </joint>"""
            robot.append(ElementTree.fromstring('<link name="universe"/>'))
            robot.append(ElementTree.fromstring(floating))
        model = mujoco.MjModel.from_xml_string(ElementTree.tostring(robot, "unicode"))
        model.opt.gravity = self.pin.gravity.linear
        model.dof_damping = 0
        self.robot = cy.from_mujoco(model, constraints=False, inputs=("qfrc_applied",))
        self.joints = [
            (model.joint(i).name, model.jnt_qposadr[i], model.jnt_dofadr[i], model.jnt_type[i])
            for i in range(model.njnt)
        ]
        self.nv = model.nv
        # where[k]: Pinocchio's place of our degree of freedom k
        self.where = np.zeros(self.nv, int)
        for joint, _, dof, _ in self.joints:
            own = self.pin.joints[self.pin.getJointId(joint)]
            self.where[dof : dof + own.nv] = np.arange(own.idx_v, own.idx_v + own.nv)
        assert sorted(self.where) == list(range(self.pin.nv)) and self.robot.nv == self.nv
        draw = np.random.default_rng(len(name))
        self.x = self.robot.initial_state()
        self.x[: self.robot.nq] += 0.5 * draw.normal(size=self.robot.nq)
        if self.flies:
            self.x[3:7] /= np.linalg.norm(self.x[3:7])
        self.v, self.a, self.tau = draw.normal(size=(3, self.nv))
        self.x[self.robot.nq :] = self.v

    def q(self):
        """The configuration as Pinocchio has it."""
        q = pinocchio.neutral(self.pin)
        for joint, at, _, kind in self.joints:
            own = self.pin.joints[self.pin.getJointId(joint)]
            part = slice(own.idx_q, own.idx_q + own.nq)
            if kind == mujoco.mjtJoint.mjJNT_FREE:
                position, (w, *xyz) = self.x[at : at + 3], self.x[at + 3 : at + 7]
                q[part] = [*position, *xyz, w]
            elif own.nq == 2:  # a joint without ends
                q[part] = np.cos(self.x[at]), np.sin(self.x[at])
            else:
                q[part] = self.x[at]
        return q

    def rotation(self):
        w, x, y, z = self.x[3:7]
        return pinocchio.Quaternion(w, x, y, z).toRotationMatrix()

    def to_pin(self, ours):
        out = np.zeros_like(ours)
        out[self.where] = ours
        return out

    def from_pin(self, matrix):
        return matrix[np.ix_(self.where, self.where)]

    def tiled(self, v=None):
        """One row per degree of freedom, for a row of the Jacobian each."""
        x = self.x.copy()
        if v is not None:
            x[self.robot.nq :] = v
        return np.tile(x, (self.nv, 1))


def body_axes(case, v, a):
    """v and a of a free base in Pinocchio's coordinates, in our order, and their derivatives with
    respect to our displacement and v: dv/dq, dv/dv, da/dq, da/dv, da/da.
    """
    n = case.nv
    identity, zero = np.eye(n), np.zeros((n, n))
    if not case.flies:
        return v, a, zero, identity, zero, zero, identity
    R, l, t = case.rotation(), slice(0, 3), slice(3, 6)
    v_b, a_b = v.copy(), a.copy()
    v_b[l] = R.T @ v[l]
    a_b[l] = R.T @ a[l] - np.cross(v[t], v_b[l])
    dv_dq, da_dq, da_dv = zero.copy(), zero.copy(), zero.copy()
    dv_dv, da_da = identity.copy(), identity.copy()
    dv_dq[l, t], dv_dv[l, l] = cross_matrix(v_b[l]), R.T
    da_dq[l, t] = cross_matrix(R.T @ a[l]) - cross_matrix(v[t]) @ cross_matrix(v_b[l])
    da_dv[l, l], da_dv[l, t] = -cross_matrix(v[t]) @ R.T, cross_matrix(v_b[l])
    da_da[l, l] = R.T
    return v_b, a_b, dv_dq, dv_dv, da_dq, da_dv, da_da


def turn(case):
    """Our force or displacement of Pinocchio's."""
    T = np.eye(case.nv)
    if case.flies:
        T[:3, :3] = case.rotation()
    return T


def pinocchios_rnea(case, v, a):
    """d tau / d (q, v, a) in our coordinates."""
    v_b, a_b, dv_dq, dv_dv, da_dq, da_dv, da_da = body_axes(case, v, a)
    pinocchio.computeRNEADerivatives(
        case.pin, case.data, case.q(), case.to_pin(v_b), case.to_pin(a_b)
    )
    d = case.data
    dq, dv = case.from_pin(d.dtau_dq), case.from_pin(d.dtau_dv)
    M = np.triu(d.M) + np.triu(d.M, 1).T
    da, T = case.from_pin(M), turn(case)
    by_q = T @ (dq @ T.T + dv @ dv_dq + da @ da_dq)
    if case.flies:  # the force turns with the body
        by_q[:3, 3:6] -= case.rotation() @ cross_matrix(d.tau[case.where][:3])
    return by_q, T @ (dv @ dv_dv + da @ da_dv), T @ da @ da_da


def pinocchios_aba(case, v, tau):
    """a, and d a / d (q, v, tau), in our coordinates."""
    v_b, _, dv_dq, dv_dv, *_ = body_axes(case, v, np.zeros(case.nv))
    T = turn(case)
    f_b = T.T @ tau
    pinocchio.computeABADerivatives(
        case.pin, case.data, case.q(), case.to_pin(v_b), case.to_pin(f_b)
    )
    d = case.data
    a_b = d.ddq[case.where]
    inverse = np.triu(d.Minv) + np.triu(d.Minv, 1).T
    dq, dv, df = (case.from_pin(m) for m in (d.ddq_dq, d.ddq_dv, inverse))
    by_q, by_v, by_tau = dq @ T.T + dv @ dv_dq, dv @ dv_dv, df @ T.T
    if not case.flies:
        return a_b, by_q, by_v, by_tau
    l, t, R = slice(0, 3), slice(3, 6), case.rotation()
    by_q[:, t] += df[:, l] @ cross_matrix(f_b[l])
    felt = a_b.copy()
    felt[l] += np.cross(v[t], v_b[l])  # Rᵀ a_w
    by_q[l] += cross_matrix(v[t]) @ dv_dq[l]
    by_v[l] += cross_matrix(v[t]) @ dv_dv[l]
    by_v[l, t] -= cross_matrix(v_b[l])
    by_q, by_v, by_tau = T @ by_q, T @ by_v, T @ by_tau
    by_q[l, t] -= R @ cross_matrix(felt[l])
    return T @ felt, by_q, by_v, by_tau


@pytest.fixture(scope="module", params=STANDING + FLYING)
def case(request):
    return Case(request.param)


def test_inverse_dynamics_and_its_derivatives(case):
    n = case.nv
    found = cy.inverse_dynamics(case.robot, case.tiled(), np.tile(case.a, (n, 1)))
    by_q, by_v, by_a = pinocchios_rnea(case, case.v, case.a)
    assert error(found.tau[0], turn(case) @ case.data.tau[case.where]) <= TOLERANCE
    g = found.pullback(np.eye(n))
    assert error(g.x_tangent[:, :n], by_q) <= TOLERANCE
    assert error(g.x_tangent[:, n:], by_v) <= TOLERANCE
    assert error(g.qacc, by_a) <= TOLERANCE


def test_forward_dynamics_and_its_derivatives(case):
    n = case.nv
    a, by_q, by_v, by_tau = pinocchios_aba(case, case.v, case.tau)
    f = cy.forward(case.robot, case.tiled(), np.tile(case.tau, (n, 1)))
    assert error(f.qacc[0], a) <= TOLERANCE
    g = f.pullback(qacc=np.eye(n))
    assert error(g.x_tangent[:, :n], by_q) <= TOLERANCE
    assert error(g.x_tangent[:, n:], by_v) <= TOLERANCE
    assert error(g.controls, by_tau) <= TOLERANCE


def test_forward_dynamics_in_linearise(case):
    """Euler's step without damping: v + h a."""
    n, h = case.nv, case.robot.timestep
    _, by_q, by_v, by_tau = pinocchios_aba(case, case.v, case.tau)
    A, B = cy.linearise(case.robot, case.x, case.tau)
    assert error(A[n:, :n] / h, by_q) <= TOLERANCE
    # The identity beside it costs digits: 1e-16/h.
    assert error((A[n:, n:] - np.eye(n)) / h, by_v) <= TOLERANCE
    assert error(B[n:] / h, by_tau) <= TOLERANCE


def test_the_mass_matrix_and_its_derivatives(case):
    """d(M e_k)/dq is that of inverse dynamics at rest, with e_k and without."""
    n = case.nv
    rest = np.zeros(n)
    still = pinocchios_rnea(case, rest, rest)[0]
    f = cy.forward(case.robot, case.tiled(rest))
    for k in range(0, n, max(1, n // 8)):
        by_q, _, M = pinocchios_rnea(case, rest, np.eye(n)[k])
        assert error(f.mass_matrix[0], M) <= TOLERANCE
        bar = np.zeros((n, n, n))
        bar[np.arange(n), np.arange(n), k] = 1  # row i asks for M[i, k]
        g = f.pullback(mass_matrix=bar)
        assert error(g.x_tangent[:, :n], by_q - still) <= TOLERANCE
        assert not g.x_tangent[:, n:].any()
