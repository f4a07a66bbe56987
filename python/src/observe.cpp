#include "cycloid/rigid/observe.h"

#include <nanobind/stl/tuple.h>

#include "cycloid/rigid/forward.h"
#include "module.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

using Sensors = std::vector<std::tuple<std::string, int, int>>;

Sensors sensors_of(const Observer& observer) {
  Sensors out;
  for (const ObservedSensor& s : observer.sensors()) out.emplace_back(s.name, s.place, s.size);
  return out;
}

ObservedRows rows_of(const Rows<double>& x, const std::optional<Rows<double>>& u,
                     const std::optional<Rows<double>>& p, double t) {
  return {span_of(x), span_of(u), span_of(p), t};
}

nb::dict gradient_of(ObservationGradient g) {
  nb::dict d;
  d["x"] = to_numpy(std::move(g.states));
  d["x_tangent"] = to_numpy(std::move(g.states_tangent));
  d["controls"] = to_numpy(std::move(g.inputs));
  d["params"] = to_numpy(std::move(g.parameters));
  return d;
}

nb::dict forward_of(Forward f) {
  nb::dict d;
  d["qacc"] = to_numpy(std::move(f.qacc));
  d["mass_matrix"] = to_numpy(std::move(f.mass_matrix));
  d["bias"] = to_numpy(std::move(f.bias));
  d["body_pos"] = to_numpy(std::move(f.body_pos));
  d["body_quat"] = to_numpy(std::move(f.body_quat));
  d["site_pos"] = to_numpy(std::move(f.site_pos));
  d["energy"] = to_numpy(std::move(f.energy));
  d["sensors"] = to_numpy(std::move(f.sensors));
  return d;
}

}  // namespace

void bind_observe(nb::module_& m) {
  nb::class_<Observer>(m, "Observer")
      .def_prop_ro("size", &Observer::size)
      .def_prop_ro("names", &Observer::names)
      .def_prop_ro("sensors", &sensors_of);
  m.def(
      "make_observer",
      [](const System& robot, const Model& model,
         const std::optional<std::vector<std::string>>& names) {
        return Observer(robot, model, names);
      },
      nb::arg("robot"), nb::arg("model"), nb::arg("names").none());

  nb::class_<Observation>(m, "Observation")
      .def("values", [](const Observation& o) { return to_numpy(o.values()); })
      .def(
          "pullback",
          [](const Observation& o, const Rows<double>& values_bar) {
            ObservationGradient g;
            {
              Unlocked call;
              g = o.pullback(span_of(values_bar));
            }
            return gradient_of(std::move(g));
          },
          nb::arg("values_bar"));
  m.def(
      "observe",
      [](const Observer& observer, const Rows<double>& x, const std::optional<Rows<double>>& u,
         const std::optional<Rows<double>>& p, double t) {
        Unlocked call;
        return observe(observer, rows_of(x, u, p, t));
      },
      nb::arg("observer"), nb::arg("x"), nb::arg("u").none(), nb::arg("params").none(),
      nb::arg("t"));
  m.def(
      "forward",
      [](const Observer& observer, const Rows<double>& x, const std::optional<Rows<double>>& u,
         const std::optional<Rows<double>>& p, double t) {
        Forward f;
        {
          Unlocked call;
          f = forward(observer, rows_of(x, u, p, t));
        }
        return forward_of(std::move(f));
      },
      nb::arg("observer"), nb::arg("x"), nb::arg("u").none(), nb::arg("params").none(),
      nb::arg("t"));
}

}  // namespace cycloid::python
