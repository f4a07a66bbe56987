"""gradient=FromDistance: pairs that do not touch yet have a gradient, and nothing else changes."""

import mujoco
import numpy as np
import pytest

import cycloid as cy

H = 0.002
RAIL = f"""
<mujoco model="rail">
  <option timestep="{H}" gravity="0 0 0"/>
  <worldbody>
    <body name="pusher"> <joint name="rail" type="slide" axis="1 0 0"/>
      <geom type="sphere" size="0.05" mass="1"/> </body>
    <body name="block" pos="0.2 0 0"> <joint type="slide" axis="1 0 0"/>
      <geom type="sphere" size="0.05" mass="2"/> </body>
  </worldbody>
  <actuator> <motor joint="rail"/> </actuator>
</mujoco>"""
GAP = 0.1  # between the two at the start [m]




def expected_gradients(distance, width):
    """The same by hand: H da = M da0 + J' w D da_ref, with a row that is as at touch."""
    mass, row = np.diag([1.0, 2.0]), np.array([-1.0, 1.0])
    impedance, most, time_constant = 0.9, 0.95, 0.02  # MuJoCo's defaults
    stiffness, damping = 1 / (most * time_constant) ** 2, 2 / (most * time_constant)
    weight = impedance / (1 - impedance) / (1 / 1.0 + 1 / 2.0) * (1 - distance / width) ** 2
    hessian = mass + weight * np.outer(row, row)
    push = weight * np.linalg.solve(hessian, row)
    by_position = -push[:, None] * stiffness * impedance * row
    by_velocity = -push[:, None] * damping * row
    by_control = np.linalg.solve(hessian, [1.0, 0.0])
    return np.column_stack([H * by_position, np.eye(2) + H * by_velocity, H * by_control])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("batch", [1, 5])
def test_a_pair_within_the_width_acts_as_a_weighted_row_at_touch(dtype, batch):
    system = cy.load(RAIL, dtype=dtype)
    x = np.zeros((batch, 4))
    x[:, 2:] = 0.3, -0.1  # they approach
    moved = np.linspace(0, 0.06, batch)
    x[:, 0] = moved  # lanes differ
    width = 0.13
    want = np.array([expected_gradients(GAP - m, width) for m in moved])
    got = np.zeros_like(want)
    for i in (2, 3):
        run = cy.rollout(system, x, np.zeros((batch, 1, 1)), save="last")
        bar = np.zeros((batch, 1, 4))
        bar[:, 0, i] = 1
        g = run.pullback(bar, gradient=cy.FromDistance(width))
        got[:, i - 2] = np.concatenate([g.x0, g.controls[:, 0]], axis=1)
    assert np.allclose(got, want, rtol=1e-9 if dtype == "float64" else 2e-5, atol=0)


def test_beyond_the_width_and_where_touching_it_is_the_exact_gradient_bit_for_bit():
    system = cy.load(RAIL)
    controls = np.zeros((3, 20, 1))
    apart = [[0, 0, 0.3, -0.1], [0.02, 0, 0, 0], [0.05, 0, 0.1, 0]]
    touching = [[0.1005, 0, 0, 0], [0.103, 0, 0.1, 0], [0.101, 0, 0.2, -0.3]]
    for x0, width in ((apart, 0.03), (touching, 0.2)):
        run = cy.rollout(system, x0, controls, save="last")
        exact = run.pullback(np.ones_like(run.states))
        near = run.pullback(np.ones_like(run.states), gradient=cy.FromDistance(width))
        assert np.array_equal(near.x0, exact.x0)
        assert np.array_equal(near.controls, exact.controls)
        assert np.array_equal(near.params, exact.params)


def test_the_run_is_the_same_and_the_latest_mode_counts():
    how = cy.FromDistance(0.2)
    plain, felt = cy.load(RAIL), cy.load(RAIL, gradient=how)
    x0, controls = [0, 0, 0.3, -0.1], np.ones((30, 1))
    exact = cy.rollout(plain, x0, controls)
    bar = np.ones_like(exact.states)
    want = exact.pullback(bar, gradient=how).controls
    assert not np.allclose(want, exact.pullback(bar).controls)
    by_load = cy.rollout(felt, x0, controls)
    by_rollout = cy.rollout(plain, x0, controls, gradient=how)
    assert np.array_equal(by_load.states, exact.states)
    assert np.array_equal(by_load.pullback(bar).controls, want)
    assert np.array_equal(by_rollout.pullback(bar).controls, want)
    for run in (by_load, by_rollout):
        g = run.pullback(bar, gradient="exact")
        assert np.array_equal(g.controls, exact.pullback(bar).controls)


@pytest.mark.parametrize("memory", ["all", "sqrt", 3])
def test_what_is_kept_does_not_change_the_gradient(memory):
    system = cy.load(RAIL, gradient=cy.FromDistance(0.2))
    x0 = np.array([[0, 0, 0.3, -0.1], [0.09, 0, 0.4, 0], [0.02, 0, 1.0, 0]])
    controls = np.ones((40, 1))
    runs = [cy.rollout(system, x0, controls, memory=m) for m in ("all", memory)]
    a, b = (run.pullback(np.ones_like(run.states)) for run in runs)
    assert np.array_equal(a.x0, b.x0) and np.array_equal(a.params, b.params)


def test_every_shape_feels_every_other_from_a_distance():
    sizes = {"sphere": "0.1", "capsule": "0.08 0.1", "ellipsoid": "0.1 0.12 0.08",
             "cylinder": "0.1 0.1", "box": "0.1 0.08 0.12"}
    for below, size in {"plane": "1 1 1", **sizes}.items():
        for above, own in sizes.items():
            system = cy.load(f'''
                <mujoco> <option gravity="0 0 0"/> <worldbody> <geom type="{below}" size="{size}"/>
                  <body pos="0.01 0.02 0.45"> <freejoint/>
                    <geom type="{above}" size="{own}" mass="1"/> </body> </worldbody> </mujoco>''')
            x0 = system.initial_state()
            run = cy.rollout(system, x0, 1, save="last")
            assert run.report.counters["contacts"] == 0
            bar = np.zeros((1, 13))
            bar[0, 9] = 1  # the upward velocity
            modes = "exact", cy.FromDistance(0.6)
            exact, near = (run.pullback(bar, gradient=g).x0[2] for g in modes)
            assert exact == 0 and near < -1e-3, (below, above)


def test_a_block_out_of_reach_is_pushed_to_its_target():
    system = cy.load(RAIL.replace('axis="1 0 0"/>', 'axis="1 0 0" damping="2"/>'))
    x0, controls, target = system.initial_state(), np.zeros((200, 1)), 0.15

    def loss_and_bar(run):
        bar = np.zeros_like(run.states)
        bar[-1, 1] = run.states[-1, 1] - target
        return 0.5 * bar[-1, 1] ** 2, bar

    run = cy.rollout(system, x0, controls)
    first, bar = loss_and_bar(run)
    assert not run.pullback(bar, wrt="controls").controls.any()
    rate, velocity = 1.0, np.zeros_like(controls)
    for k in range(200):
        run = cy.rollout(system, x0, controls)
        loss, bar = loss_and_bar(run)
        g = run.pullback(bar, wrt="controls", gradient=cy.FromDistance(0.12)).controls
        velocity = 0.8 * velocity + g / (np.linalg.norm(g) + 1e-12)
        controls = np.clip(controls - rate * velocity, -10, 10)
        rate *= 0.98
    assert loss < 0.01 * first


def test_systems_without_contacts_refuse_it():
    for system in (cy.systems.pendulum(), cy.load(RAIL, constraints=False)):
        with pytest.raises(cy.Error, match="contacts"):
            cy.rollout(system, system.initial_state(), 3, gradient=cy.FromDistance(0.1))
    with pytest.raises(cy.Error, match="width"):
        cy.load(RAIL, gradient=cy.FromDistance(-1.0))


def test_torch_and_jax_take_it_too():
    torch, jax = pytest.importorskip("torch"), pytest.importorskip("jax")
    import cycloid.jax as cyj
    import cycloid.torch as cyt

    system = cy.load(RAIL, dtype="float32", gradient=cy.FromDistance(0.2))
    x0, controls = np.float32([0, 0, 0.3, -0.1]), np.ones((30, 1), np.float32)
    run = cy.rollout(system, x0, controls, save="last")
    want = run.pullback(np.ones_like(run.states)).controls
    u = torch.tensor(controls, requires_grad=True)
    cyt.rollout(system, x0, u, save="last").sum().backward()
    assert np.array_equal(u.grad.numpy(), want)

    def total(u):
        return cyj.rollout(system, x0, u, save="last").sum()

    assert np.allclose(jax.grad(total)(controls), want, rtol=1e-6, atol=1e-9)


def test_the_reference_above_is_mujocos():
    model = mujoco.MjModel.from_xml_string(RAIL)
    assert np.allclose(model.geom_solref, [0.02, 1]) and np.allclose(
        model.geom_solimp[:, :2], [0.9, 0.95]
    )
    assert np.allclose(model.body_invweight0[1:, 0], [1, 0.5])
