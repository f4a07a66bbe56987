"""Training of learned laws: ours against PyTorch's for the same recipe, float32 on one core.

    python bench/race_learn.py

prints one JSON object: seconds of CPU time of both sides, which take turns, and their ratio.
"spring": a Hamiltonian 2-200-200-1 on 750 derivatives, full batches, Adam, as in the paper;
"spring, 32 rows" and "spring, 1 row": the same recipe where batches are small.
"rollout": a neural ODE 2-64-64-2 through 20 steps of RK4, 32 windows in a batch. Both sides begin
at the same weights, and their first losses have to agree.
"""

import json
import time

import numpy as np
import torch

import cycloid as cy

AGREE = 1e-3


def model_of(law, prefix, sizes):
    """The same network in torch."""
    layers = []
    for k in range(len(sizes) - 1):
        layers += [torch.nn.Linear(sizes[k], sizes[k + 1]), torch.nn.Tanh()]
    model = torch.nn.Sequential(*layers[:-1])
    with torch.no_grad():
        for k, layer in enumerate(model[::2]):
            layer.weight.copy_(torch.tensor(law.parameters[f"{prefix}.weight{k}"]))
            layer.bias.copy_(torch.tensor(law.parameters[f"{prefix}.bias{k}"]))
    return model


def torch_training(model, loss_of, steps):
    """Losses, and CPU seconds."""
    optimiser = torch.optim.Adam(model.parameters(), 1e-3)
    begin, losses = time.process_time(), []
    for _ in range(steps):
        loss = loss_of(model)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses, time.process_time() - begin


def our_training(law, data, steps, **options):
    begin = time.process_time()
    run = cy.learn.train(law, data, steps=steps, threads=1, validate_every=1, **options)
    return run.history["loss"], time.process_time() - begin


def compared(ours, theirs, rounds=3):
    best = [np.inf, np.inf]
    for _ in range(rounds):
        for side, call in enumerate((ours, theirs)):
            losses, seconds = call()
            best[side] = min(best[side], seconds)
            if side == 0:
                first = losses[0]
            else:
                assert abs(first - losses[0]) < AGREE * abs(first), (first, losses[0])
    return {"ours_s": best[0], "torch_s": best[1], "torch_over_ours": best[1] / best[0]}


def spring(rows=750, steps=60):
    x = np.random.default_rng(0).normal(size=(rows, 2)).astype("float32")
    rates = np.stack([2 * x[:, 1], -2 * x[:, 0]], axis=1)
    law = cy.learn.hamiltonian(1, hidden=(200, 200), dtype="float32")
    data = cy.learn.Derivatives(x, rates)
    xt, target = torch.tensor(x, requires_grad=True), torch.tensor(rates)

    def loss_of(model):
        g = torch.autograd.grad(model(xt).sum(), xt, create_graph=True)[0]
        return ((torch.stack([g[:, 1], -g[:, 0]], 1) - target) ** 2).mean()

    return compared(
        lambda: our_training(law, data, steps),
        lambda: torch_training(model_of(law, "hamiltonian", (2, 200, 200, 1)), loss_of, steps),
    )


def rollout(steps=40, horizon=20, windows=32):
    truth = cy.systems.pendulum(dt=0.05)
    data = cy.learn.record(
        truth, lambda rng, n: rng.uniform(-1, 1, (n, 2)), horizon, runs=windows
    )
    law = cy.learn.neural_ode(2, hidden=(64, 64), dt=0.05, dtype="float32")
    true = torch.tensor(np.stack([r.values for r in data]), dtype=torch.float32)

    def loss_of(model):
        x, h, loss = true[:, 0], 0.05, 0.0
        for t in range(horizon):
            a = model(x)
            b = model(x + h / 2 * a)
            c = model(x + h / 2 * b)
            x = x + h / 6 * (a + 2 * b + 2 * c + model(x + h * c))
            loss = loss + ((x - true[:, t + 1]) ** 2).mean()
        return loss / horizon

    return compared(
        lambda: our_training(law, data, steps, horizon=horizon),
        lambda: torch_training(model_of(law, "neural_ode", (2, 64, 64, 2)), loss_of, steps),
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    results = {
        "spring": spring(),
        "spring, 32 rows": spring(32, 300),
        "spring, 1 row": spring(1, 300),
        "rollout": rollout(),
    }
    print(json.dumps(results, indent=1))
