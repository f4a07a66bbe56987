"""States and inputs from MuJoCo's data, and back. MuJoCo itself is not imported here."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cycloid._arrays import as_numbers, check_trailing
from cycloid._core import Error
from cycloid._robot import Robot


def state_from_mujoco(system: Robot, data: Any) -> np.ndarray:
    """The state [qpos, qvel, act] of a mujoco.MjData: (state_size,). Of n of them in a list, or of
    a mujoco.batch.Batch, (n, state_size). A fresh array of the system's dtype.

    >>> import mujoco
    >>> import cycloid as cy
    >>> mj_model = mujoco.MjModel.from_xml_string('''<mujoco> <worldbody> <body> <joint/>
    ...     <geom size="0.1" pos="0 0.5 0"/> </body> </worldbody> </mujoco>''')
    >>> mj_data = mujoco.MjData(mj_model)
    >>> mj_data.qpos[0], mj_data.qvel[0] = 0.25, 3.0    # [rad], [rad/s]
    >>> system = cy.from_mujoco(mj_model)
    >>> cy.state_from_mujoco(system, mj_data)
    array([0.25, 3.  ])
    >>> cy.state_from_mujoco(system, [mj_data, mj_data]).shape
    (2, 2)
    """
    return _row(_check_robot(system), data, system.state_slices, system.state_size)


def state_to_mujoco(system: Robot, x: Any, data: Any) -> None:
    """Writes a state into qpos, qvel and act of a mujoco.MjData. What follows from them is not
    computed: mujoco.mj_forward does that. Time, controls and everything else are left alone.

    x: (state_size,); for n MjData in a list, or a mujoco.batch.Batch, (n, state_size), or one state
    for all.

    >>> import mujoco
    >>> import cycloid as cy
    >>> mj_model = mujoco.MjModel.from_xml_string('''<mujoco> <worldbody> <body>
    ...     <joint axis="1 0 0"/> <geom size="0.1" pos="0 0.5 0"/> </body> </worldbody>
    ...     </mujoco>''')
    >>> system, mj_data = cy.from_mujoco(mj_model), mujoco.MjData(mj_model)
    >>> run = cy.rollout(system, system.initial_state(), 100)
    >>> cy.state_to_mujoco(system, run.states[-1], mj_data)
    >>> mujoco.mj_forward(mj_model, mj_data)
    >>> mj_data.xipos[1].round(4)                       # [m]
    array([ 0.    ,  0.4628, -0.1892])
    """
    _write(_check_robot(system), x, data, system.state_slices, system.state_size, "x")


def input_from_mujoco(system: Robot, data: Any) -> np.ndarray:
    """The input row of a mujoco.MjData: those of ctrl, qfrc_applied, xfrc_applied, mocap_pos and
    mocap_quat that the system was loaded with (`inputs=`), in its order. Shapes as in
    `state_from_mujoco`.

    >>> import mujoco
    >>> import cycloid as cy
    >>> mj_model = mujoco.MjModel.from_xml_string('''<mujoco> <worldbody> <body> <joint name="j"/>
    ...     <geom size="0.1"/> </body> </worldbody> <actuator> <motor joint="j"/> </actuator>
    ...     </mujoco>''')
    >>> mj_data = mujoco.MjData(mj_model)
    >>> mj_data.ctrl[0], mj_data.qfrc_applied[0] = 1.0, 0.5
    >>> cy.input_from_mujoco(cy.from_mujoco(mj_model, inputs=("ctrl", "qfrc_applied")), mj_data)
    array([1. , 0.5])
    """
    return _row(_check_robot(system), data, system.input_slices, system.input_size)


def input_to_mujoco(system: Robot, u: Any, data: Any) -> None:
    """Writes an input row into the fields of a mujoco.MjData that the system's inputs are. Shapes
    as in `state_to_mujoco`.

    >>> import mujoco
    >>> import cycloid as cy
    >>> mj_model = mujoco.MjModel.from_xml_string('''<mujoco> <worldbody> <body> <joint name="j"/>
    ...     <geom size="0.1"/> </body> </worldbody> <actuator> <motor joint="j"/> </actuator>
    ...     </mujoco>''')
    >>> mj_data = mujoco.MjData(mj_model)
    >>> cy.input_to_mujoco(cy.from_mujoco(mj_model), [2.0], mj_data)
    >>> mj_data.ctrl
    array([2.])
    """
    _write(_check_robot(system), u, data, system.input_slices, system.input_size, "u")


def _check_robot(system: Any) -> Robot:
    if not isinstance(system, Robot):
        kind = type(system).__name__
        raise TypeError(f"expected a system made by load or from_mujoco; got {kind}")
    return system


def _fields(data: Any, name: str) -> list[np.ndarray] | np.ndarray:
    """The field of one MjData, of each of a list, or of a Batch: (n, ...)."""
    return [getattr(d, name) for d in data] if isinstance(data, Sequence) else getattr(data, name)


def _count(data: Any) -> int | None:
    """How many simulations there are, None for a single MjData."""
    mujoco, batch = sys.modules.get("mujoco"), sys.modules.get("mujoco.batch")

    def is_data(value: Any) -> bool:  # whoever made it has imported its module
        return mujoco is not None and isinstance(value, mujoco.MjData)

    if is_data(data):
        return None
    if batch is not None and isinstance(data, batch.Batch):
        return data.nsim
    if isinstance(data, Sequence) and data and all(map(is_data, data)):
        return len(data)
    kind = type(data)
    raise TypeError(
        "expected a mujoco.MjData, a list of them or a mujoco.batch.Batch; "
        f"got {kind.__module__}.{kind.__qualname__}"
    )


def _row(system: Robot, data: Any, slices: Mapping[str, slice], size: int) -> np.ndarray:
    count = _count(data)
    row = np.zeros((1 if count is None else count, size), system.dtype)
    for name, place in slices.items():
        field = np.asarray(_fields(data, name))
        field = field.reshape((len(row), field.size // len(row)))
        _check_size(system, name, place, field.shape[1])
        row[:, place] = field
    return row[0] if count is None else row


def _write(
    system: Robot, row: Any, data: Any, slices: Mapping[str, slice], size: int, what: str
) -> None:
    count = _count(data)
    rows = as_numbers(row, np.float64, what)
    check_trailing(rows, (size,), what, ", ".join(slices))
    lead = () if count is None else (count,)
    if rows.shape[:-1] not in ((), lead):
        raise Error(f"{what} must have shape {(*lead, size)}, as there is data; got {rows.shape}")
    for name, place in slices.items():  # all is checked before anything is written
        targets = _fields(data, name)
        first = targets if count is None else targets[0]
        _check_size(system, name, place, math.prod(first.shape))
    for name, place in slices.items():
        targets = _fields(data, name)
        if isinstance(targets, list):
            for target, own in zip(targets, np.broadcast_to(rows, (len(targets), size))):
                target[...] = own[place].reshape(target.shape)
        else:
            part = np.broadcast_to(rows[..., place], (*lead, place.stop - place.start))
            targets[...] = part.reshape(targets.shape)


def _check_size(system: Robot, name: str, place: slice, size: int) -> None:
    own = place.stop - place.start
    if size != own:
        raise Error(
            f"the data is of another model: its {name} has {size} numbers, that of system "
            f"{system.name!r} {own}"
        )
