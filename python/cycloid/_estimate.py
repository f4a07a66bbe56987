"""States, unknown forces and slowly changing parameters from noisy sensors, with covariance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._arrays import as_numbers
from cycloid._core import Error
from cycloid._identify import _parameters as parameters_at
from cycloid._identify import as_ranges, as_requests
from cycloid._options import as_integer, as_names, as_text, as_threads, check_one_of
from cycloid._progress import Progress
from cycloid._recording import Recording
from cycloid._system import System, check_system


class Estimate:
    """What `estimate` found, at the times of the recording.

    states: (S, n). covariance: (S, k, k) of the states, in tangent coordinates. forces: (S, f), and
    forces_std; force_names. params: {name: (S, *shape)}, and params_std. full_covariance: (S, Z, Z)
    of states, forces and parameters together, in this order. sigma: of the columns, as used.
    misfit: the mean square of (measured - estimated) / sigma over all that was measured; near 1
    where the model and the noise are right, less where much is free. converged, message,
    iterations, steps, seconds.
    """

    def __init__(self, system: System, recording: Recording, core: dict[str, Any]) -> None:
        self.system, self.recording, self.times = system, recording, recording.times
        samples, tangents = len(recording.times), system.tangent_size
        z = core["tangents"]
        self.states: np.ndarray = core["states"].reshape((samples, system.state_size))
        self.full_covariance: np.ndarray = core["covariance"].reshape((samples, z, z))
        self.covariance = self.full_covariance[:, :tangents, :tangents]
        std = np.sqrt(np.diagonal(self.full_covariance, axis1=1, axis2=2))
        self.force_names = tuple(core["force_names"])
        last = tangents + len(self.force_names)
        self.forces: np.ndarray = core["forces"].reshape((samples, len(self.force_names)))
        self.forces_std = std[:, tangents:last]
        values = core["params"].reshape((samples, -1)) if core["param_names"] else None
        self.params: dict[str, np.ndarray] = {}
        self.params_std: dict[str, np.ndarray] = {}
        for name, place, size, shape in core["parameters"]:
            own = slice(place, place + size)
            self.params[name] = values[:, own].reshape((samples, *shape))  # type: ignore[index]
            self.params_std[name] = std[:, last:][:, own].reshape((samples, *shape))
        self.sigma: np.ndarray = core["sigma"]
        self.misfit = core["misfit"] / max(1, core["measured"])
        self.converged: bool = core["converged"]
        self.message: str = core["message"]
        self.iterations: int = core["iterations"]
        self.steps: int = core["steps"]
        self.seconds: float = core["seconds"]

    def __repr__(self) -> str:
        state = "" if self.converged else ", NOT converged"
        return (
            f"<Estimate of {self.system.name}: {len(self.times)} samples, "
            f"{len(self.force_names)} forces, {len(self.params)} parameters, "
            f"misfit {self.misfit:.3g}{state}>"
        )


def estimate(
    system: System,
    recording: Recording,
    *,
    forces: str | Sequence[str] = (),
    params: Any = (),
    x0: Any = None,
    x0_std: Any = 1.0,
    process: Any = 1e-3,
    force_std: Any = 1.0,
    force_rate: Any = 1.0,
    param_std: Any = None,
    param_rate: Any = None,
    bounds: Mapping[Any, Any] | None = None,
    at: Any = None,
    method: str = "smoother",
    horizon: int | None = None,
    iterations: int = 30,
    threads: int | None = None,
    callback: Callable[[int, float], Any] | None = None,
    progress: bool | None = None,
) -> Estimate:
    """The most likely states of a recording's run, with unknown forces and slowly changing
    parameters, and how certain they are.

    forces: blocks of the inputs, or numbers of them ("qfrc_applied[2]"), that act besides the
    recorded controls. params: names, or {name: first guess}, as in `identify`. x0: the state at the
    start that is expected; None: the recording's, what its first row shows, the system's.

    Standard deviations are one number or one each. x0_std: of x0, in tangents. process: of what
    disturbs the motion, per square root of a second. force_std, force_rate: of forces at the start,
    about zero, and of their change. param_std, param_rate: likewise of parameters; None: half of
    the value, and a hundredth of that. bounds: {name: (low, high)}. at: values of other parameters.

    method: "smoother": from the whole recording, or with `horizon`, each sample from so many before
    it (a moving window); "filter": an extended Kalman filter, each sample from all before it.
    Samples lie on steps of about the system's length.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> pendulum = cy.systems.pendulum(dt=0.02)
    >>> push = np.where(np.arange(200) < 100, 0.0, 2.0)[:, None]
    >>> run = cy.rollout(pendulum, [0.5, 0.0], push)
    >>> noise = 1e-3 * np.random.default_rng(0).normal(size=201)
    >>> recording = cy.Recording(run.times, run.states[:, 0] + noise, names="angle", sigma=1e-3)
    >>> found = cy.estimate(pendulum, recording, forces="torque", force_rate=5.0)
    >>> found.states.shape, found.forces.shape
    ((201, 2), (201, 1))
    >>> bool(abs(found.forces[40:60].mean()) < 0.1), bool(abs(found.forces[150, 0] - 2) < 0.3)
    (True, True)
    """
    check_system(system)
    if not isinstance(recording, Recording):
        raise TypeError(f"estimate takes a Recording; got {type(recording).__name__}")
    check_one_of(method, ("smoother", "filter"), "method")
    options: dict[str, Any] = {
        "forces": [as_text(name) for name in as_names(forces, "forces")],
        "params": as_requests(params),
        "bounds": as_ranges(bounds, "bounds"),
        "at": parameters_at(system, at),
        "smooth": method == "smoother",
        "horizon": 0 if horizon is None else as_integer(horizon, "horizon", 1, 10**9),
        "iterations": as_integer(iterations, "iterations", 1, 10**9),
        "threads": as_threads(threads, system._threads),
    }
    if horizon is not None and method == "filter":
        raise Error("a filter has no horizon; method=\"smoother\" moves a window")
    given = {
        "x0": x0,
        "x0_std": x0_std,
        "process": process,
        "force_std": force_std,
        "force_rate": force_rate,
        "param_std": param_std,
        "param_rate": param_rate,
    }
    for name, value in given.items():
        numbers = [] if value is None else as_numbers(value, np.float64, name)
        options[name] = np.ravel(numbers).tolist()
    with Progress("estimate", progress=progress, callback=callback) as shown:
        core = _core.estimate(system._core, recording._rows, options, shown.watch)
    return Estimate(system, recording, core)
