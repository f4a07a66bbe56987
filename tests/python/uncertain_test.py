"""Models that know: open weights, units left out, stated noise; through runs, into files."""

import numpy as np
import pytest

import cycloid as cy

TRUTH = cy.systems.pendulum(dt=0.05, damping=0.2)
QUICK = {"steps": 500, "learning_rate": 1e-2, "batch": 256, "schedule": "cosine"}


def recordings(noise=0.01, runs=20, steps=40, seed=0):
    rng = np.random.default_rng(seed)
    x0, u = rng.uniform(-1.5, 1.5, (runs, 2)), rng.normal(size=(runs, steps, 1))
    run = cy.rollout(TRUTH, x0, u)
    seen = run.states + noise * rng.normal(size=run.states.shape)
    held = np.concatenate([u, u[:, -1:]], axis=1)
    return [cy.Recording(run.times, x, c) for x, c in zip(seen, held)]


def law(hidden=(24,)):
    return cy.learn.neural_ode(2, inputs=1, hidden=hidden, dt=0.05, seed=1)


@pytest.fixture(scope="module")
def models():
    data = recordings()
    run = cy.learn.train(law(), data, **QUICK)
    return {
        "laplace": cy.learn.laplace(run, data, members=40),
        "dropout": cy.learn.dropout(law(), data, rate=0.05, members=40, **QUICK),
        "gaussian": cy.learn.gaussian(law(), data, members=40, **QUICK),
        "likelihood": cy.learn.gaussian(law(), data, "likelihood", members=40, **QUICK),
        "ensemble": cy.learn.ensemble(law(), data, members=3, **QUICK),
    }


KINDS = ("laplace", "dropout", "gaussian", "likelihood", "ensemble")


@pytest.mark.parametrize("name", KINDS)
def test_runs_have_mean_std_and_members(models, name):
    x0 = np.random.default_rng(3).uniform(-1, 1, (4, 2))
    u = np.random.default_rng(4).normal(size=(4, 20, 1))
    run = models[name].rollout(x0, u)
    assert run.mean.shape == run.std.shape == (4, 21, 2)
    assert run.members.shape[1:] == (4, 21, 2) and len(run.members) >= 3
    assert np.allclose(run.mean, run.members.mean(axis=0))
    assert (run.std[:, 0] < 1e-12).all() and (run.std[:, 1:] > 0).all()
    truth = cy.rollout(TRUTH, x0, u).states
    assert np.sqrt(((run.mean - truth) ** 2).mean()) < 0.15
    assert models[name].rollout(x0[0], 20).mean.shape == (21, 2)
    assert np.array_equal(run.members, models[name].rollout(x0, u).members)


@pytest.mark.parametrize("name", ["laplace", "dropout", "gaussian"])
def test_moments_agree_with_samples(models, name):
    x0 = np.random.default_rng(3).uniform(-1, 1, (3, 2))
    u = np.random.default_rng(4).normal(size=(3, 12, 1))
    sampled, moments = (models[name].rollout(x0, u, method=m) for m in ("sampling", "moments"))
    assert moments.members is None and moments.covariance.shape == (3, 13, 2, 2)
    diagonal = np.sqrt(np.diagonal(moments.covariance, axis1=-2, axis2=-1))
    assert np.allclose(diagonal, moments.std)
    ratio = moments.std[:, 1:] / sampled.std[:, 1:]
    # 40 samples know a deviation to 11 %, masks are not small.
    assert 0.6 < np.median(ratio) < 1.6
    off = np.abs(moments.mean - sampled.mean)[:, 1:] / sampled.std[:, 1:]
    assert np.median(off) < 1.0
    with pytest.raises(cy.Error, match="method"):
        models[name].rollout(x0, u, method="guess")


@pytest.mark.parametrize("name", KINDS)
def test_strange_places_look_strange(models, name):
    model = models[name]
    home = np.random.default_rng(5).uniform(-1, 1, (50, 2))
    assert np.median(model.novelty(home)) < 1.5 < 2 * np.median(model.novelty(home + 8))
    assert set(model.strangeness(home, None, home)) == {
        "spread",
        "distance",
        "neighbour",
        "residual",
    }


@pytest.mark.parametrize("name", KINDS)
def test_a_model_is_saved_and_loaded(models, name, tmp_path):
    model = models[name]
    model.save(tmp_path / "model.cyl")
    again = cy.learn.load(tmp_path / "model.cyl")
    assert type(again) is type(model) and len(again) == len(model)
    x0 = np.array([[0.4, -0.2], [1.0, 0.5]])
    a, b = (m.rollout(x0, 15) for m in (model, again))
    assert np.array_equal(a.members, b.members)
    assert np.array_equal(model.novelty(x0, None, x0), again.novelty(x0, None, x0))


def spoiled(arrays, name, change):
    if change is None:
        return {k: v for k, v in arrays.items() if k != name}
    return arrays | {name: np.ascontiguousarray(change(arrays[name]), np.float64)}


@pytest.mark.parametrize(
    "kind, array, change, words",
    [
        ("laplace", "factor", lambda a: a[:-1], "factor"),
        ("laplace", "factor", lambda a: a * np.nan, "finite"),
        ("laplace", "numbers", lambda a: a + 10**6, "parameters"),
        ("laplace", "numbers", lambda a: a - 10**6, "parameters"),
        ("laplace", "settings", lambda a: a[:2], "makes no sense"),
        ("laplace", "settings", None, "settings"),
        ("laplace", "width", lambda a: a[:1], "width"),
        ("gaussian", "network_weights", lambda a: a[:-3], "weights"),
        ("gaussian", "network_least", lambda a: a[:1], "least"),
        ("gaussian", "network_widths", lambda a: a[1:], "."),
        ("gaussian", "network_angles", lambda a: np.array([99.0]), "angles"),
        ("gaussian", "network_shift", None, "network_shift"),
        ("ensemble", "members", None, "members"),
        ("ensemble", "members", lambda a: a[:, :-1], "."),
    ],
)
def test_files_with_arrays_that_do_not_fit_are_refused(
    models, kind, array, change, words, tmp_path, monkeypatch
):
    model = models[kind]
    whole = model._saved() | {"width": model._width}
    monkeypatch.setattr(model, "_saved", lambda: spoiled(whole, array, change))
    if array == "width":
        monkeypatch.setattr(model, "_width", change(model._width))
    model.save(tmp_path / "model.cyl")
    with pytest.raises(cy.Error, match=words):
        cy.learn.load(tmp_path / "model.cyl")


def test_stated_noise_is_that_of_the_data():
    # Noise in the steps themselves, larger on one side.
    rng = np.random.default_rng(0)

    def noisy(runs, steps):
        x = [rng.uniform(-1.5, 1.5, (runs, 2))]
        for _ in range(steps):
            scale = np.where(x[-1][:, :1] < 0, 0.01, 0.06)
            x.append(cy.step(TRUTH, x[-1]) + scale * rng.normal(size=(runs, 2)))
        return np.stack(x, axis=1)

    data = [cy.Recording(0.05 * np.arange(31), x) for x in noisy(150, 30)]
    train = {"steps": 800, "learning_rate": 1e-2, "batch": 500, "schedule": "cosine"}
    fresh = noisy(60, 20)
    for score in ("crps", "likelihood"):
        plain = cy.learn.neural_ode(2, hidden=(24,), dt=0.05)
        model = cy.learn.gaussian(plain, data, score, members=100, **train)
        left, right = (model.std([[q, 0.0]]).mean() for q in (-0.8, 0.8))
        assert abs(left / 0.01 - 1) < 0.4 and abs(right / 0.06 - 1) < 0.3, (left, right)
        # Held-out runs of such a world lie where it says.
        run = model.rollout(fresh[:, 0], 20)
        inside = np.abs(fresh - run.mean)[:, 1:] <= 1.645 * run.std[:, 1:]
        assert abs(inside.mean() - 0.9) < 0.05, score


def test_open_weights_are_those_of_linear_regression():
    # A law whose rate is linear in its only layer: covariance σ² (X'X)⁻¹ of least squares.
    rng = np.random.default_rng(1)
    x = rng.normal(size=(400, 2))
    rate = x @ np.array([[0.0, -1.0], [1.0, -0.3]]) + 0.1 * rng.normal(size=x.shape)
    data = cy.learn.Derivatives(x, rate)
    linear = cy.learn.neural_ode(2, hidden=(), dt=0.1)
    run = cy.learn.train(linear, data, method="lbfgs", steps=100)
    model = cy.learn.laplace(run, data, members=3000, prior=1e-9)
    drawn = np.stack([s.parameters["neural_ode.weight0"] for s in model.systems[1:]])
    design = np.concatenate([x, np.ones((400, 1))], axis=1)
    expected = 0.1 * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))[:2]
    assert np.allclose(drawn.std(axis=0), expected, rtol=0.12)
    assert model.determined == pytest.approx(6, abs=0.01)


def test_physics_and_conserved_quantities_find_strangers(tmp_path):
    free = cy.systems.pendulum(dt=0.05)
    rng = np.random.default_rng(2)
    run = cy.rollout(free, rng.uniform(-1.2, 1.2, (20, 2)), 30)
    data = [cy.Recording(run.times, x) for x in run.states]
    plain = cy.learn.neural_ode(2, hidden=(24,), dt=0.05)
    many = cy.learn.ensemble(plain, data, members=2, **QUICK)
    many.save(tmp_path / "plain.cyl")
    with pytest.raises(cy.Error, match="before it watched 'physics'"):
        cy.learn.load(tmp_path / "plain.cyl").watch(physics=free)
    many.watch(physics=free.variant(dt=0.025), conserved="energy")
    many.save(tmp_path / "watching.cyl")
    again = cy.learn.load(tmp_path / "watching.cyl")
    again.watch(physics=free.variant(dt=0.025), conserved="energy")
    x = run.states[:, :-1].reshape(-1, 2)
    after = run.states[:, 1:].reshape(-1, 2)
    home = many.strangeness(x, None, after)
    assert {"physics", "conserved"} <= set(home)
    for name, part in again.strangeness(x, None, after).items():
        assert np.allclose(part, home[name])
    for name in ("physics", "conserved"):
        assert abs((home[name] < 1).mean() - 0.9) < 0.03
    damped = np.asarray(cy.step(cy.systems.pendulum(dt=0.05, damping=0.5), x))
    away = many.strangeness(x, None, damped)
    for name in ("physics", "conserved"):
        assert np.median(away[name]) > 5
    assert np.median(many.novelty(x, None, damped)) > 5
    # Without next they judge the model's own step: it is worse where it never was.
    inside, outside = (many.strangeness(p) for p in (x, x + [4.0, 6.0]))
    for name in ("physics", "conserved"):
        assert np.median(outside[name]) > 3 * np.median(inside[name])
    with pytest.raises(cy.Error, match="conserved"):
        many.watch(conserved="charm")


def test_models_with_a_spread_have_cards_bands_and_counterfactuals(models):
    x0 = np.random.default_rng(9).uniform(-1, 1, (40, 2))
    model = models["gaussian"]
    card = cy.evaluate(model, TRUTH, x0[:8], 20, timing=False, draws=20)
    assert {"coverage_90", "crps", "spread_skill"} <= set(card.scores)
    band = cy.learn.conformal(model, TRUTH, x0, 20).rollout(x0[:3], 20)
    assert (band.low <= band.high).all()
    recording = recordings(runs=1, seed=7)[0]
    cf = cy.counterfactual(models["laplace"], recording, {"u": 0.5})
    assert (cf.low <= cf.high).all() and np.abs(cf.effect).max() > 0.01
    with pytest.raises(cy.Error, match="new in every step"):  # and no interval of width zero
        cy.counterfactual(model, recording, {"u": 0.5})


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda d: cy.learn.dropout(law(), d, rate=1.5), cy.Error, "rate"),
        (lambda d: cy.learn.gaussian(law(), d, "mse"), cy.Error, "score"),
        (lambda d: cy.learn.gaussian(law(), d, horizon=3), TypeError, "horizon"),
        (lambda d: cy.learn.laplace(law(), d, prior=-1), cy.Error, "prior"),
        (lambda d: cy.learn.laplace(TRUTH, d), cy.Error, "network"),
        (lambda d: cy.learn.laplace(law(), d, params="neural_ode.weight9"), cy.Error, "weight9"),
        (lambda d: cy.learn.dropout(law(()), d, steps=2), cy.Error, "hidden units"),
        (lambda d: cy.learn.laplace(law(), d[0].values), TypeError, "Recording"),
    ],
)
def test_what_makes_no_sense_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call(recordings(runs=2, steps=5))
