// verify: an optimum run again in worlds that ought to give the same answer.
#include "cycloid/optimise/verify.h"

#include <nanobind/stl/map.h>

#include "module.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

std::vector<double> numbers(const Rows<double>& rows) {
  const auto all = span_of(rows);
  return {all.begin(), all.end()};
}

VerifyOptions verify_options(int delay, double noise, int draws, double spread,
                             std::map<std::string, std::vector<double>> std,
                             std::vector<std::vector<double>> parameters, std::uint64_t seed,
                             int threads) {
  VerifyOptions options;
  options.delay = delay, options.noise = noise, options.draws = draws, options.spread = spread;
  options.std = std::move(std), options.parameters = std::move(parameters);
  options.seed = seed, options.threads = threads;
  return options;
}

}  // namespace

void bind_verify(nb::module_& m) {
  nb::class_<Trust>(m, "Trust")
      .def_ro("survives", &Trust::survives)
      .def_ro("ok", &Trust::ok)
      .def_ro("verdict", &Trust::verdict)
      .def_prop_ro(
          "tests",
          [](const Trust& trust) {
            nb::list all;
            for (const TestResult& t : trust.tests) {
              all.append(nb::make_tuple(t.name, t.survives, t.costs.start, t.costs.result));
            }
            return all;
          })
      .def_prop_ro("exploits",
                   [](const Trust& trust) {
                     nb::list all;
                     for (const Exploit& e : trust.exploits) {
                       all.append(nb::make_tuple(e.name, e.what));
                     }
                     return all;
                   })
      .def_prop_ro(
          "costs",
          [](const Trust& trust) { return nb::make_tuple(trust.costs.start, trust.costs.result); })
      .def(
          "write",
          [](const Trust& trust, const std::string& path, const std::string& title) {
            trust.page(title).write(path);
          },
          nb::arg("path"), nb::arg("title"));

  using Named = std::map<std::string, std::vector<double>>;
  using Draws = std::vector<std::vector<double>>;
  // cost(core system, states, controls), rows as flat arrays.
  m.def(
      "verify_plan",
      [](const System& system, const Rows<double>& x0, const Rows<double>& controls,
         const Rows<double>& states, const Rows<double>& gains, const Rows<double>& low,
         const Rows<double>& high, const Rows<double>& params, double t0, const nb::object& cost,
         int delay, double noise, int draws, double spread, const Named& std,
         const Draws& parameters, std::uint64_t seed, int threads) {
        PlanUnderTest plan{numbers(x0),
                           numbers(controls),
                           numbers(states),
                           numbers(gains),
                           numbers(low),
                           numbers(high),
                           t0,
                           {}};
        plan.cost = [&cost](const System& world, std::span<const double> xs,
                            std::span<const double> us) {
          const nb::gil_scoped_acquire lock;
          return nb::cast<double>(cost(world, to_numpy(std::vector<double>(xs.begin(), xs.end())),
                                       to_numpy(std::vector<double>(us.begin(), us.end()))));
        };
        const std::vector<double> p = numbers(params);
        VerifyOptions options =
            verify_options(delay, noise, draws, spread, std, parameters, seed, threads);
        Unlocked call;
        options.keep_going = call.keep_going();
        return verify(with_parameters(system, p), plan, options);
      },
      nb::arg("system"), nb::arg("x0"), nb::arg("controls"), nb::arg("states"), nb::arg("gains"),
      nb::arg("low"), nb::arg("high"), nb::arg("params"), nb::arg("t0"), nb::arg("cost"),
      nb::arg("delay"), nb::arg("noise"), nb::arg("draws"), nb::arg("spread"), nb::arg("std"),
      nb::arg("parameters"), nb::arg("seed"), nb::arg("threads"));
  // judge(core system, substeps, delay, noise, seed) -> (cost at the start, cost of the result).
  m.def(
      "verify_judged",
      [](const System& system, const nb::object& judge, const Rows<double>& states,
         const Rows<double>& controls, int delay, double noise, int draws, double spread,
         const Named& std, const Draws& parameters, std::uint64_t seed, int threads) {
        VerifyOptions options =
            verify_options(delay, noise, draws, spread, std, parameters, seed, threads);
        const Judge judged = [&judge](const TestWorld& world) {
          const nb::gil_scoped_acquire lock;
          const nb::object costs =
              judge(world.system, world.substeps, world.delay, world.noise, world.seed);
          return TestCosts{nb::cast<double>(costs[0]), nb::cast<double>(costs[1])};
        };
        const std::vector<double> xs = numbers(states), us = numbers(controls);
        Unlocked call;
        options.keep_going = call.keep_going();
        const System in_double = system.in_double();
        return verify(in_double, judged,
                      find_exploits(in_double, xs, us, options.threads, options.keep_going),
                      options);
      },
      nb::arg("system"), nb::arg("judge"), nb::arg("states"), nb::arg("controls"), nb::arg("delay"),
      nb::arg("noise"), nb::arg("draws"), nb::arg("spread"), nb::arg("std"), nb::arg("parameters"),
      nb::arg("seed"), nb::arg("threads"));
  m.def(
      "with_parameters",
      [](const System& system, const Rows<double>& params) {
        return with_parameters(system, span_of(params));
      },
      nb::arg("system"), nb::arg("params"));
}

}  // namespace cycloid::python
