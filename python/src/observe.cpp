#include "observed_robot.h"

#include <nanobind/stl/tuple.h>

#include "run_options.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

// name, place, size, shape
using Parts = std::vector<std::tuple<std::string, int, int, std::vector<int>>>;

Parts parts_of(const Observer& observer) {
  Parts out;
  for (const Observed& o : observer.observed()) {
    out.emplace_back(o.what.name, o.place, o.what.size(), o.what.shape);
  }
  return out;
}

// An observation, and on how many threads its gradient is found.
struct Seen {
  Observation observation;
  int threads;
};

}  // namespace

ObservedRows rows_of(const Rows<double>& x, const std::optional<Rows<double>>& u,
                     const std::optional<Rows<double>>& p, double t) {
  return {span_of(x), span_of(u), span_of(p), t, static_cast<std::int64_t>(x.shape(0))};
}

std::string warning_of(const std::vector<RowNote>& notes) {
  Report report;
  for (const RowNote& n : notes) {
    if (n.note.residual > 0) report.unsolved.push_back({n.row, 0, 1, n.note.residual});
    if (n.note.crowded) report.crowded.push_back({n.row, 0, 1});
  }
  return warning_of(report);
}

nb::dict gradient_of(ObservationGradient g) {
  nb::dict d;
  d["x"] = to_numpy(std::move(g.states));
  d["x_tangent"] = to_numpy(std::move(g.states_tangent));
  d["controls"] = to_numpy(std::move(g.inputs));
  d["params"] = to_numpy(std::move(g.parameters));
  return d;
}

void bind_observe(nb::module_& m) {
  nb::class_<Observer>(m, "Observer")
      .def_prop_ro("size", &Observer::size)
      .def_prop_ro("names", &Observer::names)
      .def_prop_ro("parts", &parts_of);
  m.def(
      "make_observer",
      [](const System& system, const std::optional<std::vector<std::string>>& names) {
        return Observer(system, names);
      },
      nb::arg("system"), nb::arg("names").none());
  // Names and units, in their order.
  m.def(
      "observables_of",
      [](const System& system) {
        std::vector<std::pair<std::string, std::string>> all;
        for (const Observable& o : observables_of(system)) all.emplace_back(o.name, o.unit);
        return all;
      },
      nb::arg("system"));

  m.def(
      "is_computed",
      [](const System& system, const std::string& name) {
        return find_observable(system, name).of_state.empty();
      },
      nb::arg("system"), nb::arg("name"),
      "Whether this observable is more than numbers of the state.");

  nb::class_<Seen>(m, "Observation")
      .def("values", [](const Seen& s) { return to_numpy(s.observation.values()); })
      .def_prop_ro("warning", [](const Seen& s) { return warning_of(s.observation.notes()); })
      .def(
          "pullback",
          [](const Seen& s, const Rows<double>& values_bar) {
            ObservationGradient g;
            {
              const Unlocked call;
              g = s.observation.pullback(span_of(values_bar), {s.threads, call.keep_going()});
            }
            return gradient_of(std::move(g));
          },
          nb::arg("values_bar"));
  m.def(
      "observe",
      [](const Observer& observer, const Rows<double>& x, const std::optional<Rows<double>>& u,
         const std::optional<Rows<double>>& p, double t, int threads) {
        const Unlocked call;
        return Seen{observe(observer, rows_of(x, u, p, t), {threads, call.keep_going()}), threads};
      },
      nb::arg("observer"), nb::arg("x"), nb::arg("u").none(), nb::arg("params").none(),
      nb::arg("t"), nb::arg("threads"));
}

}  // namespace cycloid::python
