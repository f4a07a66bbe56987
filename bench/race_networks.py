"""Networks: ours against PyTorch's, 2-200-200-1 in float32 on one core, and a policy in a step.

    python bench/race_networks.py

prints one JSON object. Both sides take turns, small batches ten calls in a row after one that
brings the weights back into the cache, and the best of each counts. "gradient": that of the output
by the input; "first": the same call alone, after one that took the caches; "step": one of training
on gradients, by double back-propagation and Adam; "six products": the time of six of torch's own
products (batch, 200) x (200, 200), which is what such a step multiplies, over our step. "policy":
what a policy with two layers of 64 adds to a step of 1024 humanoids in contact, over that step.
Gradients of both sides have to agree.
"""

import json

import numpy as np
import race_contact
import race_robots
import torch

import cycloid as cy
from turns import best_of

SIZES = (2, 200, 200, 1)
BATCHES = {750: (60, 1), 32: (40, 10), 1: (100, 10)}  # turns, and calls in a row
ROBOT, ENVIRONMENTS = "dm_control/humanoid", 1024
AGREE = 2e-4  # of float32 sums in another order, relative


def torch_network(net):
    layers = []
    for k in range(len(SIZES) - 1):
        layers += [torch.nn.Linear(SIZES[k], SIZES[k + 1]), torch.nn.Tanh()]
    model = torch.nn.Sequential(*layers[:-1])
    arrays = [torch.tensor(np.array(a)) for a in net.unpack().values()]
    with torch.no_grad():
        for p, a in zip(model.parameters(), arrays):
            p.copy_(a)
    return model


def race(batch, turns, in_a_row):
    random = np.random.default_rng(0)
    x = random.normal(size=(batch, 2)).astype("float32")
    target = random.normal(size=(batch, 2)).astype("float32")
    net = cy.networks.MLP(SIZES, seed=0, dtype="float32")
    trainer = cy.networks.GradientTrainer(net, learning_rate=1e-3)
    model = torch_network(net)
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    xt, target_t = torch.tensor(x, requires_grad=True), torch.tensor(target)
    a, b = torch.randn(batch, 200), torch.randn(200, 200)
    others = torch.randn(2**20)  # 4 MiB

    def torch_gradient():
        return torch.autograd.grad(model(xt).sum(), xt)[0]

    def torch_step():
        g = torch.autograd.grad(model(xt).sum(), xt, create_graph=True)[0]
        loss = ((g - target_t) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return loss

    def check(ours, theirs, what):
        off = np.abs(ours - theirs).max() / max(1e-3, np.abs(theirs).max())
        assert off < AGREE, f"{what}: off by {off:.2g}"

    check(net.gradient(x), torch_gradient().detach().numpy(), "gradient")
    for _ in range(3):
        ours, theirs = trainer.step(x, target, threads=1), float(torch_step().detach())
        check(np.array(ours), np.array(theirs), "loss")
    calls = (
        lambda: net.gradient(x),
        torch_gradient,
        lambda: trainer.step(x, target, threads=1),
        torch_step,
        lambda: torch.mm(a, b),
    )
    seconds = best_of(calls, turns, in_a_row, warm=1)
    ours_first, _, torch_first, _ = best_of((calls[0], others.sum, calls[1], others.sum), turns)
    return {
        "gradient_us": seconds[0] * 1e6,
        "torch_gradient_us": seconds[1] * 1e6,
        "gradient": seconds[1] / seconds[0],
        "first_us": ours_first * 1e6,
        "torch_first_us": torch_first * 1e6,
        "first": torch_first / ours_first,
        "step_us": seconds[2] * 1e6,
        "torch_step_us": seconds[3] * 1e6,
        "step": seconds[3] / seconds[2],
        "six_products": 6 * seconds[4] / seconds[2],
    }


def policy():
    model = race_contact.mujoco_model(ROBOT)
    contacts = race_contact.Contacts(model)
    states, _ = race_robots.start_states(model, ROBOT, ENVIRONMENTS, race_contact.RUN, contacts)
    system = cy.from_mujoco(model, dtype="float32")
    net = cy.networks.MLP((system.state_size, 64, 64, system.input_size), seed=0)
    closed = cy.close_loop(system, net)
    x = states.astype("float32")
    steps = 10
    calls = (
        lambda: cy.rollout(system, x, steps, save="last", threads=1),
        lambda: cy.rollout(closed, x, steps, save="last", threads=1),
        lambda: net(x),
    )
    open_, with_policy, _ = seconds = best_of(calls, 5)
    return {
        "step_us": open_ / steps / ENVIRONMENTS * 1e6,
        "with_policy_us": with_policy / steps / ENVIRONMENTS * 1e6,
        "network_us": seconds[2] / ENVIRONMENTS * 1e6,
        "policy_over_step": (with_policy - open_) / open_,
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    results = {str(batch): race(batch, *turns) for batch, turns in BATCHES.items()}
    results["policy"] = policy()
    print(json.dumps(results, indent=1))
