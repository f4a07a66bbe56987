"""An iteration of iLQR: ours, and the same on MuJoCo's derivatives by finite differences.

    python bench/race_plan.py [MODEL ...]

prints one JSON object: {"humanoid": {figure: number}, ...}, milliseconds of processor time per
iteration, on one thread each: linearisation of all steps, backward pass, line search. The peer
takes A and B from mjd_transitionFD (one-sided differences, the cheaper kind), makes the same
backward pass in NumPy, and tries step lengths 1, 1/2, ... with feedback until one is better; ours
tries all eight. Both start from the same trajectory, with the same cost, and lower it: "cost" are
the costs after so many iterations, relative to the start.

Where crocoddyl is installed, an arm of seven joints without contact is raced against its
SolverFDDP, dynamics by Pinocchio, per iteration.
"""

import json
import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the peer's: more would wait for each other

import mujoco  # noqa: E402
import numpy as np  # noqa: E402

import cycloid as cy  # noqa: E402

HORIZON, ITERATIONS, ROUNDS = 50, 3, 3
MODELS = {
    "humanoid": "dm_control/suite/humanoid.xml",
    "humanoid_CMU": "dm_control/suite/humanoid_CMU.xml",
    "half_cheetah": "gymnasium/envs/mujoco/assets/half_cheetah.xml",
}


def path_of(name):
    for folder in (Path(sys.prefix, "models"), *map(Path, sys.path)):
        if (folder / name).exists():
            return str(folder / name)
    raise SystemExit(f"bench: {name} is not installed (make setup TIER=bench)")


class Peer:
    """iLQR on mjd_transitionFD: weight · |x ⊖ x*|² on all states, effort · |u|²."""

    def __init__(self, model, x0, target, weight, effort):
        self.m, self.d = model, mujoco.MjData(model)
        self.x0, self.target, self.weight, self.effort = x0, target, weight, effort
        self.nx, self.nu = 2 * model.nv + model.na, model.nu

    def difference(self, a, b):
        m, d = self.m, np.empty(self.nx)
        mujoco.mj_differentiatePos(m, d[: m.nv], 1.0, b[: m.nq], a[: m.nq])
        d[m.nv :] = a[m.nq :] - b[m.nq :]
        return d

    def put(self, x):
        m, d = self.m, self.d
        d.qpos[:], d.qvel[:], d.act[:] = np.split(x, [m.nq, m.nq + m.nv])

    def step(self, x, u):
        self.put(x)
        self.d.ctrl[:] = u
        mujoco.mj_step(self.m, self.d)
        return np.concatenate([self.d.qpos, self.d.qvel, self.d.act])

    def cost(self, xs, us):
        ds = [self.difference(x, self.target) for x in xs]
        return self.weight * np.sum(np.square(ds)) + self.effort * np.sum(np.square(us))

    def roll_out(self, us, xs=None, k=None, K=None, a=0.0):
        """Open loop, or around xs with a share a of k."""
        states, used = [self.x0], []
        for t, u in enumerate(us):
            if K is not None:
                u = u + a * k[t] + K[t] @ self.difference(states[-1], xs[t])
            used.append(u)
            states.append(self.step(states[-1], u))
        return states, used

    def linearise(self, xs, us):
        A, B = [], []
        for x, u in zip(xs, us):
            self.put(x)
            self.d.ctrl[:] = u
            self.d.qacc_warmstart[:] = 0
            a, b = np.zeros((self.nx, self.nx)), np.zeros((self.nx, self.nu))
            mujoco.mjd_transitionFD(self.m, self.d, 1e-6, False, a, b, None, None)
            A.append(a)
            B.append(b)
        return A, B

    def backward(self, xs, us, A, B, mu):
        V = 2 * self.weight * np.eye(self.nx)
        v = 2 * self.weight * self.difference(xs[-1], self.target)
        k, K = [None] * len(us), [None] * len(us)
        for t in reversed(range(len(us))):
            VA, VB = V @ A[t], V @ B[t]
            Qx = 2 * self.weight * self.difference(xs[t], self.target) + A[t].T @ v
            Qu = 2 * self.effort * us[t] + B[t].T @ v
            Qxx = 2 * self.weight * np.eye(self.nx) + A[t].T @ VA
            Qux, Quu = B[t].T @ VA, 2 * self.effort * np.eye(self.nu) + B[t].T @ VB
            both = np.linalg.solve(Quu + mu * np.eye(self.nu), np.c_[Qu, Qux])
            k[t], K[t] = -both[:, 0], -both[:, 1:]
            v = Qx + K[t].T @ (Quu @ k[t] + Qu) + Qux.T @ k[t]
            V = Qxx + K[t].T @ (Quu @ K[t] + Qux) + Qux.T @ K[t]
            V = 0.5 * (V + V.T)
        return k, K

    def plan(self, us, iterations):
        xs, us = self.roll_out(us)
        best, mu, spent = self.cost(xs, us), 1e-6, []
        for _ in range(iterations):
            began = time.process_time()
            k, K = self.backward(xs, us, *self.linearise(xs, us), mu)
            for a in 0.5 ** np.arange(8):
                states, used = self.roll_out(us, xs, k, K, a)
                cost = self.cost(states, used)
                if cost < best:
                    xs, us, best = states, used, cost
                    break
            else:
                mu *= 10
            spent.append(time.process_time() - began)
        return np.mean(spent), best


def race(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mujoco.MjModel.from_xml_path(path_of(MODELS[name]))
        robot = cy.from_mujoco(model)
    model.opt.tolerance = 1e-10
    # Standing on the ground, or settled on it.
    data = mujoco.MjData(model)
    if name.startswith("humanoid"):
        while data.ncon == 0 and data.qpos[2] > 0.2:
            data.qpos[2] -= 0.005
            mujoco.mj_forward(model, data)
    mujoco.mj_step(model, data, 20)
    x0 = np.concatenate([data.qpos, data.qvel, data.act])
    target = np.concatenate([data.qpos, np.zeros(model.nv + model.na)])
    weight, effort = 1.0, 0.1
    us = 0.1 * np.random.default_rng(0).normal(size=(HORIZON, model.nu))
    peer = Peer(model, x0, target, weight, effort)
    cost = cy.cost.Reach("state", target, weight, "all") + cy.cost.Effort(effort)
    keywords = {"start": us, "bounds": None, "threads": 1, "tolerance": 0.0, "progress": False}
    first = float(cost.value(robot, np.array(peer.roll_out(us)[0]), us))
    ours, theirs = [], []
    for _ in range(ROUNDS):  # in turns: the machine's mood is the same for both
        began = time.process_time()
        none = cy.plan(robot, x0, cost, HORIZON, iterations=0, **keywords)
        overhead = time.process_time() - began
        began = time.process_time()
        plan = cy.plan(robot, x0, cost, HORIZON, iterations=ITERATIONS, **keywords)
        ours.append((time.process_time() - began - overhead) / plan.iterations)
        seconds, end = peer.plan(us, ITERATIONS)
        theirs.append(seconds)
    assert none.iterations == 0 and plan.cost < none.cost
    return {
        "ours": 1e3 * min(ours), "mujoco": 1e3 * min(theirs), "x": min(theirs) / min(ours),
        "cost": plan.cost / first, "cost of mujoco": end / first, "contacts": int(data.ncon),
        "states": robot.tangent_size, "inputs": model.nu, "horizon": HORIZON,
    }  # fmt: skip


def arm_text(joints=7):
    """A serial arm as URDF: links of 2 kg and 0.3 m, axes that take turns."""
    inertia = '<inertia ixx=".02" iyy=".02" izz=".01" ixy="0" ixz="0" iyz="0"/>'
    links = '<link name="l0"/>'
    for i in range(1, joints + 1):
        axis = "0 0 1" if i % 2 else "0 1 0"
        links += (
            f'<link name="l{i}"><inertial><origin xyz="0.02 0 0.15"/><mass value="2"/>{inertia}'
            f'</inertial></link><joint name="j{i}" type="revolute"><parent link="l{i - 1}"/>'
            f'<child link="l{i}"/><origin xyz="0 0 {0.3 if i > 1 else 0.1}"/><axis xyz="{axis}"/>'
            '<limit lower="-100" upper="100" effort="1e4" velocity="1e4"/></joint>'
        )
    return f'<robot name="arm">{links}</robot>'


def arm():
    """Seven joints, no contact: ours, and Crocoddyl's solver with the same costs and steps."""
    import crocoddyl
    import pinocchio

    T, effort = 100, 1e-3
    robot = cy.load(arm_text(), inputs=("qfrc_applied",))
    dt, n = robot.timestep, robot.nv
    model = pinocchio.buildModelFromXML(arm_text())
    model.gravity.linear = np.zeros(3)  # with it crocoddyl gave no acceleration
    state = crocoddyl.StateMultibody(model)
    x0, goal = np.r_[np.full(n, 0.3), np.zeros(n)], np.r_[np.full(n, -0.2), np.zeros(n)]

    def node(scale):  # a residual counts half its square, and a step of the integrator dt of it
        terms = crocoddyl.CostModelSum(state)
        for name, residual, weight in (
            ("goal", crocoddyl.ResidualModelState(state, goal), 1.0),
            ("effort", crocoddyl.ResidualModelControl(state), effort),
        ):
            cost = crocoddyl.CostModelResidual(state, residual)
            terms.addCost(name, cost, 2 * weight * scale)
        law = crocoddyl.DifferentialActionModelFreeFwdDynamics(
            state, crocoddyl.ActuationModelFull(state), terms
        )
        return crocoddyl.IntegratedActionModelEuler(law, dt)

    problem = crocoddyl.ShootingProblem(x0, T * [node(1 / dt)], node(1.0))
    problem.nthreads = 1
    us = T * [np.zeros(n)]
    cost = cy.cost.Reach("state", goal, 1.0, "all") + cy.cost.Effort(effort)
    keywords = {"threads": 1, "tolerance": 0.0, "progress": False}
    keywords["params"] = {"option.gravity": np.zeros(3)}
    ours, theirs = [], []
    for _ in range(ROUNDS):
        solver = crocoddyl.SolverFDDP(problem)
        xs = problem.rollout(us)
        began = time.process_time()
        solver.solve(xs, us, ITERATIONS, True)
        theirs.append((time.process_time() - began) / max(solver.iter, 1))
        began = time.process_time()
        cy.plan(robot, x0, cost, T, iterations=0, **keywords)
        overhead = time.process_time() - began
        began = time.process_time()
        plan = cy.plan(robot, x0, cost, T, iterations=ITERATIONS, **keywords)
        ours.append((time.process_time() - began - overhead) / plan.iterations)
    return {
        "ours": 1e3 * min(ours), "crocoddyl": 1e3 * min(theirs),
        "ours / crocoddyl": min(ours) / min(theirs), "cost": plan.cost,
        "cost of crocoddyl": solver.cost, "horizon": T,
    }  # fmt: skip


def main():
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    out = {}
    for name in sys.argv[1:] or MODELS:
        print(f"bench: an iteration of iLQR, {name} ...", file=sys.stderr, flush=True)
        out[name] = race(name)
    try:
        out["arm"] = arm()
    except ImportError as error:
        print(f"bench: no race against Crocoddyl: {error}", file=sys.stderr)
    json.dump(out, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
