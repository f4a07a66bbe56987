"""Scenes and states in which contact is at its worst, for tests of what must hold everywhere.

Scenes: every pair of shapes under each cone and number of friction directions, mass ratios of a
million, equalities and limits of every kind, and robots that people use. States: bodies inside one
another with equal centres, parallel, deep in the ground, far away, at rest, violating limits and
equalities by far, and at speeds that no machine reaches.
"""

import zlib

import models
import mujoco
import numpy as np

_SHAPES = {
    "sphere": "0.2",
    "capsule": "0.1 0.2",
    "ellipsoid": "0.1 0.2 0.3",
    "cylinder": "0.2 0.15",
    "box": "0.15 0.2 0.25",
}


def _shapes(condim, cone, option=""):
    """Two of every shape that moves, over a plane and beside a box that stands still."""
    bodies = "".join(
        f'<body pos="{i} 0 0.5"><freejoint/><geom type="{kind}" size="{size}"/></body>'
        for i, (kind, size) in enumerate([*_SHAPES.items(), *_SHAPES.items()])
    )
    return f"""<mujoco><option cone="{cone}" {option}/>
      <default><geom condim="{condim}" friction="0.8 0.02 0.01"/></default>
      <worldbody><geom type="plane" size="5 5 1"/>
        <geom type="box" size="0.3 0.3 0.3" pos="0 0 0.1"/>{bodies}</worldbody></mujoco>"""


def tower(masses, half=0.1, geom="", option=""):
    """Boxes on one another over a plane, from below."""
    bodies = "".join(
        f'<body pos="0 0 {half * (1 + 2 * i)}"><freejoint/>'
        f'<geom type="box" size="{half} {half} {half}" mass="{mass}" {geom}/></body>'
        for i, mass in enumerate(masses)
    )
    return f"""<mujoco><option {option}/><worldbody><geom type="plane" size="5 5 1" {geom}/>{bodies}
      </worldbody></mujoco>"""


def box_on_plane(friction, solimp, option="", slope=0.0):
    """A flat box that lies on a plane, inclined by `slope` degrees; friction is the box's."""
    geom = f'solimp="{solimp}"'
    return f"""<mujoco><option {option}/>
      <worldbody><geom type="plane" size="5 5 1" euler="0 {slope} 0" friction="0.1" {geom}/>
        <body name="box" euler="0 {slope} 0"><freejoint/>
          <geom name="box" type="box" size="0.2 0.2 0.02" pos="0 0 0.02" mass="2"
                friction="{friction}" {geom}/></body></worldbody></mujoco>"""


def _sizes():
    """Geoms of a centimetre and of ten metres, a million times as heavy; margins and gaps."""
    bodies = (
        'geom size="10" mass="1e4"', 'geom type="box" size="0.01 0.01 0.01" mass="0.01"',
        'geom type="capsule" size="0.02 10" mass="10" gap="0.01"',
        'geom type="ellipsoid" size="0.01 0.1 1" mass="1"',
        'geom type="cylinder" size="0.5 0.001" mass="1"',
    )
    bodies = "".join(f'<body pos="0 0 {i}"><freejoint/><{b}/></body>' for i, b in enumerate(bodies))
    return f"""<mujoco><option cone="elliptic" impratio="10"/>
      <worldbody><geom type="plane" size="5 5 1" margin="0.01"/>{bodies}</worldbody></mujoco>"""


def _equalities(option=""):
    return f"""<mujoco><option {option}/>
      <worldbody><geom type="plane" size="5 5 1"/>
        <body name="a" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.2 0.1"/>
          <site name="a" pos="0.1 0 0"/></body>
        <body name="b" pos="0.5 0 1"><freejoint/><geom type="capsule" size="0.05 0.2"/></body>
        <body name="c" pos="1 0 1"><joint name="c1" type="slide" axis="1 0 0"/>
          <joint name="c2" axis="0 1 0"/><geom size="0.1"/></body>
        <body name="d" pos="1 1 1"><joint name="d1" type="ball"/><geom size="0.1" pos="0 0 -0.2"/>
          <site name="d" pos="0 0 -0.3"/>
          <body name="e" pos="0 0 -0.3"><joint name="e1" axis="0 1 0"/>
            <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04"/></body></body>
      </worldbody>
      <tendon><fixed name="t1"><joint joint="c1" coef="1"/><joint joint="e1" coef="-0.5"/></fixed>
        <fixed name="t2"><joint joint="c2" coef="0.7"/></fixed></tendon>
      <equality><weld body1="a" body2="b" relpose="0.1 0 0 0 1 0 0" torquescale="0.4"/>
        <connect body1="b" body2="e" anchor="0 0 0.2"/><connect site1="a" site2="d"/>
        <joint joint1="c1" joint2="e1" polycoef="0.1 0.5 -0.3 0.2 0.1"/>
        <tendon tendon1="t1" tendon2="t2" polycoef="0 1 0.2 0 0"/></equality></mujoco>"""


def _limits(option=""):
    return f"""<mujoco><option {option}/><compiler autolimits="true"/>
      <worldbody><geom type="plane" size="5 5 1"/>
        <body pos="0 0 1"><joint name="h" axis="0 1 0" range="-30 30" frictionloss="0.1"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.05"/><site name="h" pos="0 0 -0.4"/>
          <body pos="0 0 -0.4"><joint name="s" type="slide" axis="0 0 1" range="-0.1 0.1"
              solreflimit="-2000 -50" solimplimit="0 0.99 0.01 0.5 2"/>
            <geom type="box" size="0.05 0.1 0.1" pos="0 0 -0.1"/>
            <body pos="0 0 -0.2"><joint name="b" type="ball" range="0 40" frictionloss="0.02"/>
              <geom type="ellipsoid" size="0.05 0.05 0.2" pos="0 0 -0.2"/>
              <site name="b" pos="0 0 -0.4"/></body></body></body>
        <body pos="1 0 1"><joint name="w" axis="1 0 0" range="-10 0" margin="0.2"/>
          <geom type="cylinder" size="0.1 0.2" pos="0 0 -0.3"/>
          <site name="w" pos="0 0 -0.5"/></body>
      </worldbody>
      <tendon><spatial range="0.5 1" frictionloss="0.5"><site site="h"/><site site="w"/></spatial>
        <fixed range="-0.1 0.1"><joint joint="h" coef="1"/><joint joint="s" coef="2"/></fixed>
        <spatial range="0 0.3"><site site="b"/><site site="w"/></spatial></tendon></mujoco>"""


_OWN = {
    "shapes, pyramids": lambda: _shapes(3, "pyramidal"),
    "shapes, ellipses": lambda: _shapes(3, "elliptic", 'impratio="5"'),
    "shapes, condim 1": lambda: _shapes(1, "pyramidal", 'integrator="implicitfast"'),
    "shapes, condim 4": lambda: _shapes(4, "pyramidal"),
    "shapes, condim 6": lambda: _shapes(6, "elliptic"),
    "masses, pyramids": lambda: tower([1e-3, 1e3, 1e-3, 1e3]),
    "masses, ellipses": lambda: tower([1e3, 1e-3, 1e3], option='cone="elliptic" impratio="10"'),
    "sizes": _sizes,
    "stiff": lambda: tower(
        [1.0] * 4, geom='solref="-1e6 -1e3" solimp="0.0001 0.9999 1e-6 0.5 6" condim="6"',
        option='cone="elliptic"'),
    "equalities": _equalities,
    "equalities, implicitfast": lambda: _equalities('integrator="implicitfast" cone="elliptic"'),
    "limits": _limits,
    "limits, RK4": lambda: _limits('integrator="RK4"'),
}
_ROBOTS = (
    "gymnasium/ant", "gymnasium/humanoid", "gymnasium/walker2d", "gymnasium/pusher",
    "dm_control/humanoid", "dm_control/finger", "dm_control/stacker", "dm_control/manipulator",
)
SCENES = (*_OWN, *_ROBOTS)


def scene(name):
    """The scene in MuJoCo."""
    if name in _OWN:
        return mujoco.MjModel.from_xml_string(_OWN[name]())
    return mujoco.MjModel.from_xml_path(str(models.MODELS[name]))


# How a state is spoilt: by a factor of the places of bodies and joints, of their turning, and of
# velocities; "rest": not at all.
_KINDS = ("rest", "coincident", "parallel", "deep", "far", "fast", "violated", "any")


def _bodies_and_joints(model):
    """Addresses in qpos: positions of free bodies, quaternions, other joints."""
    places, quats, others = [], [], []
    for kind, at in zip(model.jnt_type, model.jnt_qposadr):
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            places += range(at, at + 3)
        if kind == mujoco.mjtJoint.mjJNT_BALL or kind == mujoco.mjtJoint.mjJNT_FREE:
            first = at + 3 * (kind == mujoco.mjtJoint.mjJNT_FREE)
            quats += range(first, first + 4)
        elif kind != mujoco.mjtJoint.mjJNT_FREE:
            others.append(at)
    return np.array(places, int), np.array(quats, int).reshape(-1, 4), np.array(others, int)


def hostile_states(model, name, count):
    """(count, nq + nv + na): states of each kind in turn, and which kind each is of."""
    draw = np.random.default_rng(zlib.crc32(name.encode()))
    places, quats, others = _bodies_and_joints(model)
    q = np.tile(model.qpos0, (count, 1))
    v, act = np.zeros((count, model.nv)), draw.normal(size=(count, model.na))
    kinds = [_KINDS[i % len(_KINDS)] for i in range(count)]
    for i, kind in enumerate(kinds):
        if kind == "rest":
            continue
        own, normal = q[i], draw.normal
        v[i] = normal(size=model.nv) * (10.0 ** draw.uniform(2, 6) if kind == "fast" else 1)
        together = kind in ("coincident", "parallel")
        spread = {"coincident": 0, "deep": 0.05, "far": 10.0 ** draw.uniform(3, 6)}.get(kind, 0.5)
        own[places] = np.resize(draw.uniform(-0.3, 0.3, 3), len(places))
        own[places] += spread * normal(size=len(places))
        if together and draw.uniform() < 0.5:  # along the axes of the world, to the last bit
            axes = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]])
            own[quats] = axes[draw.integers(4)]
        else:
            own[quats] = normal(size=4) if together else normal(size=quats.shape)
        reach = 10.0 ** draw.uniform(0, 2) if kind == "violated" else 0.3
        own[others] += reach * normal(size=len(others)) * (kind != "coincident")
    return np.concatenate([q, v, act], axis=1), np.array(kinds)
