"""Meshes in files: Gmsh's .msh, VTK's .vtk and .vtu, .obj and .stl; .vtu for ParaView.

A reader gives points (n, 3) and cells by kind, in VTK's order; `chosen` takes those of the highest
dimension, drops points that belong to none of them, and refuses kinds that do not go together.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from cycloid._core import ModelError

Cells = dict[str, list[np.ndarray]]

# Kinds of cells: name, VTK's number, Gmsh's number, nodes, dimension.
_KINDS = [
    ("triangle", 5, 2, 3, 2),
    ("tet", 10, 4, 4, 3),
    ("hex", 12, 5, 8, 3),
    ("tet10", 24, 11, 10, 3),
]
_OF_VTK = {vtk: name for name, vtk, _, _, _ in _KINDS}
_OF_GMSH = {gmsh: name for name, _, gmsh, _, _ in _KINDS}
_NODES = {name: nodes for name, _, _, nodes, _ in _KINDS}
_DIMENSION = {name: dimension for name, _, _, _, dimension in _KINDS}
_VTK = {name: vtk for name, vtk, _, _, _ in _KINDS}
# What Gmsh calls 2-node lines, points and the like: nothing to make a body of.
_GMSH_NODES = {1: 2, 3: 4, 6: 6, 7: 5, 8: 3, 9: 6, 10: 9, 15: 1, 16: 8, 17: 20, 18: 15, 19: 13}
_VTK_LESS = {1, 2, 3, 4, 21}  # vertices and lines


def chosen(path: Path, points: np.ndarray, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    found = {kind: np.concatenate(rows) for kind, rows in cells.items() if rows}
    if not found:
        raise ModelError(f"{path}: no tetrahedra, hexahedra or triangles are in it")
    highest = max(_DIMENSION[kind] for kind in found)
    kinds = [kind for kind in found if _DIMENSION[kind] == highest]
    if len(kinds) > 1:
        counts = ", ".join(f"{len(found[kind])} {kind}" for kind in kinds)
        raise ModelError(f"{path}: a body is made of one kind of cells; the file has {counts}")
    nodes = found[kinds[0]]
    if nodes.min() < 0 or nodes.max() >= len(points):
        raise ModelError(f"{path}: a cell names point {nodes.max()}; there are {len(points)}")
    used, numbers = np.unique(nodes, return_inverse=True)
    return points[used], numbers.reshape(nodes.shape)


class _Words:
    """The words of a text file, with the line that a mistake is in."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._lines, self._at = path, text.splitlines(), 0

    def line(self) -> str | None:
        while self._at < len(self._lines):
            self._at += 1
            line = self._lines[self._at - 1].strip()
            if line:
                return line
        return None

    def back(self) -> None:
        """The last line comes again."""
        self._at -= 1

    def needed(self) -> str:
        line = self.line()
        if line is None:
            raise ModelError(f"{self._path}: it ends too early, after line {self._at}")
        return line

    def numbers(self, count: int, kind: type) -> np.ndarray:
        """The next `count` numbers, on as many lines as they take."""
        words: list[str] = []
        while len(words) < count:
            words += self.needed().split()
        if len(words) != count:
            raise self.wrong(f"{count} numbers were expected, {len(words)} are there")
        try:
            return np.array(words, dtype=kind)
        except ValueError as error:
            raise self.wrong(str(error)) from None

    def integers(self) -> list[int]:
        try:
            return [int(word) for word in self.needed().split()]
        except ValueError as error:
            raise self.wrong(str(error)) from None

    def wrong(self, what: str) -> ModelError:
        return ModelError(f"{self._path}, line {self._at}: {what}")


def _from_gmsh(rows: list[list[int]], kind: str) -> np.ndarray:
    nodes = np.array(rows, np.int64)
    if kind == "tet10":  # the last two edges change places
        nodes[:, [8, 9]] = nodes[:, [9, 8]]
    return nodes


def _read_msh(path: Path) -> tuple[np.ndarray, Cells]:
    data = path.read_bytes()
    words = _Words(path, data.decode("utf-8", "replace"))
    version, points, tags, cells = 0.0, np.empty((0, 3)), np.empty(0, np.int64), {}
    rows: dict[str, list[list[int]]] = {name: [] for name in _NODES}

    def take(element: int, nodes: list[int]) -> None:
        kind = _OF_GMSH.get(element)
        if kind is None and element not in _GMSH_NODES:
            raise words.wrong(f"elements of Gmsh's type {element} are not known here")
        expected = _NODES[kind] if kind else _GMSH_NODES[element]
        if len(nodes) != expected:
            raise words.wrong(
                f"an element of type {element} has {expected} nodes, not {len(nodes)}"
            )
        if kind:
            rows[kind].append(nodes)
        elif element in (3, 6, 7, 16, 17, 18, 19):
            raise words.wrong(
                f"elements of Gmsh's type {element}: tetrahedra, hexahedra and triangles alone"
            )

    while (line := words.line()) is not None:
        if line == "$MeshFormat":
            form = words.needed().split()
            version = float(form[0])
            if form[1] != "0":
                raise ModelError(f"{path}: binary .msh; save it as ASCII (Gmsh: Mesh.Binary = 0)")
            if version not in (2.0, 2.1, 2.2, 4.1):
                raise ModelError(f"{path}: .msh of version {form[0]}; 2.2 and 4.1 are read")
        elif line == "$Nodes" and version < 4:
            (count,) = words.integers()
            table = words.numbers(4 * count, float).reshape(count, 4)
            tags, points = table[:, 0].astype(np.int64), table[:, 1:]
        elif line == "$Nodes":
            blocks, count, _, _ = words.integers()
            all_tags, all_points = [], []
            for _ in range(blocks):
                _, _, parametric, size = words.integers()
                if parametric:
                    raise words.wrong("parametric nodes are not read")
                all_tags.append(words.numbers(size, int))
                all_points.append(words.numbers(3 * size, float).reshape(size, 3))
            tags, points = np.concatenate(all_tags), np.concatenate(all_points)
        elif line == "$Elements" and version < 4:
            (count,) = words.integers()
            for _ in range(count):
                entry = words.integers()
                take(entry[1], entry[3 + entry[2] :])
        elif line == "$Elements":
            blocks, _, _, _ = words.integers()
            for _ in range(blocks):
                _, _, element, size = words.integers()
                for _ in range(size):
                    take(element, words.integers()[1:])
    if version == 0:
        raise ModelError(f"{path}: no $MeshFormat: this is no file of Gmsh")
    order = np.argsort(tags)
    for kind, list_of in rows.items():
        if not list_of:
            continue
        named = _from_gmsh(list_of, kind)
        place = np.searchsorted(tags[order], named)
        known = place < len(tags)
        known[known] = tags[order][place[known]] == named[known]
        if not known.all():
            raise ModelError(f"{path}: a cell names node {named[~known][0]}, which is not there")
        cells[kind] = [order[place]]
    return points, cells


def _by_type(path: Path, connectivity: np.ndarray, ends: np.ndarray, types: np.ndarray) -> Cells:
    if len(ends) != len(types):
        raise ModelError(f"{path}: {len(ends)} cells have {len(types)} types")
    starts = np.concatenate([[0], ends[:-1]])
    cells: Cells = {}
    for kind in np.unique(types):
        here = types == kind
        name = _OF_VTK.get(int(kind))
        if name is None:
            if int(kind) in _VTK_LESS:
                continue
            raise ModelError(
                f"{path}: cells of VTK's type {kind}: tetrahedra (10, 24), hexahedra (12) and "
                "triangles (5) alone"
            )
        each = _NODES[name]
        if np.any(ends[here] - starts[here] != each) or ends[here].max() > len(connectivity):
            raise ModelError(f"{path}: a cell of VTK's type {kind} has {each} nodes")
        cells[name] = [connectivity[starts[here][:, None] + np.arange(each)]]
    return cells


def _read_vtk(path: Path) -> tuple[np.ndarray, Cells]:
    words = _Words(path, path.read_bytes().decode("utf-8", "replace"))
    if not words.needed().startswith("# vtk DataFile"):
        raise ModelError(f"{path}: no VTK file: its first line is not '# vtk DataFile'")
    words.needed()
    if words.needed().upper() != "ASCII":
        raise ModelError(f"{path}: binary .vtk; save it as ASCII, or as .vtu")
    points: np.ndarray | None = None
    connectivity = ends = types = np.empty(0, np.int64)
    while (line := words.line()) is not None:
        word = line.split()
        key = word[0].upper()
        if key == "DATASET" and word[1].upper() not in ("UNSTRUCTURED_GRID", "POLYDATA"):
            raise words.wrong(f"DATASET {word[1]}: UNSTRUCTURED_GRID and POLYDATA are read")
        if key == "POINTS":
            points = words.numbers(3 * int(word[1]), float).reshape(-1, 3)
        elif key in ("CELLS", "POLYGONS"):
            ahead = words.needed()
            if ahead.upper().startswith("OFFSETS"):
                offsets = words.numbers(int(word[1]), int)
                words.needed()
                connectivity, ends = words.numbers(int(word[2]), int), offsets[1:]
            else:
                words.back()
                flat = words.numbers(int(word[2]), int)
                places, at = [], 0
                while at < len(flat):
                    places.append(flat[at + 1 : at + 1 + flat[at]])
                    at += 1 + int(flat[at])
                connectivity = np.concatenate(places) if places else flat
                ends = np.cumsum([len(p) for p in places])
            if key == "POLYGONS":
                types = np.full(len(ends), 5)
        elif key == "CELL_TYPES":
            types = words.numbers(int(word[1]), int)
    if points is None:
        raise ModelError(f"{path}: no POINTS are in it")
    return points, _by_type(path, connectivity, ends, types)


_VTU_TYPES = {
    "Float32": "f4", "Float64": "f8", "Int8": "i1", "UInt8": "u1", "Int16": "i2", "UInt16": "u2",
    "Int32": "i4", "UInt32": "u4", "Int64": "i8", "UInt64": "u8",
}


class _Vtu:
    """Arrays of a .vtu file: as text, in base 64 (also compressed), or appended in base 64."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self.root = ElementTree.fromstring(path.read_bytes())
        except ElementTree.ParseError as error:
            raise ModelError(
                f"{path}: no XML that can be read ({error}); appended raw data are not read: save "
                "it with encoded or ASCII data"
            ) from None
        if self.root.get("type") != "UnstructuredGrid":
            kind = self.root.get("type")
            raise ModelError(f"{path}: an UnstructuredGrid is expected; got {kind}")
        self._order = "<" if self.root.get("byte_order", "LittleEndian") == "LittleEndian" else ">"
        self._header = _VTU_TYPES[self.root.get("header_type", "UInt32")]
        compressor = self.root.get("compressor")
        if compressor not in (None, "vtkZLibDataCompressor"):
            raise ModelError(f"{path}: compressed by {compressor}; vtkZLibDataCompressor is read")
        self._compressed = compressor is not None
        appended = self.root.find("AppendedData")
        self._appended = "" if appended is None else (appended.text or "").strip()[1:]
        if appended is not None and appended.get("encoding") != "base64":
            raise ModelError(f"{path}: appended data in {appended.get('encoding')}; base64 is read")

    def array(self, parent: ElementTree.Element | None, name: str | None) -> np.ndarray:
        if parent is not None:
            for one in parent.findall("DataArray"):
                if name is None or one.get("Name") == name:
                    return self._numbers(one)
        raise ModelError(f"{self._path}: no array {name or 'of points'}")

    def _numbers(self, one: ElementTree.Element) -> np.ndarray:
        kind = _VTU_TYPES.get(one.get("type", ""))
        if kind is None:
            raise ModelError(f"{self._path}: an array of type {one.get('type')}")
        form, text = one.get("format", "ascii"), one.text or ""
        try:
            if form == "ascii":
                return np.array(text.split(), dtype=kind)
            code = text.strip() if form == "binary" else self._appended[int(one.get("offset", 0)) :]
            return np.frombuffer(self._decoded(code), self._order + kind)
        except (ValueError, zlib.error, struct.error, IndexError) as error:
            raise ModelError(f"{self._path}: array {one.get('Name')}: {error}") from None

    def _decoded(self, code: str) -> bytes:
        size = np.dtype(self._header).itemsize

        def head(count: int) -> np.ndarray:
            letters = 4 * -(-count * size // 3)
            return np.frombuffer(
                base64.b64decode(code[:letters])[: count * size], self._order + self._header
            )

        if not self._compressed:
            count = int(head(1)[0])
            letters = 4 * -(-(size + count) // 3)
            return base64.b64decode(code[:letters])[size : size + count]
        blocks = int(head(1)[0])
        sizes = head(3 + blocks)[3:].astype(int)
        first = 4 * -(-(3 + blocks) * size // 3)
        letters = 4 * -(-int(sizes.sum()) // 3)
        packed = base64.b64decode(code[first : first + letters])
        ends = np.cumsum(sizes)
        return b"".join(
            zlib.decompress(packed[end - size_of : end])
            for end, size_of in zip(ends, sizes, strict=True)
        )


def _read_vtu(path: Path) -> tuple[np.ndarray, Cells]:
    file = _Vtu(path)
    points, cells, count = [], {}, 0
    for piece in file.root.iter("Piece"):
        here = file.array(piece.find("Points"), None).astype(float).reshape(-1, 3)
        table = piece.find("Cells")
        own = _by_type(
            path,
            file.array(table, "connectivity").astype(np.int64),
            file.array(table, "offsets").astype(np.int64),
            file.array(table, "types").astype(np.int64),
        )
        for kind, rows in own.items():
            cells.setdefault(kind, []).extend(row + count for row in rows)
        points.append(here)
        count += len(here)
    if not points:
        raise ModelError(f"{path}: no Piece is in it")
    return np.concatenate(points), cells


def _read_obj(path: Path) -> tuple[np.ndarray, Cells]:
    points: list[list[float]] = []
    triangles: list[list[int]] = []
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        word = line.split("#")[0].split()
        try:
            if word and word[0] == "v":
                x, y, z = word[1:4]
                points.append([float(x), float(y), float(z)])
            elif word and word[0] == "f":
                corner = [int(one.split("/")[0]) for one in word[1:]]
                if 0 in corner:
                    raise ValueError("vertices count from 1; got 0")
                corner = [c - 1 if c > 0 else len(points) + c for c in corner]
                fan = zip(corner[1:-1], corner[2:], strict=True)
                triangles += [[corner[0], b, c] for b, c in fan]
        except ValueError as error:
            raise ModelError(f"{path}, line {number}: {error}") from None
    rows = np.array(points, dtype=float).reshape(-1, 3)
    return rows, {"triangle": [np.array(triangles, np.int64)]} if triangles else {}


def _read_stl(path: Path) -> tuple[np.ndarray, Cells]:
    data = path.read_bytes()
    count = int.from_bytes(data[80:84], "little") if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        kind = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("rest", "<u2")])
        corners = np.frombuffer(data, kind, count, 84)["corner"].reshape(-1, 3).astype(float)
    else:
        lines = data.decode("utf-8", "replace").splitlines()
        rows = [line.split()[1:4] for line in lines if line.strip().startswith("vertex")]
        if not rows or len(rows) % 3:
            raise ModelError(f"{path}: neither a binary nor a text .stl with triangles")
        try:
            corners = np.array(rows, dtype=float)
        except ValueError as error:
            raise ModelError(f"{path}: {error}") from None
    points, numbers = np.unique(corners, axis=0, return_inverse=True)  # corners that coincide
    return points, {"triangle": [numbers.reshape(-1, 3)]}


def _read_by_meshio(path: Path) -> tuple[np.ndarray, Cells]:
    try:
        import meshio
    except ImportError:
        known = ", ".join(_READERS)
        raise ModelError(
            f"{path}: files of the kind {path.suffix or 'without suffix'} are read by meshio, "
            f"which is not installed (pip install meshio); {known} need nothing"
        ) from None
    names = {"tetra": "tet", "hexahedron": "hex", "tetra10": "tet10", "triangle": "triangle"}
    try:
        mesh = meshio.read(path)
    except Exception as error:
        raise ModelError(f"{path}: {error}") from None
    points = np.zeros((len(mesh.points), 3))
    points[:, : mesh.points.shape[1]] = mesh.points
    cells: Cells = {}
    for block in mesh.cells:
        if block.type in names:
            cells.setdefault(names[block.type], []).append(np.asarray(block.data, np.int64))
    return points, cells


_READERS: dict[str, Callable[[Path], tuple[np.ndarray, Cells]]] = {
    ".msh": _read_msh, ".vtk": _read_vtk, ".vtu": _read_vtu, ".obj": _read_obj, ".stl": _read_stl,
}


def read_mesh(path: Any) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) and cells (m, k)."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"no mesh at {file}")
    try:
        return chosen(file, *_READERS.get(file.suffix.lower(), _read_by_meshio)(file))
    except ModelError:
        raise
    except UnicodeDecodeError as error:
        raise ModelError(f"{file}: its text is not UTF-8 ({error})") from None
    except (ValueError, IndexError, KeyError, OverflowError) as error:
        raise ModelError(f"{file}: words are missing, or are too many ({error})") from None


def _encoded(values: np.ndarray) -> str:
    data = np.ascontiguousarray(values).tobytes()
    return base64.b64encode(struct.pack("<Q", len(data)) + data).decode()


def _arrays(fields: dict[str, np.ndarray]) -> Iterator[str]:
    names = {"f8": "Float64", "i8": "Int64", "u1": "UInt8"}
    for name, values in fields.items():
        kind = names[values.dtype.str[1:]]
        parts = values.reshape(len(values), -1).shape[1]
        yield (
            f'<DataArray type="{kind}" Name="{name}" NumberOfComponents="{parts}" '
            f'format="binary">{_encoded(values)}</DataArray>'
        )


def write_vtu(
    path: Path, element: str, points: np.ndarray, cells: np.ndarray,
    of_points: dict[str, np.ndarray], of_cells: dict[str, np.ndarray],
) -> None:
    count = len(cells)
    table = {
        "connectivity": cells.astype("<i8").ravel(),
        "offsets": np.arange(1, count + 1, dtype="<i8") * cells.shape[1],
        "types": np.full(count, _VTK[element], np.uint8),
    }
    parts = [
        '<?xml version="1.0"?>',
        '<VTKFile type="UnstructuredGrid" version="1.0" byte_order="LittleEndian" '
        'header_type="UInt64"><UnstructuredGrid>',
        f'<Piece NumberOfPoints="{len(points)}" NumberOfCells="{count}">',
        "<PointData>", *_arrays(of_points), "</PointData>",
        "<CellData>", *_arrays(of_cells), "</CellData>",
        "<Points>", *_arrays({"points": points.astype("<f8")}), "</Points>",
        "<Cells>", *_arrays(table), "</Cells>",
        "</Piece></UnstructuredGrid></VTKFile>", "",
    ]
    path.write_text("\n".join(parts))
