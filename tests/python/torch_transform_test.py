"""torch.func through cycloid: vmap in any axes, per-sample gradients, Jacobians; one call of the
engine each. What there is not is refused in words."""

import itertools

import pytest
import torch
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

import cycloid as cy
import cycloid.torch as cyt

DOUBLE = torch.float64
SYSTEM = cy.systems.pendulum(damping=0.2, vary=("length", "damping"))
N, T = 6, 9
# Lanes and scalars agree to 1e-12 per step; these are 9 steps and back.
TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}


def make(axes, seed=0):
    """x0, controls, params, each with an axis of N where `axes` says, or without."""
    make = torch.Generator().manual_seed(seed)
    default = torch.tensor(SYSTEM.parameters.default)
    vary = torch.zeros(5, dtype=DOUBLE)
    vary[[0, 2]] = 1.0  # length, damping
    out = []
    for axis, shape in zip(axes, [(2,), (T, 1), (5,)]):
        full = shape if axis is None else (N, *shape)
        values = torch.rand(full, dtype=DOUBLE, generator=make)
        if len(out) == 2:
            values = default + 0.5 * vary * values
        out.append(values if axis is None else values.movedim(0, axis))
    return out


def one(arguments, axes, i):
    return [a if axis is None else a.select(axis, i) for a, axis in zip(arguments, axes)]


def loss(x, u, p):
    return cyt.rollout(SYSTEM, x, u, p, save=3).square().sum()


AXES = [a for a in itertools.product((None, 0, -1), (None, 1, -1), (None, 0, 1)) if any(
    axis is not None for axis in a)]


@pytest.fixture
def engine_calls(monkeypatch):
    calls = []
    run = cyt.RolloutCall._run

    def spy(call, x, u, p, memory):
        calls.append(x.shape)
        return run(call, x, u, p, memory)

    monkeypatch.setattr(cyt.RolloutCall, "_run", spy)
    return calls


@pytest.mark.parametrize("axes", AXES)
def test_vmap_equals_a_loop_and_is_one_call(axes, engine_calls):
    arguments = make(axes)
    got = vmap(lambda *a: cyt.rollout(SYSTEM, *a), axes)(*arguments)
    assert got.shape == (N, T + 1, 2) and len(engine_calls) == 1
    for i in range(N):
        torch.testing.assert_close(
            got[i], cyt.rollout(SYSTEM, *one(arguments, axes, i)), **TOLERANCE
        )


@pytest.mark.parametrize("axes", AXES)
def test_gradients_of_each_sample(axes, engine_calls):
    arguments = make(axes)
    got = vmap(grad(loss, (0, 1, 2)), axes)(*arguments)
    assert len(engine_calls) == 1
    for i in range(N):
        own = grad(loss, (0, 1, 2))(*one(arguments, axes, i))
        for part, expected in zip(got, own):
            assert expected.any()
            torch.testing.assert_close(part[i], expected, **TOLERANCE)


@pytest.mark.parametrize("axes", AXES[::5])
def test_gradient_of_a_vmapped_loss(axes):
    arguments = make(axes)
    got = grad(lambda *a: vmap(loss, axes)(*a).sum(), (0, 1, 2))(*arguments)
    leaves = [a.clone().requires_grad_() for a in arguments]
    sum(loss(*one(leaves, axes, i)) for i in range(N)).backward()
    for part, leaf in zip(got, leaves):
        torch.testing.assert_close(part, leaf.grad, **TOLERANCE)


def test_vmap_inside_vmap_and_over_a_batch():
    x, u, p = make((None, None, None))
    starts = torch.rand(3, 4, 5, 2, dtype=DOUBLE)  # of which the last but one is the user's batch
    got = vmap(vmap(grad(loss), (1, None, None)), (0, None, None))(starts.movedim(1, 2), u, p)
    expected = grad(loss)(starts, u, p)  # every environment has its own
    torch.testing.assert_close(got, expected, **TOLERANCE)


def test_jacobians_are_one_call_for_all_cotangents(engine_calls):
    arguments = make((None, None, None))

    def last(*a):
        return cyt.rollout(SYSTEM, *a, save="last")[0]

    got = jacrev(last, (0, 1, 2))(*arguments)
    assert [shape for shape in engine_calls] == [(2,), (2, 2)]  # forward; one lane per cotangent
    expected = torch.autograd.functional.jacobian(last, tuple(arguments))
    for part, reference in zip(got, expected):
        torch.testing.assert_close(part, reference, **TOLERANCE)


def test_jacobians_of_every_environment_are_those_of_linearise(engine_calls):
    x, u, p = make((0, 0, None))
    A, B = vmap(jacrev(lambda x, u: cyt.step(SYSTEM, x, u, p), (0, 1)))(x, u[:, 0])
    lin = cy.linearise(SYSTEM, x.numpy(), u[:, 0].numpy(), p.numpy())
    torch.testing.assert_close(A, torch.tensor(lin[0]), **TOLERANCE)
    torch.testing.assert_close(B, torch.tensor(lin[1]), **TOLERANCE)
    assert len(engine_calls) == 2


def test_vjp_may_be_called_again_and_vmapped():
    x, u, p = make((None, None, None))
    states, pull = vjp(lambda x: cyt.rollout(SYSTEM, x, u, p), x)
    bars = torch.eye(states.numel(), dtype=DOUBLE).reshape(-1, *states.shape)
    (rows,) = vmap(pull)(bars)
    for bar, row in zip(bars, rows):
        torch.testing.assert_close(pull(bar)[0], row, **TOLERANCE)


def test_parameters_that_may_not_vary_are_refused_by_name():
    x, u, p = make((None, None, None))
    many = p.repeat(3, 1)
    many[:, 1] += torch.arange(3)  # mass
    with pytest.raises(cy.ParameterError, match='"mass".*vary'):
        vmap(lambda p: cyt.rollout(SYSTEM, x, u, p))(many)


def test_sensors_can_be_vmapped():
    robot = cy.load(
        """<mujoco> <worldbody> <body name="arm"> <joint axis="0 1 0"/>
        <geom size="0.1" pos="0 0 -1" mass="1"/> <site name="tip" pos="0 0 -1"/> </body>
        </worldbody> <sensor> <accelerometer site="tip"/> </sensor> </mujoco>"""
    )
    x = torch.rand(4, 2, dtype=DOUBLE, generator=torch.Generator().manual_seed(5))
    masses = torch.tensor(1.3, dtype=DOUBLE)

    def seen(x, mass):
        return cyt.observe(robot, x, params={"body:arm.mass": mass, "option.gravity": [0, 0, -5]})

    got = vmap(jacrev(seen, (0, 1)), (0, None))(x, masses)
    for i in range(4):
        own = jacrev(seen, (0, 1))(x[i], masses)
        for part, expected in zip(got, own):
            torch.testing.assert_close(part[i], expected, **TOLERANCE)
    assert got[0].any()


def test_a_network_in_the_loop_has_gradients_of_each_sample():
    network = torch.nn.Linear(2, 1, dtype=DOUBLE)
    weights = dict(network.named_parameters())
    starts = torch.rand(5, 2, dtype=DOUBLE)

    def cost(weights, x):
        for _ in range(4):
            x = cyt.step(SYSTEM, x, functional_call(network, weights, (x,)))
        return x.square().sum()

    each = vmap(grad(cost), (None, 0))(weights, starts)
    for i in range(5):
        own = grad(cost)(weights, starts[i])
        for name in own:
            torch.testing.assert_close(each[name][i], own[name], **TOLERANCE)


X, U, P = make((None, None, None))


def differences(gradient, x, h=1e-4):
    rows = []
    for i in range(x.numel()):
        e = torch.zeros_like(x).view(-1)
        e[i] = 1
        e = e.view(x.shape)
        d = lambda h, e=e: (gradient(x + h * e) - gradient(x - h * e)) / (2 * h)
        rows.append(((4 * d(h / 2) - d(h)) / 3).reshape(-1))
    return torch.stack(rows)


def test_forward_mode_is_the_transpose_of_reverse_mode():
    gradient = jacrev(loss)(X, U, P)
    torch.testing.assert_close(jacfwd(loss)(X, U, P), gradient, rtol=1e-10, atol=1e-12)
    direction = torch.randn(X.shape, dtype=X.dtype, generator=torch.Generator().manual_seed(1))
    _, tangent = jvp(lambda x: loss(x, U, P), (X,), (direction,))
    torch.testing.assert_close(tangent, (gradient * direction).sum(), rtol=1e-10, atol=1e-12)
    assert abs(tangent) > 1e-6
    with torch.autograd.forward_ad.dual_level():
        dual = loss(torch.autograd.forward_ad.make_dual(X, direction), U, P)
        other = torch.autograd.forward_ad.unpack_dual(dual).tangent
    torch.testing.assert_close(other, tangent, rtol=1e-12, atol=1e-14)
    for number, argument in ((1, U), (2, P)):
        forward = jacfwd(loss, argnums=number)(X, U, P)
        torch.testing.assert_close(forward, jacrev(loss, argnums=number)(X, U, P))
        assert forward.abs().max() > 1e-9 and forward.shape == argument.shape


def twice_in_a_row(x):
    x = x.clone().requires_grad_()
    (g,) = torch.autograd.grad(loss(x, U, P), x, create_graph=True)
    rows = [torch.autograd.grad(n, x, retain_graph=True)[0].reshape(-1) for n in g.reshape(-1)]
    return torch.stack(rows)


@pytest.mark.parametrize(
    "second",
    [
        lambda x: hessian(loss)(x, U, P),
        lambda x: jacrev(jacrev(loss))(x, U, P),
        lambda x: jacrev(grad(loss))(x, U, P),
        twice_in_a_row,
    ],
    ids=["hessian", "jacrev of jacrev", "jacrev of grad", "create_graph"],
)
def test_second_derivatives_equal_differences(second):
    n = X.numel()
    H = second(X).reshape(n, n)
    wanted = differences(lambda x: grad(loss)(x, U, P), X)
    torch.testing.assert_close(H, wanted, rtol=1e-6, atol=1e-8)
    torch.testing.assert_close(H, H.T, rtol=1e-9, atol=1e-11)
    assert H.abs().max() > 1e-4


def test_vmap_of_jvp():
    directions = torch.randn(4, *X.shape, dtype=X.dtype, generator=torch.Generator().manual_seed(2))
    one = lambda v: jvp(lambda x: loss(x, U, P), (X,), (v,))[1]
    wanted = torch.stack([one(v) for v in directions])
    torch.testing.assert_close(vmap(one)(directions), wanted, rtol=1e-12, atol=1e-14)


def test_batched_gradients_are_refused_in_words():
    with pytest.raises(cy.GradientError, match=r"use torch\.func\.jacrev"):
        torch.autograd.functional.jacobian(lambda x: loss(x, U, P), X, vectorize=True)


def test_a_graph_of_the_gradient_may_be_made_if_it_is_not_used():
    x = X.clone().requires_grad_()
    (g,) = torch.autograd.grad(loss(x, U, P), x, create_graph=True)
    assert torch.equal(g, torch.autograd.grad(loss(x, U, P), x)[0])
