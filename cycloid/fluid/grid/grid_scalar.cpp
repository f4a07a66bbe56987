#include "cycloid/fluid/grid/grid_scalar.h"

#include <algorithm>

#include "cycloid/fluid/grid/grid_rows.h"

namespace cycloid::inline fluid {
template <class T>
GridScalar<T>::GridScalar(const GridModel& model, std::size_t which, GridObstacles<T>* obstacles,
                          int threads)
    : model_(model),
      box_(model.box),
      places_(model.scalars[which]),
      obstacles_(obstacles),
      threads_(threads),
      p_(at(model.parameters)),
      y_(at(box_.numbers), T(0)),
      p_bar_(p_.size(), 0.0) {
  std::vector<int> given;
  for (std::size_t o = 0; o < places_.obstacle.size(); ++o) {
    if (places_.obstacle[o] >= 0) given.push_back(static_cast<int>(o));
  }
  if (given.empty()) return;
  walls_.emplace(box_, WallPoints::kCells, model.obstacles, given);
  D_.assign(at(box_.numbers), T(1)), D_bar_.assign(at(box_.numbers), 0.0);
}

template <class T>
void GridScalar<T>::read(const T* p) {
  if (!std::equal(p_.begin(), p_.end(), p)) seen_ = -1;
  std::copy_n(p, p_.size(), p_.begin());
  std::fill(p_bar_.begin(), p_bar_.end(), 0.0);
  kappa_ = p_[at(places_.diffusivity)], kappa_bar_ = 0;
  for (int a = box_.first; a < 3; ++a) {
    lift_[a] = -p_[at(places_.expansion)] * p_[at(model_.gravity + a - box_.first)];
    lift_bar_[a] = 0;
  }
  std::fill(D_bar_.begin(), D_bar_.end(), 0.0);
  std::fill(E_bar_.begin(), E_bar_.end(), 0.0);
}

template <class T>
void GridScalar<T>::place() {
  if (!walls_ || seen_ == obstacles_->moved()) return;
  walls_->set(obstacles_->numbers(), diffusivity() * model_.dt);
  E_bar_.reserve(walls_->terms().capacity());
  E_bar_.assign(walls_->terms().size(), 0.0);
  std::copy_n(walls_->D(), D_.size(), D_.begin());
  seen_ = obstacles_->moved();
}

template <class T>
void GridScalar<T>::place_pullback() {
  if (!walls_) return;
  double spread_bar = 0;
  walls_->pullback(obstacles_->numbers(), D_bar_.data(), E_bar_.data(), nullptr, obstacles_->bars(),
                   spread_bar);
  kappa_bar_ += spread_bar * model_.dt;
  std::fill(D_bar_.begin(), D_bar_.end(), 0.0);
  std::fill(E_bar_.begin(), E_bar_.end(), 0.0);
}

template <class T>
void GridScalar<T>::give_back(double* p_bar) {
  p_bar_[at(places_.diffusivity)] += kappa_bar_, kappa_bar_ = 0;
  for (int a = box_.first; a < 3; ++a) {
    const std::size_t g = at(model_.gravity + a - box_.first), beta = at(places_.expansion);
    p_bar_[beta] -= lift_bar_[a] * static_cast<double>(p_[g]);
    p_bar_[g] -= lift_bar_[a] * static_cast<double>(p_[beta]);
    lift_bar_[a] = 0;
  }
  for (std::size_t i = 0; i < p_bar_.size(); ++i) p_bar[i] += p_bar_[i];
  std::fill(p_bar_.begin(), p_bar_.end(), 0.0);
}

template <class T>
T GridScalar<T>::held(std::ptrdiff_t m) const {
  return p_[at(places_.obstacle[at(walls_->owner()[m])])];
}

template <class T>
void GridScalar<T>::hold_back(std::ptrdiff_t m, double bar) {
  p_bar_[at(places_.obstacle[at(walls_->owner()[m])])] += bar;
}

template <class T>
T GridScalar<T>::conduct(int a, std::ptrdiff_t m) const {
  if (!obstacles_) return 1;
  const int owner = obstacles_->immersed().owner(a)[m];
  return places_.obstacle[at(owner)] < 0 ? obstacles_->A[at(a)][at(m)] : T(1);
}

// States and ghosts.

template <class T>
void GridScalar<T>::load(const T* x, std::vector<T>& C) const {
  for_each_row(box_, -1, threads_, [&](int i, int j, int row) {
    const std::ptrdiff_t first = box_.index(i, j, 0);
    std::copy_n(x + static_cast<std::ptrdiff_t>(row) * box_.n[2], box_.n[2], C.data() + first);
    for (std::ptrdiff_t m = first; walled() && m < first + box_.n[2]; ++m) {
      if (D_[at(m)] == 0) C[at(m)] = held(m);
    }
  });
  fill(C);
}

template <class T>
void GridScalar<T>::load_pullback(std::vector<T>& C_bar, T* x_bar) {
  fill_pullback(C_bar);
  for_each_row(box_, -1, 1, [&](int i, int j, int row) {
    const std::ptrdiff_t first = box_.index(i, j, 0);
    for (int k = 0; k < box_.n[2]; ++k) {
      const T bar = C_bar[at(first + k)];
      if (walled() && D_[at(first + k)] == 0) hold_back(first + k, static_cast<double>(bar));
      else x_bar[static_cast<std::ptrdiff_t>(row) * box_.n[2] + k] += bar;
    }
  });
}

template <class T>
void GridScalar<T>::store(const std::vector<T>& C, T* x) const {
  for_each_row(box_, -1, threads_, [&](int i, int j, int row) {
    std::copy_n(C.data() + box_.index(i, j, 0), box_.n[2],
                x + static_cast<std::ptrdiff_t>(row) * box_.n[2]);
  });
}

template <class T>
void GridScalar<T>::fill(std::vector<T>& C) const {
  for (int b = box_.first; b < 3; ++b) {
    const std::ptrdiff_t s = box_.stride[at(b)], n = box_.n[at(b)];
    for_each_on_side(box_, b, [&](int i, int j, int k, int) {
      T* const x = C.data() + box_.index(i, j, k);
      if (box_.periodic(b)) {
        x[-s] = x[(n - 1) * s], x[n * s] = x[0];
        return;
      }
      const auto beyond = [&](int side, T inside) {
        const int place = places_.side[at(b)][at(side)];
        return place < 0 ? inside : 2 * p_[at(place)] - inside;
      };
      x[-s] = beyond(0, x[0]), x[n * s] = beyond(1, x[(n - 1) * s]);
    });
  }
}

template <class T>
void GridScalar<T>::fill_pullback(std::vector<T>& C_bar) {
  for (int b = box_.first; b < 3; ++b) {
    const std::ptrdiff_t s = box_.stride[at(b)], n = box_.n[at(b)];
    for_each_on_side(box_, b, [&](int i, int j, int k, int) {
      T* const x = C_bar.data() + box_.index(i, j, k);
      if (box_.periodic(b)) {
        x[(n - 1) * s] += x[-s], x[0] += x[n * s];
      } else {
        for (int side = 0; side < 2; ++side) {
          const T ghost = side ? x[n * s] : x[-s];
          const int place = places_.side[at(b)][at(side)];
          x[side ? (n - 1) * s : 0] += place < 0 ? ghost : -ghost;
          if (place >= 0) p_bar_[at(place)] += 2 * static_cast<double>(ghost);
        }
      }
      x[-s] = x[n * s] = 0;
    });
  }
}

// Transport.

template <class T>
void GridScalar<T>::explicit_step(T dt, const Velocities<T>& F, const std::vector<T>& C) {
  for_each_row(box_, -1, threads_, [&](int i, int j, int) {
    const std::ptrdiff_t first = box_.index(i, j, 0);
    for (std::ptrdiff_t m = first; m < first + box_.n[2]; ++m) {
      T rate = 0;
      for (int a = box_.first; a < 3; ++a) {
        const std::ptrdiff_t s = box_.stride[at(a)];
        const T over = static_cast<T>(1 / box_.h[at(a)]), *const x = C.data() + m,
                *const f = F[at(a)].data() + m;
        const T down = over * (x[0] - x[-s]), up = over * (x[s] - x[0]);  // (2)
        rate += T(-0.5) * (f[0] * down + f[s] * up) +
                kappa_ * over * (conduct(a, m + s) * up - conduct(a, m) * down);  // (3)
      }
      y_[at(m)] = C[at(m)] + dt * rate;
    }
  });
  if (!walls_) return;
  for (const WallTerm& t : walls_->terms()) {
    y_[at(t.m)] += dt * kappa_ * static_cast<T>(t.E) * (C[at(t.other)] - C[at(t.m)]);
  }
}

template <class T>
void GridScalar<T>::advance(const StageRule<T>& rule, const Velocities<T>& F,
                            const std::vector<T>& C0, const std::vector<T>& C,
                            std::vector<T>& out) {
  explicit_step(rule.dt, F, C);
  for_each_row(box_, -1, threads_, [&](int i, int j, int) {
    const std::ptrdiff_t first = box_.index(i, j, 0);
    for (std::ptrdiff_t m = first; m < first + box_.n[2]; ++m) {
      T next = y_[at(m)];
      if (walled() && D_[at(m)] < 1) next = D_[at(m)] * next + (1 - D_[at(m)]) * held(m);
      out[at(m)] = rule.alpha * C0[at(m)] + rule.beta * next;  // (4)
    }
  });
}

// Cell by cell onto what it read: a fixed order.
template <class T>
void GridScalar<T>::advance_pullback(const StageRule<T>& rule, const Velocities<T>& F,
                                     const std::vector<T>& C, const std::vector<T>& out_bar,
                                     std::vector<T>& C0_bar, std::vector<T>& C_bar,
                                     Velocities<T>& F_bar) {
  if (walls_) explicit_step(rule.dt, F, C);
  for_each_row(box_, -1, 1, [&](int i, int j, int) {
    const std::ptrdiff_t first = box_.index(i, j, 0);
    double of_row = 0;
    for (std::ptrdiff_t m = first; m < first + box_.n[2]; ++m) {
      C0_bar[at(m)] += rule.alpha * out_bar[at(m)];
      T y_bar = rule.beta * out_bar[at(m)];
      if (walled() && D_[at(m)] < 1) {
        const T D = D_[at(m)];
        D_bar_[at(m)] += static_cast<double>(y_bar * (y_[at(m)] - held(m)));
        hold_back(m, static_cast<double>(y_bar * (1 - D)));
        y_bar *= D;  // (4)
      }
      y_[at(m)] = y_bar;  // for the walls' terms
      C_bar[at(m)] += y_bar;
      const T sigma = rule.dt * y_bar;
      for (int a = box_.first; a < 3; ++a) {
        const std::ptrdiff_t s = box_.stride[at(a)];
        const T over = static_cast<T>(1 / box_.h[at(a)]), *const x = C.data() + m,
                *const f = F[at(a)].data() + m;
        const T down = over * (x[0] - x[-s]), up = over * (x[s] - x[0]);
        const T low = conduct(a, m), high = conduct(a, m + s), spread = kappa_ * over * sigma;
        F_bar[at(a)][at(m)] -= T(0.5) * sigma * down;  // (3)
        F_bar[at(a)][at(m + s)] -= T(0.5) * sigma * up;
        const T down_bar = over * (T(-0.5) * sigma * f[0] - spread * low),
                up_bar = over * (T(-0.5) * sigma * f[s] + spread * high);  // (2)
        C_bar[at(m)] += down_bar - up_bar, C_bar[at(m - s)] -= down_bar, C_bar[at(m + s)] += up_bar;
        of_row += static_cast<double>(over * sigma * (high * up - low * down));
        if (low < 1) obstacles_->A_bar[at(a)][at(m)] -= static_cast<double>(spread * down);
        if (high < 1) obstacles_->A_bar[at(a)][at(m + s)] += static_cast<double>(spread * up);
      }
    }
    kappa_bar_ += of_row;
  });
  for (std::size_t t = 0; walls_ && t < walls_->terms().size(); ++t) {
    const WallTerm& term = walls_->terms()[t];
    const T E = static_cast<T>(term.E), gap = C[at(term.other)] - C[at(term.m)],
            sigma = rule.dt * y_[at(term.m)];
    C_bar[at(term.other)] += kappa_ * E * sigma, C_bar[at(term.m)] -= kappa_ * E * sigma;
    kappa_bar_ += static_cast<double>(E * gap * sigma);
    E_bar_[t] += static_cast<double>(kappa_ * gap * sigma);
  }
  // The first face of a periodic axis is its last too.
  for (int a = box_.first; a < 3; ++a) {
    if (!box_.periodic(a)) continue;
    const std::ptrdiff_t far = box_.n[at(a)] * box_.stride[at(a)];
    for_each_on_side(box_, a, [&](int i, int j, int k, int) {
      const std::ptrdiff_t m = box_.index(i, j, k);
      T* const f = F_bar[at(a)].data() + m;
      f[0] += f[far], f[far] = 0;
      if (!obstacles_) return;
      double* const A_bar = obstacles_->A_bar[at(a)].data() + m;
      A_bar[0] += A_bar[far], A_bar[far] = 0;
    });
  }
}

template <class T>
void GridScalar<T>::buoyancy(const std::vector<T>& C, Velocities<T>& r) const {
  for (int a = box_.first; a < 3; ++a) {
    const std::ptrdiff_t s = box_.stride[at(a)];
    const T half = T(0.5) * lift_[a];
    for_each_row(box_, a, threads_, [&](int i, int j, int) {
      const std::ptrdiff_t m = box_.index(i, j, 0);
      const T* const x = C.data() + m;
      T* const to = r[at(a)].data() + m;
      for (int k = 0; k < box_.count(a, 2); ++k) to[k] += half * (x[k - s] + x[k]);  // (1)
    });
  }
}

template <class T>
void GridScalar<T>::buoyancy_pullback(const std::vector<T>& C, const Velocities<T>& g,
                                      std::vector<T>& C_bar) {
  for (int a = box_.first; a < 3; ++a) {
    const std::ptrdiff_t s = box_.stride[at(a)];
    const T half = T(0.5) * lift_[a];
    for_each_row(box_, a, 1, [&](int i, int j, int) {
      const std::ptrdiff_t m = box_.index(i, j, 0);
      double sum = 0;
      for (std::ptrdiff_t c = m; c < m + box_.count(a, 2); ++c) {
        const T bar = g[at(a)][at(c)];
        C_bar[at(c - s)] += half * bar, C_bar[at(c)] += half * bar;
        sum += 0.5 * static_cast<double>(bar * (C[at(c - s)] + C[at(c)]));
      }
      lift_bar_[a] += sum;
    });
  }
}

template class GridScalar<float>;
template class GridScalar<double>;

}  // namespace cycloid::inline fluid
