#include "cycloid/fluid/grid/pressure/projection.h"

#include "cycloid/fluid/grid/grid_rows.h"

namespace cycloid::inline fluid {
template <class T>
GridView<T> view_of(const GridBox& box, const Velocities<T>& u, T viscosity) {
  GridView<T> v{};
  v.first = box.first, v.viscosity = viscosity;
  for (int a = 0; a < 3; ++a) {
    v.stride[a] = box.stride[at(a)];
    v.over_h[a] = static_cast<T>(1 / box.h[at(a)]);
    v.u[a] = u[at(a)].data();
  }
  return v;
}
template GridView<float> view_of(const GridBox&, const Velocities<float>&, float);
template GridView<double> view_of(const GridBox&, const Velocities<double>&, double);

template <class T>
Projection<T>::Projection(const GridModel& model, GridSides<T>& sides, GridObstacles<T>* obstacles,
                          int threads)
    : model_(model),
      box_(model.box),
      sides_(sides),
      obstacles_(obstacles),
      threads_(threads),
      kernels_(&grid_kernels<T>()),
      row_(at(box_.cells)),
      q_(at(box_.numbers), T(0)),
      q_kept_(q_),
      cells_(at(box_.cells)) {
  for (int a = box_.first; a < 3; ++a) flux_[at(a)].assign(at(box_.numbers), T(0));
  room_ = solver().make_room(threads);
}

template <class T>
void Projection<T>::solve(double* cells) const {
  const SolveOutcome found = solver().solve(cells, kTolerance, room_, threads_);
  iterations += found.iterations;
  if (!found.converged) residual = std::max(residual, found.residual);
}

// The first face of a periodic axis is its last too.
template <class T>
void Projection<T>::wrap(int a, Velocities<T>& flux) const {
  if (!box_.periodic(a)) return;
  const std::ptrdiff_t far = box_.n[at(a)] * box_.stride[at(a)];
  for_each_on_side(box_, a, [&](int i, int j, int k, int) {
    T* const x = flux[at(a)].data() + box_.index(i, j, k);
    x[far] = x[0];
  });
}

template <class T>
void Projection<T>::flux(const Velocities<T>& v, Velocities<T>& out) const {
  for (int a = box_.first; a < 3; ++a) {
    for_each_row(box_, a, threads_, [&](int i, int j, int) {
      const std::ptrdiff_t m = box_.index(i, j, 0);
      const T* const from = v[at(a)].data() + m;
      T* const to = out[at(a)].data() + m;
      const int length = box_.count(a, 2);
      if (!obstacles_) {
        std::copy_n(from, length, to);
        return;
      }
      const T *const A = obstacles_->A[at(a)].data() + m, *const w =
                                                              obstacles_->w[at(a)].data() + m;
      for (int k = 0; k < length; ++k) to[k] = A[k] * from[k] + (1 - A[k]) * w[k];
    });
    wrap(a, out);
  }
}

// Given the cotangent of every face, the last of a periodic axis left out.
template <class T>
void Projection<T>::flux_pullback(const Velocities<T>& v, const Velocities<T>& bar,
                                  Velocities<T>& v_bar) {
  for (int a = box_.first; a < 3; ++a) {
    for_each_row(box_, a, threads_, [&](int i, int j, int) {
      const std::ptrdiff_t first = box_.index(i, j, 0);
      for (std::ptrdiff_t m = first; m < first + box_.count(a, 2); ++m) {
        const T g = bar[at(a)][at(m)];
        if (!obstacles_) {
          v_bar[at(a)][at(m)] += g;
          continue;
        }
        const T A = obstacles_->A[at(a)][at(m)], w = obstacles_->w[at(a)][at(m)];
        v_bar[at(a)][at(m)] += A * g;
        obstacles_->A_bar[at(a)][at(m)] += static_cast<double>(g * (v[at(a)][at(m)] - w));
        obstacles_->w_bar[at(a)][at(m)] += static_cast<double>(g * (1 - A));
      }
    });
  }
}

template <class T>
void Projection<T>::divergence(const Velocities<T>& flux_of, double* cells) const {
  const GridView<T> v = view_of(box_, flux_of, T(0));
  for_each_row(box_, -1, threads_, [&](int i, int j, int row) {
    const std::size_t first = at(row) * at(box_.n[2]);
    kernels_->divergence(v, box_.index(i, j, 0), box_.n[2], row_.data() + first);
    for (int k = 0; k < box_.n[2]; ++k) {
      cells[first + at(k)] = static_cast<double>(row_[first + at(k)]);
    }
  });
}

template <class T>
void Projection<T>::spread(const double* cells, Beyond beyond, std::vector<T>& q) const {
  for_each_row(box_, -1, threads_, [&](int i, int j, int row) {
    const double* const from = cells + static_cast<std::ptrdiff_t>(row) * box_.n[2];
    T* const to = q.data() + box_.index(i, j, 0);
    for (int k = 0; k < box_.n[2]; ++k) to[k] = static_cast<T>(from[k]);
  });
  for (int b = box_.first; b < 3; ++b) {
    const std::ptrdiff_t s = box_.stride[at(b)], n = box_.n[at(b)];
    for_each_on_side(box_, b, [&](int i, int j, int k, int) {
      T* const x = q.data() + box_.index(i, j, k);
      if (box_.periodic(b)) {
        x[-s] = x[(n - 1) * s], x[n * s] = x[0];
        return;
      }
      const auto outside = [&](int side, T inside) {
        if (beyond == Beyond::zero) return T(0);
        return box_.side[at(b)][at(side)] == SideKind::outflow ? -inside : inside;
      };
      x[-s] = outside(0, x[0]), x[n * s] = outside(1, x[(n - 1) * s]);
    });
  }
}

// Of q_, times a weight at each face where there are obstacles.
template <class T>
void Projection<T>::subtract_gradient(const Velocities<T>& weight, Velocities<T>& to) const {
  const GridView<T> v = view_of(box_, to, T(0));
  for (int a = box_.first; a < 3; ++a) {
    for_each_row(box_, a, threads_, [&](int i, int j, int) {
      kernels_->subtract_gradient(v, q_.data(), obstacles_ ? weight[at(a)].data() : nullptr, a,
                                  box_.index(i, j, 0), box_.count(a, 2), to[at(a)].data());
    });
  }
}

template <class T>
void Projection<T>::project(Velocities<T>& v, T* q) {
  sides_.set_sides(v);  // (1)
  flux(v, flux_);
  divergence(flux_, cells_.data());
  solve(cells_.data());  // (2)
  if (q) {
    for (int i = 0; i < box_.cells; ++i) q[i] = static_cast<T>(cells_[at(i)]);
  }
  spread(cells_.data(), Beyond::mirrored, q_);
  subtract_gradient(obstacles_ ? obstacles_->D : none_, v);  // (3)
}

template <class T>
void Projection<T>::spread_kept(const T* q) {
  std::copy_n(q, box_.cells, cells_.begin());
  spread(cells_.data(), Beyond::mirrored, q_kept_);
}

template <class T>
void Projection<T>::project_pullback(const T* q, const Velocities<T>& u_next, Velocities<T>& bar) {
  if (obstacles_) spread_kept(q);
  for (int a = box_.first; a < 3; ++a) {
    for_each_row(box_, a, threads_, [&](int i, int j, int) {
      const std::ptrdiff_t m = box_.index(i, j, 0);
      const T* const from = bar[at(a)].data() + m;
      const T* const D = obstacles_ ? obstacles_->D[at(a)].data() + m : nullptr;
      T* const to = flux_[at(a)].data() + m;
      for (int k = 0; k < box_.count(a, 2); ++k) to[k] = D ? D[k] * from[k] : from[k];
    });
    if (box_.periodic(a)) {
      wrap(a, flux_);
      continue;
    }
    const std::ptrdiff_t far = box_.n[at(a)] * box_.stride[at(a)];
    for_each_on_side(box_, a, [&](int i, int j, int k, int) {
      T* const x = flux_[at(a)].data() + box_.index(i, j, k);
      x[0] *= velocity_is_given(box_.side[at(a)][0]) ? T(0) : T(2);
      x[far] *= velocity_is_given(box_.side[at(a)][1]) ? T(0) : T(2);
    });
  }
  divergence(flux_, cells_.data());
  solve(cells_.data());  // (4)
  spread(cells_.data(), Beyond::zero, q_);
  subtract_gradient(obstacles_ ? obstacles_->A : none_, bar);  // (5)
  for (int a = box_.first; a < 3 && obstacles_; ++a) {
    const T over = static_cast<T>(1 / box_.h[at(a)]);
    const std::ptrdiff_t s = box_.stride[at(a)];
    GridObstacles<T>& o = *obstacles_;
    for_each_row(box_, a, threads_, [&](int i, int j, int) {
      const std::ptrdiff_t m = box_.index(i, j, 0);
      for (std::ptrdiff_t c = m; c < m + box_.count(a, 2); ++c) {
        const T down = over * (q_[at(c)] - q_[at(c - s)]),
                slope = over * (q_kept_[at(c)] - q_kept_[at(c - s)]);
        o.D_bar[at(a)][at(c)] -= static_cast<double>(bar[at(a)][at(c)] * slope);
        o.A_bar[at(a)][at(c)] -=
            static_cast<double>(down * (u_next[at(a)][at(c)] - o.w[at(a)][at(c)]));
        o.w_bar[at(a)][at(c)] -= static_cast<double>(down * (1 - o.A[at(a)][at(c)]));
      }
    });
  }
  sides_.set_sides_pullback(bar);  // (6)
}

template <class T>
void Projection<T>::project_pushforward(const T* q, const Velocities<T>& u_next,
                                        const SideVelocities<T>& W_tan,
                                        const ObstacleTangents<T>* t, Velocities<T>& tan) {
  if (obstacles_) spread_kept(q);
  sides_.set_sides(tan, W_tan);
  for (int a = box_.first; a < 3; ++a) {
    const T over = static_cast<T>(1 / box_.h[at(a)]);
    const std::ptrdiff_t s = box_.stride[at(a)];
    for_each_row(box_, a, threads_, [&](int i, int j, int) {
      const std::ptrdiff_t m = box_.index(i, j, 0);
      for (std::ptrdiff_t c = m; c < m + box_.count(a, 2); ++c) {
        T& flow = flux_[at(a)][at(c)];
        flow = tan[at(a)][at(c)];
        if (!obstacles_) continue;
        const T A = obstacles_->A[at(a)][at(c)],
                slope = over * (q_kept_[at(c)] - q_kept_[at(c - s)]);
        const T lost = static_cast<T>(t->D[at(a)][at(c)]) * slope;
        flow = A * (flow - lost) + (1 - A) * t->w[at(a)][at(c)] +
               static_cast<T>(t->A[at(a)][at(c)]) *
                   (u_next[at(a)][at(c)] - obstacles_->w[at(a)][at(c)]);  // (7)
        tan[at(a)][at(c)] -= lost;
      }
    });
    wrap(a, flux_);
  }
  divergence(flux_, cells_.data());
  solve(cells_.data());
  spread(cells_.data(), Beyond::mirrored, q_);
  subtract_gradient(obstacles_ ? obstacles_->D : none_, tan);
}

template class Projection<float>;
template class Projection<double>;

}  // namespace cycloid::inline fluid
