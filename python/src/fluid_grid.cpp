#include "fluid_grid.h"

#include "cycloid/fluid/grid/grid_flow.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

std::vector<double> numbers_of(const Rows<double>& rows) {
  const auto all = span_of(rows);
  return {all.begin(), all.end()};
}

// (diffusivity, expansion, sides, obstacles), or none.
std::optional<CarriedScalar> scalar_of(const nb::handle& given) {
  if (given.is_none()) return std::nullopt;
  const auto value = [](const nb::handle& one) {
    return one.is_none() ? std::nullopt : std::optional<double>(nb::cast<double>(one));
  };
  CarriedScalar all{nb::cast<double>(given[0]), nb::cast<double>(given[1]), {}, {}};
  for (const nb::handle axis : given[2]) all.sides.push_back({value(axis[0]), value(axis[1])});
  for (const nb::handle one : given[3]) all.obstacles.push_back(value(one));
  return all;
}

}  // namespace

std::vector<std::array<GridSide, 2>> sides_of(const nb::list& sides) {
  std::vector<std::array<GridSide, 2>> all;
  for (const nb::handle axis : sides) {
    auto& both = all.emplace_back();
    for (std::size_t high = 0; high < 2; ++high) {
      both[high].kind = static_cast<SideKind>(nb::cast<int>(axis[high][0]));
      both[high].velocity = numbers_of(nb::cast<Rows<double>>(axis[high][1]));
    }
  }
  return all;
}

std::vector<FluidObstacle> obstacles_of(const nb::list& obstacles) {
  std::vector<FluidObstacle> all;
  for (const nb::handle one : obstacles) {
    all.push_back({static_cast<ObstacleKind>(nb::cast<int>(one[0])),
                   numbers_of(nb::cast<Rows<double>>(one[1])), nb::cast<bool>(one[2]),
                   nb::cast<bool>(one[3])});
  }
  return all;
}

void bind_fluid_grid(nb::module_& m) {
  m.def(
      "make_grid_flow",
      [](const std::vector<int>& shape, const std::vector<double>& size, double viscosity,
         double density, double dt, const nb::list& sides, const nb::list& obstacles,
         const std::vector<std::string>& inputs, const Rows<double>& probes,
         const Rows<double>& lines, const nb::list& scalars, const std::vector<double>& gravity,
         int pressure, int advection, bool implicit, bool substeps, const std::string& dtype) {
        GridOptions o;
        o.shape = shape, o.size = size, o.viscosity = viscosity, o.density = density, o.dt = dt;
        o.sides = sides_of(sides), o.obstacles = obstacles_of(obstacles);
        o.inputs = inputs, o.probes = numbers_of(probes), o.lines = numbers_of(lines);
        o.precision = precision_of(dtype), o.pressure = static_cast<PressureMethod>(pressure);
        o.advection = static_cast<Advection>(advection), o.implicit_viscosity = implicit;
        o.substeps = substeps;
        o.temperature = scalar_of(scalars[0]), o.concentration = scalar_of(scalars[1]);
        o.gravity = gravity;
        const Unlocked call;
        return grid_flow(o);
      },
      nb::arg("shape"), nb::arg("size"), nb::arg("viscosity"), nb::arg("density"), nb::arg("dt"),
      nb::arg("sides"), nb::arg("obstacles"), nb::arg("inputs"), nb::arg("probes"),
      nb::arg("lines"), nb::arg("scalars"), nb::arg("gravity"), nb::arg("pressure"),
      nb::arg("advection"), nb::arg("implicit"), nb::arg("substeps"), nb::arg("dtype"));
  m.def(
      "grid_probe",
      [](const System& system, const Rows<double>& x, const Rows<double>& params,
         const Rows<double>& points, bool pressure) {
        return to_numpy(grid_probe(system, span_of(x), span_of(params), span_of(points), pressure));
      },
      nb::arg("system"), nb::arg("x"), nb::arg("params"), nb::arg("points"), nb::arg("pressure"));
}

}  // namespace cycloid::python
