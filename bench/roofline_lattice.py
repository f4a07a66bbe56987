"""Lattice Boltzmann against the memory's bandwidth, in one run.

    python bench/roofline_lattice.py

prints one JSON object. A node moves 2 q numbers in a step: each population is read once and written
once. The roofline is what the same threads reach when they copy an array far larger than the caches
(read plus written bytes; the line that a write fetches first is counted for neither). "share": of
that bandwidth; "mlups": million nodes per second; "gradient": the way back over the forward run.
"""

import json
import os
import threading
import time

import numpy as np

import cycloid as cy
from turns import best_of

THREADS = len(os.sched_getaffinity(0))
COPIED = 2**27  # bytes for each thread
STEPS, BACK, ROUNDS = 30, 6, 4
# No powers of two: nineteen arrays a multiple of 4 KiB apart would share lines of the cache.
CASES = {"D2Q9": (1001, 1003), "D3Q19": (97, 95, 91)}


def copy_bandwidth(rounds):
    """Bytes per second, read plus written."""
    pairs = [(np.ones(COPIED // 8), np.zeros(COPIED // 8)) for _ in range(THREADS)]

    def copy():
        workers = [threading.Thread(target=np.copyto, args=(b, a)) for a, b in pairs]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    return 2 * COPIED * THREADS / best_of((copy,), rounds)[0]


def measure(shape, dtype, collision):
    flow = cy.fluid.lattice(shape, viscosity=0.02, dtype=dtype, collision=collision)
    q, nodes = len(flow.directions), int(np.prod(shape))
    wave = np.sin(2 * np.pi * flow.points[..., 0] / shape[0])
    x0 = flow.state(velocity=[0.0 * wave] * (len(shape) - 1) + [0.05 * wave])

    def run(steps, memory):
        return cy.rollout(flow, x0, steps, save="last", threads=THREADS, memory=memory)

    def back():
        trajectory = run(BACK, "all")
        began = time.perf_counter()
        trajectory.pullback(trajectory.states, wrt="x0")
        return time.perf_counter() - began

    # What a run costs besides its steps (copies of the start) falls out of the difference.
    short, long = best_of((lambda: run(2, 1), lambda: run(2 + STEPS, 1)), ROUNDS)
    forward, backward = (long - short) / STEPS, min(back() for _ in range(ROUNDS)) / BACK
    moved = 2 * q * np.dtype(dtype).itemsize * nodes
    return {"mlups": nodes / forward / 1e6, "bytes_per_s": moved / forward,
            "gradient": backward / forward}


if __name__ == "__main__":
    roof = copy_bandwidth(ROUNDS)
    result = {"threads": THREADS, "copy_bytes_per_s": roof}
    for name, shape in CASES.items():
        for dtype in ("float32", "float64"):
            for collision in ("bgk", "mrt"):
                one = measure(shape, dtype, collision)
                one["share"] = one["bytes_per_s"] / roof
                result[f"{name} {dtype} {collision}"] = one
    print(json.dumps(result, indent=1))
