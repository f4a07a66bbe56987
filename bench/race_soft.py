"""Soft bodies at rest: ours against torch-fem, in double, on one thread.

    python bench/race_soft.py [--cells 34 24 6] [--calls 3] [--tasks stretch beam]

prints one JSON object. Two tasks, each peer in a process of its own, whose largest memory counts:

    stretch   a neo-Hookean box of 34 x 24 x 6 hexahedra (18,375 unknowns), both ends clamped, drawn
              to one and a half times its length in ten increments for torch-fem, as its solver
              wants it; the loss is the force at the end
    beam      a linear cantilever of 80 x 8 x 8 hexahedra (19,683 unknowns) under its weight; the
              loss is the drop of its end

and their gradients by Young's modulus of every cell. Processor seconds, the best of several calls;
losses and gradients have to agree. torch-fem 0.14.0 is not among the project's packages: install it
where PYTHONPATH finds it, without its torch (pip install --no-deps --target DIR torch-fem==0.14.0
meshio pyamg matplotlib). It draws with pyvista, which is not needed here.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from unittest.mock import MagicMock

import numpy as np

TASKS, PEERS = {"stretch": (34, 24, 6), "beam": (80, 8, 8)}, ("ours", "torch-fem")
YOUNG, POISSON, DENSITY, GRAVITY = 1000.0, 0.3, 1.0, 0.02
DRAWN = 0.5


def timed(call, calls):
    """The best processor seconds, and what it gave."""
    seconds, out = np.inf, None
    for _ in range(calls):
        begin = time.process_time()
        out = call()
        seconds = min(seconds, time.process_time() - begin)
    return seconds, out


def ours(task, cells, calls):
    import cycloid as cy

    size = (1.0, *(c / cells[0] for c in cells[1:]))
    mesh = cy.soft.box(cells, size)
    x = mesh.vertices
    left, right = x[:, 0] == 0, np.isclose(x[:, 0], 1)
    stretch = task == "stretch"
    young = np.full(len(mesh.cells), YOUNG)
    body = cy.soft.solid(
        mesh, "neo_hookean_log" if stretch else "linear", young=young, poisson=POISSON,
        density=DENSITY, pinned=np.flatnonzero(left | right if stretch else left),
        gravity=(0, 0, 0 if stretch else -GRAVITY), inputs=("pinned",),
    )
    held = left | right if stretch else left
    u = np.where(right[:, None] & (np.arange(3) == 0), DRAWN, 0.0)[held].ravel()
    u = u if stretch else np.zeros(body.input_size)

    def forward():
        rest = cy.soft.equilibrium(body, u=u, threads=1)
        if not stretch:
            return rest.state[2 : x.size : 3][right].mean() - x[right, 2].mean(), rest, None
        seen = cy.observe(body, rest.state, u, names=["reaction"], threads=1)
        return seen.values.reshape(-1, 3)[right, 0].sum(), rest, seen

    def gradient():
        value, rest, seen = forward()
        place = body.parameters.info("young")
        bar = np.zeros((2, *x.shape))
        bar[0, right] = (1, 0, 0) if stretch else (0, 0, 1 / right.sum())
        if not stretch:
            return value, rest.pullback(bar.ravel()).params[place.offset :][: place.size]
        direct = seen.pullback(bar[0].ravel())
        both = rest.pullback(direct.x).params + direct.params
        return value, both[place.offset :][: place.size]

    return (*timed(lambda: forward()[0], calls), *timed(gradient, calls))


def torch_fem(task, cells, calls):
    for name in ("pyvista", "pyvista.plotting", "pyvista.core", "vtk"):
        sys.modules[name] = MagicMock()
    import torch
    from torchfem import Solid
    from torchfem.materials import Hyperelastic3D, IsotropicElasticity3D
    from torchfem.mesh import cube_hexa

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    size = (1.0, *(c / cells[0] for c in cells[1:]))
    nodes, elements = cube_hexa(*(c + 1 for c in cells), *size)
    left, right = nodes[:, 0] == 0, torch.isclose(nodes[:, 0], torch.tensor(1.0))
    stretch = task == "stretch"

    def psi(F, p):
        J = torch.sum(F[..., 0, :] * torch.linalg.cross(F[..., 1, :], F[..., 2, :]), -1)
        lam, mu = p[..., 0], p[..., 1]
        first = torch.sum(F * F, dim=(-2, -1))
        return mu / 2 * (first - 3) - mu * torch.log(J) + lam / 2 * torch.log(J) ** 2

    def solve(young):
        lam = young * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
        mu = young / (2 * (1 + POISSON))
        material = (
            Hyperelastic3D(psi, torch.stack([lam, mu], -1)) if stretch
            else IsotropicElasticity3D(E=young, nu=torch.full_like(young, POISSON))
        )
        model = Solid(nodes, elements, material)
        model.constraints[left] = True
        if stretch:
            model.constraints[right] = True
            model.displacements[right, 0] = DRAWN
        else:
            weight = torch.zeros(len(nodes))
            each = DENSITY * float(np.prod(size)) / len(elements) / 8
            weight.index_add_(0, elements.ravel(), torch.full((elements.numel(),), each))
            model.forces[:, 2] = -GRAVITY * weight
        steps = torch.linspace(0, 1, 11 if stretch else 2)
        u, f, *_ = model.solve(
            increments=steps, differentiable_parameters=young if young.requires_grad else None,
            **({"nlgeom": True} if stretch and "nlgeom" in Solid.solve.__annotations__ else {}),
        )
        return f[right, 0].sum() if stretch else u[right, 2].mean()

    def gradient():
        young = torch.full((len(elements),), YOUNG, requires_grad=True)
        value = solve(young)
        value.backward()
        return float(value.detach()), young.grad.numpy()

    young = torch.full((len(elements),), YOUNG)
    return (*timed(lambda: float(solve(young)), calls), *timed(gradient, calls))


def one(who, task, cells, calls):
    forward, value, both, (again, gradient) = (ours if who == "ours" else torch_fem)(
        task, cells, calls)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"forward_s": forward, "gradient_s": both, "memory_MB": memory,
                      "value": float(value), "slope": float(np.sum(gradient))}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, nargs=3)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--one", nargs=2)
    given = parser.parse_args()
    if given.one:
        one(*given.one, tuple(given.cells), given.calls)
        return
    out = {}
    for task in given.tasks:
        cells = given.cells or TASKS[task]
        row = {"cells": cells}
        for who in PEERS:
            command = [sys.executable, __file__, "--one", who, task, "--calls", str(given.calls),
                       "--cells", *map(str, cells)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            row[who] = json.loads(done.stdout.splitlines()[-1])
        a, b = (row[who] for who in PEERS)
        for key in ("value", "slope"):
            if abs(a[key] - b[key]) > 1e-5 * abs(b[key]):
                raise SystemExit(f"{task}: {key} is {a[key]} here and {b[key]} there")
        row["times"] = {key: b[key] / a[key] for key in ("forward_s", "gradient_s", "memory_MB")}
        out[task] = row
    print(json.dumps(out, indent=1))


if __name__ == "__main__":
    main()
