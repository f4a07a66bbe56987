#include "cycloid/learn/moments.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "cycloid/adjoint/linearise.h"
#include "cycloid/base/error.h"

namespace cycloid::inline learn {
namespace {

using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Rows> block(const std::vector<double>& all, std::int64_t r, std::int64_t rows,
                             std::int64_t columns) {
  return Eigen::Map<const Rows>(all.data() + r * rows * columns, rows, columns);
}

// (4), and the deviations of coordinates.
void write_moments(const Space& space, const double* x, const Rows& P, const Rows& S, double* C,
                   double* std) {
  const std::int64_t n = space.size(), nt = space.tangent_size();
  Rows sum = P;
  if (S.cols() > 0) sum += S * S.transpose();  // (4)
  Eigen::Map<Rows>(C, nt, nt) = sum;
  Rows V(n, nt);
  std::vector<double> unit(static_cast<std::size_t>(nt), 0.0), column(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < nt; ++j) {
    unit[static_cast<std::size_t>(j)] = 1;
    space.velocity(x, unit.data(), column.data());
    unit[static_cast<std::size_t>(j)] = 0;
    for (std::int64_t i = 0; i < n; ++i) V(i, j) = column[static_cast<std::size_t>(i)];
  }
  for (std::int64_t i = 0; i < n; ++i) {
    std[i] = std::sqrt(std::max(0.0, (V.row(i) * sum).dot(V.row(i))));
  }
}

}  // namespace

MomentRun propagate_moments(const System& given, std::span<const double> x0,
                            std::span<const double> controls, std::int64_t steps,
                            const MomentOptions& o) {
  const System system = given.in_double();
  const Space& space = system.states();
  const std::int64_t n = space.size(), nt = space.tangent_size(), m = system.inputs().size(),
                     rows = static_cast<std::int64_t>(x0.size()) / n,
                     q = static_cast<std::int64_t>(o.directions.size()) /
                         std::max(1, system.parameters().size());
  if (!o.start.empty() && static_cast<std::int64_t>(o.start.size()) != nt * nt) {
    throw Error(message("the start's covariance has shape (", nt, ", ", nt, "); got ",
                        o.start.size(), " numbers"));
  }
  if (static_cast<std::int64_t>(x0.size()) != rows * n) {
    throw Error(message("x0 has rows of ", n, " numbers; got ", x0.size()));
  }
  if (!controls.empty() && static_cast<std::int64_t>(controls.size()) != rows * steps * m) {
    throw Error(message("the inputs have shape (", rows, ", ", steps, ", ", m, "); got ",
                        controls.size(), " numbers"));
  }
  MomentRun out;
  out.mean.resize(static_cast<std::size_t>(rows * (steps + 1) * n)), out.std = out.mean;
  out.covariance.resize(static_cast<std::size_t>(rows * (steps + 1) * nt * nt));
  std::vector<double> x(x0.begin(), x0.end()), u;
  for (std::int64_t r = 0; r < rows; ++r) space.normalise(x.data() + r * n);
  const Rows first = o.start.empty() ? Rows(Rows::Zero(nt, nt))
                                     : Rows(Eigen::Map<const Rows>(o.start.data(), nt, nt));
  std::vector<Rows> P(static_cast<std::size_t>(rows), first),
      S(static_cast<std::size_t>(rows), Rows(Rows::Zero(nt, q)));
  const auto keep = [&](std::int64_t t) {
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = r * (steps + 1) + t;
      const auto k = static_cast<std::size_t>(r);
      std::copy_n(x.begin() + r * n, n, out.mean.begin() + at * n);
      write_moments(space, x.data() + r * n, P[k], S[k], out.covariance.data() + at * nt * nt,
                    out.std.data() + at * n);
    }
  };
  keep(0);
  LineariseOptions derive;
  derive.params = q > 0, derive.directions = o.directions;
  derive.threads = o.threads, derive.keep_going = o.keep_going, derive.unsolved = true;
  for (std::int64_t t = 0; t < steps; ++t) {
    u.clear();
    for (std::int64_t r = 0; r < rows && !controls.empty(); ++r) {
      const double* const row = controls.data() + (r * steps + t) * m;
      u.insert(u.end(), row, row + m);
    }
    derive.step = t;
    const Linearisation<double> lin = linearise(system, x, u, o.params, derive);
    std::vector<double> s;
    if (o.noise) {
      s = o.noise->stated(o.noise->features(x, u, static_cast<std::size_t>(rows)), o.noise->weights,
                          o.threads);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto k = static_cast<std::size_t>(r);
      const auto A = block(lin.A, r, nt, nt);
      P[k] = (A * P[k] * A.transpose()).eval();  // (3)
      for (std::int64_t i = 0; i < nt && o.noise; ++i) {
        const double own = s[static_cast<std::size_t>(r * nt + i)];
        P[k](i, i) += own * own;
      }
      if (q > 0) S[k] = (A * S[k] + block(lin.P, r, nt, q)).eval();  // (2)
    }
    x = lin.next;  // (1)
    keep(t + 1);
  }
  return out;
}

}  // namespace cycloid::inline learn
