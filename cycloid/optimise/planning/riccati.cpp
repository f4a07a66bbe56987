#include "cycloid/optimise/planning/riccati.h"

#include <algorithm>
#include <cmath>

namespace cycloid::inline optimise {

bool riccati(const LinearQuadratic& lq, const Regularisation& regularisation, Gains& out) {
  const int n = lq.states, m = lq.inputs;
  const std::int64_t T = lq.steps, nn = std::int64_t{n} * n, mn = std::int64_t{m} * n,
                     mm = std::int64_t{m} * m;
  const Products product = products();
  if (std::ssize(out.k) != T * m) out.k.assign(T * m, 0.0);
  out.K.assign(T * mn, 0.0);
  out.linear = out.quadratic = out.slope = 0;

  std::vector<double> Vx(lq.lx + T * n, lq.lx + (T + 1) * n),
      Vxx(lq.lxx + T * nn, lq.lxx + (T + 1) * nn);
  std::vector<double> w(n), VA(nn), VB(mn), Qx(n), Qu(m), Qxx(nn), Qux(mn), Quu(mm), Quu_reg(mm),
      Qux_reg(mn), W(mn), half(mn), rows;
  BoxQp qp(m);
  for (std::int64_t t = T - 1; t >= 0; --t) {
    const double *const A = lq.A + t * nn, *const B = lq.B + t * mn;
    w = Vx;
    if (lq.gaps) product.add(n, 1, n, Vxx.data(), lq.gaps + t * n, w.data());  // (2)
    std::fill(VA.begin(), VA.end(), 0.0);
    std::fill(VB.begin(), VB.end(), 0.0);
    product.add(n, n, n, Vxx.data(), A, VA.data());
    product.add(n, m, n, Vxx.data(), B, VB.data());
    std::copy_n(lq.lx + t * n, n, Qx.data());
    std::copy_n(lq.lu + t * m, m, Qu.data());
    std::copy_n(lq.lxx + t * nn, nn, Qxx.data());
    std::copy_n(lq.luu + t * mm, mm, Quu.data());
    if (lq.lux) {
      std::copy_n(lq.lux + t * mn, mn, Qux.data());
    } else {
      std::fill(Qux.begin(), Qux.end(), 0.0);
    }
    product.add_transposed(n, 1, n, A, w.data(), Qx.data());  // (3)
    product.add_transposed(m, 1, n, B, w.data(), Qu.data());
    product.add_symmetric(n, n, A, VA.data(), Qxx.data());  // (4)
    product.add_transposed(m, n, n, B, VA.data(), Qux.data());
    product.add_symmetric(m, n, B, VB.data(), Quu.data());

    const double* reg_ux = Qux.data();
    const bool on_state = regularisation.on_state && regularisation.mu > 0;
    Quu_reg = Quu;
    if (on_state) {
      std::vector<double> scaled(B, B + mn);
      for (double& v : scaled) v *= regularisation.mu;
      Qux_reg = Qux;
      product.add_transposed(m, n, n, scaled.data(), A, Qux_reg.data());  // (8)
      product.add_transposed(m, m, n, scaled.data(), B, Quu_reg.data());
      reg_ux = Qux_reg.data();
    } else {
      for (int i = 0; i < m; ++i) Quu_reg[i * m + i] += regularisation.mu;  // (8)
    }

    double* const k = out.k.data() + t * m;
    if (!qp.solve(Quu_reg.data(), Qu.data(), lq.low ? lq.low + t * m : nullptr,
                  lq.high ? lq.high + t * m : nullptr, k)) {
      return false;
    }
    const std::vector<int>& free = qp.free();
    double* const K = out.K.data() + t * mn;
    rows.clear();
    for (const int i : free) rows.insert(rows.end(), reg_ux + i * n, reg_ux + (i + 1) * n);
    qp.apply_inverse(n, rows.data());
    for (std::size_t i = 0; i < free.size(); ++i) {
      for (int j = 0; j < n; ++j) K[free[i] * n + j] = -rows[i * n + j];  // (5)
    }
    for (const int i : free) out.slope = std::max(out.slope, std::abs(Qu[i]));

    std::vector<double> Qk(m, 0.0);  // Q_uu k
    product.add(m, 1, m, Quu.data(), k, Qk.data());
    for (int i = 0; i < m; ++i) {
      out.linear += k[i] * Qu[i];
      out.quadratic += k[i] * Qk[i];
      Qk[i] += Qu[i];
    }
    Vx = Qx;
    product.add_transposed(n, 1, m, K, Qk.data(), Vx.data());  // (6)
    product.add_transposed(n, 1, m, Qux.data(), k, Vx.data());
    Vxx = Qxx;
    W = Qux;
    if (on_state) {
      // Kᵀ W + Wᵀ K with W = Q_ux + ½ Q_uu K: each half is not symmetric, their sum is.
      for (std::size_t i = 0; i < W.size(); ++i) half[i] = 0.5 * K[i];
      product.add(m, n, m, Quu.data(), half.data(), W.data());
      product.add_transposed(n, n, m, K, W.data(), Vxx.data());  // (7)
      product.add_transposed(n, n, m, W.data(), K, Vxx.data());
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) {
          const double mean = 0.5 * (Vxx[i * n + j] + Vxx[j * n + i]);
          Vxx[i * n + j] = Vxx[j * n + i] = mean;
        }
      }
    } else {
      for (std::size_t i = 0; i < W.size(); ++i) W[i] -= regularisation.mu * K[i];
      product.add_symmetric(n, m, W.data(), K, Vxx.data());  // (7)
    }
  }
  return std::isfinite(out.linear) && std::isfinite(out.quadratic);
}

}  // namespace cycloid::inline optimise
