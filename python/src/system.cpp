#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include "cycloid/base/error.h"
#include "cycloid/couple/hold.h"
#include "cycloid/device/device.h"
#include "cycloid/system/kernel_source.h"
#include "cycloid/system/randomise.h"
#include "module.h"
#include "run_options.h"

namespace cycloid::python {

Precision precision_of(const std::string& dtype) {
  if (dtype == "float64") return Precision::float64;
  if (dtype == "float32") return Precision::float32;
  throw Error(message("dtype must be \"float64\" or \"float32\"; got \"", dtype, "\""));
}

namespace {

nb::list blocks_of(const Space& space) {
  nb::list blocks;
  for (const Block& b : space.blocks()) {
    blocks.append(nb::make_tuple(b.name, b.offset, b.size, b.unit));
  }
  return blocks;
}

nb::list parameters_of(const System& system) {
  nb::list all;
  for (const Parameter& p : system.parameters().all()) {
    nb::list shape;
    for (const int n : p.shape) shape.append(n);
    all.append(nb::make_tuple(p.name, nb::tuple(shape), p.unit, p.offset, p.size,
                              describe(p.constraint), p.not_differentiable));
  }
  return all;
}

// A law of randomise: its name, and its numbers.
Spread spread_of(const std::string& law, std::vector<double> a, std::vector<double> b) {
  if (law == "LogNormal") return LogNormal{std::move(a)};
  if (law == "Normal") return Normal{std::move(a)};
  return Uniform{std::move(a), std::move(b)};
}

}  // namespace

void bind_system(nb::module_& m) {
  nb::class_<System>(m, "System")
      .def_prop_ro("name", &System::name)
      .def_prop_ro("dtype", [](const System& s) { return std::string(name(s.precision())); })
      .def_prop_ro("timestep", &System::timestep)
      .def_prop_ro("device",
                   [](const System& s) {
                     const OnDevice* const on = device_of(s);
                     return on ? on->device->name() : std::string("cpu");
                   })
      .def_prop_ro("state_size", [](const System& s) { return s.states().size(); })
      .def_prop_ro("tangent_size", [](const System& s) { return s.states().tangent_size(); })
      .def_prop_ro("input_size", [](const System& s) { return s.inputs().size(); })
      .def_prop_ro("state_blocks", [](const System& s) { return blocks_of(s.states()); })
      .def_prop_ro("input_blocks", [](const System& s) { return blocks_of(s.inputs()); })
      .def_prop_ro("parameter_list", &parameters_of)
      .def_prop_ro("vary", &System::vary)
      .def_prop_ro("event_names",
                   [](const System& s) {
                     std::vector<std::string> names;
                     for (const EventSpec& e : s.events()) names.emplace_back(e.name);
                     return names;
                   })
      .def("parameter_default",
           [](const System& s) { return to_numpy(s.parameters().default_values()); })
      .def("initial_state", [](const System& s) { return to_numpy(s.initial_state()); })
      .def(
          "find_parameter",
          [](const System& s, const std::string& name) { return s.parameters().find(name).offset; })
      .def("to_free",
           [](const System& s, const Rows<double>& p) {
             return to_numpy(s.parameters().to_free(span_of(p)));
           })
      .def("from_free",
           [](const System& s, const Rows<double>& z) {
             return to_numpy(s.parameters().from_free(span_of(z)));
           })
      .def("from_free_pullback",
           [](const System& s, const Rows<double>& z, const Rows<double>& p_bar) {
             return to_numpy(s.parameters().from_free_pullback(span_of(z), span_of(p_bar)));
           })
      .def("with_gradient",
           [](const System& s, const nb::tuple& mode) {
             return s.with_gradient(*gradient_of_call(mode));
           })
      .def(
          "variant",
          [](const System& s, double dt, const std::string& integrator,
             const std::string& contact) { return s.variant({dt, integrator, contact}); },
          nb::arg("dt"), nb::arg("integrator"), nb::arg("contact"))
      .def_prop_ro("ways",
                   [](const System& s) {
                     const Ways& ways = s.ways();
                     return nb::make_tuple(ways.integrator, ways.integrators, ways.contacts);
                   })
      .def("in_double", &System::in_double)
      .def("input_bounds",
           [](const System& s) {
             std::vector<double> bounds;
             for (int i = 0; i < s.inputs().size(); ++i) {
               bounds.insert(bounds.end(), {s.input_bounds(i).low, s.input_bounds(i).high});
             }
             return to_numpy(std::move(bounds));
           })
      .def("describe", &System::describe);

  m.def(
      "on_device",
      [](const System& system, const std::string& device) { return on_device(system, device); },
      nb::arg("system"), nb::arg("device"));
  m.def("devices", &devices);
  m.def(
      "make_law",
      [](const std::string& law, const std::map<std::string, std::vector<double>>& values,
         double dt, const std::string& integrator, const std::string& dtype,
         const std::vector<std::string>& vary, int n, double rtol, double atol) {
        return systems::make(law, values, {dt, integrator, precision_of(dtype), vary, rtol, atol},
                             n);
      },
      nb::arg("law"), nb::arg("values"), nb::arg("dt"), nb::arg("integrator"), nb::arg("dtype"),
      nb::arg("vary"), nb::arg("n"), nb::arg("rtol"), nb::arg("atol"));
  m.def(
      "make_heat",
      [](const std::vector<int>& shape, const Rows<double>& conductivity, double dt, double slope) {
        const auto k = span_of(conductivity);
        return systems::heat(shape, {k.begin(), k.end()}, dt, slope);
      },
      nb::arg("shape"), nb::arg("conductivity"), nb::arg("dt"), nb::arg("slope"));
  m.def(
      "close_loop",
      [](const System& system, const Rows<double>& gain, const Rows<double>& target,
         const Rows<double>& command) {
        const auto numbers = [](const Rows<double>& rows) {
          const auto all = span_of(rows);
          return std::vector<double>(all.begin(), all.end());
        };
        return close_loop(system, {numbers(gain), numbers(target), numbers(command)});
      },
      nb::arg("system"), nb::arg("gain"), nb::arg("target"), nb::arg("command"));
  m.def("hold", &hold, nb::arg("system"), nb::arg("steps"));
  m.def(
      "guarded",
      [](const System& model, const System& truth, double bound, double horizon, double share,
         int every,
         int most) { return guarded(model, truth, {bound, horizon, share, every, most}); },
      nb::arg("model"), nb::arg("truth"), nb::arg("bound"), nb::arg("horizon"), nb::arg("share"),
      nb::arg("every"), nb::arg("most"));
  m.def(
      "guard_log",
      [](const System& system, const Rows<double>& x0, const std::optional<Rows<double>>& controls,
         const std::optional<Rows<double>>& params, std::int64_t steps, std::int64_t environments,
         double t0) {
        nb::list out;
        const GuardRun run{span_of(x0), span_of(controls), span_of(params),
                           steps,       environments,      t0};
        for (const GuardEntry& e : guard_log(system, run)) {
          out.append(nb::make_tuple(e.environment, e.step, e.time, name(e.reason), e.missed,
                                    e.allowed, e.estimate, e.bound));
        }
        return out;
      },
      nb::arg("system"), nb::arg("x0"), nb::arg("controls").none(), nb::arg("params").none(),
      nb::arg("steps"), nb::arg("environments"), nb::arg("t0"));
  using NamedLaw = std::tuple<std::string, std::string, std::vector<double>, std::vector<double>>;
  m.def(
      "randomise",
      [](const System& system, const std::vector<NamedLaw>& laws, std::int64_t batch,
         std::uint64_t seed) {
        std::map<std::string, Spread> spreads;
        for (const auto& [name, law, a, b] : laws) spreads.emplace(name, spread_of(law, a, b));
        nb::dict drawn;
        for (auto& [name, values] : randomise(system, spreads, batch, seed)) {
          drawn[name.c_str()] = to_numpy(std::vector<double>(values));
        }
        return drawn;
      },
      nb::arg("system"), nb::arg("laws"), nb::arg("batch"), nb::arg("seed"));
  m.attr("law_names") = nb::cast(systems::names());
  m.attr("integrator_names") = nb::cast(systems::integrators());
  m.attr("adaptive_integrator_names") = nb::cast(systems::adaptive_integrators());
}

}  // namespace cycloid::python
