// What all rows of a constraint problem answer to a residual, and products with J.
//
//   r = J x - a_ref                                                                           (1)
//   f = -∇s(r),   K = ∇²s(r)                                                                  (2)
//   y -= Jᵀ f                                                                                 (3)
//   T = K J,   H_IJ = M_IJ + Σ_groups J_Iᵀ T_J + (K of diagonal rows on the diagonal)         (4)
// K of a group of single rows is diagonal, that of a contact is a ConeStiffness.
#pragma once

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/contact/contact_laws.h"
#include "cycloid/rigid/solver/block_factor.h"

namespace cycloid::inline rigid {

// Forces and stiffness of every row (all_rows each).
template <class S>
struct ConstraintResponse {
  S* f;
  S *diagonal, *cross, *z;  // of K; the first cross of a contact is β
};

// K of a contact, read back.
template <int n, class S>
CYCLOID_INLINE ConeStiffness<S, n> cone_stiffness(const ConstraintResponse<S>& at, int row) {
  ConeStiffness<S, n> K;
  K.beta = at.cross[row];
#pragma GCC unroll 6
  for (int k = 0; k < n; ++k) {
    K.diagonal[k] = at.diagonal[row + k];
    K.cross[k] = at.cross[row + k];
    K.z[k] = at.z[row + k];
  }
  return K;
}

// J x.
template <class S>
CYCLOID_HD void row_products(const ConstraintProblem<S>& problem, const S* x, S* out) {
  for (int i = 0; i < problem.diagonals; ++i) {
    out[i] = problem.sign[i] * x[problem.diagonal[i].place];
  }
  const int size = problem.size();
  for (int g = 0; g < problem.groups; ++g) {
    const int row = problem.group_row(g);
    const S* J = problem.jacobian(g);
    for (int k = 0; k < problem.group[g].rows; ++k, J += size) {
      S even = S(0), odd = S(0);
      for_each(problem.support(g), [&](int I) {
        const S *j = J + I * kBlock, *y = x + I * kBlock;
        even += j[0] * y[0];
        odd += j[1] * y[1];
        even += j[2] * y[2];
      });
      out[row + k] = even + odd;
    }
  }
}

// (1).
template <class S>
CYCLOID_HD void row_residuals(const ConstraintProblem<S>& problem, const S* x, S* r) {
  row_products(problem, x, r);
  for (int i = 0; i < problem.all_rows(); ++i) r[i] -= problem.a_ref[i];
}

// (3).
template <class S>
CYCLOID_HD void subtract_row_forces(const ConstraintProblem<S>& problem, const S* f, S* y) {
  for (int i = 0; i < problem.diagonals; ++i) {
    y[problem.diagonal[i].place] -= problem.sign[i] * f[i];
  }
  const int size = problem.size();
  for (int g = 0; g < problem.groups; ++g) {
    const int row = problem.group_row(g), rows = problem.group[g].rows;
    const S* J = problem.jacobian(g);
    for_each(problem.support(g), [&](int I) {
      const S* j = J + I * kBlock;
      S y0 = y[I * kBlock], y1 = y[I * kBlock + 1], y2 = y[I * kBlock + 2];
      for (int k = 0; k < rows; ++k, j += size) {
        y0 -= j[0] * f[row + k];
        y1 -= j[1] * f[row + k];
        y2 -= j[2] * f[row + k];
      }
      y[I * kBlock] = y0, y[I * kBlock + 1] = y1, y[I * kBlock + 2] = y2;
    });
  }
}

// (2). Returns the lanes in which some stiffness is not what it was in `at`, or a row of friction
// loss slips to the other side: the lanes in which s is not the same quadratic function as there.
template <class S>
CYCLOID_STAGE Mask<S> respond(const ConstraintProblem<S>& problem, const S* r,
                              const ConstraintResponse<S>& at) {
  Mask<S> changed = Mask<S>(false);
  const auto put = [&](S& old, const S& now) {
    changed = changed | (old != now);
    old = now;
  };
  const auto row_law = [&](RowLaw law, int i) {
    const RowResponse<S> now = row_response(law, problem.D[i], problem.friction[i], r[i]);
    if (law == RowLaw::friction_loss) {
      changed = changed | ((now.K == S(0)) & (at.f[i] != now.f));
    }
    at.f[i] = now.f;
    put(at.diagonal[i], now.K);
  };
  for_each_law(problem, row_law, [&]<class Law, int n>(Law, RowCount<n>, int row) {
    const ConeResponse<S, n> now =
        Law::template response<n>(problem.D + row, problem.friction + row, r + row);
    put(at.cross[row], now.K.beta);
#pragma GCC unroll 6
    for (int k = 0; k < n; ++k) {
      at.f[row + k] = now.f[k];
      put(at.diagonal[row + k], now.K.diagonal[k]);
      if (k == 0) continue;
      put(at.cross[row + k], now.K.cross[k]);
      at.z[row + k] = now.K.z[k];
    }
  });
  return changed;
}

// s.
template <class S>
S row_costs(const ConstraintProblem<S>& problem, const S* r) {
  S sum = S(0);
  const auto add = [&](RowLaw law, int i) {
    sum += row_cost(law, problem.D[i], problem.friction[i], r[i]);
  };
  for_each_law(problem, add, [&]<class Law, int n>(Law, RowCount<n>, int row) {
    sum += Law::template cost<n>(problem.D + row, problem.friction + row, r + row);
  });
  return sum;
}

// T of (4) for one group.
template <class S>
CYCLOID_HD void multiply_stiffness(const ConstraintProblem<S>& problem, int g,
                                   const ConstraintResponse<S>& at, S* T) {
  const int row = problem.group_row(g), rows = problem.group[g].rows, size = problem.size();
  const S* J = problem.jacobian(g);
  const RowLaw law = problem.group[g].law;
  if (!is_cone(law)) {
    for_each(problem.support(g), [&](int I) {
      for (int k = 0; k < rows; ++k) {
        const S *j = J + k * size + I * kBlock, K = at.diagonal[row + k];
        S* t = T + k * size + I * kBlock;
#pragma GCC unroll 3
        for (int i = 0; i < kBlock; ++i) t[i] = K * j[i];
      }
    });
    return;
  }
  visit_law(ContactLaws{}, law, [&]<class Law>(Law) {
    with_row_count(rows, [&]<int n>(RowCount<n>) {
      const ConeStiffness<S, n> K = cone_stiffness<n>(at, row);
      for_each(problem.support(g), [&](int I) {
#pragma GCC unroll 3
        for (int i = I * kBlock; i < (I + 1) * kBlock; ++i) {
          S x[n], y[n];
#pragma GCC unroll 6
          for (int k = 0; k < n; ++k) x[k] = J[k * size + i];
          if constexpr (Law::kArrow) {
            K.multiply_arrow(x, y);
          } else {
            K.multiply(x, y);
          }
#pragma GCC unroll 6
          for (int k = 0; k < n; ++k) T[k * size + i] = y[k];
        }
      });
    });
  });
}

}  // namespace cycloid::inline rigid
