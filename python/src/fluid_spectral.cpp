#include "fluid_spectral.h"

#include <nanobind/stl/map.h>

#include "cycloid/fluid/spectral/spectral.h"
#include "cycloid/fluid/spectral/spectral_model.h"
#include "cycloid/fluid/transform/fft.h"

namespace cycloid::python {

void bind_fluid_spectral(nb::module_& m) {
  m.attr("spectral_equations") = nb::cast(spectral_equation_names());
  m.def(
      "make_spectral",
      [](const std::string& equation, const std::vector<int>& shape,
         const std::vector<double>& size, double dt, int order, const std::string& dtype,
         const std::vector<std::string>& inputs,
         const std::map<std::string, std::vector<double>>& values,
         const std::vector<double>& probes) {
        SpectralOptions o;
        o.equation = equation, o.shape = shape, o.size = size, o.dt = dt, o.order = order;
        o.precision = precision_of(dtype), o.inputs = inputs, o.values = values;
        o.probes = probes;
        return spectral(o);
      },
      nb::arg("equation"), nb::arg("shape"), nb::arg("size"), nb::arg("dt"), nb::arg("order"),
      nb::arg("dtype"), nb::arg("inputs"), nb::arg("values"), nb::arg("probes"));
}

}  // namespace cycloid::python
