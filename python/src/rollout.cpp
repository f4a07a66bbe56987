#include <nanobind/stl/map.h>

#include "cycloid/adjoint/engine/run.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/base/error.h"
#include "module.h"
#include "run_options.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

template <class T>
Controls<T> controls_of(const std::optional<Rows<T>>& controls, std::int64_t steps) {
  return controls ? Controls<T>(span_of(*controls), steps) : Controls<T>(steps);
}

nb::dict events_of(const std::vector<Event>& events) {
  std::vector<std::int64_t> environment, step;
  std::vector<double> time;
  nb::list names, grazing;
  for (const Event& e : events) {
    environment.push_back(e.environment);
    step.push_back(e.step);
    time.push_back(e.time);
    names.append(e.name);
    grazing.append(e.grazing);
  }
  nb::dict d;
  d["environment"] = to_numpy(std::move(environment));
  d["step"] = to_numpy(std::move(step));
  d["name"] = names;
  d["time"] = to_numpy(std::move(time));
  d["grazing"] = grazing;
  return d;
}

template <class T>
nb::dict gradient_of(Gradient<T> g) {
  nb::dict d;
  d["x0"] = to_numpy(std::move(g.x0));
  d["x0_tangent"] = to_numpy(std::move(g.x0_tangent));
  d["controls"] = to_numpy(std::move(g.controls));
  d["params"] = to_numpy(std::move(g.params));
  d["recomputed_steps"] = g.recomputed_steps;
  d["drift"] = g.drift;
  d["variance"] = nb::none();
  if (g.variance) d["variance"] = gradient_of(*g.variance);
  return d;
}

using Tangent = std::optional<Rows<double>>;

Direction direction_of(const Tangent& x0, const Tangent& controls, const Tangent& params) {
  Direction direction;
  direction.x0_coordinates = span_of(x0);
  direction.controls = span_of(controls);
  direction.params = span_of(params);
  return direction;
}

template <class T>
nb::tuple sparse_of(SparseMatrix<T> m) {
  return nb::make_tuple(to_numpy(std::move(m.value)), to_numpy(std::move(m.column)),
                        to_numpy(std::move(m.row_start)), nb::make_tuple(m.rows, m.columns));
}

nb::dict diagnosis_of(Diagnosis d) {
  nb::list verdicts;
  for (const Verdict v : d.verdicts) verdicts.append(name(v));
  nb::dict out;
  out["growth"] = to_numpy(std::move(d.growth));
  out["lyapunov"] = to_numpy(std::move(d.lyapunov));
  out["verdicts"] = verdicts;
  out["verdict"] = name(d.verdict);
  out["switch_fraction"] = d.switch_fraction;
  out["reliable"] = d.reliable;
  out["horizon"] = d.horizon;
  out["advice"] = d.advice;
  out["first_nonfinite"] = nb::none();
  if (d.first_nonfinite) {
    const FirstNonFinite& f = *d.first_nonfinite;
    out["first_nonfinite"] =
        nb::make_tuple(f.environment, f.step, f.block, f.forward ? "rollout" : "cotangent");
  }
  return out;
}

// The functions of one precision; Python picks by the system's dtype.
template <class T>
void bind_precision(nb::module_& m, const char* suffix) {
  using Run = Trajectory<T>;
  const std::string type = std::string("Trajectory_") + suffix;
  nb::class_<Run>(m, type.c_str())
      .def_prop_ro(
          "states",
          [](nb::handle self) {  // read-only, and keeps the run alive
            const Run& run = nb::cast<const Run&>(self);
            return nb::ndarray<nb::numpy, const T>(run.states().data(), {run.states().size()},
                                                   self);
          },
          nb::rv_policy::automatic)
      .def(
          "own_states",
          [](const Run& run) {  // writable, and keeps nothing else alive: the adjoint does without
            auto* held = new std::shared_ptr<std::vector<T>>(run.shared_states());
            const nb::capsule owner(held, [](void* p) noexcept {
              delete static_cast<std::shared_ptr<std::vector<T>>*>(p);
            });
            return nb::ndarray<nb::numpy, T>((*held)->data(), {(*held)->size()}, owner);
          },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "steps", [](const Run& r) { return to_numpy(r.saved_steps()); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "times", [](const Run& r) { return to_numpy(r.times()); }, nb::rv_policy::automatic)
      // What the run was made from: x0 as given, inputs (none: zero), parameters, t0, in rows.
      .def("origin",
           [](const Run& r) {
             const auto& made = r.run();
             nb::dict d;
             d["x0"] = to_numpy(made.x0_raw), d["controls"] = to_numpy(made.controls);
             d["params"] = to_numpy(made.parameters);
             d["rows"] = nb::make_tuple(made.x0_rows, made.control_rows, made.parameter_rows);
             d["t0"] = made.t0, d["sampled"] = !made.samples.empty();
             return d;
           })
      .def_prop_ro("report", [](const Run& r) { return report_of(r.report()); })
      .def_prop_ro("events", [](const Run& r) { return events_of(r.events()); })
      .def(
          "step_warning",
          [](const Run& r, bool skip) {
            if (!skip) check_step(r.report());
            return warning_of(r.report());
          },
          nb::arg("skip"), "Of a single step: raises if it failed, unless `skip`; or a text.")
      .def(
          "pullback",
          [](const Run& run, const Rows<T>& states_bar, bool x0, bool controls, bool params,
             bool skip, bool each, const std::optional<Rows<double>>& event_times_bar,
             const std::optional<nb::tuple>& gradient) {
            PullbackOptions options;
            options.each = each;
            options.x0 = x0;
            options.controls = controls;
            options.params = params;
            options.failed = skip ? PullbackOptions::Failed::skip : PullbackOptions::Failed::raise;
            options.event_times_bar = span_of(event_times_bar);
            options.gradient = gradient_of_call(gradient);
            Gradient<T> g;
            {
              const Unlocked call;
              options.keep_going = call.keep_going();
              g = run.pullback(span_of(states_bar), options);
            }
            return gradient_of(std::move(g));
          },
          nb::arg("states_bar"), nb::arg("x0"), nb::arg("controls"), nb::arg("params"),
          nb::arg("skip"), nb::arg("each") = false, nb::arg("event_times_bar") = nb::none(),
          nb::arg("gradient") = nb::none())
      .def(
          "pushforward",
          [](const Run& run, const Tangent& x0, const Tangent& controls, const Tangent& params) {
            std::vector<double> tangents;
            {
              const Unlocked call;
              const Pushforward pushed =
                  pushforward(run, direction_of(x0, controls, params), true, call.keep_going());
              tangents.assign(pushed.states_tan().begin(), pushed.states_tan().end());
            }
            return to_numpy(std::move(tangents));
          },
          nb::arg("x0_tan").none(), nb::arg("controls_tan").none(), nb::arg("params_tan").none())
      .def(
          "hvp",
          [](const Run& run, const Rows<double>& states_bar, const Tangent& states_bar_tan,
             const Tangent& x0, const Tangent& controls, const Tangent& params, bool each) {
            HessianProduct product;
            {
              const Unlocked call;
              const Pushforward pushed =
                  pushforward(run, direction_of(x0, controls, params), false, call.keep_going());
              const std::vector<double> zero(states_bar_tan ? 0 : states_bar.size(), 0.0);
              product = pushed.pullback(span_of(states_bar),
                                        states_bar_tan ? span_of(*states_bar_tan) : zero, each,
                                        call.keep_going());
            }
            return gradient_of(std::move(product.gradient_tan));
          },
          nb::arg("states_bar"), nb::arg("states_bar_tan").none(), nb::arg("x0_tan").none(),
          nb::arg("controls_tan").none(), nb::arg("params_tan").none(), nb::arg("each") = false)
      .def("diagnose", [](const Run& run, const Rows<T>& states_bar) {
        Diagnosis d;
        {
          const Unlocked call;
          d = diagnose(run, span_of(states_bar), call.keep_going());
        }
        return diagnosis_of(std::move(d));
      });

  m.def((std::string("rollout_") + suffix).c_str(),
        [](const System& system, const Rows<T>& x0, const std::optional<Rows<T>>& controls,
           std::int64_t steps, const std::optional<Rows<double>>& params,
           const std::pair<std::string, std::vector<std::int64_t>>& save,
           const std::pair<std::string, std::int64_t>& memory, int threads, double t0,
           const std::vector<double>& times, const std::optional<nb::tuple>& gradient) {
          RolloutOptions options;
          options.gradient = gradient_of_call(gradient);
          options.save = save_of(save.first, save.second);
          options.times = times;
          options.memory = memory_of(memory.first, memory.second);
          options.threads = threads;
          options.t0 = t0;
          const Unlocked call;
          options.keep_going = call.keep_going();
          return rollout(system, span_of(x0), controls_of(controls, steps), span_of(params),
                         options);
        },
        nb::arg("system"), nb::arg("x0"), nb::arg("controls").none(), nb::arg("steps"),
        nb::arg("params").none(), nb::arg("save"), nb::arg("memory"), nb::arg("threads"),
        nb::arg("t0"), nb::arg("times") = std::vector<double>{}, nb::arg("gradient") = nb::none());

  // As cycloid::step, on the caller's choice of threads, and open to Ctrl-C. With a warning, which
  // may be empty.
  m.def((std::string("step_") + suffix).c_str(),
        [](const System& system, const Rows<T>& x, const std::optional<Rows<T>>& u,
           std::int64_t steps, const std::optional<Rows<double>>& params, int threads, double t) {
          RolloutOptions options;
          options.save = Save::last();
          options.memory = Memory::all();
          options.threads = threads;
          options.t0 = t;
          std::vector<T> next;
          std::string warning;
          {
            const Unlocked call;
            options.keep_going = call.keep_going();
            const Run run =
                rollout(system, span_of(x), controls_of(u, steps), span_of(params), options);
            check_step(run.report());
            next.assign(run.states().begin(), run.states().end());
            warning = warning_of(run.report());
          }
          return nb::make_tuple(to_numpy(std::move(next)), warning);
        },
        nb::arg("system"), nb::arg("x"), nb::arg("u").none(), nb::arg("steps"),
        nb::arg("params").none(), nb::arg("threads"), nb::arg("t"));

  // With what an observer shows, where one is given: states, values, report.
  m.def((std::string("advance_") + suffix).c_str(),
        [](const System& system, const Rows<T>& x, const std::optional<Rows<T>>& u,
           std::int64_t steps, const std::optional<Rows<double>>& params, const Observer* observer,
           bool lagging, int threads, double t0) {
          AdvanceOptions options;
          options.lagging = lagging;
          options.threads = threads;
          options.t0 = t0;
          Advanced<T> next;
          {
            const Unlocked call;
            options.keep_going = call.keep_going();
            next =
                advance(system, span_of(x), span_of(u), steps, span_of(params), options, observer);
          }
          return nb::make_tuple(to_numpy(std::move(next.states)), to_numpy(std::move(next.values)),
                                report_of(next.report));
        },
        nb::arg("system"), nb::arg("x"), nb::arg("u").none(), nb::arg("steps"),
        nb::arg("params").none(), nb::arg("observer").none(), nb::arg("lagging"),
        nb::arg("threads"), nb::arg("t0"));

  m.def((std::string("linearise_") + suffix).c_str(),
        [](const System& system, const Rows<T>& x, const std::optional<Rows<T>>& u, std::int64_t,
           const std::optional<Rows<double>>& params, bool with_params, double t, int threads) {
          Linearisation<T> lin;
          {
            const Unlocked call;
            LineariseOptions options;
            options.params = with_params;
            options.t = t;
            options.threads = threads;
            options.keep_going = call.keep_going();
            lin = linearise(system, span_of(x), span_of(u), span_of(params), options);
          }
          return nb::make_tuple(to_numpy(std::move(lin.next)), to_numpy(std::move(lin.A)),
                                to_numpy(std::move(lin.B)), to_numpy(std::move(lin.P)));
        },
        nb::arg("system"), nb::arg("x"), nb::arg("u").none(), nb::arg("steps"),
        nb::arg("params").none(), nb::arg("with_params"), nb::arg("t"), nb::arg("threads"));

  m.def((std::string("sparse_linearise_") + suffix).c_str(),
        [](const System& system, const Rows<T>& x, const std::optional<Rows<T>>& u, std::int64_t,
           const std::optional<Rows<double>>& params, double t, int threads) {
          SparseLinearisation<T> lin;
          {
            const Unlocked call;
            LineariseOptions options;
            options.t = t;
            options.threads = threads;
            options.keep_going = call.keep_going();
            lin = sparse_linearise(system, span_of(x), span_of(u), span_of(params), options);
          }
          return nb::make_tuple(to_numpy(std::move(lin.next)), sparse_of(std::move(lin.A)),
                                sparse_of(std::move(lin.B)));
        },
        nb::arg("system"), nb::arg("x"), nb::arg("u").none(), nb::arg("steps"),
        nb::arg("params").none(), nb::arg("t"), nb::arg("threads"));
}

// Products with A and B of one step, in double.
void bind_operator(nb::module_& m) {
  nb::class_<StepOperator>(m, "StepOperator")
      .def(
          "__init__",
          [](StepOperator* self, const System& system, const Rows<double>& x,
             const std::optional<Rows<double>>& u, std::int64_t,
             const std::optional<Rows<double>>& params, double t, int threads) {
            const Unlocked call;
            LineariseOptions options;
            options.t = t;
            options.threads = threads;
            options.keep_going = call.keep_going();
            new (self) StepOperator(system, span_of(x), span_of(u), span_of(params), options);
          },
          nb::arg("system"), nb::arg("x"), nb::arg("u").none(), nb::arg("steps"),
          nb::arg("params").none(), nb::arg("t"), nb::arg("threads"))
      .def(
          "push",
          [](const StepOperator& step, const Tangent& x_tan, const Tangent& u_tan) {
            std::vector<double> out;
            {
              const Unlocked call;
              out = step.push(span_of(x_tan), span_of(u_tan));
            }
            return to_numpy(std::move(out));
          },
          nb::arg("x_tan").none(), nb::arg("u_tan").none())
      .def(
          "pull",
          [](const StepOperator& step, const Rows<double>& bar) {
            std::vector<double> x_bar(static_cast<std::size_t>(step.tangents()), 0.0),
                u_bar(static_cast<std::size_t>(step.inputs()), 0.0);
            {
              const Unlocked call;
              step.pull(span_of(bar), x_bar, u_bar);
            }
            return nb::make_tuple(to_numpy(std::move(x_bar)), to_numpy(std::move(u_bar)));
          },
          nb::arg("bar"))
      .def_prop_ro(
          "next",
          [](const StepOperator& step) {
            return to_numpy(std::vector<double>(step.next().begin(), step.next().end()));
          },
          nb::rv_policy::automatic);
}

nb::dict check_of(const GradientCheck& c) {
  nb::dict by_block, details;
  for (const auto& [name, b] : c.by_block) {
    by_block[name.c_str()] = b.relative_error;
    nb::dict d;
    d["relative_error"] = b.relative_error;
    d["noise"] = b.noise;
    d["largest"] = b.largest;
    d["worst"] = b.worst;
    d["gradient"] = b.gradient;
    d["difference"] = b.difference;
    details[name.c_str()] = d;
  }
  nb::dict out;
  out["ok"] = c.ok;
  out["max_relative_error"] = c.max_relative_error;
  out["tolerance"] = c.tolerance;
  out["by_block"] = by_block;
  out["details"] = details;
  out["text"] = c.text;
  return out;
}

}  // namespace

void bind_rollout(nb::module_& m) {
  bind_precision<float>(m, "float32");
  bind_precision<double>(m, "float64");
  bind_operator(m);
  m.def(
      "check_run_options",
      [](const std::pair<std::string, std::vector<std::int64_t>>& save,
         const std::pair<std::string, std::int64_t>& memory, std::int64_t steps) {
        save_of(save.first, save.second).steps(steps);
        memory_of(memory.first, memory.second);
      },
      nb::arg("save"), nb::arg("memory"), nb::arg("steps"),
      "Raises what a rollout would of these, before there are numbers.");
  m.def(
      "check_times",
      [](const std::vector<double>& times, double t0, std::int64_t steps, double timestep) {
        samples_at(times, t0, steps, timestep);
      },
      nb::arg("times"), nb::arg("t0"), nb::arg("steps"), nb::arg("timestep"), "Likewise.");
  m.def(
      "check_gradient",
      [](const System& system, const Rows<double>& x0, const std::optional<Rows<double>>& controls,
         std::int64_t steps, const std::optional<Rows<double>>& params, double tolerance,
         int numbers_per_block, std::uint64_t seed, double t0, int threads) {
        CheckOptions options;
        options.tolerance = tolerance;
        options.numbers_per_block = numbers_per_block;
        options.seed = seed;
        options.t0 = t0;
        options.threads = threads;
        GradientCheck check;
        {
          const Unlocked call;
          options.keep_going = call.keep_going();
          check = check_gradient(system, span_of(x0), controls_of(controls, steps), span_of(params),
                                 options);
        }
        return check_of(check);
      },
      nb::arg("system"), nb::arg("x0"), nb::arg("controls").none(), nb::arg("steps"),
      nb::arg("params").none(), nb::arg("tolerance"), nb::arg("numbers_per_block"), nb::arg("seed"),
      nb::arg("t0"), nb::arg("threads"));
}

}  // namespace cycloid::python
