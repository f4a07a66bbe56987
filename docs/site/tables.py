"""Pages of tables that are computed when the site is made, by the package itself: which parameters
there are and which are differentiated, and how near gradients are to central differences.
"""

import numpy as np

import cycloid as cy

ROBOT = """
<mujoco>
  <option density="1000" viscosity="1e-3" wind="2 1 0"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 0.1"/>
    <body name="arm" pos="0 0 0.35">
      <joint name="hinge" axis="0 1 0" range="-2 2" limited="true" frictionloss="0.01"
             damping="0.1" stiffness="0.2"/>
      <geom name="rod" type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/>
      <site name="tip" pos="0.3 0 0"/>
      <body name="hand" pos="0.35 0 0">
        <joint name="wrist" axis="0 1 0"/> <geom name="palm" type="box" size="0.05 0.04 0.03"/>
      </body>
    </body>
    <body name="ball" pos="0.3 0.01 0.058"> <freejoint/> <geom name="ball" size="0.06"/> </body>
  </worldbody>
  <tendon> <fixed name="cable" limited="true" range="-1 1" frictionloss="0.01">
    <joint joint="hinge" coef="1"/> <joint joint="wrist" coef="-0.5"/> </fixed> </tendon>
  <actuator> <motor name="motor" joint="hinge"/> </actuator>
  <equality> <joint name="tie" joint1="wrist" polycoef="0 0 0 0 0"/> </equality>
</mujoco>"""


def robot():
    return cy.load(ROBOT)


def solid():
    mesh = cy.soft.box(cells=(2, 1, 1), size=(0.2, 0.1, 0.1), element="hex")
    left = np.flatnonzero(mesh.vertices[:, 0] == 0)
    return cy.soft.solid(mesh, "neo_hookean", young=1e5, pinned=left, damping=0.01, dt=0.02)


def channel():
    sides = {"left": ("inflow", (1.0, 0.0)), "right": "outflow", "bottom": "wall", "top": "wall"}
    disc = cy.fluid.Circle((0.31, 0.27), 0.1)
    return cy.fluid.grid((12, 8), (1.0, 0.5), 0.01, boundary=sides, obstacles=[disc], dt=0.01)


def vortices():
    return cy.fluid.spectral("navier_stokes", shape=(8, 8), size=2 * np.pi, dt=0.01, viscosity=0.05)


def vortex_state(flow):
    return flow.state(velocity=lambda x, y: (np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)))


def worlds():
    """{heading: System} of the table of parameters."""
    laws = {f"`cy.systems.{n}`": getattr(cy.systems, n) for n in cy.systems.names}
    made = {name: make(4) if "chain" in name else make() for name, make in laws.items()}
    return made | {
        "Robots": robot(),
        "Soft solids": solid(),
        "Periodic flows (Navier–Stokes)": vortices(),
        "Flows on grids": channel(),
        "Learned laws (Hamiltonian)": cy.learn.hamiltonian(1, hidden=(4,), dissipation=True),
    }


def general(name):
    """body:arm.mass -> body:N.mass

    >>> general("obstacle:#0.radius"), general("load:#1.value"), general("length")
    ('obstacle:N.radius', 'load:N.value', 'length')
    """
    kind, colon, rest = name.partition(":")
    return f"{kind}:N.{rest.rpartition('.')[2]}" if colon else name


def parameter_page():
    lines = [
        "# Parameters and their gradients",
        "",
        "Made by the package when this site was built. A name that is not differentiated raises "
        "`ParameterError` when its gradient is asked for.",
        "",
    ]
    for heading, system in worlds().items():
        lines += [f"## {heading}", "", "| parameter | unit | values | gradient |", "|-|-|-|-|"]
        seen = {}
        for name in system.parameters:
            seen.setdefault(general(name), system.parameters.info(name))
        for name, info in seen.items():
            why = info.not_differentiable
            lines.append(
                f"| `{name}` | {info.unit} | {info.constraint.replace('|', '/')} | "
                f"{'no: ' + why if why else 'exact'} |"
            )
        lines.append("")
    return "\n".join(lines)


def cases():
    """(what, System, start, steps) of the table of accuracy."""
    rng = np.random.default_rng(0)
    yield "pendulum, rk4", cy.systems.pendulum(damping=0.1), [1.0, 0.2], 200
    yield "double pendulum, verlet", cy.systems.double_pendulum(integrator="verlet"), [
        1.0, 0.5, 0.0, 0.0], 100  # fmt: skip
    yield "projectile in wind, dopri5", cy.systems.projectile(
        drag=0.1, wind=(3.0, 1.0, 0.0), integrator="dopri5"
    ), [0, 0, 0, 10, 1, 8], 50
    yield "bouncing ball through impacts", cy.systems.bouncing_ball(), [1.0, 0.0], 150
    yield "arm, ball, limits, friction, contact", robot(), robot().initial_state(), 20
    body = solid()
    yield "soft solid, neo-Hookean", body, body.initial_state(), 5
    flow = vortices()
    yield "periodic Navier–Stokes", flow, vortex_state(flow), 10
    pipe = channel()
    yield "flow around a disc", pipe, pipe.state(), 10
    law = cy.learn.hamiltonian(1, hidden=(8,), dissipation=True)
    yield "Hamiltonian network", law, rng.normal(size=2), 20


def accuracy():
    """[(what, steps, largest relative error, held)]"""
    out = []
    for what, system, start, steps in cases():
        check = cy.check_gradient(system, start, steps)
        out.append((what, steps, check.max_relative_error, check.ok))
    return out


def accuracy_page():
    lines = [
        "# How exact gradients are",
        "",
        "Computed when this site was built: `cy.check_gradient` compares every block of the "
        "gradient (start, inputs, parameters) with central differences at several steps and takes "
        "the largest relative error. Differences themselves are good to about 1e-8. Pullbacks are "
        "held to dual numbers at 1e-11 in the tests.",
        "",
        "| world | steps | largest relative error |",
        "|-|-|-|",
    ]
    for what, steps, error, ok in accuracy():
        lines.append(f"| {what} | {steps} | {error:.1e}{'' if ok else ' (not held)'} |")
    lines += ["", "Errors against MuJoCo: [models](supported_models.md), [robots](robots.md)."]
    return "\n".join(lines) + "\n"


def pages():
    """{path in the site: Markdown}"""
    return {"parameters.md": parameter_page(), "accuracy.md": accuracy_page()}
