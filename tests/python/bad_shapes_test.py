"""Shapes and scenes that cannot be: each is refused by name, at once, or does no harm."""

import resource
import struct

import mujoco
import numpy as np
import pytest

import cycloid as cy

BALL = '<body pos="0 0 1"> <freejoint/> <geom size=".1"/> </body>'
TETRAHEDRON = '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>'
FIELD = '<hfield name="h" nrow="3" ncol="3" size="1 1 1 1"/>'


def with_mesh(asset, compiler=""):
    return f"""<mujoco> {compiler} <asset> {asset} </asset> <worldbody> <geom type="mesh" mesh="m"/>
      {BALL} </worldbody> </mujoco>"""


def with_field(asset):
    return f"""<mujoco> <asset> {asset} </asset> <worldbody> <geom type="hfield" hfield="h"/>
      {BALL} </worldbody> </mujoco>"""


@pytest.mark.parametrize(
    "numbers",
    [
        'nrow="0" ncol="0" size="1 1 1 1"',
        'nrow="1" ncol="5" size="1 1 1 1"',
        'nrow="3" ncol="3" size="1 1 0 1"',
        'nrow="3" ncol="3" size="1 1 1 0"',
        'nrow="3" ncol="3" size="1 1 1 1" elevation="0 0 0 0 nan 0 0 0 0"',
    ],
)
def test_a_height_field_without_extent_or_heights_is_refused(numbers):
    with pytest.raises(cy.ModelError, match="h"):
        cy.load(with_field(f'<hfield name="h" {numbers}/>'))


def test_a_compiled_model_with_bad_shapes_is_refused_by_name():
    model = mujoco.MjModel.from_xml_string(with_field(FIELD))
    model.hfield_data[4] = np.nan
    with pytest.raises(cy.ModelError, match='hfield "h": a height is not finite'):
        cy.from_mujoco(model)
    model.hfield_data[4], model.hfield_size[0, 0] = 0, 0
    with pytest.raises(cy.ModelError, match='hfield "h": 3 rows and 3 columns over 0 by 1 m'):
        cy.from_mujoco(model)
    model = mujoco.MjModel.from_xml_string(with_mesh(TETRAHEDRON))
    model.mesh_vert[2, 1] = np.inf
    with pytest.raises(cy.ModelError, match='mesh "m": a vertex is not finite'):
        cy.from_mujoco(model)
    model.mesh_vert[2, 1] = 1
    model.mesh_vert[3] = model.mesh_vert[0]
    with pytest.raises(cy.ModelError, match='mesh "m": its hull is flat'):
        cy.from_mujoco(model)


FILES = {
    "a file that ends early": ("m.stl", b"\0" * 80 + struct.pack("<I", 12) + b"\0" * 10, "m.stl"),
    "an empty file": ("m.obj", b"", "at least 4 vertices"),
    "a vertex that is no number": (
        "m.obj",
        b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv nan 0 1\nf 1 2 3\nf 1 2 4\nf 2 3 4\nf 1 3 4\n",
        "not finite",
    ),
    "a face of vertices that are not there": (
        "m.obj",
        b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 9\nf 1 2 4\nf 2 3 4\nf 1 3 4\n",
        "m",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_broken_mesh_file_is_refused(name, tmp_path):
    file, content, words = FILES[name]
    (tmp_path / file).write_bytes(content)
    (tmp_path / "robot.xml").write_text(with_mesh(f'<mesh name="m" file="{file}"/>'))
    with pytest.raises(cy.ModelError, match=words):
        cy.load(tmp_path / "robot.xml")


def test_a_missing_mesh_is_named_with_the_folders_searched_and_found_in_them(tmp_path):
    model = with_mesh('<mesh name="m" file="m.obj"/>', '<compiler meshdir="assets"/>')
    home, other = tmp_path / "robot", tmp_path / "meshes"
    home.mkdir(), other.mkdir()
    (home / "robot.xml").write_text(model)
    with pytest.raises(FileNotFoundError) as error:
        cy.load(home / "robot.xml", search_paths=[other])
    for part in ("m.obj", str(home), str(other)):
        assert part in str(error.value)
    with pytest.raises(FileNotFoundError, match="no folders of search_paths"):
        cy.load(model)
    corners = ("0 0 0", "1 0 0", "0 1 0", "0 0 1")
    faces = ("1 3 2", "1 2 4", "1 4 3", "2 3 4")
    lines = [f"v {c}" for c in corners] + [f"f {f}" for f in faces]
    (other / "m.obj").write_text("\n".join(lines) + "\n")
    found = cy.load(home / "robot.xml", search_paths=[other])
    assert found.parameters["mesh:m.vertex"].shape == (4, 3)


def test_a_mesh_in_motion_without_thickness_is_refused_and_one_that_touches_nothing_is_not():
    flat = '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 1 1 1e-14" inertia="shell"/>'
    with pytest.raises(cy.ModelError, match="m"):
        cy.load(with_mesh(flat))
    model = mujoco.MjModel.from_xml_string(with_mesh(TETRAHEDRON))
    model.geom_contype[:], model.geom_conaffinity[:] = 0, 0
    model.mesh_vert[3] = model.mesh_vert[0]
    assert cy.from_mujoco(model).nv == 6


def test_vertices_that_a_run_makes_flat_or_not_finite_are_reported():
    """The hull's topology stays; a run with such numbers says so, or goes on finite."""
    system = cy.load(
        f"""<mujoco> <asset> {TETRAHEDRON} </asset> <worldbody> <geom type="plane" size="1 1 1"/>
        <body pos="0 0 .2"> <freejoint/> <geom type="mesh" mesh="m"/> </body> </worldbody>
        </mujoco>"""
    )
    x0 = system.initial_state()
    flat = np.zeros((4, 3))
    run = cy.rollout(system, x0, 200, {"mesh:m.vertex": flat})
    assert run.report.failed or np.isfinite(run.states).all()
    with pytest.raises(cy.Error, match="mesh:m.vertex"):
        cy.rollout(system, x0, 2, {"mesh:m.vertex": np.full((4, 3), np.nan)})


def many(moving, standing):
    balls = "".join(
        f'<body pos="{i % 20} {i // 20 % 20} {1 + i // 400}"> <freejoint/> <geom size=".05"/>'
        "</body>"
        for i in range(moving)
    )
    boxes = "".join(
        f'<geom type="box" size=".1 .1 .1" pos="{i % 100 * 0.3} {i // 100 * 0.3} 0"/>'
        for i in range(standing)
    )
    return f"<mujoco> <worldbody> {boxes} {balls} </worldbody> </mujoco>"


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_ten_thousand_geoms_run_in_bounded_memory():
    """200,000 pairs: what is kept is a small multiple of the pairs, and a step is finite."""
    before = memory()
    system = cy.load(many(20, 10_000))
    run = cy.rollout(system, system.initial_state(), 2, save="last")
    assert np.isfinite(run.states).all()
    assert memory() - before < 600e6


def test_a_thousand_geoms_that_may_all_touch_are_refused_with_their_number():
    with pytest.raises(cy.ModelError, match="900 geoms that move .* pairs that may collide"):
        cy.load(many(900, 1))


def test_ten_thousand_bodies_are_refused_before_they_are_read(tmp_path):
    """MuJoCo's reader alone would take ten seconds of them."""
    path = tmp_path / "many.xml"
    path.write_text(many(10_000, 0))
    for source in (path, path.read_text()):
        with pytest.raises(cy.ModelError, match="at least 60000 degrees of freedom; at most 10000"):
            cy.load(source)
    commented = f"<!-- {'<freejoint/>' * 2000} -->"
    assert cy.load(f"<mujoco> {commented} <worldbody> {BALL} </worldbody> </mujoco>").nv == 6
