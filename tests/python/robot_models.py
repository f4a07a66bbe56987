"""Robots that collide by meshes and terrain, and a collection of one's own: do they load, and how
far is a step in contact from MuJoCo's.

    python tests/python/robot_models.py [PART OF A NAME ...]

prints a table. CYCLOID_ROBOTS names a folder of MJCF files, such as a copy of MuJoCo Menagerie; it
is read, never copied. `make models ROBOTS=folder` writes docs/robots.md.
"""

import os
import re
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import models
import mujoco
import numpy as np

import cycloid as cy

STEPS, HELD, EVERY = 400, 20, 10  # of MuJoCo's run; with the same controls; one compared
STIRRED = 0.2  # of the range of a control
# Of the change of velocity in a step, relative: where contact points are unique, where a cylinder
# or an ellipsoid is searched, where faces lie on faces.
HELD_TO = {"unique": 1e-6, "searched": 1e-4, "flat": 1e-3}
JUMP, SHIFT = 1e-3, 1e-9  # states are left out where MuJoCo's own step moves by so much
GRADIENT = 1e-4  # relative, of the directional derivatives
G = mujoco.mjtGeom
ROUND = (int(G.mjGEOM_CYLINDER), int(G.mjGEOM_ELLIPSOID))
SOLID = (int(G.mjGEOM_MESH), int(G.mjGEOM_HFIELD))
# Of the packages, those that have meshes or terrain.
OURS = ("mjx/barkour", "mjx/convex", "mjx/shadow_hand", "dm_control/manipulator",
        "dm_control/quadruped", "dm_control/stacker", "urdf/")


def folder():
    """The folder of robots that the user names, or None."""
    named = os.environ.get("CYCLOID_ROBOTS")
    return Path(named) if named else None


def collection():
    """{name: path} of the MJCF files in the user's folder that have a world: parts that others
    include are left out where MuJoCo does not load them (see `row`).
    """
    root = folder()
    paths = sorted(root.rglob("*.xml")) if root else ()
    return {"/".join(p.relative_to(root).with_suffix("").parts): p for p in paths}


def all_models():
    own = {n: p for n, p in models.MODELS.items() if n.startswith(OURS)}
    return {**own, **{f"robots/{n}": p for n, p in collection().items()}}


def in_mujoco(path):
    """MuJoCo's model, whose solver and GJK go on until nothing changes."""
    if path.suffix == ".urdf":
        model = mujoco.MjModel.from_xml_string(urdf_text(path))
    else:
        model = mujoco.MjModel.from_xml_path(str(path))
    model.geom_sameframe[:] = 0
    model.opt.noslip_iterations = 0
    model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    model.opt.tolerance, model.opt.iterations, model.opt.ls_iterations = 0, 200, 50
    model.opt.ccd_tolerance, model.opt.ccd_iterations = 1e-13, 500
    return model


def urdf_text(path):
    """A URDF with its collision shapes, package:// resolved, without those that are only seen."""
    package = next(p for p in path.parents if p.name == "example-robot-data")
    text = re.sub("package:/+example-robot-data", str(package), path.read_text())
    robot = ElementTree.fromstring(text)
    for link in robot.iter("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
    compiler = ElementTree.SubElement(ElementTree.SubElement(robot, "mujoco"), "compiler")
    compiler.set("strippath", "false")
    return ElementTree.tostring(robot, "unicode")


def state_of(data):
    return np.concatenate([data.qpos, data.qvel, data.act])


def step(model, state, control):
    """One mj_step from a cold start: the change of velocity, and how its contacts are found."""
    data = mujoco.MjData(model)
    data.qpos, data.qvel, data.act = np.split(state, [model.nq, model.nq + model.nv])
    data.ctrl[:] = control
    mujoco.mj_step(model, data)
    pairs, counts = np.unique(np.sort(data.contact.geom, axis=1), axis=0, return_counts=True)
    kinds = model.geom_type[pairs]
    kind = "unique"
    for types, count in zip(kinds, counts):
        with_plane = int(G.mjGEOM_PLANE) in types
        if np.isin(types, ROUND).any() and not with_plane:
            return data.qvel - state[model.nq : model.nq + model.nv], "searched"
        if count > 1 and (np.isin(types, SOLID).any() or (types == int(G.mjGEOM_BOX)).any()):
            kind = "flat"
    return data.qvel - state[model.nq : model.nq + model.nv], kind


def touching_states(model, name):
    """States along a run of MuJoCo's from its first keyframe, in which something touches."""
    quick = model.__copy__()
    quick.opt.tolerance, quick.opt.ccd_tolerance = 1e-8, 1e-6
    data = mujoco.MjData(quick)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(quick, data, 0)
    rest = data.ctrl.copy()
    stirred = models.random_controls(model, name, STEPS // HELD)
    middle = stirred.mean(axis=0) if len(stirred) else rest
    if not model.nu:
        data.qvel[:] = 0.3 * np.random.default_rng(model.nv).normal(size=model.nv)
    found = []
    for i in range(STEPS):
        control = rest + STIRRED * (stirred[i // HELD] - middle) if model.nu else rest
        state, data.ctrl[:] = state_of(data), control
        data.warning.number[:] = 0
        mujoco.mj_step(quick, data)
        if data.warning.number.any() or not np.isfinite(state_of(data)).all():
            break
        if i % EVERY == 0 and data.ncon:
            found.append((state, control))
    return found


class Parity(NamedTuple):
    errors: dict  # by kind: one per state
    left_out: int
    beyond: int  # states with an error beyond what their kind is held to


def parity(model, system, states):
    errors, left_out, beyond = {kind: [] for kind in HELD_TO}, 0, 0
    v = slice(model.nq, model.nq + model.nv)
    for state, control in states:
        change, kind = step(model, state, control)
        shifted = state + SHIFT * np.sin(1 + np.arange(len(state)))
        near = step(model, shifted, control)[0]
        if np.abs(near - change).max() > JUMP:
            left_out += 1
            continue
        ours = np.asarray(cy.step(system, state, control))[v] - state[v]
        error = np.abs(ours - change).max() / max(np.abs(change).max(), 1e-3)
        errors[kind].append(error)
        beyond += error > HELD_TO[kind]
    return Parity({k: np.array(e) for k, e in errors.items()}, left_out, beyond)


def along_parameters(system, p, draw, largest):
    """A random direction of all parameters, relative to their values, without those that may not
    move by `largest` of it: an inertia at the edge of what is real, say.
    """
    along = draw.normal(size=p.shape) * np.abs(p)
    for name in system.parameters.names:
        if name.endswith(".solimp"):  # an impedance at its bounds has a slope on one side only
            first = system.parameters.info(name).offset
            at = slice(first, first + 2)
            along[at] *= (p[at] > 1e-4) & (p[at] < 0.9999)
    while True:
        try:
            for sign in (1, -1):
                cy.step(system, system.initial_state(), None, p + sign * largest * along)
            return along
        except cy.ParameterError as error:
            field = str(error).split('"')[1]
            held = system.parameters.unpack(along)
            held = {n: 0 * v if n == field else v for n, v in held.items()}
            along = system.parameters.pack(held)


def gradient_error(system, state, control):
    """Of one step: derivatives along random directions of the state, the controls and all
    parameters, against the best of differences with several steps. Where both sides have their own,
    as where two geoms tie in their friction, ours is to lie between them. None: a step that the
    solver could not finish.
    """
    draw, sizes = np.random.default_rng(3), (1e-7, 1e-8)
    given = [state, np.asarray(control, float)[None], np.array(system.parameters.default)]
    run = cy.rollout(system, *given, save="last")
    if run.report.unsolved or run.report.failed:
        return None
    bar = draw.normal(size=run.states.shape)
    g = run.pullback(bar)
    here, worst = (bar * run.states).sum(), 0.0
    for which, gradient in enumerate((g.x0, g.controls, g.params)):
        if not gradient.size:
            continue
        along = draw.normal(size=gradient.shape)
        if which == 2:
            along = along_parameters(system, given[2], draw, sizes[0])
        expected, errors = (gradient * along).sum(), []
        for size in sizes:
            ends = []
            for sign in (1, -1):
                moved = list(given)
                moved[which] = moved[which] + sign * size * along
                ends.append((bar * cy.rollout(system, *moved, save="last").states).sum())
            sides = sorted(((ends[0] - here) / size, (here - ends[1]) / size))
            errors.append(max(sides[0] - expected, expected - sides[1], 0))
        scale = np.abs(gradient * along).max()
        worst = max(worst, min(errors) / max(abs(expected), scale, 1e-3))
    return worst


class Row(NamedTuple):
    status: str
    load_s: float = 0.0
    found: Parity | None = None
    gradient: float | None = None
    gradients: int = 0


def smooth_gradient(model, system, states):
    """The median over a few states: at a switch a step has no derivative."""
    picked = states[:: max(1, len(states) // 5)][:5]
    errors = [e for e in (gradient_error(system, *s) for s in picked) if e is not None]
    return float(np.median(errors)) if errors else None, len(errors)


def row(name, path):
    try:
        model = in_mujoco(path)
    except ValueError as error:
        return Row(f"MuJoCo refuses it: {' '.join(str(error).split())}")
    start = time.perf_counter()
    try:
        system = cy.load(path, noslip="ignore")
    except (cy.Error, FileNotFoundError) as error:
        return Row(f"refused: {error}")
    seconds = time.perf_counter() - start
    states = touching_states(model, name)
    system = cy.from_mujoco(model, noslip="ignore")
    if not model.nv or not states:
        return Row("loads", seconds)
    return Row("loads", seconds, parity(model, system, states),
               *smooth_gradient(model, system, states))


def cells(name, found):
    if found.found is None:
        return [name, found.status, "", "", "", "", "", "", ""]
    p = found.found
    errors = [f"{np.quantile(e, 0.95):.0e} ({len(e)})" if len(e) else "" for e in p.errors.values()]
    return [name, found.status, f"{found.load_s:.1f}", *errors, str(p.left_out), str(p.beyond),
            f"{found.gradient:.0e}" if found.gradient is not None else ""]


TITLES = ["robot", "loads", "s", *HELD_TO, "left out", "beyond", "gradient"]


def table(names):
    yield "| " + " | ".join(TITLES) + " |"
    yield "|---" * len(TITLES) + "|"
    everything, incomplete, parts = all_models(), [], []
    folders = [str(p).rstrip("/") + "/" for p in (folder(), *models._FOLDERS) if p]
    hidden = sorted(folders, key=len, reverse=True)
    for name in names:
        found = row(name, everything[name])
        if name.startswith("robots/") and found.status.startswith("MuJoCo refuses it"):
            (incomplete if "opening file" in found.status else parts).append(name)
            continue
        line = " | ".join(c.replace("|", "/") for c in cells(name, found))
        for part in hidden:
            line = line.replace(str(part), "")
        yield f"| {line} |"
    for what, left in (
        ("Not read, for the copy lacks mesh files that they name", incomplete),
        ("Parts of other files, no models by themselves", parts),
    ):
        if left:
            yield f"\n{what}: {', '.join(n.removeprefix('robots/') for n in left)}."


PAGE = Path(__file__).resolve().parents[2] / "docs" / "robots.md"
INTRODUCTION = f"""\
# Robots

Robots whose shapes are meshes or that stand on terrain, loaded with their contacts (`noslip`
ignored where a file asks for it), and how far one step is from MuJoCo's. Those under `robots/` are
a public collection of robot models, MuJoCo Menagerie, which is not part of this project: `make
models ROBOTS=folder` reads a copy of it and writes this page.

States lie along a run of MuJoCo's of {STEPS} steps from the first keyframe, with controls stirred
by {STIRRED:.0%} of their range; each {EVERY}th in which something touches is compared. The error is
that of the change of velocity in one step, relative to the largest (or 1e-3): the 95th percentile,
and in brackets the number of states. *unique*: contact points are unique, held to
{HELD_TO["unique"]:.0e}; *searched*: a cylinder or an ellipsoid is found by search,
{HELD_TO["searched"]:.0e}; *flat*: faces lie on faces, {HELD_TO["flat"]:.0e}. *left out*: states
from which MuJoCo's own step moves by more than {JUMP:.0e} when they are shifted by {SHIFT:.0e}.
*beyond*: states with a larger error than their kind is held to. *gradient*: derivatives of one step
along random directions of state, controls and all parameters against differences, relative, the
median of up to five states; where a step has a kink, the derivative is to lie between both sides.
*s*: seconds to load the file.

"""


# Why states of a robot are beyond what they are held to.
REASONS = {
    "a cylinder whose side or cap lies on a face: of corners that span equal areas MuJoCo takes"
    " others, and an edge that just leaves a face is there or not by the precision of its search": (
        "urdf/laikago", "urdf/falcon_description", "urdf/tiago_pro_description",
    ),
    "legs are cylinders whose axes lie on the upright edges of a box, by half their width inside:"
    " the way out is as short by either face (25.0 mm), and which one is taken is decided in the"
    " last digits. The depths of MuJoCo's contacts there change from state to state between 0.1 and"
    " 21 mm, ours are 18 to 25": ("urdf/quadruped_description",),
    "polygons of a hull that are bent, or two that look the same way to within half a degree: the"
    " corner of one face over a bent polygon has no plane to be measured from": (
        "urdf/solo_description", "urdf/so_arm_description", "urdf/talos_data",
    ),
    "links are built into each other by 13 mm, face to face, and MuJoCo makes one contact of it:"
    " depth and normal are the same, but its place on the faces is not unique, and MuJoCo's is"
    " where its search ended": ("urdf/double_pendulum",),
    "capsules within a margin of a mesh, which MuJoCo widens by half the margin before it looks for"
    " the closest features": ("robots/ms_human_700",),
}


def exceptions():
    yield "States that are *beyond*, and why:\n"
    for reason, names in REASONS.items():
        yield f"- {', '.join(names)}: {reason};"
    yield "- others: a few states at which one of these is seen among many contacts.\n"
    yield (
        "Derivatives by activations at 0 are those of muscles that begin to pull; a muscle has"
        " another slope below, which a random direction of 700 of them meets on both sides"
        " (robots/ms_human_700). Number by number they lie between both slopes to 4e-9.\n"
    )


def main():
    warnings.simplefilter("ignore")
    names = list(all_models())
    words = sys.argv[1:]
    if words != ["--write"]:
        for line in table([n for n in names if not words or any(w in n for w in words)]):
            print(line, flush=True)
        return
    if folder() is None:
        print(f"no ROBOTS=folder is named: {PAGE.name} stays as it is")
        return
    lines = list(table(names))
    PAGE.write_text("\n".join([INTRODUCTION, *exceptions(), *lines]) + "\n")



if __name__ == "__main__":
    main()
