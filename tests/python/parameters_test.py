"""Parameters as a mapping and as one vector, and Systems that tell what they are."""

import numpy as np
import pytest

import cycloid as cy

SYSTEM = cy.systems.projectile(drag=0.25, wind=(1, 2, 3))
PARAMETERS = SYSTEM.parameters


def test_parameters_are_a_mapping_of_names_to_defaults():
    names = ("mass", "drag", "wind", "gravity", "option.timestep")
    assert PARAMETERS.names == tuple(PARAMETERS) == names and len(PARAMETERS) == 5
    assert dict(PARAMETERS).keys() == set(names)
    assert PARAMETERS["drag"] == 0.25 and PARAMETERS.get("drag") == 0.25
    assert PARAMETERS.get("lift") is None and PARAMETERS.get("lift", 3) == 3
    assert "wind" in PARAMETERS and "lift" not in PARAMETERS and 3 not in PARAMETERS
    assert PARAMETERS.shapes["wind"] == (3,) and PARAMETERS.shapes["mass"] == ()
    assert PARAMETERS.units["drag"] == "kg/m" and PARAMETERS.constraints["mass"] == "positive"
    assert PARAMETERS.info("wind").offset == 2 and PARAMETERS.info("wind").size == 3
    assert PARAMETERS._ipython_key_completions_() == list(names)


def test_an_unknown_name_is_refused_with_the_nearest_one():
    for use in (
        lambda: PARAMETERS["wnd"],
        lambda: PARAMETERS.info("wnd"),
        lambda: PARAMETERS.pack({"wnd": 1}),
        lambda: cy.rollout(SYSTEM, np.zeros(6), 3, {"wnd": 1}),
        lambda: cy.systems.make("projectile", {"wnd": 1}),
        lambda: cy.systems.projectile(vary="wnd"),
    ):
        with pytest.raises(cy.ParameterError, match='did you mean "wind"'):
            use()


def test_the_default_vector_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        PARAMETERS.default[0] = 2
    with pytest.raises(ValueError, match="read-only"):
        PARAMETERS["wind"][0] = 2
    assert PARAMETERS.default.tolist() == [1, 0.25, 1, 2, 3, 9.81, 0.01]


def test_pack_and_unpack_are_inverses():
    vector = np.arange(7.0)
    named = PARAMETERS.unpack(vector)
    assert named["wind"].tolist() == [2, 3, 4]
    np.testing.assert_array_equal(PARAMETERS.pack(named), vector)
    named["mass"][...] = 9
    assert vector[0] == 0  # a copy


def test_pack_broadcasts_leading_axes():
    packed = PARAMETERS.pack({"drag": [[0.1], [0.2]], "wind": np.ones((3, 3))})
    assert packed.shape == (2, 3, 7)
    assert (packed[1, :, 1] == 0.2).all() and (packed[..., 2:5] == 1).all()
    named = PARAMETERS.unpack(packed)
    assert named["drag"].shape == (2, 3) and named["wind"].shape == (2, 3, 3)


def test_a_mapping_and_its_vector_are_the_same_parameters():
    x0 = [0, 0, 1, 3, 0, 4]
    named = {"mass": 2.0, "wind": [0.5, 0, 0]}
    runs = [cy.rollout(SYSTEM, x0, 10, p) for p in (named, PARAMETERS.pack(named))]
    np.testing.assert_array_equal(runs[0].states, runs[1].states)
    assert not np.array_equal(runs[0].states, cy.rollout(SYSTEM, x0, 10).states)
    g = [run.pullback(np.ones(run.states.shape)).params for run in runs]
    np.testing.assert_array_equal(g[0]["wind"], PARAMETERS.unpack(g[1])["wind"])
    assert cy.rollout(SYSTEM, x0, 10, {}).pullback(np.ones((11, 6))).params == {}


def test_free_variables_go_there_and_back_with_their_pullback():
    vector = PARAMETERS.pack({"mass": 2.0})
    free = PARAMETERS.to_free(vector)
    np.testing.assert_allclose(PARAMETERS.from_free(free), vector, rtol=1e-14)
    assert (PARAMETERS.from_free(free - 50) [:2] > 0).all()
    bar = np.arange(1.0, 8.0)
    h = 1e-6
    expected = [
        (bar * (PARAMETERS.from_free(free + h * e) - PARAMETERS.from_free(free - h * e))).sum()
        / (2 * h)
        for e in np.eye(7)
    ]
    np.testing.assert_allclose(PARAMETERS.from_free_pullback(free, bar), expected, rtol=1e-8)


@pytest.mark.parametrize("value", [-1.0, 0.0, np.nan, np.inf])
def test_a_value_outside_its_constraint_is_refused(value):
    with pytest.raises(cy.ParameterError, match="mass"):
        cy.systems.projectile(mass=value)
    with pytest.raises(cy.ParameterError, match="mass"):
        cy.rollout(SYSTEM, np.zeros(6), 3, {"mass": value})


def test_only_declared_parameters_may_differ_between_environments():
    with pytest.raises(cy.ParameterError, match="declare it in vary"):
        cy.rollout(SYSTEM, np.zeros(6), 3, {"mass": [1.0, 2.0]})
    assert cy.rollout(SYSTEM, np.zeros(6), 3, {"mass": [2.0, 2.0]}).states.shape == (2, 4, 6)
    varying = cy.systems.projectile(vary=["mass"])
    assert varying.vary == ("mass",)
    assert cy.rollout(varying, np.zeros(6), 3, {"mass": [1.0, 2.0]}).states.shape == (2, 4, 6)


def test_a_system_tells_what_it_is():
    system = cy.systems.double_pendulum(dt=0.002, dtype=np.float32)
    assert repr(system) == "<System double_pendulum: 4 states, 2 inputs, dt 2 ms, float32>"
    assert (system.name, system.timestep, system.dtype) == ("double_pendulum", 0.002, np.float32)
    assert (system.state_size, system.tangent_size, system.input_size, system.nu) == (4, 4, 2, 2)
    assert system.input_slices == {"torques": slice(0, 2)}
    assert system.state_units == {"angles": "rad", "angular_velocities": "rad/s"}
    assert system.input_units == {"torques": "N·m"}
    x = system.initial_state()
    assert x.dtype == np.float32 and x.shape == (4,)
    x[:] = 0
    assert system.initial_state().any()  # a copy
    with pytest.raises(cy.Error, match="keyframe"):
        system.initial_state("home")


@pytest.mark.parametrize("law", cy.systems.names)
def test_every_law_takes_every_integrator_that_fits(law):
    second_order = law not in ("lorenz", "bead_on_curve", "stick_slip")
    for integrator in cy.systems.integrators:
        if integrator in ("semi_implicit", "verlet") and not second_order:
            with pytest.raises(cy.ModelError, match="second order"):
                cy.systems.make(law, integrator=integrator)
            continue
        system = cy.systems.make(law, integrator=integrator)
        assert np.isfinite(cy.rollout(system, system.initial_state(), 5).states).all()


def test_a_spring_chain_has_as_many_masses_as_asked_for():
    assert cy.systems.spring_chain(7).input_size == 7
    with pytest.raises(TypeError):
        cy.systems.pendulum(n=7)
