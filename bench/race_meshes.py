"""Robots whose shapes are meshes or that walk on terrain: ours against MuJoCo, one thread.

    python bench/race_meshes.py [PART OF A NAME ...]

prints one JSON object, as race_contact.py does: {robot: {figure: number}}, times in microseconds
per environment-step. A quadruped of meshes falls on a plane and kicks; an arm of meshes moves over
a plane; a hand holds a ball; dm_control's quadruped walks on its own terrain. "bytes" is what a
step of one environment keeps for the way back, "state bytes" what its state has. A folder of robots
of one's own, CYCLOID_ROBOTS, adds those of them that THEIRS names.
"""

import os
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np
import race_robots
from race_contact import COMPARED, Contacts, agreement
from race_robots import BATCH, STEPS, models, start_states

import cycloid as cy

QUADRUPED, ARM = "urdf/go2_description/go2", "urdf/panda_description/panda"
HAND, TERRAIN = "mjx/shadow_hand/scene_right", "dm_control/quadruped"
THEIRS = ("anybotics_anymal_c/scene", "boston_dynamics_spot/scene", "franka_emika_panda/scene",
          "kuka_iiwa_14/scene", "wonik_allegro/scene_right", "leap_hand/scene_right")
RUN = 600  # steps of MuJoCo's run along which the states lie


def from_urdf(path, height):
    """A robot of a URDF over a plane, with servos at its joints; free where `height` is given."""
    robot = ElementTree.fromstring(
        path.read_text().replace("package://example-robot-data", str(_package(path))))
    for link in robot.iter("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
    settings = ElementTree.SubElement(ElementTree.SubElement(robot, "mujoco"), "compiler")
    settings.attrib.update(fusestatic="false", strippath="false", discardvisual="true")
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(robot, "unicode"))
    for body in spec.worldbody.bodies:
        if height is not None:
            body.add_freejoint()
            body.pos = 0, 0, height
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 0.1),
                            pos=(0, 0, 0 if height is not None else -0.02))
    for joint in spec.joints:
        if joint.type == mujoco.mjtJoint.mjJNT_FREE:
            continue
        joint.damping, joint.armature = np.full(3, 0.5), 0.01
        servo = spec.add_actuator(target=joint.name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        servo.set_to_position(kp=40)
        servo.ctrllimited, servo.ctrlrange = True, joint.range * 0.5
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    exclude_neighbours(spec)
    return spec.compile()


def exclude_neighbours(spec):
    """Links that overlap as they are built do not collide, as an SRDF would say."""
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    bodies = {tuple(sorted(pair)) for pair in model.geom_bodyid[data.contact.geom].tolist()}
    for one, two in bodies:
        if one > 0:
            spec.add_exclude(bodyname1=model.body(one).name, bodyname2=model.body(two).name)


def _package(path):
    return next(p for p in path.parents if p.name == "example-robot-data")


def mujoco_model(name):
    if name == QUADRUPED:
        model = from_urdf(models.MODELS[name], 0.4)
    elif name == ARM:
        model = from_urdf(models.MODELS[name], None)
    elif name in models.MODELS:
        model = mujoco.MjModel.from_xml_path(str(models.MODELS[name]))
    else:
        model = mujoco.MjModel.from_xml_path(f"{os.environ['CYCLOID_ROBOTS']}/{name}.xml")
    if name == TERRAIN:
        rough(model)
    model.opt.noslip_iterations = 0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SENSOR
    return model


def rough(model):
    """Hills, as the task "escape" of dm_control makes them: flat in the middle, higher outwards."""
    rows, columns = model.hfield_nrow[0], model.hfield_ncol[0]
    y, x = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j]
    radius = np.clip(np.hypot(x, y), 0.04, 1)
    bumps = 0.5 + 0.25 * (np.sin(40 * x) * np.cos(33 * y) + np.sin(17 * x + 21 * y))
    heights = (radius - 0.04) * bumps
    model.hfield_data[:] = (heights / heights.max()).ravel()


def race(name):
    model = mujoco_model(name)
    contacts = Contacts(model)
    wanted = contacts if name != ARM else lambda state: True  # it seldom touches anything
    states, controls = start_states(model, name, BATCH, RUN, wanted)
    out = {"contacts": float(np.mean([contacts(state) for state in states[::8]]))}
    out |= race_robots.race(model, states, controls, constraints=True)
    lanes = cy.from_mujoco(model, dtype="float32")
    run = cy.rollout(lanes, states[:64].astype("float32"), controls[:64].astype("float32"),
                     save="last", memory="all", threads=1)
    out["bytes"] = run.report.tape_bytes / 64 / STEPS
    out["state bytes"] = 4 * lanes.state_size
    some = slice(None, None, BATCH // COMPARED)
    out["agreement"] = agreement(model, states[some], controls[some])
    return out


def robots():
    folder = os.environ.get("CYCLOID_ROBOTS")
    own = [n for n in THEIRS if folder and Path(folder, n + ".xml").is_file()]
    return [QUADRUPED, ARM, HAND, TERRAIN, *own]


if __name__ == "__main__":
    race_robots.main(robots(), race)
