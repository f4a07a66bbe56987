// The stiffness of a cell, K_ab of cell.h (4), exact or made positive.
//
// C = ∂P/∂F is a symmetric 9 x 9 matrix at each point. Where it is made positive, its negative
// eigenvalues are put to zero (TeranEtAl2005): a direction found with it goes downhill, while only
// the exact one has the derivative of the solution. The eigenvalues come from Jacobi's rotations,
// in lanes.
#pragma once

#include "cycloid/soft/element/cell.h"

namespace cycloid::inline soft {

// The part of a symmetric matrix that belongs to its positive eigenvalues.
template <class S, int N>
[[gnu::noinline]] void keep_positive(Mat<S, N, N>& A) {
  Mat<S, N, N> V = identity_matrix<S, N>();
  for (int sweep = 0; sweep < 10; ++sweep) {
    for (int p = 0; p < N; ++p) {
      for (int q = p + 1; q < N; ++q) {
        // The rotation that clears A(p, q).
        const S off = A(p, q), half = S(0.5) * (A(q, q) - A(p, p));
        const S length = sqrt(half * half + off * off), base = abs(half) + length;
        const S t =
            select(base > S(0), copysign(S(1), half) * off / select(base > S(0), base, S(1)), S(0));
        const S c = S(1) / sqrt(S(1) + t * t), s = t * c;
        for (int k = 0; k < N; ++k) {
          const S a = A(k, p), b = A(k, q);
          A(k, p) = c * a - s * b, A(k, q) = s * a + c * b;
        }
        for (int k = 0; k < N; ++k) {
          const S a = A(p, k), b = A(q, k), u = V(k, p), v = V(k, q);
          A(p, k) = c * a - s * b, A(q, k) = s * a + c * b;
          V(k, p) = c * u - s * v, V(k, q) = s * u + c * v;
        }
      }
    }
  }
  S value[N];
  for (int k = 0; k < N; ++k) value[k] = positive_part(A(k, k));
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j <= i; ++j) {
      S sum(0);
      for (int k = 0; k < N; ++k) sum += V(i, k) * value[k] * V(j, k);
      A(i, j) = A(j, i) = sum;
    }
  }
}

// Of the nodes from kFrom on: K(3a + i, 3b + j) for a <= b alone; the rest is not written.
template <class E, class S, int kFrom = 0>
void cell_stiffness(const CellLaw& law, const Cell<E, S>& cell, bool positive,
                    Mat<S, 3 * (E::kNodes - kFrom), 3 * (E::kNodes - kFrom)>& K) {
  constexpr int N = E::kNodes - kFrom;
  for (S& k : K.e) k = S(0);
  for (int q = 0; q < E::kPoints; ++q) {
    const auto at = rest_point<E, S>(cell.rest, q);
    const Mat3<S> F = gradient_at(at, cell.now);
    Mat<S, 9, 9> C;
    if (law.elastic) {
      piola_hessian(law.material, cell.c, F, C);
    } else {
      for (S& c : C.e) c = S(0);
    }
    if (law.befores > 0) {
      const Mat3<S> E_ref = strain_before(law, at, cell);
      for (int k = 0; k < 9; ++k) {
        Mat3<S> dF = F * S(0);
        dF.e[k] = S(1);
        const Mat3<S> dP = viscous_stress_tangent(cell.c, cell.z, F, E_ref, dF);
        for (int i = 0; i < 9; ++i) C(i, k) += dP.e[i];
      }
    }
    if (positive) keep_positive(C);
    for (int b = 0; b < N; ++b) {
      // D(ik, j) = Σ_l C(ik, jl) B_b[l] w
      S D[9][3];
      const Vec3<S> B = at.slope[kFrom + b] * at.volume;
      for (int r = 0; r < 9; ++r) {
        for (int j = 0; j < 3; ++j) {
          D[r][j] = C(r, 3 * j) * B.x + C(r, 3 * j + 1) * B.y + C(r, 3 * j + 2) * B.z;
        }
      }
      for (int a = 0; a <= b; ++a) {
        const Vec3<S>& A = at.slope[kFrom + a];
        for (int i = 0; i < 3; ++i) {
          for (int j = 0; j < 3; ++j) {
            K(3 * a + i, 3 * b + j) +=
                A.x * D[3 * i][j] + A.y * D[3 * i + 1][j] + A.z * D[3 * i + 2][j];
          }
        }
      }
    }
  }
}

}  // namespace cycloid::inline soft
