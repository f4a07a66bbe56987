"""States, forces and parameters that nobody measured."""

import cycloid as cy
import numpy as np
import pytest


def test_of_a_linear_system_it_is_the_closed_form_smoother():
    """Rauch, Tung and Striebel's own formulas, with the step's matrix from linearise."""
    system = cy.systems.spring_chain(2, mass=1.2, stiffness=5, damping=0.1, dt=0.05)
    A, _ = cy.linearise(system, np.zeros(4), np.zeros(2))
    rng = np.random.default_rng(0)
    samples, sigma, x0_std = 25, 0.1, 0.7
    process = np.array([0.01, 0.02, 0.3, 0.4])
    values = rng.normal(size=(samples, 2))
    recording = cy.Recording(0.05 * np.arange(samples), values, names="positions", sigma=sigma)
    found = cy.estimate(system, recording, x0=np.zeros(4), x0_std=x0_std, process=process)

    C, Q = np.eye(4)[:2], np.diag(process**2 * 0.05)
    x, P = np.zeros(4), x0_std**2 * np.eye(4)
    filtered = []
    for y in values:
        K = P @ C.T @ np.linalg.inv(C @ P @ C.T + sigma**2 * np.eye(2))
        x, P = x + K @ (y - C @ x), P - K @ C @ P
        filtered.append((x, P))
        x, P = A @ x, A @ P @ A.T + Q
    smooth = [filtered[-1]]
    for x, P in reversed(filtered[:-1]):
        G = P @ A.T @ np.linalg.inv(A @ P @ A.T + Q)
        xs, Ps = smooth[0]
        smooth.insert(0, (x + G @ (xs - A @ x), P + G @ (Ps - A @ P @ A.T - Q) @ G.T))
    np.testing.assert_allclose(found.states, [x for x, _ in smooth], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.covariance, [P for _, P in smooth], rtol=0, atol=1e-8)
    bare = cy.estimate(
        system, recording, x0=np.zeros(4), x0_std=x0_std, process=process, method="filter"
    )
    np.testing.assert_allclose(bare.states, [x for x, _ in filtered], rtol=0, atol=1e-8)


FREE = """<mujoco model="brick"> <option timestep="0.01" gravity="0 0 0"/> <worldbody>
  <body name="brick"> <freejoint/> <geom type="box" size="0.1 0.2 0.3" mass="1"/> </body>
</worldbody> </mujoco>"""


def test_orientations_are_estimated_on_the_manifold_with_errors_as_large_as_said():
    system = cy.load(FREE)
    x0 = np.array([0, 0, 0, 1, 0, 0, 0, 0.1, 0.2, 0.3, 1.0, 2.0, 0.5])
    truth = cy.rollout(system, x0, 100)
    rng = np.random.default_rng(1)
    turns = 0.02 * rng.normal(size=(101, 3))
    q = truth.states[:, 3:7]
    half = np.concatenate([np.ones((101, 1)), turns / 2], axis=1)
    half /= np.linalg.norm(half, axis=1, keepdims=True)
    values = truth.states[:, :7].copy()
    values[:, :3] += 0.02 * rng.normal(size=(101, 3))
    w, v = q[:, :1], q[:, 1:]
    a, b = half[:, :1], half[:, 1:]
    values[:, 3:] = np.concatenate(
        [w * a - np.sum(v * b, axis=1, keepdims=True), w * b + a * v + np.cross(v, b)], axis=1
    )
    values[::2, 3:] *= -1  # either sign is the same orientation
    values[40:50] = np.nan
    recording = cy.Recording(truth.times, values, names="qpos", sigma=0.02)
    found = cy.estimate(system, recording, process=1e-5, x0_std=5.0)
    assert found.converged
    errors = np.array(
        [cy.difference(system, a, b) for a, b in zip(found.states, truth.states)]
    )
    std = np.sqrt(np.diagonal(found.covariance, axis1=1, axis2=2))
    assert np.abs(errors / std).max() < 5 and 0.3 < np.sqrt(np.mean((errors / std) ** 2)) < 2
    assert np.abs(errors).max() < 0.05
    assert 0.7 < found.misfit < 1.3


def test_an_unknown_force_on_a_robot_is_found_from_positions():
    xml = """<mujoco model="arm"> <option timestep="0.01"/> <worldbody>
      <body name="arm"> <joint name="hinge" axis="0 1 0" damping="0.2"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03" mass="1"/> </body> </worldbody>
      <actuator> <motor joint="hinge"/> </actuator> </mujoco>"""
    system = cy.load(xml, inputs=("ctrl", "qfrc_applied"))
    push = np.zeros((300, 2))
    push[:, 0] = 0.5 * np.sin(0.05 * np.arange(300))
    push[120:, 1] = 0.8
    run = cy.rollout(system, [0.3, 0.0], push)
    noise = 5e-4 * np.random.default_rng(0).normal(size=301)
    known = np.append(push * [1, 0], [[0.0, 0.0]], axis=0)
    recording = cy.Recording(
        run.times, run.states[:, 0] + noise, known, names="qpos", sigma=5e-4
    )
    found = cy.estimate(system, recording, forces="qfrc_applied", force_rate=2.0)
    assert found.converged and found.force_names == ("qfrc_applied",)
    assert abs(found.forces[30:90].mean()) < 0.05
    assert abs(found.forces[200:280].mean() - 0.8) < 0.05
    assert found.forces_std[150:250].max() < 0.4
    window = cy.estimate(
        system, recording, forces="qfrc_applied", force_rate=2.0, horizon=20, iterations=8
    )
    assert abs(window.forces[200:280].mean() - 0.8) < 0.1


def test_a_parameter_that_drifts_is_followed_and_ties_hold():
    system = cy.systems.pendulum(dt=0.02, vary=("length",))
    lengths = 1.0 + 0.002 * np.arange(400) / 4
    x, rows = np.array([0.9, 0.0]), []
    for L in lengths:
        rows.append(x)
        x = cy.step(system, x, params={"length": L})
    noise = 2e-3 * np.random.default_rng(0).normal(size=(400, 2))
    recording = cy.Recording(0.02 * np.arange(400), np.array(rows) + noise, sigma=2e-3)
    found = cy.estimate(
        system, recording, params={"length": 0.8}, param_rate=0.05, process=1e-5
    )
    assert found.converged
    errors = found.params["length"] - lengths
    assert np.abs(errors[20:]).max() < 0.05
    assert np.abs(errors / found.params_std["length"])[20:-20].max() < 5


def test_bad_requests_are_refused_with_words():
    system = cy.systems.pendulum()
    recording = cy.Recording([0.0, 0.01, 0.02], np.zeros((3, 2)), sigma=0.1)
    with pytest.raises(cy.Error, match='did you mean "torque"'):
        cy.estimate(system, recording, forces="torqe")
    with pytest.raises(cy.ParameterError, match="length"):
        cy.estimate(system, recording, params=["lenght"])
    with pytest.raises(cy.Error, match="x0 has 3 numbers"):
        cy.estimate(system, recording, x0=[0, 0, 0])
    with pytest.raises(cy.Error, match="has no horizon"):
        cy.estimate(system, recording, method="filter", horizon=3)
    with pytest.raises(cy.Error, match="sigma"):
        cy.estimate(system, cy.Recording([0.0, 0.01, 0.02], np.zeros((3, 2))))
    with pytest.raises(TypeError):
        cy.estimate(system, np.zeros((3, 2)))
    with pytest.raises(cy.Error, match="process"):
        cy.estimate(system, recording, process=-1.0)
    seen = []
    cy.estimate(system, recording, callback=lambda k, cost: seen.append(k))
    assert seen and seen[0] == 1
