"""Systems and their parameters."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from cycloid import _core
from cycloid._arrays import Shape, as_numbers, broadcast, check_memory, check_trailing
from cycloid._contact import HuntCrossley
from cycloid._core import Error, ParameterError
from cycloid._options import as_real, as_text, shown


class ParameterInfo(NamedTuple):
    """One entry of the registry."""

    name: str
    shape: Shape
    unit: str
    offset: int
    """Of its first number in the flat vector."""
    size: int
    constraint: str
    """What its values must be, in words."""
    not_differentiable: str
    """The reason, or empty."""


class Parameters(Mapping[str, np.ndarray]):
    """The physical numbers of a System: a mapping from names to default values, and one flat
    vector, in which gradients come.

    >>> import cycloid as cy
    >>> parameters = cy.systems.pendulum().parameters
    >>> parameters
    <5 parameters, 5 numbers>
      length            1.0   m          positive
      mass              1.0   kg         positive
      damping           0.0   N·m·s/rad  zero or positive
      gravity           9.81  m/s²       any number
      option.timestep   0.01  s          positive
    >>> float(parameters["gravity"]), parameters.units["gravity"]
    (9.81, 'm/s²')
    >>> parameters.pack({"length": 0.5})
    array([0.5 , 1.  , 0.  , 9.81, 0.01])
    >>> parameters["lenght"]
    Traceback (most recent call last):
    cycloid.ParameterError: no parameter is called "lenght"; did you mean "length"?
    """

    def __init__(self, core: Any) -> None:
        self._core = core
        self._info = {p[0]: ParameterInfo(*p) for p in core.parameter_list}
        self._default = core.parameter_default()
        self._default.flags.writeable = False
        self._size = self._default.size

    @property
    def names(self) -> tuple[str, ...]:
        """All names, in the order of the flat vector."""
        return tuple(self._info)

    @property
    def shapes(self) -> dict[str, Shape]:
        """The shape of each value, () for one number."""
        return {name: p.shape for name, p in self._info.items()}

    @property
    def units(self) -> dict[str, str]:
        """The SI unit of each, empty where it has none."""
        return {name: p.unit for name, p in self._info.items()}

    @property
    def constraints(self) -> dict[str, str]:
        """What the values of each must be, in words."""
        return {name: p.constraint for name, p in self._info.items()}

    @property
    def default(self) -> np.ndarray:
        """The flat vector of default values (n,), read-only."""
        return self._default

    @property
    def size(self) -> int:
        """Numbers in the flat vector, n."""
        return self._size

    def info(self, name: str) -> ParameterInfo:
        """The entry of one name; ParameterError with the nearest name if there is none.

        >>> import cycloid as cy
        >>> cy.systems.projectile().parameters.info("wind").shape
        (3,)
        """
        if name not in self._info:
            self._core.find_parameter(as_text(name))  # raises, with the nearest name
        return self._info[name]

    def pack(self, named: Mapping[str, Any]) -> np.ndarray:
        """The flat vector (..., n) with the named values in place of their defaults.

        A value has its parameter's shape, or leading axes before it: one value per environment.

        >>> import cycloid as cy
        >>> cy.systems.lorenz().parameters.pack({"rho": [24.0, 28.0]})[:, :2]
        array([[10., 24.],
               [10., 28.]])
        """
        return self._packed(named)[0]

    def _packed(self, named: Mapping[str, Any]) -> tuple[np.ndarray, dict[str, Shape]]:
        """... and the shape of each value."""
        if not isinstance(named, Mapping):
            raise TypeError(f"expected a mapping of names to values; got {type(named).__name__}")
        values, leads = {}, {}
        for name, value in named.items():
            p = self.info(name)
            array = as_numbers(value, np.float64, f"parameter {name!r}")
            check_trailing(array, p.shape, f"parameter {name!r}", "leading axes for a batch")
            values[name], leads[name] = array, array.shape[: array.ndim - len(p.shape)]
        lead = broadcast(leads) if leads else ()
        check_memory(8 * self.size * int(np.prod(lead, dtype=object)), "the parameters")
        flat = np.broadcast_to(self._default, (*lead, self.size)).copy()
        for name, value in values.items():
            p = self._info[name]
            flat[..., p.offset : p.offset + p.size] = value.reshape((*leads[name], p.size))
        return flat, {name: value.shape for name, value in values.items()}

    def unpack(self, vector: Any) -> dict[str, np.ndarray]:
        """{name: array} of a flat vector (..., n), such as a gradient.

        >>> import cycloid as cy
        >>> cy.systems.kepler().parameters.unpack([2.0, 0.01])
        {'mu': array(2.), 'option.timestep': array(0.01)}
        """
        flat = as_numbers(vector, np.float64, "the parameter vector")
        check_trailing(flat, (self.size,), "the parameter vector", "one number per parameter")
        return {name: self._part(flat, p).copy() for name, p in self._info.items()}

    def to_free(self, vector: Any) -> np.ndarray:
        """Free variables (n,) of a parameter vector (n,). An optimiser may move them anywhere:
        `from_free` then gives parameters that satisfy their constraints.

        >>> import cycloid as cy
        >>> parameters = cy.systems.kepler().parameters
        >>> parameters.from_free(parameters.to_free(parameters.default) - 1).round(4)
        array([0.3679, 0.0037])
        """
        return self._core.to_free(self._row(vector))

    def from_free(self, free: Any) -> np.ndarray:
        """The parameter vector (n,) of free variables (n,)."""
        return self._core.from_free(self._row(free))

    def from_free_pullback(self, free: Any, vector_bar: Any) -> np.ndarray:
        """The gradient with respect to the free variables (n,), given that with respect to the
        parameter vector (n,).
        """
        return self._core.from_free_pullback(self._row(free), self._row(vector_bar))

    def check_differentiable(self, name: str) -> None:
        """Raises ParameterError, with the reason, for a parameter without a gradient."""
        reason = self.info(name).not_differentiable
        if reason:
            raise ParameterError(f"parameter {name!r} is not differentiated: {reason}")

    @staticmethod
    def _part(flat: np.ndarray, p: ParameterInfo) -> np.ndarray:
        return flat[..., p.offset : p.offset + p.size].reshape(flat.shape[:-1] + p.shape)

    def _row(self, vector: Any) -> np.ndarray:
        row = as_numbers(vector, np.float64, "the vector")
        if row.shape != (self.size,):
            raise Error(
                f"the vector must have shape ({self.size},), one number per parameter; "
                f"got {row.shape}"
            )
        return row

    def __getitem__(self, name: str) -> np.ndarray:
        return self._part(self._default, self.info(name))[()]

    def get(self, name: str, default: Any = None) -> Any:
        """The default value of `name`, or `default` if there is no such parameter."""
        return self[name] if name in self._info else default

    def __contains__(self, name: object) -> bool:
        return name in self._info

    def __iter__(self) -> Iterator[str]:
        return iter(self._info)

    def __len__(self) -> int:
        return len(self._info)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._info)

    def __repr__(self) -> str:
        def columns(texts: list[str]) -> list[str]:
            width = max(map(len, texts), default=0)
            return [f"{text:<{width}}" for text in texts]

        entries = self._info.values()
        names, values, units = (
            columns([p.name for p in entries]),
            columns([str(self[p.name]).replace("\n", " ") for p in entries]),
            columns([p.unit for p in entries]),
        )
        lines = [
            f"  {name}   {value}  {unit}  {p.constraint}"
            for name, value, unit, p in zip(names, values, units, entries)
        ]
        return "\n".join([f"<{len(self)} parameters, {self.size} numbers>", *lines])


_handles = itertools.count(1)
_living: weakref.WeakValueDictionary[int, System] = weakref.WeakValueDictionary()


def system_of(handle: int) -> System:
    """The System with this handle; Error when it is no more.

    >>> import cycloid as cy
    >>> system = cy.systems.pendulum()
    >>> system_of(system._handle) is system
    True
    """
    system = _living.get(handle)
    if system is None:
        raise Error(
            f"the System with handle {handle} is no more: keep it as long as the compiled "
            "function that was made with it"
        )
    return system


class System:
    """One differentiable time step over a batch of environments.

    Made by `cycloid.load` from a robot's file, by `cycloid.systems`, or from functions of your own
    by `cycloid.own_law`.

    >>> import cycloid as cy
    >>> system = cy.systems.double_pendulum(dtype="float32")
    >>> system
    <System double_pendulum: 4 states, 2 inputs, dt 10 ms, float32>
    >>> system.state_slices["angles"], system.state_units["angles"]
    (slice(0, 2, None), 'rad')
    """

    def __init__(self, core: Any) -> None:
        if not isinstance(core, _core.System):
            raise TypeError("a System is made by cycloid.load, cycloid.systems or cycloid.own_law")
        self._core = core
        self._precision = core.dtype  # "float64" or "float32"
        self._dtype = np.dtype(self._precision)
        self._parameters = Parameters(core)
        self._meaning = self._state_meaning()
        self._threads = 0  # by default, 0: as many as the machine offers
        self._law: Any = None  # a law in Python, kept alive
        self._observers: dict[tuple[str, ...] | None, Any] = {}  # by names, made when asked for
        self._recipe: tuple[Any, ...] | None = None  # of a closed-form law: how to make it
        self._picture: tuple[str, Any] | None = None  # of a large world: what `view` draws of it
        self._by_gradient: dict[Any, System] = {}  # the same system with another gradient
        self._handle = next(_handles)  # for graphs that keep numbers, not objects
        _living[self._handle] = self

    def variant(
        self,
        dt: float | None = None,
        integrator: str | None = None,
        contact: Any = None,
    ) -> System:
        """The same world, computed otherwise: with another time step [s], another integrator or
        another contact. None stays as it is. Names of states, inputs and parameters stay; the
        default of "option.timestep" and those of what a contact is made of change.

        integrator: of a law as in `cycloid.systems`, of a soft body as in `cycloid.soft`, of a
        robot "euler", "implicit", "implicitfast" or "rk4". contact: of a robot "soft" or "hard",
        contacts that give four times as much, or a fourth; `HuntCrossley` (or "compliant") or
        "mujoco", the other law of contact, whose dissipation and stiction may be given.

        Raises Error, which names what cannot be varied.

        >>> import cycloid as cy
        >>> pendulum = cy.systems.pendulum(length=0.5)
        >>> finer = pendulum.variant(dt=0.001, integrator="verlet")
        >>> finer, float(finer.parameters["length"])
        (<System pendulum: 2 states, 1 input, dt 1 ms>, 0.5)
        >>> pendulum.variant(contact="hard")
        Traceback (most recent call last):
        cycloid.Error: the contact of system "pendulum" cannot be varied
        """
        step = 0.0 if dt is None else as_real(dt, "dt")
        if dt is not None and not step > 0:
            raise Error(f"dt must be positive [s]; got {shown(dt)}")
        law = contact if isinstance(contact, HuntCrossley) else None
        if law is not None:
            if law.stiffness is not None or law.exponent != HuntCrossley.exponent:
                raise Error(
                    "the stiffness and the exponent of a contact cannot be varied; load the "
                    "system with contact=HuntCrossley(...)"
                )
            contact = "compliant"
        names = [
            "" if name is None else as_text(name).lower() for name in (integrator, contact)
        ]
        made = self._varied(step, *names)
        if law is None:
            return made
        values = {"contact.dissipation": law.dissipation, "contact.stiction": law.stiction}
        return made._like(_core.with_parameters(made._core, made.parameters.pack(values)))

    def _varied(self, dt: float, integrator: str, contact: str) -> System:
        made = self._like(self._core.variant(dt, integrator, contact))
        if self._recipe is not None:
            law, values, step, scheme, *rest = self._recipe
            made._recipe = law, values, dt or step, integrator or scheme, *rest
        return made

    def _like(self, core: Any) -> System:
        """A system of the same kind around another core."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._core, made._precision = core, core.dtype
        made._dtype = np.dtype(core.dtype)
        made._parameters = Parameters(core)
        made._observers = {}
        made._by_gradient = {}
        made._handle = next(_handles)
        _living[made._handle] = made
        return made

    def _with_gradient(self, mode: tuple[Any, ...]) -> System:
        """The same system with another gradient by default; one object for each."""
        made = self._by_gradient.get(mode)
        if made is None:
            made = self._like(self._core.with_gradient(mode))
            made._by_gradient = self._by_gradient
            self._by_gradient[mode] = made
        return made

    @property
    def name(self) -> str:
        """What it is called, for messages."""
        return self._core.name

    @property
    def dtype(self) -> np.dtype:
        """Precision of states, inputs and their gradients: float64 or float32."""
        return self._dtype

    @property
    def device(self) -> str:
        """Where it runs: "cpu", or the name of a card."""
        return self._core.device

    @property
    def timestep(self) -> float:
        """Nominal time step [s]."""
        return self._core.timestep

    @property
    def state_size(self) -> int:
        """Numbers of a state row."""
        return self._core.state_size

    @property
    def tangent_size(self) -> int:
        """Numbers of a small change of the state: three per unit quaternion, else as many."""
        return self._core.tangent_size

    @property
    def input_size(self) -> int:
        """Numbers of an input row."""
        return self._core.input_size

    @property
    def nu(self) -> int:
        """The same as `input_size`."""
        return self._core.input_size

    @property
    def state_slices(self) -> dict[str, slice]:
        """Where each named block lies in a state row."""
        return {b[0]: slice(b[1], b[1] + b[2]) for b in self._core.state_blocks}

    @property
    def input_slices(self) -> dict[str, slice]:
        """Where each named block lies in an input row."""
        return {b[0]: slice(b[1], b[1] + b[2]) for b in self._core.input_blocks}

    @property
    def state_units(self) -> dict[str, str]:
        """The SI unit of each block of a state row."""
        return {b[0]: b[3] for b in self._core.state_blocks}

    @property
    def input_units(self) -> dict[str, str]:
        """The SI unit of each block of an input row."""
        return {b[0]: b[3] for b in self._core.input_blocks}

    @property
    def observables(self) -> tuple[str, ...]:
        """Names of what `observe` shows: the blocks of the state, and more. A robot also has single
        elements of fields, such as "xpos:torso".

        >>> import cycloid as cy
        >>> cy.systems.kepler().observables
        ('position', 'velocity', 'energy')
        """
        return tuple(self.observable_units)

    @property
    def observable_units(self) -> dict[str, str]:
        """The SI unit of each, empty where it has none or several."""
        return dict(_core.observables_of(self._core))

    @property
    def vary(self) -> tuple[str, ...]:
        """Parameters that may differ between environments."""
        return tuple(self._core.vary)

    @property
    def parameters(self) -> Parameters:
        """The physical numbers by name, and as one flat vector."""
        return self._parameters

    def initial_state(self, keyframe: Any = None) -> np.ndarray:
        """The default state (state_size,), a fresh array.

        >>> import cycloid as cy
        >>> cy.systems.kepler().initial_state()
        array([1. , 0. , 0. , 1.1])
        """
        if keyframe is not None:
            raise Error(f"system {self.name!r} has no keyframes; got {shown(keyframe)}")
        return self._core.initial_state().astype(self.dtype)

    def _state_meaning(self) -> str:
        """The blocks of a state row in words, for messages."""
        return ", ".join(
            name if b.stop - b.start == 1 else f"{name}({b.stop - b.start})"
            for name, b in self.state_slices.items()
        )

    def __copy__(self) -> System:
        return self  # nothing of it changes

    def __deepcopy__(self, memo: Any) -> System:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"system {self.name!r} cannot be pickled, nor sent to another process: make it again "
            "there, with cycloid.load(...), cycloid.systems or cycloid.own_law"
        )

    def __repr__(self) -> str:
        return f"<{self._core.describe()}>"


def check_system(system: Any) -> None:
    """Raises TypeError for what is no System."""
    if not isinstance(system, System):
        raise TypeError(
            "expected a cycloid System, such as cycloid.systems.pendulum(); "
            f"got {type(system).__name__}"
        )
