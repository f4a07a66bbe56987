#include "cycloid/rigid/sense/observe.h"

#include <nanobind/stl/tuple.h>

#include "cycloid/rigid/forward.h"
#include "module.h"
#include "run_options.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

using Sensors = std::vector<std::tuple<std::string, int, int, std::vector<int>>>;

Sensors sensors_of(const Observer& observer) {
  Sensors out;
  for (const ObservedSensor& s : observer.sensors()) {
    out.emplace_back(s.name, s.place, s.size, s.shape);
  }
  return out;
}

ObservedRows rows_of(const Rows<double>& x, const std::optional<Rows<double>>& u,
                     const std::optional<Rows<double>>& p, double t) {
  return {span_of(x), span_of(u), span_of(p), t, static_cast<std::int64_t>(x.shape(0))};
}

nb::dict gradient_of(ObservationGradient g) {
  nb::dict d;
  d["x"] = to_numpy(std::move(g.states));
  d["x_tangent"] = to_numpy(std::move(g.states_tangent));
  d["controls"] = to_numpy(std::move(g.inputs));
  d["params"] = to_numpy(std::move(g.parameters));
  return d;
}

// A method that gives one of a result's arrays.
template <class Result>
auto array_of(std::vector<double> Result::* member) {
  return [member](const Result& r) { return to_numpy(r.*member); };
}

nb::dict inverse_gradient_of(InverseDynamicsGradient g) {
  nb::dict d = gradient_of(std::move(g.at));
  d["qacc"] = to_numpy(std::move(g.qacc));
  return d;
}

nb::dict contacts_of(const ForwardContacts& contacts) {
  nb::dict d;
  d["count"] = to_numpy(contacts.count);
  d["geoms"] = to_numpy(contacts.geoms);
  d["pos"] = to_numpy(contacts.pos);
  d["frame"] = to_numpy(contacts.frame);
  d["dist"] = to_numpy(contacts.dist);
  d["force"] = to_numpy(contacts.force);
  return d;
}

void bind_forward(nb::module_& m) {
  nb::class_<Forward>(m, "Forward")
      .def("qacc", array_of(&Forward::qacc))
      .def("mass_matrix", array_of(&Forward::mass_matrix))
      .def("bias", array_of(&Forward::bias))
      .def("body_pos", array_of(&Forward::body_pos))
      .def("body_quat", array_of(&Forward::body_quat))
      .def("site_pos", array_of(&Forward::site_pos))
      .def("energy", array_of(&Forward::energy))
      .def("contacts", [](const Forward& f) { return contacts_of(f.contacts); })
      .def("sensors", [](const Forward& f) { return to_numpy(f.seen.values()); })
      .def_prop_ro("warning", [](const Forward& f) { return warning_of(f.notes); })
      .def_prop_ro("bodies", [](const Forward& f) { return f.body_pos.size() / 3 / f.rows; })
      .def_prop_ro("sites", [](const Forward& f) { return f.site_pos.size() / 3 / f.rows; })
      .def(
          "pullback",
          [](const Forward& f, const std::optional<Rows<double>>& qacc,
             const std::optional<Rows<double>>& mass_matrix,
             const std::optional<Rows<double>>& bias) {
            ObservationGradient g;
            {
              Unlocked call;
              g = f.pullback({span_of(qacc), span_of(mass_matrix), span_of(bias)});
            }
            return gradient_of(std::move(g));
          },
          nb::arg("qacc").none(), nb::arg("mass_matrix").none(), nb::arg("bias").none());
  m.def(
      "forward",
      [](const Observer& observer, const Rows<double>& x, const std::optional<Rows<double>>& u,
         const std::optional<Rows<double>>& p, double t) {
        Unlocked call;
        return forward(observer, rows_of(x, u, p, t));
      },
      nb::arg("observer"), nb::arg("x"), nb::arg("u").none(), nb::arg("params").none(),
      nb::arg("t"));

  nb::class_<InverseDynamics>(m, "InverseDynamics")
      .def("tau", array_of(&InverseDynamics::tau))
      .def(
          "pullback",
          [](const InverseDynamics& d, const Rows<double>& tau_bar) {
            InverseDynamicsGradient g;
            {
              Unlocked call;
              g = d.pullback(span_of(tau_bar));
            }
            return inverse_gradient_of(std::move(g));
          },
          nb::arg("tau_bar"));
  m.def(
      "inverse_dynamics",
      [](const Observer& observer, const Rows<double>& x, const std::optional<Rows<double>>& u,
         const std::optional<Rows<double>>& p, const Rows<double>& qacc) {
        Unlocked call;
        return inverse_dynamics(observer, rows_of(x, u, p, 0), span_of(qacc));
      },
      nb::arg("observer"), nb::arg("x"), nb::arg("u").none(), nb::arg("params").none(),
      nb::arg("qacc"));
}

}  // namespace

std::string warning_of(const std::vector<RowNote>& notes) {
  Report report;
  for (const RowNote& n : notes) {
    if (n.note.residual > 0) report.unsolved.push_back({n.row, 0, 1, n.note.residual});
    if (n.note.crowded) report.crowded.push_back({n.row, 0, 1});
  }
  return warning_of(report);
}

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
      .def_prop_ro("warning", [](const Observation& o) { return warning_of(o.notes()); })
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
  bind_forward(m);
}

}  // namespace cycloid::python
