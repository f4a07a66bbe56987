"""What Python adds: import, first gradient, first picture; 4096 pendulums against the same in C++.

`measure()` gives a dict of figures; run as a program, this prints it as JSON. The C++ side is the
case pendulum/4096x1000/float32 of build/bench/bench_laws (or of the folder CYCLOID_BENCH_FOLDER).
Both sides run in turn, one thread each, and the best of each counts.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCH = Path(os.environ.get("CYCLOID_BENCH_FOLDER", ROOT / "build" / "bench"))

CASE = "pendulum/4096x1000/float32"
BATCH, STEPS = 4096, 1000
ROUNDS = 7

IMPORT = """
import time
start = time.perf_counter()
import cycloid
print(time.perf_counter() - start)
"""
FIRST_GRADIENT = """
import cycloid as cy
run = cy.rollout(cy.systems.pendulum(), [1.0, 0.0], 200)
print(run.pullback([1.0, 0.0]).x0)
"""
FIRST_PICTURE = """
import tempfile
with tempfile.TemporaryDirectory() as folder:
    cy.view(run, folder + "/run.html", gradient=[1.0, 0.0])
"""


def import_seconds():
    """Of `import cycloid` in a fresh process, NumPy included: the median of eleven."""
    command = [sys.executable, "-c", IMPORT]
    times = [
        float(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(11)
    ]
    return sorted(times)[5]


def process_seconds(program):
    """From the start of a process to its end: the median of eleven."""
    times = []
    for _ in range(11):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return sorted(times)[5]


def cpp_seconds():
    """{"forward": s, "forward_backward": s}, the best of three."""
    output = subprocess.run(
        [BENCH / "bench_laws", f"--benchmark_filter=^{CASE}/", "--benchmark_format=json",
         "--benchmark_min_time=0.1", "--benchmark_repetitions=3"],
        check=True, capture_output=True, text=True,
    ).stdout
    rows = [r for r in json.loads(output)["benchmarks"] if r["run_type"] == "iteration"]
    assert len(rows) == 6, "bench_laws has no such case"
    return {
        kind: min(1e-3 * r["real_time"] for r in rows if r["run_name"] == f"{CASE}/{kind}")
        for kind in ("forward", "forward_backward")
    }


def python_seconds():
    """The same calls through Python, the best of as many."""
    import numpy as np

    import cycloid as cy

    system = cy.systems.pendulum(dtype="float32")
    x0 = system.initial_state() + 1e-3 * (np.arange(BATCH) % 97)[:, None]
    x0 = x0.astype(np.float32)
    bar = np.ones((BATCH, 1, 2), np.float32)

    def forward():
        return cy.rollout(system, x0, STEPS, save="last", threads=1)

    def best(call):
        times = []
        for _ in range(9):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        return min(times)

    return {"forward": best(forward), "forward_backward": best(lambda: forward().pullback(bar))}


def measure():
    """All figures. Held to: ratios 1.05, import 0.3 s, first gradient 0.5 s."""
    cpp, python = {}, {}
    for _ in range(ROUNDS):
        for best, seconds in ((cpp, cpp_seconds()), (python, python_seconds())):
            for kind, value in seconds.items():
                best[kind] = min(value, best.get(kind, value))
    return {
        "import_s": import_seconds(),
        "first_gradient_s": process_seconds(FIRST_GRADIENT),
        "first_picture_s": process_seconds(FIRST_GRADIENT + FIRST_PICTURE),
        "cpp_s": cpp,
        "python_s": python,
        "ratio": {kind: python[kind] / cpp[kind] for kind in cpp},
    }


if __name__ == "__main__":
    print(json.dumps(measure(), indent=1))
