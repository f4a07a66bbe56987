"""Fields on a regular grid as VTK image data (.vti), which ParaView reads."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from cycloid._core import Error


def write_image(
    path: str | os.PathLike[str], spacing: Sequence[float], fields: Mapping[str, Any]
) -> None:
    """Writes fields at the points of a grid of one to three axes from the origin: {name: (*shape)
    or (*shape, components)}. spacing: of the points along each axis [m]. Vectors of one or two
    components get zeros for the rest: VTK's have three.
    """
    axes = len(spacing)
    shapes = {np.shape(values)[:axes] for values in fields.values()}
    if len(shapes) != 1 or not 1 <= axes <= 3:
        raise Error(f"an image has fields of one shape on one to three axes; got {sorted(shapes)}")
    (shape,) = shapes
    full = (*shape, *(1,) * (3 - axes))
    extent = " ".join(f"0 {n - 1}" for n in full)
    step = " ".join(repr(float(s)) for s in (*spacing, *(1.0,) * (3 - axes)))
    lines = [
        '<?xml version="1.0"?>',
        '<VTKFile type="ImageData" version="1.0" byte_order="LittleEndian" header_type="UInt64">',
        f'<ImageData WholeExtent="{extent}" Origin="0 0 0" Spacing="{step}">',
        f'<Piece Extent="{extent}"><PointData>',
    ]
    for name, values in fields.items():
        rows = np.asarray(values)
        single = rows.dtype == np.float32
        rows = rows.reshape(*full, *rows.shape[axes:])
        if rows.ndim == 4:
            rows = np.concatenate([rows, np.zeros((*full, 3 - rows.shape[3]), rows.dtype)], axis=3)
        # The first axis is VTK's fastest.
        numbers = np.swapaxes(rows, 0, 2).astype("<f4" if single else "<f8").tobytes()
        data = base64.b64encode(np.uint64(len(numbers)).astype("<u8").tobytes() + numbers).decode()
        lines.append(
            f'<DataArray type="Float{32 if single else 64}" Name={quoteattr(name)} '
            f'NumberOfComponents="{3 if rows.ndim == 4 else 1}" format="binary">{data}</DataArray>'
        )
    lines.append("</PointData></Piece></ImageData></VTKFile>\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
