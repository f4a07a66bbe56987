#include "cycloid/fluid/grid/pressure/viscous_solve.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/fluid/grid/grid_rows.h"

namespace cycloid::inline fluid {
template <class T>
ViscousSolve<T>::ViscousSolve(const GridModel& model, GridSides<T>& sides,
                              GridObstacles<T>* obstacles, int threads)
    : model_(model),
      box_(model.box),
      sides_(sides),
      obstacles_(obstacles),
      threads_(threads),
      kernels_(&grid_kernels<T>()),
      none_(sides.make()) {
  for (int a = box_.first; a < 3; ++a) zero_[at(a)].assign(at(box_.numbers), T(0));
  free_ = r_ = x_ = p_ = z_ = zero_;
  int rows = 0;
  for (int a = box_.first; a < 3; ++a) rows = std::max(rows, box_.rows(a));
  row_sums_.resize(at(rows));
}

template <class T>
void ViscousSolve<T>::mark_free() {
  const int now = obstacles_ ? obstacles_->moved() : 0;
  if (now == seen_) return;
  seen_ = now;
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(box_, a, threads_, [&](std::size_t m, const int* place) {
      const bool low = place[a] == 0, high = place[a] == box_.n[at(a)];
      const bool given = !box_.periodic(a) && ((low && velocity_is_given(box_.side[at(a)][0])) ||
                                               (high && velocity_is_given(box_.side[at(a)][1])));
      const bool inside = obstacles_ && obstacles_->D[at(a)][m] == 0;
      free_[at(a)][m] = given || inside ? T(0) : T(1);
    });
  }
}

template <class T>
void ViscousSolve<T>::apply(T half, const Velocities<T>& of, Velocities<T>& to) const {
  const GridView<T> v = view_of(box_, zero_, half);
  const T* const from[3] = {of[0].data(), of[1].data(), of[2].data()};
  for (int a = box_.first; a < 3; ++a) {
    for_each_row(box_, a, threads_, [&](int i, int j, int) {
      const std::ptrdiff_t m = box_.index(i, j, 0);
      T* const out = to[at(a)].data() + m;
      // The derivative at rest: viscosity alone.
      kernels_->rate_pushforward(v, from, T(0), a, m, box_.count(a, 2), out);
      for (int k = 0; k < box_.count(a, 2); ++k) {
        const std::size_t c = at(m + k);
        out[k] = free(a, c) ? over_D(a, c) * of[at(a)][c] - out[k] : T(0);
      }
    });
  }
}

template <class T>
double ViscousSolve<T>::dot(const Velocities<T>& x, const Velocities<T>& y) const {
  double sum = 0;
  for (int a = box_.first; a < 3; ++a) {
    for_each_row(box_, a, threads_, [&](int i, int j, int row) {
      const std::ptrdiff_t m = box_.index(i, j, 0);
      double of_row = 0;
      for (std::ptrdiff_t c = m; c < m + box_.count(a, 2); ++c) {
        of_row += static_cast<double>(x[at(a)][at(c)]) * static_cast<double>(y[at(a)][at(c)]);
      }
      row_sums_[at(row)] = of_row;
    });
    for (int row = 0; row < box_.rows(a); ++row) sum += row_sums_[at(row)];
  }
  return sum;
}

template <class T>
void ViscousSolve<T>::solve(T half) {
  T diagonal = 0;
  for (int a = box_.first; a < 3; ++a) {
    diagonal += 2 * half / static_cast<T>(box_.h[at(a)] * box_.h[at(a)]);
  }
  // z_ = what the diagonal makes of r_.
  const auto precondition = [&] {
    for (int a = box_.first; a < 3; ++a) {
      for_each_face(box_, a, threads_, [&](std::size_t m, const int*) {
        z_[at(a)][m] = free(a, m) ? r_[at(a)][m] / (over_D(a, m) + diagonal) : T(0);
      });
    }
  };
  const auto along = [&](Velocities<T>& to, T share, const Velocities<T>& from, T keep) {
    for (int a = box_.first; a < 3; ++a) {
      for_each_face(box_, a, threads_, [&](std::size_t m, const int*) {
        to[at(a)][m] = keep * to[at(a)][m] + share * from[at(a)][m];
      });
    }
  };
  x_ = zero_;
  const double b = dot(r_, r_), least = kTolerance * kTolerance * b;
  if (!std::isfinite(b)) {  // a velocity that no step can have
    for (auto& one : x_) std::fill(one.begin(), one.end(), std::numeric_limits<T>::quiet_NaN());
    return;
  }
  precondition();
  p_ = z_;
  double rz = dot(r_, z_), rest = b;
  int count = 0;
  for (; rest > least && count < kMostIterations; ++count) {
    sides_.fill_ghosts(p_, none_);
    apply(half, p_, z_);
    const double step = rz / dot(p_, z_);
    along(x_, static_cast<T>(step), p_, T(1));
    along(r_, static_cast<T>(-step), z_, T(1));
    rest = dot(r_, r_);
    precondition();
    const double next = dot(r_, z_);
    along(p_, T(1), z_, static_cast<T>(next / rz));
    rz = next;
  }
  iterations += count;
  if (!(rest <= least)) residual = std::max(residual, std::sqrt(rest / b));
}

template <class T>
void ViscousSolve<T>::diffuse(T viscosity, Velocities<T>& y) {
  mark_free();
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(box_, a, threads_, [&](std::size_t m, const int*) {
      r_[at(a)][m] = free(a, m) ? over_D(a, m) * y[at(a)][m] : T(0);
    });
  }
  solve(T(0.5) * static_cast<T>(model_.dt) * viscosity);
  y = x_;
}

template <class T>
void ViscousSolve<T>::diffuse_pullback(T viscosity, const Velocities<T>& y, const Velocities<T>& v,
                                       Velocities<T>& bar, double& viscosity_bar) {
  const T half_dt = T(0.5) * static_cast<T>(model_.dt);
  mark_free();
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(box_, a, threads_, [&](std::size_t m, const int*) {
      r_[at(a)][m] = free(a, m) ? bar[at(a)][m] : T(0);
    });
  }
  solve(half_dt * viscosity);  // (2)
  p_ = v;
  sides_.fill_ghosts(p_, none_);
  const GridView<T> seen = view_of(box_, p_, T(0));
  for (int a = box_.first; a < 3; ++a) {
    for_each_row(box_, a, threads_, [&](int i, int j, int row) {
      row_sums_[at(row)] = kernels_->rate_viscosity_pullback(seen, x_[at(a)].data(), a,
                                                             box_.index(i, j, 0), box_.count(a, 2));
    });
    for (int row = 0; row < box_.rows(a); ++row) {
      viscosity_bar += static_cast<double>(half_dt) * row_sums_[at(row)];  // (3)
    }
    for_each_face(box_, a, threads_, [&](std::size_t m, const int*) {
      const T l = x_[at(a)][m];
      bar[at(a)][m] = l;
      if (!obstacles_ || !free(a, m)) return;
      const T over = over_D(a, m);
      bar[at(a)][m] = over * l;
      obstacles_->D_bar[at(a)][m] +=
          static_cast<double>(l * (v[at(a)][m] - y[at(a)][m]) * over * over);
    });
  }
}

template class ViscousSolve<float>;
template class ViscousSolve<double>;

}  // namespace cycloid::inline fluid
