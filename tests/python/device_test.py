"""`device=`: the same calls, kernels of a card run on this machine, and what is refused by name."""

import cycloid as cy
import numpy as np
import pytest

BALL = """<mujoco model="ball"> <worldbody> <geom name="floor" type="plane" size="5 5 1"/>
  <body pos="0 0 0.12"> <freejoint/> <geom name="shell" size="0.1" mass="1"/> </body>
  </worldbody> </mujoco>"""


def run_of(system, x0):
    run = cy.rollout(system, x0, 30)
    g = run.pullback(np.ones_like(run.states))
    return run.states, g.x0, g.params


def test_a_law_on_a_device_is_the_law():
    x0 = np.array([[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]])
    here = run_of(cy.systems.pendulum(), x0)
    there = run_of(cy.systems.pendulum(device="host"), x0)
    for a, b in zip(there, here, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)


def test_a_ball_that_lands_has_the_same_gradient_on_a_device():
    robots = [cy.load(BALL, device=device) for device in ("cpu", "host")]
    assert [robot.device for robot in robots] == ["cpu", "kernels on the host"]
    x0 = np.tile(robots[0].initial_state(), (3, 1))
    x0[:, 7:10] += [[0.1, 0, -1], [0, 0.2, -0.5], [0, 0, -2]]
    for here, there in zip(*(run_of(robot, x0) for robot in robots), strict=True):
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)


def test_every_law_runs_on_a_device_or_is_refused_by_name():
    refused = set()
    for name in (*cy.systems.names, "heat"):
        values = {"heat": ((3, 4), 1.0, 0.1), "spring_chain": (2,)}.get(name, ())
        try:
            system = getattr(cy.systems, name)(*values, device="host")
        except cy.ModelError as error:
            assert f"{name} has no device form" in str(error)
            refused.add(name)
        else:
            assert system.device == "kernels on the host"
    assert refused == {"bouncing_ball", "bead_on_curve", "rimless_wheel", "stick_slip"}


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_heat_on_a_device_is_that_of_the_cpu(slope):
    k = np.exp(np.random.default_rng(0).normal(size=(9, 7)))
    x0 = np.random.default_rng(1).random((2, 63))
    here, there = (
        cy.rollout(cy.systems.heat((9, 7), k, 0.5, slope, device=d), x0, 12, save=3)
        for d in ("cpu", "host")
    )
    np.testing.assert_allclose(there.states, here.states, rtol=1e-8)
    bar = np.random.default_rng(2).normal(size=here.states.shape)
    g, h = here.pullback(bar), there.pullback(bar)
    for a, b in ((h.x0, g.x0), (h.params, g.params)):
        assert np.abs(a - b).max() < 1e-8 * np.abs(b).max()
    np.testing.assert_array_equal(there.pullback(bar).params, h.params)


@pytest.mark.parametrize(
    "make, words",
    [
        *(
            (lambda make=getattr(cy.systems, name): make(device="host"), f"{name} has no device")
            for name in ("bouncing_ball", "bead_on_curve", "rimless_wheel", "stick_slip")
        ),
        (lambda: cy.systems.pendulum(integrator="euler", device="host"), "pendulum has no device"),
        (
            lambda: cy.load(BALL, gradient=cy.FromDistance(0.1), device="host"),
            "without gradients from a distance",
        ),
        (
            lambda: cy.load(BALL.replace('size="0.1"', 'type="ellipsoid" size="0.1 0.2 0.1"')
                            .replace('type="plane" size="5 5 1"', 'type="capsule" size="5 1"'),
                            device="host"),
            "contacts of a capsule .* with a ellipsoid",
        ),
    ],
)
def test_what_has_no_device_form_is_refused_by_name(make, words):
    with pytest.raises(cy.ModelError, match=words):
        make()


def test_devices_are_known_by_name():
    assert cy.devices()[0] == "cpu"
    with pytest.raises(cy.Error, match="device"):
        cy.systems.pendulum(device="gpu")
    if len(cy.devices()) == 1:
        with pytest.raises(cy.Error, match='device "cuda"'):
            cy.systems.pendulum(device="cuda")


def test_tensors_that_lie_on_the_device_have_the_gradient_of_those_that_are_copied():
    torch = pytest.importorskip("torch")
    import cycloid.torch as cyt
    from cycloid import _torch_device
    from cycloid._calls import RolloutCall

    pushed = BALL.replace("<freejoint/>", '<joint name="root" type="free"/>').replace(
        "</worldbody>",
        '</worldbody> <actuator> <motor joint="root" gear="0 0 1 0 0 0"/> </actuator>',
    )
    robot = cy.load(pushed, device="host", vary=["option.gravity"])
    gen = torch.Generator().manual_seed(3)
    start = torch.tensor(robot.initial_state()).expand(2, 3, -1)
    start = start + 0.05 * torch.randn(start.shape, generator=gen, dtype=start.dtype)
    force = torch.randn((3, 12, 1), generator=gen, dtype=start.dtype)
    params = torch.from_numpy(robot.parameters.default.copy()).expand(2, 1, -1).clone()
    weights = None
    results = []
    for there in (False, True):
        x, u, p = (t.clone().requires_grad_() for t in (start, force, params))
        if there:  # addresses of this machine: those of the kernels on it
            call = RolloutCall(robot, 0, ("every", [4]), ("auto", 0), 1, False, 0.0, False, [])
            states = _torch_device.roll_out(x, u, p, call)
        else:
            states = cyt.rollout(robot, x, u, p, save=4)
        if weights is None:
            weights = torch.randn(states.shape, generator=gen, dtype=states.dtype)
        (weights * states).sum().backward()
        results.append((states.detach(), x.grad, u.grad, p.grad))
    for name, here, there in zip(("states", "x0", "controls", "params"), *results, strict=True):
        assert here.shape == there.shape, name
        np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-11, err_msg=name)
        assert float(here.nan_to_num().abs().max()) > 0, name


PUSHED = BALL.replace("<freejoint/>", '<joint name="root" type="free"/>').replace(
    "</worldbody>", '</worldbody> <actuator> <motor joint="root" gear="0 0 1 0 0 0"/> </actuator>'
)


class Interface:
    """Nothing but the CUDA array interface, of an array that lies on this machine."""

    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape, "typestr": array.dtype.str, "strides": array.strides,
            "data": (array.ctypes.data, False), "stream": 1, "version": 3,
        }  # fmt: skip


def makers():
    """By name: from a NumPy array to one of a framework, and the type that must come back."""
    from cycloid._device_arrays import DeviceArray

    plain = cy.systems.pendulum(device="host")
    yield "device array", lambda a: DeviceArray.of(plain, a), DeviceArray
    yield "interface", Interface, DeviceArray
    torch = pytest.importorskip("torch")
    yield "torch", lambda a: torch.from_numpy(a.copy()), torch.Tensor
    jax = pytest.importorskip("jax")
    yield "jax", lambda a: jax.numpy.asarray(a, dtype=a.dtype.name), jax.Array


@pytest.mark.parametrize("name", ["device array", "interface", "torch", "jax"])
def test_arrays_on_the_device_stay_there_with_the_gradient_of_numpys(name):
    made = {n: (make, kind) for n, make, kind in makers()}
    make, kind = made[name]
    robot = cy.load(PUSHED, device="host", dtype="float32", vary=["option.gravity"])
    rng = np.random.default_rng(5)
    start = np.tile(robot.initial_state(), (2, 3, 1)) + 0.05 * rng.standard_normal((2, 3, 13))
    start = start.astype(np.float32)
    force = rng.standard_normal((3, 8, 1)).astype(np.float32)  # shared by the first axis
    gravity = rng.uniform(-10, -9, (2, 1, 3)).astype(np.float32)
    here = cy.rollout(robot, start, force, {"option.gravity": gravity}, save=4)
    bar = rng.standard_normal(here.states.shape).astype(np.float32)
    g_here = here.pullback(bar)

    there = cy.rollout(robot, make(start), make(force), {"option.gravity": make(gravity)}, save=4)
    assert isinstance(there.states, kind)
    np.testing.assert_array_equal(np.asarray(there.states), here.states)
    np.testing.assert_array_equal(there.steps, here.steps)
    np.testing.assert_allclose(there.times, here.times)
    g = there.pullback(make(bar))
    parts = {
        "x0": (g.x0, g_here.x0),
        "controls": (g.controls, g_here.controls),
        "gravity": (g.params["option.gravity"], g_here.params["option.gravity"]),
    }
    for part, (a, b) in parts.items():
        assert isinstance(a, kind), part
        assert np.abs(b).max() > 0, part
        np.testing.assert_allclose(np.asarray(a), b, rtol=2e-5, atol=1e-5, err_msg=part)
    first = force[:, 0].copy()
    stepped = cy.step(robot, make(start), make(first), {"option.gravity": gravity})
    assert isinstance(stepped, kind)
    np.testing.assert_array_equal(
        np.asarray(stepped), cy.step(robot, start, first, {"option.gravity": gravity})
    )


def test_one_start_on_the_device_is_that_of_all():
    torch = pytest.importorskip("torch")
    robot = cy.load(PUSHED, device="host")
    force = np.random.default_rng(2).standard_normal((4, 6, 1))
    here = cy.rollout(robot, robot.initial_state(), force)
    there = cy.rollout(robot, torch.from_numpy(robot.initial_state()), force)  # mixed
    np.testing.assert_array_equal(there.states.numpy(), here.states)
    bar = np.ones_like(here.states)
    a, b = there.pullback(torch.from_numpy(bar)), here.pullback(bar)
    assert a.x0.shape == (13,)
    np.testing.assert_allclose(a.x0.numpy(), b.x0, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(a.params[1:], b.params[1:], rtol=1e-9, atol=1e-9)


def test_arrays_on_the_device_are_read_where_they_lie():
    torch = pytest.importorskip("torch")
    system = cy.systems.pendulum(device="host")
    x = torch.tensor([[1.0, 0.0], [0.5, 0.2]], dtype=torch.float64)
    run = cy.rollout(system, x, 5)
    assert run._views[0].address == x.data_ptr()
    assert run.states.data_ptr() == run._made._address


def test_bad_arrays_on_the_device_are_refused():
    torch = pytest.importorskip("torch")
    system = cy.systems.pendulum(device="host")
    with pytest.raises(cy.Error, match=r"x0 must have shape"):
        cy.rollout(system, torch.zeros((2, 3), dtype=torch.float64), 5)
    with pytest.raises(cy.Error, match="x0 holds a number that is not finite"):
        cy.rollout(system, torch.tensor([float("nan"), 0.0], dtype=torch.float64), 5)
    with pytest.raises(cy.Error, match="times="):
        cy.rollout(system, torch.zeros(2, dtype=torch.float64), 5, times=[0.01])
    with pytest.raises(cy.Error, match="x0 lies on the device: it must be contiguous"):
        cy.rollout(system, Interface(np.zeros((4, 4))[:, ::2]), 5)
    run = cy.rollout(system, torch.zeros(2, dtype=torch.float64), 5)
    with pytest.raises(cy.Error, match="states_bar must be shaped like states"):
        run.pullback(torch.zeros(3))

    class OnACard:
        def __dlpack_device__(self):
            return 2, 0

        def __dlpack__(self, **options):
            raise AssertionError("nobody reads it")

    with pytest.raises(cy.Error, match="lies on a card"):
        cy.rollout(cy.systems.pendulum(), OnACard(), 5)


def test_an_array_of_another_precision_is_refused():
    jax = pytest.importorskip("jax")
    if jax.config.jax_enable_x64:
        pytest.skip("JAX has float64 here")
    with pytest.raises(cy.Error, match="x0 holds float32, and the System float64"):
        cy.rollout(cy.systems.pendulum(device="host"), jax.numpy.zeros(2), 5)


def test_the_first_row_of_a_jacobian_that_is_not_finite_is_named():
    torch = pytest.importorskip("torch")
    # g² dt³/6, of the second row, overflows before g² dt⁴/24, of the first.
    for gravity, name in ((5e157, "angular_velocity"), (1e200, "angle")):
        system = cy.systems.pendulum(gravity=gravity, device="host")
        x, u = torch.zeros((2, 2), dtype=torch.float64), torch.zeros((2, 1), dtype=torch.float64)
        with pytest.raises(cy.GradientError, match=f"environment 0, the derivative of {name} is"):
            cy.linearise(system, x, u)


def test_a_lone_action_on_the_device_says_where_states_lie():
    torch = pytest.importorskip("torch")
    system, u = cy.systems.pendulum(device="host"), torch.zeros(1, dtype=torch.float64)
    assert isinstance(cy.step(system, [0.1, 0.0], u), torch.Tensor)


@pytest.mark.parametrize("name", ["numpy", "device array", "interface", "torch", "jax"])
def test_jacobians_are_those_of_the_cpu_and_lie_where_the_arrays_do(name):
    made = {n: (make, kind) for n, make, kind in makers()} | {"numpy": (np.array, np.ndarray)}
    make, kind = made[name]
    # JAX has no float64 unless it is asked for.
    dtype, close = ("float32", 1e-4) if name == "jax" else ("float64", 1e-9)
    here = cy.load(PUSHED, vary=["option.gravity"])
    there = cy.load(PUSHED, device="host", dtype=dtype, vary=["option.gravity"])
    rng = np.random.default_rng(7)
    x = np.tile(here.initial_state(), (2, 3, 1)) + 0.05 * rng.standard_normal((2, 3, 13))
    x[0, :, 2] -= 0.03  # in contact
    u = rng.standard_normal((3, 1))  # shared by the first axis
    params = {"option.gravity": rng.uniform(-10, -9, (2, 1, 3))}
    wanted = cy.linearise(here, x, u, params, wrt=("x", "u"))
    found = cy.linearise(
        there, make(x.astype(dtype)), make(u.astype(dtype)), params, wrt=("x", "u")
    )
    for part in ("A", "B", "next"):
        a, b = getattr(found, part), getattr(wanted, part)
        assert isinstance(a, kind), part
        assert np.abs(b).max() > 0, part
        np.testing.assert_allclose(np.asarray(a), b, rtol=close, atol=close, err_msg=part)


def test_jacobians_by_parameters_come_from_the_cpu():
    here, there = (cy.load(PUSHED, device=d) for d in ("cpu", "host"))
    x = np.tile(here.initial_state(), (3, 1))
    a, b = (cy.linearise(s, x, wrt=("x", "params")) for s in (there, here))
    np.testing.assert_allclose(a.P, b.P, rtol=1e-12)
    torch = pytest.importorskip("torch")
    with pytest.raises(cy.Error, match="dense A and B"):
        cy.linearise(there, torch.from_numpy(x), wrt=("params",))


def test_a_step_on_the_device_that_is_not_finite_has_no_jacobian():
    torch = pytest.importorskip("torch")
    system = cy.systems.lorenz(dt=1e200, device="host")
    x = torch.tensor([[0.0, 0, 0], [1.0, 1, 1]], dtype=torch.float64)
    for start in (x, x.numpy()):
        with pytest.raises(cy.GradientError, match="environment 1"):
            cy.linearise(system, start)


def test_environments_on_the_device_advance_there():
    torch = pytest.importorskip("torch")
    robot = cy.load(PUSHED, device="host")
    x = np.tile(robot.initial_state(), (3, 1))
    u = np.array([[0.5], [-1.0], [2.0]])
    here = cy.advance(robot, x, u, 4)
    there = cy.advance(robot, torch.from_numpy(x), torch.from_numpy(u), 4)
    assert isinstance(there.states, torch.Tensor)
    np.testing.assert_array_equal(there.states.numpy(), here.states)
    with pytest.raises(cy.Error, match="names"):
        cy.advance(robot, torch.from_numpy(x), names=["qpos"])


SEEING = """<mujoco model="arm"> <option timestep="0.01"/> <worldbody>
  <body name="upper"> <joint name="shoulder" axis="0 1 0"/> <geom size="0.05" pos="0 0 -0.3"/>
    <body name="lower" pos="0 0 -0.6"> <joint name="elbow" axis="0 1 0"/>
      <geom size="0.04" pos="0 0 -0.3"/> <site name="hand" pos="0 0 -0.6"/> </body> </body>
  </worldbody> <actuator> <motor name="pull" joint="elbow" gear="2"/> </actuator>
  <sensor> <framepos name="place" objtype="site" objname="hand"/> <velocimeter name="speed"
    site="hand"/> <actuatorfrc name="force" actuator="pull"/> <accelerometer name="jerk"
    site="hand"/> <subtreecom name="centre" body="upper"/> <e_kinetic name="energy"/> </sensor>
  </mujoco>"""
SEEN = ["place", "speed", "force", "centre", "energy", "qvel", "xpos:lower"]


@pytest.mark.parametrize("name", ["device array", "torch"])
def test_arrays_on_the_device_are_observed_there(name):
    made = {n: (make, kind) for n, make, kind in makers()}
    make, kind = made[name]
    here, there = (cy.load(SEEING, device=d) for d in ("cpu", "host"))
    rng = np.random.default_rng(0)
    x, u = rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 1))
    wanted = cy.observe(here, x, u, names=SEEN)
    seen = cy.observe(there, make(x), make(u), names=SEEN)
    assert isinstance(seen.values, kind) and seen.names == wanted.names
    np.testing.assert_allclose(np.asarray(seen.values), wanted.values, rtol=1e-11, atol=1e-13)
    if name == "torch":
        np.testing.assert_allclose(np.asarray(seen["xpos:lower"]), wanted["xpos:lower"])
    with pytest.raises(cy.ModelError, match='"jerk" has no device form'):
        cy.observe(there, make(x), names=["place", "jerk"])
    with pytest.raises(cy.Error, match="gradients of observations are the CPU's"):
        seen.pullback(seen.values)
