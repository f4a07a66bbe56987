#include "cycloid/fluid/grid/grid_work.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/thread_pool.h"

namespace cycloid::inline fluid {
namespace {

std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

// Numbers that a thread takes at once, and below which one thread is enough.
constexpr int kBlock = 4096, kAlone = 4 * kBlock;

constexpr bool given(SideKind kind) {
  return kind == SideKind::wall || kind == SideKind::slip || kind == SideKind::inflow;
}

template <class T>
const T* const* pointers(const Velocities<T>& u, const T** to) {
  for (int a = 0; a < 3; ++a) to[a] = u[at(a)].data();
  return to;
}

}  // namespace

template <class T>
GridWork<T>::GridWork(std::shared_ptr<const GridModel> of, int threads_given)
    : model(*of),
      box(of->box),
      threads(threads_given),
      keep_(std::move(of)),
      kernels_(&grid_kernels<T>()),
      p_(at(model.parameters)),
      p_bar_(p_.size(), 0.0) {
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      if (box.periodic(b)) continue;
      for (int a = box.first; a < 3; ++a) {
        W_bar_[at(b)][at(s)][at(a)].assign(at(box.numbers / box.extent[at(b)]), 0.0);
      }
    }
  }
  make_sides(W_);
  r_ = make(), g_ = make();
  if (model.advection != Advection::central) none_ = hat_ = hat_bar_ = make();
  q_.assign(at(box.numbers), T(0)), q_next_ = q_;
  cells_.resize(at(box.cells));
  row_.resize(at(box.cells));
  int rows = box.n[0] * box.n[1];
  for (int a = box.first; a < 3; ++a) rows = std::max(rows, box.rows(a));
  row_sums_.resize(at(rows));
  flux_ = make();
  if (!model.obstacles.empty()) {
    immersed_.emplace(box, model.obstacles);
    own_solver_ = std::make_unique<PressureSolver>(box, model.pattern);
    D_ = make(), A_ = make(), w_ = make();
    for (int a = box.first; a < 3; ++a) {
      D_bar_[at(a)].assign(at(box.numbers), 0.0), A_bar_[at(a)] = w_bar_[at(a)] = D_bar_[at(a)];
    }
  }
  room_ = solver().make_room(threads);
}

template <class T>
void GridWork<T>::make_sides(SideVelocities<T>& W) const {
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2 && !box.periodic(b); ++s) {
      for (int a = box.first; a < 3; ++a) {
        W[at(b)][at(s)][at(a)].assign(at(box.numbers / box.extent[at(b)]), T(0));
      }
    }
  }
}

template <class T>
Velocities<T> GridWork<T>::make() const {
  Velocities<T> u;
  for (int a = box.first; a < 3; ++a) u[at(a)].assign(at(box.numbers), T(0));
  return u;
}

template <class T>
template <class Work>
void GridWork<T>::for_each_row(int a, Work&& work) const {
  const int outer = a < 0 ? box.n[0] : box.count(a, 0), inner = a < 0 ? box.n[1] : box.count(a, 1);
  const int length = box.n[2], rows = outer * inner;
  const auto some = [&](int begin, int end) {
    for (int row = begin; row < end; ++row) work(row / inner, row % inner, row);
  };
  if (rows * length < kAlone || threads == 1) return some(0, rows);
  const int each = std::max(1, kBlock / length), blocks = (rows + each - 1) / each;
  parallel_for(at(blocks), threads, [&](std::size_t block) {
    const int begin = static_cast<int>(block) * each;
    some(begin, std::min(begin + each, rows));
  });
}

template <class T>
GridView<T> GridWork<T>::view(const Velocities<T>& u) const {
  GridView<T> v{};
  v.first = box.first, v.viscosity = viscosity;
  for (int a = 0; a < 3; ++a) {
    v.stride[a] = box.stride[at(a)];
    v.over_h[a] = static_cast<T>(1 / box.h[at(a)]);
    v.u[a] = u[at(a)].data();
  }
  return v;
}

// Parameters and inputs.

template <class T>
T GridWork<T>::number(const T* p, const GridModel::Place& place, int i, const T* u) {
  T sum = place.parameter < 0 || !p ? T(0) : p[place.parameter + i];
  if (place.input >= 0 && u) sum += u[place.input + i];
  return sum;
}

template <class T>
void GridWork<T>::give(const GridModel::Place& place, int i, double bar, T* u_bar) {
  if (place.parameter >= 0) p_bar_[at(place.parameter + i)] += bar;
  if (place.input >= 0 && u_bar) u_bar[place.input + i] += static_cast<T>(bar);
}

template <class T>
std::vector<const double*> GridWork<T>::obstacle_numbers() const {
  std::vector<const double*> all;
  for (const auto& o : model.obstacle) all.push_back(obstacle_numbers_.data() + o.numbers);
  return all;
}

template <class T>
void GridWork<T>::read(const T* p) {
  const bool same = started_ && std::equal(p_.begin(), p_.end(), p);
  std::copy_n(p, p_.size(), p_.begin());
  std::fill(p_bar_.begin(), p_bar_.end(), 0.0);
  viscosity = p_[GridModel::kViscosity], density = p_[GridModel::kDensity];
  viscosity_bar = density_bar = diffusivity_bar = 0;
  if (model.heated) {
    diffusivity = p_[at(model.diffusivity)];
    for (int a = box.first; a < 3; ++a) {
      lift[a] = -p_[at(model.expansion)] * p_[at(model.gravity + a - box.first)];
      lift_bar[a] = 0;
    }
  }
  if (!immersed_) return;
  for (int a = box.first; a < 3; ++a) {
    std::fill(D_bar_[at(a)].begin(), D_bar_[at(a)].end(), 0.0);
    std::fill(A_bar_[at(a)].begin(), A_bar_[at(a)].end(), 0.0);
  }
  if (same) {
    std::fill(E_bar.begin(), E_bar.end(), 0.0);
    return;
  }
  obstacle_numbers_.assign(p_.begin(), p_.end());
  immersed_->set(obstacle_numbers(), static_cast<double>(viscosity) * model.dt);
  E_bar.assign(immersed_->wall_terms().size(), 0.0);
  Velocities<double> k;
  for (int a = box.first; a < 3; ++a) {
    const double *const D = immersed_->D(a), *const A = immersed_->A(a);
    k[at(a)].resize(at(box.numbers));
    for (std::ptrdiff_t m = 0; m < box.numbers; ++m) {
      D_[at(a)][at(m)] = static_cast<T>(D[m]), A_[at(a)][at(m)] = static_cast<T>(A[m]);
      k[at(a)][at(m)] = static_cast<double>(D_[at(a)][at(m)]) * A_[at(a)][at(m)];
    }
  }
  const double* of_k[3];
  own_solver_->set(pointers(k, of_k), threads);
  started_ = true;
}

template <class T>
void GridWork<T>::give_back(double* p_bar) {
  if (immersed_) {
    std::vector<double*> bars;
    for (const auto& o : model.obstacle) bars.push_back(p_bar_.data() + o.numbers);
    const double *D[3], *A[3];
    double viscosity_dt_bar = 0;
    immersed_->pullback(obstacle_numbers(), pointers(D_bar_, D), pointers(A_bar_, A), E_bar, bars,
                        viscosity_dt_bar);
    viscosity_bar += viscosity_dt_bar * model.dt;
  }
  if (model.heated) {
    p_bar_[at(model.diffusivity)] += diffusivity_bar;
    for (int a = box.first; a < 3; ++a) {
      const std::size_t g = at(model.gravity + a - box.first), beta = at(model.expansion);
      p_bar_[beta] -= lift_bar[a] * static_cast<double>(p_[g]);
      p_bar_[g] -= lift_bar[a] * static_cast<double>(p_[beta]);
    }
  }
  p_bar_[GridModel::kViscosity] += viscosity_bar, p_bar_[GridModel::kDensity] += density_bar;
  std::copy(p_bar_.begin(), p_bar_.end(), p_bar);
}

template <class T>
void GridWork<T>::set_inputs(const T* u) {
  const int d = box.dimensions;
  inputs_ = u;
  for (int a = 0; a < d; ++a) {
    force[a + box.first] = model.force_input >= 0 && u ? u[model.force_input + a] : T(0);
    force_bar[a + box.first] = 0;
  }
  for (auto& axis : W_bar_) {
    for (auto& side : axis) {
      for (auto& plane : side) std::fill(plane.begin(), plane.end(), 0.0);
    }
  }
  set_walls(p_.data(), u, W_);
  if (immersed_) set_obstacles(u);
}

// A position on the plane of a side.
template <class T>
std::ptrdiff_t GridWork<T>::plane_index(int b, int i, int j, int k) const {
  const int place[3] = {i, j, k};
  std::ptrdiff_t index = 0;
  for (int c = 0; c < 3; ++c) {
    if (c != b) index = index * box.extent[at(c)] + place[c] + box.pad[at(c)];
  }
  return index;
}

// Calls visit(i, j, k, face) for the faces of a side, its own axis at 0.
template <class T>
template <class Visit>
void GridWork<T>::for_each_on_side(int b, Visit&& visit) const {
  int n[3] = {box.n[0], box.n[1], box.n[2]}, face = 0;
  n[b] = 1;
  for (int i = 0; i < n[0]; ++i) {
    for (int j = 0; j < n[1]; ++j) {
      for (int k = 0; k < n[2]; ++k) visit(i, j, k, face++);
    }
  }
}

template <class T>
void GridWork<T>::set_walls(const T* p, const T* u, SideVelocities<T>& W_of) const {
  const int d = box.dimensions;
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      const SideKind kind = box.side[at(b)][at(s)];
      const GridModel::Place& place = model.side[at(b)][at(s)];
      auto& W = W_of[at(b)][at(s)];
      if (kind == SideKind::wall) {
        for (int a = box.first; a < 3; ++a) {
          if (a != b)
            std::fill(W[at(a)].begin(), W[at(a)].end(), number(p, place, a - box.first, u));
        }
      } else if (kind == SideKind::inflow) {
        for (int a = box.first; a < 3; ++a) std::fill(W[at(a)].begin(), W[at(a)].end(), T(0));
        for_each_on_side(b, [&](int i, int j, int k, int face) {
          for (int a = box.first; a < 3; ++a) {
            const T value = number(p, place, face * d + a - box.first, u);
            int at_face[3] = {i, j, k};
            const std::ptrdiff_t m = plane_index(b, i, j, k);
            if (a == b) {
              W[at(a)][at(m)] = value;
              continue;
            }
            // Its tangential part lives half a cell away, between two of these; at an end, by one.
            const int i_a = at_face[a], n_a = box.n[at(a)];
            const bool ring = box.periodic(a);
            W[at(a)][at(m)] += (i_a == 0 && !ring ? T(1) : T(0.5)) * value;
            at_face[a] = ring && i_a == n_a - 1 ? 0 : i_a + 1;
            W[at(a)][at(plane_index(b, at_face[0], at_face[1], at_face[2]))] +=
                (i_a == n_a - 1 && !ring ? T(1) : T(0.5)) * value;
          }
        });
      }
    }
  }
}

template <class T>
T GridWork<T>::surface(const T* p, const T* u, int a, int i, int j, int k) const {
  const auto& o = model.obstacle[at(immersed_->owner(a)[box.index(i, j, k)])];
  T w = number(p, o.velocity, a - box.first, u);
  if (o.spin.parameter < 0) return w;
  double x[3], r[3] = {};
  immersed_->position(a, i, j, k, x);
  way_from(box, obstacle_numbers_.data() + o.numbers, x, r);
  // Ω × r; in the plane Ω is normal to it, along axis 0.
  for (int e = 0; e < model.spins(); ++e) {
    const T omega = number(p, o.spin, e, u);
    if (a == (e + 1) % 3) w -= omega * static_cast<T>(r[(e + 2) % 3]);
    if (a == (e + 2) % 3) w += omega * static_cast<T>(r[(e + 1) % 3]);
  }
  return w;
}

template <class T>
void GridWork<T>::set_obstacles(const T* u) {
  for (int a = box.first; a < 3; ++a) {
    std::fill(w_bar_[at(a)].begin(), w_bar_[at(a)].end(), 0.0);
    for_each_row(a, [&](int i, int j, int) {
      for (int k = 0; k < box.count(a, 2); ++k) {
        w_[at(a)][at(box.index(i, j, k))] = surface(p_.data(), u, a, i, j, k);
      }
    });
  }
}

template <class T>
void GridWork<T>::give_back_inputs(T* u_bar) {
  const int d = box.dimensions;
  for (int a = 0; a < d; ++a) {
    if (model.force_input >= 0 && u_bar) {
      u_bar[model.force_input + a] += static_cast<T>(force_bar[a + box.first]);
    }
  }
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      const SideKind kind = box.side[at(b)][at(s)];
      const GridModel::Place& place = model.side[at(b)][at(s)];
      const auto& bar = W_bar_[at(b)][at(s)];
      if (kind == SideKind::wall) {
        for (int a = box.first; a < 3; ++a) {
          if (a == b) continue;
          double sum = 0;
          for (const double one : bar[at(a)]) sum += one;
          give(place, a - box.first, sum, u_bar);
        }
      } else if (kind == SideKind::inflow) {
        for_each_on_side(b, [&](int i, int j, int k, int face) {
          for (int a = box.first; a < 3; ++a) {
            int p[3] = {i, j, k};
            double sum = bar[at(a)][at(plane_index(b, i, j, k))];
            if (a != b) {
              const int i_a = p[a], n_a = box.n[at(a)];
              const bool ring = box.periodic(a);
              sum *= i_a == 0 && !ring ? 1 : 0.5;
              p[a] = ring && i_a == n_a - 1 ? 0 : i_a + 1;
              sum += (i_a == n_a - 1 && !ring ? 1 : 0.5) *
                     bar[at(a)][at(plane_index(b, p[0], p[1], p[2]))];
            }
            give(place, face * d + a - box.first, sum, u_bar);
          }
        });
      }
    }
  }
  if (!immersed_) return;
  for (int a = box.first; a < 3; ++a) {
    for (int i = 0; i < box.count(a, 0); ++i) {
      for (int j = 0; j < box.count(a, 1); ++j) {
        for (int k = 0; k < box.count(a, 2); ++k) {
          const std::ptrdiff_t m = box.index(i, j, k);
          const double bar = w_bar_[at(a)][at(m)];
          if (bar == 0) continue;
          const auto& o = model.obstacle[at(immersed_->owner(a)[m])];
          give(o.velocity, a - box.first, bar, u_bar);
          if (o.spin.parameter < 0) continue;
          double x[3], r[3] = {};
          immersed_->position(a, i, j, k, x);
          way_from(box, obstacle_numbers_.data() + o.numbers, x, r);
          for (int e = 0; e < model.spins(); ++e) {
            const int from = (e + 1) % 3, to = (e + 2) % 3;
            if (a != from && a != to) continue;
            const int other = a == from ? to : from;
            const double sign = a == from ? -1 : 1;
            const double omega = static_cast<double>(number(o.spin, e, inputs_));
            give(o.spin, e, sign * bar * r[other], u_bar);
            p_bar_[at(o.numbers + other - box.first)] -= sign * bar * omega;
          }
        }
      }
    }
  }
}

// States and ghosts.

template <class T>
void GridWork<T>::set_sides(Velocities<T>& u, const SideVelocities<T>& W_of) const {
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      if (!given(box.side[at(b)][at(s)])) continue;
      const Plane& W = W_of[at(b)][at(s)][at(b)];
      const std::ptrdiff_t to = s * box.n[at(b)] * box.stride[at(b)];
      for_each_on_side(b, [&](int i, int j, int k, int) {
        u[at(b)][at(box.index(i, j, k) + to)] = W[at(plane_index(b, i, j, k))];
      });
    }
  }
}

template <class T>
void GridWork<T>::set_sides_pullback(Velocities<T>& u_bar) {
  for (int b = box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      if (!given(box.side[at(b)][at(s)])) continue;
      auto& W_bar = W_bar_[at(b)][at(s)][at(b)];
      const std::ptrdiff_t to = s * box.n[at(b)] * box.stride[at(b)];
      for_each_on_side(b, [&](int i, int j, int k, int) {
        T& bar = u_bar[at(b)][at(box.index(i, j, k) + to)];
        W_bar[at(plane_index(b, i, j, k))] += static_cast<double>(bar);
        bar = 0;
      });
    }
  }
}

template <class T>
void GridWork<T>::load(const T* x, Velocities<T>& u) const {
  for (int a = box.first; a < 3; ++a) {
    const int length = box.count(a, 2);
    for_each_row(a, [&](int i, int j, int row) {
      const T* const from = x + box.offset[at(a)] + static_cast<std::ptrdiff_t>(row) * length;
      const std::ptrdiff_t m = box.index(i, j, 0);
      std::copy_n(from, length, u[at(a)].data() + m);
      if (!immersed_) return;
      for (int k = 0; k < length; ++k) {
        if (D_[at(a)][at(m + k)] == 0) u[at(a)][at(m + k)] = w_[at(a)][at(m + k)];
      }
    });
  }
  set_sides(u);
}

template <class T>
void GridWork<T>::load_pullback(Velocities<T>& u_bar, T* x_bar) {
  set_sides_pullback(u_bar);
  for (int a = box.first; a < 3; ++a) {
    const int length = box.count(a, 2);
    for_each_row(a, [&](int i, int j, int row) {
      T* const to = x_bar + box.offset[at(a)] + static_cast<std::ptrdiff_t>(row) * length;
      const std::ptrdiff_t m = box.index(i, j, 0);
      for (int k = 0; k < length; ++k) {
        const T bar = u_bar[at(a)][at(m + k)];
        if (immersed_ && D_[at(a)][at(m + k)] == 0) w_bar_[at(a)][at(m + k)] += bar;
        else to[k] += bar;
      }
    });
  }
}

template <class T>
void GridWork<T>::store(const Velocities<T>& u, T* x) const {
  for (int a = box.first; a < 3; ++a) {
    const int length = box.count(a, 2);
    for_each_row(a, [&](int i, int j, int row) {
      std::copy_n(u[at(a)].data() + box.index(i, j, 0), length,
                  x + box.offset[at(a)] + static_cast<std::ptrdiff_t>(row) * length);
    });
  }
}

// Visits the whole plane of a side, ghosts of other axes included: visit(plane index, index at 0).
namespace {
template <class Visit>
void for_each_in_plane(const GridBox& box, int b, Visit&& visit) {
  const int c = b == 0 ? 1 : 0, d = b == 2 ? 1 : 2;
  std::ptrdiff_t plane = 0;
  const std::ptrdiff_t origin = box.pad[at(b)] * box.stride[at(b)];
  for (int i = 0; i < box.extent[at(c)]; ++i) {
    for (int j = 0; j < box.extent[at(d)]; ++j) {
      visit(plane++, i * box.stride[at(c)] + j * box.stride[at(d)] + origin);
    }
  }
}
}  // namespace

template <class T>
void GridWork<T>::fill_ghosts(Velocities<T>& u, const SideVelocities<T>& W_of) const {
  for (int b = box.first; b < 3; ++b) {
    const std::ptrdiff_t s = box.stride[at(b)], n = box.n[at(b)];
    for (int a = box.first; a < 3; ++a) {
      T* const x = u[at(a)].data();
      if (box.periodic(b)) {
        for_each_in_plane(box, b, [&](std::ptrdiff_t, std::ptrdiff_t m) {  // (4)
          for (std::ptrdiff_t i = -2; i < 0; ++i) x[m + i * s] = x[m + (i + n) * s];
          for (std::ptrdiff_t i = n; i < n + 3; ++i) x[m + i * s] = x[m + (i - n) * s];
        });
        continue;
      }
      for (int side = 0; side < 2; ++side) {
        const SideKind kind = box.side[at(b)][at(side)];
        const Plane& W = W_of[at(b)][at(side)][at(a)];
        // The last face or cell inside, and the ghost.
        const std::ptrdiff_t last = side ? (a == b ? n : n - 1) * s : 0,
                             ghost = side ? last + s : -s;
        if (a == b) {
          if (kind != SideKind::outflow) continue;
          for_each_in_plane(box, b, [&](std::ptrdiff_t, std::ptrdiff_t m) {
            x[m + ghost] = x[m + last];  // (3)
          });
        } else if (kind == SideKind::wall || kind == SideKind::inflow) {
          for_each_in_plane(box, b, [&](std::ptrdiff_t p, std::ptrdiff_t m) {
            x[m + ghost] = 2 * W[at(p)] - x[m + last];  // (1)
          });
        } else {
          for_each_in_plane(box, b, [&](std::ptrdiff_t, std::ptrdiff_t m) {
            x[m + ghost] = x[m + last];  // (2) (3)
          });
        }
      }
    }
  }
}

template <class T>
void GridWork<T>::fill_ghosts_pullback(Velocities<T>& u_bar) {
  for (int b = 2; b >= box.first; --b) {
    const std::ptrdiff_t s = box.stride[at(b)], n = box.n[at(b)];
    for (int a = box.first; a < 3; ++a) {
      T* const x = u_bar[at(a)].data();
      if (box.periodic(b)) {
        for_each_in_plane(box, b, [&](std::ptrdiff_t, std::ptrdiff_t m) {  // (4)
          for (std::ptrdiff_t i = n + 2; i >= n; --i) {
            x[m + (i - n) * s] += x[m + i * s], x[m + i * s] = 0;
          }
          for (std::ptrdiff_t i = -1; i >= -2; --i) {
            x[m + (i + n) * s] += x[m + i * s], x[m + i * s] = 0;
          }
        });
        continue;
      }
      for (int side = 0; side < 2; ++side) {
        const SideKind kind = box.side[at(b)][at(side)];
        auto& W_bar = W_bar_[at(b)][at(side)][at(a)];
        const std::ptrdiff_t last = side ? (a == b ? n : n - 1) * s : 0,
                             ghost = side ? last + s : -s;
        if (a == b && kind != SideKind::outflow) {
          for_each_in_plane(box, b, [&](std::ptrdiff_t, std::ptrdiff_t m) { x[m + ghost] = 0; });
        } else if (kind == SideKind::wall || kind == SideKind::inflow) {
          for_each_in_plane(box, b, [&](std::ptrdiff_t p, std::ptrdiff_t m) {
            W_bar[at(p)] += 2 * static_cast<double>(x[m + ghost]);  // (1)
            x[m + last] -= x[m + ghost], x[m + ghost] = 0;
          });
        } else {
          for_each_in_plane(box, b, [&](std::ptrdiff_t, std::ptrdiff_t m) {
            x[m + last] += x[m + ghost], x[m + ghost] = 0;  // (2) (3)
          });
        }
      }
    }
  }
}

// Momentum.

template <class T>
void GridWork<T>::rate(const Velocities<T>& u, Velocities<T>& r) const {
  const bool central = model.advection == Advection::central;
  const GridView<T> v = view(central ? u : none_);
  const T* of_u[3];
  pointers(u, of_u);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(a, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      if (central) kernels_->rate(v, a, m, box.count(a, 2), r[at(a)].data() + m);
      // The derivative at rest: viscosity alone.
      else kernels_->rate_pushforward(v, of_u, T(0), a, m, box.count(a, 2), r[at(a)].data() + m);
    });
  }
  if (!central) carried_rate(u, r);
  if (!immersed_) return;
  for (const WallTerm& t : immersed_->wall_terms()) {
    const auto& x = u[at(t.component)];
    r[at(t.component)][at(t.m)] += viscosity * static_cast<T>(t.E) * (x[at(t.other)] - x[at(t.m)]);
  }
}

template <class T>
void GridWork<T>::rate_pullback(const Velocities<T>& u, const Velocities<T>& g,
                                Velocities<T>& u_bar, bool wants_parameters) {
  const GridView<T> v = view(u), base = model.advection == Advection::central ? v : view(none_);
  const T* of_g[3];
  pointers(g, of_g);
  // Cotangents reach one face beyond.
  const int wide = box.n[2] + 3, low0 = box.first > 0 ? 0 : -1, low1 = -1;
  const int outer = box.first > 0 ? 1 : box.n[0] + 3, inner = box.n[1] + 3, rows = outer * inner;
  const int each = std::max(1, kBlock / wide), blocks = (rows + each - 1) / each;
  for (int a = box.first; a < 3; ++a) {
    parallel_for(at(blocks), rows * wide < kAlone ? 1 : threads, [&](std::size_t block) {
      const int begin = static_cast<int>(block) * each, end = std::min(begin + each, rows);
      for (int row = begin; row < end; ++row) {
        const std::ptrdiff_t m = box.index(row / inner + low0, row % inner + low1, -1);
        kernels_->rate_pullback(base, of_g, a, m, wide, u_bar[at(a)].data());
      }
    });
    if (!wants_parameters) continue;
    for_each_row(a, [&](int i, int j, int row) {
      row_sums_[at(row)] =
          kernels_->rate_viscosity_pullback(v, of_g[a], a, box.index(i, j, 0), box.count(a, 2));
    });
    for (int row = 0; row < box.rows(a); ++row) viscosity_bar += row_sums_[at(row)];
  }
  if (model.advection != Advection::central) carried_rate_pullback(u, g, u_bar);
  if (!immersed_) return;
  for (std::size_t i = 0; i < E_bar.size(); ++i) {
    const WallTerm& t = immersed_->wall_terms()[i];
    const T bar = g[at(t.component)][at(t.m)], E = static_cast<T>(t.E);
    const T gap = u[at(t.component)][at(t.other)] - u[at(t.component)][at(t.m)];
    u_bar[at(t.component)][at(t.other)] += viscosity * E * bar;
    u_bar[at(t.component)][at(t.m)] -= viscosity * E * bar;
    viscosity_bar += static_cast<double>(E * gap * bar);
    E_bar[i] += static_cast<double>(viscosity * gap * bar);
  }
}

// Calls visit(m, place) for the faces of a component.
template <class T>
template <class Visit>
void GridWork<T>::for_each_face(int a, Visit&& visit) const {
  for_each_row(a, [&](int i, int j, int) {
    int place[3] = {i, j, 0};
    for (std::ptrdiff_t m = box.index(i, j, 0); place[2] < box.count(a, 2); ++m, ++place[2]) {
      visit(at(m), static_cast<const int*>(place));
    }
  });
}

template <class T>
void GridWork<T>::carried_rate(const Velocities<T>& u, Velocities<T>& r) const {
  const double dt = model.dt;
  const T over = static_cast<T>(1 / dt);
  for (int a = box.first; a < 3; ++a) {
    for_each_face(a, [&](std::size_t m, const int* place) {
      hat_[at(a)][m] = still(a, m) ? u[at(a)][m] : follow(box, u, dt, a, place).value(u[at(a)]);
    });
  }
  const bool corrected = model.advection == Advection::maccormack;
  if (corrected) set_sides(hat_), fill_ghosts(hat_);
  for (int a = box.first; a < 3; ++a) {
    for_each_face(a, [&](std::size_t m, const int* place) {
      T next = hat_[at(a)][m];
      if (corrected) {
        const FollowedFace<T> there = follow(box, u, dt, a, place),
                              back = follow(box, u, -dt, a, place);
        next += T(0.5) * (u[at(a)][m] - back.value(hat_[at(a)]));
        const T least = u[at(a)][at(there.extreme(u[at(a)], -1))],
                most = u[at(a)][at(there.extreme(u[at(a)], 1))];
        next = next < least ? least : next > most ? most : next;  // (2)
      }
      r[at(a)][m] += over * (next - u[at(a)][m]);
    });
  }
}

// Face by face onto what it read: a fixed order. û is made again.
template <class T>
void GridWork<T>::carried_rate_pullback(const Velocities<T>& u, const Velocities<T>& g,
                                        Velocities<T>& u_bar) {
  const double dt = model.dt;
  const T over = static_cast<T>(1 / dt);
  const bool corrected = model.advection == Advection::maccormack;
  const auto serially = [&](int a, auto&& visit) {
    for (int i = 0; i < box.count(a, 0); ++i) {
      for (int j = 0; j < box.count(a, 1); ++j) {
        for (int k = 0; k < box.count(a, 2); ++k) {
          const int place[3] = {i, j, k};
          visit(at(box.index(i, j, k)), static_cast<const int*>(place));
        }
      }
    }
  };
  for (int a = box.first; a < 3; ++a) {
    std::fill(hat_bar_[at(a)].begin(), hat_bar_[at(a)].end(), T(0));
    for_each_face(a, [&](std::size_t m, const int* place) {
      hat_[at(a)][m] = still(a, m) ? u[at(a)][m] : follow(box, u, dt, a, place).value(u[at(a)]);
    });
  }
  if (corrected) set_sides(hat_), fill_ghosts(hat_);
  for (int a = box.first; a < 3; ++a) {
    serially(a, [&](std::size_t m, const int* place) {
      const T bar = over * g[at(a)][m];
      if (still(a, m)) return;
      u_bar[at(a)][m] -= bar;
      if (!corrected) {
        hat_bar_[at(a)][m] += bar;
        return;
      }
      const FollowedFace<T> there = follow(box, u, dt, a, place),
                            back = follow(box, u, -dt, a, place);
      const T next = hat_[at(a)][m] + T(0.5) * (u[at(a)][m] - back.value(hat_[at(a)]));
      const std::size_t least = at(there.extreme(u[at(a)], -1)),
                        most = at(there.extreme(u[at(a)], 1));
      if (next < u[at(a)][least]) {
        u_bar[at(a)][least] += bar;
      } else if (next > u[at(a)][most]) {
        u_bar[at(a)][most] += bar;
      } else {
        hat_bar_[at(a)][m] += bar, u_bar[at(a)][m] += T(0.5) * bar;
        follow_pullback(box, back, hat_[at(a)], -dt, a, T(-0.5) * bar, hat_bar_[at(a)], u_bar);
      }
    });
  }
  if (corrected) fill_ghosts_pullback(hat_bar_), set_sides_pullback(hat_bar_);
  for (int a = box.first; a < 3; ++a) {
    serially(a, [&](std::size_t m, const int* place) {
      const T bar = hat_bar_[at(a)][m];
      if (bar == 0) return;
      if (still(a, m)) {
        u_bar[at(a)][m] += bar;
        return;
      }
      follow_pullback(box, follow(box, u, dt, a, place), u[at(a)], dt, a, bar, u_bar[at(a)], u_bar);
    });
  }
}

template <class T>
double GridWork<T>::courant(const Velocities<T>& u, int* cell) const {
  for_each_row(-1, [&](int i, int j, int row) {
    const std::ptrdiff_t m = box.index(i, j, 0);
    double most = 0;
    for (int k = 0; k < box.n[2]; ++k) {
      double sum = 0;
      for (int a = box.first; a < 3; ++a) {
        const T low = std::abs(u[at(a)][at(m + k)]),
                high = std::abs(u[at(a)][at(m + k + box.stride[at(a)])]);
        sum += static_cast<double>(low > high ? low : high) / box.h[at(a)];
      }
      if (sum > most) most = sum;
    }
    row_sums_[at(row)] = most;
  });
  int found = 0;
  for (int row = 1; row < box.n[0] * box.n[1]; ++row) {
    if (row_sums_[at(row)] > row_sums_[at(found)]) found = row;
  }
  if (cell) *cell = found;
  return model.dt * row_sums_[at(found)];
}

// Pressure.

template <class T>
void GridWork<T>::flux(const Velocities<T>& v, Velocities<T>& out) const {
  for (int a = box.first; a < 3; ++a) {
    for_each_row(a, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      const T* const from = v[at(a)].data() + m;
      T* const to = out[at(a)].data() + m;
      const int length = box.count(a, 2);
      if (!immersed_) {
        std::copy_n(from, length, to);
        return;
      }
      const T *const A = A_[at(a)].data() + m, *const w = w_[at(a)].data() + m;
      for (int k = 0; k < length; ++k) to[k] = A[k] * from[k] + (1 - A[k]) * w[k];
    });
    if (!box.periodic(a)) continue;
    const std::ptrdiff_t far = box.n[at(a)] * box.stride[at(a)];
    for_each_on_side(a, [&](int i, int j, int k, int) {
      const std::ptrdiff_t m = box.index(i, j, k);
      out[at(a)][at(m + far)] = out[at(a)][at(m)];
    });
  }
}

template <class T>
void GridWork<T>::divergence(const Velocities<T>& flux_of, double* cells) const {
  const GridView<T> v = view(flux_of);
  for_each_row(-1, [&](int i, int j, int row) {
    const std::size_t first = at(row) * at(box.n[2]);
    kernels_->divergence(v, box.index(i, j, 0), box.n[2], row_.data() + first);
    for (int k = 0; k < box.n[2]; ++k) {
      cells[first + at(k)] = static_cast<double>(row_[first + at(k)]);
    }
  });
}

template <class T>
void GridWork<T>::spread(const double* cells, Beyond beyond, std::vector<T>& q) const {
  for_each_row(-1, [&](int i, int j, int row) {
    const double* const from = cells + static_cast<std::ptrdiff_t>(row) * box.n[2];
    T* const to = q.data() + box.index(i, j, 0);
    for (int k = 0; k < box.n[2]; ++k) to[k] = static_cast<T>(from[k]);
  });
  for (int b = box.first; b < 3; ++b) {
    const std::ptrdiff_t s = box.stride[at(b)], n = box.n[at(b)];
    for_each_on_side(b, [&](int i, int j, int k, int) {
      T* const x = q.data() + box.index(i, j, k);
      if (box.periodic(b)) {
        x[-s] = x[(n - 1) * s], x[n * s] = x[0];
        return;
      }
      const auto outside = [&](int side, T inside) {
        if (beyond == Beyond::zero) return T(0);
        return box.side[at(b)][at(side)] == SideKind::outflow ? -inside : inside;
      };
      x[-s] = outside(0, x[0]), x[n * s] = outside(1, x[(n - 1) * s]);
    });
  }
}

// A stage.

template <class T>
void GridWork<T>::stage(const StageRule<T>& rule, const Velocities<T>& u0, const Velocities<T>& u,
                        Velocities<T>& out, T* q, const std::vector<T>* heat) {
  const GridView<T> v = view(u);
  const bool at_once = !immersed_ && !heat && model.advection == Advection::central;
  if (!at_once) rate(u, r_);
  if (heat) buoyancy(*heat, r_);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(a, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      const int length = box.count(a, 2);
      if (at_once) kernels_->rate(v, a, m, length, r_[at(a)].data() + m);
      kernels_->combine(rule, force[a], u0[at(a)].data() + m, v.u[a] + m, r_[at(a)].data() + m,
                        immersed_ ? D_[at(a)].data() + m : nullptr,
                        immersed_ ? w_[at(a)].data() + m : nullptr, length,
                        out[at(a)].data() + m);  // (5) (6)
    });
  }
  set_sides(out);
  flux(out, flux_);
  divergence(flux_, cells_.data());
  solve(cells_.data());  // (7)
  if (q) {
    for (int i = 0; i < box.cells; ++i) q[i] = static_cast<T>(cells_[at(i)]);
  }
  spread(cells_.data(), Beyond::mirrored, q_);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(a, [&](int i, int j, int) {
      kernels_->subtract_gradient(v, q_.data(), D(a), a, box.index(i, j, 0), box.count(a, 2),
                                  out[at(a)].data());  // (8)
    });
  }
}

template <class T>
void GridWork<T>::stage_pullback(const StageRule<T>& rule, const Velocities<T>& u, const T* q,
                                 const Velocities<T>& out, Velocities<T>& out_bar,
                                 Velocities<T>& u0_bar, Velocities<T>& u_bar, bool wants_parameters,
                                 const std::vector<T>* heat, std::vector<T>* heat_bar) {
  // (9): κ D ū⁺ at the faces.
  for (int a = box.first; a < 3; ++a) {
    for_each_row(a, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      const T* const from = out_bar[at(a)].data() + m;
      T* const to = flux_[at(a)].data() + m;
      for (int k = 0; k < box.count(a, 2); ++k) to[k] = immersed_ ? D(a)[m + k] * from[k] : from[k];
    });
    const std::ptrdiff_t far = box.n[at(a)] * box.stride[at(a)];
    for_each_on_side(a, [&](int i, int j, int k, int) {
      T* const x = flux_[at(a)].data() + box.index(i, j, k);
      if (box.periodic(a)) {
        x[far] = x[0];
        return;
      }
      x[0] *= given(box.side[at(a)][0]) ? T(0) : T(2);
      x[far] *= given(box.side[at(a)][1]) ? T(0) : T(2);
    });
  }
  divergence(flux_, cells_.data());
  solve(cells_.data());
  const GridView<T> v = view(u);
  const bool shaped = immersed_.has_value();
  if (shaped) {
    cells_of_q_.assign(q, q + box.cells);
    spread(cells_of_q_.data(), Beyond::mirrored, q_next_);
  }
  spread(cells_.data(), Beyond::zero, q_);
  for (int a = box.first; a < 3; ++a) {
    const T over = v.over_h[a];
    const std::ptrdiff_t s = box.stride[at(a)];
    for_each_row(a, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      T* const bar = out_bar[at(a)].data();
      const int length = box.count(a, 2);
      kernels_->subtract_gradient(v, q_.data(), A(a), a, m, length, bar);  // (10)
      if (!shaped) return;
      for (std::ptrdiff_t c = m; c < m + length; ++c) {
        const T down = over * (q_[at(c)] - q_[at(c - s)]), w = w_[at(a)][at(c)];
        D_bar_[at(a)][at(c)] -=
            static_cast<double>(bar[c] * over * (q_next_[at(c)] - q_next_[at(c - s)]));
        A_bar_[at(a)][at(c)] -= static_cast<double>(down * (out[at(a)][at(c)] - w));
        w_bar_[at(a)][at(c)] -= static_cast<double>(down * (1 - A_[at(a)][at(c)]));
      }
    });
  }
  set_sides_pullback(out_bar);  // (11)
  if (shaped) rate(u, r_);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(a, [&](int i, int j, int row) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      const T* const bar = out_bar[at(a)].data();
      T *const to0 = u0_bar[at(a)].data(), *const to = u_bar[at(a)].data(),
               *const g = g_[at(a)].data();
      double sum = 0;
      for (std::ptrdiff_t c = m; c < m + box.count(a, 2); ++c) {
        to0[c] += rule.alpha * bar[c];
        T y_bar = rule.beta * bar[c];
        if (shaped) {
          const T D = D_[at(a)][at(c)], w = w_[at(a)][at(c)];
          const T y = u[at(a)][at(c)] + rule.dt * (r_[at(a)][at(c)] + force[a]);
          D_bar_[at(a)][at(c)] += static_cast<double>(y_bar * (y - w));  // (12)
          w_bar_[at(a)][at(c)] += static_cast<double>(y_bar * (1 - D));
          y_bar *= D;
        }
        to[c] += y_bar;
        g[c] = rule.dt * y_bar;
        sum += static_cast<double>(g[c]);
      }
      row_sums_[at(row)] = sum;
    });
    for (int row = 0; row < box.rows(a); ++row) force_bar[a] += row_sums_[at(row)];
  }
  rate_pullback(u, g_, u_bar, wants_parameters);
  if (heat) buoyancy_pullback(*heat, g_, *heat_bar);
}

// Temperature.

template <class T>
void GridWork<T>::load_heat(const T* x, std::vector<T>& heat) const {
  for_each_row(-1, [&](int i, int j, int row) {
    std::copy_n(x + static_cast<std::ptrdiff_t>(row) * box.n[2], box.n[2],
                heat.data() + box.index(i, j, 0));
  });
  fill_heat(heat);
}

template <class T>
void GridWork<T>::store_heat(const std::vector<T>& heat, T* x) const {
  for_each_row(-1, [&](int i, int j, int row) {
    std::copy_n(heat.data() + box.index(i, j, 0), box.n[2],
                x + static_cast<std::ptrdiff_t>(row) * box.n[2]);
  });
}

template <class T>
void GridWork<T>::fill_heat(std::vector<T>& heat) const {
  for (int b = box.first; b < 3; ++b) {
    const std::ptrdiff_t s = box.stride[at(b)], n = box.n[at(b)];
    for_each_on_side(b, [&](int i, int j, int k, int) {
      T* const x = heat.data() + box.index(i, j, k);
      if (box.periodic(b)) {
        x[-s] = x[(n - 1) * s], x[n * s] = x[0];
        return;
      }
      const auto beyond = [&](int side, T inside) {
        const int place = model.side_temperature[at(b)][at(side)];
        return place < 0 ? inside : 2 * p_[at(place)] - inside;
      };
      x[-s] = beyond(0, x[0]), x[n * s] = beyond(1, x[(n - 1) * s]);
    });
  }
}

template <class T>
void GridWork<T>::fill_heat_pullback(std::vector<T>& heat_bar) {
  for (int b = box.first; b < 3; ++b) {
    const std::ptrdiff_t s = box.stride[at(b)], n = box.n[at(b)];
    for_each_on_side(b, [&](int i, int j, int k, int) {
      T* const x = heat_bar.data() + box.index(i, j, k);
      if (box.periodic(b)) {
        x[(n - 1) * s] += x[-s], x[0] += x[n * s];
      } else {
        for (int side = 0; side < 2; ++side) {
          const T ghost = side ? x[n * s] : x[-s];
          const int place = model.side_temperature[at(b)][at(side)];
          x[side ? (n - 1) * s : 0] += place < 0 ? ghost : -ghost;
          if (place >= 0) p_bar_[at(place)] += 2 * static_cast<double>(ghost);
        }
      }
      x[-s] = x[n * s] = 0;
    });
  }
}

template <class T>
void GridWork<T>::buoyancy(const std::vector<T>& heat, Velocities<T>& r) const {
  for (int a = box.first; a < 3; ++a) {
    const std::ptrdiff_t s = box.stride[at(a)];
    const T half = T(0.5) * lift[a];
    for_each_row(a, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      const T* const x = heat.data() + m;
      T* const to = r[at(a)].data() + m;
      for (int k = 0; k < box.count(a, 2); ++k) to[k] += half * (x[k - s] + x[k]);  // (B1)
    });
  }
}

template <class T>
void GridWork<T>::buoyancy_pullback(const std::vector<T>& heat, const Velocities<T>& g,
                                    std::vector<T>& heat_bar) {
  for (int a = box.first; a < 3; ++a) {
    const std::ptrdiff_t s = box.stride[at(a)];
    const T half = T(0.5) * lift[a];
    for (int i = 0; i < box.count(a, 0); ++i) {
      for (int j = 0; j < box.count(a, 1); ++j) {
        const std::ptrdiff_t m = box.index(i, j, 0);
        double sum = 0;
        for (std::ptrdiff_t c = m; c < m + box.count(a, 2); ++c) {
          const T bar = g[at(a)][at(c)];
          heat_bar[at(c - s)] += half * bar, heat_bar[at(c)] += half * bar;  // (B5)
          sum += 0.5 * static_cast<double>(bar * (heat[at(c - s)] + heat[at(c)]));
        }
        lift_bar[a] += sum;
      }
    }
  }
}

template <class T>
void GridWork<T>::heat_stage(const StageRule<T>& rule, const Velocities<T>& u,
                             const std::vector<T>& heat0, const std::vector<T>& heat,
                             std::vector<T>& out) const {
  for_each_row(-1, [&](int i, int j, int) {
    const std::ptrdiff_t m = box.index(i, j, 0);
    for (std::ptrdiff_t c = m; c < m + box.n[2]; ++c) {
      T rate_of_heat = 0;
      for (int a = box.first; a < 3; ++a) {
        const std::ptrdiff_t s = box.stride[at(a)];
        const T over = static_cast<T>(1 / box.h[at(a)]), *const x = heat.data() + c,
                *const v = u[at(a)].data() + c;
        const T low = v[0] * T(0.5) * (x[-s] + x[0]), high = v[s] * T(0.5) * (x[0] + x[s]);  // (B2)
        rate_of_heat += over * (low - high) + diffusivity * over * over * (x[s] - 2 * x[0] + x[-s]);
      }
      out[at(c)] =
          rule.alpha * heat0[at(c)] + rule.beta * (heat[at(c)] + rule.dt * rate_of_heat);  // (B3)
    }
  });
}

template <class T>
void GridWork<T>::heat_stage_pullback(const StageRule<T>& rule, const Velocities<T>& u,
                                      const std::vector<T>& heat, const std::vector<T>& out_bar,
                                      std::vector<T>& heat0_bar, std::vector<T>& heat_bar,
                                      Velocities<T>& u_bar) {
  // Cell by cell onto what it read: a fixed order.
  for (int i = 0; i < box.n[0]; ++i) {
    for (int j = 0; j < box.n[1]; ++j) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      double of_row = 0;
      for (std::ptrdiff_t c = m; c < m + box.n[2]; ++c) {
        heat0_bar[at(c)] += rule.alpha * out_bar[at(c)];
        heat_bar[at(c)] += rule.beta * out_bar[at(c)];
        const T sigma = rule.beta * rule.dt * out_bar[at(c)];
        for (int a = box.first; a < 3; ++a) {
          const std::ptrdiff_t s = box.stride[at(a)];
          const T over = static_cast<T>(1 / box.h[at(a)]), *const x = heat.data() + c,
                  *const v = u[at(a)].data() + c;
          T *const x_bar = heat_bar.data() + c, *const v_bar = u_bar[at(a)].data() + c;
          const T flow = T(0.5) * over * sigma, spread_out = diffusivity * over * over * sigma;
          v_bar[0] += flow * (x[-s] + x[0]), v_bar[s] -= flow * (x[0] + x[s]);  // (B4)
          x_bar[-s] += flow * v[0] + spread_out;                                // (B5)
          x_bar[0] += flow * (v[0] - v[s]) - 2 * spread_out;
          x_bar[s] += spread_out - flow * v[s];
          of_row += static_cast<double>(over * over * sigma * (x[s] - 2 * x[0] + x[-s]));
        }
      }
      diffusivity_bar += of_row;
    }
  }
}

// Tangents.

template <class T>
GridTangents<T> GridWork<T>::make_tangents() const {
  GridTangents<T> t;
  make_sides(t.W);
  if (immersed_) t.w = make();
  return t;
}

template <class T>
void GridWork<T>::set_tangents(const T* p_tan, const T* u_tan, GridTangents<T>& t) const {
  t.viscosity = p_tan ? p_tan[GridModel::kViscosity] : T(0);
  for (int a = box.first; a < 3; ++a) {
    t.force[a] = model.force_input >= 0 && u_tan ? u_tan[model.force_input + a - box.first] : T(0);
  }
  set_walls(p_tan, u_tan, t.W);
  if (!immersed_) return;
  std::vector<double> wide(p_.size(), 0.0);
  if (p_tan) wide.assign(p_tan, p_tan + p_.size());
  std::vector<const double*> numbers_tan;
  for (const auto& o : model.obstacle) numbers_tan.push_back(wide.data() + o.numbers);
  immersed_->pushforward(obstacle_numbers(), numbers_tan,
                         static_cast<double>(t.viscosity) * model.dt, t.D, t.A, t.E);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(a, [&](int i, int j, int) {
      for (int k = 0; k < box.count(a, 2); ++k) {
        const std::ptrdiff_t m = box.index(i, j, k);
        T w = surface(p_tan, u_tan, a, i, j, k);
        const auto& o = model.obstacle[at(immersed_->owner(a)[m])];
        for (int e = 0; e < model.spins() && o.spin.parameter >= 0; ++e) {
          const int from = (e + 1) % 3, to = (e + 2) % 3;
          if (a != from && a != to) continue;
          const double moved = wide[at(o.numbers + (a == from ? to : from) - box.first)];
          w += number(o.spin, e, inputs_) * static_cast<T>(a == from ? moved : -moved);
        }
        t.w[at(a)][at(m)] = w;
      }
    });
  }
}

template <class T>
void GridWork<T>::load_pushforward(const T* x_tan, const GridTangents<T>& t,
                                   Velocities<T>& u_tan) const {
  for (int a = box.first; a < 3; ++a) {
    const int length = box.count(a, 2);
    for_each_row(a, [&](int i, int j, int row) {
      const std::ptrdiff_t m = box.index(i, j, 0),
                           from = box.offset[at(a)] + static_cast<std::ptrdiff_t>(row) * length;
      for (int k = 0; k < length; ++k) {
        T& to = u_tan[at(a)][at(m + k)];
        to = x_tan ? x_tan[from + k] : T(0);
        if (immersed_ && D_[at(a)][at(m + k)] == 0) to = t.w[at(a)][at(m + k)];
      }
    });
  }
  set_sides(u_tan, t.W);
}

template <class T>
void GridWork<T>::stage_pushforward(const StageRule<T>& rule, const Velocities<T>& u, const T* q,
                                    const Velocities<T>& out, const GridTangents<T>& t,
                                    const Velocities<T>& u0_tan, const Velocities<T>& u_tan,
                                    Velocities<T>& out_tan) {
  const GridView<T> v = view(u);
  const T* of_tan[3];
  pointers(u_tan, of_tan);
  if (immersed_) rate(u, r_);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(a, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      kernels_->rate_pushforward(v, of_tan, t.viscosity, a, m, box.count(a, 2),
                                 g_[at(a)].data() + m);
    });
  }
  for (std::size_t i = 0; i < t.E.size(); ++i) {
    const WallTerm& term = immersed_->wall_terms()[i];
    const auto &x = u[at(term.component)], &x_tan = u_tan[at(term.component)];
    const T E = static_cast<T>(term.E), gap = x[at(term.other)] - x[at(term.m)];
    g_[at(term.component)][at(term.m)] +=
        (t.viscosity * E + viscosity * static_cast<T>(t.E[i])) * gap +
        viscosity * E * (x_tan[at(term.other)] - x_tan[at(term.m)]);
  }
  if (immersed_) {
    cells_of_q_.assign(q, q + box.cells);
    spread(cells_of_q_.data(), Beyond::mirrored, q_next_);
  }
  for (int a = box.first; a < 3; ++a) {
    for_each_row(a, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      for (std::ptrdiff_t c = m; c < m + box.count(a, 2); ++c) {
        T y_tan = u_tan[at(a)][at(c)] + rule.dt * (g_[at(a)][at(c)] + t.force[a]);
        if (immersed_) {
          const T D = D_[at(a)][at(c)];
          const T y = u[at(a)][at(c)] + rule.dt * (r_[at(a)][at(c)] + force[a]);
          y_tan = static_cast<T>(t.D[at(a)][at(c)]) * (y - w_[at(a)][at(c)]) + D * y_tan +
                  (1 - D) * t.w[at(a)][at(c)];
        }
        out_tan[at(a)][at(c)] = rule.alpha * u0_tan[at(a)][at(c)] + rule.beta * y_tan;  // (13)
      }
    });
  }
  set_sides(out_tan, t.W);
  for (int a = box.first; a < 3; ++a) {
    const T over = v.over_h[a];
    const std::ptrdiff_t s = box.stride[at(a)];
    for_each_row(a, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      for (std::ptrdiff_t c = m; c < m + box.count(a, 2); ++c) {
        T& flow = flux_[at(a)][at(c)];
        flow = out_tan[at(a)][at(c)];
        if (!immersed_) continue;
        const T A = A_[at(a)][at(c)], slope = over * (q_next_[at(c)] - q_next_[at(c - s)]);
        const T lost = static_cast<T>(t.D[at(a)][at(c)]) * slope;
        flow = A * (flow - lost) + (1 - A) * t.w[at(a)][at(c)] +
               static_cast<T>(t.A[at(a)][at(c)]) * (out[at(a)][at(c)] - w_[at(a)][at(c)]);  // (14)
        out_tan[at(a)][at(c)] -= lost;
      }
    });
    if (!box.periodic(a)) continue;
    const std::ptrdiff_t far = box.n[at(a)] * s;
    for_each_on_side(a, [&](int i, int j, int k, int) {
      T* const x = flux_[at(a)].data() + box.index(i, j, k);
      x[far] = x[0];
    });
  }
  divergence(flux_, cells_.data());
  solve(cells_.data());
  spread(cells_.data(), Beyond::mirrored, q_);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(a, [&](int i, int j, int) {
      kernels_->subtract_gradient(v, q_.data(), D(a), a, box.index(i, j, 0), box.count(a, 2),
                                  out_tan[at(a)].data());
    });
  }
}

template class GridWork<float>;
template class GridWork<double>;

}  // namespace cycloid::inline fluid
