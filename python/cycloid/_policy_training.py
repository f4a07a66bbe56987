"""The training of a policy, window by window, and its state between two of them.

Of E environments over T steps, with rewards r, discount g and the learned value V:
  J    = Σ_t g^t r_t + g^T V(x_T),   of what is alive          loss = -mean J / T             (1)
  grad = Σ over environments of dJ/dw through physics and policy, each cut to some medians    (2)
  V(x_t) -> r_t + g ((1 - l) V(x_{t+1}) + l target_{t+1})      TD(l), 0 behind an end         (3)
after SHAC (Xu et al. 2022). With order "mix" (2) is averaged with the score function's
  grad = Σ_t g^t (to_go_t - V(x_t)) dlog p(y_t)/dw             each by the other's variance   (4)
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cycloid import _core
from cycloid._close_loop import close_loop
from cycloid._core import Error
from cycloid._policy_task import PolicyTask, Sight
from cycloid._rollout import rollout
from cycloid.networks import MLP

COLUMNS = ("steps", "return", "episode", "loss", "value_loss", "first_order", "seconds")
_VALUE_BATCH, _VALUE_MEMORY = 1024, 0.8
_APART = 3.0  # standard errors, beyond which two estimates are not of one number


class PolicyOptions(NamedTuple):
    """As in `train_policy`."""

    environments: int
    horizon: int
    episode: int | None
    windows: int
    discount: float
    seed: int
    clip: str | None
    noise: Any
    order: str
    learning_rate: float
    value_hidden: tuple[int, ...]
    value_rate: float
    value_steps: int
    trace: float
    clip_gradient: float
    randomise: Any
    threads: int | None


class Adam:
    """Its moments, and its moves."""

    def __init__(self, n: int) -> None:
        self.m, self.v, self.t = np.zeros(n), np.zeros(n), 0

    def move(self, w: np.ndarray, g: np.ndarray, rate: float) -> np.ndarray:
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        m, v = self.m / (1 - 0.9**self.t), self.v / (1 - 0.999**self.t)
        return w - rate * m / (np.sqrt(v) + 1e-8)


class _Window(NamedTuple):
    """A run of all environments, and what it is worth."""

    run: Any
    states: np.ndarray  # (E, T+1, n)
    xi: Any  # noise (E, T, m), or 0
    sight: Sight
    o: np.ndarray  # what is seen of the states
    slope: np.ndarray  # of inputs by what the network gives
    r: np.ndarray
    reward_back: Any
    ended: np.ndarray  # (E, T) the step ends an episode
    alive: np.ndarray  # (E, T) the step is made

    @property
    def over(self) -> np.ndarray:
        return self.ended.any(axis=1)


class PolicyTraining:
    """Weights of policy and value, their moments, the environments, and the random generator."""

    def __init__(self, task: PolicyTask, net: MLP, options: PolicyOptions) -> None:
        self.task, self.options = task, options
        o = options
        self.rng = np.random.default_rng(o.seed)
        self.quiet = close_loop(task.system, net, task.observe, clip=o.clip)
        self.loop = self.quiet
        if o.noise is not None:
            self.loop = close_loop(task.system, net, task.observe, clip=o.clip, noise=o.noise)
        self.sigma = None if o.noise is None else self.loop.parameters["policy.noise"]
        if o.order == "mix" and not np.all(self.sigma > 0):
            raise Error('order="mix" needs noise on every input')
        first = self.quiet.parameters.info("policy.weight0").offset
        self.own = slice(first, self.quiet.parameters.size)
        self.weights = np.array(self.quiet.parameters.default[self.own])
        if self.weights.size != net.weights.size:
            raise Error("the policy's network must have no normalisation")
        self.plain = MLP(net._sizes, net._activation, **features_of(net))
        self.bounds = np.array(task.system._core.input_bounds()).reshape((-1, 2))

        E, seen = o.environments, self.plain._sizes[0]
        self.x = task.starts(self.rng, E)
        self.value = MLP((seen, *o.value_hidden, 1), seed=o.seed + 1)
        self.w_value = np.array(self.value.weights)
        self.w_target = self.w_value.copy()
        self.adam, self.adam_value = Adam(self.weights.size), Adam(self.w_value.size)
        self.shift, self.scale = np.zeros(seen), np.ones(seen)
        # Of values, per unit of reward.
        self.unit = 1 / (1 - o.discount) if o.discount < 1 else float(o.episode or o.horizon)
        self.age = self.rng.integers(0, o.episode, E) if o.episode else np.zeros(E, int)
        self.total = np.zeros(E)
        self.history: list[tuple[float, ...]] = []
        self.best, self.best_weights = -np.inf, self.weights.copy()
        self.before = 0.0  # seconds of runs that this one resumes

    # ---- a window -------------------------------------------------------------------------------

    @property
    def window(self) -> int:
        """How many have been made."""
        return len(self.history)

    def advance(self) -> float:
        """Makes the next window; its mean reward."""
        o, begun = self.options, time.perf_counter()
        w = self._run()
        if self.window == 0:
            rows = w.o.reshape((-1, w.o.shape[-1]))
            self.shift, self.scale = rows.mean(0), rows.std(0) + 1e-3
        seen = (w.o - self.shift) / self.scale
        grad, share, loss = self._gradient(w, seen)
        norm = float(np.linalg.norm(grad))
        if np.isfinite(norm) and norm > 0:
            rate = o.learning_rate * (1 - self.window / o.windows) + 1e-5
            self.weights = self.adam.move(self.weights, grad * min(1.0, 1.0 / norm), rate)
        value_loss = self._learn_value(w, seen)
        episodes = self._go_on(w)
        mean = float((w.r * w.alive).sum() / w.alive.sum())
        if mean > self.best:
            self.best, self.best_weights = mean, self.weights.copy()
        made = (self.window + 1) * o.environments * o.horizon
        self.before += time.perf_counter() - begun
        self.history.append((made, mean, episodes, loss, value_loss, share, self.before))
        return mean

    def _run(self) -> _Window:
        """Runs all environments, with drawn parameters and noise."""
        o, loop, task = self.options, self.loop, self.task
        E, T = o.environments, o.horizon
        p = dict(o.randomise(self.rng, E)) if o.randomise is not None else {}
        params = loop.parameters.pack(p) if p else np.array(loop.parameters.default)
        params[..., self.own] = self.weights
        xi: Any = 0.0
        if self.sigma is not None:
            key = (o.seed * 65537 + self.window) % 2**24
            params[..., loop.parameters.info("policy.key").offset] = key
            xi = _core.policy_noise(key, E, 0, T, len(self.bounds)).reshape((E, T, -1))
        run = rollout(loop, self.x, T, params, threads=o.threads)
        states = np.asarray(run.states, np.float64)
        along = {n: np.expand_dims(np.asarray(a), 1) for n, a in p.items()} or None
        sight = Sight(task.system, task.observe, along)
        seen = sight.look(states)
        y = self.plain(seen[:, :-1], self.weights)
        u, slope = clipped(y if self.sigma is None else y + self.sigma * xi, self.bounds, o.clip)
        r, reward_back = task.reward(task.system, states, u, along)
        ended = task.ended(task.system, states[:, 1:])
        for f in run.report.failed:
            ended[f.environment, f.step :] = True
        before = np.concatenate([np.zeros((E, 1), bool), ended[:, :-1]], axis=1)
        alive = ~np.maximum.accumulate(before, axis=1)
        return _Window(run, states, xi, sight, seen, slope, r, reward_back, ended, alive)

    def _gradient(self, w: _Window, seen: np.ndarray) -> tuple[np.ndarray, float, float]:
        """(2), the share of what goes through the physics, and the loss (1)."""
        o = self.options
        E, T = o.environments, o.horizon
        factor, gammas = -1 / (E * T), o.discount ** np.arange(T + 1)
        v_end = self.unit * self.value(seen[:, -1], self.w_target)[:, 0]
        reach = factor * gammas[:T] * w.alive
        bar, u_bar = w.reward_back(reach)
        end_slope = self.unit * self.value.gradient(seen[:, -1], self.w_target) / self.scale
        o_bar = np.zeros_like(w.o)
        o_bar[:, -1] += factor * gammas[T] * np.where(w.over, 0.0, 1.0)[:, None] * end_slope
        o_bar[:, :-1] += self.plain.pullback(w.o[:, :-1], u_bar * w.slope, self.weights).x
        bar = bar + w.sight.back(o_bar)
        bar, cut = _cut(w.run, bar, o.clip_gradient)
        direct = u_bar * w.slope * (1 - cut)[:, None, None]  # cut with the rest

        def first_order(of: np.ndarray) -> np.ndarray:
            back = (bar * of).astype(self.task.system.dtype)
            g = w.run.pullback(back, wrt=("params",), failed="skip").params
            rows = np.asarray(g).reshape((-1, self.loop.parameters.size))
            return rows.sum(0)[self.own] + self._to_weights(w, direct * of)

        grad, share = first_order(np.ones((E, 1, 1))), 1.0
        if o.order == "mix":
            gains = _to_go(w.r, w.ended, np.where(w.over, 0.0, v_end), o.discount)
            gains -= self.unit * self.value(seen[:, :-1], self.w_target)[..., 0]
            y_bar = (reach * gains)[..., None] * w.xi / self.sigma  # (4)
            grad, share = _mixed(
                *(grad, first_order(_half(E))),
                *(self._to_weights(w, y_bar * h) for h in (1, _half(E))),
            )
        loss = float((reach * w.r).sum()) + factor * float((gammas[T] * v_end * ~w.over).sum())
        return grad, share, loss

    def _to_weights(self, w: _Window, y_bar: np.ndarray) -> np.ndarray:
        return self.plain.pullback(w.o[:, :-1], y_bar, self.weights).weights

    def _learn_value(self, w: _Window, seen: np.ndarray) -> float:
        """(3), and some steps towards it; the last loss."""
        o = self.options
        values = self.unit * self.value(seen, self.w_target)[..., 0]
        target, ahead = np.zeros_like(w.r), np.where(w.over, 0.0, values[:, -1])
        for t in range(o.horizon - 1, -1, -1):
            boot = (1 - o.trace) * values[:, t + 1] + o.trace * ahead
            ahead = w.r[:, t] + o.discount * np.where(w.ended[:, t], 0.0, boot)
            target[:, t] = ahead
        rows, want = seen[:, :-1][w.alive], target[w.alive] / self.unit
        loss = 0.0
        for _ in range(o.value_steps):
            pick = self.rng.integers(0, len(rows), min(len(rows), _VALUE_BATCH))
            miss = self.value(rows[pick], self.w_value)[:, 0] - want[pick]
            loss = float((miss**2).mean())
            back = self.value.pullback(rows[pick], 2 * miss[:, None] / len(pick), self.w_value)
            self.w_value = self.adam_value.move(self.w_value, back.weights, o.value_rate)
        self.w_target = _VALUE_MEMORY * self.w_target + (1 - _VALUE_MEMORY) * self.w_value
        return loss

    def _go_on(self, w: _Window) -> float:
        """Where the next window begins; the mean total of the episodes that ended, or NaN."""
        o = self.options
        self.total += (w.r * w.alive).sum(axis=1)
        self.age = self.age + o.horizon
        new = w.over | (self.age >= o.episode if o.episode else np.zeros(o.environments, bool))
        episodes = float(self.total[new].mean()) if new.any() else np.nan
        self.x = w.states[:, -1].copy()
        if new.any():
            self.x[new] = self.task.starts(self.rng, int(new.sum()))
            self.age[new], self.total[new] = 0, 0.0
        return episodes

    # ---- between windows ------------------------------------------------------------------------

    def found(self) -> np.ndarray:
        """The weights of the policy; the best of a window where the last are not finite."""
        return self.weights if np.isfinite(self.weights).all() else self.best_weights

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, str]]:
        """All that the next window depends on, as arrays and texts."""
        names = ("weights", "best_weights", "w_value", "w_target", "shift", "scale", "x", "total")
        arrays = {name: np.ascontiguousarray(getattr(self, name)) for name in names}
        for name, adam in (("adam", self.adam), ("adam_value", self.adam_value)):
            arrays |= {f"{name}.m": adam.m, f"{name}.v": adam.v, f"{name}.t": np.array([adam.t])}
        arrays |= {"age": self.age, "best": np.array([self.best]), "history": self.columns().T}
        arrays = {n: np.ascontiguousarray(a, np.float64) for n, a in arrays.items()}
        return arrays, {"rng": json.dumps(self.rng.bit_generator.state)}

    def resume(self, arrays: dict[str, np.ndarray], texts: dict[str, str], path: str) -> None:
        """Goes on where another training stood."""
        if "w_target" not in arrays or "rng" not in texts:
            raise Error(f'"{path}" holds no training of a policy to resume')
        for name, own in self.state()[0].items():
            if name != "history" and arrays[name].shape != own.shape:
                raise Error(
                    f'"{path}" was trained otherwise: its "{name}" has shape '
                    f"{arrays[name].shape}, and here {own.shape}; environments, network and "
                    "value_hidden must be the same"
                )
        for name in ("weights", "best_weights", "w_value", "w_target", "shift", "scale", "x"):
            setattr(self, name, arrays[name])
        for name, adam in (("adam", self.adam), ("adam_value", self.adam_value)):
            adam.m, adam.v = arrays[f"{name}.m"], arrays[f"{name}.v"]
            adam.t = int(arrays[f"{name}.t"][0])
        self.total, self.age = arrays["total"], arrays["age"].astype(int)
        self.best = float(arrays["best"][0])
        self.history = [tuple(row) for row in arrays["history"]]
        self.before = self.history[-1][-1] if self.history else 0.0
        self.rng.bit_generator.state = json.loads(texts["rng"])

    def kept(self) -> Callable[[], None]:
        """What puts everything back to where it is now: a window that is broken off leaves
        nothing behind."""
        own = dict(self.__dict__, total=self.total.copy(), age=self.age.copy())
        own["history"] = list(self.history)
        adams = [(a, dict(a.__dict__)) for a in (self.adam, self.adam_value)]
        generator = self.rng.bit_generator.state

        def put_back() -> None:
            self.__dict__.update(own)
            for adam, moments in adams:
                adam.__dict__.update(moments)
            self.rng.bit_generator.state = generator

        return put_back

    def columns(self) -> np.ndarray:
        """(columns, windows)"""
        return np.array(self.history).reshape((-1, len(COLUMNS))).T


def clipped(y: np.ndarray, bounds: np.ndarray, clip: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of what the network gives, and their slopes; as couple/network_feedback.h."""
    low, high = bounds[:, 0], bounds[:, 1]
    if clip is None:
        return y, np.ones_like(y)
    if clip == "hard":
        return np.clip(y, low, high), ((y >= low) & (y <= high)).astype(float)
    limited = np.isfinite(low) & np.isfinite(high)
    middle = np.where(limited, (low + high) / 2, 0)
    reach = np.where(limited, (high - low) / 2, 1)
    t = np.tanh((y - middle) / reach)
    return np.where(limited, middle + reach * t, y), np.where(limited, 1 - t * t, 1.0)


def features_of(net: MLP) -> dict[str, Any]:
    """How a network's inputs enter it, where it has no normalisation."""
    options = net._options
    if options["input_shift"] or options["output_shift"]:
        raise Error("give train_policy a network without normalisation: it keeps one of its own")
    return {k: options[k] for k in ("residual", "angles", "frequencies") if len(options[k] or ())}


def _half(n: int) -> np.ndarray:
    """Ones for the first half of the environments."""
    return (np.arange(n) < n // 2).astype(float)[:, None, None]


def _to_go(r: np.ndarray, ended: np.ndarray, end: np.ndarray, gamma: float) -> np.ndarray:
    """Discounted rewards from each step on, with a value behind the last."""
    out, ahead = np.zeros_like(r), end
    for t in range(r.shape[1] - 1, -1, -1):
        ahead = r[:, t] + gamma * np.where(ended[:, t], 0.0, ahead)
        out[:, t] = ahead
    return out


def _mixed(
    first: np.ndarray, first_half: np.ndarray, zeroth: np.ndarray, zeroth_half: np.ndarray
) -> tuple[np.ndarray, float]:
    """The mean of two estimates of a gradient, each by the other's variance, which half of its
    samples tell; and the share of the first. Where that knows nothing (its variance is none), or
    they differ by more than chance (a reward with jumps), the second is right."""
    of_first = float(((2 * first_half - first) ** 2).sum())
    of_zeroth = float(((2 * zeroth_half - zeroth) ** 2).sum())
    apart = float(((first - zeroth) ** 2).sum()) > _APART**2 * (of_first + of_zeroth)
    if not np.isfinite(of_first) or of_first == 0 or apart:
        return zeroth, 0.0
    share = of_zeroth / (of_first + of_zeroth) if of_first + of_zeroth > 0 else 1.0
    return share * first + (1 - share) * zeroth, share


def _cut(run: Any, bar: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
    """The cotangents, those of environments whose gradient is much longer than the median's cut;
    and by how much of it each was."""
    g = run.pullback(bar.astype(run.states.dtype), wrt=("x0",), failed="skip").x0_tangent
    norm = np.linalg.norm(np.asarray(g, np.float64), axis=-1)
    norm[~np.isfinite(norm)] = np.inf
    usual = np.median(norm[np.isfinite(norm)]) if np.isfinite(norm).any() else 0.0
    limit = max(most * usual, 1e-300)
    share = limit / np.maximum(norm, limit)
    return bar * share[:, None, None], 1 - share
