#include "cycloid/fluid/lattice/lattice_flow.h"

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/fluid/lattice/lattice_observables.h"
#include "cycloid/fluid/lattice/lattice_stepper.h"

namespace cycloid::inline fluid {
namespace {

void check_cubes(const GridBox& box) {
  for (int a = box.first; a < 3; ++a) {
    const double gap = box.h[GridBox::u(a)] / box.h[2] - 1;
    if (std::abs(gap) > 1e-9) {
      throw ModelError(message("cells of a lattice are cubes; these measure ",
                               box.h[GridBox::u(box.first)], " m along x and ", box.h[2],
                               " m along the last axis: change shape or size"));
    }
  }
}

// Why no run can start with these numbers, or nothing.
std::string too_fast(const LatticeModel& model, const double* p, const double* x) {
  const LatticeSet set = model.set();
  double most = 0;
  for (int m = 0; m < model.box.cells; ++m) {
    double square = 0;
    for (int a = model.box.first; a < 3; ++a) {
      double u = 0;
      for (int i = 1; i < set.directions; ++i) u += set.c[i][a] * x[i * model.box.cells + m];
      square += u * u;
    }
    most = std::max(most, std::sqrt(square));
  }
  for (int b = model.box.first; b < 3; ++b) {
    for (int s = 0; s < 2; ++s) {
      const SideKind kind = model.box.side[GridBox::u(b)][GridBox::u(s)];
      if (kind != SideKind::wall && kind != SideKind::inflow) continue;
      const int d = model.box.dimensions,
                rows = kind == SideKind::wall ? 1 : model.box.side_faces(b);
      const double* const velocity = p + model.side[GridBox::u(b)][GridBox::u(s)].parameter;
      for (int row = 0; row < rows; ++row) {
        double square = 0;
        for (int a = 0; a < d; ++a) square += velocity[row * d + a] * velocity[row * d + a];
        most = std::max(most, std::sqrt(square) / model.speed());
      }
    }
  }
  if (!(most > kMostCourant)) return {};
  return message("CFL: the time step ", model.dt,
                 " s is too large for this flow: its Courant number ", most, " is beyond ",
                 kMostCourant, "; at most ", kMostCourant * model.dt / most,
                 " s: take a smaller dt or larger cells");
}

}  // namespace

System lattice_flow(const LatticeOptions& o) {
  check_number("the time step dt", " [s]", o.dt, false);
  check_number("viscosity", " [m²/s]", o.viscosity, false);
  check_number("density", " [kg/m³]", o.density, false);
  auto model = std::make_shared<LatticeModel>();
  model->box = make_box(o.shape, o.size, o.sides);
  check_cubes(model->box);
  for (const FluidObstacle& one : o.obstacles) {
    if (one.moves || one.turns) {
      throw ModelError(
          "obstacles stay in their places in a lattice; cycloid.fluid.grid moves them");
    }
  }
  model->dt = o.dt, model->obstacles = o.obstacles, model->relaxation = o.relaxation;
  model->probes = o.probes;

  SystemParts parts;
  parts.name = "lattice";
  parts.precision = o.precision;
  parts.timestep = o.dt;
  FlowRegistry registry(parts.parameters, *model, o.inputs);
  registry.add("viscosity", "m²/s", Constraint::positive, {}, {o.viscosity});
  registry.add("density", "kg/m³", Constraint::positive, {}, {o.density});
  registry.input("force", "m/s²", model->box.dimensions);
  registry.add_sides(o.sides);
  registry.add_obstacles();
  check_obstacles(model->box, o.obstacles);
  parts.inputs = registry.place_inputs();
  for (const auto& p : parts.parameters.all()) parts.vary.push_back(p.name);
  parts.states = Space({{"populations", model->states(), ""}});
  parts.initial_state.assign(static_cast<std::size_t>(model->states()), 0.0);
  const std::shared_ptr<const LatticeModel> done = model;
  parts.refuse = [done](const double* p) { return obstacle_outside(*done, p); };
  parts.admit = [done](const double* p, double, double* x) { return too_fast(*done, p, x); };
  parts.float64.one = parts.float64.packed = std::make_shared<LatticeStepper<double>>(done);
  if (o.precision == Precision::float32) {
    parts.float32.one = parts.float32.packed = std::make_shared<LatticeStepper<float>>(done);
  }
  parts.observables = std::make_shared<LatticeObservables>(done);
  return System(std::move(parts));
}

}  // namespace cycloid::inline fluid
