"""Meshes in files: what other programs write is read, what is wrong is said, what we write is read
again."""

import struct

import cycloid as cy
import numpy as np
import pytest

CORNERS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [9, 9, 9]]  # the last belongs to no cell

MSH2 = """$MeshFormat
2.2 0 8
$EndMeshFormat
$Nodes
5
1 0 0 0
2 1 0 0
3 0 1 0
7 0 0 1
9 9 9 9
$EndNodes
$Elements
2
1 2 2 0 1 1 2 3
2 4 2 0 1 1 2 3 7
$EndElements
"""

MSH4 = """$MeshFormat
4.1 0 8
$EndMeshFormat
$Nodes
2 4 1 7
0 1 0 1
7
0 0 1
3 1 0 3
1
2
3
0 0 0
1 0 0
0 1 0
$EndNodes
$Elements
1 1 1 1
3 1 4 1
1 1 2 3 7
$EndElements
"""

VTK = """# vtk DataFile Version 3.0
one
ASCII
DATASET UNSTRUCTURED_GRID
POINTS 5 double
0 0 0 1 0 0 0 1 0
0 0 1 9 9 9
CELLS 2 9
3 0 1 2
4 0 1 2 3
CELL_TYPES 2
5
10
"""

VTU = """<?xml version="1.0"?>
<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian"><UnstructuredGrid>
<Piece NumberOfPoints="4" NumberOfCells="1">
<Points><DataArray type="Float32" NumberOfComponents="3" format="ascii">
0 0 0 1 0 0 0 1 0 0 0 1</DataArray></Points>
<Cells><DataArray type="Int32" Name="connectivity" format="ascii">0 1 2 3</DataArray>
<DataArray type="Int32" Name="offsets" format="ascii">4</DataArray>
<DataArray type="UInt8" Name="types" format="ascii">10</DataArray></Cells>
</Piece></UnstructuredGrid></VTKFile>
"""

OBJ = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1/1 2/2 3/3 4/4\n"

STL = "solid x\n" + "".join(
    "facet normal 0 0 1\nouter loop\n"
    + "".join(f"vertex {a} {b} 0\n" for a, b in corners)
    + "endloop\nendfacet\n"
    for corners in (((0, 0), (1, 0), (1, 1)), ((0, 0), (1, 1), (0, 1)))
)


@pytest.mark.parametrize("name, text", [
    ("a.msh", MSH2), ("b.msh", MSH4), ("a.vtk", VTK), ("a.vtu", VTU),
])
def test_a_tetrahedron_is_read(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    mesh = cy.soft.read(tmp_path / name)
    assert mesh.element == "tet" and len(mesh.vertices) == 4
    np.testing.assert_array_equal(mesh.vertices[mesh.cells[0]], CORNERS[:4])


@pytest.mark.parametrize("name, text", [("a.obj", OBJ), ("a.stl", STL)])
def test_a_square_of_triangles_is_read(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    mesh = cy.soft.read(tmp_path / name)
    assert mesh.element == "triangle" and mesh.cells.shape == (2, 3) and len(mesh.vertices) == 4
    edges = np.diff(mesh.vertices[mesh.cells], axis=1)
    areas = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1) / 2
    assert areas.sum() == pytest.approx(1)


def test_a_binary_stl_is_read(tmp_path):
    corners = np.array([[[0, 0, 0], [1, 0, 0], [1, 1, 0]], [[0, 0, 0], [1, 1, 0], [0, 1, 0]]])
    data = bytes(80) + struct.pack("<I", 2)
    for one in corners:
        data += struct.pack("<12fH", 0, 0, 1, *one.ravel(), 0)
    (tmp_path / "a.stl").write_bytes(data)
    assert cy.soft.read(tmp_path / "a.stl").cells.shape == (2, 3)


def test_gmsh_orders_edges_of_quadratic_tetrahedra_otherwise(tmp_path):
    mesh = cy.soft.box((1, 1, 1), (1, 1, 1), "tet10")
    x, cells = mesh.vertices, mesh.cells[:, [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]]
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", str(len(x))]
    lines += [f"{i + 1} {a} {b} {c}" for i, (a, b, c) in enumerate(x)]
    lines += ["$EndNodes", "$Elements", str(len(cells))]
    lines += [f"{i + 1} 11 0 " + " ".join(str(n + 1) for n in row) for i, row in enumerate(cells)]
    (tmp_path / "a.msh").write_text("\n".join([*lines, "$EndElements", ""]))
    again = cy.soft.read(tmp_path / "a.msh")
    np.testing.assert_array_equal(again.vertices[again.cells], x[mesh.cells])


@pytest.mark.parametrize("element", ["tet", "hex", "tet10"])
def test_what_is_written_is_read_again(tmp_path, element):
    mesh = cy.soft.box((2, 1, 1), (2, 1, 1), element)
    cy.soft.write(tmp_path / "a.vtu", mesh)
    again = cy.soft.read(tmp_path / "a.vtu")
    assert again.element == element
    np.testing.assert_array_equal(again.vertices, mesh.vertices)
    np.testing.assert_array_equal(again.cells, mesh.cells)


def test_a_run_becomes_a_series_with_stress(tmp_path):
    mesh = cy.soft.box((2, 1, 1), (0.2, 0.1, 0.1))
    body = cy.soft.solid(mesh, pinned=np.flatnonzero(mesh.vertices[:, 0] == 0))
    run = cy.rollout(body, body.initial_state(), 3)
    files = cy.soft.write(tmp_path / "run.pvd", mesh, run.states, times=run.times, body=body)
    assert [f.name for f in files] == ["run.pvd", *(f"run_{k:05d}.vtu" for k in range(4))]
    text = files[0].read_text()
    assert 'timestep="0.03" file="run_00003.vtu"' in text
    last = cy.soft.read(files[-1])
    np.testing.assert_array_equal(last.vertices.ravel(), run.states[3, : mesh.vertices.size])
    assert 'Name="stress" NumberOfComponents="9"' in files[-1].read_text()


@pytest.mark.parametrize("name, text, message", [
    ("a.msh", MSH2.replace("2.2 0 8", "2.2 1 8"), "ASCII"),
    ("a.msh", MSH2.replace("1 2 3 7\n", "1 2 3 8\n"), "node 8"),
    ("a.msh", MSH2[:60], "ends too early"),
    ("a.msh", MSH2.replace("2 4 2 0 1 1 2 3 7", "2 6 2 0 1 1 2 3 7 1 2"), "type 6"),
    ("a.msh", "hello", "no file of Gmsh"),
    ("a.vtk", VTK.replace("ASCII", "BINARY"), "ASCII"),
    ("a.vtk", VTK.replace("0 0 1 9 9 9", "0 0 1 9 9 x"), "line 7"),
    ("a.vtk", VTK.replace("5\n10\n", "5\n13\n"), "VTK's type 13"),
    ("a.vtu", VTU[:200], "no XML"),
    ("a.vtu", VTU.replace("connectivity", "somewhere"), "connectivity"),
    ("a.obj", "v 0 0 0\n", "no tetrahedra"),
    ("a.obj", OBJ.replace("f 1/1", "f 9/1"), "point 8"),
    ("a.obj", OBJ.replace("f 1/1", "f 0/1"), "line .*vertices count from 1"),
    ("a.obj", "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "has no area"),
    ("a.stl", "solid nothing\n", "neither a binary nor a text"),
    ("a.xyz", "", "meshio"),
])
def test_what_is_wrong_with_a_file_is_said(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(cy.ModelError, match=message) as error:
        cy.soft.read(tmp_path / name)
    assert name in str(error.value)


@pytest.mark.parametrize("name, text", [
    ("a.msh", MSH2), ("b.msh", MSH4), ("a.vtk", VTK), ("a.vtu", VTU), ("a.obj", OBJ),
    ("a.stl", STL),
])
def test_a_damaged_file_is_read_or_refused_by_name(tmp_path, name, text):
    draw = np.random.default_rng(0)
    file, refused = tmp_path / name, 0
    for _ in range(150):
        letters = list(text)
        for at in draw.integers(0, len(text), draw.integers(1, 4)):
            letters[at : at + 1] = draw.choice(list("019-.xe \n<>$")) if at % 2 else ""
        file.write_text("".join(letters[: draw.integers(20, 2 * len(text))]))
        try:
            cy.soft.read(file)
        except cy.ModelError as error:
            refused += 1
            assert name in str(error)
    assert refused > 20


def test_states_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(cy.Error, match=r"shape \(S, 48\)"):
        cy.soft.write(tmp_path / "a.vtu", cy.soft.box(), np.zeros(7))
    with pytest.raises(cy.Error, match="2 make a .pvd"):
        cy.soft.write(tmp_path / "a.vtu", cy.soft.box(), np.zeros((2, 48)))
    with pytest.raises(cy.Error, match=".vtu"):
        cy.soft.write(tmp_path / "a.obj", cy.soft.box())


def test_a_run_of_cloth_is_written_without_stress(tmp_path):
    mesh = cy.soft.sheet((2, 2))
    cloth = cy.soft.cloth(mesh)
    run = cy.rollout(cloth, cloth.initial_state(), 2)
    files = cy.soft.write(tmp_path / "run.pvd", mesh, run.states, times=run.times, body=cloth)
    assert len(files) == 4
    text = files[1].read_text()
    assert "velocity" in text and "stress" not in text
