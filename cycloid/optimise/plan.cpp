#include "cycloid/optimise/plan.h"

#include <algorithm>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/optimise/planning/planner.h"

namespace cycloid::inline optimise {
namespace {

struct Method {
  const char* name;
  Plan (*run)(Planner&);
  bool needs_model, needs_gradient;
};

constexpr Method kMethods[] = {
    {"ilqr", plan_ilqr, true, true},
    {"lbfgs", plan_shooting, false, true},
    {"multiple_shooting", plan_multiple_shooting, true, true},
    {"mppi", plan_mppi, false, false},
    {"cem", plan_cem, false, false},
};

const Method& method_of(const std::string& name) {
  const auto found = std::find_if(std::begin(kMethods), std::end(kMethods),
                                  [&](const Method& m) { return name == m.name; });
  if (found != std::end(kMethods)) return *found;
  throw Error(
      message("plan: there is no method \"", name, "\"", did_you_mean(name, plan_methods())));
}

}  // namespace

std::vector<std::string> plan_methods() {
  std::vector<std::string> names;
  for (const Method& m : kMethods) names.push_back(m.name);
  return names;
}

std::unique_ptr<Planner> make_planner(const System& system, std::span<const double> x0,
                                      const Cost& cost, std::int64_t steps,
                                      const PlanOptions& options) {
  const Method& method = method_of(options.method);
  auto planner = std::make_unique<Planner>(system, x0, cost, steps, options);
  if (const std::string term = planner->cost.without_model(); method.needs_model && !term.empty()) {
    throw Error(message("plan: method \"", options.method, "\" cannot take ", term,
                        ": it has no second derivatives; take \"lbfgs\", \"mppi\" or \"cem\""));
  }
  if (const std::string term = planner->cost.without_gradient();
      method.needs_gradient && !term.empty()) {
    throw Error(message("plan: method \"", options.method, "\" needs a gradient, and ", term,
                        " has none; take \"mppi\" or \"cem\""));
  }
  return planner;
}

Plan run_planner(Planner& planner) { return method_of(planner.options.method).run(planner); }

Plan plan(const System& system, std::span<const double> x0, const Cost& cost, std::int64_t steps,
          const PlanOptions& options) {
  return run_planner(*make_planner(system, x0, cost, steps, options));
}

}  // namespace cycloid::inline optimise
