"""What `view` shows of a trajectory, as one JSON object for the page (viewer/src/main.js).

Numbers over time are rows of columns, each column in steps of 1/65535 of its range (`columns`);
those that do not change are exact and take no room. Poses are rows of seven numbers per body:
position [m] and quaternion (w, x, y, z), in the world.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cycloid import _core, _law_pictures
from cycloid._core import Error
from cycloid._flow_obstacles import FlowObstacles
from cycloid._fluid_box import BoxFlow
from cycloid._forward import forward
from cycloid._observe import observe
from cycloid._robot import Robot
from cycloid._rollout import Trajectory, rollout
from cycloid._system import System
from cycloid._tracers import drift

_MOST_BYTES = 400_000_000
_CHUNK = 256  # rows whose mass matrices are made at once
_SHOWN_GROUPS = 3  # MuJoCo's viewers show groups 0, 1 and 2
_MOST_CURVES, _MOST_CARDS = 6, 8
_MOST_ARROWS = 60
_TRACERS, _MOST_PLACES = 500, 1_000_000  # in a frame, in all of them
_TAIL = 0.002  # of the numbers of a field, which are beyond the colours at each end
_PLAIN = (0.62, 0.66, 0.72, 1.0)  # of what has no colour of its own

Scene = dict[str, Any]


def packed(array: Any, dtype: str) -> str:
    """An array's bytes, little-endian, as text."""
    raw = np.ascontiguousarray(array).astype(np.dtype(dtype).newbyteorder("<"), copy=False)
    return base64.b64encode(raw.tobytes()).decode("ascii")


def columns(rows: Any) -> Scene:
    """Rows of numbers for the page, to half of 1/65535 of each column's range.

    >>> columns([[1.0, 5.0], [2.0, 5.0]])["width"]
    2
    """
    array = np.asarray(rows, np.float64)
    array = array.reshape((len(array), -1))
    if array.nbytes // 4 > _MOST_BYTES:
        raise Error(
            f"a page with {array.size:,} numbers would have more than {_MOST_BYTES // 10**6} MB: "
            "save fewer states, save=10 keeps every tenth"
        )
    if not np.isfinite(array).all():
        raise Error("what is to be shown contains numbers that are not finite")
    low = array.min(axis=0, initial=np.inf) if len(array) else np.zeros(array.shape[1])
    span = (array.max(axis=0) - low) if len(array) else np.zeros(array.shape[1])
    moving = np.flatnonzero(span > 0)
    step = span / 65535
    steps = np.rint((array[:, moving] - low[moving]) / step[moving]).clip(0, 65535)
    return {
        "rows": len(array),
        "width": array.shape[1],
        "low": packed(low, "f8"),
        "step": packed(step, "f8"),
        "moving": packed(moving, "u4"),
        "data": packed(steps, "u2"),
    }


class Run:
    """The first environment of a trajectory, as plain arrays."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.system = trajectory.system
        batch = trajectory._batch
        first = (0,) * len(batch.lead)
        if 0 in batch.lead:
            raise Error("the trajectory has no environment: its batch is empty")
        self.environments = int(np.prod(batch.lead, dtype=np.int64))
        self.states = np.asarray(trajectory.states[first], np.float64)
        self.times, self.steps = trajectory.times, trajectory.steps
        self.count = batch.steps
        origin = trajectory._core.origin()
        rows = origin["rows"][1]
        self.controls = np.zeros((self.count, self.system.input_size))
        if rows and self.system.input_size:
            self.controls = origin["controls"].reshape((rows, self.count, -1))[0].astype(float)
        self.params = origin["params"].reshape((origin["rows"][2], -1))[0]
        self.t0 = origin["t0"]

    @property
    def inputs(self) -> np.ndarray:
        """The input that follows each state; of the last state the last one."""
        return self.controls[np.minimum(self.steps, self.count - 1)]

    @property
    def seen(self) -> System:
        """The system whose picture is drawn: inside a closed loop, what the loop is closed
        around.
        """
        system = self.system
        while True:
            inner = getattr(system, "_law", None)
            if not isinstance(inner, System) or inner.state_size != self.system.state_size:
                return system
            system = inner

    @property
    def seen_params(self) -> np.ndarray:
        """The parameters of `seen`, by their names."""
        if self.seen is self.system:
            return self.params
        own, values = self.system.parameters, self.seen.parameters.default.copy()
        for name in self.seen.parameters:
            p = self.seen.parameters.info(name)
            if name in own and own.info(name).size == p.size:
                at = own.info(name).offset
                values[p.offset : p.offset + p.size] = self.params[at : at + p.size]
        return values

    @property
    def seen_inputs(self) -> np.ndarray | None:
        """The inputs of `seen`, zero where a loop chooses them."""
        return self.inputs if self.seen is self.system and self.system.input_size else None


def scene_of(
    trajectory: Trajectory,
    compare: Sequence[Trajectory] = (),
    gradient: Any = None,
    title: str | None = None,
) -> Scene:
    """All that the page shows."""
    run = Run(trajectory)
    scene: Scene = {
        "format": 1,
        "title": title or run.system.name,
        "subtitle": _subtitle(run),
        "frames": len(run.states),
        "times": packed(run.times, "f8"),
        "states": columns(run.states),
        "input_names": _input_names(run.system),
    }
    if run.system.input_size:
        scene["controls"] = columns(run.inputs)
    place = _draw(run, scene)
    scene.setdefault("observed", _energy(run))
    scene["plots"] = _cards(run)
    if compare:
        scene["ghosts"] = [_ghost(run, Run(other), scene) for other in compare]
    if gradient is not None:
        scene["gradient"] = _arrows(trajectory, run, gradient, place)
    return scene


# ---- pictures --------------------------------------------------------------------------------


def _draw(run: Run, scene: Scene) -> Callable[[np.ndarray], np.ndarray] | None:
    """Adds the picture; the function from states (k, n) to places of bodies (k, bodies, 3)."""
    seen = run.seen
    if isinstance(seen, Robot):
        _draw_robot(run, seen, scene)
        return lambda x: _robot_poses(run, seen, x)[..., :3]
    recipe = getattr(seen, "_recipe", None)
    picture = recipe and _law_pictures.picture(recipe[0], seen, run.seen_params, run.states)
    if picture:
        poses, parts = picture
        scene["poses"] = columns(poses(run.states).reshape((len(run.states), -1)))
        scene |= parts
        return lambda x: poses(x)[..., :3]
    if hasattr(seen, "field") and hasattr(seen, "shape"):
        return _draw_flow(run, seen, scene)
    drawn = getattr(seen, "_picture", None)
    if drawn is None:
        return _draw_phase(run, scene)
    kind, what = drawn
    if kind == "grid":
        _draw_field(run.states.reshape((-1, *what)), "temperature [K]", what, scene)
        return None
    if kind == "points":
        poses, parts = _law_pictures.points(
            seen.parameters.unpack(run.seen_params), *what, run.states
        )
        scene["poses"] = columns(poses(run.states).reshape((len(run.states), -1)))
        scene |= parts
        return lambda x: poses(x)[..., :3]
    _draw_soft(run, what, scene)
    n = scene["surface"]["count"]
    return lambda x: x[:, : 3 * n].reshape((len(x), n, 3))


def _draw_phase(run: Run, scene: Scene) -> Callable[[np.ndarray], np.ndarray] | None:
    names = _state_names(run.system)
    if len(names) not in (2, 3) or not np.isfinite(run.states).all():
        return None
    poses, parts = _law_pictures.phase_space(names, run.states)
    scene["poses"] = columns(poses(run.states).reshape((len(run.states), -1)))
    scene |= parts
    return lambda x: poses(x)[..., :3]


def _robot_poses(run: Run, robot: Robot, states: np.ndarray) -> np.ndarray:
    """(k, bodies, 7)"""
    inputs = run.seen_inputs
    if inputs is not None and len(states) != len(inputs):
        inputs = np.resize(inputs, (len(states), inputs.shape[1]))
    seen = observe(robot, states, inputs, ("xpos", "xquat"), run.seen_params)
    return np.concatenate([seen["xpos"], seen["xquat"]], axis=-1).astype(np.float64)


def _draw_robot(run: Run, robot: Robot, scene: Scene) -> None:
    parts, looks = _core.scene_of(robot._model), robot._looks
    scene["robot"] = True
    scene["bodies"] = parts["bodies"]
    scene["poses"] = columns(_robot_poses(run, robot, run.states).reshape((len(run.states), -1)))
    moving = [b for b, tree in enumerate(parts["trees"]) if tree >= 0]
    scene["lead"] = moving[0] if moving else -1
    assets: Scene = {"meshes": [], "fields": []}
    places: dict[tuple[str, int], tuple[int, float]] = {}
    geoms = []
    styles = looks.geoms if looks is not None else [(_PLAIN, 0, -1)] * len(parts["geoms"])
    for geom, (rgba, group, mesh) in zip(parts["geoms"], styles):
        if geom["shape"] == "other" or rgba[3] == 0 or not geom["drawn"]:
            continue
        row = {key: geom[key] for key in ("body", "shape", "pos", "quat", "size")}
        row["rgba"] = [round(float(c), 4) for c in rgba]
        row["hidden"] = group >= _SHOWN_GROUPS
        if geom["shape"] == "mesh":
            source = ("mesh", mesh) if mesh >= 0 else ("hull", geom["data"])
            if source not in places:
                vertex, faces = looks.mesh(mesh) if mesh >= 0 else parts["hulls"][geom["data"]]
                if not len(faces):
                    continue
                places[source] = len(assets["meshes"]), float(np.abs(vertex).max())
                assets["meshes"].append(_mesh(vertex.reshape((-1, 3)), faces))
            row["mesh"], row["extent"] = places[source]
        if geom["shape"] == "hfield":
            if ("field", geom["data"]) not in places:
                rows, n, size, heights = parts["height_fields"][geom["data"]]
                if not rows:
                    continue
                places["field", geom["data"]] = len(assets["fields"]), 0.0
                grid = {"rows": rows, "columns": n, "size": size}
                assets["fields"].append(grid | {"heights": columns(heights[:, None])})
            row["field"] = places["field", geom["data"]][0]
        geoms.append(row)
    if all(g["hidden"] for g in geoms):
        for g in geoms:
            g["hidden"] = False
    scene["geoms"], scene["assets"] = geoms, assets
    size = max((max(g["size"]) for g in geoms if g["shape"] != "plane"), default=0.1)
    scene["links"] = [
        _law_pictures.link(a, pa, b, pb, 0.04 * size, (0.75, 0.3, 0.25, 1.0))
        for a, pa, b, pb in parts["tendons"]
    ]
    _add_forces(run, robot, parts, scene)


def _mesh(vertex: np.ndarray, faces: np.ndarray) -> Scene:
    return {"vertices": columns(vertex), "triangles": packed(faces, "u4")}


def _add_forces(run: Run, robot: Robot, parts: dict[str, Any], scene: Scene) -> None:
    """Contact forces on what moves, and energies, of `forward`."""
    trees, geoms = np.array(parts["trees"]), parts["geoms"]
    still = np.array([trees[g["body"]] < 0 for g in geoms] + [True])
    at, force, first, energy = [], [], [0], []
    inputs = run.seen_inputs
    for k in range(0, len(run.states), _CHUNK):
        own = slice(k, k + _CHUNK)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of solvers: the run has reported them
            f = forward(
                robot, run.states[own], None if inputs is None else inputs[own], run.seen_params
            )
        energy.append(np.asarray(f.energy, np.float64))
        c = f.contacts
        there = np.arange(c.dist.shape[1]) < c.count[:, None]
        world = np.einsum("...ij,...i->...j", c.frame, c.force[..., :3])
        world = np.where(still[c.geoms[..., 1]][..., None], -world, world)
        there &= np.linalg.norm(world, axis=-1) > 0
        at.append(c.pos[there])
        force.append(world[there])
        first.extend((first[-1] + np.cumsum(there.sum(axis=1))).tolist())
    values = np.concatenate(energy)
    rows = np.column_stack([values.sum(axis=1), values])
    if np.ptp(rows, axis=0).any():
        names = ["total", "potential", "kinetic"]
        card = {"title": "Energy", "unit": "J", "names": names, "values": columns(rows)}
        scene["observed"] = [card]
    if first[-1]:
        forces = np.concatenate(force)
        scene["contacts"] = {
            "at": columns(np.concatenate(at)),
            "force": columns(forces),
            "first": packed(first, "u4"),
            "scale": _scale(forces),
        }


def _draw_flow(
    run: Run, flow: Any, scene: Scene
) -> Callable[[np.ndarray], np.ndarray] | None:
    """A fluid: its temperature, else its vorticity, else the first field of its state, with what
    stands or moves in it.
    """
    blocks = flow.state_slices
    name = next(iter(blocks))
    if "temperature" in blocks:
        name = "temperature"
    elif "vorticity" in flow.observables:
        name = "vorticity"
    field = flow.field(run.states, name)
    if field.ndim > 1 + len(flow.shape):  # of vectors the length
        field = np.linalg.norm(field, axis=-1)
    unit = flow.observable_units.get(name, "")
    _draw_field(field, f"{name} [{unit}]" if unit else name, flow.size, scene)
    if len(flow.shape) != 2:
        return None
    if isinstance(flow, BoxFlow) or "velocity" in blocks:
        count = min(_TRACERS, _MOST_PLACES // len(run.states))
        at = drift(
            lambda k: flow.field(run.states[k], "velocity"),
            run.times, flow.size, flow._ring, count, flow._part,
        )  # fmt: skip
        scene["tracers"] = columns(at.reshape((len(at), -1)))
    things = FlowObstacles(flow, run.seen_params)
    scene["geoms"] = things.geoms
    scene["assets"] = {"meshes": [_mesh(*mesh) for mesh in things.meshes], "fields": []}
    poses = things.poses
    if poses is None:
        return None
    scene["poses"] = columns(poses(run.states).reshape((len(run.states), -1)))
    return lambda x: poses(x)[..., :3]


def _draw_field(field: np.ndarray, name: str, size: Sequence[float], scene: Scene) -> None:
    """A scalar field (frames, *shape) on a box: a line as a strip, of three axes the middle
    layer. size: of the box [m].
    """
    sides = [float(length) for length in size]
    if len(sides) == 3:
        layer = field.shape[3] // 2
        field, name = field[..., layer], f"{name}, layer {layer}"
    if len(sides) == 1:
        field, sides = field[..., None], [sides[0], sides[0] / 8]
    low, high = float(field.min()), float(field.max())
    most = [float(q) for q in np.quantile(field, [_TAIL, 1 - _TAIL])]
    # Few extreme numbers, at a wall or a corner, would leave one colour for all others.
    if most[0] < most[1] and high - low > 1.5 * (most[1] - most[0]):
        low, high = most
    if low < 0 < high:  # zero in the middle of the colours
        low, high = -max(-low, high), max(-low, high)
    scene["field"] = columns(field.reshape((len(field), -1)))
    scene["field_name"] = name
    scene["field_range"] = [low, high]
    scene["grid"] = {"shape": list(field.shape[1:]), "size": sides[:2]}
    scene["box"] = [[0, 0, 0], [sides[0], sides[1], 0]]
    scene["look"] = [0, -0.001, 1]


def _draw_soft(run: Run, what: dict[str, Any], scene: Scene) -> None:
    """A solid's surface, a cloth or a rod. The vertices are the first numbers of the state."""
    n = what["count"]
    surface: Scene = {"count": n, "rgba": [0.42, 0.56, 0.72, 1.0], "radius": 0.0}
    scene["vertices"], scene["surface"] = True, surface
    if "radius" in what:
        surface["radius"], surface["rgba"] = what["radius"], [0.2, 0.45, 0.75, 1.0]
        rest = run.seen.parameters.unpack(run.seen_params)["vertices"].reshape((n, 3))
        twist = run.states[:, run.seen.state_slices["twist"]]
        if twist.any():
            up = directors(rest, run.states[:, : 3 * n].reshape((-1, n, 3)), twist)
            surface["stripe"] = columns(up.reshape((len(up), -1)))
    else:
        triangles, edges = _triangulated(what["faces"])
        surface["triangles"] = packed(triangles, "u4")
        if len(edges) < 20_000:
            surface["edges"] = packed(edges, "u4")
    seen = run.seen
    if len(what.get("cells", ())) and "stress" in seen.observables:
        stress = _vertex_stress(run, what["cells"], n)
        scene["stress"], scene["stress_top"] = columns(stress), float(stress.max())
    scene["geoms"] = [_obstacle(row) for row in what["around"]]


def directors(rest: np.ndarray, points: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Unit vectors (frames, n, 3) across a rod of points (frames, n, 3), which turn with it: at
    rest along the rod's side, without twist. twist (frames, n - 1) [rad]: the angle of each
    segment's frame, which the smallest turn carries from the segment at rest (cycloid/soft/rod.h).

    >>> line = np.linspace((0, 0, 0), (1, 0, 0), 3)
    >>> side = directors(line, line[None], np.array([[0.0, np.pi / 2]]))[0]
    >>> np.allclose(side[[0, 2]], [[0, 0, 1], [0, -1, 0]])
    True
    """
    before, now = _unit(np.diff(rest, axis=0)), _unit(np.diff(points, axis=1))
    across = np.zeros_like(before)
    first = np.eye(3)[2 if abs(before[0, 2]) < 0.9 else 0]
    across[0] = _unit(first - before[0] * (before[0] @ first))
    for j in range(1, len(before)):
        across[j] = _carried(before[j - 1], before[j], across[j - 1])
    own = _carried(before, now, across)
    angle = twist[..., None]
    own = own * np.cos(angle) + np.cross(now, own) * np.sin(angle)
    ends = np.concatenate([own[:, :1], own[:, :-1] + own[:, 1:], own[:, -1:]], axis=1)
    # Neighbours that point against each other have no middle: the first of them, then.
    short = np.linalg.norm(ends[:, 1:-1], axis=-1, keepdims=True) < 1e-3
    ends[:, 1:-1] = np.where(short, own[:, :-1], ends[:, 1:-1])
    return _unit(ends)


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-300)


def _carried(a: np.ndarray, b: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The vector after the smallest turn that brings the unit vector a to b."""
    axis = np.cross(a, b)
    cosine = (a * b).sum(axis=-1, keepdims=True)
    along = (axis * vector).sum(axis=-1, keepdims=True) / np.maximum(1 + cosine, 1e-12)
    return vector * cosine + np.cross(axis, vector) + axis * along


def _obstacle(row: dict[str, Any]) -> Scene:
    """A plane, sphere, capsule or box in the way of a soft body (cycloid.soft)."""
    turn = np.asarray(row["rotation"], float)
    angle = float(np.linalg.norm(turn))
    axis = turn / angle if angle > 0 else np.zeros(3)
    quat = [np.cos(angle / 2), *(np.sin(angle / 2) * axis)]
    shape = ("plane", "sphere", "capsule", "box")[row["shape"]]
    size = (0, 0, 0) if shape == "plane" else row["size"]
    return _law_pictures.geom(-1, shape, size, _PLAIN, row["position"], quat)


def _triangulated(faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of faces with 3, 4 or 6 nodes (corners, then the middles of edges 01 12 02), and
    the faces' own edges.
    """
    width = faces.shape[1]
    parts = {
        3: [(0, 1, 2)],
        4: [(0, 1, 2), (0, 2, 3)],
        6: [(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)],
    }[width]
    loops = {3: (0, 1, 2), 4: (0, 1, 2, 3), 6: (0, 3, 1, 4, 2, 5)}[width]
    triangles = np.concatenate([faces[:, list(part)] for part in parts])
    edges = np.concatenate([faces[:, [a, b]] for a, b in zip(loops, (*loops[1:], loops[0]))])
    return triangles, np.unique(np.sort(edges, axis=1), axis=0)


def _vertex_stress(run: Run, cells: np.ndarray, n: int) -> np.ndarray:
    """Von Mises' stress [Pa] at each vertex: the mean of its cells."""
    stress = observe(run.seen, run.states, run.seen_inputs, "stress", run.seen_params)["stress"]
    deviator = stress - np.trace(stress, axis1=-2, axis2=-1)[..., None, None] / 3 * np.eye(3)
    mises = np.sqrt(1.5 * np.square(deviator).sum(axis=(-2, -1)))
    total, count = np.zeros((len(mises), n)), np.zeros(n)
    for node in cells.T:
        for row, values in zip(total, mises):
            row += np.bincount(node, values, n)
        count += np.bincount(node, minlength=n)
    return total / np.maximum(count, 1)


def _ghost(run: Run, other: Run, scene: Scene) -> Scene:
    """A second trajectory of the same shape, at the times of the first."""
    if other.system.state_size != run.system.state_size:
        raise Error(
            f"compare: its states have {other.system.state_size} numbers, those of the trajectory "
            f"{run.system.state_size}"
        )
    nearest = np.abs(other.times[None, :] - run.times[:, None]).argmin(axis=1)
    other.states, other.steps = other.states[nearest], other.steps[nearest]
    drawn: Scene = {}
    if "caption" in scene:  # in the scale of the first
        poses, _ = _law_pictures.phase_space(_state_names(run.system), run.states)
        drawn["poses"] = columns(poses(other.states).reshape((len(other.states), -1)))
    else:
        _draw(other, drawn)
    if ("poses" in drawn) != ("poses" in scene) or (
        "poses" in scene and drawn["poses"]["width"] != scene["poses"]["width"]
    ):
        raise Error("compare: a trajectory of a system with other bodies cannot be laid over it")
    keys = ("poses", "vertices")
    return {"states": columns(other.states)} | {k: drawn[k] for k in keys if k in drawn}


# ---- what the loss wants ---------------------------------------------------------------------


def cotangents(trajectory: Trajectory, states_bar: Any) -> tuple[np.ndarray, np.ndarray]:
    """The derivative of a loss by the state at each saved step (S, n), and by the input that
    follows it (S, m), of the first environment; everything after it moves along. states_bar is as
    in `pullback`.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> run = cy.rollout(cy.systems.projectile(dt=0.5), [0, 0, 0, 1, 0, 0], 2)
    >>> bar = np.zeros_like(run.states)
    >>> bar[-1, 0] = 1                                  # the last x: x + v (1 - t)
    >>> cotangents(trajectory=run, states_bar=bar)[0][:, 3].round(12)
    array([1. , 0.5, 0. ])
    """
    run = Run(trajectory)
    bar = trajectory._bar(states_bar)
    bar = np.asarray(bar.reshape((run.environments, *run.states.shape))[0], np.float64)
    if trajectory._core.origin()["sampled"]:
        raise Error(
            "gradient: a rollout with times= has states between its steps; arrows need save="
        )
    system = run.system
    at_states = bar.copy()
    at_inputs = np.zeros((len(bar), system.input_size))
    for k in range(len(bar) - 2, -1, -1):
        first, end = int(run.steps[k]), int(run.steps[k + 1])
        inputs = run.controls[first:end] if system.input_size else end - first
        part = rollout(
            system, run.states[k], inputs, run.params, save="last", t0=float(run.times[k])
        )
        g = part.pullback(at_states[k + 1][None], wrt=("x0", "controls"), failed="skip")
        at_states[k] += g.x0
        if system.input_size:
            at_inputs[k] = g.controls[0]
    return at_states, at_inputs


def _scale(vectors: np.ndarray) -> float:
    """A length that nearly all vectors (..., 3) keep."""
    lengths = np.linalg.norm(vectors, axis=-1)
    lengths = lengths[lengths > 0]
    return float(np.quantile(lengths, 0.95)) if lengths.size else 1.0


def _arrows(
    trajectory: Trajectory,
    run: Run,
    states_bar: Any,
    place: Callable[[np.ndarray], np.ndarray] | None,
) -> Scene:
    """Minus the gradient: how bodies move when the state follows it, by central differences of
    their places along it, and of each input.
    """
    at_states, at_inputs = cotangents(trajectory, states_bar)
    arrows: Scene = {}
    if run.system.input_size:
        arrows["inputs"] = columns(-at_inputs)
        arrows["input_scale"] = float(np.abs(at_inputs).max()) or 1.0
    if place is None:
        return arrows
    size = np.linalg.norm(at_states, axis=1, keepdims=True)
    unit = at_states / np.where(size > 0, size, 1)
    reach = 1e-5 * (1 + np.abs(run.states).max())
    moved = place(run.states + reach * unit) - place(run.states - reach * unit)
    wanted = -moved / (2 * reach) * size[:, :, None]
    # Cancellation in the difference is not a wish.
    wanted[np.abs(wanted) < 1e-9 * np.abs(wanted).max(initial=0)] = 0
    moving = np.flatnonzero(np.abs(wanted).max(axis=(0, 2)) > 0)
    if len(moving) > _MOST_ARROWS:
        moving = moving[:: -(-len(moving) // _MOST_ARROWS)]
    chosen = wanted[:, moving]
    arrows["places"] = columns(chosen.reshape((len(chosen), -1)))
    arrows["index"] = moving.tolist()
    arrows["scale"] = _scale(chosen)
    return arrows


# ---- plots -----------------------------------------------------------------------------------


def _subtitle(run: Run) -> str:
    n, m = run.system.state_size, run.system.input_size
    text = f"{run.count} steps · {n} state{'s' * (n != 1)}"
    if m:
        text += f" · {m} input{'s' * (m != 1)}"
    if run.environments > 1:
        text += f" · environment 0 of {run.environments}"
    return text


def _energy(run: Run) -> list[Scene]:
    if "energy" not in run.system.observables:
        return []
    inputs = run.inputs if run.system.input_size else None
    seen = observe(run.system, run.states, inputs, "energy", run.params)
    unit = run.system.observable_units["energy"]
    return [
        {"title": "Energy", "unit": unit, "names": ["energy"], "values": columns(seen.values)}
    ]


def _input_names(system: System) -> list[str]:
    names = []
    for block, where in system.input_slices.items():
        n = where.stop - where.start
        own = [block] if n == 1 else [f"{block}[{i}]" for i in range(n)]
        if block == "ctrl" and isinstance(system, Robot):
            for name, first, count in _core.scene_of(system._model)["controls"]:
                name = f"actuator {name}" if name.startswith("#") else name
                for i in range(count):
                    own[first + i] = name if count == 1 else f"{name}[{i}]"
        names.extend(own)
    return names


def _state_names(system: System) -> list[str]:
    names = []
    for block, where in system.state_slices.items():
        n = where.stop - where.start
        names.extend([block] if n == 1 else [f"{block}[{i}]" for i in range(n)])
    return names


def _cards(run: Run) -> list[Scene]:
    """Which numbers of the state are plotted, a few to a card."""
    seen = run.seen
    if isinstance(seen, Robot):
        groups = _robot_groups(seen)
    else:
        names, units = _state_names(run.system), run.system.state_units
        names = [name.replace("_", " ") for name in names]
        groups = [
            (block, units[block], [(names[i], i) for i in range(where.start, where.stop)])
            for block, where in run.system.state_slices.items()
            if where.stop - where.start <= 4 * _MOST_CURVES
        ]
    cards: list[Scene] = []
    for title, unit, members in groups:
        for k in range(0, len(members), _MOST_CURVES):
            own = members[k : k + _MOST_CURVES]
            curves = [{"name": name, "column": column} for name, column in own]
            more = f" ({k + 1}–{k + len(own)})" if len(members) > _MOST_CURVES else ""
            text = title.replace("_", " ").capitalize() + more
            cards.append({"title": text, "unit": unit, "curves": curves})
    return cards[:_MOST_CARDS]


def _robot_groups(robot: Robot) -> list[tuple[str, str, list[tuple[str, int]]]]:
    free: list[tuple[str, str, list[tuple[str, int]]]] = []
    angles: list[tuple[str, int]] = []
    rates: list[tuple[str, int]] = []
    nq = robot.nq
    joints = _core.scene_of(robot._model)["joints"]
    names = [joint[0] for joint in joints]  # of one without a name, its body's
    for k, (name, q, v, numbers, dofs) in enumerate(joints):
        if names.count(name) > 1:
            name = f"{name} {1 + names[:k].count(name)}"
        if numbers == 7:
            free.append((f"{name}: position", "m", [(c, q + i) for i, c in enumerate("xyz")]))
            free.append(
                (f"{name}: velocity", "m/s", [(f"v{c}", nq + v + i) for i, c in enumerate("xyz")])
            )
        elif numbers == 1:
            angles.append((name, q))
            rates.append((name, nq + v))
        else:
            rates.extend((f"{name}[{i}]", nq + v + i) for i in range(dofs))
    groups = free[:4]
    groups.append(("Joint positions", "rad, m", angles))
    groups.append(("Joint velocities", "rad/s, m/s", rates))
    return [g for g in groups if g[2]]
