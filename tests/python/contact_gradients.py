"""Gradients of runs with constraints against extrapolated differences of the same runs.

A block is a part of the state, an input or all parameters with the same kind and field. Of each
block some random directions are compared: one number per direction.
"""

import functools
import random
from collections import defaultdict
from typing import NamedTuple

import contact_models
import numpy as np
from robot_rollout_gradient_test import INPUTS, Case, Loss, extrapolated, kind_and_field

import cycloid as cy

HORIZONS = (1, 10, 100)
POINTS = 2 if contact_models.LONG else 1  # states of each model
# Those of which the sample has the longest run.
LASTING = ("gymnasium/walker2d", "limits of all", "connect", "weld", "priorities", "everything")
LARGEST, SIZES = 1e-3, 8  # of steps of differences: down to 1.3e-8
SWITCH = 1e-5  # differences that disagree by more reach across a switch
NOISE = 3e-13  # of a loss: rounding, and where the solver stops
UNHEARD = 1e-9  # of a loss: what the solver may not notice, and the run stays as it is bit for bit
LOUDER = 25  # times larger steps for what is not heard
DIRECTIONS = 2  # of each block
BY_NAME = 4 if contact_models.LONG else 0  # ... and so many of single parameters
AT_ONCE = 64  # directions in one batch


@functools.lru_cache(maxsize=None)
def effects(name):
    """By how much constraints change the change of velocity, over what it is without them: at each
    state of the run.
    """
    model, states, controls, _ = contact_models.run(name)
    with_them, without = (
        cy.step(cy.from_mujoco(model, constraints=act), states, controls) for act in (True, False)
    )
    v = slice(model.nq, model.nq + model.nv)
    change = np.maximum(np.abs(without - states)[:, v].max(axis=1), 1e-3)
    return np.abs(with_them - without)[:, v].max(axis=1) / change


class ContactCase(Case):
    """A model at a state of MuJoCo's run in which constraints act, with parameters a little off, so
    that no two tie in a maximum and none lies on the edge of a clamp.
    """

    least = 2e-3

    def __init__(self, name, seed):
        run = contact_models.run(name)
        effect, acting = effects(name), np.flatnonzero(run.rows)
        most = acting[effect[acting] >= np.quantile(effect[acting], 0.75)]
        at = random.Random(seed).choice(most)
        self.start, self.effect = run.states[at], effect[at]
        self.largest_step = LARGEST
        self.set_up(run.model, seed)

    def state(self):
        return self.start

    def parameters(self):
        p = super().parameters()
        for info in self.infos:
            part = p[info.offset : info.offset + info.size]
            _, field = kind_and_field(info.name)
            if field in ("friction", "solref", "frictionloss", "impratio"):
                part *= self.draw.uniform(1.02, 1.1, info.size)
            elif field == "solimp":
                part *= [*self.draw.uniform(0.95, 0.99, 2), *self.draw.uniform(1.02, 1.1, 3)]
            elif field == "timestep":
                part *= 0.97  # solref is held above twice of it
        return p

    def directions(self):
        """Numbers of one block that have different units move by their own size each."""
        d = super().directions()
        for row, info in zip(d, self.infos):
            at = slice(info.offset, info.offset + info.size)
            kind, field = kind_and_field(info.name)
            if field in ("size", "friction", "solref", "solimp"):
                row[at] *= np.abs(self.p[at]) / max(np.abs(self.p[at]).max(), 1e-300)
            elif field in ("margin", "gap"):
                row[at] *= 0.01 / np.abs(row[at]).max()
        return d

    def fields(self):
        """{kind.field: directions}: mixtures of all such blocks, and some by themselves."""
        rows = defaultdict(list)
        for row, info in zip(self.directions(), self.infos):
            rows["params." + ".".join(kind_and_field(info.name))].append(row)
        for field, own in rows.items():
            mixing = self.numbers((DIRECTIONS, len(own)))
            single = random.Random(len(own)).sample(own, min(BY_NAME, len(own)))
            rows[field] = np.array([*(mixing @ np.array(own)), *single])
        return rows


class Compared(NamedTuple):
    """One direction."""

    block: str
    horizon: int
    gradient: float
    error: float  # relative, of the largest in the block, or of 1e-3
    spread: float  # of the two differences that agree best, relative too

    def left_out(self):
        return not self.spread <= SWITCH


def judged(block, horizon, got, estimates, largest=LARGEST):
    """Of each direction the two differences in a row that agree best decide, with what noise adds
    to short steps. Directions without any effect are not counted. largest: the first step.
    """
    gaps = np.abs(np.diff(estimates, axis=0))
    noise = NOISE / (largest * 0.2 ** np.arange(2, len(gaps) + 2))[:, None]
    best = np.argmin(np.nan_to_num(gaps, nan=np.inf) + noise, axis=0)
    each = np.arange(len(got))
    expected, gap = estimates[best + 1, each], gaps[best, each]
    scale = max(np.abs(expected).max(), 1e-3)
    off = np.abs(got - expected)
    return [
        Compared(block, horizon, *numbers)
        for numbers in zip(got, off / scale, gap / scale)
        if any(numbers)
    ]


def differences(loss, what, centre, directions, largest=LARGEST, sizes=SIZES):
    """Estimates of the derivatives along the directions, (sizes - 1, directions)."""
    parts = np.array_split(directions, -(-len(directions) // AT_ONCE))
    return np.concatenate(
        [
            extrapolated(
                lambda s: loss(**{what: centre + s.reshape(-1, *[1] * d.ndim) * d}), largest, sizes
            )
            for d in parts
        ],
        axis=1,
    )


def heard(got, estimates, louder):
    """The estimates, after two of LOUDER steps, without those that say nothing. A force that
    changes by less than the solver's tolerance leaves the run as it is, bit for bit: a difference
    of exactly zero is no word against a gradient whose own change would be that small at all such
    steps. Where the gradient is larger, or zero itself, it is one. louder(which): estimates of
    those directions.
    """
    shorter = LARGEST * 0.2 ** np.arange(1, len(estimates) + 1)[:, None]
    silent = estimates == 0
    silent[:-1] |= silent[1:]  # of the two steps, at least the shorter one
    largest = (silent * shorter).max(axis=0)
    unheard = silent & (got != 0) & (np.abs(got) * largest <= UNHEARD)
    more = np.full((2, len(got)), np.nan)
    which = unheard.any(axis=0)
    if which.any():
        more[:, which] = louder(which)
    return np.concatenate([more, np.where(unheard, np.nan, estimates)])


def compare(case, horizon):
    """Every block of a case, over so many steps."""
    loss = Loss(case, horizon)
    found = []

    def add(prefix, what, centre, blocks):
        names, directions = list(blocks), np.concatenate(list(blocks.values()))
        bar = getattr(loss.g, {"x": "x0", "u": "controls", "p": "params"}[what])
        got = np.tensordot(directions, bar, bar.ndim)
        estimates = heard(
            got,
            differences(loss, what, centre, directions),
            lambda which: differences(loss, what, centre, directions[which], LOUDER * LARGEST, 3),
        )
        ends = np.cumsum([len(blocks[n]) for n in names])[:-1]
        for name, own, part in zip(names, np.split(got, ends), np.split(estimates, ends, axis=1)):
            found.extend(judged(prefix + name, horizon, own, part, LOUDER * LARGEST))

    def within(shape, slices):
        blocks = {}
        for name, at in slices.items():
            if at.start < at.stop:
                blocks[name] = np.zeros((DIRECTIONS, *shape))
                blocks[name][..., at] = case.numbers((DIRECTIONS, *shape))[..., at]
        return blocks

    add("x0.", "x", case.x, within(case.x.shape, case.system.state_slices))
    add("controls.", "u", loss.u, within(loss.u.shape, case.system.input_slices))
    add("", "p", case.p, case.fields())
    return found


class Gradients(NamedTuple):
    """Of one model, at some states and over some numbers of steps."""

    effects: list  # of the constraints, at the states
    compared: list

    def errors(self):
        return np.array([c.error for c in self.compared if not c.left_out()])

    def left_out(self):
        return sum(c.left_out() for c in self.compared)


@functools.lru_cache(maxsize=None)
def gradients(name):
    cases = [ContactCase(name, seed) for seed in range(POINTS)]
    horizons = HORIZONS if contact_models.LONG or name in LASTING else HORIZONS[:-1]
    found = [c for case in cases for horizon in horizons for c in compare(case, horizon)]
    return Gradients([case.effect for case in cases], found)


def grouped(compared):
    """{block: its own}"""
    blocks = defaultdict(list)
    for c in compared:
        blocks[c.block].append(c)
    return blocks


def by_block(names):
    """{block: what was compared} of several models."""
    return grouped(c for name in names for c in gradients(name).compared)


def _row(title, effect, compared):
    kept = np.array([c.error for c in compared if not c.left_out()])
    share = 1 - len(kept) / len(compared)
    errors = [f"{np.quantile(kept, q):.0e}" if len(kept) else "" for q in (0.5, 0.9, 1)]
    return f"| {title} | {effect} | {len(compared)} | {share:.1%} | {' | '.join(errors)} |"


def table(names):
    """In Markdown: of each model, then of each block over all models, the errors of gradients."""
    yield "| model or block | effect | directions | left out | median | 90th percentile | worst |"
    yield "|---|---|---|---|---|---|---|"
    for name in names:
        g = gradients(name)
        yield _row(name, f"{np.median(g.effects):.2f}", g.compared)
    blocks = by_block(names)
    for block in sorted(blocks):
        yield _row(block, "", blocks[block])
    yield _row("all", "", [c for found in blocks.values() for c in found])
