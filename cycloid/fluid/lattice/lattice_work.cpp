#include "cycloid/fluid/lattice/lattice_work.h"

#include <algorithm>

#include "cycloid/base/thread_pool.h"

namespace cycloid::inline fluid {
namespace {

// Runs of nodes that a thread takes at once, and links.
constexpr std::ptrdiff_t kRuns = 2, kLinks = 2048;

// The numbers of obstacles are those of their shape: velocities follow them in the registry.
int shape_numbers(const FluidObstacle& o) { return static_cast<int>(o.numbers.size()); }

}  // namespace

template <class T>
LatticeWork<T>::LatticeWork(std::shared_ptr<const LatticeModel> of, int threads_given)
    : model(*of),
      set(of->set()),
      nodes(of->box.cells),
      threads(threads_given),
      keep_(std::move(of)),
      kernels_(&lattice_kernels<T>(model.box.dimensions)),
      links_(model),
      p_(at(model.parameters)),
      p_bar_(p_.size(), 0.0) {
  view_.nodes = nodes, view_.one_rate = model.relaxation == Relaxation::one;
  view_.runs = {{model.box.n[0], model.box.n[1], model.box.n[2]}};
  chunk_sums_.resize(at(7 * ((view_.runs.count() + kRuns - 1) / kRuns)));
  wide_p_.resize(p_.size());
  numbers_ = obstacle_numbers(wide_p_);
  for (const auto& one : model.obstacle) numbers_bar_.push_back(p_bar_.data() + one.numbers);
  walls_have_inputs_ = model.inputs > (model.force_input >= 0 ? model.box.dimensions : 0);
}

template <class T>
typename LatticeWork<T>::Numbers LatticeWork<T>::obstacle_numbers(
    const std::vector<double>& p) const {
  Numbers all;
  for (const auto& o : model.obstacle) all.push_back(p.data() + o.numbers);
  return all;
}

template <class T>
void LatticeWork<T>::read(const T* p) {
  std::copy_n(p, p_.size(), p_.begin());
  std::copy(p_.begin(), p_.end(), wide_p_.begin());
  std::fill(p_bar_.begin(), p_bar_.end(), 0.0);
  std::fill_n(rates_bar_, 4, 0.0);
  density = wide_p_[FlowModel::kDensity], density_bar = 0;
  set_rates();
  terms_made_ = false;
  std::vector<double> shapes;
  for (std::size_t o = 0; o < model.obstacle.size(); ++o) {
    const double* const from = wide_p_.data() + model.obstacle[o].numbers;
    shapes.insert(shapes.end(), from, from + shape_numbers(model.obstacles[o]));
  }
  if (linked_ && shapes == linked_numbers_) return;
  linked_numbers_ = shapes, linked_ = true;
  links_.set(numbers_);
  terms_.assign(link_count(), T(0)), values_ = terms_;
  from_.clear(), to_.clear(), not_copied_.clear();
  for (const LatticeLink& l : links_.all()) {
    if (l.kind != LinkKind::copy) not_copied_.push_back(static_cast<int>(from_.size()));
    from_.push_back(l.from), to_.push_back(l.to);
  }
  make_patches();
}

template <class T>
void LatticeWork<T>::set_rates() {
  const double nu = wide_p_[FlowModel::kViscosity] * model.dt / (model.h() * model.h());
  const double omega = 1 / (3 * nu + 0.5), odd = 8 * (2 - omega) / (8 - omega);  // (1) (2)
  const T w = static_cast<T>(omega);
  switch (model.relaxation) {
    case Relaxation::one: view_.rates = {w, w, w, w}; break;
    case Relaxation::two: view_.rates = {w, w, static_cast<T>(odd), w}; break;
    case Relaxation::several: view_.rates = {w, T(1), T(1.6), T(1)}; break;
  }
}

template <class T>
void LatticeWork<T>::rate_slopes(double& omega, double& odd) const {
  const double scale = model.dt / (model.h() * model.h());
  const double w = 1 / (3 * wide_p_[FlowModel::kViscosity] * scale + 0.5);
  omega = -3 * w * w * scale;
  odd = model.relaxation == Relaxation::two ? -48 / ((8 - w) * (8 - w)) : 0;
}

template <class T>
void LatticeWork<T>::give_back(double* p_bar) {
  double domega, dodd;
  rate_slopes(domega, dodd);
  double omega_bar = rates_bar_[0];
  if (model.relaxation == Relaxation::two) {
    omega_bar += rates_bar_[1] + dodd * rates_bar_[2] + rates_bar_[3];
  }
  p_bar_[FlowModel::kViscosity] += domega * omega_bar;
  p_bar_[FlowModel::kDensity] += density_bar;
  std::fill_n(rates_bar_, 4, 0.0), density_bar = 0;  // they are given
  std::copy(p_bar_.begin(), p_bar_.end(), p_bar);
}

template <class T>
double LatticeWork<T>::number(const T* p, const FlowModel::Place& place, int i, const T* u) {
  double sum = place.parameter < 0 || !p ? 0 : static_cast<double>(p[place.parameter + i]);
  if (place.input >= 0 && u) sum += static_cast<double>(u[place.input + i]);
  return sum;
}

// 6 w_j Δt / h
template <class T>
double LatticeWork<T>::term_scale(const LatticeLink& l) const {
  return 6 * set.w[l.direction] / model.speed();
}

template <class T>
template <class Visit>
double LatticeWork<T>::wall_speed(const LatticeLink& l, const T* p, const T* u,
                                  Visit&& visit) const {
  const int first = model.box.first, d = model.box.dimensions;
  const int* const c = set.c[l.direction];
  double sum = 0;
  const auto add = [&](const FlowModel::Place& place, int i, double coefficient) {
    if (coefficient == 0) return;
    sum += coefficient * number(p, place, i, u);
    visit(place, i, coefficient);
  };
  if (l.kind == LinkKind::wall || l.kind == LinkKind::inflow) {
    const auto& place = model.side[at(l.axis)][at(l.high)];
    const int row = l.kind == LinkKind::inflow ? l.face * d : 0;
    for (int a = first; a < 3; ++a) {
      if (l.kind == LinkKind::inflow || a != l.axis) add(place, row + a - first, c[a]);
    }
  } else if (l.kind == LinkKind::obstacle) {
    const auto& o = model.obstacle[at(l.obstacle)];
    for (int a = first; a < 3; ++a) add(o.velocity, a - first, c[a]);
    double x[3], r[3] = {};
    links_.position(l.node, x);
    if (o.spin.parameter >= 0) way_from(model.box, wide_p_.data() + o.numbers, x, r);
    // c·(Ω × r) = Ω·(r × c); in the plane Ω is along axis 0.
    for (int e = 0; e < model.spins() && o.spin.parameter >= 0; ++e) {
      const int f = (e + 1) % 3, g = (e + 2) % 3;
      add(o.spin, e, r[f] * c[g] - r[g] * c[f]);
    }
  }
  return sum;
}

template <class T>
void LatticeWork<T>::set_inputs(const T* u) {
  inputs_ = u;
  const double scale = model.dt / model.speed();
  for (int a = model.box.first; a < 3; ++a) {
    const int place = model.force_input;
    view_.force[a] =
        place >= 0 && u
            ? static_cast<T>(scale * static_cast<double>(u[place + a - model.box.first]))
            : T(0);
  }
  std::fill_n(force_bar_, 3, 0.0);
  if (terms_made_ && !walls_have_inputs_) return;
  terms_made_ = true;
  const auto& all = links_.all();
  for (std::size_t l = 0; l < all.size(); ++l) {
    const LatticeLink& one = all[l];
    if (one.kind == LinkKind::copy || one.kind == LinkKind::outflow) continue;
    const double speed = wall_speed(one, p_.data(), u, [](const FlowModel::Place&, int, double) {});
    terms_[l] = static_cast<T>(one.s * term_scale(one) * speed);
  }
}

// Forward.

template <class T>
template <class Visit>
void LatticeWork<T>::for_chunks(Visit&& visit) const {
  const std::size_t chunks = chunk_sums_.size() / 7;
  parallel_for(chunks, chunks > 1 ? threads : 1, [&](std::size_t chunk) {
    const std::ptrdiff_t begin = static_cast<std::ptrdiff_t>(chunk) * kRuns;
    visit(chunk, begin, std::min(begin + kRuns, view_.runs.count()));
  });
}

template <class T>
bool LatticeWork<T>::push(const T* x, T* X) {
  for_chunks([&](std::size_t chunk, std::ptrdiff_t begin, std::ptrdiff_t end) {
    chunk_sums_[chunk] = kernels_->push(view_, x, begin, end, X) ? 1 : 0;
  });
  for (std::size_t chunk = 0; chunk < chunk_sums_.size() / 7; ++chunk) {
    if (chunk_sums_[chunk] == 0) return false;
  }
  return true;
}

template <class T>
void LatticeWork<T>::velocity(const T* x, std::ptrdiff_t node, T* u) const {
  for (int a = 0; a < 3; ++a) u[a] = T(0.5) * view_.force[a];
  for (int i = 1; i < set.directions; ++i) {
    const T g = x[i * nodes + node];
    for (int a = model.box.first; a < 3; ++a) u[a] += static_cast<T>(set.c[i][a]) * g;
  }
}

template <class T>
void LatticeWork<T>::velocity_pullback(std::ptrdiff_t node, const T* u_bar, T* x_bar,
                                       T* force_bar) const {
  for (int a = model.box.first; a < 3; ++a) force_bar[a] += T(0.5) * u_bar[a];
  for (int i = 1; i < set.directions; ++i) {
    for (int a = model.box.first; a < 3; ++a) {
      x_bar[i * nodes + node] += static_cast<T>(set.c[i][a]) * u_bar[a];
    }
  }
}

// (4) of lattice_links.h
template <class T>
T LatticeWork<T>::outflow_term(const LatticeLink& l, const T* x) const {
  T u[3], cu = 0, uu = 0;
  velocity(x, l.node, u);
  for (int a = model.box.first; a < 3; ++a) {
    cu += static_cast<T>(set.c[l.direction][a]) * u[a], uu += u[a] * u[a];
  }
  return static_cast<T>(set.w[l.direction]) * (9 * cu * cu - 3 * uu);
}

// Calls visit(0 … count - 1), on several threads where there are many.
template <class T>
template <class Visit>
void LatticeWork<T>::for_links(std::size_t count, Visit&& visit) const {
  const std::size_t each = at(kLinks), chunks = (count + each - 1) / each;
  parallel_for(chunks, chunks > 4 ? threads : 1, [&](std::size_t chunk) {
    for (std::size_t i = chunk * each; i < std::min(count, (chunk + 1) * each); ++i) visit(i);
  });
}

template <class T>
void LatticeWork<T>::links(const T* x, const T* X, T* values) const {
  for_links(link_count(), [&](std::size_t i) { values[i] = X[from_[i]]; });
  const auto& all = links_.all();
  for_links(not_copied_.size(), [&](std::size_t k) {
    const int i = not_copied_[k];
    const LatticeLink& l = all[at(i)];
    T value = static_cast<T>(l.a) * values[i] + terms_[at(i)];
    if (l.second >= 0) value += static_cast<T>(l.b) * X[l.second];
    if (l.kind == LinkKind::outflow) value += outflow_term(l, x);
    values[i] = value;
  });
}

template <class T>
void LatticeWork<T>::settle(const T* values, T* X) const {
  for_links(link_count(), [&](std::size_t i) { X[to_[i]] = values[i]; });
  for (int d = 0; d < set.directions; ++d) {
    for (const int m : links_.solids()) X[d * nodes + m] = T(0);
  }
}

// The way back.

template <class T>
void LatticeWork<T>::make_patches() {
  struct Entry {
    std::ptrdiff_t run;
    LatticePatch<T> patch;
  };
  std::vector<Entry> entries;
  const auto add = [&](std::ptrdiff_t place, bool clears, double coefficient, std::ptrdiff_t from) {
    const int node = links_.pusher(place);
    const std::ptrdiff_t run = view_.runs.of(node);
    entries.push_back(
        {run,
         {static_cast<std::uint16_t>(node - view_.runs.first(run)),
          static_cast<std::uint8_t>(place / nodes), clears, static_cast<T>(coefficient), from}});
  };
  for (const LatticeLink& l : links_.all()) add(l.to, true, 0, 0);
  for (const int m : links_.solids()) {
    for (int d = 0; d < set.directions; ++d) add(d * nodes + m, true, 0, 0);
  }
  for (const LatticeLink& l : links_.all()) {
    add(l.from, false, l.a, l.to);
    if (l.second >= 0) add(l.second, false, l.b, l.to);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& x, const Entry& y) { return x.run < y.run; });
  patches_.clear();
  first_patch_.assign(at(view_.runs.count() + 1), 0);
  for (const Entry& e : entries) patches_.push_back(e.patch), ++first_patch_[at(e.run + 1)];
  for (std::size_t r = 1; r < first_patch_.size(); ++r) first_patch_[r] += first_patch_[r - 1];
}

template <class T>
void LatticeWork<T>::push_pullback(const T* x, const T* X_bar, bool patched, T* x_bar) {
  LatticePatches<T> patches;
  if (patched) patches.all = patches_.data(), patches.first = first_patch_.data();
  std::fill(chunk_sums_.begin(), chunk_sums_.end(), 0.0);
  for_chunks([&](std::size_t chunk, std::ptrdiff_t begin, std::ptrdiff_t end) {
    kernels_->push_pullback(view_, x, X_bar, patches, begin, end, x_bar,
                            chunk_sums_.data() + 7 * chunk);
  });
  for (std::size_t chunk = 0; chunk < chunk_sums_.size() / 7; ++chunk) {
    const double* const sums = chunk_sums_.data() + 7 * chunk;
    for (int r = 0; r < 4; ++r) rates_bar_[view_.one_rate ? 0 : r] += sums[r];
    for (int a = 0; a < 3; ++a) force_bar_[a] += sums[4 + a];
  }
}

template <class T>
void LatticeWork<T>::link_pullback(std::size_t link, const T* x, T value_bar, T* x_bar, T* u_bar) {
  const LatticeLink& l = links_.all()[link];
  if (l.kind == LinkKind::copy || value_bar == 0) return;
  if (l.kind == LinkKind::outflow) {
    T u[3], bar[3] = {}, force_bar[3] = {}, cu = 0;
    velocity(x, l.node, u);
    for (int a = model.box.first; a < 3; ++a) cu += static_cast<T>(set.c[l.direction][a]) * u[a];
    const T w = static_cast<T>(set.w[l.direction]) * value_bar;
    for (int a = model.box.first; a < 3; ++a) {
      bar[a] = w * (18 * cu * static_cast<T>(set.c[l.direction][a]) - 6 * u[a]);
    }
    velocity_pullback(l.node, bar, x_bar, force_bar);
    for (int a = 0; a < 3; ++a) force_bar_[a] += static_cast<double>(force_bar[a]);
    return;
  }
  const double bar = static_cast<double>(value_bar), scale = l.s * term_scale(l);
  const double speed = wall_speed(l, p_.data(), inputs_,
                                  [&](const FlowModel::Place& place, int i, double coefficient) {
                                    const double one = bar * scale * coefficient;
                                    if (place.parameter >= 0)
                                      p_bar_[at(place.parameter + i)] += one;
                                    if (place.input >= 0 && u_bar)
                                      u_bar[place.input + i] += static_cast<T>(one);
                                  });
  if (l.kind != LinkKind::obstacle) return;
  const auto& o = model.obstacle[at(l.obstacle)];
  for (int e = 0; e < model.spins() && o.spin.parameter >= 0; ++e) {
    // Ω·(r × c), r = x - centre
    const int f = (e + 1) % 3, g = (e + 2) % 3;
    const int* const c = set.c[l.direction];
    const double omega = bar * scale * number(p_.data(), o.spin, e, inputs_);
    if (f >= model.box.first) p_bar_[at(o.numbers + f - model.box.first)] -= omega * c[g];
    if (g >= model.box.first) p_bar_[at(o.numbers + g - model.box.first)] += omega * c[f];
  }
  if (!l.cut) return;
  double a, b, s;
  links_.slopes(l, a, b, s);
  T here[kMostDirections], back[kMostDirections];
  kernels_->collide_node(view_, x, l.node, here);
  const bool near = l.theta < 0.5;
  if (near) kernels_->collide_node(view_, x, links_.pusher(l.second), back);
  const int i = opposite(l.direction);
  const double first = static_cast<double>(here[i]),
               second = static_cast<double>(near ? back[i] : here[l.direction]);
  links_.theta_pullback(l, numbers_, bar * (a * first + b * second + s * term_scale(l) * speed),
                        numbers_bar_);
}

template <class T>
void LatticeWork<T>::step_pullback(const T* x, const T* X_bar, T* x_bar, T* u_bar) {
  push_pullback(x, X_bar, true, x_bar);
  for (const int l : not_copied_) {
    link_pullback(at(l), x, X_bar[to_[at(l)]], x_bar, u_bar);
  }
  give_force(u_bar);
}

template <class T>
void LatticeWork<T>::give_force(T* u_bar) {
  const double scale = model.dt / model.speed();
  for (int a = model.box.first; a < 3 && model.force_input >= 0 && u_bar; ++a) {
    u_bar[model.force_input + a - model.box.first] += static_cast<T>(scale * force_bar_[a]);
  }
}

// Tangents.

template <class T>
void LatticeWork<T>::step_pushforward(const T* x, const T* x_tan, const T* p_tan, const T* u_tan,
                                      T* X_tan) {
  double domega, dodd;
  rate_slopes(domega, dodd);
  T tangents[7] = {};
  tangents[0] = p_tan ? static_cast<T>(domega) * p_tan[FlowModel::kViscosity] : T(0);
  if (model.relaxation != Relaxation::several) {
    tangents[1] = tangents[3] = tangents[0];
    tangents[2] = view_.one_rate ? tangents[0] : static_cast<T>(dodd) * tangents[0];
  }
  const double force_scale = model.dt / model.speed();
  for (int a = model.box.first; a < 3 && model.force_input >= 0 && u_tan; ++a) {
    tangents[4 + a] = static_cast<T>(
        force_scale * static_cast<double>(u_tan[model.force_input + a - model.box.first]));
  }
  room_.resize(at(set.directions * nodes));
  T* const X = room_.data();
  for_chunks([&](std::size_t, std::ptrdiff_t begin, std::ptrdiff_t end) {
    kernels_->push_pushforward(view_, x, x_tan, tangents, begin, end, X, X_tan);
  });
  std::vector<double> numbers_tan(p_.size(), 0.0);
  if (p_tan) numbers_tan.assign(p_tan, p_tan + p_.size());
  const Numbers tangents_of_numbers = obstacle_numbers(numbers_tan);
  const auto ignore = [](const FlowModel::Place&, int, double) {};
  for (std::size_t n = 0; n < link_count(); ++n) {
    const LatticeLink& l = links_.all()[n];
    double value = l.a * static_cast<double>(X_tan[l.from]);
    if (l.second >= 0) value += l.b * static_cast<double>(X_tan[l.second]);
    if (l.kind == LinkKind::outflow) {
      T u[3], tan[3];
      velocity(x, l.node, u);
      double cu = 0, cu_tan = 0, uu_tan = 0;
      for (int a = model.box.first; a < 3; ++a) {
        tan[a] = T(0.5) * tangents[4 + a];
        for (int i = 1; i < set.directions && x_tan; ++i) {
          tan[a] += static_cast<T>(set.c[i][a]) * x_tan[i * nodes + l.node];
        }
        cu += set.c[l.direction][a] * static_cast<double>(u[a]);
        cu_tan += set.c[l.direction][a] * static_cast<double>(tan[a]);
        uu_tan += static_cast<double>(2 * u[a] * tan[a]);
      }
      value += set.w[l.direction] * (18 * cu * cu_tan - 3 * uu_tan);
    } else if (l.kind != LinkKind::copy) {
      value += l.s * term_scale(l) * wall_speed(l, p_tan, u_tan, ignore);
      if (l.kind == LinkKind::obstacle) {
        const auto& o = model.obstacle[at(l.obstacle)];
        const int* const c = set.c[l.direction];
        const auto centre = [&](int a) {
          return a < model.box.first ? 0 : numbers_tan[at(o.numbers + a - model.box.first)];
        };
        for (int e = 0; e < model.spins() && o.spin.parameter >= 0; ++e) {
          const int f = (e + 1) % 3, g = (e + 2) % 3;
          value -= l.s * term_scale(l) * number(p_.data(), o.spin, e, inputs_) *
                   (centre(f) * c[g] - centre(g) * c[f]);
        }
        double a, b, s;
        links_.slopes(l, a, b, s);
        if (l.cut) {
          value += links_.theta_pushforward(l, numbers_, tangents_of_numbers) *
                   (a * static_cast<double>(X[l.from]) + b * static_cast<double>(X[l.second]) +
                    s * term_scale(l) * wall_speed(l, p_.data(), inputs_, ignore));
        }
      }
    }
    values_[n] = static_cast<T>(value);
  }
  settle(values_.data(), X_tan);
}

template class LatticeWork<float>;
template class LatticeWork<double>;

}  // namespace cycloid::inline fluid
