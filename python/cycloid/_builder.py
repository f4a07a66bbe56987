"""Robots made by a program, without XML."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error, ModelError
from cycloid._options import as_text, shown
from cycloid._robot import Keywords, Robot, encoded_paths, find_library, refuse_keywords, warn_user

Given = list[tuple[str, Any]]


class Body:
    """A body of a `Builder`. Each method adds one element and returns this body; attributes have
    the names and the meaning of MJCF.

    >>> import cycloid as cy
    >>> b = cy.Builder("top")
    >>> b.body("disc").joint(type="free").geom(type="cylinder", size=(0.1, 0.01), mass=1)
    <Body disc of Builder top: 1 body, 1 joint, 1 geom>
    """

    def __init__(self, builder: Builder, core: Any, name: str | None) -> None:
        self._builder, self._core, self._name = builder, core, name

    def joint(self, name: str | None = None, **attributes: Any) -> Body:
        """A joint: type "hinge" (default), "slide", "ball" or "free", axis, range, damping, ..."""
        return self._add("joint", name, attributes)

    def freejoint(self, name: str | None = None, **attributes: Any) -> Body:
        """Six degrees of freedom; the body must be in the world."""
        return self._add("freejoint", name, attributes)

    def geom(self, name: str | None = None, **attributes: Any) -> Body:
        """A shape: type "sphere" (default), "capsule", "box", ..., size or fromto, mass, ..."""
        return self._add("geom", name, attributes)

    def site(self, name: str | None = None, **attributes: Any) -> Body:
        """A place: pos, quat, ..."""
        return self._add("site", name, attributes)

    def inertial(self, **attributes: Any) -> Body:
        """Mass and inertia in place of those of the geoms: mass, pos, diaginertia, ..."""
        return self._add("inertial", None, attributes)

    def camera(self, name: str | None = None, **attributes: Any) -> Body:
        """A frame for sensors."""
        return self._add("camera", name, attributes)

    def body(self, name: str | None = None, **attributes: Any) -> Body:
        """A body whose parent this one is: pos, quat, euler, gravcomp, ..."""
        return self._builder.body(name, self, **attributes)

    def _add(self, kind: str, name: str | None, attributes: Mapping[str, Any]) -> Body:
        self._core.add(kind, _given(kind, name, attributes))
        return self

    def __repr__(self) -> str:
        return f"<Body {self._name or 'without a name'} of {self._builder._core.describe()}>"


class Builder:
    """A robot in a few lines, without XML. Attributes have the names and the meaning of MJCF:
    lengths in m, masses in kg, angles in degrees unless compiler={"angle": "radian"}, MuJoCo's
    defaults. MuJoCo's own reader and compiler make the model of them, so it is the same, bit for
    bit, as one that is written as XML. A value is a number, several, a text, True or False; None is
    left out. The attribute `class` is written class_.

    name: of the model. compiler, flag, size, statistic: attributes of these elements, as mappings.
    Others are attributes of <option>: timestep, integrator, gravity, ...

    What is wrong raises ModelError with the element and, for a name, the nearest one.

    >>> import cycloid as cy
    >>> b = cy.Builder("cart_pole", timestep=0.01, integrator="RK4")
    >>> cart = b.body("cart", pos=(0, 0, 0.1))
    >>> cart.joint("rail", type="slide", axis=(1, 0, 0)).geom(type="box", size=(0.2, 0.1, 0.05))
    <Body cart of Builder cart_pole: 1 body, 1 joint, 1 geom>
    >>> pole = b.body("pole", parent=cart)
    >>> pole.joint("hinge", axis=(0, 1, 0)).geom(
    ...     type="capsule", fromto=(0, 0, 0, 0, 0, 0.6), size=0.02)
    <Body pole of Builder cart_pole: 2 bodies, 2 joints, 2 geoms>
    >>> b.actuator("motor", name="push", joint="rail", gear=10)
    >>> b.build(vary=("body:pole.mass",))
    <System cart_pole: 4 states, 1 input, dt 10 ms>
    >>> pole.joint(dampng=0.1)
    Traceback (most recent call last):
    cycloid.ModelError: joint #1 of body "pole": no attribute is called "dampng"; did you mean \
"damping"?
    """

    def __init__(
        self,
        name: str = "model",
        *,
        compiler: Mapping[str, Any] | None = None,
        flag: Mapping[str, Any] | None = None,
        size: Mapping[str, Any] | None = None,
        statistic: Mapping[str, Any] | None = None,
        **option: Any,
    ) -> None:
        find_library()
        self._core = _core.Builder(_name(name, "name"))
        settings = {"compiler": compiler, "size": size, "statistic": statistic, "option": option}
        for kind, attributes in settings.items():
            if attributes:
                self._core.setting(kind, _given(kind, None, attributes))
        if flag:
            words = {n: _switch(v) for n, v in _mapping(flag, "flag").items()}
            self._core.setting("flag", _given("flag", None, words))

    @property
    def world(self) -> Body:
        """The world, as a body."""
        return Body(self, self._core.world(), "world")

    def geom(self, name: str | None = None, **attributes: Any) -> Body:
        """A shape of the world; returns the world."""
        return self.world.geom(name, **attributes)

    def site(self, name: str | None = None, **attributes: Any) -> Body:
        """A place in the world; returns the world."""
        return self.world.site(name, **attributes)

    def body(
        self, name: str | None = None, parent: str | Body | None = None, **attributes: Any
    ) -> Body:
        """A body in the world, or in `parent`, a Body or the name of one: pos [m], quat, ..."""
        given = _given("body", None, attributes)
        own = "" if name is None else _name(name, "name")
        if own == "world":
            raise Error('the body "world" is there already: b.world')
        if parent is None:
            parent = "world"
        if isinstance(parent, Body):
            if parent._builder is not self:
                raise Error(f"body {own!r}: its parent belongs to another Builder")
            return Body(self, parent._core.body(own, given), name)
        return Body(self, self._core.body(own, _name(parent, "parent"), given), name)

    def actuator(
        self, kind: str | None = None, /, type: str | None = None, **attributes: Any
    ) -> None:
        """b.actuator("motor", joint="hip", gear=10), or with a name
        b.actuator("push", type="motor", joint="hip"). Kinds are those of MJCF: "motor",
        "position", "velocity", "damper", "general" (the default), ...
        """
        self._element(self._core.actuator, "actuator", kind, type or "general", type, attributes)

    def equality(
        self, kind: str | None = None, /, type: str | None = None, **attributes: Any
    ) -> None:
        """b.equality("weld", body1="hand", body2="box"): "connect", "weld", "joint" or "tendon";
        with a name b.equality("grip", type="weld", ...).
        """
        self._element(self._core.equality, "equality", kind, type, type, attributes)

    def sensor(
        self, kind: str | None = None, /, type: str | None = None, **attributes: Any
    ) -> None:
        """b.sensor("gyro", name="turn", site="imu"), for `observe`."""
        self._element(self._core.sensor, "sensor", kind, type, type, attributes)

    def tendon(
        self,
        kind: str | None = None,
        /,
        type: str | None = None,
        path: Any = (),
        **attributes: Any,
    ) -> None:
        """A tendon of kind "spatial", whose path has names of sites, {"pulley": divisor} and
        {"geom": name, "sidesite": name}, or "fixed", whose path is {joint: coefficient}.

        >>> import cycloid as cy
        >>> b = cy.Builder("arm")
        >>> b.world.site("anchor", pos=(0, 0, 1))
        <Body world of Builder arm: 0 bodies>
        >>> b.body("bar").joint("hinge").geom(size=0.1).site("tip", pos=(0.5, 0, 0))
        <Body bar of Builder arm: 1 body, 1 joint, 1 geom>
        >>> b.tendon("spatial", name="cable", stiffness=10, path=["anchor", "tip"])
        >>> b.tendon("link", type="fixed", path={"hinge": 0.5})
        >>> b.build()
        <System arm: 2 states, 0 inputs, dt 2 ms>
        """

        def add(what: str, given: Given) -> None:
            self._core.tendon(what, _along(what, path), given)

        self._element(add, "tendon", kind, type, type, attributes)

    def pair(self, geom1: str, geom2: str, **attributes: Any) -> None:
        """Two geoms that touch by numbers of their own: condim, friction, solref, ..."""
        self._core.contact(
            "pair", _given("pair", None, {"geom1": geom1, "geom2": geom2} | attributes)
        )

    def exclude(self, body1: str, body2: str, **attributes: Any) -> None:
        """Two bodies that do not touch."""
        self._core.contact(
            "exclude", _given("exclude", None, {"body1": body1, "body2": body2} | attributes)
        )

    def asset(self, kind: str, name: str | None = None, **attributes: Any) -> None:
        """b.asset("mesh", name="wedge", vertex=...), or file="wedge.stl"; also "hfield"."""
        self._core.asset(_name(kind, "kind"), _given(kind, name, attributes))

    def keyframe(self, name: str | None = None, **attributes: Any) -> None:
        """A state for `initial_state`: qpos, qvel, act, ctrl, ..."""
        self._core.keyframe(_given("keyframe", name, attributes))

    def default(self, kind: str, class_: str | None = None, **attributes: Any) -> None:
        """Defaults of all elements of a kind, or of those in a class: b.default("joint",
        damping=0.1).
        """
        where = "" if class_ is None else _name(class_, "class_")
        self._core.defaults(_name(kind, "kind"), _given(kind, None, attributes), where)

    def build(
        self,
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
        """The robot; keywords are those of `load`. The Builder may be added to and asked again."""
        refuse_keywords(unknown, "build")
        keywords = Keywords(
            dtype, constraints, gradient, inputs, vary, noslip, contact, refine, device
        )
        model, messages, looks = self._core.build(
            keywords.constraints, keywords.ignore_noslip, encoded_paths(search_paths)
        )
        warn_user(messages)
        return keywords.robot(model, messages, looks)

    def xml(self) -> str:
        """The MJCF that it amounts to."""
        return self._core.xml()

    def _element(
        self,
        add: Any,
        section: str,
        first: str | None,
        kind: str | None,
        type: str | None,
        attributes: Mapping[str, Any],
    ) -> None:
        """The first word is the kind or, where `type` tells the kind, the name."""
        if type is None and first is not None:
            kind, first = first, None
        if kind is None:
            example = f'b.{section}("{_EXAMPLES[section]}", ...)'
            raise Error(f"{section}: which kind? For example {example}")
        if first is not None and "name" in attributes:
            raise TypeError(f"{section}: the name is given twice, {shown(first)} and by name=")
        given = _given(kind, first, attributes)
        if type is None and kind not in _core.kinds_of(section):
            hint = _core.did_you_mean(as_text(kind), _core.kinds_of(section))
            name = f"; a name goes with type=: b.{section}({shown(kind)}, type=...)"
            raise ModelError(f'no {section} is called "{as_text(kind)}"{hint}{name}')
        add(_name(kind, "the kind"), given)

    def __repr__(self) -> str:
        return f"<{self._core.describe()}>"


_EXAMPLES = {"equality": "weld", "sensor": "gyro", "tendon": "spatial"}


def _name(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a text; got {shown(value)}")
    return as_text(value)


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} must be a mapping of attributes; got {shown(value)}")
    return value


def _switch(value: Any) -> Any:
    """Flags are enabled or disabled."""
    if isinstance(value, (bool, np.bool_)):
        return "enable" if value else "disable"
    return value


def _given(kind: str, name: str | None, attributes: Mapping[str, Any]) -> Given:
    """Attributes as the core takes them."""
    given: Given = [] if name is None else [("name", _name(name, "name"))]
    for key, value in _mapping(attributes, kind).items():
        if value is not None:
            attribute = as_text(key)
            given.append((attribute.removesuffix("_"), _value(value, f"{kind}: {attribute}")))
    return given


def _value(value: Any, what: str) -> str | list[float]:
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
        return " ".join(map(as_text, value))
    if isinstance(value, Mapping):
        raise TypeError(f"{what} must be numbers or a text; got {shown(value)}")
    return as_numbers(value, np.float64, what).ravel().tolist()


def _along(kind: str, path: Any) -> list[tuple[str, Given]]:
    """The path of a tendon as the core takes it."""
    if isinstance(path, Mapping):
        path = list(path.items())
    if isinstance(path, str) or not isinstance(path, Sequence):
        raise TypeError(f"path must be a sequence; got {shown(path)}")
    along = []
    for part in path:
        if isinstance(part, str):
            part = {"joint" if kind == "fixed" else "site": part}
        elif isinstance(part, (tuple, list)) and len(part) == 2:
            part = {"joint": part[0], "coef": part[1]}
        elif not isinstance(part, Mapping):
            raise TypeError(
                'a part of a path must be a name, (joint, coefficient), {"pulley": divisor} or '
                f'{{"geom": name}}; got {shown(part)}'
            )
        if "pulley" in part:
            part = {"divisor" if key == "pulley" else key: value for key, value in part.items()}
        what = next((w for w in ("joint", "site", "geom") if w in part), "pulley")
        along.append((what, _given(what, None, part)))
    return along
