#include "fluid_grid.h"

#include "cycloid/fluid/grid/grid_flow.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

std::vector<double> numbers_of(const Rows<double>& rows) {
  const auto all = span_of(rows);
  return {all.begin(), all.end()};
}

}  // namespace

void bind_fluid_grid(nb::module_& m) {
  m.def(
      "make_grid_flow",
      [](const std::vector<int>& shape, const std::vector<double>& size, double viscosity,
         double density, double dt, const nb::list& sides, const nb::list& obstacles,
         const std::vector<std::string>& inputs, const Rows<double>& probes,
         const Rows<double>& lines, const std::string& dtype) {
        GridOptions o;
        o.shape = shape, o.size = size, o.viscosity = viscosity, o.density = density, o.dt = dt;
        for (const nb::handle axis : sides) {
          auto& both = o.sides.emplace_back();
          for (std::size_t high = 0; high < 2; ++high) {
            both[high].kind = static_cast<SideKind>(nb::cast<int>(axis[high][0]));
            both[high].velocity = numbers_of(nb::cast<Rows<double>>(axis[high][1]));
          }
        }
        for (const nb::handle one : obstacles) {
          o.obstacles.push_back({static_cast<ObstacleKind>(nb::cast<int>(one[0])),
                                 numbers_of(nb::cast<Rows<double>>(one[1]))});
        }
        o.inputs = inputs, o.probes = numbers_of(probes), o.lines = numbers_of(lines);
        o.precision = precision_of(dtype);
        const Unlocked call;
        return grid_flow(o);
      },
      nb::arg("shape"), nb::arg("size"), nb::arg("viscosity"), nb::arg("density"), nb::arg("dt"),
      nb::arg("sides"), nb::arg("obstacles"), nb::arg("inputs"), nb::arg("probes"),
      nb::arg("lines"), nb::arg("dtype"));
  m.def(
      "grid_probe",
      [](const System& system, const Rows<double>& x, const Rows<double>& params,
         const Rows<double>& points, bool pressure) {
        return to_numpy(grid_probe(system, span_of(x), span_of(params), span_of(points), pressure));
      },
      nb::arg("system"), nb::arg("x"), nb::arg("params"), nb::arg("points"), nb::arg("pressure"));
}

}  // namespace cycloid::python
