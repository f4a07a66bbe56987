"""How laws of motion look: for each, where its bodies are at a state, and what joins them.

`picture` gives a function from states (k, n) to poses (k, bodies, 7) and the parts of the page's
scene: geoms on bodies (-1: the world) as in MJCF, links between bodies, paths, curves, and from
where it is looked at. z is up; laws in a plane move in x and z.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cycloid._system import System

Poses = Callable[[np.ndarray], np.ndarray]
Parts = dict[str, Any]

_BLUE, _TEAL, _GREY = (0.13, 0.42, 0.75, 1.0), (0.05, 0.55, 0.55, 1.0), (0.55, 0.58, 0.63, 1.0)
_DARK, _GOLD = (0.42, 0.45, 0.5, 1.0), (0.96, 0.72, 0.2, 1.0)
_FRONT = [0.22, -1, 0.16]  # a law in a plane is seen from the front
_MOST_MASSES = 300


def link(
    a: int,
    pa: Sequence[float],
    b: int,
    pb: Sequence[float],
    radius: float,
    rgba: Sequence[float] = _GREY,
    kind: str = "rod",
    turns: int = 9,
) -> Parts:
    """A rod or a spring between a point of body a and one of body b."""
    return {
        "a": a, "pa": list(pa), "b": b, "pb": list(pb),
        "radius": radius, "rgba": list(rgba), "kind": kind, "turns": turns,
    }


def geom(
    body: int,
    shape: str,
    size: Sequence[float],
    rgba: Sequence[float],
    pos: Sequence[float] = (0, 0, 0),
    quat: Sequence[float] = (1, 0, 0, 0),
) -> Parts:
    """A shape on a body."""
    own = [float(s) for s in size]
    return {
        "body": body, "shape": shape, "size": own + [0.0] * (3 - len(own)),
        "rgba": list(rgba), "pos": list(map(float, pos)), "quat": list(map(float, quat)),
        "hidden": False,
    }


def floor(point: Sequence[float], normal: Sequence[float] = (0, 0, 1)) -> Parts:
    """An endless plane that does not move."""
    x, y, z = np.asarray(normal, float) / np.linalg.norm(normal)
    quat = np.array([1 + z, -y, x, 0.0]) if z > -1 + 1e-12 else np.array([0.0, 1, 0, 0])
    return geom(-1, "plane", (0, 0, 1), _GREY, point, quat / np.linalg.norm(quat))


def poses_of(places: np.ndarray, angles: np.ndarray | None = None) -> np.ndarray:
    """(k, bodies, 7) of places (k, bodies, 3), turned by angles (k, bodies) about y [rad]."""
    turns = np.zeros((*places.shape[:2], 4))
    turns[..., 0] = 1
    if angles is not None:
        turns[..., 0], turns[..., 2] = np.cos(angles / 2), np.sin(angles / 2)
    return np.concatenate([places, turns], axis=-1)


def in_plane(x: Any, z: Any) -> np.ndarray:
    """Places (..., 3) in the plane y = 0."""
    x, z = np.broadcast_arrays(np.asarray(x, float), np.asarray(z, float))
    return np.stack([x, np.zeros_like(x), z], axis=-1)


def picture(
    law: str, system: System, params: np.ndarray, states: np.ndarray
) -> tuple[Poses, Parts] | None:
    """How a law looks; None where there is no picture of it."""
    draw = _PICTURES.get(law)
    return draw(system.parameters.unpack(params), states) if draw else None


def phase_space(names: Sequence[str], states: np.ndarray) -> tuple[Poses, Parts]:
    """Of two or three numbers of which no more is known: a point in the space of states, each
    number scaled to its range.
    """
    low, high = states.min(axis=0), states.max(axis=0)
    middle, half = (low + high) / 2, np.maximum((high - low) / 2, 1e-9 + 1e-9 * np.abs(high))

    def poses(x: np.ndarray) -> np.ndarray:
        at = (x - middle) / half
        flat = in_plane(at[:, :1], at[:, 1:2]) if at.shape[1] == 2 else at[:, None, :]
        return poses_of(flat)

    words = ("across", "up") if len(names) == 2 else ("to the right", "to the back", "up")
    where = ", ".join(f"{name} {word}" for name, word in zip(names, words, strict=True))
    return poses, {
        "bodies": ["state"],
        "geoms": [geom(0, "sphere", [0.05], _TEAL)],
        "links": [],
        "trails": [0],
        "look": [0, -1, 0.001] if len(names) == 2 else [0.6, -1, 0.35],
        "caption": f"{where}; each scaled to its range",
    }


def points(
    p: Any, dimension: int, pairs: Sequence[Sequence[int]], states: np.ndarray
) -> tuple[Poses, Parts]:
    """Points at fixed distances, in one to three dimensions, and what they hang on. The state
    begins with their coordinates; pairs: of points, then anchors, whose distance is fixed.
    """
    masses = np.cbrt(np.asarray(p["masses"], float))
    n, d = len(masses), dimension

    def spread(x: np.ndarray) -> np.ndarray:
        """Places (..., 3) of coordinates (..., d)."""
        if d == 3:
            return x
        return in_plane(x[..., 0], x[..., 1] if d == 2 else 0.0)

    def poses(x: np.ndarray) -> np.ndarray:
        return poses_of(spread(x[:, : n * d].reshape((len(x), n, d))))

    fixed = spread(np.reshape(p["anchors"] if "anchors" in p else np.empty(0), (-1, d)))
    seen = np.concatenate([poses(states)[..., :3].reshape((-1, 3)), fixed])
    reach = float(np.ptp(seen, axis=0).max()) or 1.0
    ends = [(i, (0.0, 0.0, 0.0)) if i < n else (-1, fixed[i - n].tolist())
            for i in range(n + len(fixed))]  # fmt: skip
    radii = 0.035 * reach * masses / masses.max()
    return poses, {
        "bodies": [f"point {i}" for i in range(n)],
        "geoms": [
            *(geom(i, "sphere", [radius], _TEAL if i else _BLUE) for i, radius in enumerate(radii)),
            *(geom(-1, "sphere", [0.018 * reach], _DARK, place) for place in fixed),
        ],
        "links": [link(*ends[i], *ends[j], 0.007 * reach) for i, j in pairs],
        "trails": list(range(n))[-3:],
        "box": [seen.min(axis=0).tolist(), seen.max(axis=0).tolist()],
        "look": [0.6, -1, 0.35] if d == 3 else _FRONT,
    }


def _pendulum(p: Any, states: np.ndarray) -> tuple[Poses, Parts]:
    length = float(p["length"])

    def poses(x: np.ndarray) -> np.ndarray:
        angle = x[:, :1]
        return poses_of(in_plane(length * np.sin(angle), -length * np.cos(angle)), -angle)

    return poses, {
        "bodies": ["bob"],
        "geoms": [geom(0, "sphere", [0.09 * length], _BLUE)],
        "links": [link(-1, (0, 0, 0), 0, (0, 0, 0), 0.015 * length), _axle(length)],
        "trails": [0],
        "box": _around(length),
        "look": _FRONT,
    }


def _axle(length: float) -> Parts:
    """... through the origin."""
    r = 0.035 * length
    return link(-1, (0, -1.5 * r, 0), -1, (0, 1.5 * r, 0), r, _DARK)


def _around(r: float) -> list[list[float]]:
    return [[-r, 0, -r], [r, 0, r]]


def _double_pendulum(p: Any, states: np.ndarray) -> tuple[Poses, Parts]:
    first, second = (float(v) for v in p["lengths"])
    masses = np.cbrt(np.asarray(p["masses"], float))
    both = first + second
    radii = 0.055 * both * masses / masses.max()

    def poses(x: np.ndarray) -> np.ndarray:
        a, b = x[:, 0], x[:, 1]
        elbow = in_plane(first * np.sin(a), -first * np.cos(a))
        tip = elbow + in_plane(second * np.sin(b), -second * np.cos(b))
        return poses_of(np.stack([elbow, tip], axis=1), -x[:, :2])

    return poses, {
        "bodies": ["bob 1", "bob 2"],
        "geoms": [
            geom(0, "sphere", [radii[0]], _BLUE),
            geom(1, "sphere", [radii[1]], _TEAL),
        ],
        "links": [
            link(-1, (0, 0, 0), 0, (0, 0, 0), 0.012 * both),
            link(0, (0, 0, 0), 1, (0, 0, 0), 0.012 * both),
            _axle(0.6 * both),
        ],
        "trails": [1],
        "box": _around(both),
        "look": _FRONT,
    }


def _projectile(p: Any, states: np.ndarray) -> tuple[Poses, Parts]:
    del p
    reach = float(np.ptp(states[:, :3], axis=0).max()) or 1.0
    ground = min(0.0, float(states[:, 2].min()))
    size = 0.03 * reach
    return lambda x: poses_of(x[:, None, :3]), {
        "bodies": ["projectile"],
        "geoms": [geom(0, "sphere", [size], _TEAL), floor((0, 0, ground - size))],
        "links": [],
        "trails": [0],
    }


def _spring_chain(p: Any, states: np.ndarray) -> tuple[Poses, Parts] | None:
    del p
    n = states.shape[1] // 2
    if n > _MOST_MASSES:
        return None
    # Displacements say nothing about how far the masses are apart: far enough not to touch.
    apart = 3 * (float(np.abs(states[:, :n]).max()) or 1 / 3)
    rest = apart * np.arange(1, n + 1)
    side = 0.16 * apart

    def poses(x: np.ndarray) -> np.ndarray:
        return poses_of(in_plane(rest + x[:, :n], 0.0))

    links = [
        link(-1, (0, 0, 0), 0, (0, 0, 0), 0.4 * side, kind="spring"),
        *(link(i, (0, 0, 0), i + 1, (0, 0, 0), 0.4 * side, kind="spring") for i in range(n - 1)),
        link(n - 1, (0, 0, 0), -1, (apart * (n + 1), 0, 0), 0.4 * side, kind="spring"),
    ]
    for x in (-0.06 * apart, apart * (n + 1)):
        wall = link(-1, (x, 0, 0), -1, (x + 0.06 * apart, 0, 0), 1.5 * side, _DARK)
        links.append(wall)
    return poses, {
        "bodies": [f"mass {i}" for i in range(n)],
        "geoms": [geom(i, "box", [side, side, side], _BLUE) for i in range(n)],
        "links": links,
        "box": [[0, 0, -2 * side], [apart * (n + 1), 0, 2 * side]],
        "look": _FRONT,
    }


def _kepler(p: Any, states: np.ndarray) -> tuple[Poses, Parts]:
    del p
    reach = float(np.abs(states[:, :2]).max()) or 1.0

    def poses(x: np.ndarray) -> np.ndarray:
        flat = np.column_stack([x[:, :2], np.zeros(len(x))])
        return poses_of(np.stack([flat, np.zeros_like(flat)], axis=1))

    return poses, {
        "bodies": ["planet", "centre"],
        "geoms": [
            geom(0, "sphere", [0.04 * reach], _BLUE),
            geom(1, "sphere", [0.09 * reach], _GOLD),
        ],
        "links": [],
        "trails": [0],
        "look": [0, -0.55, 1],
    }


def _lorenz(p: Any, states: np.ndarray) -> tuple[Poses, Parts]:
    del p
    reach = float(np.ptp(states, axis=0).max()) or 1.0
    return lambda x: poses_of(x[:, None, :3]), {
        "bodies": ["point"],
        "geoms": [geom(0, "sphere", [0.018 * reach], _TEAL)],
        "links": [],
        "trails": [0],
        "look": [0.6, -1, 0.15],
    }


def _bouncing_ball(p: Any, states: np.ndarray) -> tuple[Poses, Parts]:
    del p
    height = float(states[:, 0].max()) or 1.0
    r = 0.08 * height
    return lambda x: poses_of(in_plane(0.0, x[:, :1])), {
        "bodies": ["ball"],
        "geoms": [geom(0, "sphere", [r], _TEAL, pos=(0, 0, r)), floor((0, 0, 0))],
        "links": [],
        "box": [[-0.4 * height, 0, 0], [0.4 * height, 0, height + 2 * r]],
        "look": [0.3, -1, 0.25],
    }


def _bead_on_curve(p: Any, states: np.ndarray) -> tuple[Poses, Parts]:
    del states
    heights, width = np.asarray(p["heights"], float), float(p["width"])
    n = len(heights)
    # Scaled slopes of the spline: zero at the start, natural at the end (laws/bead_on_curve.h).
    matrix, right = np.zeros((n, n)), np.zeros(n)
    matrix[0, 0] = 1
    for i in range(1, n - 1):
        matrix[i, i - 1 : i + 2] = 1, 4, 1
        right[i] = 3 * (heights[i + 1] - heights[i - 1])
    matrix[-1, -2:], right[-1] = (1, 2), 3 * (heights[-1] - heights[-2])
    slopes = np.linalg.solve(matrix, right)

    def place(s: np.ndarray) -> np.ndarray:
        s = np.clip(s, 0, 1)
        i = np.minimum((s * (n - 1)).astype(int), n - 2)
        t, rise = s * (n - 1) - i, heights[i + 1] - heights[i]
        d, e = slopes[i], slopes[i + 1]
        y = heights[i] + t * (d + t * (3 * rise - 2 * d - e + t * (d + e - 2 * rise)))
        return in_plane(width * s**2, y)

    curve = place(np.linspace(0, 1, 400))
    r = 0.025 * width
    return lambda x: poses_of(place(x[:, :1])), {
        "bodies": ["bead"],
        "geoms": [geom(0, "sphere", [r], _TEAL, pos=(0, 0, 0.6 * r))],
        "links": [
            link(-1, a, -1, b, 0.25 * r, _BLUE) for a, b in zip(curve[:-1:4].tolist(),
                                                                 curve[4::4].tolist())
        ],
        "box": [curve.min(axis=0).tolist(), curve.max(axis=0).tolist()],
        "look": _FRONT,
    }


def _stick_slip(p: Any, states: np.ndarray) -> tuple[Poses, Parts]:
    del p
    reach = float(np.abs(states[:, 0]).max()) or 1.0
    side = 0.25 * reach
    wall = -3 * reach
    return lambda x: poses_of(in_plane(x[:, :1], 0.0)), {
        "bodies": ["block"],
        "geoms": [geom(0, "box", [side] * 3, _BLUE), floor((0, 0, -side))],
        "links": [
            link(-1, (wall, 0, 0), 0, (-side, 0, 0), 0.4 * side, kind="spring"),
            link(-1, (wall - 0.1 * side, 0, 0), -1, (wall, 0, 0), 1.5 * side, _DARK),
        ],
        "box": [[wall, 0, -side], [2 * reach, 0, 2 * side]],
        "look": _FRONT,
    }


def _rimless_wheel(p: Any, states: np.ndarray) -> tuple[Poses, Parts]:
    del states
    length, half, slope = (float(p[name]) for name in ("length", "half_angle", "slope"))
    spokes = max(3, round(math.pi / half))

    def poses(x: np.ndarray) -> np.ndarray:
        a = x[:, :1]
        return poses_of(in_plane(length * np.sin(a), length * np.cos(a)), a)

    # The spoke on the ground ends where the world begins; the slope goes down to the right.
    turns = [2 * half * k for k in range(spokes)]
    return poses, {
        "bodies": ["wheel"],
        "geoms": [
            geom(0, "sphere", [0.1 * length], _TEAL),
            floor((0, 0, 0), (math.sin(slope), 0, math.cos(slope))),
        ],
        "links": [
            link(0, (0, 0, 0), 0, (length * math.sin(a), 0, -length * math.cos(a)), 0.02 * length)
            for a in turns
        ],
        "box": [[-length, 0, 0], [length, 0, 2 * length]],
        "look": [0.25, -1, 0.12],
    }


_PICTURES: dict[str, Callable[[Any, np.ndarray], tuple[Poses, Parts] | None]] = {
    "pendulum": _pendulum,
    "double_pendulum": _double_pendulum,
    "projectile": _projectile,
    "spring_chain": _spring_chain,
    "kepler": _kepler,
    "lorenz": _lorenz,
    "bouncing_ball": _bouncing_ball,
    "bead_on_curve": _bead_on_curve,
    "stick_slip": _stick_slip,
    "rimless_wheel": _rimless_wheel,
}
