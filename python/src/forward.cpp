#include "cycloid/rigid/forward.h"

#include "observed_robot.h"
#include "run_options.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

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

}  // namespace

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
      .def_prop_ro("warning", [](const Forward& f) { return warning_of(f.notes); })
      .def_prop_ro("bodies",
                   [](const Forward& f) { return f.body_pos.size() / 3 / f.checked.rows; })
      .def_prop_ro("sites", [](const Forward& f) { return f.site_pos.size() / 3 / f.checked.rows; })
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
      [](const System& robot, const Rows<double>& x, const std::optional<Rows<double>>& u,
         const std::optional<Rows<double>>& p, double t) {
        Unlocked call;
        return forward(robot, rows_of(x, u, p, t));
      },
      nb::arg("robot"), nb::arg("x"), nb::arg("u").none(), nb::arg("params").none(), nb::arg("t"));

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
      [](const System& robot, const Rows<double>& x, const std::optional<Rows<double>>& u,
         const std::optional<Rows<double>>& p, const Rows<double>& qacc) {
        Unlocked call;
        return inverse_dynamics(robot, rows_of(x, u, p, 0), span_of(qacc));
      },
      nb::arg("robot"), nb::arg("x"), nb::arg("u").none(), nb::arg("params").none(),
      nb::arg("qacc"));
}

}  // namespace cycloid::python
