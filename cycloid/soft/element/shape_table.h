// Shapes of elements: where they are integrated, and the slopes of their shape functions there.
//
//   Tet4    linear tetrahedron, one point
//   Hex8    trilinear hexahedron on [-1, 1]³, 2 x 2 x 2 points of Gauss
//   Tet10   quadratic tetrahedron, four points (exact to degree 2)
//   HexEnhanced   Hex8 with three inner nodes, whose gradients are the enhanced ones of
//                 SimoRifai1990: neither bending nor change of volume locks it (enhanced_cell.h)
// Nodes are in VTK's order; Tet10: corners, then the edges 01 12 02 03 13 23. `share` says how much
// of a point's mass a node gets: the shape function there for the linear ones, and for Tet10, whose
// corners would get less than nothing, shares in proportion to the diagonal of the consistent mass
// (HintonEtAl1976): 1/36 at a corner, 4/27 at an edge. The first kOuter nodes are vertices of the
// mesh, the others are inner ones.
#pragma once

#include <array>

namespace cycloid::inline soft {

enum class ElementKind { tet, hex, tet10 };
enum class Formulation { standard, locking_free };

template <int kN, int kQ>
struct ShapeTable {
  std::array<double, kQ> weight{};                                // in the element's own frame
  std::array<std::array<std::array<double, 3>, kN>, kQ> slope{};  // of each shape function
  std::array<std::array<double, kN>, kQ> share{};                 // of the mass; sums to 1
};

struct Tet4 {
  static constexpr int kNodes = 4, kOuter = 4, kPoints = 1;
  static constexpr ShapeTable<4, 1> table() {
    ShapeTable<4, 1> t;
    t.weight[0] = 1.0 / 6;
    for (int a = 0; a < 4; ++a) {
      for (int i = 0; i < 3; ++i) t.slope[0][a][i] = a == 0 ? -1 : (a == i + 1 ? 1 : 0);
      t.share[0][a] = 0.25;
    }
    return t;
  }
};

struct Hex8 {
  static constexpr int kNodes = 8, kOuter = 8, kPoints = 8;
  static constexpr int kCorner[8][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                        {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};
  static constexpr ShapeTable<8, 8> table() {
    constexpr double g = 0.57735026918962576451;  // 1/√3
    ShapeTable<8, 8> t;
    for (int q = 0; q < 8; ++q) {
      t.weight[q] = 1;
      for (int a = 0; a < 8; ++a) {
        double f[3] = {}, d[3] = {};
        for (int i = 0; i < 3; ++i) {
          f[i] = 0.5 * (1 + kCorner[a][i] * (kCorner[q][i] * g));
          d[i] = 0.5 * kCorner[a][i];
        }
        t.slope[q][a] = {d[0] * f[1] * f[2], f[0] * d[1] * f[2], f[0] * f[1] * d[2]};
        t.share[q][a] = f[0] * f[1] * f[2];
      }
    }
    return t;
  }
};

struct HexEnhanced {
  static constexpr int kNodes = 11, kOuter = 8, kPoints = 8;
  static constexpr ShapeTable<11, 8> table() {
    const ShapeTable<8, 8> outer = Hex8::table();
    ShapeTable<11, 8> t;
    for (int q = 0; q < 8; ++q) {
      t.weight[q] = outer.weight[q];
      for (int a = 0; a < 8; ++a) {
        t.slope[q][a] = outer.slope[q][a];
        t.share[q][a] = outer.share[q][a];
      }
      for (int i = 0; i < 3; ++i) t.slope[q][8 + i][i] = Hex8::kCorner[q][i];
    }
    return t;
  }
};

struct Tet10 {
  static constexpr int kNodes = 10, kOuter = 10, kPoints = 4;
  static constexpr int kEdge[6][2] = {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {1, 3}, {2, 3}};
  static constexpr ShapeTable<10, 4> table() {
    constexpr double far = 0.13819660112501051518, near = 0.58541019662496845446;  // (5 ∓ √5)/20
    const ShapeTable<4, 1> linear = Tet4::table();
    ShapeTable<10, 4> t;
    for (int q = 0; q < 4; ++q) {
      t.weight[q] = 1.0 / 24;
      double l[4] = {far, far, far, far};
      l[q] = near;
      for (int i = 0; i < 3; ++i) {
        for (int a = 0; a < 4; ++a) t.slope[q][a][i] = (4 * l[a] - 1) * linear.slope[0][a][i];
        for (int e = 0; e < 6; ++e) {
          const int a = kEdge[e][0], b = kEdge[e][1];
          t.slope[q][4 + e][i] = 4 * (l[a] * linear.slope[0][b][i] + l[b] * linear.slope[0][a][i]);
        }
      }
      for (int a = 0; a < 10; ++a) t.share[q][a] = a < 4 ? 1.0 / 36 : 4.0 / 27;
    }
    return t;
  }
};

template <class E>
inline constexpr auto kShape = E::table();

}  // namespace cycloid::inline soft
