"""cycloid.torch has the numbers of cycloid, and gradients that hold against differences."""

import copy
import warnings

import models
import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

import cycloid as cy
import cycloid.torch as cyt

DOUBLE = torch.float64


def in_contact(name, dtype="float64"):
    """A robot of a package, a state in which it touches the ground, and 3 rows of controls."""
    system = cy.load(models.MODELS[name], dtype=dtype)
    draw = np.random.default_rng(3)
    run = cy.rollout(system, system.initial_state(), 0.3 * draw.normal(size=(400, system.nu)))
    touching = (cy.forward(system, run.states).contacts.dist < -1e-4).any(axis=-1)
    return system, run.states[np.flatnonzero(touching)[-1]], 0.3 * draw.normal(size=(3, system.nu))


def inputs(system, batch=(), steps=7, seed=0):
    """x0, controls and parameters that move a law, as tensors that want a gradient."""
    draw = np.random.default_rng(seed)
    x0 = system.initial_state() + 0.3 * draw.normal(size=(*batch, system.state_size))
    controls = draw.normal(size=(*batch, steps, system.input_size))
    params = system.parameters.default * 1.1 + 0.01
    kind = getattr(torch, str(system.dtype))
    return (
        torch.tensor(x0, dtype=kind, requires_grad=True),
        torch.tensor(controls, dtype=kind, requires_grad=True),
        torch.tensor(params, requires_grad=True),
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("save", ["all", "last", 3, [0, 2, -1]])
def test_states_and_gradient_are_those_of_numpy_bit_for_bit(dtype, save):
    system = cy.systems.double_pendulum(dtype=dtype)
    tensors = inputs(system, (5,))
    states = cyt.rollout(system, *tensors, save=save, t0=0.5)
    run = cy.rollout(system, *(t.detach().numpy() for t in tensors), save=save, t0=0.5)
    assert states.dtype == getattr(torch, dtype)
    assert np.array_equal(states.detach().numpy(), run.states)
    bar = torch.linspace(-1, 1, states.numel(), dtype=states.dtype).reshape(states.shape)
    states.backward(bar)
    g = run.pullback(bar.numpy())
    for tensor, expected in zip(tensors, (g.x0, g.controls, g.params)):
        assert np.array_equal(tensor.grad.numpy(), expected) and expected.any()


@pytest.mark.parametrize("name", ["", "gymnasium/hopper"])
def test_states_at_given_times_are_those_of_numpy_bit_for_bit(name):
    system = cy.load(models.MODELS[name]) if name else cy.systems.double_pendulum()
    tensors = inputs(system, (5,))[:2]
    times = system.timestep * torch.tensor([0, 0.3, 2.5, 7], dtype=DOUBLE)
    states = cyt.rollout(system, *tensors, times=times)
    run = cy.rollout(system, *(t.detach().numpy() for t in tensors), times=times)
    assert states.shape == (5, 4, system.state_size)
    assert np.array_equal(states.detach().numpy(), run.states)
    states.sin().sum().backward()
    g = run.pullback(np.cos(run.states))
    for tensor, expected in zip(tensors, (g.x0, g.controls)):
        np.testing.assert_allclose(tensor.grad, expected, rtol=1e-11, atol=1e-11)


def test_times_have_no_gradient():
    x = torch.zeros(2, dtype=DOUBLE)

    def run(times):
        return cyt.rollout(cy.systems.pendulum(), x, 10, times=times).sum()

    when = torch.tensor([0.01, 0.02], dtype=DOUBLE)
    own = when.clone().requires_grad_()
    for call in (
        lambda: run(own),
        lambda: run([0.005, own[0]]),
        lambda: torch.func.grad(run)(when),
        lambda: torch.func.vmap(run)(when[:, None]),
        lambda: torch.func.vmap(lambda t: run([t]))(when),
        lambda: torch.func.jvp(run, (when,), (when,)),
    ):
        with pytest.raises(TypeError, match="^times must be plain numbers; they have no gr"):
            call()
    assert run(own.detach()) == run([0.01, 0.02])


def test_gradcheck_of_a_law_by_x0_controls_and_params():
    assert gradcheck(lambda *t: cyt.rollout(SYSTEM, *t), inputs(SYSTEM, (2,)))
    x, u, p = inputs(SYSTEM)
    assert gradcheck(lambda *t: cyt.step(SYSTEM, *t), (x, u.detach()[0].requires_grad_(), p))


def test_gradcheck_through_impacts():
    system = cy.systems.bouncing_ball(vary="restitution")
    x0 = torch.tensor([[1.0, 0.3], [0.6, -0.2]], dtype=DOUBLE, requires_grad=True)
    e = torch.tensor([0.8, 0.7], dtype=DOUBLE, requires_grad=True)
    assert len(cy.rollout(system, x0.detach().numpy(), 130).events) == 4
    assert gradcheck(lambda x, e: cyt.rollout(system, x, 130, {"restitution": e}, save=13), (x0, e))


def test_gradcheck_of_a_law_written_in_python():
    law = cy.own_law(
        lambda x, u, p, t, dt: x + dt * (u - p["drag"] * x**3),
        lambda x, u, p, t, dt, bar: (
            bar * (1 - 3 * dt * p["drag"] * x**2),
            dt * bar,
            {"drag": -dt * x**3 * bar},
        ),
        states={"x": 1},
        inputs={"u": 1},
        parameters={"drag": [0.3]},
    )
    assert gradcheck(lambda *t: cyt.rollout(law, *t), inputs(law, (3,)))


# (robot, the parameters to look at). eps of the differences: contacts are stiff, and 1e-6 is where
# rounding (1e-16 / eps) and curvature (some 1e4 · eps²) are both far below gradcheck's tolerances,
# which are its own.
ROBOTS = {
    "gymnasium/hopper": ["body:foot.mass", "joint:foot_joint.damping", "geom:foot_geom.friction"],
    "gymnasium/ant": ["body:torso.mass", "geom:floor.friction", "option.gravity"],
    "dm_control/humanoid": ["body:torso.mass", "geom:floor.friction", "geom:floor.solref"],
}


@pytest.mark.parametrize("name", ROBOTS)
def test_gradcheck_of_robots_in_contact(name):
    system, x0, controls = in_contact(name)
    x = torch.tensor(x0, requires_grad=True)
    u = torch.tensor(controls, requires_grad=True)
    p = [torch.tensor(system.parameters[n], requires_grad=True) for n in ROBOTS[name]]

    def last(x, u, *p):
        return cyt.rollout(system, x, u, dict(zip(ROBOTS[name], p)), save="last")

    assert gradcheck(last, (x, u, *p))
    last(x, u, *p).sum().backward()
    assert all(t.grad.any() for t in (x, u, *p))


def test_gradcheck_of_sensors():
    robot = cy.load(SENSORS)
    x, u, p = inputs(robot, (2,), 1)
    u = u.detach()[:, 0].requires_grad_()
    assert gradcheck(lambda x, u: cyt.observe(robot, x, u), (x, u))
    mass = torch.tensor(robot.parameters["body:arm.mass"], requires_grad=True)
    assert gradcheck(lambda m: cyt.observe(robot, x, u, "felt", {"body:arm.mass": m}), (mass,))
    seen = cyt.observe(robot, x, u, ["felt", "place"], t=1.0)
    assert np.array_equal(
        seen.detach().numpy(),
        cy.observe(robot, x.detach().numpy(), u.detach().numpy(), ["felt", "place"], t=1.0).values,
    )


SYSTEM = cy.systems.pendulum(damping=0.2)
SENSORS = """<mujoco> <worldbody> <body name="arm"> <joint name="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.02" mass="1"/>
    <site name="tip" pos="0 0 -1"/> </body>
    </worldbody> <actuator> <motor joint="hinge"/> </actuator>
    <sensor> <framepos name="place" objtype="site" objname="tip"/>
    <accelerometer name="felt" site="tip"/> </sensor> </mujoco>"""


@pytest.mark.parametrize("of_system, of_tensor", [("float32", "float64"), ("float64", "float32")])
def test_other_precisions_are_converted_and_gradients_come_back_in_their_own(of_system, of_tensor):
    system, kind = cy.systems.pendulum(damping=0.2, dtype=of_system), getattr(torch, of_tensor)
    tensors = [t.detach().to(kind).requires_grad_() for t in inputs(system)]
    states = cyt.rollout(system, *tensors)
    assert states.dtype == getattr(torch, of_system)
    states.sum().backward()
    assert [t.grad.dtype for t in tensors] == [kind] * 3
    assert all(t.grad.any() for t in tensors)


def test_leading_axes_broadcast_and_gradients_are_summed_over_them():
    system = cy.systems.pendulum(vary="length")
    x0 = torch.rand(8, 1, 2, dtype=DOUBLE, generator=torch.manual_seed(1)).requires_grad_()
    controls = torch.ones(5, 10, 1, dtype=DOUBLE, requires_grad=True)
    length = torch.linspace(0.5, 2, 5, dtype=DOUBLE, requires_grad=True)
    mass = torch.tensor(1.5, requires_grad=True)
    states = cyt.rollout(system, x0, controls, {"mass": mass, "length": length})
    assert states.shape == (8, 5, 11, 2)
    states.square().sum().backward()
    given = {"mass": 1.5, "length": length.detach().numpy()}
    run = cy.rollout(system, x0.detach().numpy(), controls.detach().numpy(), given)
    g = run.pullback(2 * run.states)
    pairs = [(x0, g.x0), (controls, g.controls), (length, g.params["length"])]
    for tensor, expected in pairs:
        np.testing.assert_allclose(tensor.grad, expected, rtol=1e-12)
    np.testing.assert_allclose(mass.grad, g.params["mass"], rtol=1e-6)  # a float32 tensor
    assert mass.grad != 0


@pytest.mark.parametrize("layout", ["transposed", "strided", "expanded"])
def test_tensors_need_not_be_contiguous(layout):
    x0 = {
        "transposed": torch.rand(2, 6, dtype=DOUBLE).T,
        "strided": torch.rand(12, 4, dtype=DOUBLE)[::2, ::2],
        "expanded": torch.rand(2, dtype=DOUBLE).expand(6, 2),
    }[layout]
    assert not x0.is_contiguous()
    got = cyt.rollout(SYSTEM, x0, 5)
    assert torch.equal(got, cyt.rollout(SYSTEM, x0.contiguous(), 5))


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2), (1, 2)])
def test_only_what_wants_a_gradient_is_computed(wanted, monkeypatch):
    asked = []
    pullback = cyt.RolloutCall.rows

    def spy(call, tape, bar, which, each):
        asked.append((which, each))
        return pullback(call, tape, bar, which, each)

    monkeypatch.setattr(cyt.RolloutCall, "rows", spy)
    tensors = [t.requires_grad_(i in wanted) for i, t in enumerate(map(torch.clone, DETACHED))]
    cyt.rollout(SYSTEM, *tensors).sum().backward()
    assert asked == [(tuple(i in wanted for i in range(3)), False)]
    assert [t.grad is not None for t in tensors] == [i in wanted for i in range(3)]


DETACHED = [t.detach() for t in inputs(SYSTEM)]


def test_a_state_that_is_not_used_has_no_say():
    x = torch.ones(2, requires_grad=True)
    used, unused = cyt.rollout(SYSTEM, x, 3), cyt.rollout(SYSTEM, x, 5)
    (used.sum() + 0 * unused.detach().sum()).backward()
    assert torch.equal(x.grad, torch.autograd.grad(cyt.rollout(SYSTEM, x, 3).sum(), x)[0])


def test_arrays_lists_and_integers_are_taken_for_tensors():
    expected = cy.rollout(SYSTEM, [1, 0], [[1], [2]]).states
    for x0 in ([1, 0], np.array([1.0, 0]), torch.tensor([1, 0])):
        assert np.array_equal(cyt.rollout(SYSTEM, x0, [[1], [2]]).numpy(), expected)


KEPLER = cy.systems.kepler()
FAILING = torch.tensor([[1.0, 0, 0, 1.1], [0, 0, 0, 0]], dtype=DOUBLE)


def test_an_environment_that_fails_raises_in_backward_or_is_skipped():
    x = FAILING.clone().requires_grad_()
    with pytest.raises(cy.GradientError, match="failed: environment 1"):
        cyt.rollout(KEPLER, x, 10).sum().backward()
    cyt.rollout(KEPLER, x, 10, failed="skip").sum().backward()
    assert x.grad[0].all() and not x.grad[1].any()


def test_a_step_that_fails_raises_or_stays():
    with pytest.raises(cy.Error, match="the step failed: environment 1"):
        cyt.step(KEPLER, FAILING)
    x = FAILING.clone().requires_grad_()
    after = cyt.step(KEPLER, x, failed="skip")
    assert torch.equal(after[1], x[1]) and not torch.equal(after[0], x[0])
    after.sum().backward()
    assert x.grad[0].all() and not x.grad[1].any()


# 289 contacts, for which there is no room.
BED = """<mujoco> <worldbody> <geom type="plane" size="5 5 1"/> <body pos="0 0 0.04"> <freejoint/>
    <replicate count="17" offset="0.11 0 0"> <replicate count="17" offset="0 0.11 0">
    <geom size="0.05"/> </replicate> </replicate> </body> </worldbody> </mujoco>"""


def test_a_step_warns_as_that_of_numpy_does():
    bed = cy.load(BED)
    with pytest.warns(cy.SolverWarning) as expected:
        cy.step(bed, bed.initial_state())
    with pytest.warns(cy.SolverWarning) as got:
        cyt.step(bed, bed.initial_state())
    assert str(got[0].message) == str(expected[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cyt.rollout(bed, bed.initial_state(), 1)


def test_an_observation_warns_as_that_of_numpy_does():
    bed = cy.load(BED)
    with pytest.warns(cy.SolverWarning) as expected:
        cy.observe(bed, bed.initial_state(), names="qacc")
    with pytest.warns(cy.SolverWarning) as got:
        cyt.observe(bed, bed.initial_state(), names="qacc")
    assert str(got[0].message) == str(expected[0].message)


def test_a_step_warns_of_the_others_where_one_fails_and_once():
    bed = cy.load(BED)
    x = torch.tensor(np.stack([bed.initial_state()] * 2))
    x[1, 7:] = 1e300
    x.requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(torch.clone, torch.clone):  # loses the tape
        with pytest.warns(cy.SolverWarning, match="^environment 0"):
            after = cyt.step(bed, x, failed="skip")
    assert torch.equal(after[1], x[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        after.sum().backward()
    assert x.grad[0].any() and not x.grad[1].any()
    with pytest.raises(cy.Error, match="the step failed: environment 1"):
        cyt.step(bed, x)


X, L = torch.zeros(2), torch.tensor([0.5, 1.0])
REFUSED = [
    (lambda: cyt.rollout(SYSTEM, torch.zeros(3), 5), cy.Error, r"x0 must have shape \(..., 2\)"),
    (lambda: cyt.rollout(SYSTEM, X, torch.zeros(5, 2)), cy.Error, r"controls must have .*T, 1\)"),
    (lambda: cyt.rollout(SYSTEM, X, 0), cy.Error, "the number of steps must be at least 1"),
    (lambda: cyt.rollout(SYSTEM, X, 2.5), cy.Error, "controls must have shape"),
    (lambda: cyt.rollout(SYSTEM, X, 5, torch.zeros(4)), cy.Error, r"params must have .*\(..., 5\)"),
    (lambda: cyt.rollout(SYSTEM, X, 5, {"lenght": X}), cy.ParameterError, 'did you mean "length"'),
    (lambda: cyt.rollout(SYSTEM, X, 5, {"length": L}), cy.ParameterError, "vary"),
    (lambda: cyt.rollout(SYSTEM, X, 5, {"length": -X[0] - 1}), cy.ParameterError, "positive"),
    (lambda: cyt.rollout(SYSTEM, X / 0, 5), cy.Error, "x0.*nan"),
    (lambda: cyt.rollout(SYSTEM, X.to("meta"), 5), cy.Error, r"x0 is on meta.*pass x0\.cpu\(\)"),
    (lambda: cyt.rollout(SYSTEM, X.to_sparse(), 5), cy.Error, r"pass x0\.to_dense\(\)"),
    (lambda: cyt.rollout(SYSTEM, X + 1j, 5), TypeError, "x0 must be real numbers; got .*complex"),
    (lambda: cyt.rollout(SYSTEM, "here", 5), TypeError, "x0 must be numbers"),
    (lambda: cyt.rollout(None, X, 5), TypeError, "expected a cycloid System"),
    (lambda: cyt.rollout(SYSTEM, X, 5, save="lost"), cy.Error, 'did you mean "last"'),
    (lambda: cyt.rollout(SYSTEM, X, 5, memory="1 potato"), cy.Error, "potato"),
    (lambda: cyt.rollout(SYSTEM, X, 5, threads=0), cy.Error, "threads must be at least 1"),
    (lambda: cyt.rollout(SYSTEM, X, 5, t0=float("nan")), cy.Error, "t0 must be finite"),
    (lambda: cyt.rollout(SYSTEM, X, 5, failed="ignore"), cy.Error, "failed: expected"),
    (lambda: cyt.step(SYSTEM, X, torch.zeros(3)), cy.Error, r"u must have shape \(..., 1\)"),
    (lambda: cyt.observe(SYSTEM, X, names="enrgy"), cy.ModelError, 'did you mean "energy"'),
    (lambda: cyt.observe(cy.load(SENSORS), X, names="fell"), cy.ModelError, 'did you mean "felt"'),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_cannot_be_is_refused_in_words(case):
    call, kind, words = REFUSED[case]
    with pytest.raises(kind, match=words):
        call()


def test_the_result_does_not_depend_on_threads_or_on_what_is_kept():
    tensors = inputs(SYSTEM, (100,))

    def gradient(**options):
        loss = cyt.rollout(SYSTEM, *tensors, **options).square().sum()
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, tensors)])

    expected = gradient()
    for options in ({"threads": 1}, {"threads": 2}, {"memory": "sqrt"}, {"memory": 2}):
        assert torch.equal(gradient(**options), expected)
    assert not torch.equal(gradient(memory=cy.Truncate(2)), expected)


class Simulator(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.system, self.length = SYSTEM, torch.nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        return cyt.rollout(self.system, x, 20, {"length": self.length}, save="last")


def test_a_module_with_a_system_in_it_is_copied_and_trained():
    module = Simulator()
    twin = copy.deepcopy(module)
    assert twin.system is module.system and twin.length is not module.length
    target = Simulator()
    target.length.data += 0.2
    x = torch.rand(10, 2, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        wanted = target(x)
    optimiser = torch.optim.LBFGS(twin.parameters(), max_iter=20, line_search_fn="strong_wolfe")

    def closure():
        optimiser.zero_grad()
        loss = (twin(x) - wanted).square().mean()
        loss.backward()
        return loss

    optimiser.step(closure)
    assert abs(twin.length.item() - 0.7) < 1e-4 and module.length.item() == 0.5
