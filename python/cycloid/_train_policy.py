"""Policies by the analytic gradient of short horizons, with a learned value behind them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._core import Error
from cycloid._options import as_integer, as_real, as_threads, check_one_of, shown
from cycloid._policy_task import PolicyTask, Sight, as_task
from cycloid._policy_training import COLUMNS, PolicyOptions, PolicyTraining, clipped
from cycloid._progress import Progress
from cycloid._system import System
from cycloid._train import load_parts, with_parameters
from cycloid.networks import MLP, as_sizes

_ORDERS = ("first", "mix")


class Policy:
    """What `train_policy` found.

    system: the closed loop, with the learned weights as its defaults. network: the policy, an MLP;
    weights: those that were learned. params: {name: array}. history: arrays "steps" of all
    environments, "return" (mean reward per step of a window), "episode" (mean undiscounted reward
    of the episodes that ended; NaN where none did), "loss", "value_loss", "first_order" (share of
    the gradient through the physics), "seconds". task: what it was trained for. interrupted:
    whether Ctrl-C or a callback ended the training.

    policy(x): the inputs (..., m) that it gives at states (..., n), as the loop has them.
    """

    def __init__(self, training: PolicyTraining, interrupted: bool) -> None:
        self._training = training
        self.task: PolicyTask = training.task
        self.network, self.weights = training.plain, training.found()
        flat = np.array(training.quiet.parameters.default)
        flat[training.own] = self.weights
        self.system: System = with_parameters(training.quiet, flat)
        self.history = dict(zip(COLUMNS, training.columns()))
        self.interrupted = interrupted
        names = [n for n in self.system.parameters.names if n.startswith("policy.")]
        self.params = {n: self.system.parameters[n] for n in names}

    @property
    def steps(self) -> int:
        """Environment steps that were made."""
        return int(self.history["steps"][-1]) if len(self.history["steps"]) else 0

    def __call__(self, x: Any, system: System | None = None) -> np.ndarray:
        """Inputs at states (..., n). system: whose states they are, where it is another."""
        o = Sight(system or self.task.system, self.task.observe).look(np.asarray(x, np.float64))
        training = self._training
        return clipped(self.network(o, self.weights), training.bounds, training.options.clip)[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a safetensors file: the closed loop's parameters, which
        `cycloid.learn.load(path, system)` reads for a loop of the same make, and where the training
        stands, for train_policy(resume=path)."""
        flat = np.ascontiguousarray(self.system.parameters.default)
        _core.save_law(os.fspath(path), self.system._core, flat, None, *self._training.state())

    def __repr__(self) -> str:
        last = self.history["return"][-1] if len(self.history["return"]) else float("nan")
        return f"<Policy: {self.steps} environment steps, reward per step {last:.4g}>"


def train_policy(
    system: Any,
    net: MLP,
    reward: Callable[..., Any] | None = None,
    x0: Any = None,
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
    environments: int | None = None,
    learning_rate: float = 2e-3,
    value_hidden: Sequence[int] = (64, 64),
    value_rate: float = 2e-3,
    value_steps: int = 16,
    trace: float = 0.95,
    clip_gradient: float = 10.0,
    randomise: Callable[..., Any] | None = None,
    resume: str | os.PathLike[str] | None = None,
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
    environments: side by side, 64 if left out, whatever the number of a `cycloid.gym` environment.

    In place of a System, environments of `cycloid.gym`, such as cycloid.gym.make("Hopper", 64):
    starts, ends and length of episodes are theirs, a step is one of their actions, held for
    frame_skip time steps, and the policy sees positions and velocities. The reward too is theirs
    for Gymnasium's tasks, contact forces left out; other environments need one with slopes. What is
    given besides comes in place of what they have.

    noise: standard deviation that is added to what the network gives before it is clipped, as in
    `close_loop`, by seed, window, environment and step; None: exploration comes from the starts
    alone. The policy that is found has none. order: "first": the gradient through the physics;
    "mix": with noise, its mean with the score function's, which needs no derivative of the physics,
    each by the other's variance (after Suh et al. 2022).

    resume: a file of `Policy.save`, from which training goes on, bit for bit where everything else
    is given as before; steps count from the first run's start. Ctrl-C ends a training with what has
    been found, as does a callback(window, -reward) that returns False; `interrupted` says so.

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
    task = as_task(system, reward, x0, done, observe)
    if not isinstance(net, MLP):
        raise TypeError(f"expected a cycloid.networks.MLP; got {shown(net)}")
    if clip is not None:
        check_one_of(clip, ("hard", "tanh"), "clip", " or None")
    check_one_of(order, _ORDERS, "order")
    if order == "mix" and noise is None:
        raise Error('order="mix" needs noise: the score function is that of its distribution')
    gamma = as_real(discount, "discount")
    if not 0 < gamma <= 1:
        raise Error(f"discount must lie in (0, 1]; got {gamma}")
    for what, rate in (
        ("learning_rate", learning_rate),
        ("value_rate", value_rate),
        ("clip_gradient", clip_gradient),
    ):
        if not 0 < as_real(rate, what) < np.inf:
            raise Error(f"{what} must be positive and finite; got {rate}")
    if not 0 <= as_real(trace, "trace") <= 1:
        raise Error(f"trace must lie in [0, 1]; got {trace}")
    E = 64 if environments is None else as_integer(environments, "environments", 1, 10**7)
    T = as_integer(horizon, "horizon", 1, 10**6)
    length = task.episode if episode is None else as_integer(episode, "episode", 1, 2**60)
    training = PolicyTraining(
        task,
        net,
        PolicyOptions(
            environments=E,
            horizon=T,
            episode=length,
            windows=max(1, as_integer(steps, "steps", 1, 2**60) // (E * T)),
            discount=gamma,
            seed=as_integer(seed, "seed", 0, 2**63),
            clip=clip,
            noise=noise,
            order=order,
            learning_rate=as_real(learning_rate, "learning_rate"),
            value_hidden=tuple(as_sizes(value_hidden, "value_hidden")),
            value_rate=as_real(value_rate, "value_rate"),
            value_steps=as_integer(value_steps, "value_steps", 0, 10**6),
            trace=as_real(trace, "trace"),
            clip_gradient=as_real(clip_gradient, "clip_gradient"),
            randomise=randomise,
            threads=as_threads(threads, task.physics._threads) or None,
        ),
    )
    if resume is not None:
        training.resume(*load_parts(resume, training.quiet)[1:], os.fspath(resume))
    with Progress("training a policy", progress=progress, callback=callback) as watcher:
        return Policy(training, _train(training, watcher))


def _train(training: PolicyTraining, watcher: Progress) -> bool:
    """Makes windows until all are made, or somebody says stop."""
    most, size = training.options.windows, training.options.environments * training.options.horizon
    while training.window < most:
        put_back = training.kept()
        try:
            mean = training.advance()
        except KeyboardInterrupt:
            if not training.window:
                raise  # there is nothing to keep
            put_back()
            return True
        made = training.window
        if not watcher.watch(made, most, -mean, training.before, made * size):
            return made < most
    return False
