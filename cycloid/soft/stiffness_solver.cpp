#include "cycloid/soft/stiffness_solver.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline soft {
namespace {

constexpr int kVertices = 2048;  // of a chunk
constexpr int kMostIterations = 20000;

int chunks_of(const SolidPlan& plan) { return (plan.vertices() + kVertices - 1) / kVertices; }

// Calls work(chunk, first vertex, last) -> number, on several threads; the sum in one order.
template <class Work>
double sum_over(const SolidPlan& plan, int threads, std::vector<double>& of_chunks, Work&& work) {
  of_chunks.resize(static_cast<std::size_t>(chunks_of(plan)));
  parallel_for(of_chunks.size(), threads, [&](std::size_t k) {
    const int begin = static_cast<int>(k) * kVertices;
    of_chunks[k] = work(static_cast<int>(k), begin, std::min(begin + kVertices, plan.vertices()));
  });
  double sum = 0;
  for (const double s : of_chunks) sum += s;
  return sum;
}

// Rows of the vertices begin … end of y = H x; returns their part of x·y.
double product(const SolidPlan& plan, const double* values, const double* x, int begin, int end,
               double* y) {
  double sum = 0;
  for (int v = begin; v < end; ++v) {
    const std::int64_t first = plan.first[static_cast<std::size_t>(v)],
                       count = plan.first[static_cast<std::size_t>(v) + 1] - first;
    const double* const a = values + 9 * first;
    const double *const b = a + 3 * count, *const c = b + 3 * count;
    const int* const near = plan.neighbour.data() + first;
    double row[3] = {};
    for (std::int64_t k = 0; k < count; ++k) {
      const double* const p = x + 3 * static_cast<std::int64_t>(near[k]);
      for (int i = 0; i < 3; ++i) {
        row[0] += a[3 * k + i] * p[i];
        row[1] += b[3 * k + i] * p[i];
        row[2] += c[3 * k + i] * p[i];
      }
    }
    for (int r = 0; r < 3; ++r) {
      const std::int64_t at = 3 * static_cast<std::int64_t>(v) + r;
      y[at] = row[r];
      sum += row[r] * x[at];
    }
  }
  return sum;
}

// The inverse of a symmetric matrix; false where it is not positive definite.
bool invert(const double (&m)[3][3], double* out) {
  const double c00 = m[1][1] * m[2][2] - m[1][2] * m[1][2],
               c01 = m[0][2] * m[1][2] - m[0][1] * m[2][2],
               c02 = m[0][1] * m[1][2] - m[0][2] * m[1][1],
               c11 = m[0][0] * m[2][2] - m[0][2] * m[0][2],
               c12 = m[0][1] * m[0][2] - m[0][0] * m[1][2],
               c22 = m[0][0] * m[1][1] - m[0][1] * m[0][1],
               det = m[0][0] * c00 + m[0][1] * c01 + m[0][2] * c02;
  if (!(m[0][0] > 0) || !(c22 > 0) || !(det > 0)) return false;
  const double all[9] = {c00, c01, c02, c01, c11, c12, c02, c12, c22};
  for (int i = 0; i < 9; ++i) out[i] = all[i] / det;
  return true;
}

}  // namespace

StiffnessSolver::StiffnessSolver(const SolidPlan& plan) : plan_(plan) {
  if (plan.dissection) cholesky_ = std::make_unique<CholeskyFactor>(plan.dissection);
}

bool StiffnessSolver::factor(std::vector<double>& values, int threads) {
  if (cholesky_) return cholesky_->factor(values, threads) < 0;
  values_.swap(values);
  inverse_.resize(9 * static_cast<std::size_t>(plan_.vertices()));
  std::vector<double> failed;
  return sum_over(plan_, threads, failed, [&](int, int begin, int end) {
           int bad = 0;
           for (int v = begin; v < end; ++v) {
             const std::int64_t first = plan_.first[static_cast<std::size_t>(v)],
                                last = plan_.first[static_cast<std::size_t>(v) + 1],
                                count = last - first;
             const int* const near = plan_.neighbour.data();
             const std::int64_t own = std::lower_bound(near + first, near + last, v) - near - first;
             double block[3][3];
             for (int r = 0; r < 3; ++r) {
               const double* const row = values_.data() + 9 * first + r * 3 * count + 3 * own;
               std::copy_n(row, 3, block[r]);
             }
             if (!invert(block, inverse_.data() + 9 * static_cast<std::int64_t>(v))) ++bad;
           }
           return bad;
         }) == 0;
}

// z = D⁻¹ r of a chunk.
void StiffnessSolver::precondition(int chunk, const double* r, double* z) const {
  const int begin = chunk * kVertices, end = std::min(begin + kVertices, plan_.vertices());
  for (std::int64_t v = begin; v < end; ++v) {
    const double *const d = inverse_.data() + 9 * v, *const own = r + 3 * v;
    for (int i = 0; i < 3; ++i) {
      z[3 * v + i] = d[3 * i] * own[0] + d[3 * i + 1] * own[1] + d[3 * i + 2] * own[2];
    }
  }
}

SolveEnd StiffnessSolver::solve(double* b, int threads, double tolerance) const {
  if (!cholesky_) return conjugate_gradients(b, threads, tolerance);
  cholesky_->solve(b, threads);
  return {};
}

SolveEnd StiffnessSolver::conjugate_gradients(double* b, int threads, double tolerance) const {
  const auto n = static_cast<std::size_t>(plan_.numbers());
  std::vector<double> r(b, b + n), z(n), p(n, 0.0), q(n), of_chunks;
  std::fill(b, b + n, 0.0);
  SolveEnd out;
  const auto conditioned = [&] {
    return sum_over(plan_, threads, of_chunks, [&](int chunk, int begin, int end) {
      precondition(chunk, r.data(), z.data());
      double sum = 0;
      for (std::int64_t i = 3 * std::int64_t{begin}; i < 3 * std::int64_t{end}; ++i) {
        sum += r[static_cast<std::size_t>(i)] * z[static_cast<std::size_t>(i)];
      }
      return sum;
    });
  };
  double rz = conditioned(), beta = 0;
  const double start = rz;
  if (start == 0) return out;
  while (out.iterations < kMostIterations) {
    sum_over(plan_, threads, of_chunks, [&](int, int begin, int end) {
      for (auto i = 3 * static_cast<std::size_t>(begin); i < 3 * static_cast<std::size_t>(end);
           ++i) {
        p[i] = z[i] + beta * p[i];
      }
      return 0;
    });
    const double curvature = sum_over(plan_, threads, of_chunks, [&](int, int begin, int end) {
      return product(plan_, values_.data(), p.data(), begin, end, q.data());
    });
    ++out.iterations;
    if (!(curvature > 0)) {
      if (out.iterations == 1) std::copy(p.begin(), p.end(), b);  // D⁻¹ b: downhill still
      out.positive = false;
      break;
    }
    const double alpha = rz / curvature, last = rz;
    sum_over(plan_, threads, of_chunks, [&](int, int begin, int end) {
      for (auto i = 3 * static_cast<std::size_t>(begin); i < 3 * static_cast<std::size_t>(end);
           ++i) {
        b[i] += alpha * p[i];
        r[i] -= alpha * q[i];  // (1)
      }
      return 0;
    });
    rz = conditioned();
    if (rz <= tolerance * tolerance * start) break;  // (2)
    beta = rz / last;
  }
  out.residual = std::sqrt(rz / start);
  return out;
}

std::size_t StiffnessSolver::bytes() const {
  return cholesky_ ? cholesky_->bytes() : sizeof(double) * (values_.size() + inverse_.size());
}

std::string describe(const SolveEnd& end, double tolerance) {
  if (!end.positive) return "conjugate gradients met a direction without stiffness";
  return message("conjugate gradients stopped after ", end.iterations,
                 " iterations at a relative residual of ", end.residual, ", above ", tolerance);
}

}  // namespace cycloid::inline soft
