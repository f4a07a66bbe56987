"""What SciPy's RK45 and Radau do on the problems of standard_problems.h: error at the end over the
tolerance, per problem the largest over the tolerances that adaptive_test.cpp takes. Prints the
table kScipy of standard_problems.h.

    .venv/bin/python tests/support/detest_scipy.py
"""

import numpy as np
import scipy
from scipy.integrate import solve_ivp

RK45_TOLERANCES = (1e-3, 1e-5, 1e-7, 1e-9)
RADAU_TOLERANCES = (1e-3, 1e-5, 1e-7)


def chain(diagonal, above):
    """ẏ of class C: a row of decays or of diffusion."""
    return diagonal * np.eye(10) + np.eye(10, k=-1) + above * np.eye(10, k=1)


C1 = chain(-1.0, 0.0)
C1[9, 9] = 0.0
C3 = chain(-2.0, 1.0)
UNIT = np.eye(10)[0]


def kepler(t, y):
    r = np.hypot(y[0], y[1])
    return np.array([y[2], y[3], -y[0] / r**3, -y[1] / r**3])


def perihelion(e):
    return np.array([1 - e, 0, 0, np.sqrt((1 + e) / (1 - e))])


def bessel(s):
    a = np.sqrt(2 / (np.pi * s))
    return np.array([a * np.sin(s), a * (np.cos(s) - 0.5 * np.sin(s) / s)])


def e1(t, y):
    s = t + 1
    return np.array([y[1], -(y[1] / s + (1 - 0.25 / s**2) * y[0])])


PROBLEMS = {
    "A2": (lambda t, y: -0.5 * y**3, [1]),
    "A3": (lambda t, y: y * np.cos(t), [1]),
    "A4": (lambda t, y: 0.25 * y * (1 - 0.05 * y), [1]),
    "B1": (lambda t, y: np.array([2 * (y[0] - y[0] * y[1]), y[0] * y[1] - y[1]]), [1, 3]),
    "B2": (lambda t, y: np.array([y[1] - y[0], y[0] - 2 * y[1] + y[2], y[1] - y[2]]), [2, 0, 1]),
    "B5": (lambda t, y: np.array([y[1] * y[2], -y[0] * y[2], -0.51 * y[0] * y[1]]), [0, 1, 1]),
    "C1": (lambda t, y: C1 @ y, UNIT),
    "C3": (lambda t, y: C3 @ y, UNIT),
    "D1": (kepler, perihelion(0.1)),
    "D3": (kepler, perihelion(0.5)),
    "D5": (kepler, perihelion(0.9)),
    "E1": (e1, bessel(1)),
    "E2": (lambda t, y: np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]]), [2, 0]),
    "E3": (
        lambda t, y: np.array([y[1], y[0] ** 3 / 6 - y[0] + 2 * np.sin(2.78535 * t)]),
        [0, 0],
    ),
}


def error_over(tolerance, method, f, y0, reference):
    run = solve_ivp(f, (0, 20), y0, method=method, rtol=tolerance, atol=tolerance)
    error = np.max(np.abs(run.y[:, -1] - reference) / (1 + np.abs(reference)))
    return error / tolerance


def main():
    print(f"// SciPy {scipy.__version__}")
    for name, (f, y0) in PROBLEMS.items():
        y0 = np.asarray(y0, float)
        tight = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-15}
        reference = solve_ivp(f, (0, 20), y0, **tight).y[:, -1]
        row = []
        for method, tolerances in (("RK45", RK45_TOLERANCES), ("Radau", RADAU_TOLERANCES)):
            errors = [error_over(tol, method, f, y0, reference) for tol in tolerances]
            row.append(f"{max(errors):.3g}")
        print(f'    {{"{name}", {row[0]}, {row[1]}}},')


if __name__ == "__main__":
    main()
