#include "cycloid/fluid/grid/observe/grid_forces.h"

#include <algorithm>

namespace cycloid::inline fluid {

void pressure(const GridInstant& p, double* out) {
  for (int i = 0; i < p.box.cells; ++i) {
    out[i] = p.work.projection.solver().open(i) ? p.work.density * (p.q[at(i)] - p.mean) : 0;
  }
}

void pressure_pullback(GridInstant& p, const double* bar) {
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
double force_on(const GridInstant& p, int obstacle, int a) {
  const Immersed& walls = p.work.obstacles->immersed();
  const double over = 1 / p.work.model.dt;
  double sum = 0;
  p.for_each_free(a, [&](std::ptrdiff_t m, double) {
    if (walls.owner(a)[m] != obstacle) return;
    const double d = p.D(a, m), f = p.work.force[a];
    sum += (1 - d) * (over * (p.u[at(a)][at(m)] - p.w(a, m)) + p.r[at(a)][at(m)] + f -
                      p.slope(p.spread, a, m)) -
           (1 - p.A(a, m)) * (f + p.lift[at(a)][at(m)]);
  });
  for (const WallTerm& t : walls.wall_terms(a)) {
    if (walls.owner(a)[t.m] != obstacle) continue;
    sum -= p.work.viscosity * t.E * (p.u[at(a)][at(t.other)] - p.u[at(a)][at(t.m)]);
  }
  return p.work.density * p.box.volume() * sum;
}

void force_on_pullback(GridInstant& p, int obstacle, int a, double bar) {
  GridObstacles<double>& o = *p.work.obstacles;
  const Immersed& walls = o.immersed();
  const double over = 1 / p.work.model.dt, scale = bar * p.work.density * p.box.volume();
  p.work.density_bar += bar * force_on(p, obstacle, a) / p.work.density;
  p.for_each_free(a, [&](std::ptrdiff_t m, double) {
    if (walls.owner(a)[m] != obstacle) return;
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
    if (walls.owner(a)[t.m] != obstacle) continue;
    const double gap = p.u[at(a)][at(t.other)] - p.u[at(a)][at(t.m)];
    p.u_bar[at(a)][at(t.other)] -= scale * nu * t.E, p.u_bar[at(a)][at(t.m)] += scale * nu * t.E;
    p.work.viscosity_bar -= scale * t.E * gap;
    o.E_bar[at(a)][i] -= scale * nu * gap;
  }
}

}  // namespace cycloid::inline fluid
