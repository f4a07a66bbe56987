"""Robots of the packages that people use, and how far our step is from MuJoCo's on them.

Only the packages' files are read; none is imported. They lie in the folder `models` of the virtual
environment (scripts/setup), or where Python finds packages.

    python tests/python/models.py [PART OF A NAME ...]

prints the table of models, supported or refused, with their errors; `make models` writes it to
docs/supported_models.md.
"""

import functools
import os
import random
import sys
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import mujoco
import numpy as np

import cycloid as cy

# Corpus: its folder in a packages' folder, and the files that are models.
CORPORA = {
    "gymnasium": ("gymnasium/envs/mujoco/assets", "*.xml"),
    "dm_control": ("dm_control/suite", "*.xml"),
    "brax": ("brax/envs/assets", "*.xml"),
    "mjx": ("mujoco/mjx/test_data", "**/*.xml"),
    "urdf": ("cmeel.prefix/share/example-robot-data/robots", "**/*.urdf"),
}
IN_SAMPLE = {"gymnasium": 14, "dm_control": 22, "brax": 4, "mjx": 8, "urdf": 40}

INTEGRATORS = {
    "as it is": None,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "RK4": mujoco.mjtIntegrator.mjINT_RK4,
}
STEPS = 500  # of MuJoCo's run
EVERY = 10  # ... of which each so-manieth is compared
LEAST = 10  # comparisons

mujoco.set_mju_user_warning(lambda text: None)  # MuJoCo would write a file into this folder


class Unusable(Exception):
    """MuJoCo itself refuses the file, or its own run does not stay finite."""


_FOLDERS = [f"{folder}/" for folder in (Path(sys.prefix, "models"), *map(Path, sys.path))]


def _models():
    """{name: path}, such as "dm_control/humanoid"."""
    found = {}
    places = [Path(folder) for folder in _FOLDERS]
    for corpus, (folder, pattern) in CORPORA.items():
        root = next((p / folder for p in places if (p / folder).is_dir()), None)
        for path in sorted(root.glob(pattern)) if root else ():
            inside = path.relative_to(root).with_suffix("")
            # One folder that names the robot is enough of a path.
            parts = [inside.parts[0], inside.name] if len(inside.parts) > 1 else inside.parts
            found["/".join([corpus, *parts])] = path
    return found


MODELS = _models()


def chosen():
    """The names that the tests take: a fixed sample, or with CYCLOID_LONG_TESTS all."""
    if os.environ.get("CYCLOID_LONG_TESTS"):
        return list(MODELS)
    names = []
    for corpus, most in IN_SAMPLE.items():
        own = [name for name in MODELS if name.startswith(corpus + "/")]
        names += sorted(random.Random(5).sample(own, min(most, len(own))))
    return names


def in_mujoco(path):
    """MuJoCo's model of a file, without constraints."""
    try:
        if path.suffix == ".urdf":
            model = mujoco.MjModel.from_xml_string(_urdf_text(path))
        else:
            model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as error:
        raise Unusable(f"MuJoCo refuses it: {' '.join(str(error).split())}") from None
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    return model


def _urdf_text(path):
    """A URDF as MuJoCo can read it: without the shapes of links that state their inertia, and with
    package:// resolved for the others.
    """
    robot = ElementTree.parse(path).getroot()
    for link in robot.iter("link"):
        by_itself = link.find("inertial") is not None
        for shape in [e for e in link if e.tag in ("visual", "collision")]:
            if by_itself or shape.tag == "visual":
                link.remove(shape)
    package = next(p for p in path.parents if p.name == "example-robot-data")
    text = ElementTree.tostring(robot, "unicode")
    return text.replace("package://example-robot-data", str(package))


def random_controls(model, name, steps=STEPS):
    """(steps, nu): uniform within a control's range, or 0.3 times standard normal."""
    draw = np.random.default_rng(zlib.crc32(name.encode()))
    low, high = model.actuator_ctrlrange.T if model.nu else (np.zeros(0), np.zeros(0))
    limited = model.actuator_ctrllimited.astype(bool)
    uniform = low + (high - low) * draw.uniform(size=(steps, model.nu))
    return np.where(limited, uniform, 0.3 * draw.normal(size=(steps, model.nu)))


def run(model, controls):
    """MuJoCo's states (steps + 1, nq + nv + na) from its initial state, and which steps it took:
    where a state is not finite or large it warns and starts anew.
    """
    data = mujoco.MjData(model)
    if not model.nu:  # a push in place of controls
        data.qvel[:] = 0.3 * np.random.default_rng(model.nv).normal(size=model.nv)
    states, good = [np.concatenate([data.qpos, data.qvel, data.act])], []
    for control in controls:
        data.warning.number[:] = 0
        data.ctrl[:] = control
        mujoco.mj_step(model, data)
        states.append(np.concatenate([data.qpos, data.qvel, data.act]))
        bounded = (np.abs(states[-1]) <= mujoco.mjMAXVAL).all()
        good.append(bounded and not data.warning.number.any())
    return np.array(states), np.array(good)


def relative_errors(got, expected):
    """Of each row: the largest difference over the largest reference, or over 1e-3."""
    if not expected.size:
        return np.zeros(len(expected))
    scale = np.maximum(np.abs(expected).max(axis=1), 1e-3)
    return np.abs(got - expected).max(axis=1) / scale


class Parity(NamedTuple):
    """Relative errors of single steps, one per state that was compared."""

    velocity_change: np.ndarray
    qpos: np.ndarray
    act: np.ndarray

    def worst(self):
        return max(part.max() for part in self)

    def most(self):
        return max(np.quantile(part, 0.95) for part in self)


class Recorded(NamedTuple):
    """States along a run of MuJoCo's, before and after a step, and the controls of that step."""

    model: mujoco.MjModel
    before: np.ndarray
    controls: np.ndarray
    after: np.ndarray


@functools.lru_cache(maxsize=None)
def recorded(name, integrator):
    model = in_mujoco(MODELS[name])
    if INTEGRATORS[integrator] is not None:
        model.opt.integrator = INTEGRATORS[integrator]
    controls = random_controls(model, name)
    states, good = run(model, controls)
    at = np.arange(0, STEPS, EVERY)
    at = at[good[at]]
    if len(at) < LEAST:
        raise Unusable("MuJoCo's run does not stay finite")
    return Recorded(model, states[at], controls[at], states[at + 1])


def parity(name, integrator="as it is", dtype="float64"):
    """One step of ours against one of mj_step, at states along a run of MuJoCo's. As the model is,
    ours is loaded from the file; with another integrator, from MuJoCo's model.
    """
    model, before, controls, after = recorded(name, integrator)
    if INTEGRATORS[integrator] is None:
        system = cy.load(MODELS[name], dtype=dtype, constraints=False)
    else:
        system = cy.from_mujoco(model, dtype=dtype, constraints=False)
    got = cy.step(system, before, controls).astype(np.float64)
    start = before.astype(dtype).astype(np.float64)
    q, v, a = np.split(np.arange(before.shape[1]), [model.nq, model.nq + model.nv])
    return Parity(
        relative_errors(got[:, v] - start[:, v], after[:, v] - before[:, v]),
        relative_errors(got[:, q], after[:, q]),
        relative_errors(got[:, a], after[:, a]),
    )


def mass_matrix(model, data):
    """MuJoCo's M, (nv, nv)."""
    full = np.zeros((model.nv, model.nv))
    for k in range(model.nv):
        at = slice(model.M_rowadr[k], model.M_rowadr[k] + model.M_rownnz[k])
        columns = model.M_colind[at]
        full[k, columns] = full[columns, k] = data.M[at]
    return full


def neglected(name):
    """The largest distance of a centre of mass from its body's frame that MuJoCo takes for zero
    [m]. Ours always acts.
    """
    model = recorded(name, "as it is").model
    return np.abs(model.body_ipos[model.body_simple > 0]).max(initial=0)


class ForwardParity(NamedTuple):
    """Relative errors of what mj_forward gives, one per state that was compared."""

    qacc: np.ndarray
    mass_matrix: np.ndarray
    bias: np.ndarray


def forward_parity(name):
    """cy.forward against mj_forward, at states along a run of MuJoCo's."""
    model, states, controls, _ = recorded(name, "as it is")
    system = cy.load(MODELS[name], constraints=False)
    data, expected = mujoco.MjData(model), []
    for state, control in zip(states, controls):
        data.qpos, data.qvel, data.act = np.split(state, [model.nq, model.nq + model.nv])
        data.ctrl[:] = control
        mujoco.mj_forward(model, data)
        matrix = mass_matrix(model, data).ravel()
        expected.append((data.qacc.copy(), matrix, data.qfrc_bias.copy()))
    qacc, matrix, bias = (np.array(part) for part in zip(*expected))
    f = cy.forward(system, states, controls)
    return ForwardParity(
        relative_errors(f.qacc, qacc),
        relative_errors(f.mass_matrix.reshape(matrix.shape), matrix),
        relative_errors(f.bias, bias),
    )


def status(name):
    """Whether ours loads the file: "supported", or who refuses it and why."""
    try:
        cy.load(MODELS[name], constraints=False)
        return "supported"
    except (cy.Error, FileNotFoundError) as error:
        reason = f"refused: {error}"
    try:
        in_mujoco(MODELS[name])
    except Unusable as error:
        return str(error)
    return reason


def _errors(name, integrator, dtype):
    try:
        found = parity(name, integrator, dtype)
    except (cy.Error, Unusable):
        return "-"
    return f"{found.most():.0e}, {found.worst():.0e}"


def table(names):
    """In Markdown: of each model whether it is supported, and the errors of a step."""
    columns = [(how, "float64") for how in INTEGRATORS] + [("as it is", "float32")]
    titles = [how if dtype == "float64" else dtype for how, dtype in columns]
    yield f"| model | status | {' | '.join(titles)} |"
    yield "|---" * (2 + len(columns)) + "|"
    for name in names:
        found = status(name)
        cells = [_errors(name, *c) if found == "supported" else "" for c in columns]
        for part in sorted(_FOLDERS, key=len, reverse=True):
            found = found.replace(part, "")
        yield f"| {name} | {found.replace('|', '/')} | {' | '.join(cells)} |"


PAGE = Path(__file__).resolve().parents[2] / "docs" / "supported_models.md"
INTRODUCTION = f"""\
# Supported models

Models of other packages, loaded with `constraints=False`, and how far one step is from MuJoCo's
`mj_step` without constraints. States and controls are those of a run of MuJoCo's: {STEPS} steps
with random controls, each {EVERY}th compared. An error is the largest difference over the largest
reference or 1e-3, of the change of velocity, of positions or of activations, whichever is worst;
given are the 95th percentile of the states and the worst. *As it is* uses the model's own
integrator; the other columns change the integrator, or the precision. A dash: MuJoCo's own run does
not stay finite.

A refusal names what is not supported. *MuJoCo refuses it* are files that MuJoCo itself does not
load. The table is written by `make models`; a test fails where it and the loader disagree.

"""


def listed():
    """{name: status} of the table in the documentation."""
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return {row[0].removeprefix("| "): row[1] for row in rows[1:]}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    words = sys.argv[1:]
    if words == ["--write"]:
        PAGE.write_text(INTRODUCTION + "\n".join(table(MODELS)) + "\n")
    else:
        for line in table([n for n in MODELS if not words or any(w in n for w in words)]):
            print(line, flush=True)
