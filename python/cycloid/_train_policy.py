"""Policies by the analytic gradient of short horizons, with a learned value behind them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._close_loop import close_loop
from cycloid._core import Error
from cycloid._observe import observe as observe_states
from cycloid._options import as_integer, as_names, as_real, as_threads, check_one_of, shown
from cycloid._progress import Progress
from cycloid._rollout import rollout
from cycloid._system import System, check_system
from cycloid._train import with_parameters
from cycloid.networks import MLP, as_sizes

_COLUMNS = ("steps", "return", "episode", "loss", "value_loss", "first_order", "seconds")
_ORDERS = ("first", "mix")


class Policy:
    """What `train_policy` found.

    system: the closed loop, with the learned weights as its defaults. network: the policy, an MLP
    with its learned weights in `weights`. params: {name: array}. history: arrays "steps" of all
    environments, "return" (mean reward per step of a window), "episode" (mean undiscounted reward
    of the episodes that ended; NaN where none did), "loss", "value_loss", "first_order" (share of
    the gradient through the physics), "seconds".
    """

    def __init__(
        self, system: System, network: MLP, weights: np.ndarray, history: dict[str, np.ndarray]
    ) -> None:
        self.system, self.network, self.weights = system, network, weights
        self.history = history
        names = [n for n in system.parameters.names if n.startswith("policy.")]
        self.params = {n: system.parameters[n] for n in names}

    @property
    def steps(self) -> int:
        """Environment steps that were made."""
        return int(self.history["steps"][-1]) if len(self.history["steps"]) else 0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a safetensors file of the closed loop's parameters, which
        `cycloid.learn.load(path, system)` reads for a loop of the same make."""
        flat = np.ascontiguousarray(self.system.parameters.default)
        _core.save_law(os.fspath(path), self.system._core, flat, None, {}, {})

    def __repr__(self) -> str:
        last = self.history["return"][-1] if len(self.history["return"]) else float("nan")
        return f"<Policy: {self.steps} environment steps, reward per step {last:.4g}>"


class _Adam:
    def __init__(self, n: int) -> None:
        self.m, self.v, self.t = np.zeros(n), np.zeros(n), 0

    def move(self, w: np.ndarray, g: np.ndarray, rate: float) -> np.ndarray:
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        m, v = self.m / (1 - 0.9**self.t), self.v / (1 - 0.999**self.t)
        return w - rate * m / (np.sqrt(v) + 1e-8)


class _Sight:
    """What the policy sees of states (..., n), and the way back."""

    def __init__(self, system: System, names: Sequence[str] | None, params: Any) -> None:
        self.system, self.names, self.params = system, names, params

    def look(self, x: np.ndarray) -> np.ndarray:
        if self.names is None:
            return x
        self.seen = observe_states(self.system, x, names=list(self.names), params=self.params)
        return self.seen.values

    def back(self, o_bar: np.ndarray) -> np.ndarray:
        return o_bar if self.names is None else self.seen.pullback(o_bar).x


def _clipped(y: np.ndarray, bounds: np.ndarray, clip: str | None) -> tuple[np.ndarray, np.ndarray]:
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


def _called(reward: Callable[..., Any], x: np.ndarray, u: np.ndarray) -> tuple[Any, ...]:
    answer = reward(x, u)
    if not isinstance(answer, tuple) or len(answer) != 3:
        raise Error("reward must give (r, x_bar, u_bar): its value and derivatives")
    r, x_bar, u_bar = (np.asarray(a, np.float64) for a in answer)
    for got, want, what in (
        (r, x.shape[:-1], "r"),
        (x_bar, x.shape, "x_bar"),
        (u_bar, u.shape, "u_bar"),
    ):
        if got.shape != want:
            raise Error(f"reward: {what} must have shape {want}; got {got.shape}")
        if not np.isfinite(got).all():
            raise Error(f"reward: {what} is not finite")
    return r, x_bar, u_bar


def train_policy(
    system: System,
    net: MLP,
    reward: Callable[..., Any],
    x0: Any,
    *,
    steps: int,
    horizon: int = 32,
    episode: int | None = None,
    done: Callable[..., Any] | None = None,
    discount: float = 0.99,
    seed: int = 0,
    observe: Any = None,
    clip: str | None = "hard",
    noise: Any = None,
    order: str = "first",
    environments: int = 64,
    learning_rate: float = 2e-3,
    value_hidden: Sequence[int] = (64, 64),
    value_rate: float = 2e-3,
    value_steps: int = 16,
    trace: float = 0.95,
    clip_gradient: float = 10.0,
    randomise: Callable[..., Any] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    callback: Callable[[int, float], Any] | None = None,
) -> Policy:
    """Trains a network that gives a System its inputs, so that the reward grows: windows of
    `horizon` steps are run in many environments side by side, and their reward, with a learned
    value of where they end, is differentiated through the physics (after SHAC, Xu et al. 2022).

    net: an MLP of what is observed (None: the whole state) that gives all inputs. reward(x_after,
    u) -> (r (...), x_bar (..., n), u_bar (..., m)): value and derivatives, batched. x0: rows, from
    which starts are drawn, or f(rng, n) -> (n, state_size). steps: of all environments together.
    episode: steps after which one begins anew, None: never. done(x_after) -> bool (...): ends an
    episode, whose value is then zero. discount: per step. clip: of inputs to their bounds, as in
    `close_loop`; tanh has a slope everywhere. clip_gradient: an environment whose gradient is so
    many times longer than the median is cut to that, and the policy's gradient to length 1.
    randomise(rng, n) -> {name: (n, ...)}: parameters in `vary`, drawn anew for each window.

    noise: standard deviation that is added to what the network gives before it is clipped, as in
    `close_loop`, by seed, window, environment and step; None: exploration comes from the starts
    alone. The policy that is found has none. order: "first": the gradient through the physics;
    "mix": with noise, its mean with the score function's, which needs no derivative of the physics,
    each by the other's variance (after Suh et al. 2022).

    >>> import numpy as np
    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum(dt=0.05, damping=0.1)
    >>> def reward(x, u):                            # stay where you are, at 0.5 rad
    ...     off = x - [0.5, 0.0]
    ...     return -(off**2).sum(-1), -2 * off, 0 * u
    >>> start = lambda rng, n: rng.uniform(-0.5, 0.5, (n, 2))
    >>> net = cy.networks.MLP((2, 16, 1), seed=0)
    >>> policy = cy.learn.train_policy(pendulum, net, reward, start, steps=40_000, horizon=16)
    >>> bool(policy.history["return"][-1] > 0.3 * policy.history["return"][0])
    True
    """
    check_system(system)
    if not isinstance(net, MLP):
        raise TypeError(f"expected a cycloid.networks.MLP; got {shown(net)}")
    if not callable(reward):
        raise TypeError("reward must be a function of states and inputs")
    if clip is not None:
        check_one_of(clip, ("hard", "tanh"), "clip", " or None")
    check_one_of(order, _ORDERS, "order")
    if order == "mix" and noise is None:
        raise Error('order="mix" needs noise: the score function is that of its distribution')
    names = None if observe is None else list(as_names(observe, "observe"))
    E = as_integer(environments, "environments", 1, 10**7)
    T = as_integer(horizon, "horizon", 1, 10**6)
    most = as_integer(steps, "steps", 1, 2**60)
    length = None if episode is None else as_integer(episode, "episode", 1, 2**60)
    gamma = as_real(discount, "discount")
    if not 0 < gamma <= 1:
        raise Error(f"discount must lie in (0, 1]; got {gamma}")
    rate = as_real(learning_rate, "learning_rate")
    workers = as_threads(threads, system._threads) or None
    rng = np.random.default_rng(as_integer(seed, "seed", 0, 2**63))
    quiet = close_loop(system, net, names, clip=clip)
    loop = quiet if noise is None else close_loop(system, net, names, clip=clip, noise=noise)
    sigma = None if noise is None else loop.parameters["policy.noise"]
    if order == "mix" and not np.all(sigma > 0):
        raise Error('order="mix" needs noise on every input')
    offset = quiet.parameters.info("policy.weight0").offset
    own = slice(offset, quiet.parameters.size)
    weights = np.array(quiet.parameters.default[own])
    if weights.size != net.weights.size:
        raise Error("the policy's network must have no normalisation that is folded into features")
    plain = MLP(net._sizes, net._activation, **_features(net))
    bounds = np.array(system._core.input_bounds()).reshape((-1, 2))

    def starts(n: int) -> np.ndarray:
        drawn = x0(rng, n) if callable(x0) else _drawn_rows(x0, rng, n)
        rows = as_numbers(drawn, np.float64, "x0")
        if rows.shape != (n, system.state_size):
            raise Error(f"x0 must give shape ({n}, {system.state_size}); got {rows.shape}")
        return rows

    x = starts(E)
    seen = plain._sizes[0]
    value = MLP((seen, *as_sizes(value_hidden, "value_hidden"), 1), seed=seed + 1)
    w_value = np.array(value.weights)
    w_target = w_value.copy()
    adam, adam_value = _Adam(weights.size), _Adam(w_value.size)
    shift, scale = np.zeros(seen), np.ones(seen)
    unit = 1 / (1 - gamma) if gamma < 1 else float(length or T)  # of values, per unit of reward
    age, total = rng.integers(0, length, E) if length else np.zeros(E, int), np.zeros(E)
    history: list[tuple[float, ...]] = []
    begun = time.perf_counter()
    made, best, best_weights = 0, -np.inf, weights.copy()
    windows = max(1, most // (E * T))
    with Progress("training a policy", progress=progress, callback=callback) as watcher:
        for k in range(windows):
            p = dict(randomise(rng, E)) if randomise is not None else {}
            params = loop.parameters.pack(p) if p else np.array(loop.parameters.default)
            params[..., own] = weights
            xi: Any = 0.0
            if sigma is not None:
                key = (int(seed) * 65537 + k) % 2**24
                params[..., loop.parameters.info("policy.key").offset] = key
                xi = _core.policy_noise(key, E, 0, T, len(bounds)).reshape((E, T, -1))
            run = rollout(loop, x, T, params, threads=workers)
            states = np.asarray(run.states, np.float64)
            failed = {f.environment: f.step for f in run.report.failed}
            along = {n: np.expand_dims(np.asarray(a), 1) for n, a in p.items()}
            sight = _Sight(system, names, along or None)
            o = sight.look(states)
            if k == 0:
                shift, scale = o.reshape((-1, seen)).mean(0), o.reshape((-1, seen)).std(0) + 1e-3
            y = plain(o[:, :-1], weights)
            u, slope = _clipped(y if sigma is None else y + sigma * xi, bounds, clip)
            r, rx, ru = _called(reward, states[:, 1:], u)
            ended = np.zeros((E, T), bool)
            if done is not None:
                ended[:] = done(states[:, 1:])
            for e, t in failed.items():
                ended[e, t:] = True
            before = np.concatenate([np.zeros((E, 1), bool), ended[:, :-1]], axis=1)
            alive = ~np.maximum.accumulate(before, axis=1)  # the step is made
            over = ended.any(axis=1)
            gammas = gamma ** np.arange(T + 1)
            # J = sum gamma^t r_t + gamma^T V(x_T), of what is alive; loss = -mean J / T
            factor = -1 / (E * T)
            xi_seen = (o - shift) / scale
            v_end = unit * value(xi_seen[:, -1], w_target)[:, 0]
            bar = np.zeros_like(states)
            reach = (gammas[:T] * alive)[..., None]
            bar[:, 1:] += factor * reach * rx
            u_bar = factor * reach * ru
            end_slope = unit * value.gradient(xi_seen[:, -1], w_target) / scale
            o_bar = np.zeros_like(o)
            o_bar[:, -1] += factor * gammas[T] * np.where(over, 0.0, 1.0)[:, None] * end_slope
            through = plain.pullback(o[:, :-1], u_bar * slope, weights)
            o_bar[:, :-1] += through.x
            bar += sight.back(o_bar)
            bar, cut = _cut(run, bar, clip_gradient)
            direct = u_bar * slope * (1 - cut)[:, None, None]  # cut with the rest

            def first_order(of: np.ndarray) -> np.ndarray:
                back = (bar * of).astype(system.dtype)
                g = run.pullback(back, wrt=("params",), failed="skip").params
                rows = np.asarray(g).reshape((-1, loop.parameters.size))
                return rows.sum(0)[own] + plain.pullback(o[:, :-1], direct * of, weights).weights

            grad, share = first_order(np.ones((E, 1, 1))), 1.0
            if order == "mix":
                gains = _to_go(r, ended, np.where(over, 0.0, v_end), gamma)
                gains -= unit * value(xi_seen[:, :-1], w_target)[..., 0]
                y_bar = factor * reach * gains[..., None] * xi / sigma
                grad, share = _mixed(
                    *(grad, first_order(_half(E))),
                    *(plain.pullback(o[:, :-1], y_bar * h, weights).weights for h in (1, _half(E))),
                )
            norm = float(np.linalg.norm(grad))
            loss = factor * float((gammas[:T] * alive * r).sum()) + factor * float(
                (gammas[T] * v_end * ~over).sum()
            )
            done_share = k / windows
            if np.isfinite(norm) and norm > 0:
                here = rate * (1 - done_share) + 1e-5
                weights = adam.move(weights, grad * min(1.0, 1.0 / norm), here)
            # The value: TD(lambda) targets along the windows.
            values = unit * value(xi_seen, w_target)[..., 0]
            target = np.zeros((E, T))
            ahead = np.where(over, 0.0, values[:, -1])
            for t in range(T - 1, -1, -1):
                boot = np.where(ended[:, t], 0.0, (1 - trace) * values[:, t + 1] + trace * ahead)
                ahead = r[:, t] + gamma * boot
                target[:, t] = ahead
            rows, want = xi_seen[:, :-1][alive], target[alive] / unit
            value_loss = 0.0
            for _ in range(value_steps):
                pick = rng.integers(0, len(rows), min(len(rows), 1024))
                miss = value(rows[pick], w_value)[:, 0] - want[pick]
                value_loss = float((miss**2).mean())
                back = value.pullback(rows[pick], 2 * miss[:, None] / len(pick), w_value)
                w_value = adam_value.move(w_value, back.weights, value_rate)
            w_target = 0.8 * w_target + 0.2 * w_value
            # Where the next windows begin.
            total += (r * alive).sum(axis=1)
            age = age + T
            new = over | (age >= length if length else np.zeros(E, bool))
            episodes = float(total[new].mean()) if new.any() else np.nan
            x = states[:, -1].copy()
            if new.any():
                x[new] = starts(int(new.sum()))
                age[new], total[new] = 0, 0.0
            made += E * T
            mean = float((r * alive).sum() / alive.sum())
            if mean > best:
                best, best_weights = mean, weights.copy()
            seconds = time.perf_counter() - begun
            history.append((made, mean, episodes, loss, value_loss, share, seconds))
            if watcher.watch(k + 1, windows, -mean, seconds, made) is False:
                break
    if not np.isfinite(weights).all():
        weights = best_weights
    flat = np.array(quiet.parameters.default)
    flat[own] = weights
    columns = np.array(history).T
    return Policy(
        with_parameters(quiet, flat),
        *(plain, weights, dict(zip(_COLUMNS, columns))),
    )


def _features(net: MLP) -> dict[str, Any]:
    options = net._options
    if options["input_shift"] or options["output_shift"]:
        raise Error("give train_policy a network without normalisation: it keeps one of its own")
    return {k: options[k] for k in ("residual", "angles", "frequencies") if len(options[k] or ())}


def _drawn_rows(x0: Any, rng: np.random.Generator, n: int) -> np.ndarray:
    rows = np.atleast_2d(as_numbers(x0, np.float64, "x0"))
    return rows[rng.integers(0, len(rows), n)]


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
    samples tell; and the share of the first."""
    of_first = float(((2 * first_half - first) ** 2).sum())
    of_zeroth = float(((2 * zeroth_half - zeroth) ** 2).sum())
    if not np.isfinite(of_first):
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
    share = np.where(norm > limit, limit / norm, 1.0)
    return bar * share[:, None, None], 1 - share
