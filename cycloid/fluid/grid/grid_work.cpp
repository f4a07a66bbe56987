#include "cycloid/fluid/grid/grid_work.h"

#include <algorithm>
#include <cmath>

#include "cycloid/fluid/grid/grid_rows.h"

namespace cycloid::inline fluid {
namespace {

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
      sides(model),
      obstacles(model.obstacles.empty() ? nullptr
                                        : std::make_unique<GridObstacles<T>>(model, threads)),
      projection(model, sides, obstacles.get(), threads),
      keep_(std::move(of)),
      kernels_(&grid_kernels<T>()),
      p_(at(model.parameters)),
      p_bar_(p_.size(), 0.0) {
  for (std::size_t i = 0; i < model.scalars.size(); ++i) {
    scalars.emplace_back(model, i, obstacles.get(), threads);
  }
  r_ = make(), g_ = make();
  if (!scalars.empty()) flux_ = flux_bar_ = make();
  if (model.advection != Advection::central) {
    none_ = make();
    carried_.emplace(model, sides, threads);
  }
  if (model.implicit) {
    viscous.emplace(model, sides, obstacles.get(), threads);
    y_ = star_ = asked_ = made_ = end_ = make();
    q_star_.resize(at(box.cells)), q_end_.resize(at(box.cells));
  }
  int rows = box.n[0] * box.n[1];
  for (int a = box.first; a < 3; ++a) rows = std::max(rows, box.rows(a));
  row_sums_.resize(at(rows));
}

template <class T>
Velocities<T> GridWork<T>::make() const {
  Velocities<T> u;
  for (int a = box.first; a < 3; ++a) u[at(a)].assign(at(box.numbers), T(0));
  return u;
}

template <class T>
Scalars<T> GridWork<T>::make_scalars() const {
  return Scalars<T>(scalars.size(), std::vector<T>(at(box.numbers), T(0)));
}

// Parameters and inputs.

template <class T>
void GridWork<T>::read(const T* p) {
  std::copy_n(p, p_.size(), p_.begin());
  std::fill(p_bar_.begin(), p_bar_.end(), 0.0);
  viscosity = p_[GridModel::kViscosity], density = p_[GridModel::kDensity];
  viscosity_bar = density_bar = 0;
  if (obstacles) obstacles->read(p);
  for (GridScalar<T>& one : scalars) one.read(p);
}

template <class T>
void GridWork<T>::give_back(double* p_bar) {
  for (GridScalar<T>& one : scalars) {
    if (obstacles && model.motions == 0) one.place_pullback();
    one.give_back(p_bar_.data());
  }
  if (obstacles) obstacles->give_back(p_bar_.data());
  p_bar_[GridModel::kViscosity] += viscosity_bar, p_bar_[GridModel::kDensity] += density_bar;
  viscosity_bar = density_bar = 0;
  std::copy(p_bar_.begin(), p_bar_.end(), p_bar);
}

template <class T>
void GridWork<T>::set_inputs(const T* u, const T* x, Moment moment) {
  for (int a = 0; a < box.dimensions; ++a) {
    force[a + box.first] = model.force_input >= 0 && u ? u[model.force_input + a] : T(0);
    force_bar[a + box.first] = 0;
  }
  sides.set(p_.data(), u);
  if (!obstacles) return;
  obstacles->place(moment, motion(x), u);
  for (GridScalar<T>& one : scalars) one.place();
}

template <class T>
void GridWork<T>::give_back_inputs(T* u_bar, const T* x_next_bar, T* x_bar) {
  for (int a = 0; a < box.dimensions && model.force_input >= 0 && u_bar; ++a) {
    u_bar[model.force_input + a] += static_cast<T>(force_bar[a + box.first]);
  }
  sides.give_back(p_bar_.data(), u_bar);
  if (!obstacles) return;
  for (GridScalar<T>& one : scalars) {
    if (model.motions > 0) one.place_pullback();
  }
  obstacles->place_pullback(motion(x_next_bar), p_bar_.data(), u_bar, motion(x_bar));
}

// States.

template <class T>
void GridWork<T>::load(const T* x, Velocities<T>& u) const {
  for (int a = box.first; a < 3; ++a) {
    const int length = box.count(a, 2);
    for_each_row(box, a, threads, [&](int i, int j, int row) {
      const T* const from = x + box.offset[at(a)] + static_cast<std::ptrdiff_t>(row) * length;
      const std::ptrdiff_t m = box.index(i, j, 0);
      std::copy_n(from, length, u[at(a)].data() + m);
      for (int k = 0; obstacles && k < length; ++k) {
        if (obstacles->D[at(a)][at(m + k)] == 0) {
          u[at(a)][at(m + k)] = obstacles->w[at(a)][at(m + k)];
        }
      }
    });
  }
  sides.set_sides(u);
}

template <class T>
void GridWork<T>::load_pullback(Velocities<T>& u_bar, T* x_bar) {
  sides.set_sides_pullback(u_bar);
  for (int a = box.first; a < 3; ++a) {
    const int length = box.count(a, 2);
    for_each_row(box, a, threads, [&](int i, int j, int row) {
      T* const to = x_bar + box.offset[at(a)] + static_cast<std::ptrdiff_t>(row) * length;
      const std::ptrdiff_t m = box.index(i, j, 0);
      for (int k = 0; k < length; ++k) {
        const T bar = u_bar[at(a)][at(m + k)];
        if (obstacles && obstacles->D[at(a)][at(m + k)] == 0) {
          obstacles->w_bar[at(a)][at(m + k)] += static_cast<double>(bar);
        } else {
          to[k] += bar;
        }
      }
    });
  }
}

template <class T>
void GridWork<T>::store(const Velocities<T>& u, T* x) const {
  for (int a = box.first; a < 3; ++a) {
    const int length = box.count(a, 2);
    for_each_row(box, a, threads, [&](int i, int j, int row) {
      std::copy_n(u[at(a)].data() + box.index(i, j, 0), length,
                  x + box.offset[at(a)] + static_cast<std::ptrdiff_t>(row) * length);
    });
  }
}

template <class T>
void GridWork<T>::add_row(const T* x, Velocities<T>& u) const {
  for (int a = box.first; a < 3; ++a) {
    const int length = box.count(a, 2);
    for_each_row(box, a, threads, [&](int i, int j, int row) {
      const T* const from = x + box.offset[at(a)] + static_cast<std::ptrdiff_t>(row) * length;
      T* const to = u[at(a)].data() + box.index(i, j, 0);
      for (int k = 0; k < length; ++k) to[k] += from[k];
    });
  }
}

template <class T>
void GridWork<T>::add_row(const T* x, Scalars<T>& C) const {
  for (std::size_t s = 0; s < C.size(); ++s) {
    for_each_row(box, -1, threads, [&](int i, int j, int row) {
      const T* const from = x + model.scalar(s) + static_cast<std::ptrdiff_t>(row) * box.n[2];
      T* const to = C[s].data() + box.index(i, j, 0);
      for (int k = 0; k < box.n[2]; ++k) to[k] += from[k];
    });
  }
}

template <class T>
void GridWork<T>::load(const T* x, Scalars<T>& C) const {
  for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i].load(x + model.scalar(i), C[i]);
}

template <class T>
void GridWork<T>::store(const Scalars<T>& C, T* x) const {
  for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i].store(C[i], x + model.scalar(i));
}

template <class T>
double GridWork<T>::spreading() const {
  double most = model.implicit ? 0 : static_cast<double>(viscosity);
  for (const GridScalar<T>& one : scalars) most = std::max(most, one.diffusivity());
  return most;
}

template <class T>
double GridWork<T>::courant(const Velocities<T>& u, int* cell) const {
  for_each_row(box, -1, threads, [&](int i, int j, int row) {
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

// Momentum.

template <class T>
void GridWork<T>::rate(const Velocities<T>& u, Velocities<T>& r) {
  const GridView<T> v = view_of(box, carried_ ? none_ : u, viscosity);
  const T* of_u[3];
  pointers(u, of_u);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(box, a, threads, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      if (!carried_) kernels_->rate(v, a, m, box.count(a, 2), r[at(a)].data() + m);
      // The derivative at rest: viscosity alone.
      else kernels_->rate_pushforward(v, of_u, T(0), a, m, box.count(a, 2), r[at(a)].data() + m);
    });
  }
  if (carried_) carried_->carried_rate(u, obstacles ? &obstacles->D : nullptr, r);
  for (int a = box.first; a < 3 && obstacles; ++a) {
    const auto& x = u[at(a)];
    for (const WallTerm& t : obstacles->immersed().wall_terms(a)) {
      r[at(a)][at(t.m)] += viscosity * static_cast<T>(t.E) * (x[at(t.other)] - x[at(t.m)]);
    }
  }
}

template <class T>
void GridWork<T>::rate_pullback(const Velocities<T>& u, const Velocities<T>& g,
                                Velocities<T>& u_bar, bool wants_parameters) {
  const GridView<T> v = view_of(box, u, viscosity),
                    base = carried_ ? view_of(box, none_, viscosity) : v;
  const T* of_g[3];
  pointers(g, of_g);
  // Cotangents reach one face beyond.
  const int wide = box.n[2] + 3, low0 = box.first > 0 ? 0 : -1, low1 = -1;
  const int outer = box.first > 0 ? 1 : box.n[0] + 3, inner = box.n[1] + 3, rows = outer * inner;
  const int each = std::max(1, kRowBlock / wide), blocks = (rows + each - 1) / each;
  for (int a = box.first; a < 3; ++a) {
    parallel_for(at(blocks), rows * wide < kOneThread ? 1 : threads, [&](std::size_t block) {
      const int begin = static_cast<int>(block) * each, end = std::min(begin + each, rows);
      for (int row = begin; row < end; ++row) {
        const std::ptrdiff_t m = box.index(row / inner + low0, row % inner + low1, -1);
        kernels_->rate_pullback(base, of_g, a, m, wide, u_bar[at(a)].data());
      }
    });
    if (!wants_parameters) continue;
    for_each_row(box, a, threads, [&](int i, int j, int row) {
      row_sums_[at(row)] =
          kernels_->rate_viscosity_pullback(v, of_g[a], a, box.index(i, j, 0), box.count(a, 2));
    });
    for (int row = 0; row < box.rows(a); ++row) viscosity_bar += row_sums_[at(row)];
  }
  if (carried_) carried_->carried_rate_pullback(u, obstacles ? &obstacles->D : nullptr, g, u_bar);
  for (int a = box.first; a < 3 && obstacles; ++a) {
    const auto& terms = obstacles->immersed().wall_terms(a);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const WallTerm& t = terms[i];
      const T bar = g[at(a)][at(t.m)], E = static_cast<T>(t.E);
      const T gap = u[at(a)][at(t.other)] - u[at(a)][at(t.m)];
      u_bar[at(a)][at(t.other)] += viscosity * E * bar;
      u_bar[at(a)][at(t.m)] -= viscosity * E * bar;
      viscosity_bar += static_cast<double>(E * gap * bar);
      obstacles->E_bar[at(a)][i] += static_cast<double>(viscosity * gap * bar);
    }
  }
}

// A stage.

template <class T>
void GridWork<T>::stage(const StageRule<T>& rule, const Velocities<T>& u0, const Velocities<T>& u,
                        const Scalars<T>& C, Velocities<T>& out, T* q) {
  const GridView<T> v = view_of(box, u, viscosity);
  const bool at_once = !obstacles && scalars.empty() && !carried_;
  if (!at_once) rate(u, r_);
  for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i].buoyancy(C[i], r_);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(box, a, threads, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      const int length = box.count(a, 2);
      if (at_once) kernels_->rate(v, a, m, length, r_[at(a)].data() + m);
      kernels_->combine(rule, force[a], u0[at(a)].data() + m, v.u[a] + m, r_[at(a)].data() + m,
                        obstacles ? obstacles->D[at(a)].data() + m : nullptr,
                        obstacles ? obstacles->w[at(a)].data() + m : nullptr, length,
                        out[at(a)].data() + m);  // (1) (2)
    });
  }
  projection.project(out, q);  // (3)
}

template <class T>
void GridWork<T>::stage_pullback(const StageRule<T>& rule, const Velocities<T>& u,
                                 const Scalars<T>& C, const T* q, const Velocities<T>& out,
                                 Velocities<T>& out_bar, Velocities<T>& u0_bar,
                                 Velocities<T>& u_bar, Scalars<T>& C_bar, bool wants_parameters) {
  projection.project_pullback(q, out, out_bar);  // (3)
  if (obstacles) {
    rate(u, r_);
    for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i].buoyancy(C[i], r_);
  }
  for (int a = box.first; a < 3; ++a) {
    for_each_row(box, a, threads, [&](int i, int j, int row) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      const T* const bar = out_bar[at(a)].data();
      T *const to0 = u0_bar[at(a)].data(), *const to = u_bar[at(a)].data(),
               *const g = g_[at(a)].data();
      double sum = 0;
      for (std::ptrdiff_t c = m; c < m + box.count(a, 2); ++c) {
        to0[c] += rule.alpha * bar[c];
        T y_bar = rule.beta * bar[c];  // (4)
        if (obstacles) {
          const T D = obstacles->D[at(a)][at(c)], w = obstacles->w[at(a)][at(c)];
          const T y = pushed(rule, u, a, at(c));
          obstacles->D_bar[at(a)][at(c)] += static_cast<double>(y_bar * (y - w));  // (5)
          obstacles->w_bar[at(a)][at(c)] += static_cast<double>(y_bar * (1 - D));
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
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    scalars[i].buoyancy_pullback(C[i], g_, C_bar[i]);
  }
}

template <class T>
void GridWork<T>::carry(const StageRule<T>& rule, const Velocities<T>& u, const Scalars<T>& C0,
                        const Scalars<T>& C, Scalars<T>& out) {
  if (scalars.empty()) return;
  projection.flux(u, flux_);
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    scalars[i].advance(rule, flux_, C0[i], C[i], out[i]);
  }
}

template <class T>
void GridWork<T>::carry_pullback(const StageRule<T>& rule, const Velocities<T>& u,
                                 const Scalars<T>& C, const Scalars<T>& out_bar, Scalars<T>& C0_bar,
                                 Scalars<T>& C_bar, Velocities<T>& u_bar) {
  if (scalars.empty()) return;
  projection.flux(u, flux_);
  for (auto& component : flux_bar_) std::fill(component.begin(), component.end(), T(0));
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    scalars[i].advance_pullback(rule, flux_, C[i], out_bar[i], C0_bar[i], C_bar[i], flux_bar_);
  }
  projection.flux_pullback(u, flux_bar_, u_bar);
}

// Implicit viscosity.

template <class T>
void GridWork<T>::implicit_stage(int stage, const Velocities<T>& u0, const Velocities<T>& u,
                                 const Scalars<T>& C0, const Scalars<T>& C, Velocities<T>& out) {
  const T dt = static_cast<T>(model.dt);
  const auto add = [&](const Velocities<T>& from, const Scalars<T>& carried, T scale) {
    rate(from, r_);
    for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i].buoyancy(carried[i], r_);
    for (int a = box.first; a < 3; ++a) {
      for_each_face(box, a, threads,
                    [&](std::size_t m, const int*) { y_[at(a)][m] += scale * r_[at(a)][m]; });
    }
  };
  for (int a = box.first; a < 3; ++a) {
    for_each_face(box, a, threads,
                  [&](std::size_t m, const int*) { y_[at(a)][m] = u0[at(a)][m] + dt * force[a]; });
  }
  add(u0, C0, stage == 0 ? dt : T(0.5) * dt);  // (7)
  if (stage > 0) add(u, C, T(0.5) * dt);       // (8)
  for (int a = box.first; a < 3; ++a) {
    for_each_face(box, a, threads, [&](std::size_t m, const int*) {
      T& to = star_[at(a)][m] = y_[at(a)][m];
      if (!obstacles) return;
      const T D = obstacles->D[at(a)][m];
      to = D * to + (1 - D) * obstacles->w[at(a)][m];
    });
  }
  projection.project(star_, q_star_.data());
  for (int a = box.first; a < 3; ++a) {
    for_each_face(box, a, threads, [&](std::size_t m, const int*) {
      asked_[at(a)][m] = made_[at(a)][m] = star_[at(a)][m] - u[at(a)][m];
    });
  }
  viscous->diffuse(viscosity, made_);
  for (int a = box.first; a < 3; ++a) {
    for_each_face(box, a, threads, [&](std::size_t m, const int*) {
      out[at(a)][m] = u[at(a)][m] + made_[at(a)][m];
    });
  }
  projection.project(out, q_end_.data());  // (9)
}

template <class T>
void GridWork<T>::implicit_stage_pullback(int stage, const Velocities<T>& u0,
                                          const Velocities<T>& u, const Scalars<T>& C0,
                                          const Scalars<T>& C, Velocities<T>& out_bar,
                                          Velocities<T>& u0_bar, Velocities<T>& u_bar,
                                          Scalars<T>& C0_bar, Scalars<T>& C_bar,
                                          bool wants_parameters) {
  const T dt = static_cast<T>(model.dt);
  implicit_stage(stage, u0, u, C0, C, end_);
  const auto add = [&](T sign) {
    for (int a = box.first; a < 3; ++a) {
      for_each_face(box, a, threads, [&](std::size_t m, const int*) {
        u_bar[at(a)][m] += sign * out_bar[at(a)][m];
      });
    }
  };
  projection.project_pullback(q_end_.data(), end_, out_bar);  // (9)
  add(1);
  viscous->diffuse_pullback(viscosity, asked_, made_, out_bar, viscosity_bar);
  add(-1);
  projection.project_pullback(q_star_.data(), star_, out_bar);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(box, a, threads, [&](int i, int j, int row) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      double sum = 0;
      for (std::ptrdiff_t c = m; c < m + box.count(a, 2); ++c) {
        T& y_bar = out_bar[at(a)][at(c)];
        if (obstacles) {
          const T D = obstacles->D[at(a)][at(c)], w = obstacles->w[at(a)][at(c)];
          obstacles->D_bar[at(a)][at(c)] += static_cast<double>(y_bar * (y_[at(a)][at(c)] - w));
          obstacles->w_bar[at(a)][at(c)] += static_cast<double>(y_bar * (1 - D));
          y_bar *= D;
        }
        u0_bar[at(a)][at(c)] += y_bar;
        g_[at(a)][at(c)] = (stage == 0 ? dt : T(0.5) * dt) * y_bar;
        sum += static_cast<double>(dt * y_bar);
      }
      row_sums_[at(row)] = sum;
    });
    for (int row = 0; row < box.rows(a); ++row) force_bar[a] += row_sums_[at(row)];
  }
  const auto pull = [&](const Velocities<T>& from, const Scalars<T>& carried, Velocities<T>& bar,
                        Scalars<T>& carried_bar) {
    rate_pullback(from, g_, bar, wants_parameters);
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      scalars[i].buoyancy_pullback(carried[i], g_, carried_bar[i]);
    }
  };
  if (stage > 0) pull(u, C, u_bar, C_bar);  // (8)
  pull(u0, C0, u0_bar, C0_bar);             // (7)
}

// Tangents.

template <class T>
GridTangents<T> GridWork<T>::make_tangents() const {
  GridTangents<T> t;
  t.W = sides.make();
  if (obstacles) t.obstacles = obstacles->make_tangents();
  return t;
}

template <class T>
void GridWork<T>::set_tangents(const T* p_tan, const T* u_tan, const T* x_tan, GridTangents<T>& t) {
  t.viscosity = p_tan ? p_tan[GridModel::kViscosity] : T(0);
  for (int a = box.first; a < 3; ++a) {
    t.force[a] = model.force_input >= 0 && u_tan ? u_tan[model.force_input + a - box.first] : T(0);
  }
  sides.set(p_tan, u_tan, t.W);
  if (obstacles) obstacles->place_pushforward(p_tan, u_tan, motion(x_tan), *t.obstacles);
}

template <class T>
void GridWork<T>::load_pushforward(const T* x_tan, const GridTangents<T>& t,
                                   Velocities<T>& u_tan) const {
  for (int a = box.first; a < 3; ++a) {
    const int length = box.count(a, 2);
    for_each_row(box, a, threads, [&](int i, int j, int row) {
      const std::ptrdiff_t m = box.index(i, j, 0),
                           from = box.offset[at(a)] + static_cast<std::ptrdiff_t>(row) * length;
      for (int k = 0; k < length; ++k) {
        T& to = u_tan[at(a)][at(m + k)];
        to = x_tan ? x_tan[from + k] : T(0);
        if (obstacles && obstacles->D[at(a)][at(m + k)] == 0) to = t.obstacles->w[at(a)][at(m + k)];
      }
    });
  }
  sides.set_sides(u_tan, t.W);
}

template <class T>
void GridWork<T>::stage_pushforward(const StageRule<T>& rule, const Velocities<T>& u, const T* q,
                                    const Velocities<T>& out, const GridTangents<T>& t,
                                    const Velocities<T>& u0_tan, const Velocities<T>& u_tan,
                                    Velocities<T>& out_tan) {
  const GridView<T> v = view_of(box, u, viscosity);
  const T* of_tan[3];
  pointers(u_tan, of_tan);
  if (obstacles) rate(u, r_);
  for (int a = box.first; a < 3; ++a) {
    for_each_row(box, a, threads, [&](int i, int j, int) {
      const std::ptrdiff_t m = box.index(i, j, 0);
      kernels_->rate_pushforward(v, of_tan, t.viscosity, a, m, box.count(a, 2),
                                 g_[at(a)].data() + m);
    });
    const auto &x = u[at(a)], &x_tan = u_tan[at(a)];
    for (std::size_t i = 0; obstacles && i < t.obstacles->E[at(a)].size(); ++i) {
      const WallTerm& term = obstacles->immersed().wall_terms(a)[i];
      const T E = static_cast<T>(term.E), gap = x[at(term.other)] - x[at(term.m)];
      g_[at(a)][at(term.m)] +=
          (t.viscosity * E + viscosity * static_cast<T>(t.obstacles->E[at(a)][i])) * gap +
          viscosity * E * (x_tan[at(term.other)] - x_tan[at(term.m)]);
    }
    for_each_face(box, a, threads, [&](std::size_t m, const int*) {
      T y_tan = u_tan[at(a)][m] + rule.dt * (g_[at(a)][m] + t.force[a]);
      if (obstacles) {
        const T D = obstacles->D[at(a)][m];
        y_tan = static_cast<T>(t.obstacles->D[at(a)][m]) *
                    (pushed(rule, u, a, m) - obstacles->w[at(a)][m]) +
                D * y_tan + (1 - D) * t.obstacles->w[at(a)][m];
      }
      out_tan[at(a)][m] = rule.alpha * u0_tan[at(a)][m] + rule.beta * y_tan;  // (6)
    });
  }
  projection.project_pushforward(q, out, t.W, t.obstacles ? &*t.obstacles : nullptr, out_tan);
}

template class GridWork<float>;
template class GridWork<double>;

}  // namespace cycloid::inline fluid
