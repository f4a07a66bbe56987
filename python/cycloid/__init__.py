"""Cycloid: differentiable physics. Simulate a world, and get the exact gradient of what comes out
with respect to what went in.

>>> import numpy as np
>>> import cycloid as cy
>>> system = cy.systems.pendulum(length=0.5)
>>> system
<System pendulum: 2 states, 1 input, dt 10 ms>
>>> run = cy.rollout(system, [1.0, 0.0], 200)       # 200 steps from [angle, angular velocity]
>>> run.states.shape
(201, 2)
>>> bar = np.zeros_like(run.states)
>>> bar[-1, 0] = 1                                  # the loss is the last angle
>>> g = run.pullback(bar)
>>> g
<Gradient: x0 (2,), controls (200, 1), params (5,)>
>>> round(g.params[system.parameters.names.index("length")], 3)   # [rad/m]
np.float64(7.535)
"""

from cycloid import cost, fluid, learn, networks, soft, systems
from cycloid._add_network import add_network
from cycloid._advance import Advanced, advance
from cycloid._builder import Builder
from cycloid._close_loop import LinearFeedback, close_loop, hold
from cycloid._counterfactual import (
    Counterfactual,
    Intervention,
    counterfactual,
    rank_interventions,
)
from cycloid._core import Error, GradientError, InternalError, ModelError, ParameterError
from cycloid._core import version as __version__
from cycloid._estimate import Estimate, estimate
from cycloid._evaluate import Scorecard, evaluate
from cycloid._forward import (
    Contacts,
    Forward,
    InverseDynamics,
    InverseDynamicsGradient,
    forward,
    inverse_dynamics,
)
from cycloid._guarded import Fallback, GuardReport, guard_report, guarded
from cycloid._identify import Fit, identify, tie
from cycloid._mj_data import (
    input_from_mujoco,
    input_to_mujoco,
    state_from_mujoco,
    state_to_mujoco,
)
from cycloid._contact import HuntCrossley
from cycloid._device import devices
from cycloid._gradient_mode import FromDistance, Smoothed
from cycloid._observe import Observation, ObservationGradient, observe
from cycloid._own_law import own_law
from cycloid._plan import MPC, Plan, difference, plan
from cycloid._randomise import LogNormal, Normal, Uniform, randomise
from cycloid._recording import Recording
from cycloid._results import (
    Crowded,
    Diagnosis,
    Events,
    Failure,
    Gradient,
    GradientCheck,
    Linearisation,
    Report,
    SolverWarning,
    Truncate,
    Unsolved,
)
from cycloid._robot import Robot, from_mujoco, load
from cycloid._rollout import Trajectory, rollout, step
from cycloid._system import ParameterInfo, Parameters, System
from cycloid._trajectory_file import open
from cycloid._trust import check_gradient, diagnose, linearise
from cycloid._verify import Trust, verify
from cycloid._live import Live
from cycloid._view import view

for _error in (Error, GradientError, InternalError, ModelError, ParameterError):
    _error.__module__ = __name__  # so that a traceback names them as users do
del _error

__all__ = [
    "Advanced",
    "Builder",
    "Contacts",
    "Counterfactual",
    "Crowded",
    "Diagnosis",
    "Error",
    "Estimate",
    "Events",
    "Failure",
    "Fallback",
    "Fit",
    "Forward",
    "FromDistance",
    "Gradient",
    "GradientCheck",
    "GradientError",
    "GuardReport",
    "HuntCrossley",
    "InternalError",
    "Intervention",
    "InverseDynamics",
    "InverseDynamicsGradient",
    "LinearFeedback",
    "Linearisation",
    "Live",
    "LogNormal",
    "MPC",
    "ModelError",
    "Normal",
    "Observation",
    "ObservationGradient",
    "ParameterError",
    "ParameterInfo",
    "Parameters",
    "Plan",
    "Recording",
    "Report",
    "Robot",
    "Scorecard",
    "Smoothed",
    "SolverWarning",
    "System",
    "Trajectory",
    "Truncate",
    "Trust",
    "Uniform",
    "Unsolved",
    "__version__",
    "add_network",
    "advance",
    "check_gradient",
    "close_loop",
    "counterfactual",
    "cost",
    "devices",
    "diagnose",
    "difference",
    "estimate",
    "evaluate",
    "fluid",
    "forward",
    "from_mujoco",
    "guard_report",
    "guarded",
    "hold",
    "identify",
    "input_from_mujoco",
    "input_to_mujoco",
    "inverse_dynamics",
    "learn",
    "linearise",
    "load",
    "networks",
    "observe",
    "open",
    "own_law",
    "plan",
    "randomise",
    "rank_interventions",
    "rollout",
    "state_from_mujoco",
    "state_to_mujoco",
    "step",
    "soft",
    "systems",
    "tie",
    "verify",
    "view",
]
