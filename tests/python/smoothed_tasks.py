"""Ten tasks, smooth and not: how far three estimates of a smoothed gradient are from the truth.

    python tests/python/smoothed_tasks.py [SEEDS] [SAMPLES]

The truth is the gradient of a mean over noise on the inputs, by zeroth order with very many
samples. Of each order the error's root mean square over seeds is printed, relative to the truth's
norm. Where a contact makes a loss step, the first order misses it; where the loss is smooth, the
zeroth is noisy; the mix is never worse than 1.2 times the better of the two.
"""

import sys

import numpy as np

import cycloid as cy

def robot(body, options="", motor='joint="j" ctrlrange="-1 1"', world=""):
    return cy.load(f"""<mujoco> <option timestep="0.01" {options}/> <worldbody> {world} {body}
        </worldbody> <actuator> <motor {motor}/> </actuator> </mujoco>""")


def slider(damping=1.0, more=""):
    return f"""<body pos="0 0 0.1"> <joint name="j" type="slide" axis="1 0 0" damping="{damping}"
        {more}/> <geom type="sphere" size="0.05" mass="1"/> </body>"""


BLOCK = """<body pos="{} 0 0.1"> <joint type="slide" axis="1 0 0" damping="4"/>
    <geom type="box" size="0.05 0.05 0.05" mass="1"/> </body>"""
ROUGH = """<body pos="0 0 0.05"> <joint name="j" type="slide" axis="1 0 0" frictionloss="1"/>
    <geom type="sphere" size="0.04" mass="1"/> </body>"""
WALL = '<geom type="box" pos="0.3 0 0.1" size="0.05 0.5 0.5"/>'
FLOAT = 'gravity="0 0 0"'

# name: system, start, inputs, which number of the last state counts, sigma
pendulum, double = cy.systems.pendulum(dt=0.05), cy.systems.double_pendulum(dt=0.02)
limited = robot(slider(0, 'range="-0.1 0.1" limited="true"'), FLOAT)
wall = robot(slider(0), FLOAT, world=WALL)
near, far = (robot(slider() + BLOCK.format(x), FLOAT) for x in (0.103, 0.16))
clamped = robot(slider(), FLOAT, motor='joint="j" ctrlrange="-1 1" gear="3"')
hinge = robot("""<body pos="0 0 1"> <joint name="j" axis="0 1 0" damping="0.1"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03" mass="1"/> </body>""")
TASKS = {
    "pendulum, small noise": (pendulum, [0.5, 0], 0.0, 0, 0.3),
    "pendulum, large noise": (pendulum, [3.0, 0], 0.0, 0, 3.0),
    "double pendulum": (double, [2.5, 2.0, 0, 0], 0.0, 1, 1.0),
    "arm under gravity": (hinge, [0.3, 0], 0.1, 0, 0.2),
    "control at its limit": (clamped, [0, 0], 0.9, 0, 0.1),
    "joint limit": (limited, [0.09, 0.3], 0.2, 0, 0.2),
    "rough rail": (robot(ROUGH, FLOAT, 'joint="j" ctrlrange="-4 4"'), [0, 0], 1.0, 0, 0.1),
    "ball at a wall": (wall, [0.17, 0.4], 0.0, 1, 0.5),
    "block near by": (near, [0, 0, 0.1, 0], 0.3, 1, 0.3),
    "block out of reach": (far, [0, 0, 0.3, 0], 0.3, 1, 0.5),
}
STEPS = 20


def estimate(task, order, seed, count):
    system, x0, u, number, sigma = task
    run = cy.rollout(system, x0, np.full((STEPS, system.input_size), u), save="last")
    bar = np.zeros_like(run.states)
    bar[-1, number] = 1
    how = cy.Smoothed(sigma, samples=count, seed=seed, order=order)
    return run.pullback(bar, wrt="controls", gradient=how)


def errors(task, seeds, samples):
    """{order: error}, relative to the truth."""
    many = estimate(task, "zeroth", 10**6, 60_000)
    truth, left = many.controls, many.variance.controls.sum()
    found = {}
    for order in ("first", "zeroth", "mix"):
        squares = [
            np.sum((estimate(task, order, seed, samples).controls - truth) ** 2)
            for seed in range(seeds)
        ]
        found[order] = np.sqrt(max(np.mean(squares) - left, 1e-3 * left)) / np.linalg.norm(truth)
    return found


def main(seeds=20, samples=128):
    print("| task | first | zeroth | mix | mix over the better |\n|---|---|---|---|---|")
    for name, task in TASKS.items():
        e = errors(task, seeds, samples)
        ratio = e["mix"] / min(e["first"], e["zeroth"])
        print(f"| {name} | {e['first']:.1%} | {e['zeroth']:.1%} | {e['mix']:.1%} | {ratio:.2f} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
