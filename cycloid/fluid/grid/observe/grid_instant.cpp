#include "cycloid/fluid/grid/observe/grid_instant.h"

#include <algorithm>

namespace cycloid::inline fluid {

GridInstant::GridInstant(const std::shared_ptr<const GridModel>& model, int threads)
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

void GridInstant::set(const double* x, const double* inputs, bool with_pressure) {
  using Moment = GridWork<double>::Moment;
  work.set_inputs(inputs, x, with_pressure ? Moment::next : Moment::now);
  work.load(x, u);
  work.sides.fill_ghosts(u);
  work.load(x, C);
  if (with_pressure) press();
}

void GridInstant::clear_bars() {
  for (Velocities<double>* all : {&u_bar, &r_bar, &grad_bar, &lift_bar}) {
    for (auto& one : *all) std::fill(one.begin(), one.end(), 0.0);
  }
  std::fill(q_bar.begin(), q_bar.end(), 0.0);
  for (auto& one : C_bar) std::fill(one.begin(), one.end(), 0.0);
}

void GridInstant::give_back(double* x_bar, double* inputs_bar, bool with_pressure) {
  if (with_pressure) press_pullback();
  work.sides.fill_ghosts_pullback(u_bar);
  work.load_pullback(u_bar, x_bar);
  for (std::size_t i = 0; i < work.scalars.size(); ++i) {
    work.scalars[i].load_pullback(C_bar[i], x_bar + work.model.scalar(i));
  }
  work.give_back_inputs(inputs_bar, nullptr, x_bar);
}

void GridInstant::wrap(Velocities<double>& flux) const {
  for (int a = box.first; a < 3; ++a) {
    if (!box.periodic(a)) continue;
    const std::ptrdiff_t far = box.n[at(a)] * box.stride[at(a)];
    for (std::ptrdiff_t m = 0; m + far < box.numbers; ++m) {
      const std::ptrdiff_t along = m / box.stride[at(a)] % box.extent[at(a)] - box.pad[at(a)];
      if (along == 0) flux[at(a)][at(m + far)] = flux[at(a)][at(m)];
    }
  }
}

// z = A (D y' - (1 - D) (u - w) / Δt), and where obstacles move what the flux lacks there.
void GridInstant::press() {  // (5)
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
void GridInstant::press_pullback() {
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
      for_each_weighted(
          box, a, [&](std::ptrdiff_t m, double) { z[at(a)][at(m)] = -over * slope(lambda, a, m); });
    }
    work.projection.flux_pullback(u, z, u_bar);
  }
  work.rate_pullback(u, r_bar, u_bar, true);
  for (std::size_t i = 0; i < work.scalars.size(); ++i) {
    work.scalars[i].buoyancy_pullback(C[i], r_bar, C_bar[i]);
    work.scalars[i].buoyancy_pullback(C[i], lift_bar, C_bar[i]);
  }
}

}  // namespace cycloid::inline fluid
