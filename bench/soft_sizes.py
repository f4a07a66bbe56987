"""How a step of a soft body and its gradient grow with the body: time, iterations, memory.

    python bench/soft_sizes.py [--cells 8 16 32] [--solver direct iterative] [--json]

A cube of n x n x n neo-Hookean hexahedra (stable), 1 m, young 1e5 Pa, density 1000 kg/m³, its left
face held, sags for one step of 10 ms of implicit Euler from a state that moves; then one pullback.
Each size is a process of its own, so that its peak memory is its own; times are the process's CPU
time, which other load does not lengthen much.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time


def measure(cells: int, solver: str) -> dict[str, object]:
    import numpy as np

    import cycloid as cy

    clock = time.process_time
    begin = clock()
    mesh = cy.soft.box((cells,) * 3, (1.0, 1.0, 1.0))
    left = np.flatnonzero(mesh.vertices[:, 0] == 0)
    body = cy.soft.solid(mesh, young=1e5, pinned=left, linear_solver=solver)
    built = clock()
    x = body.initial_state()
    half = len(x) // 2
    x[half:] = (0.5 * mesh.vertices[:, :1] * (0.0, 1.0, 1.0)).ravel()
    run = cy.rollout(body, x, 1, save="last", memory="all")
    stepped = clock()
    bar = np.zeros_like(run.states)
    bar[0, half - 1] = 1
    g = run.pullback(bar)
    done = clock()
    assert not run.report.unsolved and not run.report.failed
    counters = run.report.counters
    return {
        "cells": cells,
        "unknowns": half,
        "solver": "iterative" if "linear_iterations" in counters else "direct",
        "build_s": round(built - begin, 2),
        "step_s": round(stepped - built, 2),
        "pullback_s": round(done - stepped, 2),
        "iterations": counters["iterations"],
        "linear_iterations": counters.get("linear_iterations", 0),
        "gradient": float(np.linalg.norm(g.x0)),
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, nargs="+", default=[8, 16, 32])
    parser.add_argument("--solver", nargs="+", default=["direct", "iterative"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--alone", action="store_true", help="in this process")
    args = parser.parse_args()
    if args.alone:
        print(json.dumps(measure(args.cells[0], args.solver[0])))
        return
    for cells in args.cells:
        for solver in args.solver:
            command = [sys.executable, __file__, "--alone", "--cells", str(cells)]
            out = subprocess.run(
                [*command, "--solver", solver], check=True, capture_output=True, text=True
            ).stdout
            row = json.loads(out.splitlines()[-1])
            if args.json:
                print(json.dumps(row), flush=True)
                continue
            print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
