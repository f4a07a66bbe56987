"""Flows with numbers from outside: Kovasznay, Ghia at Re 400, vortex shedding, decay in space."""

import os

import numpy as np
import pytest

import cycloid as cy

TAU = 2 * np.pi
LONG = pytest.mark.skipif(
    not os.environ.get("CYCLOID_LONG_TESTS"), reason="minutes: CYCLOID_LONG_TESTS=1"
)


def kovasznay(n):
    """The error of each component, root mean square over two periods behind the grid, at Re 40."""
    decay, length = -0.963740544, 4

    def exact(x, y):
        wave = np.exp(decay * x)
        return (1 - wave * np.cos(TAU * y), decay / TAU * wave * np.sin(TAU * y))

    flow = cy.fluid.grid((length * n, n), (length, 1.0), viscosity=1 / 40, dt=0.2 / n,
                         boundary={"left": ("inflow", lambda y: exact(0.0, y)),
                                   "right": "outflow"})
    start = flow.state(velocity=exact)
    gap = cy.rollout(flow, start, 60 * n, save="last").states[-1] - start
    u, v = np.split(gap, [(length * n + 1) * n])
    return np.array([np.sqrt(np.mean(part[: 2 * n * n] ** 2)) for part in (u, v)])


def test_flow_of_kovasznay_at_second_order():
    coarse, fine = kovasznay(12), kovasznay(24)
    assert (np.log2(coarse / fine) > 1.9).all()
    assert (fine < [2.5e-3, 3e-4]).all()


GHIA_U_400 = {
    0.9766: 0.75837, 0.9531: 0.55892, 0.8516: 0.29093, 0.7344: 0.16256, 0.6172: 0.02135,
    0.5: -0.11477, 0.4531: -0.17119, 0.2813: -0.32726, 0.1719: -0.24299, 0.1016: -0.14612,
    0.0547: -0.08186,
}
GHIA_V_400 = {  # without x = 0.9063, a misprint
    0.9688: -0.12146, 0.9531: -0.19254, 0.9453: -0.22847, 0.8594: -0.44993, 0.8047: -0.38598,
    0.5: 0.05186, 0.2344: 0.30174, 0.1563: 0.28124, 0.0938: 0.22965, 0.0625: 0.18360,
}


@LONG
def test_driven_cavity_of_ghia_at_reynolds_400():
    flow = cy.fluid.grid((128, 128), (1.0, 1.0), viscosity=1 / 400, dt=0.006, boundary={
        "left": "wall", "right": "wall", "bottom": "wall", "top": ("wall", (1.0, 0.0))})
    x = cy.rollout(flow, flow.state(), 6000, save="last").states[-1]
    u = flow.velocity(x, [[0.5, y] for y in GHIA_U_400])[:, 0]
    v = flow.velocity(x, [[x_, 0.5] for x_ in GHIA_V_400])[:, 1]
    assert np.abs(u - list(GHIA_U_400.values())).max() < 0.01
    assert np.abs(v - list(GHIA_V_400.values())).max() < 0.01


def shedding(flow, seconds, every):
    """Strouhal number and largest drag coefficient of Schäfer and Turek's 2D-2."""
    def profile(x, y):
        return 6 * y * (0.41 - y) / 0.41**2 + 0 * x, 0.3 * np.exp(-((x - 0.35) ** 2) / 0.01)

    steps = round(seconds / flow.timestep)
    run = cy.rollout(flow, flow.state(velocity=profile), steps, save=every)
    tail = run.states[len(run.states) // 2 :]
    drag, lift = cy.observe(flow, tail, names=["drag:#0", "lift:#0"]).values.T * 2 / 0.1
    up = np.flatnonzero((lift[:-1] < 0) & (lift[1:] >= 0))
    crossings = up + lift[up] / (lift[up] - lift[up + 1])
    period = (crossings[-1] - crossings[0]) / (len(crossings) - 1) * every * flow.timestep
    return 0.1 / period, drag.max()


def cylinder(make, shape, **more):
    return make(
        shape, (2.2, 0.41), viscosity=1e-3,
        boundary={"left": ("inflow", lambda y: (6 * y * (0.41 - y) / 0.41**2, 0 * y)),
                  "right": "outflow", "bottom": "wall", "top": "wall"},
        obstacles=[cy.fluid.Circle((0.2, 0.2), 0.05)], **more)


@LONG
def test_vortex_shedding_of_schaefer_and_turek():
    strouhal, _ = shedding(cylinder(cy.fluid.grid, (440, 82), dt=1.3e-3), 6.0, 8)
    assert 0.295 < strouhal < 0.305


@LONG
def test_vortex_shedding_on_a_lattice():
    flow = cylinder(cy.fluid.lattice, (440, 82), dt=3e-4, collision="mrt")
    strouhal, drag = shedding(flow, 8.0, 20)
    assert 0.295 < strouhal < 0.305
    assert drag == pytest.approx(3.23, rel=0.03)


@LONG
def test_dissipation_of_vortices_in_space_peaks_as_the_reference_does():
    n, nu, dt = 48, 0.01, 0.05
    flow = cy.fluid.spectral("navier_stokes", shape=(n, n, n), size=TAU, dt=dt, viscosity=nu)
    x = flow.state(velocity=lambda x, y, z: (
        np.sin(x) * np.cos(y) * np.cos(z), -np.cos(x) * np.sin(y) * np.cos(z), 0 * x))
    run = cy.rollout(flow, x, 110, save=list(range(90, 111)))
    enstrophy = cy.observe(flow, run.states, names="enstrophy").values[:, 0]
    assert 2 * nu * enstrophy.max() / TAU**3 == pytest.approx(0.0129037, rel=0.01)
