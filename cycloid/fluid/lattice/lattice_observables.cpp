#include "cycloid/fluid/lattice/lattice_observables.h"

#include <algorithm>
#include <cmath>

#include "cycloid/fluid/grid/observe/single_observer.h"
#include "cycloid/fluid/lattice/lattice_work.h"

namespace cycloid::inline fluid {
namespace {

enum class Seen {
  velocity,
  pressure,
  kinetic_energy,
  vorticity,
  enstrophy,
  force,
  probe,
  probe_pressure
};

struct SeenItem {
  Seen what;
  Observable observable;
  int obstacle = 0, axis = 0;  // of a force
};

std::vector<SeenItem> seen_items(const LatticeModel& model) {
  const GridBox& box = model.box;
  const int d = box.dimensions;
  std::vector<int> nodes, turns;
  for (int a = box.first; a < 3; ++a) nodes.push_back(box.n[at(a)]);
  turns = nodes;
  if (d == 3) turns.push_back(3);
  std::vector<int> vectors = nodes;
  vectors.push_back(d);
  std::vector<SeenItem> all = {
      {Seen::velocity, {"velocity", "m/s", vectors}},
      {Seen::pressure, {"pressure", "Pa", nodes}},
      {Seen::kinetic_energy, {"kinetic_energy", d == 2 ? "J/m" : "J", {1}}},
      {Seen::vorticity, {"vorticity", "1/s", turns}},
      {Seen::enstrophy, {"enstrophy", d == 2 ? "m²/s²" : "m³/s²", {1}}}};
  static constexpr const char* kForces[3] = {"drag:#", "lift:#", "side_force:#"};
  for (int o = 0; o < static_cast<int>(model.obstacles.size()); ++o) {
    for (int a = 0; a < d; ++a) {
      all.push_back({Seen::force,
                     {kForces[a] + std::to_string(o), d == 2 ? "N/m" : "N", {1}},
                     o,
                     a + box.first});
    }
  }
  const int probes = static_cast<int>(model.probes.size()) / d;
  if (probes > 0) {
    all.push_back({Seen::probe, {"probe", "m/s", {probes, d}}});
    all.push_back({Seen::probe_pressure, {"probe_pressure", "Pa", {probes}}});
  }
  return all;
}

struct Share {
  int node;
  double weight;
};

// A flow at one instant, and cotangents of its parts.
class Snapshot {
 public:
  Snapshot(const std::shared_ptr<const LatticeModel>& model, int threads)
      : work(model, threads), box(work.model.box), d(box.dimensions) {}

  LatticeWork<double> work;
  const GridBox& box;
  const int d;
  std::vector<double> u, p, u_bar, p_bar;  // (nodes, d), (nodes)
  std::vector<double> X, X_bar, values, values_bar;

  void set(const double* x, const double* inputs, bool forces) {
    work.set_inputs(inputs);
    u.assign(at(box.cells * d), 0.0), p.assign(at(box.cells), 0.0);
    const double c = work.model.speed();
    for (int m = 0; m < box.cells; ++m) {
      if (work.linked().solid(m)) continue;
      double v[3], delta = 0;
      work.velocity(x, m, v);
      for (int a = 0; a < d; ++a) u[at(m * d + a)] = c * v[a + box.first];  // (1)
      for (int i = 0; i < work.set.directions; ++i) delta += x[i * box.cells + m];
      p[at(m)] = work.density * c * c * delta / 3;  // (2)
    }
    if (!box.has(SideKind::outflow)) {
      const double mean = mean_of(p);
      for (int m = 0; m < box.cells; ++m) {
        if (!work.linked().solid(m)) p[at(m)] -= mean;
      }
    }
    if (!forces) return;
    X.resize(at(work.model.states())), values.resize(work.link_count());
    work.push(x, X.data());
    work.links(x, X.data(), values.data());
  }
  void clear_bars(bool forces) {
    u_bar.assign(u.size(), 0.0), p_bar.assign(p.size(), 0.0);
    if (forces) X_bar.assign(X.size(), 0.0), values_bar.assign(values.size(), 0.0);
  }
  void give_back(const double* x, double* x_bar, double* inputs_bar, bool forces) {
    if (forces) {
      for (std::size_t l = 0; l < values.size(); ++l) {
        const LatticeLink& link = work.linked().all()[l];
        X_bar[at(link.from)] += link.a * values_bar[l];
        if (link.second >= 0) X_bar[at(link.second)] += link.b * values_bar[l];
        work.link_pullback(l, x, values_bar[l], x_bar, inputs_bar);
      }
      work.push_pullback(x, X_bar.data(), false, x_bar);
    }
    const double c = work.model.speed();
    double scale_bar = 0;
    for (int m = 0; m < box.cells; ++m) scale_bar += p_bar[at(m)] * p[at(m)];
    work.density_bar += scale_bar / work.density;
    if (!box.has(SideKind::outflow)) {
      const double mean = mean_of(p_bar);
      for (double& bar : p_bar) bar -= mean;
    }
    double force_bar[3] = {};
    for (int m = 0; m < box.cells; ++m) {
      if (work.linked().solid(m)) continue;
      double v_bar[3] = {};
      for (int a = 0; a < d; ++a) v_bar[a + box.first] = c * u_bar[at(m * d + a)];
      work.velocity_pullback(m, v_bar, x_bar, force_bar);
      for (int i = 0; i < work.set.directions; ++i) {
        x_bar[i * box.cells + m] += work.density * c * c / 3 * p_bar[at(m)];
      }
    }
    for (int a = 0; a < 3; ++a) work.add_force_bar(a, force_bar[a]);
    work.give_force(inputs_bar);
  }

  // Over nodes of the fluid.
  double mean_of(const std::vector<double>& of) const {
    double sum = 0;
    for (int m = 0; m < box.cells; ++m) sum += work.linked().solid(m) ? 0 : of[at(m)];
    return sum / static_cast<double>(box.cells - static_cast<int>(work.linked().solids().size()));
  }
  // The node `step` further along an axis, or -1 where there is none of the fluid.
  int neighbour(int m, int axis, int step) const {
    const int stride = axis == 0 ? box.n[1] * box.n[2] : axis == 1 ? box.n[2] : 1;
    const int n = box.n[at(axis)], place = m / stride % n, to = place + step;
    const bool inside = to >= 0 && to < n;
    if (!inside && !box.periodic(axis)) return -1;
    const int found = m + ((to + n) % n - place) * stride;
    return work.linked().solid(found) ? -1 : found;
  }
  // Calls visit(node, component, weight) for what ∂u_b/∂x_a at m is a sum of.
  template <class Visit>
  void slope(int m, int a, int b, double scale, Visit&& visit) const {
    const int low = neighbour(m, a, -1), high = neighbour(m, a, 1);
    if (low < 0 && high < 0) return;
    const double over = scale / (work.model.h() * (low >= 0 && high >= 0 ? 2 : 1));
    visit(high < 0 ? m : high, b - box.first, over);
    visit(low < 0 ? m : low, b - box.first, -over);
  }
  // ... and of ω of a direction (4).
  template <class Visit>
  void turn(int m, int direction, double scale, Visit&& visit) const {
    if (work.linked().solid(m)) return;
    const int a = (direction + 1) % 3, b = (direction + 2) % 3;
    slope(m, a, b, scale, visit), slope(m, b, a, -scale, visit);
  }
  double turn(int m, int direction) const {
    double sum = 0;
    turn(m, direction, 1, [&](int n, int b, double w) { sum += w * u[at(n * d + b)]; });
    return sum;
  }
  void turn_pullback(int m, int direction, double bar) {
    turn(m, direction, bar, [&](int n, int b, double w) { u_bar[at(n * d + b)] += w; });
  }
  int directions() const { return d == 2 ? 1 : 3; }

  // Linear between nodes; of the fluid's alone where fluid_only.
  std::vector<Share> shares(const double* point, bool fluid_only) const {
    int low[3] = {};
    double part[3] = {}, total = 0;
    for (int a = box.first; a < 3; ++a) {
      const int n = box.n[at(a)];
      const double s = point[a - box.first] / box.h[at(a)] - 0.5;
      const int cell = static_cast<int>(std::floor(s));
      low[a] = box.periodic(a) ? cell : std::clamp(cell, 0, n - 2);
      part[a] = s - low[a];
    }
    std::vector<Share> all;
    for (int corner = 0; corner < 1 << d; ++corner) {
      double weight = 1;
      int m = 0;
      for (int a = 0; a < 3; ++a) {
        const int up = a < box.first ? 0 : corner >> (2 - a) & 1, n = box.n[at(a)];
        if (a >= box.first) weight *= up ? part[a] : 1 - part[a];
        m = m * n + ((low[a] + up) % n + n) % n;
      }
      if (weight == 0 || (fluid_only && work.linked().solid(m))) continue;
      all.push_back({m, weight}), total += weight;
    }
    if (fluid_only && total != 0) {
      for (Share& s : all) s.weight /= total;
    }
    return all;
  }
  double volume() const { return std::pow(work.model.h(), d); }
};

double energy_of(const Snapshot& s) {
  double sum = 0;
  for (const double one : s.u) sum += one * one;
  return 0.5 * s.work.density * s.volume() * sum;  // (3)
}

void energy_pullback(Snapshot& s, double bar) {
  for (std::size_t i = 0; i < s.u.size(); ++i) {
    s.u_bar[i] += bar * s.work.density * s.volume() * s.u[i];
  }
  s.work.density_bar += bar * energy_of(s) / s.work.density;
}

// ρ h³ c / Δt of (6)
double force_scale(const Snapshot& s) {
  return s.work.density * s.volume() * s.work.model.speed() / s.work.model.dt;
}

double force_of(const Snapshot& s, const SeenItem& item) {
  double sum = 0;
  for (std::size_t l = 0; l < s.values.size(); ++l) {
    const LatticeLink& link = s.work.linked().all()[l];
    if (link.kind != LinkKind::obstacle || link.obstacle != item.obstacle) continue;
    sum -= s.work.set.c[link.direction][item.axis] * (s.X[at(link.from)] + s.values[l]);
  }
  return force_scale(s) * sum;  // (6)
}

void force_pullback(Snapshot& s, const SeenItem& item, double bar) {
  s.work.density_bar += bar * force_of(s, item) / s.work.density;
  for (std::size_t l = 0; l < s.values.size(); ++l) {
    const LatticeLink& link = s.work.linked().all()[l];
    if (link.kind != LinkKind::obstacle || link.obstacle != item.obstacle) continue;
    const double one = -bar * force_scale(s) * s.work.set.c[link.direction][item.axis];
    s.X_bar[at(link.from)] += one, s.values_bar[l] += one;
  }
}

void show(const Snapshot& s, const SeenItem& item, double* out) {
  const int turns = s.directions();
  switch (item.what) {
    case Seen::velocity: std::copy(s.u.begin(), s.u.end(), out); return;
    case Seen::pressure: std::copy(s.p.begin(), s.p.end(), out); return;
    case Seen::kinetic_energy: *out = energy_of(s); return;
    case Seen::vorticity:
      for (int i = 0; i < s.box.cells * turns; ++i) out[i] = s.turn(i / turns, i % turns);
      return;
    case Seen::enstrophy: {
      double sum = 0;
      for (int i = 0; i < s.box.cells * turns; ++i) {
        const double omega = s.turn(i / turns, i % turns);
        sum += omega * omega;
      }
      *out = 0.5 * s.volume() * sum;  // (5)
      return;
    }
    case Seen::force: *out = force_of(s, item); return;
    default: break;
  }
  const std::vector<double>& points = s.work.model.probes;
  const bool pressure = item.what == Seen::probe_pressure;
  for (std::size_t i = 0; i * at(s.d) < points.size(); ++i) {
    const auto shares = s.shares(points.data() + i * at(s.d), pressure);
    for (int a = 0; a < (pressure ? 1 : s.d); ++a) {
      double sum = 0;
      for (const Share& one : shares) {
        sum += one.weight * (pressure ? s.p[at(one.node)] : s.u[at(one.node * s.d + a)]);
      }
      *out++ = sum;  // (7) (8)
    }
  }
}

void show_pullback(Snapshot& s, const SeenItem& item, const double* bar) {
  const int turns = s.directions();
  switch (item.what) {
    case Seen::velocity:
      for (std::size_t i = 0; i < s.u.size(); ++i) s.u_bar[i] += bar[i];
      return;
    case Seen::pressure:
      for (std::size_t i = 0; i < s.p.size(); ++i) {
        if (!s.work.linked().solid(static_cast<int>(i))) s.p_bar[i] += bar[i];
      }
      return;
    case Seen::kinetic_energy: energy_pullback(s, *bar); return;
    case Seen::vorticity:
      for (int i = 0; i < s.box.cells * turns; ++i) s.turn_pullback(i / turns, i % turns, bar[i]);
      return;
    case Seen::enstrophy:
      for (int i = 0; i < s.box.cells * turns; ++i) {
        const int m = i / turns, c = i % turns;
        s.turn_pullback(m, c, *bar * s.volume() * s.turn(m, c));
      }
      return;
    case Seen::force: force_pullback(s, item, *bar); return;
    default: break;
  }
  const std::vector<double>& points = s.work.model.probes;
  const bool pressure = item.what == Seen::probe_pressure;
  for (std::size_t i = 0; i * at(s.d) < points.size(); ++i) {
    const auto shares = s.shares(points.data() + i * at(s.d), pressure);
    for (int a = 0; a < (pressure ? 1 : s.d); ++a, ++bar) {
      for (const Share& one : shares) {
        if (pressure) s.p_bar[at(one.node)] += one.weight * *bar;
        else s.u_bar[at(one.node * s.d + a)] += one.weight * *bar;
      }
    }
  }
}

class LatticeObserver final : public DifferentiableObserver {
 public:
  LatticeObserver(std::shared_ptr<const LatticeModel> model, std::vector<SeenItem> items)
      : DifferentiableObserver(1, total(items)),
        model_(std::move(model)),
        items_(std::move(items)) {
    for (const SeenItem& item : items_) forces_ = forces_ || item.what == Seen::force;
  }

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& r) const override {
    return std::make_unique<Workspace>(model_, r.threads);
  }
  void begin(const StepParameters<double>& p, StepWorkspace& w) const override {
    snapshot(w).work.read(p.lanes);
  }
  void observe(const ObservedPoint<double>& point, double* values,
               StepWorkspace& w) const override {
    Snapshot& s = snapshot(w);
    s.set(point.x, point.u, forces_);
    for (const SeenItem& item : items_) {
      show(s, item, values);
      values += item.observable.size();
    }
  }
  void pullback(const ObservedPoint<double>& point, const double* bar, double* x_bar, double* u_bar,
                StepWorkspace& w) const override {
    Snapshot& s = snapshot(w);
    s.set(point.x, point.u, forces_);
    s.clear_bars(forces_);
    for (const SeenItem& item : items_) {
      show_pullback(s, item, bar);
      bar += item.observable.size();
    }
    s.give_back(point.x, x_bar, u_bar, forces_);
  }
  void finish(StepWorkspace& w, double* p_bar) const override { snapshot(w).work.give_back(p_bar); }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const std::shared_ptr<const LatticeModel>& model, int threads)
        : snapshot(model, threads) {}
    Snapshot snapshot;
  };
  static Snapshot& snapshot(StepWorkspace& w) { return static_cast<Workspace&>(w).snapshot; }
  static int total(const std::vector<SeenItem>& items) {
    int n = 0;
    for (const SeenItem& item : items) n += item.observable.size();
    return n;
  }

  std::shared_ptr<const LatticeModel> model_;
  std::vector<SeenItem> items_;
  bool forces_ = false;
};

std::shared_ptr<const LatticeObserver> lattice_observer(
    const std::shared_ptr<const LatticeModel>& model, const std::vector<std::string>& names) {
  const std::vector<SeenItem> all = seen_items(*model);
  std::vector<SeenItem> items;
  for (const std::string& name : names) {
    for (const SeenItem& item : all) {
      if (item.observable.name == name) items.push_back(item);
    }
  }
  return std::make_shared<LatticeObserver>(model, std::move(items));
}

}  // namespace

std::vector<Observable> LatticeObservables::listed() const {
  std::vector<Observable> all;
  for (const SeenItem& item : seen_items(*model_)) all.push_back(item.observable);
  return all;
}

std::shared_ptr<const ChunkObserver<float>> LatticeObservables::float32(
    const std::vector<std::string>& names, int) const {
  return single_observer(lattice_observer(model_, names),
                         {model_->states(), model_->inputs, model_->parameters});
}

std::shared_ptr<const ChunkObserver<double>> LatticeObservables::float64(
    const std::vector<std::string>& names, int) const {
  return lattice_observer(model_, names);
}

std::shared_ptr<const DifferentiableObserver> LatticeObservables::differentiable(
    const std::vector<std::string>& names) const {
  return lattice_observer(model_, names);
}

}  // namespace cycloid::inline fluid
