// Costs, plans and receding horizons. A cost comes as a list of tuples, one for each term:
//   ("reach", name, target, weight, (kind, steps))    ("effort", weight)    ("smooth", weight)
//   ("keep", name, low, high, (kind, steps))          ("function", name, callable, has_gradient)
// A callable takes (states (rows, T+1, n), controls (rows, T, m), with_gradient) and gives (values,
// states_bar, controls_bar), the latter two None where there is no gradient to give.
#include <nanobind/stl/map.h>

#include "cost_terms.h"
#include "cycloid/base/error.h"
#include "cycloid/optimise/mpc.h"
#include "cycloid/optimise/planning/free_time.h"
#include "cycloid/optimise/planning/plan_page.h"
#include "cycloid/optimise/planning/trajectory_cost.h"
#include "module.h"
#include "recording_rows.h"
#include "run_options.h"
#include "unlocked.h"
#include "watch_function.h"

namespace cycloid::python {
namespace {

using Numbers = std::vector<double>;
using Result = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

When when_of(const nb::handle& given) {
  const auto [kind, steps] = nb::cast<std::pair<std::string, std::vector<std::int64_t>>>(given);
  return kind == "end" ? When::end() : kind == "all" ? When::all() : When::at(steps);
}

// The sizes of a System, which a Function needs.
struct Shape {
  std::size_t steps, states, inputs;
};

Function function_of(const std::string& name, nb::object callable, bool has_gradient,
                     const Shape& shape) {
  // Freed with the lock, wherever the last copy ends.
  const std::shared_ptr<nb::object> held(new nb::object(std::move(callable)), [](nb::object* o) {
    const nb::gil_scoped_acquire lock;
    delete o;
  });
  Function out;
  out.name = name;
  out.has_gradient = has_gradient;
  out.evaluate = [held, shape](std::int64_t rows, const double* states, const double* controls,
                               double* values, double* states_bar, double* controls_bar) {
    const nb::gil_scoped_acquire lock;
    const std::size_t n = static_cast<std::size_t>(rows);
    using View = nb::ndarray<nb::numpy, const double>;
    const View x(states, {n, shape.steps + 1, shape.states}, nb::handle()),
        u(controls, {n, shape.steps, shape.inputs}, nb::handle());
    try {
      const nb::object answer = (*held)(x, u, states_bar != nullptr);
      const auto copy = [](const nb::handle& from, std::size_t count, double* to) {
        const Result numbers = nb::cast<Result>(from);
        std::copy_n(numbers.data(), count, to);
      };
      copy(answer[0], n, values);
      if (!states_bar) return;
      copy(answer[1], n * (shape.steps + 1) * shape.states, states_bar);
      copy(answer[2], n * shape.steps * shape.inputs, controls_bar);
    } catch (const nb::python_error& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) throw Interrupted("interrupted");
      remember_if_it_ends_the_program(error);
      throw;
    }
  };
  return out;
}

}  // namespace

Cost cost_of(const nb::list& terms, const System& system, std::int64_t steps) {
  const Shape shape{static_cast<std::size_t>(steps),
                    static_cast<std::size_t>(system.states().size()),
                    static_cast<std::size_t>(system.inputs().size())};
  Cost cost;
  for (const nb::handle term : terms) {
    const nb::tuple t = nb::cast<nb::tuple>(term);
    const std::string kind = nb::cast<std::string>(t[0]);
    const auto numbers = [&](int i) { return nb::cast<Numbers>(t[i]); };
    if (kind == "reach") {
      cost.terms.push_back(
          Reach{nb::cast<std::string>(t[1]), numbers(2), numbers(3), when_of(t[4])});
    } else if (kind == "effort") {
      cost.terms.push_back(Effort{numbers(1)});
    } else if (kind == "smooth") {
      cost.terms.push_back(Smooth{numbers(1)});
    } else if (kind == "keep") {
      cost.terms.push_back(
          Keep{nb::cast<std::string>(t[1]), numbers(2), numbers(3), when_of(t[4])});
    } else {
      cost.terms.push_back(
          function_of(nb::cast<std::string>(t[1]), t[2], nb::cast<bool>(t[3]), shape));
    }
  }
  return cost;
}

namespace {

PlanOptions plan_options(const nb::dict& given) {
  PlanOptions o;
  const auto take = [&]<class T>(const char* name, T& value) {
    if (given.contains(name)) value = nb::cast<T>(given[name]);
  };
  take("method", o.method);
  take("start", o.start);
  take("start_states", o.start_states);
  take("low", o.low);
  take("high", o.high);
  take("params", o.params);
  take("iterations", o.iterations);
  take("time_limit", o.time_limit);
  take("seed", o.seed);
  take("tolerance", o.tolerance);
  take("constraint_tolerance", o.constraint_tolerance);
  take("threads", o.threads);
  take("t0", o.t0);
  take("full_hessian", o.full_hessian);
  take("regularise_state", o.regularise_state);
  take("regularisation", o.regularisation);
  take("samples", o.samples);
  take("elite", o.elite);
  take("noise", o.noise);
  take("temperature", o.temperature);
  take("knots", o.knots);
  std::optional<nb::tuple> gradient;
  if (given.contains("gradient") && !given["gradient"].is_none()) {
    gradient = nb::cast<nb::tuple>(given["gradient"]);
  }
  o.gradient = gradient_of_call(gradient);
  return o;
}

nb::dict result_of(const Plan& p) {
  nb::dict d;
  d["controls"] = to_numpy(p.controls);
  d["states"] = to_numpy(p.states);
  d["gains"] = to_numpy(p.gains);
  d["cost"] = p.cost;
  d["violation"] = p.violation;
  d["iterations"] = p.iterations;
  d["history"] = to_numpy(p.history);
  d["converged"] = p.converged;
  d["status"] = name(p.status);
  d["message"] = p.message;
  d["steps"] = p.steps;
  d["seconds"] = p.seconds;
  return d;
}

// Ctrl-C ends a plan with what it has; whatever else ends the call does so.
KeepGoing until_interrupted(const Unlocked& call) {
  return [ask = call.keep_going()] {
    try {
      return ask();
    } catch (const nb::python_error& error) {
      const nb::gil_scoped_acquire lock;
      if (error.matches(PyExc_KeyboardInterrupt)) return false;
      throw;
    }
  };
}

// Likewise where Ctrl-C comes while Python watches.
optimise::Watch watch_until_interrupted(const nb::object& watch) {
  const optimise::Watch own = watch_of(watch);
  if (!own) return {};
  return [own](const Progress& now) {
    try {
      return own(now);
    } catch (const nb::python_error& error) {
      const nb::gil_scoped_acquire lock;
      if (error.matches(PyExc_KeyboardInterrupt)) return false;
      throw;
    }
  };
}

}  // namespace

void bind_plan(nb::module_& m) {
  m.def("plan_methods", &plan_methods);
  m.def(
      "plan",
      [](const System& system, const Rows<double>& x0, const nb::list& terms, std::int64_t steps,
         const nb::dict& options, const nb::object& watch) {
        PlanOptions o = plan_options(options);
        o.watch = watch_until_interrupted(watch);
        const Cost cost = cost_of(terms, system, steps);
        std::optional<FreeTime> time;
        if (options.contains("free_time")) {
          const auto [low, high, weight] =
              nb::cast<std::tuple<double, double, double>>(options["free_time"]);
          time = FreeTime{low, high, weight};
        }
        TimedPlan found;
        {
          const Unlocked call;
          o.keep_going = until_interrupted(call);
          if (time) {
            found = plan_with_free_time(system, span_of(x0), cost, steps, *time, o);
          } else {
            found.plan = plan(system, span_of(x0), cost, steps, o);
          }
        }
        nb::dict result = result_of(found.plan);
        if (time) result["params"] = to_numpy(std::move(found.params));
        return result;
      },
      nb::arg("system"), nb::arg("x0"), nb::arg("terms"), nb::arg("steps"), nb::arg("options"),
      nb::arg("watch").none());
  // The page of a plan, from what Python keeps of it.
  m.def(
      "write_plan_page",
      [](const System& system, const nb::dict& kept, double timestep, const Numbers& low,
         const Numbers& high, const std::string& verdict, const std::string& path) {
        Plan p;
        p.controls = copied(nb::cast<Rows<double>>(kept["controls"]));
        p.states = copied(nb::cast<Rows<double>>(kept["states"]));
        p.history = copied(nb::cast<Rows<double>>(kept["history"]));
        p.cost = nb::cast<double>(kept["cost"]);
        p.iterations = nb::cast<int>(kept["iterations"]);
        p.steps = nb::cast<std::int64_t>(kept["steps"]);
        p.message = nb::cast<std::string>(kept["message"]);
        plan_page(system, p, timestep, low, high, verdict).write(path);
      },
      nb::arg("system"), nb::arg("plan"), nb::arg("timestep"), nb::arg("low"), nb::arg("high"),
      nb::arg("verdict"), nb::arg("path"));
  m.def(
      "plan_cost",
      [](const System& system, const nb::list& terms, std::int64_t steps,
         const Rows<double>& states, const Rows<double>& controls, std::int64_t rows,
         const std::optional<Rows<double>>& params, bool with_gradient) {
        const Cost cost = cost_of(terms, system, steps);
        Numbers values(static_cast<std::size_t>(rows)), states_bar, controls_bar;
        {
          const Unlocked call;
          const System in_double = system.in_double();
          const TrajectoryCost own(in_double, cost, steps, span_of(params), 0);
          if (!with_gradient) {
            values = own.values(span_of(states), span_of(controls), rows, call.keep_going());
          } else {
            if (const std::string term = own.without_gradient(); !term.empty()) {
              throw Error(message(term, " has no gradient"));
            }
            states_bar.resize(states.size());
            controls_bar.resize(controls.size());
            const std::size_t nx = states.size() / values.size(),
                              nu = controls.size() / values.size();
            for (std::size_t r = 0; r < values.size(); ++r) {
              values[r] = own.gradient(
                  span_of(states).subspan(r * nx, nx), span_of(controls).subspan(r * nu, nu),
                  std::span(states_bar).subspan(r * nx, nx),
                  std::span(controls_bar).subspan(r * nu, nu), call.keep_going());
            }
          }
        }
        return nb::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(states_bar)),
                              to_numpy(std::move(controls_bar)));
      },
      nb::arg("system"), nb::arg("terms"), nb::arg("steps"), nb::arg("states"), nb::arg("controls"),
      nb::arg("rows"), nb::arg("params").none(), nb::arg("with_gradient"));
  m.def(
      "difference",
      [](const System& system, const Rows<double>& a, const Rows<double>& b, std::int64_t rows) {
        const Space& space = system.states();
        Numbers out(static_cast<std::size_t>(rows * space.tangent_size()));
        for (std::int64_t r = 0; r < rows; ++r) {
          space.difference(b.data() + r * space.size(), a.data() + r * space.size(),
                           out.data() + r * space.tangent_size());
        }
        return to_numpy(std::move(out));
      },
      nb::arg("system"), nb::arg("a"), nb::arg("b"), nb::arg("rows"), "a ⊖ b, row by row.");

  nb::class_<Mpc>(m, "Mpc")
      .def(
          "__init__",
          [](Mpc* self, const System& system, const nb::list& terms, std::int64_t horizon,
             std::int64_t every, int first_iterations, const nb::dict& options) {
            MpcOptions o;
            o.every = every;
            o.first_iterations = first_iterations;
            o.plan = plan_options(options);
            new (self) Mpc(system, cost_of(terms, system, horizon), horizon, o);
          },
          nb::arg("system"), nb::arg("terms"), nb::arg("horizon"), nb::arg("every"),
          nb::arg("first_iterations"), nb::arg("options"))
      .def(
          "control",
          [](Mpc& mpc, const Rows<double>& x) {
            Numbers u;
            bool interrupted = false;
            {
              const Unlocked call;
              const KeepGoing ask = until_interrupted(call);
              const KeepGoing go_on = [&] {
                interrupted = interrupted || !ask();
                return !interrupted;
              };
              try {
                u = mpc.control(span_of(x), go_on);
              } catch (const Interrupted&) {
                if (!interrupted) throw;
              }
            }
            // The plan is kept; the loop around the call ends.
            if (interrupted) {
              PyErr_SetNone(PyExc_KeyboardInterrupt);
              throw nb::python_error();
            }
            return to_numpy(std::move(u));
          },
          nb::arg("x"))
      .def(
          "feedback",
          [](const Mpc& mpc, const Rows<double>& x, std::int64_t step) {
            return to_numpy(mpc.feedback(span_of(x), step));
          },
          nb::arg("x"), nb::arg("step"))
      .def("reset", &Mpc::reset)
      .def_prop_ro("calls", &Mpc::calls)
      .def_prop_ro("plan", [](const Mpc& mpc) { return result_of(mpc.plan()); });
}

}  // namespace cycloid::python
