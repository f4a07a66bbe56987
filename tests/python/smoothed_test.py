"""gradient=Smoothed: where it may be said, what it returns, and that it sees over a step."""

import numpy as np
import pytest

import cycloid as cy
import smoothed_tasks

# A pusher on a rail, and a block that it has not reached.
PUSH = """
<mujoco model="push">
  <option timestep="0.01" gravity="0 0 0"/>
  <worldbody>
    <body name="pusher"> <joint name="rail" type="slide" axis="1 0 0" damping="2"/>
      <geom type="sphere" size="0.05" mass="1"/> </body>
    <body name="block" pos="0.25 0 0"> <joint type="slide" axis="1 0 0" damping="4"/>
      <geom type="box" size="0.05 0.05 0.05" mass="1"/> </body>
  </worldbody>
  <actuator> <motor joint="rail" ctrlrange="-5 5"/> </actuator>
</mujoco>"""
STEPS, TARGET = 60, 0.2


def block_loss_bar(run):
    """Half the squared distance of the block from its target, and its derivative."""
    missing = run.states[-1, 1] - TARGET
    bar = np.zeros_like(run.states)
    bar[-1, 1] = missing
    return 0.5 * missing**2, bar


def test_the_latest_mode_that_was_given_counts():
    how = cy.Smoothed(0.05, samples=8, seed=3)
    plain, smooth = cy.load(PUSH), cy.load(PUSH, gradient=how)
    controls = np.full((STEPS, 1), 1.0)
    x0 = plain.initial_state()
    exact = cy.rollout(plain, x0, controls, save="last")
    bar = np.ones_like(exact.states)
    want = exact.pullback(bar, gradient=how).controls
    by_load = cy.rollout(smooth, x0, controls, save="last")
    by_rollout = cy.rollout(plain, x0, controls, save="last", gradient=how)
    assert np.array_equal(by_load.states, exact.states)
    assert np.array_equal(by_load.pullback(bar).controls, want)
    assert np.array_equal(by_rollout.pullback(bar).controls, want)
    assert np.array_equal(
        by_load.pullback(bar, gradient="exact").controls, exact.pullback(bar).controls
    )
    again = cy.rollout(smooth, x0, controls, save="last", gradient="exact")
    assert np.array_equal(again.pullback(bar).controls, exact.pullback(bar).controls)
    assert exact.pullback(bar).variance is None


def test_variance_has_the_shapes_of_the_gradient():
    system = cy.load(PUSH, gradient=cy.Smoothed(0.05, samples=4), vary="body:block.mass")
    controls = np.full((3, STEPS, 1), 4.0)  # it touches
    mass = {"body:block.mass": np.array([0.5, 1.0, 2.0])}
    run = cy.rollout(system, system.initial_state(), controls, mass, save="last")
    g = run.pullback(np.ones_like(run.states))
    assert g.variance.x0.shape == g.x0.shape == (4,)
    assert g.variance.controls.shape == g.controls.shape == (3, STEPS, 1)
    assert g.variance.params["body:block.mass"].shape == (3,)
    assert (g.variance.controls >= 0).all() and (g.variance.controls > 0).any()


def test_noise_is_measured_by_the_width_of_a_controls_range():
    wide = PUSH.replace('ctrlrange="-5 5"', 'ctrlrange="-50 50"')
    none = PUSH.replace(' ctrlrange="-5 5"', "")
    bars = []
    for xml, sigma in ((PUSH, 0.04), (wide, 0.004), (none, 0.4)):
        system = cy.load(xml)
        run = cy.rollout(system, system.initial_state(), STEPS, save="last")
        bars.append(run.pullback(np.ones_like(run.states), gradient=cy.Smoothed(sigma, 8)).controls)
    assert np.allclose(bars[0], bars[1], rtol=1e-9, atol=0)
    assert np.allclose(bars[0], bars[2], rtol=1e-9, atol=0)


def test_a_block_out_of_reach_is_pushed_to_its_target():
    system = cy.load(PUSH)
    x0, controls = system.initial_state(), np.zeros((STEPS, 1))
    run = cy.rollout(system, x0, controls)
    first, bar = block_loss_bar(run)
    assert not run.pullback(bar, wrt="controls").controls.any()
    # Noise must reach the block now and then: the pusher wanders by some 0.2 m.
    rate, velocity = 1.0, np.zeros_like(controls)
    for k in range(150):
        run = cy.rollout(system, x0, controls)
        loss, bar = block_loss_bar(run)
        how = cy.Smoothed(0.3 * 0.98**k + 0.01, samples=256, seed=k)
        g = run.pullback(bar, wrt="controls", gradient=how).controls
        velocity = 0.8 * velocity + g / (np.linalg.norm(g) + 1e-12)
        controls = np.clip(controls - rate * velocity, -5, 5)
        rate *= 0.98
    assert loss < 0.01 * first


@pytest.mark.parametrize("name", smoothed_tasks.TASKS)
def test_the_mix_is_never_much_worse_than_the_better_of_its_parts(name):
    error = smoothed_tasks.errors(smoothed_tasks.TASKS[name], seeds=12, samples=128)
    assert error["mix"] <= 1.2 * min(error["first"], error["zeroth"]), error


def test_torch_and_jax_take_the_mode_from_load_and_rollout():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    import cycloid.jax as cyj
    import cycloid.torch as cyt

    how = cy.Smoothed(0.05, samples=8, seed=3)
    system = cy.load(PUSH, dtype="float32")
    x0, controls = system.initial_state(), np.full((STEPS, 1), 3.0, np.float32)
    run = cy.rollout(system, x0, controls, save="last", gradient=how)
    want = run.pullback(np.ones_like(run.states)).controls
    exact = run.pullback(np.ones_like(run.states), gradient="exact").controls
    assert not np.allclose(want, exact, rtol=1e-3)
    u = torch.tensor(controls, requires_grad=True)
    cyt.rollout(system, x0, u, save="last", gradient=how).sum().backward()
    assert np.array_equal(u.grad.numpy(), want)

    def total(u):
        return cyj.rollout(cy_smooth, x0, u, save="last").sum()

    cy_smooth = cy.load(PUSH, dtype="float32", gradient=how)
    assert np.allclose(jax.jit(jax.grad(total))(controls), want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("gradient", "error", "text"),
    [
        ("smooth", cy.Error, "gradient"),
        (3, TypeError, "Smoothed"),
        (cy.Smoothed(0.0), cy.Error, "sigma must be positive"),
        (cy.Smoothed(0.1, samples=1), cy.Error, "samples"),
        (cy.Smoothed(0.1, order="second"), cy.Error, "order"),
        (cy.Smoothed(float("nan")), cy.Error, "sigma"),
    ],
)
def test_a_mode_that_means_nothing_is_refused(gradient, error, text):
    system = cy.systems.pendulum()
    with pytest.raises(error, match=text):
        cy.rollout(system, [0.1, 0.0], np.zeros((5, 1)), gradient=gradient)


def test_a_system_without_inputs_has_no_smoothed_gradient():
    run = cy.rollout(cy.systems.lorenz(), [1, 1, 20], 5, gradient=cy.Smoothed(0.1))
    with pytest.raises(cy.Error, match="noise on the inputs"):
        run.pullback(np.ones_like(run.states))
