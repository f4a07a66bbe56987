"""Recordings and identification, at the Python edge."""

import json
import os
import signal

import numpy as np
import pytest

import cycloid as cy

ARM = """<mujoco><option timestep="0.005" integrator="implicitfast"/><worldbody><body name="a">
  <joint name="j1" axis="0 1 0" damping="0.2"/>
  <geom type="capsule" size="0.04" fromto="0 0 0 0 0 -0.4" mass="1"/>
  <body name="b" pos="0 0 -0.4"><joint name="j2" axis="0 1 0" damping="0.1"/>
  <geom type="capsule" size="0.03" fromto="0 0 0 0 0 -0.3" mass="0.6"/>
  <site name="tip" pos="0 0 -0.3"/></body></body></worldbody>
  <actuator><motor joint="j1"/><motor joint="j2"/></actuator>
  <sensor><framepos name="tip" objtype="site" objname="tip"/>
  <framequat name="turn" objtype="site" objname="tip"/></sensor></mujoco>"""


def recorded(system, x0, steps, noise, *, seed=0, every=1, controls=None, names=None, **more):
    """A run with noise; inputs are held from sample to sample."""
    rng = np.random.default_rng(seed)
    u = None
    if controls is not None:
        u = controls[: steps + 1 : every]
    held = steps if u is None else np.repeat(u[:-1], every, axis=0)
    run = cy.rollout(system, x0, held)
    values = run.states if names is None else cy.observe(system, run.states, names=names).values
    values = values[::every] + noise * rng.normal(size=values[::every].shape)
    return cy.Recording(
        run.times[::every], values, u, names=names, sigma=noise if noise else None, **more
    )


@pytest.fixture(scope="module")
def swing():
    truth = cy.systems.pendulum(length=0.7, damping=0.1)
    return recorded(truth, [1.0, 0.0], 300, 0.01)


def test_a_fit_has_what_the_contract_names(swing):
    fit = cy.identify(cy.systems.pendulum(), swing, {"length": 1.0, "damping": 0.0}, held_out=swing)
    assert fit.converged and fit.weak == ()
    assert set(fit.params) == set(fit.std) == set(fit.interval) == {"length", "damping"}
    assert fit.names == ("length", "damping") and fit.covariance.shape == (2, 2)
    assert np.allclose(np.sqrt(np.diag(fit.covariance)), [fit.std["length"], fit.std["damping"]])
    low, high = fit.interval["length"]
    assert low < 0.7 < high and high - low == pytest.approx(2 * 1.959964 * fit.std["length"])
    assert abs(fit.params["damping"] - 0.1) < 4 * fit.std["damping"]
    assert set(fit.whiteness) == set(fit.rms) == {"angle", "angular_velocity"}
    assert all(p > 1e-3 for p in fit.whiteness.values())
    assert fit.rms["angle"] == pytest.approx(0.01, rel=0.1)
    assert fit.held_out["angle"] == pytest.approx(fit.rms["angle"], rel=1e-6)
    assert fit.x0.shape == (1, 2) and fit.steps > 0 and fit.seconds > 0
    assert "length" in fit.report() and "length" in repr(fit)
    assert isinstance(fit.message, str)


def test_the_covariance_is_the_inverse_of_the_information():
    truth = cy.systems.pendulum(length=0.7, damping=0.1)
    recording = recorded(truth, [1.0, 0.0], 100, 0.01)
    fit = cy.identify(cy.systems.pendulum(), recording, ["length", "damping"])
    names, columns = fit.names, []
    base = np.array([*fit.params.values(), *fit.x0[0]])

    def shown(z):
        run = cy.rollout(truth, z[2:], 100, dict(zip(names, z[:2])))
        return run.states.ravel() / 0.01

    for i in range(4):
        e = np.zeros(4)
        e[i] = 1e-6
        columns.append((shown(base + e) - shown(base - e)) / 2e-6)
    jacobian = np.stack(columns, 1)
    wanted = np.linalg.inv(jacobian.T @ jacobian)[:2, :2]
    assert np.allclose(fit.covariance, wanted, rtol=1e-5)


def test_predictions_are_runs_at_the_times_of_a_recording(swing):
    fit = cy.identify(cy.systems.pendulum(), swing, ["length", "damping"])
    whole = fit.predict(swing)
    assert isinstance(whole, cy.Trajectory) and whole.states.shape == (301, 2)
    assert np.allclose(whole.times, swing.times)
    assert np.sqrt(np.mean((whole.states - swing.values) ** 2)) < 0.012
    ahead = fit.predict(swing, horizon=5)
    assert ahead.states.shape == (296, 6, 2)
    assert np.allclose(ahead.states[:, 0], swing.values[:-5])
    assert np.sqrt(np.mean((ahead.states[:, 5] - swing.values[5:]) ** 2)) < 0.03
    other = cy.Recording([0.0, 0.033, 0.1], [[0.3, 0.0]] * 3, x0=[0.3, 0.0])
    assert fit.predict(other).states[0, 0] == 0.3
    with pytest.raises(cy.Error, match="even"):
        fit.predict(other, horizon=1)


def test_a_robot_with_partial_sensors_and_either_sign_of_a_quaternion():
    robot = cy.load(ARM)
    steps = 600
    t = np.arange(steps + 1)
    u = 0.8 * np.stack([np.sin(0.02 * t), np.cos(0.033 * t)], 1)
    recording = recorded(
        robot, robot.initial_state(), steps, 0.002, every=3, controls=u, names=["tip", "turn"]
    )
    values = recording.values.copy()
    values[::2, 3:] *= -1
    values[5, 1] = np.nan
    recording = cy.Recording(
        recording.times, values, recording.controls, names=["tip", "turn"], sigma=0.002
    )
    params = {"body:a.mass": 1.5, "body:b.mass": 1.0, "joint:j1.damping": 0.05,
              "body:b.com[2]": -0.1}
    fit = cy.identify(robot, recording, params)
    assert fit.converged
    truth = {"body:a.mass": 1.0, "body:b.mass": 0.6, "joint:j1.damping": 0.2,
             "body:b.com[2]": -0.15}
    for name, value in truth.items():
        assert abs(fit.params[name] - value) < 4 * fit.std[name], name
    assert fit.params["joint:j1.damping"].shape == (1,)


def test_a_whole_inertia_stays_that_of_a_real_body():
    robot = cy.load(ARM)
    steps = 400
    t = np.arange(steps + 1)
    u = np.stack([np.sin(0.02 * t), np.cos(0.033 * t)], 1)
    recording = recorded(robot, robot.initial_state(), steps, 0.002, controls=u)
    guess = 1.5 * robot.parameters["body:b.inertia"]
    fit = cy.identify(robot, recording, {"body:b.inertia": guess})
    found = fit.params["body:b.inertia"]
    assert fit.names[1] == "body:b.inertia[1]"
    assert abs(found[1] - robot.parameters["body:b.inertia"][1]) < 4 * fit.std["body:b.inertia"][1]
    xx, yy, zz = found[:3]
    assert xx <= yy + zz and yy <= xx + zz and zz <= xx + yy
    assert np.isinf(fit.std["body:b.inertia"][3]) and any("[3]" in w for w in fit.weak)


def test_tied_parameters_are_equal():
    robot = cy.load(ARM)
    u = np.ones((201, 2)) * 0.3
    recording = recorded(robot, [0.4, -0.3, 0, 0], 200, 0.001, controls=u)
    damping = cy.tie("joint:j1.damping", "joint:j2.damping")
    fit = cy.identify(robot, recording, {damping: 0.15, "body:b.mass": 0.5})
    assert fit.params["joint:j1.damping"] == fit.params["joint:j2.damping"]
    assert len(fit.names) == 2
    stars = cy.identify(robot, recording, [cy.tie("joint:*1.damping", "joint:*2.damping")])
    assert stars.names == ("joint:j1.damping[0]",)
    with pytest.raises(cy.ParameterError, match="no parameter matches"):
        cy.identify(robot, recording, [cy.tie("joint:x*.damping", "joint:j*.damping")])
    with pytest.raises(TypeError):
        cy.tie("one")


def test_what_is_not_determined_is_said_in_words(swing):
    fit = cy.identify(
        cy.systems.pendulum(damping=0.1), swing, ["mass", "length", "damping", "gravity"]
    )
    assert len(fit.weak) == 1 and "are determined" in fit.weak[0]
    assert np.isinf(fit.std["mass"]) and fit.covariance[0, 0] == np.inf
    fit = cy.identify(cy.systems.pendulum(), swing, {"mass": 3.0, "length": 1.0})
    assert fit.params["mass"] == 3.0 and np.isinf(fit.std["mass"]) and "mass" in fit.weak[0]
    # A torque that is known weighs the mass: only mass x length² without gravity.
    free = cy.systems.pendulum(gravity=0.0, mass=1.3, length=0.7)
    u = 0.2 * np.sin(0.05 * np.arange(201))[:, None]
    pushed = recorded(free, [0.0, 0.0], 200, 0.001, controls=u)
    fit = cy.identify(cy.systems.pendulum(gravity=0.0), pushed, ["mass", "length"])
    assert fit.weak == ("only mass × length² is determined",)
    product = fit.params["mass"] * fit.params["length"] ** 2
    assert product == pytest.approx(1.3 * 0.49, rel=0.01)


def test_a_law_in_python_is_fitted_by_its_pullback():
    def step(x, u, p, t, dt):
        return x * (1 - p["rate"] * dt)[:, None]

    def pullback(x, u, p, t, dt, bar):
        return bar * (1 - p["rate"] * dt)[:, None], 0, {"rate": -(bar * x).sum(axis=1) * dt}

    law = cy.own_law(step, pullback, states={"x": 1}, parameters={"rate": 0.5})
    run = cy.rollout(law, [2.0], 100, {"rate": 1.3})
    between = np.sort(np.concatenate([run.times[::10], [0.123, 0.777]]))
    states = cy.rollout(law, [2.0], 100, {"rate": 1.3}, times=between).states
    fit = cy.identify(law, cy.Recording(between, states), ["rate"])
    assert fit.params["rate"] == pytest.approx(1.3, rel=1e-7)


def test_a_large_world_with_a_known_start_is_fitted_by_its_pushforward():
    n, steps, every = 128, 60, 6
    flow = cy.fluid.spectral("burgers", shape=(n,), size=2 * np.pi, dt=0.005, viscosity=0.05)
    x = np.arange(n) * 2 * np.pi / n
    x0 = np.sin(x) + 0.3 * np.cos(2 * x)
    run = cy.rollout(flow, x0, steps, params={"viscosity": 0.08}, save=every)
    noise = 0.01 * np.random.default_rng(0).normal(size=run.states.shape)
    recording = cy.Recording(run.times, run.states + noise, sigma=0.01, x0=x0)
    fit = cy.identify(flow, recording, ["viscosity"], x0="known")
    assert fit.converged and abs(fit.params["viscosity"] - 0.08) < 4 * fit.std["viscosity"]
    # The error bar is that of the information, by differences.
    h = 1e-5
    up, down = (
        cy.rollout(flow, x0, steps, params={"viscosity": 0.08 + s * h}, save=every).states
        for s in (1, -1)
    )
    information = np.sum(((up - down) / (2 * h * 0.01)) ** 2)
    assert fit.std["viscosity"] == pytest.approx(information**-0.5, rel=0.05)


def test_segments_bounds_priors_losses_and_restarts_are_keywords(swing):
    system = cy.systems.pendulum(vary="length")
    shot = cy.identify(system, swing, ["length", "damping"], shooting=0.5)
    whole = cy.identify(system, swing, ["length", "damping"])
    assert shot.converged
    assert shot.params["length"] == pytest.approx(whole.params["length"], rel=1e-5)
    assert shot.std["length"] == pytest.approx(whole.std["length"], rel=1e-3)
    bound = cy.identify(system, swing, ["length"], bounds={"length": (0.75, None)})
    assert bound.params["length"] == 0.75
    with pytest.raises(cy.ParameterError, match="exclude the start"):
        cy.identify(system, swing, {"length": 0.5}, bounds={"length": (0.9, 2.0)})
    prior = cy.identify(system, swing, ["length", "mass"], priors={"mass": (2.0, 0.1)})
    assert prior.params["mass"] == pytest.approx(2.0)
    for loss in ("huber", "cauchy"):
        fit = cy.identify(system, swing, ["length", "damping"], loss=loss)
        assert fit.params["length"] == pytest.approx(0.7, rel=0.01)
    again = [cy.identify(system, swing, ["length"], restarts=2, seed=5) for _ in range(2)]
    assert again[0].params == again[1].params


def test_known_starts_and_rows_of_starts(swing):
    known = cy.identify(cy.systems.pendulum(), swing, ["length"], x0="known")
    assert np.array_equal(known.x0[0], swing.values[0])
    rows = cy.identify(cy.systems.pendulum(), swing, ["length", "damping"], x0=[[1.0, 0.0]])
    assert np.array_equal(rows.x0, [[1.0, 0.0]])
    assert rows.std["length"] < cy.identify(
        cy.systems.pendulum(), swing, ["length", "damping"]
    ).std["length"]
    with pytest.raises(cy.Error, match="shape"):
        cy.identify(cy.systems.pendulum(), swing, ["length"], x0=[[1.0, 0.0, 0.0]])


def test_a_callback_stops_and_a_saved_fit_goes_on(swing, tmp_path):
    seen = []

    def callback(iteration, cost):
        seen.append((iteration, cost))
        return iteration < 2

    system = cy.systems.pendulum()
    part = cy.identify(system, swing, ["length", "damping"], callback=callback)
    assert not part.converged and "best so far" in part.message
    assert [i for i, _ in seen][:3] == [0, 1, 2]
    path = tmp_path / "fit.json"
    part.save(path)
    assert cy.Fit.load(path, system).params == part.params
    whole = cy.identify(system, swing, ["length", "damping"], resume=path)
    assert whole.converged and whole.params["length"] == pytest.approx(0.7, rel=0.01)
    with pytest.raises(cy.Error, match="other unknowns"):
        cy.identify(system, swing, ["length"], resume=part)
    path.write_text("{}")
    with pytest.raises(cy.Error, match="no fit"):
        cy.Fit.load(path, system)


def test_ctrl_c_returns_the_best_so_far():
    truth = cy.systems.double_pendulum(dt=0.001)
    run = cy.rollout(truth, [2.0, 2.0, 0.0, 0.0], 20_000, save=10)
    noise = 0.01 * np.random.default_rng(0).normal(size=run.states.shape)
    recording = cy.Recording(run.times, run.states + noise, sigma=0.01)
    sent = []

    def interrupt(iteration, cost):
        if not sent:
            sent.append(iteration)
            os.kill(os.getpid(), signal.SIGINT)

    fit = cy.identify(
        cy.systems.double_pendulum(dt=0.001, lengths=(1.2, 0.9)),
        recording,
        ["lengths", "masses", "damping"],
        shooting=0.05,
        iterations=100_000,
        callback=interrupt,
    )
    assert sent
    assert not fit.converged and np.isfinite(fit.cost)


def test_plots_are_pages(swing, tmp_path):
    fit = cy.identify(cy.systems.pendulum(), swing, ["length", "mass"], held_out=swing)
    fit.plot(tmp_path / "fit.html")
    page = (tmp_path / "fit.html").read_text()
    for part in ("length", "mass does not act", "<svg", "Held out 0", "angular_velocity"):
        assert part in page


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".h5"])
def test_recordings_are_saved_and_read(tmp_path, suffix):
    if suffix == ".h5":
        pytest.importorskip("h5py", reason="HDF5 is the extra cycloid[record]")
    system = cy.systems.double_pendulum()
    values = np.random.default_rng(0).normal(size=(5, 3))
    values[2, 1] = np.nan
    recording = cy.Recording(
        [0, 0.1, 0.2, 0.5, 1], np.hstack([values[:, :2], values[:, 2:] * 0 + 1])[:, :2],
        np.ones((5, 2)), names=["angles"], sigma=[0.1, 0.2], x0=[0, 1, 2, 3],
    )
    path = tmp_path / f"run{suffix}"
    recording.save(path, system)
    again = cy.Recording.load(path, system)
    assert np.array_equal(again.times, recording.times) and again.names == ("angles",)
    assert np.array_equal(again.values, recording.values, equal_nan=True)
    assert np.array_equal(again.controls, recording.controls)
    if suffix != ".csv":
        assert np.array_equal(again.sigma, recording.sigma)
        assert np.array_equal(again.x0, recording.x0)
    with pytest.raises(FileNotFoundError):
        cy.Recording.load(tmp_path / "none.csv", system)


def test_recordings_that_are_damaged_are_named(tmp_path):
    system = cy.systems.pendulum()
    run = cy.Recording([0.0, 0.01, 0.02], np.zeros((3, 2)))
    for suffix in ("npz", "h5", "csv"):
        file = tmp_path / f"swing.{suffix}"
        run.save(file, system)
        data = file.read_bytes()
        spoilt = data.replace(b"velocity", b"\xff\xfe", 1) if suffix == "csv" else data[:99]
        file.write_bytes(spoilt)
        with pytest.raises(cy.Error, match=f"swing.{suffix}") as caught:
            cy.Recording.load(file, system)
        assert not isinstance(caught.value, UnicodeError)


def test_bad_recordings_and_unknowns_are_refused_in_words(swing):
    t, x = np.arange(5) * 0.1, np.zeros((5, 2))
    for arguments, keywords, text in [
        (([0, 1, 1, 2, 3], x), {}, "times must rise"),
        (([0, 1, np.nan, 2, 3], x), {}, "times must be finite"),
        ((t, np.full((5, 2), np.inf)), {}, "infinite"),
        ((t, x[:4]), {}, "one row per time"),
        ((t, x, np.full((5, 1), np.nan)), {}, "NaN belongs in values only"),
        ((t, x), {"sigma": 0.0}, "sigma must be positive"),
        ((t, x), {"sigma": [1.0] * 3}, "2 columns"),
        ((t, x), {"x0": [np.nan, 0.0]}, "x0 must be finite"),
    ]:
        with pytest.raises(cy.Error, match=text):
            cy.Recording(*arguments, **keywords)
    system = cy.systems.pendulum()
    with pytest.raises(cy.Error, match="never measured"):
        cy.identify(system, cy.Recording(t, np.stack([t, t * np.nan], 1)), ["length"])
    with pytest.raises(cy.ModelError, match="angle"):
        cy.identify(system, cy.Recording(t, t, names="angel"), ["length"])
    with pytest.raises(cy.ParameterError, match="did you mean"):
        cy.identify(system, swing, ["lenght"])
    with pytest.raises(cy.ParameterError, match="twice"):
        cy.identify(system, swing, ["length", "length"])
    with pytest.raises(cy.Error, match="whole state"):
        cy.identify(system, cy.Recording(t, t, names="angle"), ["length"], x0="known")
    with pytest.raises(cy.Error, match="loss"):
        cy.identify(system, swing, ["length"], loss="absolute")
    with pytest.raises(cy.Error, match="shooting"):
        cy.identify(system, swing, ["length"], shooting=-1.0)
    with pytest.raises(cy.ParameterError, match="measures"):
        cy.identify(system, swing, ["length", "output:angel.gain"])
    with pytest.raises(TypeError):
        cy.identify(system, swing, [3])
    with pytest.raises(cy.Error, match="one recording"):
        cy.identify(system, [], ["length"])
    with pytest.raises(cy.ParameterError, match="steps"):
        cy.identify(system, swing, ["option.timestep"])
    with pytest.raises(cy.Error, match="guess fails"):
        bad = cy.systems.lorenz(dt=0.5, integrator="euler")
        cy.identify(bad, cy.Recording(np.arange(40) * 0.5, np.full((40, 3), 50.0)), ["rho"])


def test_the_program_reads_a_table_and_answers_in_json(swing, tmp_path, program):
    path, report = tmp_path / "run.csv", tmp_path / "fit.html"
    swing.save(path, cy.systems.pendulum())
    answer = program(
        "identify", "pendulum", str(path), "--params", "length,damping", "--report", str(report),
        "--json",
    )
    found = json.loads(answer.stdout)
    assert answer.returncode == 0 and found["converged"] and found["weak"] == []
    assert found["params"]["length"] == pytest.approx(0.7, rel=0.01)
    assert found["std"]["length"] < 0.01 and found["rms"]["angle"] == pytest.approx(0.01, rel=0.2)
    assert "<svg" in report.read_text()
    assert program("identify", "pendulum", str(path), "--json").returncode == 2
    assert program("identify", "pendulum", "none.csv", "--params", "length").returncode == 2


@pytest.fixture
def program():
    import subprocess
    from pathlib import Path

    path = Path(cy.__file__).parents[2] / "cycloid"
    if not path.exists():
        pytest.skip(f"the program is not built: {path}")

    def run(*words):
        return subprocess.run([str(path), *words], capture_output=True, text=True, timeout=60)

    return run
