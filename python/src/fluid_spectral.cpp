#include "fluid_spectral.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include "cycloid/fluid/spectral/exponential_scheme.h"
#include "cycloid/fluid/spectral/spectral.h"
#include "cycloid/fluid/spectral/spectral_model.h"

namespace cycloid::python {

void bind_fluid_spectral(nb::module_& m) {
  m.attr("spectral_equations") = nb::cast(spectral_equation_names());
  m.def(
      "make_spectral",
      [](const std::string& equation, const std::vector<int>& shape,
         const std::vector<double>& size, double dt, int order, const std::string& dtype,
         const std::vector<std::string>& inputs,
         const std::map<std::string, std::vector<double>>& values,
         const std::vector<double>& probes, bool substeps) {
        SpectralOptions o;
        o.equation = equation, o.shape = shape, o.size = size, o.dt = dt, o.order = order;
        o.precision = precision_of(dtype), o.inputs = inputs, o.values = values;
        o.probes = probes, o.substeps = substeps;
        return spectral(o);
      },
      nb::arg("equation"), nb::arg("shape"), nb::arg("size"), nb::arg("dt"), nb::arg("order"),
      nb::arg("dtype"), nb::arg("inputs"), nb::arg("values"), nb::arg("probes"),
      nb::arg("substeps"));
  // Parts of each stage: (coefficient, from, scale).
  m.def("etd_parts", [](int order) {
    std::vector<std::vector<std::tuple<int, int, double>>> stages;
    for (const auto& stage : etd_scheme(order).parts) {
      stages.emplace_back();
      for (const EtdPart& p : stage) stages.back().emplace_back(p.coefficient, p.from, p.scale);
    }
    return stages;
  });
  // Coefficients and their slopes at each z (n, 2): each (coefficients, n, 2) flat.
  m.def("etd_coefficients", [](int order, double h, const Rows<double>& z) {
    const auto at = span_of(z);
    const std::size_t n = at.size() / 2;
    const std::size_t count = static_cast<std::size_t>(etd_scheme(order).coefficients);
    std::vector<double> values(2 * n * count), slopes(values.size());
    for (std::size_t i = 0; i < n; ++i) {
      const EtdValues v = etd_values(order, h, {at[2 * i], at[2 * i + 1]});
      for (std::size_t c = 0; c < count; ++c) {
        values[2 * (c * n + i)] = v.value[c].real(),
                            values[2 * (c * n + i) + 1] = v.value[c].imag();
        slopes[2 * (c * n + i)] = v.slope[c].real(),
                            slopes[2 * (c * n + i) + 1] = v.slope[c].imag();
      }
    }
    return nb::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(slopes)));
  });
}

}  // namespace cycloid::python
