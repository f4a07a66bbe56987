#include "device_arrays.h"

#include <memory>

#include "cycloid/adjoint/engine/device_rollout.h"
#include "cycloid/system/kernel_source.h"
#include "run_options.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

template <class T>
T* address(std::uint64_t number) {
  return reinterpret_cast<T*>(number);  // NOLINT: that is how frameworks hand it over
}

template <class T>
struct Held {
  System system;
  std::unique_ptr<DeviceRollout<T>> run;
};

template <class T>
void bind_precision(nb::module_& m, const char* suffix) {
  using Run = Held<T>;
  nb::class_<Run>(m, (std::string("DeviceRollout_") + suffix).c_str())
      .def(
          "step_warning",
          [](const Run& r, bool skip) {
            if (!skip) check_step(r.run->report());
            return warning_of(r.run->report());
          },
          nb::arg("skip"))
      .def_prop_ro("tape_bytes", [](const Run& r) { return r.run->report().tape_bytes; })
      .def_prop_ro("report", [](const Run& r) { return report_of(r.run->report()); })
      .def_prop_ro(
          "steps", [](const Run& r) { return to_numpy(r.run->saved()); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "times", [](const Run& r) { return to_numpy(r.run->times()); }, nb::rv_policy::automatic)
      .def(
          "pullback",
          [](const Run& r, std::uint64_t states_bar, std::uint64_t x0_bar,
             std::uint64_t controls_bar, bool params, bool skip, std::uint64_t stream) {
            PullbackOptions options;
            options.params = params;
            options.failed = skip ? PullbackOptions::Failed::skip : PullbackOptions::Failed::raise;
            std::vector<double> out;
            {
              const Unlocked call;
              const OnStream there(r.system, address<void>(stream));
              options.keep_going = call.keep_going();
              out = r.run->pullback(
                  {address<const T>(states_bar), address<T>(x0_bar), address<T>(controls_bar)},
                  options);
            }
            return to_numpy(std::move(out));
          },
          nb::arg("states_bar"), nb::arg("x0_bar"), nb::arg("controls_bar"), nb::arg("params"),
          nb::arg("skip"), nb::arg("stream"));
  m.def((std::string("device_rollout_") + suffix).c_str(),
        [](const System& system, std::int64_t batch, std::int64_t steps, std::uint64_t x0,
           std::uint64_t controls, std::uint64_t states, std::int64_t control_rows,
           const std::optional<Rows<double>>& params, const std::string& save,
           const std::vector<std::int64_t>& saved, const std::string& memory, std::int64_t value,
           double t0, std::uint64_t stream, bool held, bool tape) {
          RolloutOptions options;
          options.save = save_of(save, saved);
          options.memory = memory_of(memory, value);
          options.t0 = t0;
          auto out = std::make_unique<Run>(Run{system, nullptr});
          const Unlocked call;
          const OnStream there(system, address<void>(stream));
          options.keep_going = call.keep_going();
          out->run = std::make_unique<DeviceRollout<T>>(
              system, batch, steps,
              DeviceArrays<T>{address<const T>(x0), address<const T>(controls), address<T>(states)},
              control_rows, span_of(params), options, DeviceUse{held, tape});
          return out.release();  // Python owns it
        },
        nb::arg("system"), nb::arg("batch"), nb::arg("steps"), nb::arg("x0"), nb::arg("controls"),
        nb::arg("states"), nb::arg("control_rows"), nb::arg("params").none(), nb::arg("save"),
        nb::arg("saved"), nb::arg("memory"), nb::arg("value"), nb::arg("t0"), nb::arg("stream"),
        nb::arg("held") = false, nb::arg("tape") = true,
        "Arrays by their addresses on the System's device, in rows.");
  m.def((std::string("device_linearise_") + suffix).c_str(),
        [](const System& system, std::int64_t batch, std::uint64_t x, std::uint64_t u,
           std::int64_t control_rows, const std::optional<Rows<double>>& params, std::uint64_t next,
           std::uint64_t A, std::uint64_t B, double t, std::uint64_t stream) {
          const Unlocked call;
          const OnStream there(system, address<void>(stream));
          LineariseOptions options;
          options.t = t;
          options.keep_going = call.keep_going();
          device_linearise<T>(system, batch,
                              {address<const T>(x), address<const T>(u), address<T>(next)},
                              address<T>(A), address<T>(B), control_rows, span_of(params), options);
        },
        nb::arg("system"), nb::arg("batch"), nb::arg("x"), nb::arg("u"), nb::arg("control_rows"),
        nb::arg("params").none(), nb::arg("next"), nb::arg("A"), nb::arg("B"), nb::arg("t"),
        nb::arg("stream"), "Jacobians of one step of arrays on the System's device, to there.");
  m.def((std::string("device_observe_") + suffix).c_str(),
        [](const Observer& observer, std::int64_t rows, std::uint64_t x, std::uint64_t u,
           std::int64_t control_rows, const std::optional<Rows<double>>& params,
           std::uint64_t values, double t) {
          const Unlocked call;
          device_observe<T>(observer, rows,
                            {address<const T>(x), address<const T>(u), address<T>(values)},
                            control_rows, span_of(params), t);
        },
        nb::arg("observer"), nb::arg("rows"), nb::arg("x"), nb::arg("u"), nb::arg("control_rows"),
        nb::arg("params").none(), nb::arg("values"), nb::arg("t"),
        "What rows on the System's device show, to there.");
}

}  // namespace

void bind_device_rollout(nb::module_& m) {
  bind_precision<double>(m, "float64");
  bind_precision<float>(m, "float32");
}

}  // namespace cycloid::python
