"""Scenes with meshes and height fields: pairs of shapes that nearly touch, from MuJoCo's side."""

import itertools

import mujoco
import numpy as np

SHAPES = {
    "plane": 'type="plane" size="3 3 .1"',
    "sphere": 'type="sphere" size=".2"',
    "capsule": 'type="capsule" size=".12 .25"',
    "ellipsoid": 'type="ellipsoid" size=".3 .2 .15"',
    "cylinder": 'type="cylinder" size=".2 .25"',
    "box": 'type="box" size=".25 .2 .3"',
}


def _prism(n, radius=0.3, half=0.2, taper=1.0):
    angle = np.arange(n) * 2 * np.pi / n
    ring = radius * np.c_[np.cos(angle), np.sin(angle)]
    return np.r_[np.c_[ring, np.full(n, -half)], np.c_[taper * ring, np.full(n, half)]]


def _meshes():
    draw = np.random.default_rng(0)
    ball = draw.normal(size=(200, 3))
    return {
        "cube": np.array(list(itertools.product([-0.25, 0.25], [-0.2, 0.2], [-0.15, 0.15]))),
        "prism": _prism(6),
        "cone": _prism(9, taper=0.6),
        "disc": _prism(24, half=0.05),
        "stone": draw.normal(size=(30, 3)) * [0.3, 0.25, 0.2],
        "ball": 0.3 * ball / np.linalg.norm(ball, axis=1, keepdims=True),
    }


MESHES = _meshes()


def shape(name):
    return SHAPES[name] if name in SHAPES else f'type="mesh" mesh="{name}"'


def assets(*names):
    return "".join(
        f'<mesh name="{n}" vertex="{" ".join(f"{x:.7g}" for x in MESHES[n].ravel())}"/>'
        for n in dict.fromkeys(names)
        if n in MESHES
    )


def body(name, extra="", joint="<freejoint/>"):
    return f"<body> {joint} <geom {shape(name)} {extra}/> </body>"


def scene(one, two, margin=0.0, options=""):
    """Two geoms, each on a free body but for a plane."""
    own = f'margin="{margin / 2}"'
    first = f"<geom {shape(one)} {own}/>" if one == "plane" else body(one, own)
    return f"""<mujoco> <option {options}/> <asset> {assets(one, two)} </asset>
      <worldbody> {first} {body(two, own)} </worldbody> </mujoco>"""


def terrain(two, rows=12, columns=15, options=""):
    heights = np.random.default_rng(4).uniform(size=(rows, columns))
    field = " ".join(f"{h:.6g}" for h in heights.ravel())
    return f"""<mujoco> <option {options}/> <asset> {assets(two)}
      <hfield name="hills" nrow="{rows}" ncol="{columns}" size="1.5 1 .3 .2" elevation="{field}"/>
      </asset> <worldbody> <geom name="ground" type="hfield" hfield="hills" pos=".1 .2 .3"
      euler="10 -5 20"/> {body(two)} </worldbody> </mujoco>"""


def in_mujoco(xml):
    """MuJoCo's model, whose GJK and EPA go on until nothing changes."""
    model = mujoco.MjModel.from_xml_string(xml)
    model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-13, 200
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.tolerance, model.opt.iterations = 0, 200
    return model


def _quaternion(draw, small=None):
    q = draw.normal(size=4) if small is None else np.r_[1, small * draw.uniform(-1, 1, size=3)]
    return q / np.linalg.norm(q)


def touching_states(model, count, aligned=0.4, seed=0, z=0.0):
    """States (qpos, qvel) in which the two geoms overlap by little: any orientation, or faces along
    each other but for about a degree."""
    draw = np.random.default_rng(seed)
    data, states = mujoco.MjData(model), []
    ground = model.nq == 7
    reach = 2 * model.geom_rbound[1] + (0 if ground else model.geom_rbound[0])
    while len(states) < count:
        qpos = np.zeros(model.nq)
        first = np.r_[1, 0, 0, 0] if ground else _quaternion(draw)
        axis, turned = draw.normal(size=3), _quaternion(draw)
        if draw.uniform() < aligned:
            turned, spin = np.zeros(4), np.zeros(4)
            angle = draw.uniform(-np.pi, np.pi)
            mujoco.mju_mulQuat(spin, first, np.r_[np.cos(angle), 0, 0, np.sin(angle)])
            mujoco.mju_mulQuat(turned, spin, _quaternion(draw, 0.01))
            mujoco.mju_rotVecQuat(axis, np.r_[draw.uniform(-0.3, 0.3, size=2), 1], first)
        if ground:
            axis = np.r_[0.1 * axis[:2], 1]
        axis /= np.linalg.norm(axis)
        if not ground:
            qpos[3:7] = first
        qpos[-4:] = turned
        start = np.r_[draw.uniform(-0.3, 0.3, size=2), z]

        def touches(d, qpos=qpos, start=start, axis=axis):
            qpos[-7:-4] = start + d * axis
            if not ground:
                qpos[:3] = start
            data.qpos[:] = qpos
            mujoco.mj_fwdPosition(model, data)
            return bool((data.contact.dist < 0).any())

        low, high = 0.0, reach
        if touches(high) or not touches(low):
            continue
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if touches(middle) else (low, middle)
        touches(low - 10 ** draw.uniform(-5, -2.2))
        states.append(np.r_[qpos, 0.1 * draw.normal(size=model.nv)])
    return states
