"""Several members of one law, each with first weights and data of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from cycloid import _core
from cycloid._core import Error
from cycloid._identify import as_recordings
from cycloid._members import Members
from cycloid._options import as_integer
from cycloid._system import System, check_system
from cycloid._train import Derivatives, Training, check_options, train, with_parameters


class Ensemble(Members):
    """What `ensemble` trained: runs, a Training of each member; systems, the trained Systems."""

    kind = "ensemble"

    def __init__(self, runs: Sequence[Training], data: Any) -> None:
        super().__init__([r.system for r in runs])
        self.runs = tuple(runs)
        """A Training of each member; none of a loaded ensemble."""
        self._look_at(data)

    @classmethod
    def _of_saved(cls, system: System, arrays: dict[str, np.ndarray]) -> Ensemble:
        made = cls.__new__(cls)
        Members.__init__(made, [with_parameters(system, flat) for flat in arrays["members"]])
        made.runs = ()
        return made


def _resampled(data: Any, rng: np.random.Generator) -> Any:
    """Rows, or recordings, drawn with replacement; of fewer than four recordings all are taken."""
    if isinstance(data, Derivatives):
        pick = rng.integers(0, len(data), size=len(data))
        return Derivatives(data.x[pick], data.x_dot[pick], None if data.u is None else data.u[pick])
    recordings = as_recordings(data, "data")
    if len(recordings) < 4:
        return recordings
    return [recordings[i] for i in rng.integers(0, len(recordings), size=len(recordings))]


def _reseeded(law: System, seed: int) -> System:
    """The same learned law with other first weights; another System as it is."""
    core = _core.reseeded(law._core, seed)
    if core is None:
        return law
    made = System(core)
    made._threads = law._threads
    return made


def ensemble(
    law: System,
    data: Any,
    members: int = 5,
    *,
    seed: int = 0,
    resample: bool = True,
    **training: Any,
) -> Ensemble:
    """Trains several members of a law side by side, each with its own first weights and its own
    rows or recordings, drawn with replacement from the data.

    data and keywords as `train` takes them; resample=False gives all members the same data. Ctrl-C
    ends the trainings with what they have; where a member has not begun it is KeyboardInterrupt.

    >>> import numpy as np
    >>> import cycloid as cy
    >>> x = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> data = cy.learn.Derivatives(x, x[:, ::-1] * [1, -1])
    >>> law = cy.learn.neural_ode(2, hidden=(16,), dt=0.1)
    >>> many = cy.learn.ensemble(law, data, members=3, steps=100, learning_rate=1e-2)
    >>> many.rollout([0.5, 0.0], 10)
    <EnsembleRollout: 3 members, states (11, 2)>
    >>> bool(many.novelty([3.0, 3.0]) > many.novelty([0.1, 0.1]))
    True
    """
    check_system(law)
    members = as_integer(members, "members", 1, 10_000)
    seed = as_integer(seed, "seed", 0, 2**62)
    check_options(training)
    if training.get("resume") is not None:
        raise Error("the members of an ensemble are not resumed; train them one by one")
    given = {"progress": False, **training, "threads": 1}
    stop = threading.Event()
    callback: Callable[[int, float], Any] | None = given.pop("callback", None)

    def watch(step: int, loss: float) -> Any:
        answer = None if callback is None else callback(step, loss)
        return False if stop.is_set() else answer

    def one(k: int) -> Training:
        rng = np.random.default_rng([seed, k])
        own = _resampled(data, rng) if resample else data
        return train(_reseeded(law, seed + k), own, seed=seed + k, callback=watch, **given)

    workers = training.get("threads") or _core.default_threads()
    with ThreadPoolExecutor(max_workers=min(workers, members)) as pool:
        runs: list[Future[Training]] = []
        try:
            for k in range(members):
                runs.append(pool.submit(one, k))
            for run in wait(runs, return_when=FIRST_EXCEPTION).done:
                run.result()
            return Ensemble([run.result() for run in runs], data)
        except BaseException as error:  # threads do not hear of it by themselves
            stop.set()
            waiting = [run for run in runs if run.cancel()]
            if waiting or len(runs) < members or not isinstance(error, KeyboardInterrupt):
                raise
        return Ensemble([run.result() for run in runs], data)
