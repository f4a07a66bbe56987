#include "cycloid/fluid/grid/grid_observables.h"

#include <algorithm>
#include <cmath>

#include "cycloid/fluid/grid/single_observer.h"

namespace cycloid::inline fluid {
namespace {

std::size_t at(std::ptrdiff_t i) { return static_cast<std::size_t>(i); }

enum class Shown {
  kinetic_energy,
  enstrophy,
  divergence,
  vorticity,
  pressure,
  force,
  probe,
  probe_pressure,
  flux
};

struct Item {
  Shown what;
  Observable observable;
  int obstacle = 0, axis = 0;  // of a force
};

std::vector<Item> items_of(const GridModel& model) {
  const GridBox& box = model.box;
  std::vector<int> cells;
  for (int a = box.first; a < 3; ++a) cells.push_back(box.n[at(a)]);
  std::vector<int> turns = cells;
  if (box.dimensions == 3) turns.push_back(3);
  const char* const energy = box.dimensions == 2 ? "J/m" : "J";
  const char* const newton = box.dimensions == 2 ? "N/m" : "N";
  std::vector<Item> all = {
      {Shown::kinetic_energy, {"kinetic_energy", energy, {1}}},
      {Shown::enstrophy, {"enstrophy", box.dimensions == 2 ? "m²/s²" : "m³/s²", {1}}},
      {Shown::divergence, {"divergence", "1/s", {1}}},
      {Shown::vorticity, {"vorticity", "1/s", turns}},
      {Shown::pressure, {"pressure", "Pa", cells}}};
  static constexpr const char* kForces[3] = {"drag:#", "lift:#", "side_force:#"};
  for (int o = 0; o < static_cast<int>(model.obstacles.size()); ++o) {
    for (int a = 0; a < box.dimensions; ++a) {
      all.push_back(
          {Shown::force, {kForces[a] + std::to_string(o), newton, {1}}, o, a + box.first});
    }
  }
  const int probes = static_cast<int>(model.probes.size()) / box.dimensions;
  if (probes > 0) {
    all.push_back({Shown::probe, {"probe", "m/s", {probes, box.dimensions}}});
    all.push_back({Shown::probe_pressure, {"probe_pressure", "Pa", {probes}}});
  }
  const int lines = static_cast<int>(model.lines.size()) / 4;
  if (lines > 0) all.push_back({Shown::flux, {"flux", "m²/s", {lines}}});
  return all;
}

// Whether an item is a function of the pressure.
bool presses(const Item& item) {
  return item.what == Shown::pressure || item.what == Shown::force ||
         item.what == Shown::probe_pressure;
}

// A sum of numbers with weights.
struct Term {
  std::ptrdiff_t index;
  double weight;
};
using Terms = std::vector<Term>;

// Faces with their share of the box: visit(m, κ).
template <class Visit>
void for_each_weighted(const GridBox& box, int a, Visit&& visit) {
  for (int i = 0; i < box.count(a, 0); ++i) {
    for (int j = 0; j < box.count(a, 1); ++j) {
      for (int k = 0; k < box.count(a, 2); ++k) {
        const int place = a == 0 ? i : a == 1 ? j : k;
        const bool end = !box.periodic(a) && (place == 0 || place == box.n[at(a)]);
        visit(box.index(i, j, k), end ? 0.5 : 1.0);
      }
    }
  }
}

// A flow at one instant, and cotangents of its parts.
class Instant {
 public:
  Instant(const std::shared_ptr<const GridModel>& model, int threads)
      : work(model, threads),
        box(work.box),
        u(work.make()),
        r(u),
        z(u),
        u_bar(u),
        r_bar(u),
        grad_bar(u),
        q(at(box.cells)),
        q_bar(q),
        spread(at(box.numbers)),
        div(q),
        edges(at(box.numbers)),
        C(work.make_scalars()),
        C_bar(C),
        lift(u),
        lift_bar(u) {}

  GridWork<double> work;
  const GridBox& box;
  Velocities<double> u, r, z, u_bar, r_bar, grad_bar;
  std::vector<double> q, q_bar, spread, div, edges;
  Scalars<double> C, C_bar;
  Velocities<double> lift, lift_bar;  // buoyancy at the faces
  double mean = 0;                    // of q, over open cells

  // What presses is what a step from here would make of it, obstacles that move included.
  void set(const double* x, const double* inputs, bool with_pressure) {
    using Moment = GridWork<double>::Moment;
    work.set_inputs(inputs, x, with_pressure ? Moment::next : Moment::now);
    work.load(x, u);
    work.sides.fill_ghosts(u);
    work.load(x, C);
    if (with_pressure) press();
  }
  void clear_bars() {
    for (Velocities<double>* all : {&u_bar, &r_bar, &grad_bar, &lift_bar}) {
      for (auto& one : *all) std::fill(one.begin(), one.end(), 0.0);
    }
    std::fill(q_bar.begin(), q_bar.end(), 0.0);
    for (auto& one : C_bar) std::fill(one.begin(), one.end(), 0.0);
  }
  void give_back(double* x_bar, double* inputs_bar, bool with_pressure) {
    if (with_pressure) press_pullback();
    work.sides.fill_ghosts_pullback(u_bar);
    work.load_pullback(u_bar, x_bar);
    for (std::size_t i = 0; i < work.scalars.size(); ++i) {
      work.scalars[i].load_pullback(C_bar[i], x_bar + work.model.scalar(i));
    }
    work.give_back_inputs(inputs_bar, nullptr, x_bar);
  }

  // Faces whose velocity is not given by a side: visit(m, κ), κ = 2 on outflow.
  template <class Visit>
  void for_each_free(int a, Visit&& visit) const {
    for (int i = 0; i < box.count(a, 0); ++i) {
      for (int j = 0; j < box.count(a, 1); ++j) {
        for (int k = 0; k < box.count(a, 2); ++k) {
          const int place = a == 0 ? i : a == 1 ? j : k;
          double kappa = 1;
          if (!box.periodic(a) && (place == 0 || place == box.n[at(a)])) {
            if (box.side[at(a)][place == 0 ? 0 : 1] != SideKind::outflow) continue;
            kappa = 2;
          }
          visit(box.index(i, j, k), kappa);
        }
      }
    }
  }
  double D(int a, std::ptrdiff_t m) const {
    return work.obstacles ? work.obstacles->D[at(a)][at(m)] : 1;
  }
  double A(int a, std::ptrdiff_t m) const {
    return work.obstacles ? work.obstacles->A[at(a)][at(m)] : 1;
  }
  double w(int a, std::ptrdiff_t m) const {
    return work.obstacles ? work.obstacles->w[at(a)][at(m)] : 0;
  }
  double slope(const std::vector<double>& of, int a, std::ptrdiff_t m) const {
    return (of[at(m)] - of[at(m - box.stride[at(a)])]) / box.h[at(a)];
  }

 private:
  void wrap(Velocities<double>& flux) const {
    for (int a = box.first; a < 3; ++a) {
      if (!box.periodic(a)) continue;
      const std::ptrdiff_t far = box.n[at(a)] * box.stride[at(a)];
      for (std::ptrdiff_t m = 0; m + far < box.numbers; ++m) {
        const std::ptrdiff_t along = m / box.stride[at(a)] % box.extent[at(a)] - box.pad[at(a)];
        if (along == 0) flux[at(a)][at(m + far)] = flux[at(a)][at(m)];
      }
    }
  }
  bool moves() const { return work.model.motions > 0; }
  // z = A (D y' - (1 - D) (u - w) / Δt), and where obstacles move what the flux lacks there.
  void press() {  // (5)
    work.rate(u, r);
    for (auto& one : lift) std::fill(one.begin(), one.end(), 0.0);
    for (std::size_t i = 0; i < work.scalars.size(); ++i) {
      work.scalars[i].buoyancy(C[i], r), work.scalars[i].buoyancy(C[i], lift);
    }
    const double over = 1 / work.model.dt;
    if (moves()) work.projection.flux(u, z);
    for (int a = box.first; a < 3; ++a) {
      for (double& one : z[at(a)]) one = moves() ? over * one : 0;
      for_each_free(a, [&](std::ptrdiff_t m, double) {
        const double d = D(a, m);
        z[at(a)][at(m)] += A(a, m) * (d * (r[at(a)][at(m)] + work.force[a]) -
                                      (1 - d) * over * (u[at(a)][at(m)] - w(a, m)));
      });
    }
    wrap(z);
    work.projection.divergence(z, q.data());
    work.projection.solve(q.data());
    mean = 0;
    if (!work.projection.solver().reaches_outflow()) {
      for (const double one : q) mean += one;  // closed cells hold zero
      mean /= std::max(1, work.projection.solver().open_cells());
    }
    work.projection.spread(q.data(), Projection<double>::Beyond::mirrored, spread);
  }
  // Of q_bar and grad_bar (of ∂q/∂x at faces), r_bar and u_bar.
  void press_pullback() {
    for (int a = box.first; a < 3; ++a) {
      std::fill(z[at(a)].begin(), z[at(a)].end(), 0.0);
      for_each_free(a, [&](std::ptrdiff_t m, double kappa) {
        z[at(a)][at(m)] = -kappa * grad_bar[at(a)][at(m)];
      });
    }
    wrap(z);
    work.projection.divergence(z, div.data());
    for (int i = 0; i < box.cells; ++i) q_bar[at(i)] += div[at(i)];
    work.projection.solve(q_bar.data());
    std::vector<double>& lambda = edges;
    work.projection.spread(q_bar.data(), Projection<double>::Beyond::zero, lambda);
    const double over = 1 / work.model.dt;
    for (int a = box.first; a < 3; ++a) {
      for_each_free(a, [&](std::ptrdiff_t m, double) {
        const double down = -slope(lambda, a, m), d = D(a, m), share = A(a, m);
        const double z_bar = share * down;
        if (work.obstacles) {
          GridObstacles<double>& o = *work.obstacles;
          const double y = r[at(a)][at(m)] + work.force[a], v = over * (u[at(a)][at(m)] - w(a, m));
          o.A_bar[at(a)][at(m)] += down * (d * y - (1 - d) * v - d * slope(spread, a, m));
          o.D_bar[at(a)][at(m)] += z_bar * (y + v - slope(spread, a, m));
          o.w_bar[at(a)][at(m)] += (1 - d) * over * z_bar;
        }
        u_bar[at(a)][at(m)] -= (1 - d) * over * z_bar;
        r_bar[at(a)][at(m)] += d * z_bar;
        work.force_bar[a] += d * z_bar;
      });
    }
    if (moves()) {
      for (int a = box.first; a < 3; ++a) {
        for_each_weighted(box, a, [&](std::ptrdiff_t m, double) {
          z[at(a)][at(m)] = -over * slope(lambda, a, m);
        });
      }
      work.projection.flux_pullback(u, z, u_bar);
    }
    work.rate_pullback(u, r_bar, u_bar, true);
    for (std::size_t i = 0; i < work.scalars.size(); ++i) {
      work.scalars[i].buoyancy_pullback(C[i], r_bar, C_bar[i]);
      work.scalars[i].buoyancy_pullback(C[i], lift_bar, C_bar[i]);
    }
  }
};

double kinetic_energy(const Instant& p) {
  double sum = 0;
  for (int a = p.box.first; a < 3; ++a) {
    for_each_weighted(p.box, a, [&](std::ptrdiff_t m, double kappa) {
      sum += kappa * p.u[at(a)][at(m)] * p.u[at(a)][at(m)];
    });
  }
  return 0.5 * p.work.density * p.box.volume() * sum;  // (1)
}

void kinetic_energy_pullback(Instant& p, double bar) {
  for (int a = p.box.first; a < 3; ++a) {
    for_each_weighted(p.box, a, [&](std::ptrdiff_t m, double kappa) {
      p.u_bar[at(a)][at(m)] += bar * p.work.density * p.box.volume() * kappa * p.u[at(a)][at(m)];
    });
  }
  p.work.density_bar += bar * kinetic_energy(p) / p.work.density;
}

// ω of direction c at the edge below m, and its pullback.
double turn(const Instant& p, int c, std::ptrdiff_t m) {
  const int a = (c + 1) % 3, b = (c + 2) % 3;
  return p.slope(p.u[at(b)], a, m) - p.slope(p.u[at(a)], b, m);
}

void turn_pullback(Instant& p, int c, std::ptrdiff_t m, double bar) {
  const int a = (c + 1) % 3, b = (c + 2) % 3;
  const double of_b = bar / p.box.h[at(a)], of_a = bar / p.box.h[at(b)];
  p.u_bar[at(b)][at(m)] += of_b, p.u_bar[at(b)][at(m - p.box.stride[at(a)])] -= of_b;
  p.u_bar[at(a)][at(m)] -= of_a, p.u_bar[at(a)][at(m - p.box.stride[at(b)])] += of_a;
}

// Edges of direction c, with their share: visit(m, κ).
template <class Visit>
void for_each_edge(const GridBox& box, int c, Visit&& visit) {
  int n[3];
  for (int a = 0; a < 3; ++a) {
    n[a] = box.n[at(a)] + (a != c && a >= box.first && !box.periodic(a) ? 1 : 0);
  }
  for (int i = 0; i < n[0]; ++i) {
    for (int j = 0; j < n[1]; ++j) {
      for (int k = 0; k < n[2]; ++k) {
        const int place[3] = {i, j, k};
        double kappa = 1;
        for (int a = box.first; a < 3; ++a) {
          if (a == c || box.periodic(a)) continue;
          if (place[a] == 0 || place[a] == box.n[at(a)]) kappa *= 0.5;
        }
        visit(box.index(i, j, k), kappa);
      }
    }
  }
}

int directions(const GridBox& box) { return box.dimensions == 2 ? 1 : 3; }

double enstrophy(const Instant& p) {
  double sum = 0;
  for (int c = 0; c < directions(p.box); ++c) {
    for_each_edge(p.box, c, [&](std::ptrdiff_t m, double kappa) {
      const double omega = turn(p, c, m);
      sum += kappa * omega * omega;
    });
  }
  return 0.5 * p.box.volume() * sum;  // (2)
}

void enstrophy_pullback(Instant& p, double bar) {
  for (int c = 0; c < directions(p.box); ++c) {
    for_each_edge(p.box, c, [&](std::ptrdiff_t m, double kappa) {
      turn_pullback(p, c, m, bar * p.box.volume() * kappa * turn(p, c, m));
    });
  }
}

// Calls visit(number, direction, edge) for the four edges of every cell and direction.
template <class Visit>
void for_each_cell_edge(const GridBox& box, Visit&& visit) {
  const int turns = directions(box);
  int cell = 0;
  for (int i = 0; i < box.n[0]; ++i) {
    for (int j = 0; j < box.n[1]; ++j) {
      for (int k = 0; k < box.n[2]; ++k, ++cell) {
        const std::ptrdiff_t m = box.index(i, j, k);
        for (int c = 0; c < turns; ++c) {
          const std::ptrdiff_t a = box.stride[at((c + 1) % 3)], b = box.stride[at((c + 2) % 3)];
          for (const std::ptrdiff_t e : {m, m + a, m + b, m + a + b}) visit(cell * turns + c, c, e);
        }
      }
    }
  }
}

void vorticity(const Instant& p, double* out) {
  std::fill_n(out, p.box.cells * directions(p.box), 0.0);
  for_each_cell_edge(p.box, [&](int number, int c, std::ptrdiff_t e) {
    out[number] += 0.25 * turn(p, c, e);  // (4)
  });
}

void vorticity_pullback(Instant& p, const double* bar) {
  for_each_cell_edge(p.box, [&](int number, int c, std::ptrdiff_t e) {
    turn_pullback(p, c, e, 0.25 * bar[number]);
  });
}

// (3): the largest, and its cell.
std::pair<double, int> largest_divergence(Instant& p) {
  p.work.projection.flux(p.u, p.z);
  p.work.projection.divergence(p.z, p.div.data());
  int most = 0;
  for (int i = 1; i < p.box.cells; ++i) {
    if (std::abs(p.div[at(i)]) > std::abs(p.div[at(most)])) most = i;
  }
  return {p.div[at(most)], most};
}

void divergence_pullback(Instant& p, double bar) {
  const auto [value, cell] = largest_divergence(p);
  const double of_value = value > 0 ? bar : -bar;
  const int k = cell % p.box.n[2], j = cell / p.box.n[2] % p.box.n[1],
            i = cell / p.box.n[2] / p.box.n[1];
  for (int a = p.box.first; a < 3; ++a) {
    for (int high = 0; high < 2; ++high) {
      int place[3] = {i, j, k};
      place[a] += high;
      if (p.box.periodic(a) && place[a] == p.box.n[at(a)]) place[a] = 0;
      const std::ptrdiff_t m = p.box.index(place[0], place[1], place[2]);
      const double flux_bar = (high ? of_value : -of_value) / p.box.h[at(a)];
      p.u_bar[at(a)][at(m)] += p.A(a, m) * flux_bar;
      if (!p.work.obstacles) continue;
      p.work.obstacles->A_bar[at(a)][at(m)] += (p.u[at(a)][at(m)] - p.w(a, m)) * flux_bar;
      p.work.obstacles->w_bar[at(a)][at(m)] += (1 - p.A(a, m)) * flux_bar;
    }
  }
}

void pressure(const Instant& p, double* out) {
  for (int i = 0; i < p.box.cells; ++i) {
    out[i] = p.work.projection.solver().open(i) ? p.work.density * (p.q[at(i)] - p.mean) : 0;
  }
}

void pressure_pullback(Instant& p, const double* bar) {
  double sum = 0;
  for (int i = 0; i < p.box.cells; ++i) {
    if (!p.work.projection.solver().open(i)) continue;
    p.q_bar[at(i)] += p.work.density * bar[i];
    p.work.density_bar += bar[i] * (p.q[at(i)] - p.mean);
    sum += p.work.density * bar[i];
  }
  if (p.work.projection.solver().reaches_outflow()) return;
  const double share = sum / std::max(1, p.work.projection.solver().open_cells());
  for (int i = 0; i < p.box.cells; ++i) {
    if (p.work.projection.solver().open(i)) p.q_bar[at(i)] -= share;
  }
}

// (6), with the weight of what the obstacle displaces.
double force_on(const Instant& p, const Item& item) {
  const int a = item.axis;
  const Immersed& walls = p.work.obstacles->immersed();
  const double over = 1 / p.work.model.dt;
  double sum = 0;
  p.for_each_free(a, [&](std::ptrdiff_t m, double) {
    if (walls.owner(a)[m] != item.obstacle) return;
    const double d = p.D(a, m), f = p.work.force[a];
    sum += (1 - d) * (over * (p.u[at(a)][at(m)] - p.w(a, m)) + p.r[at(a)][at(m)] + f -
                      p.slope(p.spread, a, m)) -
           (1 - p.A(a, m)) * (f + p.lift[at(a)][at(m)]);
  });
  for (const WallTerm& t : walls.wall_terms(a)) {
    if (walls.owner(a)[t.m] != item.obstacle) continue;
    sum -= p.work.viscosity * t.E * (p.u[at(a)][at(t.other)] - p.u[at(a)][at(t.m)]);
  }
  return p.work.density * p.box.volume() * sum;
}

void force_on_pullback(Instant& p, const Item& item, double bar) {
  const int a = item.axis;
  GridObstacles<double>& o = *p.work.obstacles;
  const Immersed& walls = o.immersed();
  const double over = 1 / p.work.model.dt, scale = bar * p.work.density * p.box.volume();
  p.work.density_bar += bar * force_on(p, item) / p.work.density;
  p.for_each_free(a, [&](std::ptrdiff_t m, double) {
    if (walls.owner(a)[m] != item.obstacle) return;
    const double d = p.D(a, m), t = scale * (1 - d), f = p.work.force[a];
    o.D_bar[at(a)][at(m)] -= scale * (over * (p.u[at(a)][at(m)] - p.w(a, m)) + p.r[at(a)][at(m)] +
                                      f - p.slope(p.spread, a, m));
    p.u_bar[at(a)][at(m)] += t * over;
    o.w_bar[at(a)][at(m)] -= t * over;
    p.r_bar[at(a)][at(m)] += t;
    p.grad_bar[at(a)][at(m)] -= t;
    p.work.force_bar[a] += t - scale * (1 - p.A(a, m));
    p.lift_bar[at(a)][at(m)] -= scale * (1 - p.A(a, m));
    o.A_bar[at(a)][at(m)] += scale * (f + p.lift[at(a)][at(m)]);
  });
  const double nu = p.work.viscosity;
  for (std::size_t i = 0; i < walls.wall_terms(a).size(); ++i) {
    const WallTerm& t = walls.wall_terms(a)[i];
    if (walls.owner(a)[t.m] != item.obstacle) continue;
    const double gap = p.u[at(a)][at(t.other)] - p.u[at(a)][at(t.m)];
    p.u_bar[at(a)][at(t.other)] -= scale * nu * t.E, p.u_bar[at(a)][at(t.m)] += scale * nu * t.E;
    p.work.viscosity_bar -= scale * t.E * gap;
    o.E_bar[at(a)][i] -= scale * nu * gap;
  }
}

// Of component a at a point, by its faces and ghosts (7).
Terms probe_terms(const GridBox& box, int a, const double* point) {
  int low[3] = {};
  double part[3] = {};
  for (int b = box.first; b < 3; ++b) {
    const int n = box.n[at(b)];
    double x = point[b - box.first];
    if (box.periodic(b)) x -= box.size[at(b)] * std::floor(x / box.size[at(b)]);
    const double s = x / box.h[at(b)] - (a == b ? 0 : 0.5);
    low[b] = std::clamp(static_cast<int>(std::floor(s)), a == b ? 0 : -1, n - 1);
    part[b] = s - low[b];
  }
  Terms terms;
  for (int corner = 0; corner < 1 << box.dimensions; ++corner) {
    double weight = 1;
    int place[3] = {};
    for (int b = box.first; b < 3; ++b) {
      const int up = corner >> (2 - b) & 1;
      weight *= up ? part[b] : 1 - part[b];
      place[b] = low[b] + up;
    }
    if (weight != 0) terms.push_back({box.index(place[0], place[1], place[2]), weight});
  }
  return terms;
}

// Of q at a point, by cells (8): beyond the last centre before a wall on a straight line, into
// obstacles by what lies next to them.
class PressureProbe {
 public:
  explicit PressureProbe(const GridWork<double>& work)
      : box_(work.box), solver_(work.projection.solver()) {}

  Terms terms(const double* point) const {
    int low[3] = {};
    double part[3] = {};
    for (int b = box_.first; b < 3; ++b) {
      const int n = box_.n[at(b)];
      double x = point[b - box_.first];
      if (box_.periodic(b)) x -= box_.size[at(b)] * std::floor(x / box_.size[at(b)]);
      const double s = x / box_.h[at(b)] - 0.5;
      const bool out_low = box_.periodic(b) || box_.side[at(b)][0] == SideKind::outflow;
      const bool out_high = box_.periodic(b) || box_.side[at(b)][1] == SideKind::outflow;
      low[b] =
          std::clamp(static_cast<int>(std::floor(s)), out_low ? -1 : 0, out_high ? n - 1 : n - 2);
      part[b] = s - low[b];
    }
    Terms sum;
    double total = 0;
    for (int corner = 0; corner < 1 << box_.dimensions; ++corner) {
      double weight = 1, sign = 1;
      int place[3] = {};
      for (int b = box_.first; b < 3; ++b) {
        const int up = corner >> (2 - b) & 1, n = box_.n[at(b)];
        weight *= up ? part[b] : 1 - part[b];
        place[b] = low[b] + up;
        if (place[b] >= 0 && place[b] < n) continue;
        if (!box_.periodic(b)) sign = -sign;  // beyond an outflow
        place[b] = box_.periodic(b) ? (place[b] + n) % n : std::clamp(place[b], 0, n - 1);
      }
      if (weight == 0) continue;
      const int cell = number(place);
      if (solver_.open(cell)) {
        sum.push_back({cell, sign * weight});
        total += weight;
        continue;
      }
      const Terms line = extended(place);
      for (const Term& t : line) sum.push_back({t.index, sign * weight * t.weight});
      if (!line.empty()) total += weight;
    }
    if (total != 0) {
      for (Term& t : sum) t.weight /= total;
    }
    return sum;
  }

 private:
  int number(const int* p) const { return (p[0] * box_.n[1] + p[1]) * box_.n[2] + p[2]; }
  // The cell `steps` away along an axis if it is there and open, or -1.
  int neighbour(const int* place, int b, int steps) const {
    int p[3] = {place[0], place[1], place[2]};
    const int n = box_.n[at(b)];
    p[b] += steps;
    if (box_.periodic(b)) p[b] = (p[b] + n) % n;
    if (p[b] < 0 || p[b] >= n) return -1;
    return solver_.open(number(p)) ? number(p) : -1;
  }
  // The mean over directions of parabolas through open cells, or of lines, or of constants.
  Terms extended(const int* place) const {
    Terms by_order[3];
    int count[3] = {};
    for (int b = box_.first; b < 3; ++b) {
      for (const int way : {-1, 1}) {
        const int cell[3] = {neighbour(place, b, way), neighbour(place, b, 2 * way),
                             neighbour(place, b, 3 * way)};
        constexpr double kWeights[3][3] = {{1, 0, 0}, {2, -1, 0}, {3, -3, 1}};
        for (int order = 0; order < 3 && cell[order] >= 0; ++order) {
          for (int i = 0; i <= order; ++i) by_order[order].push_back({cell[i], kWeights[order][i]});
          ++count[order];
        }
      }
    }
    for (int order = 2; order >= 0; --order) {
      if (count[order] == 0) continue;
      for (Term& t : by_order[order]) t.weight /= count[order];
      return by_order[order];
    }
    return {};
  }

  const GridBox& box_;
  const PressureSolver& solver_;
};

void probe(const Instant& p, double* out) {
  const int d = p.box.dimensions;
  for (std::size_t i = 0; i < p.work.model.probes.size(); ++i) {
    const std::size_t point = i / at(d) * at(d);
    const int a = static_cast<int>(i - point) + p.box.first;
    out[i] = 0;
    for (const Term& t : probe_terms(p.box, a, p.work.model.probes.data() + point)) {
      out[i] += t.weight * p.u[at(a)][at(t.index)];
    }
  }
}

void probe_pullback(Instant& p, const double* bar) {
  const int d = p.box.dimensions;
  for (std::size_t i = 0; i < p.work.model.probes.size(); ++i) {
    const std::size_t point = i / at(d) * at(d);
    const int a = static_cast<int>(i - point) + p.box.first;
    for (const Term& t : probe_terms(p.box, a, p.work.model.probes.data() + point)) {
      p.u_bar[at(a)][at(t.index)] += t.weight * bar[i];
    }
  }
}

template <class Visit>
void for_each_pressure_probe(const Instant& p, Visit&& visit) {
  const PressureProbe probes(p.work);
  const std::size_t d = at(p.box.dimensions);
  for (std::size_t i = 0; i * d < p.work.model.probes.size(); ++i) {
    visit(i, probes.terms(p.work.model.probes.data() + i * d));
  }
}

void probe_pressure(const Instant& p, double* out) {
  for_each_pressure_probe(p, [&](std::size_t i, const Terms& terms) {
    out[i] = 0;
    for (const Term& t : terms) {
      out[i] += t.weight * p.work.density * (p.q[at(t.index)] - p.mean);
    }
  });
}

void probe_pressure_pullback(Instant& p, const double* bar) {
  std::vector<double> cells(at(p.box.cells), 0.0);
  for_each_pressure_probe(p, [&](std::size_t i, const Terms& terms) {
    for (const Term& t : terms) cells[at(t.index)] += t.weight * bar[i];
  });
  pressure_pullback(p, cells.data());
}

// Calls visit(line, component, term) for what adds up to the flux (9).
template <class Visit>
void for_each_flux_term(const Instant& p, Visit&& visit) {
  const std::vector<double>& ends = p.work.model.lines;
  const double h = std::min(p.box.h[1], p.box.h[2]);
  for (std::size_t line = 0; 4 * line < ends.size(); ++line) {
    const double* const a = ends.data() + 4 * line;
    const double d[2] = {a[2] - a[0], a[3] - a[1]};
    const int parts = std::max(1, static_cast<int>(std::ceil(2 * std::hypot(d[0], d[1]) / h)));
    for (int i = 0; i < parts; ++i) {
      const double s = (i + 0.5) / parts, point[2] = {a[0] + s * d[0], a[1] + s * d[1]};
      for (const int c : {1, 2}) {  // u dy - v dx
        const double across = (c == 1 ? d[1] : -d[0]) / parts;
        for (const Term& t : probe_terms(p.box, c, point)) {
          visit(line, c, Term{t.index, t.weight * across});
        }
      }
    }
  }
}

void flux(const Instant& p, double* out) {
  std::fill_n(out, p.work.model.lines.size() / 4, 0.0);
  for_each_flux_term(p, [&](std::size_t line, int c, const Term& t) {
    out[line] += t.weight * p.u[at(c)][at(t.index)];
  });
}

void flux_pullback(Instant& p, const double* bar) {
  for_each_flux_term(p, [&](std::size_t line, int c, const Term& t) {
    p.u_bar[at(c)][at(t.index)] += t.weight * bar[line];
  });
}

class GridObserver final : public DifferentiableObserver {
 public:
  GridObserver(std::shared_ptr<const GridModel> model, std::vector<Item> items)
      : DifferentiableObserver(1, total(items)),
        model_(std::move(model)),
        items_(std::move(items)) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& r) const override {
    return std::make_unique<Workspace>(model_, r.threads);
  }
  void begin(const StepParameters<double>& p, StepWorkspace& w) const override {
    instant(w).work.read(p.lanes);
  }
  void observe(const ObservedPoint<double>& point, double* values,
               StepWorkspace& w) const override {
    Instant& p = instant(w);
    for (const bool pressing : passes()) {
      p.set(point.x, point.u, pressing);
      for_each_item(pressing, [&](const Item& item, int at_value) {
        double* const out = values + at_value;
        switch (item.what) {
          case Shown::kinetic_energy: *out = kinetic_energy(p); break;
          case Shown::enstrophy: *out = enstrophy(p); break;
          case Shown::divergence: *out = std::abs(largest_divergence(p).first); break;
          case Shown::vorticity: vorticity(p, out); break;
          case Shown::pressure: pressure(p, out); break;
          case Shown::force: *out = force_on(p, item); break;
          case Shown::probe: probe(p, out); break;
          case Shown::probe_pressure: probe_pressure(p, out); break;
          case Shown::flux: flux(p, out); break;
        }
      });
    }
  }
  void pullback(const ObservedPoint<double>& point, const double* bars, double* x_bar,
                double* u_bar, StepWorkspace& w) const override {
    Instant& p = instant(w);
    for (const bool pressing : passes()) {
      p.set(point.x, point.u, pressing);
      p.clear_bars();
      for_each_item(pressing, [&](const Item& item, int at_value) {
        const double* const bar = bars + at_value;
        switch (item.what) {
          case Shown::kinetic_energy: kinetic_energy_pullback(p, *bar); break;
          case Shown::enstrophy: enstrophy_pullback(p, *bar); break;
          case Shown::divergence: divergence_pullback(p, *bar); break;
          case Shown::vorticity: vorticity_pullback(p, bar); break;
          case Shown::pressure: pressure_pullback(p, bar); break;
          case Shown::force: force_on_pullback(p, item, *bar); break;
          case Shown::probe: probe_pullback(p, bar); break;
          case Shown::probe_pressure: probe_pressure_pullback(p, bar); break;
          case Shown::flux: flux_pullback(p, bar); break;
        }
      });
      p.give_back(x_bar, u_bar, pressing);
    }
  }
  void finish(StepWorkspace& w, double* p_bar) const override { instant(w).work.give_back(p_bar); }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const std::shared_ptr<const GridModel>& model, int threads)
        : instant(model, threads) {}
    Instant instant;
  };
  static Instant& instant(StepWorkspace& w) { return static_cast<Workspace&>(w).instant; }
  static int total(const std::vector<Item>& items) {
    int n = 0;
    for (const Item& item : items) n += item.observable.size();
    return n;
  }

  // Obstacles that move are in one place for what presses, in another for the rest.
  std::vector<bool> passes() const {
    bool any = false, all = true;
    for (const Item& item : items_) any = any || presses(item), all = all && presses(item);
    if (model_->motions == 0 || any == all) return {any};
    return {false, true};
  }
  // Those of a pass, with their first values.
  template <class Visit>
  void for_each_item(bool pressing, Visit&& visit) const {
    int at_value = 0;
    for (const Item& item : items_) {
      if (model_->motions == 0 || presses(item) == pressing) visit(item, at_value);
      at_value += item.observable.size();
    }
  }

  std::shared_ptr<const GridModel> model_;
  std::vector<Item> items_;
};

std::shared_ptr<const GridObserver> observer_of(const std::shared_ptr<const GridModel>& model,
                                                const std::vector<std::string>& names) {
  const std::vector<Item> all = items_of(*model);
  std::vector<Item> items;
  for (const std::string& name : names) {
    for (const Item& item : all) {
      if (item.observable.name == name) items.push_back(item);
    }
  }
  return std::make_shared<GridObserver>(model, std::move(items));
}

}  // namespace

std::vector<Observable> GridObservables::listed() const {
  std::vector<Observable> all;
  for (const Item& item : items_of(*model_)) all.push_back(item.observable);
  return all;
}

std::shared_ptr<const ChunkObserver<float>> GridObservables::float32(
    const std::vector<std::string>& names, int) const {
  return single_observer(observer_of(model_, names),
                         {model_->states(), model_->inputs, model_->parameters});
}

std::shared_ptr<const ChunkObserver<double>> GridObservables::float64(
    const std::vector<std::string>& names, int) const {
  return observer_of(model_, names);
}

std::shared_ptr<const DifferentiableObserver> GridObservables::differentiable(
    const std::vector<std::string>& names) const {
  return observer_of(model_, names);
}

}  // namespace cycloid::inline fluid
