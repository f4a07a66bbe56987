"""cy.randomise: parameters that differ between environments."""

import numpy as np
import pytest

import cycloid as cy

XML = """
<mujoco model="arm">
  <worldbody>
    <body name="upper"> <joint name="shoulder" axis="0 1 0" damping="0.1"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="1"/>
      <body name="lower" pos="0 0 -0.5"> <joint name="elbow" axis="0 1 0" damping="0.1"/>
        <geom type="box" size="0.05 0.1 0.2" pos="0 0 -0.2" mass="0.7"/> </body> </body>
  </worldbody>
  <actuator> <motor name="turn" joint="shoulder"/> </actuator>
</mujoco>
"""
VARY = (
    "body:upper.mass",
    "body:lower.inertia",
    "body:upper.inertia",
    "joint:elbow.damping",
    "option.gravity",
)
ARM = cy.load(XML, vary=VARY)
LAWS = {
    "body:upper.mass": cy.LogNormal(0.2),
    "body:lower.inertia": cy.Normal(0.01),
    "joint:elbow.damping": cy.Uniform(0.05, 0.3),
    "option.gravity": cy.Normal([0.1, 0.1, 0.5]),
}


def test_a_value_for_each_environment_in_the_parameters_shape():
    params = cy.randomise(ARM, LAWS, 16, 1)
    assert {name: v.shape for name, v in params.items()} == {
        "body:upper.mass": (16,),
        "body:lower.inertia": (16, 6),
        "joint:elbow.damping": (16, 1),
        "option.gravity": (16, 3),
    }
    assert all(len(np.unique(v.reshape(16, -1), axis=0)) == 16 for v in params.values())
    assert cy.randomise(ARM, {}, 3, 0) == {}


def test_values_depend_on_seed_name_and_environment_alone():
    params = cy.randomise(ARM, LAWS, 16, 7)
    backwards = cy.randomise(ARM, dict(reversed(LAWS.items())), 16, 7)
    one = cy.randomise(ARM, {"option.gravity": LAWS["option.gravity"]}, 4, 7)
    other = cy.randomise(ARM, LAWS, 16, 8)
    assert list(backwards) == list(reversed(params))
    for name, value in params.items():
        np.testing.assert_array_equal(backwards[name], value)
        assert not np.array_equal(other[name], value)
    np.testing.assert_array_equal(one["option.gravity"], params["option.gravity"][:4])


def matrices(rows):
    xx, yy, zz, xy, xz, yz = rows.T
    return np.moveaxis(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]), -1, 0)


def test_wide_spreads_stay_within_what_a_body_can_be():
    wide = {
        "body:upper.mass": cy.Normal(3.0),
        "body:lower.inertia": cy.Normal(0.05),
        "body:upper.inertia": cy.LogNormal(1.5),
    }
    params = cy.randomise(ARM, wide, 200, 3)
    assert (params["body:upper.mass"] > 0).all()
    for name in ("body:lower.inertia", "body:upper.inertia"):
        moments = np.linalg.eigvalsh(matrices(params[name]))  # ascending
        assert (moments[:, 0] > 0).all()
        assert (moments[:, 2] <= moments[:, 0] + moments[:, 1]).all()
    factor = params["body:upper.inertia"][:, 0] / ARM.parameters["body:upper.inertia"][0]
    np.testing.assert_allclose(np.log(factor).std(), 1.5, rtol=0.2)  # 200 draws: 5 % each way


def test_the_gradient_comes_back_by_environment():
    params = cy.randomise(ARM, LAWS, 6, 5)
    controls = np.full((20, 1), 0.3)
    run = cy.rollout(ARM, ARM.initial_state(), controls, params, save="last")
    bar = np.zeros(run.states.shape)
    bar[:, 0, 1] = 1  # of each environment's own elbow
    g = run.pullback(bar, wrt="params").params
    for name, value in params.items():
        assert g[name].shape == value.shape
        h = 1e-5 * max(1e-3, np.abs(value).max())
        for k in range(value[0].size):
            ends = []
            for sign in (1, -1):
                moved = value.copy()
                moved.reshape(6, -1)[:, k] += sign * h
                end = cy.rollout(ARM, ARM.initial_state(), controls, params | {name: moved})
                ends.append(end.states[:, -1, 1])
            expected = (ends[0] - ends[1]) / (2 * h)
            scale = max(1e-3, np.abs(expected).max())
            assert np.abs(g[name].reshape(6, -1)[:, k] - expected).max() < 1e-5 * scale, name
    assert len(np.unique(g["body:upper.mass"])) == 6


def test_laws_of_motion_are_randomised_too():
    system = cy.systems.projectile(vary="wind")
    wind = cy.randomise(system, {"wind": cy.Uniform([-1, 0, 0], [1, 0, 2])}, 50, 0)["wind"]
    assert wind.shape == (50, 3) and (wind[:, 1] == 0).all()
    assert (np.abs(wind[:, 0]) <= 1).all() and (wind[:, 2] >= 0).all() and wind[:, 2].max() > 1


@pytest.mark.parametrize(
    "laws, error, text",
    [
        ({"body:uper.mass": cy.Normal(1)}, cy.ParameterError, 'did you mean "body:upper.mass"'),
        ({"body:lower.mass": cy.Normal(1)}, cy.ParameterError, "name it in vary"),
        ({"body:upper.mass": cy.Normal(-1)}, cy.ParameterError, "s must not be negative"),
        ({"body:upper.mass": cy.Normal([1, 2])}, cy.ParameterError, "expected one number for s"),
        ({"body:upper.mass": cy.Normal(np.nan)}, cy.Error, "finite"),
        ({"body:upper.mass": cy.Uniform(-2, -1)}, cy.ParameterError, "of 100000 draws of Uniform"),
        ({"body:upper.mass": cy.Uniform(2, 1)}, cy.ParameterError, "got 2 to 1"),
        ({"body:upper.mass": 0.1}, TypeError, r"expected LogNormal\(s\), Normal\(s\) or Uniform"),
        ({"body:upper.mass": cy.Normal("x")}, TypeError, "number"),
        ({3: cy.Normal(1)}, cy.ParameterError, "no parameter"),
        (["body:upper.mass"], TypeError, "mapping"),
    ],
)
def test_what_makes_no_sense_is_refused(laws, error, text):
    with pytest.raises(error, match=text):
        cy.randomise(ARM, laws, 4, 0)


@pytest.mark.parametrize("batch, seed", [(0, 0), (-1, 0), (2**40, 0), (4, -1), (4, 2**64)])
def test_batch_and_seed_have_bounds(batch, seed):
    with pytest.raises(cy.Error, match="must be at"):
        cy.randomise(ARM, LAWS, batch, seed)
    with pytest.raises(TypeError):
        cy.randomise(ARM, LAWS, 4.5, 0)
