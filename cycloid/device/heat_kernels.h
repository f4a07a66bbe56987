// The kernels of heat (system/heat.h) on a device: its matrix, conjugate gradients, and what the
// way back adds. Numbers of equations in brackets are those of system/heat.h.
//
// A y = b by conjugate gradients, preconditioned by the diagonal D of A:
//   r = b - A y,  z = D⁻¹ r                                                              (a)
//   p = z + β p,  β = (r·z) / (r·z before), 0 at first;  q = A p                         (b)
//   α = (r·z) / (p·q),  y += α p,  r -= α q                                              (c)
// until |r| <= kHeatTolerance |b|. Every eigenvalue of A is at least 1, so that |y - A⁻¹ b| <= |r|.
// (b) and (c) are one kernel each: a cell makes the new p of its neighbours again, from the old
// one, which is kept. A solve that is done leaves kernels that come after it nothing to do: the
// host sends several at once and looks from time to time. A residual is made anew before it is
// believed.
#pragma once

#include "cycloid/device/cell_block.h"
#include "cycloid/device/environment_run.h"
#include "cycloid/device/heat_image.h"

namespace cycloid::inline device {

inline constexpr double kHeatTolerance = 1e-10;
inline constexpr int kMostHeatIterations = 20000;

// Of a solve.
struct HeatSolve {
  double rz = 0, rz_before = 0, pq = 0;  // r·z, the one before, p·q
  double rr = 0, bb = 0;                 // |r|², |b|²
  double bad = 0;      // cells that conduct nothing, or cotangents that are not finite
  int iterations = 0;  // since the matrix was made
  int begun = 0, done = 0;
  unsigned arrived = 0;

  CYCLOID_HD bool solved() const { return rr <= kHeatTolerance * kHeatTolerance * bb; }
};

// A call's scratch: a HeatSolve, then arrays of cells.
struct HeatSpace {
  CYCLOID_HD HeatSpace(double* scratch, std::int64_t cells, int sides)
      : solve(reinterpret_cast<HeatSolve*>(scratch)) {
    double* at = scratch + kSolveNumbers;
    const auto take = [&](std::int64_t n) {
      double* const own = at;
      at += n;
      return own;
    };
    r = take(cells), p[0] = take(cells), p[1] = take(cells), q = take(cells), y = take(cells);
    inverse = take(cells);
    for (int a = 0; a < sides; ++a) g[a] = take(cells);
    partial = take(kMostCellSums * cell_blocks(cells));
    numbers = at - scratch;
  }
  CYCLOID_HD CellSums sums() const { return {partial, &solve->arrived}; }

  static constexpr std::int64_t kSolveNumbers = (sizeof(HeatSolve) + 15) / 16 * 2;
  HeatSolve* solve;
  double *r, *p[2], *q, *y, *inverse, *partial;
  double* g[kMostHeatSides] = {};  // h g_ij of cell i and the next one along each side, or 0
  std::int64_t numbers;
};

// visit(j, g) for the neighbours j of cell i that heat flows to, always in the same order. Where a
// side ends g is 0, so that nobody asks where cell i is.
template <class Visit>
CYCLOID_HD void each_face(const HeatImage& box, const HeatSpace& at, std::int64_t i,
                          const Visit& visit) {
  for (int a = 0; a < box.sides; ++a) {
    const std::int64_t before = i - box.stride[a], after = i + box.stride[a];
    if (const double g = before >= 0 ? at.g[a][before] : 0; g != 0) visit(before, g);
    if (const double g = at.g[a][i]; g != 0) visit(after, g);
  }
}

// (1) and (2): g and D⁻¹ at temperatures x. A cell that conducts nothing is counted.
struct HeatMatrix {
  HeatImage box;
  HeatSpace at;
  const double *x, *k;

  CYCLOID_HD double kappa(std::int64_t i) const { return k[i] * (1 + box.slope * x[i]); }     // (1)
  CYCLOID_HD double face(double a, double b) const { return box.h * (2 * a * b / (a + b)); }  // (2)
  CYCLOID_HD void operator()(const CellBlock& block) const {
    const auto make = [&](std::int64_t i, double* add) {
      const double own = kappa(i);
      double diagonal = 1;
      for (int a = 0; a < box.sides; ++a) {
        const int stride = box.stride[a], along = static_cast<int>(i) / stride % box.extent[a];
        if (along > 0) diagonal += face(kappa(i - stride), own);
        at.g[a][i] = along + 1 < box.extent[a] ? face(own, kappa(i + stride)) : 0;
        diagonal += at.g[a][i];
      }
      at.inverse[i] = 1 / diagonal;
      add[0] = own > 0 ? 0 : 1;
    };
    sum_cells<1>(block, box.cells, at.sums(), make, [&](const double* all) {
      at.solve->bad = all[0];
      at.solve->iterations = 0;
    });
  }
};

// (a), from y = b where `fresh`.
struct HeatResidual {
  HeatImage box;
  HeatSpace at;
  const double* b;
  bool fresh;

  CYCLOID_HD void operator()(const CellBlock& block) const {
    const double* const y = fresh ? b : at.y;
    const auto make = [&](std::int64_t i, double* add) {
      double Ay = y[i];
      each_face(box, at, i, [&](std::int64_t j, double g) { Ay += g * (y[i] - y[j]); });
      const double r = b[i] - Ay;
      at.r[i] = r;
      if (fresh) at.y[i] = b[i];
      add[0] = r * r, add[1] = r * at.inverse[i] * r, add[2] = b[i] * b[i];
    };
    sum_cells<3>(block, box.cells, at.sums(), make, [&](const double* all) {
      HeatSolve& s = *at.solve;
      s.rr = all[0], s.rz = all[1], s.bb = all[2];
      s.begun = 0;
      // What is not finite is done, too.
      s.done = !(s.rr > kHeatTolerance * kHeatTolerance * s.bb) || !(s.bad == 0);
    });
  }
};

// (b), from p[from] to the other.
struct HeatDirection {
  HeatImage box;
  HeatSpace at;
  int from;

  CYCLOID_HD void operator()(const CellBlock& block) const {
    const HeatSolve& s = *at.solve;
    if (s.done) return;
    const bool begun = s.begun != 0;
    const double beta = begun ? s.rz / s.rz_before : 0;
    const double* const before = at.p[from];
    const auto next = [&](std::int64_t i) {
      const double z = at.inverse[i] * at.r[i];
      return begun ? z + beta * before[i] : z;
    };
    const auto make = [&](std::int64_t i, double* add) {
      const double p = next(i);
      double q = p;
      each_face(box, at, i, [&](std::int64_t j, double g) { q += g * (p - next(j)); });
      at.p[1 - from][i] = p;
      at.q[i] = q;
      add[0] = p * q;
    };
    sum_cells<1>(block, box.cells, at.sums(), make,
                 [&](const double* all) { at.solve->pq = all[0]; });
  }
};

// (c), along p[along].
struct HeatAdvance {
  HeatImage box;
  HeatSpace at;
  int along;

  CYCLOID_HD void operator()(const CellBlock& block) const {
    if (at.solve->done) return;
    const double alpha = at.solve->rz / at.solve->pq;
    const auto make = [&](std::int64_t i, double* add) {
      at.y[i] += alpha * at.p[along][i];
      const double r = at.r[i] - alpha * at.q[i];
      at.r[i] = r;
      add[0] = r * r, add[1] = r * at.inverse[i] * r;
    };
    sum_cells<2>(block, box.cells, at.sums(), make, [&](const double* all) {
      HeatSolve& s = *at.solve;
      s.rz_before = s.rz, s.rr = all[0], s.rz = all[1];
      s.begun = 1;
      // A little more than asked, since r here is not quite b - A y.
      s.done = !(s.rr > 0.25 * kHeatTolerance * kHeatTolerance * s.bb) ||
               ++s.iterations >= kMostHeatIterations;
    });
  }
};

// (4) to (7), with λ in y: writes x_bar and adds to k_bar, which may be null. Counts cotangents
// that are not finite.
struct HeatGradient {
  HeatImage box;
  HeatSpace at;
  const double *x, *k, *next;
  double *x_bar, *k_bar;

  CYCLOID_HD void operator()(const CellBlock& block) const {
    const HeatMatrix matrix{box, at, x, k};
    const double* const lambda = at.y;
    const auto make = [&](std::int64_t i, double* add) {
      const double own = matrix.kappa(i);
      double kappa_bar = 0;
      each_face(box, at, i, [&](std::int64_t j, double) {
        const double g_bar = -box.h * (lambda[i] - lambda[j]) * (next[i] - next[j]);  // (5)
        const double other = matrix.kappa(j), share = other / (own + other);
        kappa_bar += g_bar * 2 * share * share;  // (6)
      });
      x_bar[i] = lambda[i] + kappa_bar * k[i] * box.slope;  // (4), (7)
      if (k_bar) k_bar[i] += kappa_bar * (1 + box.slope * x[i]);
      add[0] = x_bar[i] - x_bar[i] == 0 ? 0 : 1;
    };
    sum_cells<1>(block, box.cells, at.sums(), make,
                 [&](const double* all) { at.solve->bad = all[0]; });
  }
};

// to += from.
struct HeatAdd {
  std::int64_t cells;
  const double* from;
  double* to;

  CYCLOID_HD void operator()(const CellBlock& block) const {
    block.cells(cells, [&](std::int64_t i) { to[i] += from[i]; });
  }
};

}  // namespace cycloid::inline device
