"""What cycloid.torch keeps, and how long: a tape lives as long as the graph that needs it."""

import gc
import multiprocessing
import os
import threading

import pytest
import torch
from fresh_process import PATIENCE, run_script
from torch.utils.data import DataLoader, Dataset

import cycloid as cy
import cycloid.torch as cyt
from cycloid import _torch_function
from cycloid._torch_tapes import TAPES, Tapes

SYSTEM = cy.systems.pendulum(damping=0.2)
X = torch.tensor([1.0, 0.2], dtype=torch.float64)


@pytest.fixture(autouse=True)
def nothing_is_left():
    gc.collect()
    assert (len(TAPES), TAPES.size) == (0, 0)
    yield
    gc.collect()
    assert (len(TAPES), TAPES.size) == (0, 0)


def start():
    return X.clone().requires_grad_()


def test_a_tape_lives_until_the_backward():
    loss = cyt.rollout(SYSTEM, start(), 5).sum()
    assert len(TAPES) == 1 and TAPES.size > 0
    loss.backward()
    assert len(TAPES) == 0  # though the graph's nodes are still there


def test_a_tape_lives_as_long_as_a_graph_that_is_retained():
    x = start()
    loss = cyt.rollout(SYSTEM, x, 5).sum()
    loss.backward(retain_graph=True)
    first = x.grad.clone()
    assert len(TAPES) == 1
    x.grad = None
    loss.backward(retain_graph=True)
    assert torch.equal(x.grad, first)
    del loss


def test_a_tape_dies_with_its_graph_without_a_backward():
    states = cyt.rollout(SYSTEM, start(), 5)
    loss = states.sum()
    del states
    assert len(TAPES) == 1
    del loss
    assert len(TAPES) == 0


def test_chunks_of_a_long_run_each_keep_theirs():
    x = state = start()
    for _ in range(4):
        state = cyt.rollout(SYSTEM, state, 5, save="last")[0]
    assert len(TAPES) == 4
    state.sum().backward()
    whole = start()
    cyt.rollout(SYSTEM, whole, 20, save="last").sum().backward()
    torch.testing.assert_close(x.grad, whole.grad, rtol=1e-13, atol=0)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_without_gradients_there_is_no_tape(mode, monkeypatch):
    kept = []
    forward = cyt.RolloutCall.forward

    def spy(call, x, u, p, keep):
        states, tape = forward(call, x, u, p, keep)
        kept.append((keep, tape.report.tape_bytes))
        return states, tape

    monkeypatch.setattr(cyt.RolloutCall, "forward", spy)
    x = start()
    with mode():
        states = cyt.rollout(SYSTEM, x, 1000)
        assert len(TAPES) == 0
    assert torch.equal(states, cyt.rollout(SYSTEM, x, 1000).detach())
    cyt.rollout(SYSTEM, x.detach(), 1000)  # wants none
    assert [keep for keep, _ in kept] == [False, True, False]
    assert kept[0][1] <= 2 * X.nbytes < kept[1][1]


def test_transforms_leave_no_tape():
    torch.func.vmap(torch.func.grad(lambda x: cyt.rollout(SYSTEM, x, 5).sum()))(X.repeat(3, 1))
    torch.func.vmap(lambda x: cyt.rollout(SYSTEM, x, 5))(X.repeat(3, 1))
    torch.func.jacrev(lambda x: cyt.rollout(SYSTEM, x, 5))(X)


def test_beyond_the_limit_the_oldest_tape_goes_and_the_gradient_stays(monkeypatch):
    xs = [X.clone().mul_(k).requires_grad_() for k in (1, 2, 3)]
    expected = [torch.autograd.grad(cyt.rollout(SYSTEM, x, 50).sum(), x)[0] for x in xs]
    one = cyt.rollout(SYSTEM, xs[0], 50)
    tapes = Tapes(limit=2 * TAPES.size)
    del one
    monkeypatch.setattr(_torch_function, "TAPES", tapes)
    losses = [cyt.rollout(SYSTEM, x, 50).sum() for x in xs]
    assert len(tapes) == 2 and tapes.size <= tapes.limit
    for x, loss, reference in zip(xs, losses, expected):
        assert torch.equal(torch.autograd.grad(loss, x)[0], reference)
    assert len(tapes) == 0


def test_a_tape_larger_than_the_limit_is_not_kept(monkeypatch):
    tapes = Tapes(limit=10)
    monkeypatch.setattr(_torch_function, "TAPES", tapes)
    x = start()
    loss = cyt.rollout(SYSTEM, x, 5).sum()
    assert len(tapes) == 0
    loss.backward()
    assert x.grad.all()


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_calls_with_and_without_backward_leave_nothing_behind():
    x = torch.ones(64, 2, requires_grad=True)

    def round_of_calls():
        cyt.rollout(SYSTEM, x, 50)
        cyt.rollout(SYSTEM, x, 50).sum().backward()
        length = torch.tensor(0.5, requires_grad=True)
        cyt.step(SYSTEM, x, None, {"length": length}).sum().backward()
        x.grad = None

    for _ in range(50):
        round_of_calls()
    gc.collect()
    before, rounds = resident_bytes(), 400
    for _ in range(rounds):
        round_of_calls()
    gc.collect()
    # The states of one call, or its tape, take 50 kB and more.
    assert resident_bytes() - before < 5000 * rounds


def test_states_are_the_users_own_memory():
    x = start()
    states = cyt.rollout(SYSTEM, x, 5)
    loss = states.square().sum()
    with torch.no_grad():
        expected = torch.autograd.grad(loss, x, retain_graph=True)[0]
        cut = cyt.rollout(SYSTEM, x, 5)
        cut.zero_()  # changes no tape, and no other result
    assert torch.equal(torch.autograd.grad(loss, x)[0], expected)
    states = cyt.rollout(SYSTEM, x, 5)
    states.data.zero_()  # behind autograd's back: of `states` the tape knows nothing
    assert torch.equal(torch.autograd.grad((states * cut).sum() + states.sum(), x)[0],
                       torch.autograd.grad(cyt.rollout(SYSTEM, x, 5).sum(), x)[0])
    states = cyt.rollout(SYSTEM, x, 5)
    states *= 2  # before autograd's eyes
    twice = torch.autograd.grad(states.sum(), x)[0]
    once = torch.autograd.grad(cyt.rollout(SYSTEM, x, 5).sum(), x)[0]
    assert torch.equal(twice, 2 * once)


def test_inputs_that_change_before_the_backward_are_autograds_to_refuse():
    x = X.clone()
    u = torch.zeros(5, 1, dtype=torch.float64, requires_grad=True)
    states = cyt.rollout(SYSTEM, x, u)
    x.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        states.sum().backward()


def test_results_share_no_memory_with_what_was_given():
    x = X.repeat(3, 1).requires_grad_()
    states = cyt.rollout(SYSTEM, x, 5)
    bar = torch.ones_like(states)
    (g,) = torch.autograd.grad(states, x, bar)
    addresses = {t.untyped_storage().data_ptr() for t in (x, states, bar, g)}
    assert len(addresses) == 4


def test_several_threads_at_once():
    expected = {}
    for k in range(1, 5):
        x = (k * X).requires_grad_()
        cyt.rollout(SYSTEM, x, 200).sum().backward()
        expected[k] = x.grad
    wrong = []

    def work(k):
        for _ in range(20):
            x = (k * X).requires_grad_()
            cyt.rollout(SYSTEM, x, 200).sum().backward()
            if not torch.equal(x.grad, expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


class Runs(Dataset):
    """Simulated in the workers of a DataLoader, gradients included."""

    def __len__(self):
        return 8

    def __getitem__(self, i):
        x = (X + 0.1 * i).requires_grad_()
        states = cyt.rollout(SYSTEM, x, 10)
        states.sum().backward()
        return states.detach(), x.grad


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_the_workers_of_a_data_loader_simulate():
    cyt.rollout(SYSTEM, X.repeat(200, 1).requires_grad_(), 10, threads=2).sum().backward()
    loader = DataLoader(Runs(), batch_size=4, num_workers=2, multiprocessing_context="fork")
    states, gradients = (torch.cat(parts) for parts in zip(*loader))
    for i in range(8):
        own = Runs()[i]
        assert torch.equal(states[i], own[0]) and torch.equal(gradients[i], own[1])


WITHOUT = """
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name="torch")
import sys
sys.meta_path.insert(0, Nothing())
"""


def test_without_torch_cycloid_works_and_says_what_to_install():
    process = run_script(
        """
        print(cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 3).states.shape)
        try:
            import cycloid.torch
        except ImportError as error:
            print(error, error.name)
        """,
        before=WITHOUT,
    )
    out, err = process.communicate(timeout=PATIENCE)
    assert (err, out.splitlines()) == (
        "",
        [
            "(4, 2)",
            "this part of cycloid needs torch, which is not installed: pip install torch torch",
        ],
    )


def test_importing_it_does_not_import_the_compiler():
    process = run_script(
        """
        import sys
        import cycloid.torch as cyt
        cyt.rollout(cy.systems.pendulum(), np.ones((3, 2)), 3)
        print([name for name in sys.modules if name.split(".")[:2] == ["torch", "_dynamo"]])
        """
    )
    assert process.communicate(timeout=PATIENCE)[0] == "[]\n"
