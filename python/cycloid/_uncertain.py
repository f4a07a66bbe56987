"""Models that know what they do not know: weights that data leave open, units left out by chance,
noise that is stated. Each is a law with a spread: `rollout` gives mean, std and members."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._core import Error
from cycloid._members import EnsembleRollout, Members, transitions
from cycloid._options import as_integer, as_names, as_real, as_text, check_one_of
from cycloid._rollout import Batch
from cycloid._system import System, check_system
from cycloid._train import Derivatives, Training, Transitions, check_options, core_data, train
from cycloid._train import with_parameters
from cycloid.networks import as_sizes

_SCORES = ("crps", "likelihood")
_METHODS = ("sampling", "moments")
_FIRST_NOISE = 0.3  # of the length of a step


class _Spread(Members):
    """A law with a spread of its own, which moments can be carried through."""

    def rollout(
        self, x0: Any, controls: Any, params: Any = None, *, method: str = "sampling"
    ) -> EnsembleRollout:
        """Runs from x0 (..., n) under controls (..., T, inputs), or an int T.

        method: "sampling", a run of each member (and of each noise) from the start to the end; or
        "moments", mean and covariance carried from step to step to first order, which is exact for
        small spreads, takes one run, and gives no members but .covariance.
        """
        check_one_of(method, _METHODS, "method")
        if params is not None:
            raise Error("the members have parameters of their own; leave params out")
        if method == "sampling":
            return self._sampled(x0, controls)
        system = self.systems[0]
        rows, u, steps, lead = _rows(system, x0, controls)
        flat = _core.propagate_moments(
            *(system._core, rows, u, steps, None, self._directions(), self._stated(), None),
            system._threads,
        )
        n, nt = system.state_size, system.tangent_size
        shapes = ((steps + 1, n), (steps + 1, n), (steps + 1, nt, nt))
        found = (a.reshape((*lead, *shape)) for a, shape in zip(flat, shapes))
        return EnsembleRollout.of_moments(*found, np.arange(steps + 1) * system.timestep)

    def _sampled(self, x0: Any, controls: Any) -> EnsembleRollout:
        return super().rollout(x0, controls)

    def _directions(self) -> np.ndarray | None:
        """Columns of a factor of the parameters' covariance, (q, parameters)."""
        return None

    def _stated(self) -> Any:
        """The noise of a step."""
        return None


class Laplace(_Spread):
    """What `laplace` found. prior: precision of the weights' prior; determined: how many of them
    the data determine; noise (n): what one step misses."""

    kind = "laplace"

    def __init__(self, system: System, posterior: Any, members: int, seed: int) -> None:
        self._posterior, self._seed = posterior, seed
        flat = np.array(system.parameters.default)
        draws = [posterior.draw(flat, seed, k) for k in range(members)]
        super().__init__([system, *(with_parameters(system, d) for d in draws)])
        self.prior, self.determined = posterior.prior, posterior.determined
        self.noise: np.ndarray = posterior.noise

    def _directions(self) -> np.ndarray | None:
        size = self.systems[0].parameters.size
        return np.asarray(self._posterior.directions(size)).reshape(-1, size)

    def _saved(self) -> dict[str, np.ndarray]:
        p = self._posterior
        numbers = np.array([p.prior, p.determined, len(self.systems) - 1, self._seed])
        return {
            "numbers": np.array(p.numbers, np.float64),
            "factor": p.factor,
            "misses": p.noise,
            "settings": numbers,
        }

    @classmethod
    def _of_saved(cls, system: System, arrays: dict[str, np.ndarray]) -> Laplace:
        prior, determined, members, seed = arrays["settings"].tolist()
        numbers = [int(i) for i in arrays["numbers"]]
        size = system.parameters.size
        if any(not 0 <= i < size for i in numbers):
            raise Error(f"its weights are numbers of {size} parameters; got {numbers}")
        members = as_integer(int(members), "members", 1, 10_000)
        posterior = _core.LaplacePosterior(
            numbers, arrays["factor"], arrays["misses"], prior, determined
        )
        return cls(system, posterior, members, int(seed))


class Dropout(_Spread):
    """What `dropout` trained: run, its Training; rate."""

    kind = "dropout"

    def __init__(
        self, system: System, rate: float, members: int, seed: int, run: Training | None
    ) -> None:
        self.run, self.rate, self._seed = run, rate, seed
        self._masks = _core.Dropout(system._core, rate, seed)
        flat = np.array(system.parameters.default)
        drawn = [self._masks.masked(flat, k) for k in range(members)]
        super().__init__([system, *(with_parameters(system, d) for d in drawn)])

    def _directions(self) -> np.ndarray | None:
        flat = np.array(self.systems[0].parameters.default)
        return np.asarray(self._masks.directions(flat)).reshape(-1, flat.size)

    def _saved(self) -> dict[str, np.ndarray]:
        return {"settings": np.array([self.rate, len(self.systems) - 1, self._seed])}

    @classmethod
    def _of_saved(cls, system: System, arrays: dict[str, np.ndarray]) -> Dropout:
        rate, members, seed = arrays["settings"].tolist()
        members = as_integer(int(members), "members", 1, 10_000)
        return cls(system, rate, members, int(seed), None)


class Gaussian(_Spread):
    """What `gaussian` trained: run, its Training; system, the law of the mean step."""

    kind = "gaussian"
    _ARRAYS = ("weights", "least", "shift", "scale", "first")

    def __init__(
        self, system: System, noise: Any, members: int, seed: int, run: Training | None
    ) -> None:
        super().__init__([system])
        self.run, self._network, self._members, self._seed = run, noise, members, seed
        self.system = system
        """The law of the mean step."""

    def std(self, x: Any, u: Any = None) -> np.ndarray:
        """The stated deviation of one step from x (..., n) under u (..., inputs), (..., n)."""
        given = 1 if u is None else np.asarray(u, np.float64)[..., None, :]
        rows, flat, _, lead = _rows(self.system, x, given)
        found = self._network.std(rows, flat, math.prod(lead))
        return np.asarray(found).reshape((*lead, self.system.tangent_size))

    def _sampled(self, x0: Any, controls: Any) -> EnsembleRollout:
        rows, u, steps, lead = _rows(self.system, x0, controls)
        core, threads = self.system._core, self.system._threads
        runs = _core.sample_runs(
            core, self._network, rows, u, steps, self._members, self._seed, threads
        )
        shape = (self._members, *lead, steps + 1, self.system.state_size)
        return EnsembleRollout(runs.reshape(shape), np.arange(steps + 1) * self.system.timestep)

    def _stated(self) -> Any:
        return self._network

    def _spread(self, x: np.ndarray, u: Any) -> np.ndarray:
        wide = self.std(x, u) / self._width
        return np.sqrt((wide**2).sum(axis=-1))

    def _variance(self, x: np.ndarray, u: Any, ahead: np.ndarray) -> np.ndarray:
        return self.std(x, u) ** 2

    def _saved(self) -> dict[str, np.ndarray]:
        n = self._network
        arrays = {name: getattr(n, name) for name in self._ARRAYS}
        whole = {"widths": n.widths, "angles": n.angles, "settings": [self._members, self._seed]}
        return {f"network_{k}": v for k, v in arrays.items()} | {
            f"network_{k}": np.array(v, np.float64) for k, v in whole.items()
        }

    @classmethod
    def _of_saved(cls, system: System, arrays: dict[str, np.ndarray]) -> Gaussian:
        whole = {k: arrays[f"network_{k}"].astype(int).tolist() for k in ("widths", "angles")}
        rest = [arrays[f"network_{k}"] for k in cls._ARRAYS]
        members, seed = arrays["network_settings"].astype(int).tolist()
        noise = _core.NoiseNetwork(whole["widths"], whole["angles"], *rest)
        ends = (system.state_size + system.input_size, system.tangent_size)
        if (whole["widths"][0], whole["widths"][-1]) != ends:
            raise Error(f"its noise must have {ends} inputs and outputs; got {whole['widths']}")
        members = as_integer(members, "members", 1, 10_000)
        return cls(system, noise, members, seed, None)


def _rows(system: System, x0: Any, controls: Any) -> tuple[Any, Any, int, tuple[int, ...]]:
    """Starts (runs, n), controls (runs, T, inputs) or None, T, and the leading axes."""
    batch = Batch(system, x0, controls, None, np.float64)
    _, rows, u, steps, _ = batch.rows
    runs = math.prod(batch.lead)
    rows = np.ascontiguousarray(np.broadcast_to(rows, (runs, system.state_size)), np.float64)
    if u is not None:
        shape = (runs, steps, system.input_size)
        u = np.ascontiguousarray(np.broadcast_to(u.reshape(-1, *shape[1:]), shape), np.float64)
    return rows, u, steps, batch.lead


def _steps_of(law: System, data: Any) -> tuple[System, tuple[Any, Any, Any]]:
    """The law whose steps the data are, and these: x, u, next."""
    if isinstance(data, Derivatives):
        core_data(law, data)  # checks sizes
        stepped = System(_core.euler_step(law._core))
        return stepped, (data.x, data.u, data.x + law.timestep * data.x_dot)
    found = transitions(data, law.timestep)
    if found is None:
        raise Error(f"the data have no two whole states one step of {law.timestep} s apart")
    return law, found


def _check(law: Any, members: Any, seed: Any) -> tuple[int, int]:
    check_system(law)
    return as_integer(members, "members", 2, 10_000), as_integer(seed, "seed", 0, 2**53)


def laplace(
    law: Any,
    data: Any,
    members: int = 20,
    *,
    params: Any = (),
    prior: float | None = None,
    seed: int = 0,
) -> Laplace:
    """A trained law, or a Training, with the weights of its last layers that the data leave open:
    the Laplace approximation.

    data: what it was trained on, `Derivatives` or recordings sampled at the law's time step.
    Members are the law and draws from a normal distribution around its weights. params: names that
    are drawn instead. prior: precision of the weights' prior; None: that of the largest evidence.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> x = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> noisy = x[:, ::-1] * [1, -1] + 0.1 * np.random.default_rng(1).normal(size=(200, 2))
    >>> data = cy.learn.Derivatives(x, noisy)
    >>> run = cy.learn.train(cy.learn.neural_ode(2, hidden=(16,), dt=0.1), data, steps=200)
    >>> knows = cy.learn.laplace(run, data)
    >>> near, far = (knows.rollout(start, 10).std[-1].max() for start in ([0.5, 0.0], [3.0, 3.0]))
    >>> bool(far > 2 * near)
    True
    """
    law = law.system if isinstance(law, Training) else law
    members, seed = _check(law, members, seed)
    stepped, (x, u, after) = _steps_of(law, data)
    names = [as_text(n) for n in as_names(params, "params")]
    alpha = 0.0 if prior is None else as_real(prior, "prior")
    if prior is not None and alpha <= 0:
        raise Error(f"prior must be positive; got {prior}")
    posterior = _core.laplace(stepped._core, x, u, after, names, alpha, law._threads)
    made = Laplace(law, posterior, members, seed)
    made._look_at(data)
    return made


def dropout(
    law: System,
    data: Any,
    rate: float = 0.1,
    members: int = 20,
    *,
    seed: int = 0,
    **training: Any,
) -> Dropout:
    """Trains a law while hidden units of its networks are left out by chance, with probability
    `rate`, and leaves them out in forecasts too. Members are the law and thinned laws; a mask lasts
    for a run. data and keywords as `train` takes them.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> x = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> data = cy.learn.Derivatives(x, x[:, ::-1] * [1, -1])
    >>> law = cy.learn.neural_ode(2, hidden=(32,), dt=0.1)
    >>> knows = cy.learn.dropout(law, data, rate=0.1, steps=200, learning_rate=1e-2)
    >>> knows.rollout([0.5, 0.0], 10, method="moments")
    <EnsembleRollout: moments, states (11, 2)>
    """
    members, seed = _check(law, members, seed)
    check_options(training)
    rate = as_real(rate, "rate")
    if not 0 < rate < 1:
        raise Error(f"rate must lie between 0 and 1; got {rate}")
    given = {"progress": False, **training}
    run = train(law, data, seed=seed, dropout=rate, **given)
    made = Dropout(run.system, rate, members, seed, run)
    made._look_at(data)
    return made


def gaussian(
    law: System,
    data: Any,
    score: str = "crps",
    members: int = 20,
    *,
    noise_hidden: Sequence[int] = (32,),
    seed: int = 0,
    **training: Any,
) -> Gaussian:
    """Trains a law together with a network that states the standard deviation of its step:

        x_next = step(x, u) + s(x, u) xi,    xi normal, new in every step

    score: what is minimised, the mean over steps of "crps", the continuous ranked probability
    score, or "likelihood", the negative log-likelihood; numbers are in units of a step's length.
    data: `Derivatives`, or recordings sampled at the law's time step; one step is predicted.
    noise_hidden: hidden layers of the noise's network. Keywords as in `train`.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=(400, 1))
    >>> data = cy.learn.Derivatives(x, -x + rng.normal(size=x.shape))
    >>> law = cy.learn.neural_ode(1, hidden=(8,), dt=0.1)
    >>> knows = cy.learn.gaussian(law, data, steps=300, learning_rate=1e-2)
    >>> bool(0.08 < knows.std([0.3])[0] < 0.12)
    True
    """
    members, seed = _check(law, members, seed)
    check_one_of(score, _SCORES, "score")
    check_options(training)
    for name in ("horizon", "grow_from", "terms", "noise", "scale", "shooting", "clip_each"):
        if name in training:
            raise TypeError(f"gaussian predicts one step and has no keyword {name!r}")
    stepped, (x, u, after) = _steps_of(law, data)
    rows = [None if a is None else np.ascontiguousarray(a, np.float64) for a in (x, u, after)]
    noise = _core.make_noise(
        stepped._core, *rows, as_sizes(noise_hidden, "noise_hidden"), _FIRST_NOISE, seed
    )
    given = {"progress": False, **training}
    run = train(stepped, Transitions(*rows, noise, score), seed=seed, **given)
    system = with_parameters(law, run._flat)
    made = Gaussian(system, noise.with_weights(run._own), members, seed, run)
    made._look_at(data)
    return made
