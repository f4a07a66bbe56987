"""make bench: the race against peers, in one run on one machine.

Writes bench/results.json and bench/results.html and prints a table: what was held to, what came
out, what is missed first. Figures move with the machine; ratios are taken within the run. `--quick`
leaves out most peers and takes some minutes; `--repeat 3` tells the spread of three runs.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import python_overhead
import race_page

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench"


def say(text):
    print(text, file=sys.stderr, flush=True)


def laws(instruction_set=None):
    """Seconds per call of every case of bench_laws: {name: {"seconds", "label"}}."""
    environment = dict(os.environ)
    if instruction_set:
        environment["CYCLOID_INSTRUCTION_SET"] = instruction_set
    output = subprocess.run(
        [BUILD / "bench_laws", "--benchmark_format=json", "--benchmark_min_time=0.3",
         "--benchmark_repetitions=3"],
        env=environment, check=True, capture_output=True, text=True,
    ).stdout
    cases = {}
    for row in json.loads(output)["benchmarks"]:
        if row["run_type"] != "iteration":
            continue
        seconds = row["real_time"] * 1e-3
        best = cases.setdefault(row["run_name"], {"seconds": seconds, "label": row["label"]})
        best["seconds"] = min(best["seconds"], seconds)
    return cases


def available(instruction_set):
    environment = dict(os.environ, CYCLOID_INSTRUCTION_SET=instruction_set)
    return subprocess.run([BUILD / "bench_first_gradient"], env=environment,
                          capture_output=True).returncode == 0


def first_gradient():
    """Seconds from process start to exit, the median of eleven."""
    times = []
    for _ in range(11):
        start = time.perf_counter()
        subprocess.run([BUILD / "bench_first_gradient"], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return sorted(times)[5]


def per_step(cases, name, environments, steps):
    return cases[name]["seconds"] / (environments * steps)


def hold_robots(robots, held):
    """The figures of race_robots.py that are held to something."""
    figures = robots["dm_control/humanoid"]
    what = "humanoid without constraints"
    held(f"{what}, float32 lanes: MuJoCo / ours, forward", figures["forward x"], "x", 12, False)
    held(f"{what}, float32 lanes: MuJoCo's forward / ours, forward+backward",
         figures["forward+backward x"], "x", 6, False)
    held(f"{what}, float32 lanes: backward / forward", figures["backward / forward"], "x", 1.1,
         True)
    held(f"{what}, one in double: MuJoCo / ours", figures["one in double x"], "x", 2, False)
    held(f"{what}, linearise: one-sided mjd_transitionFD / ours", figures["linearise x"], "x", 20,
         False)
    for name, own in robots.items():
        if "linearise / Pinocchio" in own:
            held(f"{name}: linearise / Pinocchio's computeABADerivatives",
                 own["linearise / Pinocchio"], "x", 1, True)


def hold_contact(robots, held):
    """The figures of race_contact.py that are held to something."""
    figures = robots["dm_control/humanoid"]
    what = f"humanoid in contact ({figures['contacts']:.1f} contacts)"
    held(f"{what}, float32 lanes: MuJoCo / ours, forward", figures["forward x"], "x", 5, False)
    held(f"{what}, float32 lanes: MuJoCo's forward / ours, forward+backward",
         figures["forward+backward x"], "x", 3, False)
    held(f"{what}, float32 lanes: backward / forward", figures["backward / forward"], "x", 0.8,
         True)
    held(f"{what}, float32 lanes against double: change of velocity, 95th percentile",
         figures["agreement"]["velocity change"], "", 1e-4, True)
    held(f"{what}, float32 lanes against double: gradients of 20 steps with cosine 0.999",
         figures["agreement"]["gradient"], "", 0.9, False)
    held(f"{what}, one in double: ours / MuJoCo", 1 / figures["one in double x"], "x", 1.2, True)
    held(f"{what}, linearise: one-sided mjd_transitionFD / ours", figures["linearise x"], "x", 25,
         False)
    mjx = figures["MJX"]
    held(f"{what}, gradient: MJX / ours (its compile {mjx['compile_s']:.0f} s apart, "
         f"{mjx['finite']:.0%} of its gradients finite)", figures["MJX's gradient x"], "x", 20,
         False)


def hold_meshes(robots, held):
    """The figures of race_meshes.py that are held to something."""
    least = {"urdf/go2_description/go2": (4, 2), "urdf/panda_description/panda": (4, 2),
             "mjx/shadow_hand/scene_right": (3, None), "dm_control/quadruped": (4, None)}
    for name, (forward, both) in least.items():
        figures = robots[name]
        what = f"{name} with meshes or terrain ({figures['contacts']:.1f} contacts)"
        held(f"{what}, float32 lanes: MuJoCo / ours, forward", figures["forward x"], "x", forward,
             False)
        if both:
            held(f"{what}, float32 lanes: MuJoCo's forward / ours, forward+backward",
                 figures["forward+backward x"], "x", both, False)


def hold_stacks(scenes, held):
    """The figures of race_stacks.py that are held to something: many cost as many times one."""
    name, figures = list(scenes.items())[-1]
    for way in ("forward", "backward"):
        held(f"{name}, float32 lanes: {way} of a stack / of a stack alone",
             figures[f"{way} / stacks"], "x", 1.2, True)


def hold_plan(races, held):
    """The figures of race_plan.py that are held to something."""
    for name, bound in (("humanoid", 10), ("humanoid_CMU", 10), ("half_cheetah", 5)):
        held(f"{name}, an iteration of iLQR: on mjd_transitionFD / ours", races[name]["x"], "x",
             bound, False)
    if "arm" in races:
        held("an arm of seven joints, an iteration: ours / Crocoddyl's",
             races["arm"]["ours / crocoddyl"], "x", 1.5, True)


def hold_torch(figures, held):
    """The figures of race_torch.py that are held to something."""
    held("4096 humanoids in contact, 50 steps, forward+backward: torch / NumPy", figures["ratio"],
         "x", 1.15, True)
    held(f"first torch gradient of a humanoid from process start (import torch alone "
         f"{figures['import_torch_s']:.1f} s)", figures["first_gradient_s"], "s", 3, True)


def hold_gym(environments, held):
    """The figures of race_gym.py that are held to something: of the precision that is the default,
    and of the fast one.
    """
    for name, own in environments.items():
        for where, figures in own.items():
            for dtype in ("float64", "float32"):
                what = f"gym {name}, {dtype}, {where} ({figures['threads']})"
                held(f"{what}: mujoco.batch / ours", figures[f"{dtype}: mujoco.batch x"], "x", 2.5,
                     False)
                if f"{dtype}: AsyncVectorEnv x" in figures:
                    held(f"{what}: AsyncVectorEnv / ours", figures[f"{dtype}: AsyncVectorEnv x"],
                         "x", 5, False)


def hold_time(cases, held):
    """The figures of race_time.py that are held to something."""
    for name, own in cases.items():
        what = f"dopri5, {name}"
        held(f"{what}: SciPy's RK45 / ours, forward", own["scipy x"], "x", 20, False)
        held(f"{what}: diffrax's Dopri5 / ours, forward", own["diffrax x"], "x",
             0.5 if name.endswith("/1") else 1, False)
        held(f"{what}: diffrax's Dopri5 / ours, forward+backward (its compile "
             f"{own['diffrax']['gradient_compile_s']:.1f} s apart)", own["diffrax's gradient x"],
             "x", 2, False)


def hold_networks(results, held):
    """The figures of race_networks.py that are held to something."""
    aims = {"750": (1.3, 1.5), "32": (2.5, 4), "1": (15, 10)}
    for batch, (gradient, step) in aims.items():
        own, what = results[batch], f"network 2-200-200-1, float32, batch {batch}"
        held(f"{what}: torch / ours, gradient of the output", own["gradient"], "x", gradient, False)
        held(f"{what}: torch / ours, training step", own["step"], "x", step, False)
    held("network 2-200-200-1, float32, batch 750: six of torch's products / our training step",
         results["750"]["six_products"], "x", 0.6, False)
    held("1024 humanoids in lanes: a 64-64 policy / the step",
         results["policy"]["policy_over_step"], "x", 0.25, True)


def hold_learn(results, held):
    """The figures of race_learn.py that are held to something."""
    for name, least in (("spring", 2.5), ("spring, 1 row", 10), ("rollout", 10)):
        held(f"training of learned laws, {name}: torch / ours", results[name]["torch_over_ours"],
             "x", least, False)


def raced(script, *arguments):
    """The JSON object that a script of this folder prints last; peers may print lines before it."""
    said = subprocess.run([sys.executable, ROOT / "bench" / script, *arguments], check=True,
                          stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, OMP_NUM_THREADS="1")).stdout
    lines = said.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("{")]
    if not starts:
        raise ValueError(f"{script} printed no results, but: {said[-500:]!r}")
    return json.loads("\n".join(lines[starts[0]:]))


def hold_fluid(results, held):
    """The figures of race_fluid.py that are held to something."""
    for n, own in results.items():
        what = f"periodic Navier-Stokes {n} x {n}, float32, 100 steps"
        held(f"{what}: exponax / ours, forward", own["forward"], "x", 1.3, False)
        held(f"{what}: exponax / ours, loss and gradient", own["gradient"], "x", 1.5, False)
        held(f"{what}: loss and gradient / forward", own["over_forward"], "x", 2.5, True)


def hold_flows(results, held):
    """The figures of race_flows.py that are held to something."""
    for n in (128, 256):
        own = results[f"jax-cfd {n}"]
        what = f"periodic Navier-Stokes, float32, at jax-cfd's error on {n} x {n}"
        held(f"{what}: jax-cfd / ours, forward", own["forward"], "x", 5, False)
        held(f"{what}: jax-cfd / ours, loss and gradient", own["gradient"], "x", 5, False)
    for name in ("PhiFlow 128", "PhiFlow channel"):
        own = results[name]
        held(f"{name}, float32: PhiFlow / ours, forward", own["forward"], "x", 5, False)
        held(f"{name}, float32: PhiFlow / ours, loss and gradient", own["gradient"], "x", 5, False)


def hold_lattice(results, held):
    """The figures of roofline_lattice.py that are held to something."""
    for name, own in results.items():
        if isinstance(own, dict):
            held(f"lattice {name}: share of the bandwidth of a copy", own["share"], "", 0.5, False)


def hold_parameters(ways, held):
    """The figures of large_parameters.py that are held to something."""
    for way, figures in ways.items():
        held(f"a million shared parameters through {way}: memory over one copy",
             figures["bytes"] / 8e6, "x", 16, True)


def hold_identify(fit, held):
    """The figures of race_identify.py that are held to something."""
    what = f"identify, {fit['unknowns']} unknowns: SciPy / ours"
    held(f"{what}, time", fit["faster"], "x", 10, False)
    held(f"{what}, simulated steps", fit["fewer_steps"], "x", fit["steps_held_to"], False)
    held("identify: the two optima apart, in standard errors", fit["apart_in_std"], "", 0.1, True)
    if "sysid_seconds" not in fit:
        return
    what = f"identify, {fit['unknowns']} unknowns: mujoco.sysid / ours"
    held(f"{what}, time", fit["faster_than_sysid"], "x", 10, False)
    held(f"{what}, simulated steps", fit["fewer_steps_than_sysid"], "x", fit["steps_held_to"],
         False)
    held("identify: our optimum and that of mujoco.sysid apart, in standard errors",
         fit["sysid_apart_in_std"], "", 0.1, True)


def hold_diffrax(race, held):
    """The figures of race_diffrax.py, which has the peer's side alone."""
    ours = laws()
    for name, peer in race["cases"].items():
        mine = ours[f"{name.split(' ')[0]}/float64/forward_backward"]["seconds"]
        held(f"{name}: diffrax / ours, forward+backward (its compile "
             f"{peer['forward_backward']['compile_s']:.1f} s apart)",
             peer["forward_backward"]["seconds"] / mine, "x", 5, False)


# What is raced: title, key of results.json, script, what it is held to.
RACES = (
    ("how costs grow with batch, horizon, dofs, contacts and cells", "curves", "race_curves.py",
     lambda results, held: None),
    ("what PyTorch adds", "torch", "race_torch.py", hold_torch),
    ("networks, against PyTorch", "networks", "race_networks.py", hold_networks),
    ("training of learned laws, against PyTorch", "learn", "race_learn.py", hold_learn),
    ("robots without constraints, against MuJoCo and Pinocchio", "robots", "race_robots.py",
     hold_robots),
    ("robots in contact, against MuJoCo and MJX (compiles for minutes)", "contact",
     "race_contact.py", hold_contact),
    ("robots of meshes and on terrain, against MuJoCo", "meshes", "race_meshes.py", hold_meshes),
    ("a million parameters, through NumPy, PyTorch and JAX", "a million parameters",
     "large_parameters.py", hold_parameters),
    ("periodic flows, against exponax", "fluid", "race_fluid.py", hold_fluid),
    ("flows, against jax-cfd and PhiFlow (compiles for minutes)", "flows", "race_flows.py",
     hold_flows),
    ("lattice Boltzmann, against the memory", "lattice", "roofline_lattice.py", hold_lattice),
    ("separate stacks of boxes, against MuJoCo", "stacks", "race_stacks.py", hold_stacks),
    ("plans, against finite differences of MuJoCo and Crocoddyl", "plan", "race_plan.py",
     hold_plan),
    ("Gymnasium's environments, against mujoco.batch and AsyncVectorEnv", "gym", "race_gym.py",
     hold_gym),
    ("adaptive integrators, against SciPy and diffrax (compiles for a while)", "time",
     "race_time.py", lambda results, held: hold_time(results["cases"], held)),
    ("identification, against SciPy on MuJoCo's steps and mujoco.sysid", "identify",
     "race_identify.py", hold_identify),
    ("diffrax (compiles for a while)", "diffrax", "race_diffrax.py", hold_diffrax),
)
OF_QUICK = 3  # of them with --quick


def measure(quick):
    """All figures of one run, the rows that are held to something, and scripts that failed."""
    failed = []
    results = {"machine": {"cpu": platform.processor() or platform.machine(),
                           "cores": os.cpu_count()}, "laws": {}}
    rows = []

    def held(what, measured, unit, bound, at_most):
        ok = measured <= bound if at_most else measured >= bound
        rows.append({"what": what, "measured": measured, "unit": unit,
                     "held_to": f"{'<=' if at_most else '>='} {bound:g}", "ok": ok})

    goal = {"v4": 8, "v3": 5}
    sets = [name for name in ("v4", "v3") if available(name)]
    for name in goal:
        if name not in sets:
            say(f"bench: this machine has no {name}; left out")
            continue
        say(f"bench: laws, {name} ...")
        cases = results["laws"][name] = laws(name)
        lanes, scalar = "pendulum/4096x1000/float32", "pendulum/1x1000/float64"
        ratio = cases[f"{lanes}/forward_backward"]["seconds"] / cases[f"{lanes}/forward"]["seconds"]
        results.setdefault("forward_backward_over_forward", {})[name] = ratio
        if name == sets[0]:
            held(f"pendulum float32 lanes, {name}: forward+backward / forward", ratio, "x", 3, True)
        speed = (per_step(cases, f"{scalar}/forward", 1, 1000)
                 / per_step(cases, f"{lanes}/forward", 4096, 1000))
        held(f"pendulum float32 lanes vs scalar double, {name}", speed, "x", goal[name], False)

    say("bench: memory of a long run, first gradient ...")
    long_run = json.loads(subprocess.run([BUILD / "bench_long_run"], check=True,
                                         capture_output=True, text=True).stdout)
    results["long_run"] = long_run
    beyond = long_run["beyond"] / 1e6
    held("10^6 steps, beyond the inputs and their gradient", beyond, "MB", 16, True)
    results["first_gradient_s"] = first_gradient()
    held("first gradient from process start", results["first_gradient_s"], "s", 0.2, True)

    say("bench: what Python adds ...")
    python = results["python"] = python_overhead.measure()
    held("import cycloid", python["import_s"], "s", 0.3, True)
    held("first gradient through Python from process start", python["first_gradient_s"], "s", 0.5,
         True)
    held("first gradient and first picture through Python from process start",
         python["first_picture_s"], "s", 2, True)
    for kind, ratio in python["ratio"].items():
        held(f"pendulum float32 lanes, {kind}: Python / C++", ratio, "x", 1.05, True)

    for title, key, script, hold in RACES[: OF_QUICK if quick else None]:
        say(f"bench: {title} ...")
        try:
            size = ["--mjx", "60"] if quick else ["--full"]  # of the curves
            results[key] = raced(script, *(size if key == "curves" else []))
        except (subprocess.CalledProcessError, ValueError) as error:  # the other races count
            say(f"bench: {script} failed: {error}")
            failed.append(script)
            continue
        hold(results[key], held)

    return results, rows, failed


def with_spread(runs):
    """The rows of several runs as one: medians, with the least and the most."""
    merged = []
    for same in zip(*runs, strict=True):
        values = sorted(row["measured"] for row in same)
        row = dict(same[0], measured=values[len(values) // 2])
        side, bound = row["held_to"].split()
        row["ok"] = row["measured"] <= float(bound) if side == "<=" else (
            row["measured"] >= float(bound))
        if len(values) > 1:
            row["spread"] = [values[0], values[-1]]
        merged.append(row)
    return merged


def tell(rows):
    """What is missed comes first."""
    width = max(len(r["what"]) for r in rows)
    for r in sorted(rows, key=lambda row: row["ok"]):
        between = "  ({:.3g} … {:.3g})".format(*r["spread"]) if "spread" in r else ""
        print(f"{r['what']:<{width}}  {r['measured']:9.3g} {r['unit']:<2}  {r['held_to']:<7} "
              f"{'met' if r['ok'] else 'MISSED'}{between}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     epilog="example: .venv/bin/python bench/run.py --quick")
    parser.add_argument("--quick", action="store_true", help="leave out most peers")
    parser.add_argument("--repeat", type=int, default=1, help="runs, whose spread is told")
    options = parser.parse_args()
    if not (BUILD / "bench_laws").exists():
        sys.exit("bench: build/bench/bench_laws is missing; `make bench` builds it first")

    runs = [measure(options.quick) for _ in range(max(1, options.repeat))]
    results, _, failed = runs[-1]
    whole = [rows for _, rows, lost in runs if not lost] or [runs[-1][1]]
    results["held_to"] = with_spread(whole)
    (ROOT / "bench" / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (ROOT / "bench" / "results.html").write_text(race_page.page(results))
    tell(results["held_to"])
    print("written: bench/results.json, bench/results.html")
    if failed:
        sys.exit(f"bench: not raced: {', '.join(failed)}")


if __name__ == "__main__":
    main()
