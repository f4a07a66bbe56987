"""Flows in files, and obstacles by their outline."""

import numpy as np
import pytest

import cycloid as cy

TAU = 2 * np.pi


def channel():
    return cy.fluid.grid((8, 6), (0.8, 0.6), viscosity=0.02, dt=0.01,
                         boundary={"bottom": "wall", "top": ("wall", (0.3, 0.0))})


@pytest.mark.parametrize("make", (
    channel,
    lambda: cy.fluid.lattice((8, 6), viscosity=0.02, boundary={"bottom": "wall", "top": "wall"}),
    lambda: cy.fluid.spectral("navier_stokes", shape=(8, 6), size=TAU, dt=0.01, viscosity=0.02),
))
def test_a_file_of_the_well_holds_what_was_written(make, tmp_path):
    h5py = pytest.importorskip("h5py")
    flow = make()
    start = flow.state(velocity=lambda x, y: (0.05 * np.sin(y), 0.02 * np.cos(x)))
    run = cy.rollout(flow, np.stack([start, 2 * start]), 4)
    path = tmp_path / "flow.hdf5"
    cy.fluid.write_well(path, flow, run.states, names=["velocity", "pressure", "vorticity"])
    found = cy.fluid.read_well(path)
    assert found.name == flow.name and found.times == pytest.approx(np.arange(5) * flow.timestep)
    assert found.fields["velocity"].shape == (2, 5, 8, 6, 2)
    for name in ("velocity", "pressure", "vorticity"):
        assert np.allclose(found.fields[name][1], flow.field(run.states[1], name), atol=1e-6)
    assert found.parameters["viscosity"] == 0.02
    assert [len(p) for p in found.points] == [8, 6]
    assert found.points[1] == pytest.approx(flow.points[0, :, 1])
    assert found.boundary["x"] == "PERIODIC"
    with h5py.File(path) as file:  # as the collection's own readers look at it
        assert file.attrs["n_trajectories"] == 2 and file.attrs["n_spatial_dims"] == 2
        assert list(file["t1_fields"].attrs["field_names"]) == ["velocity"]
        assert set(file["t0_fields"].attrs["field_names"]) == {"pressure", "vorticity"}
        assert file["t0_fields/pressure"].attrs["time_varying"]
    assert set(cy.fluid.read_well(path, names="pressure").fields) == {"pressure"}
    with pytest.raises(cy.Error, match="smoke"):
        cy.fluid.read_well(path, names="smoke")
    with pytest.raises(cy.Error, match="shape"):
        cy.fluid.write_well(path, flow, run.states[..., :5])
    with pytest.raises(FileNotFoundError):
        cy.fluid.read_well(tmp_path / "none.hdf5")


def test_a_file_of_the_well_is_written_whole_or_not_at_all(tmp_path):
    pytest.importorskip("h5py")
    path = tmp_path / "flow.hdf5"
    cy.fluid.write_well(path, channel(), [channel().state()])
    before = path.read_bytes()
    lattice = cy.fluid.lattice((8, 6), viscosity=0.02)
    waves = cy.fluid.spectral("navier_stokes", shape=(8, 6), size=TAU, dt=0.01, viscosity=0.02)
    for flow in (channel(), lattice, waves):
        for name in ("smoke", "kinetic_energy"):  # unknown, and one number
            with pytest.raises(cy.Error, match=name):
                cy.fluid.write_well(path, flow, [flow.state()], names=["velocity", name])
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    path.write_bytes(before[:600])
    with pytest.raises(cy.Error, match="damaged"):
        cy.fluid.read_well(path)


def test_sides_that_let_the_flow_through_are_open(tmp_path):
    h5py = pytest.importorskip("h5py")
    sides = {"left": ("inflow", (1.0, 0.0)), "right": "outflow", "bottom": "wall", "top": "slip"}
    flow, path = cy.fluid.grid((8, 6), (0.8, 0.6), dt=0.01, boundary=sides), tmp_path / "flow.hdf5"
    cy.fluid.write_well(path, flow, [flow.state()])
    assert cy.fluid.read_well(path).boundary == {"x": "OPEN", "y": "WALL"}
    with h5py.File(path, "a") as file:
        del file["t1_fields/velocity"]
    with pytest.raises(cy.Error, match="layout"):
        cy.fluid.read_well(path)


def test_a_file_for_paraview_holds_a_channel(tmp_path):
    flow = channel()
    flow.save_vtk(tmp_path / "flow.vti", flow.state())
    text = (tmp_path / "flow.vti").read_text()
    assert 'Name="velocity"' in text and 'Name="pressure"' in text and "0 7 0 5 0 0" in text
    with pytest.raises(cy.Error, match="one state"):
        flow.save_vtk(tmp_path / "flow.vti", np.zeros((2, flow.state_size)))


def disc(points=24, radius=0.2):
    angle = np.arange(points) * TAU / points
    return np.array([0.53, 0.47]) + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_an_outline_of_a_disc_is_a_disc():
    shape = cy.fluid.Outline(disc(), (40, 40), 1.0)
    line = np.linspace(0, 1, 41)
    exact = np.hypot(line[:, None] - 0.53, line - 0.47) - 0.2
    assert np.abs(shape.sdf - exact).max() < 1e-3


def test_the_pullback_of_an_outline_by_differences():
    draw = np.random.default_rng(4)
    points = disc(12) + 0.01 * draw.normal(size=(12, 2))
    bar, d = draw.normal(size=(22, 19)), draw.normal(size=(12, 2))
    slope = np.sum(cy.fluid.Outline(points, (21, 18), (1.05, 0.9)).pullback(bar) * d)

    def value(e):
        return np.sum(bar * cy.fluid.Outline(points + e * d, (21, 18), (1.05, 0.9)).sdf)

    assert (value(1e-6) - value(-1e-6)) / 2e-6 == pytest.approx(slope, rel=1e-6)


def test_an_airfoil_has_its_thickness_and_lifts_with_its_angle():
    shape, size = (90, 60), (1.5, 1.0)
    wing = cy.fluid.Airfoil("0012", (0.4, 0.5), 0.6, shape, size)
    assert np.ptp(wing.points[:, 1]) == pytest.approx(0.12 * 0.6, rel=0.01)
    h = size[0] / shape[0]
    assert (wing.sdf < 0).sum() * h * h == pytest.approx(0.0822 * 0.6**2, rel=0.05)
    sides = {"left": ("inflow", (1.0, 0.0)), "right": "outflow", "bottom": "slip", "top": "slip"}
    lift = []
    for angle in (0.0, 0.15):
        body = cy.fluid.Airfoil("0012", (0.4, 0.5), 0.6, shape, size, angle=angle)
        flow = cy.fluid.grid(shape, size, viscosity=5e-3, dt=8e-3, boundary=sides,
                             obstacles=[body])
        x0 = flow.state(velocity=lambda x, y: (1 + 0 * x, 0 * y))
        x = cy.rollout(flow, x0, 150, save="last").states[-1]
        lift.append(float(cy.observe(flow, x, names="lift:#0").values[0]))
    assert abs(lift[0]) < 1e-3 and lift[1] > 0.05
    with pytest.raises(cy.ModelError, match="four digits"):
        cy.fluid.Airfoil("12", (0.4, 0.5), 0.6, shape, size)
    with pytest.raises(cy.ModelError, match="four points"):
        cy.fluid.Outline(np.zeros((3, 2)), shape, size)
