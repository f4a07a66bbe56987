#include "fluid_lattice.h"

#include "cycloid/fluid/lattice/lattice_flow.h"
#include "fluid_grid.h"
#include "unlocked.h"

namespace cycloid::python {

void bind_fluid_lattice(nb::module_& m) {
  m.def(
      "make_lattice_flow",
      [](const std::vector<int>& shape, const std::vector<double>& size, double viscosity,
         double density, double dt, int relaxation, const nb::list& sides,
         const nb::list& obstacles, const std::vector<std::string>& inputs,
         const Rows<double>& probes, const std::string& dtype) {
        LatticeOptions o;
        o.shape = shape, o.size = size, o.viscosity = viscosity, o.density = density, o.dt = dt;
        o.relaxation = static_cast<Relaxation>(relaxation), o.sides = sides_of(sides),
        o.obstacles = obstacles_of(obstacles);
        const auto points = span_of(probes);
        o.inputs = inputs, o.probes.assign(points.begin(), points.end());
        o.precision = precision_of(dtype);
        const Unlocked call;
        return lattice_flow(o);
      },
      nb::arg("shape"), nb::arg("size"), nb::arg("viscosity"), nb::arg("density"), nb::arg("dt"),
      nb::arg("relaxation"), nb::arg("sides"), nb::arg("obstacles"), nb::arg("inputs"),
      nb::arg("probes"), nb::arg("dtype"));
}

}  // namespace cycloid::python
