// GridBox: a box of cells with a staggered grid (HarlowWelch1965), and what its sides are.
//
// Cell (i, j, k) spans [i h, (i+1) h] along each axis. The velocity component of an axis lives at
// the faces across it, the one of index i at x = i h; pressure lives at cell centres. Along its own
// axis a component has n + 1 faces, those on the sides included, and n where the axis is periodic.
//
// A row of states holds the components one after another, each in C order. Inside, a component is
// an array with kPad cells more at each end of every axis (kPad + 1 at the upper: the last face),
// the same strides for all: index(i, j, k) is a cell's number, and of its lower faces. A flow in
// the plane has axes 1 and 2 here, and its first axis has one cell and no neighbours.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace cycloid::inline fluid {

// Places and axes are signed; the standard library's arrays count with size_t.
inline std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

enum class SideKind { periodic, wall, slip, inflow, outflow };

// "left", "right", "bottom", "top", "back", "front": axis by axis, low side first.
const char* side_name(int axis, int high);

struct GridBox {
  static constexpr int kPad = 2;

  // shape: two or three numbers of cells; sides: (axes, 2). Throws ModelError on what is no box.
  GridBox(const std::vector<int>& shape, const std::vector<double>& size,
          const std::vector<std::array<SideKind, 2>>& sides);
  GridBox() = default;

  int dimensions = 2, first = 1;  // axes are first … 2
  std::array<int, 3> n = {1, 1, 1};
  std::array<double, 3> size = {1, 1, 1}, h = {1, 1, 1};  // [m]
  std::array<std::array<SideKind, 2>, 3> side = {};
  std::array<int, 3> pad = {}, extent = {1, 1, 1};
  std::array<std::ptrdiff_t, 3> stride = {};
  std::ptrdiff_t numbers = 1;      // of an array
  std::array<int, 4> offset = {};  // of each component in a row of states, and their total
  int cells = 1;

  bool periodic(int axis) const { return side[u(axis)][0] == SideKind::periodic; }
  bool has(SideKind kind) const;
  // Faces of a component along an axis.
  int count(int component, int axis) const {
    return n[u(axis)] + (component == axis && !periodic(axis) ? 1 : 0);
  }
  std::ptrdiff_t index(int i, int j, int k) const {
    return (i + pad[0]) * stride[0] + (j + pad[1]) * stride[1] + (k + pad[2]) * stride[2];
  }
  int states() const { return offset[3]; }
  int rows(int component) const { return count(component, 0) * count(component, 1); }
  double volume() const { return h[0] * h[1] * h[2]; }  // of a cell [m³; in the plane m²]
  // Faces of a side, in C order.
  int side_faces(int axis) const { return cells / n[u(axis)]; }

  // "face (3, 17)", "cell (3, 17)"
  std::string place(const char* what, int i, int j, int k) const;

  static constexpr std::size_t u(int i) { return static_cast<std::size_t>(i); }
};

}  // namespace cycloid::inline fluid
