"""cycloid in compiled PyTorch: one graph without breaks, and the numbers of eager mode."""

import doctest
import gc
import os
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch
from fresh_process import PATIENCE, run_script
from torch.func import grad, jacrev, vmap
from torch.library import opcheck

import cycloid as cy
import cycloid.torch as cyt
from cycloid import _torch_function, _torch_ops
from cycloid._torch_tapes import TAPES

DOUBLE = torch.float64
SYSTEM = cy.systems.pendulum(damping=0.2, vary="length")
# Inductor generates code from the graph that AOTAutograd makes, and compiles it for a minute.
BACKEND = "inductor" if os.environ.get("CYCLOID_LONG_TESTS") else "aot_eager"


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


def compiled(function, backend=BACKEND, **options):
    return torch.compile(function, fullgraph=True, backend=backend, **options)


def inputs(batch=()):
    make = torch.Generator().manual_seed(0)
    x = torch.rand(*batch, 2, dtype=DOUBLE, generator=make).requires_grad_()
    u = torch.rand(8, 1, dtype=DOUBLE, generator=make).requires_grad_()
    length = torch.tensor(0.7, requires_grad=True)  # float32
    return x, u, length


def loss(x, u, length):
    """Of every kind of call, and of PyTorch before and after."""
    states = cyt.rollout(SYSTEM, torch.tanh(x), u, {"length": length}, save=2, memory="sqrt")
    more = cyt.rollout(SYSTEM, x, 5, save=[0, -1], memory=cy.Truncate(2), t0=1.0)
    between = cyt.rollout(SYSTEM, x, u, times=[0.013, 0.05])
    last = cyt.step(SYSTEM, states[..., -1, :], u[0])
    return (states.square().sum() + last.sin().sum() + more.sum() + between.sum()) * 0.5


def test_one_graph_has_the_loss_and_gradient_of_eager_mode(recomputed):
    tensors = inputs((3,))
    got = compiled(loss)(*tensors)
    expected = loss(*tensors)
    torch.testing.assert_close(got, expected, rtol=1e-14, atol=0)  # the sums of PyTorch
    gradients = torch.autograd.grad(got, tensors)
    assert recomputed == [False] * 4  # the tapes found their way
    for g, reference in zip(gradients, torch.autograd.grad(expected, tensors)):
        assert g.dtype == reference.dtype and reference.any()
        torch.testing.assert_close(g, reference, rtol=1e-14, atol=0)


def test_inductor_has_them_bit_for_bit_where_there_is_nothing_else_to_compile(recomputed):
    x, u, _ = inputs((3,))
    states = compiled(lambda x, u: cyt.rollout(SYSTEM, x, u), "inductor")(x, u)
    expected = cyt.rollout(SYSTEM, x, u)
    assert torch.equal(states, expected)
    bar = torch.ones_like(states)
    got, reference = (torch.autograd.grad(y, (x, u), bar) for y in (states, expected))
    assert recomputed == [False] * 2 and reference[0].any()
    assert all(torch.equal(a, b) for a, b in zip(got, reference))


@pytest.fixture
def recomputed(monkeypatch):
    """Of every backward, whether it had no tape."""
    seen = []
    pull_back = _torch_function.pull_back

    def spy(call, tape, *rest):
        seen.append(tape is None)
        return pull_back(call, tape, *rest)

    monkeypatch.setattr(_torch_function, "pull_back", spy)
    return seen


def test_a_system_may_be_an_argument_and_steps_and_batch_may_change():
    function = compiled(lambda system, x, T: cyt.rollout(system, x, T))
    for system in (SYSTEM, cy.systems.pendulum(length=3.0), cy.systems.double_pendulum()):
        for T in (3, 4, 5):
            x = torch.ones(T, system.state_size, dtype=DOUBLE)
            assert torch.equal(function(system, x, T), cyt.rollout(system, x, T))


def test_time_may_change_from_call_to_call():
    driven = cy.own_law(
        lambda x, u, p, t, dt: x + dt * np.sin(t)[:, None],
        lambda x, u, p, t, dt, bar: (bar, None, None),
        states={"x": 1},
    )
    x = torch.ones(3, 1, dtype=DOUBLE)

    def both(x, t):
        return cyt.rollout(driven, x, 4, t0=t)[:, -1] + cyt.step(driven, x, t=t)

    function = compiled(both)
    for t in (0.0, 0.5, 1.0, 1.5):
        assert torch.equal(function(x, t), both(x, t))
    assert not torch.equal(function(x, 0.0), function(x, 1.0))


def test_lists_numbers_and_arrays_of_numpy_compile_as_tensors_do():
    array = np.array([[0.1, 0.2], [0.3, 0.4]], dtype=np.float32)

    def last(x, length):
        first = cyt.rollout(SYSTEM, [0.5, 0.1], [[0.1], [0.2]], {"length": length, "mass": 2})
        second = cyt.rollout(SYSTEM, array, np.ones((3, 1)), SYSTEM.parameters.default)
        third = cyt.step(SYSTEM, x, [0.5], {"length": np.float64(0.3)})
        return first[..., -1, :] + second[:, -1] + third

    function, x = compiled(last), np.array([0.2, -0.1])
    for length in (0.5, 0.7, [0.6, 0.8]):
        assert torch.equal(function(x, length), last(x, length))
    weight = torch.tensor(0.5, requires_grad=True)
    function([0.2, -0.1], weight).sum().backward()
    assert weight.grad.abs() > 0


def test_a_policy_in_the_loop_is_one_graph():
    policy = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    system = cy.systems.pendulum(dtype="float32")

    def cost(x):
        for _ in range(3):
            x = cyt.step(system, x, policy(x), failed="skip")
        return x.square().mean()

    x = torch.rand(16, 2)
    compiled(cost)(x).backward()
    got = [p.grad for p in policy.parameters()]
    policy.zero_grad()
    cost(x).backward()
    for g, p in zip(got, policy.parameters()):
        torch.testing.assert_close(g, p.grad)


def test_sensors_in_a_graph():
    robot = cy.load(
        """<mujoco> <worldbody> <body name="arm"> <joint axis="0 1 0"/>
        <geom size="0.1" pos="0 0 -1" mass="1"/> <site name="tip" pos="0 0 -1"/> </body>
        </worldbody> <sensor> <accelerometer name="felt" site="tip"/> <clock name="time"/>
        </sensor> </mujoco>"""
    )
    x, mass = torch.rand(4, 2, dtype=DOUBLE, requires_grad=True), torch.tensor(2.0)

    def seen(x):
        return cyt.observe(robot, x, None, "felt", {"body:arm.mass": mass}, t=0.5).sin().sum()

    (got,) = torch.autograd.grad(compiled(seen)(x), x)
    torch.testing.assert_close(got, torch.autograd.grad(seen(x), x)[0])


def squares(x, length):
    return cyt.rollout(SYSTEM, x, 4, {"length": length}).square().sum()


@pytest.mark.parametrize(
    "function",
    [
        vmap(squares, (0, None)),
        vmap(grad(squares, (0, 1)), (0, None)),
        grad(lambda x, length: vmap(squares, (0, None))(x, length).sum(), (0, 1)),
        vmap(jacrev(lambda x, length: cyt.step(SYSTEM, x, None, {"length": length})), (0, None)),
    ],
    ids=["vmap", "vmap(grad)", "grad(vmap)", "vmap(jacrev)"],
)
def test_transforms_in_a_graph(function, recomputed):
    x = torch.rand(5, 2, dtype=DOUBLE, generator=torch.Generator().manual_seed(3))
    length = torch.tensor(0.6, dtype=DOUBLE)
    expected = function(x, length)
    eager = recomputed.copy()
    recomputed.clear()
    torch.testing.assert_close(compiled(function)(x, length), expected)
    assert recomputed == eager


def test_times_are_looked_at_in_every_call():
    x = inputs()[0]
    function = lambda x, times: cyt.rollout(SYSTEM, x, 8, times=times)
    run = compiled(function)
    for times in ([0.013, 0.05], [0.02, 0.051], (0.02, 0.07), [0.03]):
        assert torch.equal(run(x, times), function(x, times))
    for times in (np.array([0.01]), torch.tensor([0.01]), [torch.tensor(0.01)]):
        with pytest.raises(Exception, match="list of numbers where PyTorch compiles"):
            run(x, times)
    torch._dynamo.reset()
    broken = torch.compile(function, backend=BACKEND)  # a graph in pieces: the array is looked at
    for times in (np.array([0.01]), np.array([0.02])):
        assert torch.equal(broken(x, times), function(x, times))


OPERATORS = [
    (
        _torch_ops.rollout,
        # keep, system, steps, save, memory, threads, skip, times, t0, single
        lambda x, u, p: (x, u, p, True, SYSTEM._handle, 0, "every", [3], "auto", 0, 1, False)
        + ([], 0.0, False),
    ),
    (
        _torch_ops.rollout,
        lambda x, u, p: (x, None, None, False, SYSTEM._handle, 4, "last", [], "all", 0, 1, True)
        + ([], 0.0, False),
    ),
    (
        _torch_ops.rollout,
        lambda x, u, p: (x, u, p, True, SYSTEM._handle, 0, "all", [], "auto", 0, 1, False)
        + ([0.013, 0.05], 0.0, False),
    ),
]


@pytest.mark.parametrize("case", range(len(OPERATORS)))
def test_the_operators_keep_the_rules_of_operators(case):
    operator, arguments = OPERATORS[case]
    x, u, _ = inputs((3,))
    p = torch.tensor(SYSTEM.parameters.default, requires_grad=True)
    opcheck(operator, arguments(x, u, p))


def test_the_operators_of_sensors_and_gradients_keep_them_too():
    robot = cy.load(
        """<mujoco> <worldbody> <body name="arm"> <joint name="hinge" axis="0 1 0"/>
        <geom size="0.1" pos="0 0 -1" mass="1"/> </body> </worldbody>
        <sensor> <jointpos name="angle" joint="hinge"/> </sensor> </mujoco>"""
    )
    x = torch.rand(3, 2, dtype=DOUBLE, requires_grad=True)
    opcheck(_torch_ops.observe, (x, None, None, True, robot._handle, 1, ["angle"], 0.0))
    opcheck(_torch_ops.default_params, (robot._handle, robot.parameters.size))
    x, u, p = x.detach(), inputs()[1].detach(), torch.tensor(SYSTEM.parameters.default)
    bar, token = torch.ones(3, 1, 2, dtype=DOUBLE), torch.zeros(1, dtype=torch.int64)
    options = SYSTEM._handle, 0, "last", [], "auto", 0, 1, False, [], 0.0, False
    arguments = bar, x, u, p, token, [True, False, True], [3, 2], [8, 1], [5], *options
    opcheck(torch.ops.cycloid.rollout_pullback.default, arguments)
    options = robot._handle, 1, ["angle"], 0.0
    arguments = bar[:, 0, :1], x, None, None, token, [True, False, False], [3, 2], [], [], *options
    opcheck(torch.ops.cycloid.observe_pullback.default, arguments)


def test_a_graph_that_copies_the_token_has_the_same_gradient(recomputed):
    x, u, _ = inputs((3,))
    expected = torch.autograd.grad(cyt.rollout(SYSTEM, x, u).square().sum(), (x, u))

    def copy(tensor):
        return tensor.clone()

    with torch.autograd.graph.saved_tensors_hooks(copy, copy):
        states = cyt.rollout(SYSTEM, x, u)
    got = torch.autograd.grad(states.square().sum(), (x, u))
    assert recomputed == [False, True]
    assert all(torch.equal(a, b) for a, b in zip(got, expected))


def test_second_derivatives_are_refused_here_too():
    x, u, p = inputs()[0], inputs()[1], None
    options = True, SYSTEM._handle, 0, "all", [], "auto", 0, 1, False, [], 0.0, False
    states, _ = _torch_ops.rollout(x, u, p, *options)
    (g,) = torch.autograd.grad(states.square().sum(), x, create_graph=True)
    with pytest.raises(cy.GradientError, match="first derivatives .* not second"):
        g.sum().backward()


def test_a_system_that_is_no_more_is_named():
    handle = cy.systems.pendulum()._handle
    gc.collect()
    with pytest.raises(cy.Error, match=f"System with handle {handle} is no more: keep it"):
        _torch_ops.default_params(handle, 5)


def test_neither_handles_nor_graphs_keep_a_system_or_its_tapes():
    system = cy.systems.pendulum()
    x = torch.ones(2, requires_grad=True)
    function = compiled(lambda x: cyt.rollout(system, x, 5).sum())
    result = function(x)
    assert len(TAPES) == 1
    result.backward()
    assert len(TAPES) == 0
    for _ in range(10):
        result = function(x)  # without a backward
    assert len(TAPES) == 1
    del result
    gc.collect()
    assert (len(TAPES), TAPES.size) == (0, 0)
    with torch.no_grad():
        result = function(x)
        assert len(TAPES) == 0
    dead = weakref.ref(system)
    torch._dynamo.reset()
    del function, system
    gc.collect()
    assert dead() is None


def test_what_is_wrong_is_said_in_a_graph_too():
    with pytest.raises(Exception, match=r"x0 must have shape \(..., 2\)"):
        compiled(lambda x: cyt.rollout(SYSTEM, x, 4))(torch.zeros(3))
    with pytest.raises(Exception, match="x0 must be real numbers"):
        compiled(lambda: cyt.rollout(SYSTEM, np.array([1j, 0]), 4))()
    with pytest.raises(Exception, match='did you mean "last"'):
        compiled(lambda x: cyt.rollout(SYSTEM, x, 4, save="lost"))(torch.zeros(2))


def test_a_pytorch_without_the_private_names_does_what_it_documents():
    process = run_script(
        """
        system = cy.systems.pendulum()
        lengths = [torch.tensor(0.5, requires_grad=True) for _ in range(2)]
        def angle(length):
            states = cyt.rollout(system, [1.0, 0.0], 5, {"length": length}, memory=cy.Truncate(9))
            return states[-1, 0]
        angle(lengths[0]).backward()
        torch.compile(angle, fullgraph=True, backend="aot_eager")(lengths[1]).backward()
        print(lengths[0].grad == lengths[1].grad != 0, torch.func.grad(angle)(lengths[0]) != 0)
        """,
        before="""
import torch
torch.__version__ = torch.torch_version.TorchVersion("9.0.0")
hidden = [
    (torch._C, "_are_functorch_transforms_active"),
    (torch._C._functorch, "is_legacy_batchedtensor"),
    (torch.autograd.function, "_SingleLevelFunction"),
]
values = [getattr(owner, name) for owner, name in hidden]
for owner, name in hidden:
    delattr(owner, name)
import cycloid.torch as cyt
for (owner, name), value in zip(hidden, values):  # PyTorch uses them itself
    setattr(owner, name, value)
""",
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert out == "tensor(True) tensor(True)\n", err


def test_the_examples_of_the_page_are_true():
    page = Path(__file__).resolve().parents[2] / "docs" / "torch.md"
    test = doctest.DocTestParser().get_doctest(page.read_text(), {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner()
    runner.run(test, clear_globs=False)  # Dynamo refers to them
    assert (runner.failures, runner.tries > 15) == (0, True)
    torch._dynamo.reset()
