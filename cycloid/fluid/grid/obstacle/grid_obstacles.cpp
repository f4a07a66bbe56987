#include "cycloid/fluid/grid/obstacle/grid_obstacles.h"

#include <algorithm>
#include <cmath>

#include "cycloid/fluid/grid/grid_rows.h"

namespace cycloid::inline fluid {
namespace {

// Axes e + 1 and e + 2 of a rotation about axis e, and which of them a component is: the sign of
// its part in Ω × r, and the axis of r that it multiplies; 0 where it has none.
struct Turned {
  int sign, other;
};
Turned turned(int e, int a) {
  if (a == (e + 1) % 3) return {-1, (e + 2) % 3};
  if (a == (e + 2) % 3) return {1, (e + 1) % 3};
  return {0, 0};
}

}  // namespace

template <class T>
GridObstacles<T>::GridObstacles(const GridModel& model, int threads)
    : model_(model),
      box_(model.box),
      threads_(threads),
      first_(model.scalar(model.scalars.size())),
      immersed_(box_, model.obstacles),
      solver_(box_, model.pattern),
      p_(at(model.parameters)),
      wide_p_(p_.size()),
      wide_p_bar_(p_.size()),
      ways_(model.obstacles.size() * at(box_.dimensions + 1), 0.0),
      ways_bar_(ways_) {
  for (int a = box_.first; a < 3; ++a) {
    D[at(a)].assign(at(box_.numbers), T(0)), A[at(a)] = w[at(a)] = D[at(a)];
    D_bar[at(a)].assign(at(box_.numbers), 0.0), A_bar[at(a)] = w_bar[at(a)] = D_bar[at(a)];
    k_[at(a)] = D_bar[at(a)];
  }
  for (std::size_t o = 0; o < model.obstacle.size(); ++o) {
    numbers_.numbers.push_back(wide_p_.data() + model.obstacle[o].numbers);
    bars_.numbers.push_back(wide_p_bar_.data() + model.obstacle[o].numbers);
    numbers_.ways.push_back(ways_.data() + number(o, 0));
    bars_.ways.push_back(ways_bar_.data() + number(o, 0));
  }
}

template <class T>
template <class Visit>
void GridObstacles<T>::for_each_motion(Visit&& visit) const {
  for (std::size_t o = 0; o < model_.obstacle.size(); ++o) {
    const auto& places = model_.obstacle[o];
    for (int i = 0; moves(o) && i < box_.dimensions; ++i) {
      visit(places.motion - first_ + i, number(o, i), places.velocity, i);
    }
    if (turns(o)) visit(places.angle - first_, number(o, box_.dimensions), places.spin, 0);
  }
}

template <class T>
void GridObstacles<T>::read(const T* p) {
  const bool same = !seen_ways_.empty() && std::equal(p_.begin(), p_.end(), p);
  std::copy_n(p, p_.size(), p_.begin());
  std::copy(p_.begin(), p_.end(), wide_p_.begin());
  std::fill(wide_p_bar_.begin(), wide_p_bar_.end(), 0.0);
  for (int a = box_.first; a < 3; ++a) {
    for (auto* bar : {&D_bar[at(a)], &A_bar[at(a)], &E_bar[at(a)]}) {
      std::fill(bar->begin(), bar->end(), 0.0);
    }
  }
  if (!same) seen_ways_.clear();
  if (model_.motions == 0) set_geometry();
}

template <class T>
void GridObstacles<T>::set_geometry() {
  if (seen_ways_ == ways_) return;
  const double viscosity = wide_p_[GridModel::kViscosity];
  immersed_.set(numbers_, viscosity * model_.dt);
  for (int a = box_.first; a < 3; ++a) {
    E_bar[at(a)].reserve(immersed_.wall_terms(a).capacity());
    E_bar[at(a)].assign(immersed_.wall_terms(a).size(), 0.0);
    const double *const of_D = immersed_.D(a), *const of_A = immersed_.A(a);
    for (std::ptrdiff_t m = 0; m < box_.numbers; ++m) {
      D[at(a)][at(m)] = static_cast<T>(of_D[m]), A[at(a)][at(m)] = static_cast<T>(of_A[m]);
      k_[at(a)][at(m)] = static_cast<double>(D[at(a)][at(m)]) * A[at(a)][at(m)];
    }
    if (!box_.periodic(a)) continue;
    const std::ptrdiff_t far = box_.n[at(a)] * box_.stride[at(a)];
    for_each_on_side(box_, a, [&](int i, int j, int k, int) {
      const std::ptrdiff_t m = box_.index(i, j, k);
      A[at(a)][at(m + far)] = A[at(a)][at(m)];
    });
  }
  const double* const k[3] = {k_[0].data(), k_[1].data(), k_[2].data()};
  solver_.set(k, threads_, model_.motions > 0);
  seen_ways_ = ways_;
  seen_speeds_.clear();
  ++moved_;
}

template <class T>
void GridObstacles<T>::arm(std::size_t o, int a, int i, int j, int k, double* r) const {
  double x[3], centre[3];
  immersed_.position(a, i, j, k, x);
  for (int c = 0; c < box_.dimensions; ++c) {
    centre[c] = wide_p_[at(model_.obstacle[o].centre + c)] + ways_[number(o, c)];
  }
  way_from(box_, centre, x, r);
}

template <class T>
T GridObstacles<T>::surface(const T* p, const T* u, int a, int i, int j, int k) const {
  const std::size_t o = at(immersed_.owner(a)[box_.index(i, j, k)]);
  const auto& places = model_.obstacle[o];
  T sum = number_at(places.velocity, a - box_.first, p, u);
  if (places.spin.parameter < 0) return sum;
  double r[3] = {};
  arm(o, a, i, j, k, r);
  // (2); in the plane Ω is normal to it, along axis 0.
  for (int e = 0; e < model_.spins(); ++e) {
    const Turned part = turned(e, a);
    if (part.sign == 0) continue;
    sum += static_cast<T>(part.sign * r[part.other]) * number_at(places.spin, e, p, u);
  }
  return sum;
}

template <class T>
void GridObstacles<T>::place(Moment moment, const T* motion, const T* u) {
  inputs_ = u, moment_ = moment;
  std::fill(ways_bar_.begin(), ways_bar_.end(), 0.0);
  for_each_motion([&](int m, std::size_t n, const FlowModel::Place& rate, int i) {
    ways_[n] = static_cast<double>(motion[m]);
    if (moment == Moment::now) return;
    ways_[n] += model_.dt * static_cast<double>(number_at(rate, i, p_.data(), u));  // (1)
  });
  set_geometry();
  set_surfaces();
  for (auto& bar : w_bar) std::fill(bar.begin(), bar.end(), 0.0);
}

// w, made again where something has changed.
template <class T>
void GridObstacles<T>::set_surfaces() {
  speeds_.clear();
  for (const auto& places : model_.obstacle) {
    for (int i = 0; i < box_.dimensions; ++i) {
      speeds_.push_back(number_at(places.velocity, i, p_.data(), inputs_));
    }
    for (int e = 0; e < model_.spins() && places.spin.parameter >= 0; ++e) {
      speeds_.push_back(number_at(places.spin, e, p_.data(), inputs_));
    }
  }
  if (speeds_ == seen_speeds_) return;
  seen_speeds_ = speeds_;
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(box_, a, threads_, [&](std::size_t m, const int* place) {
      w[at(a)][m] = surface(p_.data(), inputs_, a, place[0], place[1], place[2]);
    });
  }
}

template <class T>
void GridObstacles<T>::store(T* motion) const {
  for_each_motion([&](int m, std::size_t n, const FlowModel::Place&, int) {
    motion[m] = static_cast<T>(ways_[n]);
  });
}

template <class T>
void GridObstacles<T>::pull_geometry(double* p_bar) {
  const double *of_D[3], *of_A[3];
  for (int a = 0; a < 3; ++a) of_D[a] = D_bar[at(a)].data(), of_A[a] = A_bar[at(a)].data();
  double viscosity_dt_bar = 0;
  immersed_.pullback(numbers_, of_D, of_A, E_bar, bars_, viscosity_dt_bar);
  p_bar[GridModel::kViscosity] += viscosity_dt_bar * model_.dt;
  for (std::size_t i = 0; i < wide_p_bar_.size(); ++i) p_bar[i] += wide_p_bar_[i];
  std::fill(wide_p_bar_.begin(), wide_p_bar_.end(), 0.0);
  for (int a = box_.first; a < 3; ++a) {
    for (auto* bar : {&D_bar[at(a)], &A_bar[at(a)], &E_bar[at(a)]}) {
      std::fill(bar->begin(), bar->end(), 0.0);
    }
  }
}

template <class T>
void GridObstacles<T>::pull_surfaces(double* p_bar, T* u_bar) {
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(box_, a, 1, [&](std::size_t m, const int* place) {
      const double bar = w_bar[at(a)][m];
      if (bar == 0) return;
      const std::size_t o = at(immersed_.owner(a)[m]);
      const auto& places = model_.obstacle[o];
      number_at_pullback(places.velocity, a - box_.first, bar, p_bar, u_bar);
      if (places.spin.parameter < 0) return;
      double r[3] = {};
      arm(o, a, place[0], place[1], place[2], r);
      for (int e = 0; e < model_.spins(); ++e) {
        const Turned part = turned(e, a);
        if (part.sign == 0) continue;
        const double omega = static_cast<double>(number_at(places.spin, e, p_.data(), inputs_));
        number_at_pullback(places.spin, e, part.sign * bar * r[part.other], p_bar, u_bar);
        const int axis = part.other - box_.first;
        p_bar[places.centre + axis] -= part.sign * bar * omega;
        ways_bar_[number(o, axis)] -= part.sign * bar * omega;
      }
    });
  }
}

template <class T>
void GridObstacles<T>::place_pullback(const T* next_bar, double* p_bar, T* u_bar, T* motion_bar) {
  pull_surfaces(p_bar, u_bar);
  if (model_.motions == 0) return;
  pull_geometry(p_bar);
  for_each_motion([&](int m, std::size_t n, const FlowModel::Place& rate, int i) {
    double bar = ways_bar_[n];
    if (next_bar) bar += static_cast<double>(next_bar[m]);
    motion_bar[m] += static_cast<T>(bar);  // (1)
    if (moment_ == Moment::next) number_at_pullback(rate, i, model_.dt * bar, p_bar, u_bar);
  });
}

template <class T>
void GridObstacles<T>::give_back(double* p_bar) {
  if (model_.motions == 0) pull_geometry(p_bar);
}

template <class T>
typename GridObstacles<T>::Astray GridObstacles<T>::astray() const {
  for (std::size_t o = 0; o < model_.obstacle.size(); ++o) {
    if (!moves(o) && !turns(o)) continue;
    if (!(cells_in_a_step(o) <= 1)) {
      return {static_cast<int>(o), "it crosses more than a cell in a step"};
    }
    if (outside(o)) return {static_cast<int>(o), "it has left the box"};
  }
  const int through = model_.motions > 0 ? through_a_side() : -1;
  return through < 0 ? Astray{} : Astray{through, "it moves through a side of the box"};
}

// Of the whole body, or where it turns of the faces inside it.
template <class T>
double GridObstacles<T>::cells_in_a_step(std::size_t o) const {
  double cells = 0, fastest = 0;
  for (int a = box_.first; a < 3; ++a) {
    const double over = model_.dt / box_.h[at(a)];
    if (moves(o)) {
      const T v = number_at(model_.obstacle[o].velocity, a - box_.first, p_.data(), inputs_);
      cells += over * std::abs(static_cast<double>(v));
    }
    for (std::size_t m = 0; turns(o) && m < D[at(a)].size(); ++m) {
      if (D[at(a)][m] != 0 || immersed_.owner(a)[m] != static_cast<int>(o)) continue;
      const double speed = over * std::abs(static_cast<double>(w[at(a)][m]));
      if (!(speed <= fastest)) fastest = speed;  // NaN stays
    }
  }
  return cells <= fastest || !std::isfinite(fastest) ? fastest : cells;
}

// Whether no face lies inside it.
template <class T>
bool GridObstacles<T>::outside(std::size_t o) const {
  for (int a = box_.first; a < 3; ++a) {
    for (std::size_t m = 0; m < D[at(a)].size(); ++m) {
      if (D[at(a)][m] == 0 && immersed_.owner(a)[m] == static_cast<int>(o)) return false;
    }
  }
  return true;
}

template <class T>
int GridObstacles<T>::through_a_side() const {
  for (int b = box_.first; b < 3; ++b) {
    if (box_.periodic(b)) continue;
    for (const std::ptrdiff_t to : {std::ptrdiff_t(0), box_.n[at(b)] * box_.stride[at(b)]}) {
      int found = -1;
      for_each_on_side(box_, b, [&](int i, int j, int k, int) {
        const std::ptrdiff_t m = box_.index(i, j, k) + to;
        const int o = immersed_.owner(b)[m];
        if (A[at(b)][at(m)] == 1 || w[at(b)][at(m)] == 0) return;
        if (moves(at(o)) || turns(at(o))) found = o;
      });
      if (found >= 0) return found;
    }
  }
  return -1;
}

// Tangents.

template <class T>
ObstacleTangents<T> GridObstacles<T>::make_tangents() const {
  ObstacleTangents<T> t;
  for (int a = box_.first; a < 3; ++a) t.w[at(a)].assign(at(box_.numbers), T(0));
  t.ways.assign(ways_.size(), 0.0);
  return t;
}

template <class T>
void GridObstacles<T>::place_pushforward(const T* p_tan, const T* u_tan, const T* motion_tan,
                                         ObstacleTangents<T>& t) {
  std::vector<double> wide(p_.size(), 0.0);
  if (p_tan) wide.assign(p_tan, p_tan + p_.size());
  ObstacleNumbers tangents;
  for (std::size_t o = 0; o < model_.obstacle.size(); ++o) {
    tangents.numbers.push_back(wide.data() + model_.obstacle[o].numbers);
    tangents.ways.push_back(t.ways.data() + number(o, 0));
  }
  for_each_motion([&](int m, std::size_t n, const FlowModel::Place& rate, int i) {
    const double before = motion_tan ? static_cast<double>(motion_tan[m]) : 0;
    t.ways[n] = before + model_.dt * static_cast<double>(number_at(rate, i, p_tan, u_tan));  // (1)
  });
  immersed_.pushforward(numbers_, tangents, wide[GridModel::kViscosity] * model_.dt, t.D, t.A, t.E);
  for (int a = box_.first; a < 3; ++a) {
    for_each_face(box_, a, threads_, [&](std::size_t m, const int* place) {
      T sum = surface(p_tan, u_tan, a, place[0], place[1], place[2]);
      const std::size_t o = at(immersed_.owner(a)[m]);
      const auto& places = model_.obstacle[o];
      for (int e = 0; e < model_.spins() && places.spin.parameter >= 0; ++e) {
        const Turned part = turned(e, a);
        if (part.sign == 0) continue;
        const int axis = part.other - box_.first;
        const double moved = wide[at(places.centre + axis)] + t.ways[number(o, axis)];
        sum -= number_at(places.spin, e, p_.data(), inputs_) * static_cast<T>(part.sign * moved);
      }
      t.w[at(a)][m] = sum;
    });
  }
}

template <class T>
void GridObstacles<T>::store_tangents(const ObstacleTangents<T>& t, T* motion_tan) const {
  for_each_motion([&](int m, std::size_t n, const FlowModel::Place&, int) {
    motion_tan[m] = static_cast<T>(t.ways[n]);
  });
}

template class GridObstacles<float>;
template class GridObstacles<double>;

}  // namespace cycloid::inline fluid
