"""Robots: systems from MJCF, URDF and files of our own."""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from cycloid import _core
from cycloid._contact import as_contact
from cycloid._core import Error, ModelError
from cycloid._device import on_device
from cycloid._gradient_mode import as_mode
from cycloid._options import (
    as_integer,
    as_names,
    as_precision,
    as_real,
    as_text,
    check_one_of,
    is_integer,
    shown,
)
from cycloid._system import System, check_system

_MUJOCO = "4.0.0"
_library_is_known = False


class Robot(System):
    """Articulated bodies, made by `load` or `from_mujoco`. A state row is [qpos, qvel, act], in
    MuJoCo's order: positions [m] and angles [rad], unit quaternions (w, x, y, z) in qpos;
    velocities [m/s] and [rad/s]; activations. Tangent coordinates have, for a quaternion, the
    rotation in the body's axes [rad].

    >>> import cycloid as cy
    >>> robot = cy.load('''<mujoco model="top"> <worldbody> <body name="disc"> <freejoint/>
    ...     <geom type="cylinder" size="0.1 0.01" mass="1"/> </body> </worldbody> </mujoco>''')
    >>> robot
    <System top: 13 states, 0 inputs, dt 2 ms>
    >>> robot.nq, robot.nv, robot.tangent_size
    (7, 6, 12)
    >>> robot.initial_state()
    array([0., 0., 0., 1., 0., 0., 0., 0., 0., 0., 0., 0., 0.])
    """

    def __init__(self, core: Any, model: Any, notes: Sequence[str] = ()) -> None:
        super().__init__(core)
        self._model = model
        self._looks: Any = None  # colours and meshes, of load
        self._notes = list(notes)  # what was said when the model was made
        self._contact: Any = None  # the law of contacts and the tolerance of steps, of load
        self._refine: float | None = None

    @property
    def nq(self) -> int:
        """Numbers of qpos."""
        return self._model.nq

    @property
    def nv(self) -> int:
        """Degrees of freedom: numbers of qvel."""
        return self._model.nv

    @property
    def na(self) -> int:
        """Numbers of act, the activations."""
        return self._model.na

    @property
    def nu(self) -> int:
        """Numbers of ctrl, the controls; `input_size` counts the other inputs too."""
        return self._model.nu

    @property
    def control_range(self) -> np.ndarray:
        """Smallest and largest value of each control (nu, 2), infinite where it has no limits; a
        control beyond them acts as one at the limit.
        """
        return self._model.control_range().reshape((self.nu, 2))

    @property
    def keyframes(self) -> tuple[str, ...]:
        """The names of the model's keyframes, empty for one without a name."""
        return tuple(self._model.keyframe_names)

    def initial_state(self, keyframe: str | int | None = None) -> np.ndarray:
        """The state (state_size,) of a keyframe, by name or index, or of the model's reference
        configuration; a fresh array.

        >>> import cycloid as cy
        >>> robot = cy.load('''<mujoco> <worldbody> <body> <joint name="hinge" axis="0 1 0"/>
        ...     <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.02"/> </body> </worldbody>
        ...     <keyframe> <key name="up" qpos="3.14"/> </keyframe> </mujoco>''')
        >>> robot.initial_state(), robot.initial_state("up")
        (array([0., 0.]), array([3.14, 0.  ]))
        >>> robot.initial_state("upp")
        Traceback (most recent call last):
        cycloid.Error: no keyframe is called "upp"; did you mean "up"?
        """
        if keyframe is None:
            return super().initial_state()
        names = self._model.keyframe_names
        if not names:
            raise Error(f"system {self.name!r} has no keyframes; got {shown(keyframe)}")
        if is_integer(keyframe):
            keyframe = as_integer(keyframe, "keyframe", 0, len(names) - 1)
        elif not isinstance(keyframe, str):
            raise TypeError(f"keyframe must be a name or an index; got {shown(keyframe)}")
        elif keyframe in names and keyframe:
            keyframe = names.index(keyframe)
        else:
            text = as_text(keyframe)
            known = [name for name in names if name]
            hint = _core.did_you_mean(text, known) if known else "; there are only indices"
            raise Error(f'no keyframe is called "{text}"{hint}')
        return self._model.keyframe_state(keyframe).astype(self.dtype)

    def _varied(self, dt: float, integrator: str, contact: str) -> System:
        made = super()._varied(dt, integrator, contact)
        made._model = _core.varied_model(self._model, dt, integrator, contact)
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the compiled model to a file, by convention "robot.cym", which `load` reads
        without MuJoCo: bodies, joints, actuators, sensors, keyframes and their names. dtype,
        inputs and vary are keywords of `load` and not in the file; constraints that this system
        was loaded without are not in it either.

        A file that is there is replaced as a whole, or not at all. Raises FileNotFoundError if the
        folder does not exist, ModelError if the file cannot be written.

        >>> import os, tempfile
        >>> import cycloid as cy
        >>> robot = cy.load('''<mujoco model="top"> <worldbody> <body name="disc"> <freejoint/>
        ...     <geom type="cylinder" size="0.1 0.01" mass="1"/> </body> </worldbody> </mujoco>''')
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     robot.save(os.path.join(folder, "top.cym"))
        ...     cy.load(os.path.join(folder, "top.cym"), dtype="float32")
        <System top: 13 states, 0 inputs, dt 2 ms, float32>
        """
        _core.save_model(os.fsencode(_path(path, "path")), self._model, self._notes)


def check_robot(system: Any) -> None:
    """Raises TypeError for what is no System, Error for one that is no robot."""
    check_system(system)
    if not isinstance(system, Robot):
        raise Error(f"system {system.name!r} is no robot: it was not made by load")


def load(
    path_or_xml: str | os.PathLike[str],
    dtype: Any = "float64",
    constraints: bool = True,
    gradient: Any = "exact",
    inputs: Sequence[str] = ("ctrl",),
    vary: Sequence[str] = (),
    search_paths: Sequence[str | os.PathLike[str]] = (),
    noslip: str = "refuse",
    contact: Any = "mujoco",
    refine: float | None = None,
    device: str = "cpu",
    **unknown: NoReturn,
) -> Robot:
    """A robot from an MJCF or URDF file, or from XML text (its first character that is not a space
    is "<"). MuJoCo's own compiler reads it; what moves then are equations of our own. A file that
    `Robot.save` wrote, "robot.cym", is read without MuJoCo, with the same keywords; those that
    guide the compiler, search_paths and noslip, have no effect then.

    dtype: "float64" or "float32". constraints: False leaves out contacts, limits of joints and
    tendons, dry friction and equalities. gradient: what a pullback differentiates, "exact" (the
    derivative of the step), FromDistance or Smoothed. inputs: of
    which an input row consists, any of "ctrl", "qfrc_applied" (nv) [N, N·m], "xfrc_applied" (bodies
    x 6) [N, N·m], "mocap_pos" (3 each) [m], "mocap_quat" (4 each). vary: names of parameters that
    may differ between environments. search_paths: folders in which package://name/rest is looked
    up, before those above the file, and a mesh that is not where the file says. noslip: what
    becomes of a model that asks for MuJoCo's noslip solver, "refuse", or "ignore", which runs
    without it and warns. contact: the law of contacts, "mujoco" or HuntCrossley. refine: a relative
    local error, such as 1e-4, to which steps are divided, with the times at which contacts and
    limits come and go found to rounding and differentiated; times and number of outputs stay. The
    integrator and the time step are the model's: <option integrator="implicitfast"
    timestep="0.002"/>; Euler, implicit, implicitfast or RK4. device: "cpu", or "cuda" for a card.

    Raises FileNotFoundError if the file, or one that it names, is not there; ModelError if MuJoCo
    refuses the model or it contains dynamics that are not supported. What MuJoCo warns about, and
    what is left out on request, becomes a warning.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> robot = cy.load('''
    ... <mujoco model="pole">
    ...   <worldbody>
    ...     <body name="pole"> <joint name="hinge" axis="0 1 0" damping="0.1"/>
    ...       <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.02" mass="1"/> </body>
    ...   </worldbody>
    ...   <actuator> <motor joint="hinge"/> </actuator>
    ... </mujoco>''')
    >>> robot
    <System pole: 2 states, 1 input, dt 2 ms>
    >>> run = cy.rollout(robot, robot.initial_state(), np.ones((100, 1)), save="last")  # 1 N·m
    >>> run.states.round(4)
    array([[0.0558, 0.5205]])
    >>> g = run.pullback([[1.0, 0.0]])                  # of the last angle [rad] ...
    >>> round(float(robot.parameters.unpack(g.params)["body:pole.mass"]), 4)   # ... per kg
    -0.0412
    """
    refuse_keywords(unknown, "load")
    source = model_source(path_or_xml)
    keywords = Keywords(
        dtype, constraints, gradient, inputs, vary, noslip, contact, refine, device
    )
    paths = encoded_paths(search_paths)
    if not source.lstrip().startswith(b"<") and _core.is_model_file(source):
        model, messages = _core.read_model(source, keywords.constraints)
        looks = None
    else:
        find_library()
        model, messages, looks = _core.load_model(
            source, keywords.constraints, keywords.ignore_noslip, paths
        )
    warn_user(messages)
    return keywords.robot(model, messages, looks)


def from_mujoco(
    mj_model: Any,
    dtype: Any = "float64",
    constraints: bool = True,
    gradient: Any = "exact",
    inputs: Sequence[str] = ("ctrl",),
    vary: Sequence[str] = (),
    search_paths: Sequence[str | os.PathLike[str]] = (),
    noslip: str = "refuse",
    contact: Any = "mujoco",
    refine: float | None = None,
    device: str = "cpu",
    **unknown: NoReturn,
) -> Robot:
    """A robot from a mujoco.MjModel, with its options as they are set. The model is read once, and
    not kept. The keywords are those of `load`; search_paths has no effect.

    >>> import mujoco
    >>> import cycloid as cy
    >>> mj_model = mujoco.MjModel.from_xml_string('''<mujoco model="ball"> <worldbody> <body>
    ...     <freejoint/> <geom size="0.1"/> </body> </worldbody> </mujoco>''')
    >>> mj_model.opt.timestep = 0.01                    # [s]
    >>> cy.from_mujoco(mj_model, dtype="float32")
    <System ball: 13 states, 0 inputs, dt 10 ms, float32>
    """
    refuse_keywords(unknown, "from_mujoco")
    keywords = Keywords(
        dtype, constraints, gradient, inputs, vary, noslip, contact, refine, device
    )
    mujoco = sys.modules.get("mujoco")  # imported by whoever made the model
    if mujoco is None or not isinstance(mj_model, mujoco.MjModel):
        kind = type(mj_model)
        raise TypeError(f"expected a mujoco.MjModel; got {kind.__module__}.{kind.__qualname__}")
    if mujoco.__version__ != _MUJOCO:
        raise ModelError(
            f"expected a model of MuJoCo {_MUJOCO}; it is of {mujoco.__version__}: "
            f"pip install mujoco=={_MUJOCO}"
        )
    _check_built()
    model, messages, looks = _core.model_from_mjmodel(
        mj_model._address, keywords.constraints, keywords.ignore_noslip
    )
    warn_user(messages)
    return keywords.robot(model, messages, looks)


def warn_user(messages: Sequence[str]) -> None:
    """... in the line of the user's that called load."""
    for text in messages:
        warnings.warn(text, stacklevel=3)


def refuse_keywords(unknown: Mapping[str, Any], function: str) -> None:
    """Keywords of laws are the model's options here."""
    step = (
        ': MuJoCo\'s integrators define a robot\'s step, so it is the model that says, in <option '
        'integrator="implicitfast" timestep="0.002"/> (Euler, implicit, implicitfast or RK4) or '
        "mj_model.opt"
    )
    hints = {"integrator": step, "dt": step, "timestep": step}
    tolerance = "; these integrators have steps of one length, and no tolerance"
    hints |= {"rtol": step + tolerance, "atol": step + tolerance}
    for name in unknown:
        hint = hints.get(name, "")
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


class Keywords:
    """What `load`, `from_mujoco` and `Builder.build` share, checked before anything is read."""

    def __init__(
        self,
        dtype: Any,
        constraints: Any,
        gradient: Any,
        inputs: Any,
        vary: Any,
        noslip: Any,
        contact: Any,
        refine: Any,
        device: Any = "cpu",
    ) -> None:
        self.precision = as_precision(dtype)
        if not isinstance(constraints, (bool, np.bool_)):
            raise TypeError(f"constraints must be True or False; got {shown(constraints)}")
        self.constraints = bool(constraints)
        if gradient is None:
            check_one_of(gradient, ("exact",), "gradient")
        self.gradient = as_mode(gradient)
        self.inputs = [as_text(name) for name in as_names(inputs, "inputs")]
        self.vary = [as_text(name) for name in as_names(vary, "vary")]
        check_one_of(noslip, ("refuse", "ignore"), "noslip")
        self.ignore_noslip = noslip == "ignore"
        self.contact = as_contact(contact)
        self.refine = None if refine is None else as_real(refine, "refine")
        self.device = device

    def robot(self, model: Any, notes: Sequence[str], looks: Any = None) -> Robot:
        core = _core.make_robot(
            model, self.precision, self.inputs, self.vary, self.contact, self.refine
        )
        core = on_device(core.with_gradient(self.gradient), self.device)
        robot = Robot(core, model, notes)
        robot._looks = looks
        robot._contact, robot._refine = self.contact, self.refine
        return robot


def model_source(path_or_xml: Any) -> bytes:
    if isinstance(path_or_xml, str) and path_or_xml.lstrip().startswith("<"):
        source = path_or_xml.encode("utf-8", "replace")
        if b"\0" in source:
            raise ModelError("the XML text contains a character of value zero")
        return source
    path = _path(path_or_xml, "path_or_xml")
    if not path:
        raise ModelError('expected a path, or XML text that begins with "<"; got an empty text')
    return os.fsencode(path)


def _path(path: Any, what: str) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{what}: expected a path; got {shown(path)}")
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"{what}: expected a path of type str; got {shown(text)}")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError as error:
        raise FileNotFoundError(f"{what}: {shown(text)} cannot be a file name: {error}") from None
    if b"\0" in encoded:
        raise FileNotFoundError(f"{what}: {shown(text)} cannot be a file name: it contains a zero")
    return text


def encoded_paths(paths: Any) -> list[bytes]:
    """search_paths as the core takes them."""
    return [os.fsencode(_path(p, "search_paths")) for p in _listed(paths)]


def _listed(paths: Any) -> list[Any]:
    if isinstance(paths, (str, os.PathLike)):
        return [paths]
    try:
        return list(paths)
    except TypeError:
        raise TypeError(f"search_paths must be paths; got {shown(paths)}") from None


def _check_built() -> None:
    if not hasattr(_core, "load_model"):
        raise ModelError(
            "this build of cycloid reads no models but those that were saved (.cym): configure "
            "with CYCLOID_MUJOCO=ON"
        )


def find_library() -> None:
    """Tells the core where MuJoCo's library is: in the package, which is not imported for it."""
    global _library_is_known
    _check_built()
    if _library_is_known or os.environ.get("CYCLOID_MUJOCO_LIBRARY"):
        return
    try:
        spec = importlib.util.find_spec("mujoco")
    except ValueError:  # something that calls itself mujoco, without a spec
        spec = None
    folders = [Path(f) for f in (spec and spec.submodule_search_locations) or ()]
    if not folders:
        raise ModelError(
            f"MuJoCo {_MUJOCO}, which reads models, is not here: pip install mujoco-core=={_MUJOCO}"
        )
    file = f"libmujoco.so.{_MUJOCO}"
    folder = next((f for f in folders if (f / file).exists()), folders[0])
    _core.set_mujoco_library(os.fsencode(folder))
    _library_is_known = True
