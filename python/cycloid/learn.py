"""Laws that are networks, and how they are trained: on derivatives, on recordings, alone or as an
ensemble. No other package is needed.

>>> import numpy as np
>>> import cycloid as cy
>>> truth = cy.systems.pendulum(dt=0.05)
>>> data = cy.learn.record(truth, lambda rng, n: rng.uniform(-1, 1, (n, 2)), 40, runs=20)
>>> law = cy.learn.lagrangian(1, hidden=(32, 32), angles=(0,), dt=0.05)
>>> run = cy.learn.train(law, data, steps=200, learning_rate=1e-2)
>>> bool(run.loss < 0.05 * run.history["loss"][0])
True
"""

from cycloid._conformal import Conformal, ConformalRollout, Coverage, conformal
from cycloid._dataset import record
from cycloid._ensemble import Ensemble, ensemble
from cycloid._learned_laws import Impact, constrained, deep_lagrangian, hamiltonian, lagrangian
from cycloid._learned_laws import neural_ode
from cycloid._members import EnsembleRollout
from cycloid._model_file import load
from cycloid._train_policy import Policy, train_policy
from cycloid._train import Conserved, Derivatives, Energy, PhysicsResidual, SmallResidual
from cycloid._train import Smoothness, Term, Training, Violation, train
from cycloid._uncertain import Dropout, Gaussian, Laplace, dropout, gaussian, laplace

__all__ = [
    "Conformal",
    "ConformalRollout",
    "Conserved",
    "Coverage",
    "Derivatives",
    "Dropout",
    "Energy",
    "Ensemble",
    "EnsembleRollout",
    "Gaussian",
    "Impact",
    "Laplace",
    "PhysicsResidual",
    "Policy",
    "SmallResidual",
    "Smoothness",
    "Term",
    "Training",
    "Violation",
    "conformal",
    "constrained",
    "deep_lagrangian",
    "dropout",
    "ensemble",
    "gaussian",
    "hamiltonian",
    "lagrangian",
    "laplace",
    "load",
    "neural_ode",
    "record",
    "train",
    "train_policy",
]
