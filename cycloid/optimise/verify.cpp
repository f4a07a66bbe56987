#include "cycloid/optimise/verify.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cycloid/adjoint/advance.h"
#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/optimise/planning/trajectory_cost.h"
#include "cycloid/page/number_text.h"
#include "cycloid/system/randomise.h"

namespace cycloid::inline optimise {
namespace {

using Row = std::vector<double>;

// In the order of preference: the first that is not the System's own is the other one. Whoever
// plans with a good integrator is not held to a poor one.
constexpr const char* kIntegrators[] = {"rk4",     "implicit_midpoint", "implicitfast",  "verlet",
                                        "dopri5",  "implicit",          "semi_implicit", "bdf2",
                                        "newmark", "implicit_euler",    "euler"};

constexpr int kCompliantSteps = 4;

// The System computed otherwise, or nothing where it cannot be.
std::optional<System> try_variant(const System& system, const Variant& variant) {
  try {
    return system.variant(variant);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<System> with_other_integrator(const System& system) {
  for (const char* name : kIntegrators) {
    if (name == system.ways().integrator) continue;
    if (auto other = try_variant(system, {.integrator = name})) return other;
  }
  return std::nullopt;
}

bool ends_with_any(const std::string& name, std::initializer_list<const char*> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](const char* e) { return name.ends_with(e); });
}

// What is uncertain of a System where nobody says.
std::map<std::string, Spread> usual_spreads(const System& system, double spread) {
  std::map<std::string, Spread> out;
  for (const Parameter& p : system.parameters().all()) {
    const bool of_robot = p.name.find(':') != p.name.npos;
    const bool uncertain = of_robot ? ends_with_any(p.name, {".mass", ".friction", ".damping"})
                                    : p.constraint == Constraint::positive && !p.array &&
                                          !p.name.starts_with("option.") && p.name != "gravity";
    if (uncertain) out[p.name] = LogNormal{{spread}};
  }
  return out;
}

// Draws of the flat vector.
std::vector<Row> drawn_parameters(const System& system, const VerifyOptions& options) {
  if (!options.parameters.empty()) return options.parameters;
  std::map<std::string, Spread> spreads;
  for (const auto& [name, s] : options.std) spreads[name] = Normal{s};
  if (spreads.empty()) spreads = usual_spreads(system, options.spread);
  SystemParts parts = system.parts();
  parts.vary.clear();
  for (const auto& entry : spreads) parts.vary.push_back(entry.first);
  if (spreads.empty()) return {};
  const auto drawn = randomise(System(parts), spreads, options.draws, options.seed);
  std::vector<Row> rows(static_cast<std::size_t>(options.draws),
                        system.parameters().default_values());
  for (const auto& [name, values] : drawn) {
    const Parameter& p = system.parameters().find(name);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(i) * p.size, p.size,
                  rows[i].begin() + p.offset);
    }
  }
  return rows;
}

// The tests one after another, each a mean over its worlds.
class Tests {
 public:
  Tests(const Judge& judge, double result, const VerifyOptions& options)
      : judge_(judge), result_(result), options_(options) {}

  void add(const char* name, const std::vector<TestWorld>& worlds) {
    if (worlds.empty()) return;
    TestCosts mean;
    for (TestWorld world : worlds) {
      world.threads = options_.threads, world.keep_going = options_.keep_going;
      const TestCosts costs = judge_(world);
      mean.start += costs.start / static_cast<double>(worlds.size());
      mean.result += costs.result / static_cast<double>(worlds.size());
    }
    results.push_back({name, surviving_share(mean, result_), mean});
  }
  void add(const char* name, const std::optional<System>& system, int substeps = 1) {
    if (system) add(name, std::vector{TestWorld{*system, substeps}});
  }

  std::vector<TestResult> results;

 private:
  const Judge& judge_;
  double result_;
  const VerifyOptions& options_;
};

std::string verdict_of(const Trust& trust) {
  std::string text;
  if (trust.tests.empty()) {
    text = "nothing of this system can be computed otherwise, so nothing was tested";
  } else {
    const auto least =
        std::min_element(trust.tests.begin(), trust.tests.end(),
                         [](const auto& a, const auto& b) { return a.survives < b.survives; });
    text = message(fixed(100 * trust.survives, 0), " % of the gain survives ", trust.tests.size(),
                   trust.tests.size() == 1 ? " test" : " tests", ", the least in \"", least->name,
                   "\"");
  }
  for (const Exploit& e : trust.exploits) text += message("; ", e.name, ": ", e.what);
  return message(trust.ok ? "trustworthy: " : "not to be trusted: ", text);
}

// A bar for each test.
Plot survival_plot(const std::vector<TestResult>& tests) {
  std::vector<std::string> names;
  for (const TestResult& t : tests) names.push_back(t.name);
  if (names.empty()) names.emplace_back("none");
  Plot plot("survival", "What is left of the gain in each test, in per cent", 560,
            60 + 26 * static_cast<double>(names.size()));
  plot.x_axis("", 0, 104).y_names(names);
  plot.vertical(100 * kLeastSurvival, "", "muted");
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const double y = static_cast<double>(tests.size() - i) - 0.5;
    const Row ends = {0, std::max(0.5, 100 * tests[i].survives)};
    plot.line(ends, Row{y, y}, tests[i].survives < kLeastSurvival ? "c2" : "c1",
              "style=\"stroke-width:12;stroke-linecap:butt\"");
  }
  return plot;
}

}  // namespace

double surviving_share(const TestCosts& test, double result) {
  if (!std::isfinite(test.result) || !std::isfinite(test.start) || !(test.start > result)) return 0;
  return std::clamp((test.start - test.result) / (test.start - result), 0.0, 1.0);  // (1)
}

System with_parameters(const System& system, std::span<const double> params) {
  if (params.empty()) return system;
  system.check_parameters(params);
  SystemParts parts = system.parts();
  parts.parameters = with_defaults(parts.parameters, parts.parameters.unpack(params));
  if (parts.parameters.contains(kTimestepName)) {
    parts.timestep = params[static_cast<std::size_t>(parts.parameters.find(kTimestepName).offset)];
  }
  return System(std::move(parts));
}

Trust verify(const System& given, const Judge& judge, std::vector<Exploit> exploits,
             const VerifyOptions& options) {
  const System system = given.in_double();
  Trust trust;
  trust.exploits = std::move(exploits);
  const TestWorld as_it_was{system, 1, 0, 0, options.seed, options.threads, options.keep_going};
  trust.costs = judge(as_it_was);
  Tests tests(judge, trust.costs.result, options);
  const double h = system.timestep();
  tests.add("half step", try_variant(system, {.dt = h / 2}), 2);
  tests.add("quarter step", try_variant(system, {.dt = h / 4}), 4);
  tests.add("other integrator", with_other_integrator(system));
  for (const std::string& contact : system.ways().contacts) {
    const std::string name = contact + " contact";
    // A compliant law is explicit in time: it wants shorter steps.
    const int parts = contact == "compliant" ? kCompliantSteps : 1;
    tests.add(name.c_str(),
              try_variant(system, {.dt = parts > 1 ? h / parts : 0, .contact = contact}), parts);
  }
  std::vector<TestWorld> worlds;
  for (const Row& p : drawn_parameters(system, options)) {
    worlds.push_back({with_parameters(system, p)});
  }
  tests.add("parameters", worlds);
  if (system.inputs().size() > 0) {
    if (options.delay > 0) tests.add("delay", {TestWorld{system, 1, options.delay}});
    worlds.clear();
    for (int i = 0; i < options.draws && options.noise > 0; ++i) {
      worlds.push_back({system, 1, 0, options.noise, options.seed + static_cast<unsigned>(i)});
    }
    tests.add("noise", worlds);
  }
  trust.tests = std::move(tests.results);
  trust.survives = trust.tests.empty() ? 0 : 1;
  for (const TestResult& t : trust.tests) trust.survives = std::min(trust.survives, t.survives);
  trust.ok = trust.survives >= kLeastSurvival && trust.exploits.empty();
  trust.verdict = verdict_of(trust);
  return trust;
}

PlanRuns run_plan(const PlanUnderTest& plan, const TestWorld& world) {
  const System& system = world.system;
  const Space& space = system.states();
  const std::size_t n = plan.x0.size(), nt = static_cast<std::size_t>(space.tangent_size());
  const std::size_t m = static_cast<std::size_t>(system.inputs().size());
  const std::size_t T = plan.states.size() / n - 1;
  PlanRuns out;
  Row x(plan.x0), d(nt);
  x.insert(x.end(), plan.x0.begin(), plan.x0.end());
  Row sent;  // by the plan, of every step
  for (std::size_t t = 0; t <= T; ++t) {
    out.start_states.insert(out.start_states.end(), x.begin(), x.begin() + static_cast<long>(n));
    out.states.insert(out.states.end(), x.begin() + static_cast<long>(n), x.end());
    if (t == T) break;
    space.difference(plan.states.data() + t * n, x.data() + n, d.data());
    Row u(2 * m, 0.0);  // zero inputs, and the plan's
    for (std::size_t i = 0; i < m; ++i) {
      double command = plan.controls[t * m + i];
      if (!plan.gains.empty()) {  // (2)
        const double* gain = plan.gains.data() + (t * m + i) * nt;
        command -= std::inner_product(d.begin(), d.end(), gain, 0.0);
      }
      if (!plan.low.empty()) command = std::clamp(command, plan.low[i], plan.high[i]);
      sent.push_back(command);
    }
    RandomStream random(world.seed, 0, t);
    const std::size_t late = static_cast<std::size_t>(world.delay);
    for (std::size_t i = 0; i < m; ++i) {
      const double noise =
          world.noise > 0 ? world.noise * system.input_width(static_cast<int>(i)) * random.normal()
                          : 0;
      u[i] = noise;
      u[m + i] = noise + (t >= late ? sent[(t - late) * m + i] : 0);
    }
    out.start_controls.insert(out.start_controls.end(), u.begin(),
                              u.begin() + static_cast<long>(m));
    out.controls.insert(out.controls.end(), u.begin() + static_cast<long>(m), u.end());
    const Advanced<double> next =
        advance(system, x, u, world.substeps, {},
                {.threads = 1,
                 .t0 = plan.t0 + static_cast<double>(t) * world.substeps * system.timestep(),
                 .keep_going = world.keep_going},
                nullptr);
    for (const Failure& f : next.report.failed) {
      (f.environment == 0 ? out.start_failed : out.failed) = true;
    }
    x = next.states;
  }
  return out;
}

Trust verify(const System& system, const PlanUnderTest& plan, const VerifyOptions& options) {
  const std::size_t n = static_cast<std::size_t>(system.states().size());
  const std::size_t nt = static_cast<std::size_t>(system.states().tangent_size());
  const std::size_t m = static_cast<std::size_t>(system.inputs().size());
  const std::size_t T = n == 0 || plan.states.size() < 2 * n ? 0 : plan.states.size() / n - 1;
  const bool fits = T > 0 && plan.x0.size() == n && plan.states.size() == (T + 1) * n &&
                    plan.controls.size() == T * m &&
                    (plan.gains.empty() || plan.gains.size() == T * m * nt) &&
                    (plan.low.empty() || (plan.low.size() == m && plan.high.size() == m));
  if (!fits) {
    throw Error(message("verify: a plan of system \"", system.name(), "\" has states (T+1, ", n,
                        "), controls (T, ", m, ") and gains (T, ", m, ", ", nt, "); got ",
                        plan.states.size(), ", ", plan.controls.size(), " and ", plan.gains.size(),
                        " numbers"));
  }
  if (!plan.cost) throw Error("verify: a plan needs its cost");
  const System in_double = system.in_double();
  const Judge judge = [&plan](const TestWorld& world) {
    const PlanRuns runs = run_plan(plan, world);
    const double failed = std::numeric_limits<double>::infinity();
    const auto cost = [&](const Row& x, const Row& u) { return plan.cost(world.system, x, u); };
    return TestCosts{runs.start_failed ? failed : cost(runs.start_states, runs.start_controls),
                     runs.failed ? failed : cost(runs.states, runs.controls)};
  };
  return verify(
      in_double, judge,
      find_exploits(in_double, plan.states, plan.controls, options.threads, options.keep_going),
      options);
}

Trust verify(const System& system, std::span<const double> x0, const Cost& cost, const Plan& plan,
             const PlanOptions& planned, const VerifyOptions& options) {
  PlanUnderTest tested{{x0.begin(), x0.end()}, plan.controls, plan.states, plan.gains, planned.low,
                       planned.high,           planned.t0,    {}};
  system.states().normalise(tested.x0.data());
  const std::int64_t steps =
      plan.states.empty() ? 0 : static_cast<std::int64_t>(plan.states.size() / x0.size()) - 1;
  tested.cost = [&](const System& world, std::span<const double> states,
                    std::span<const double> controls) {
    const TrajectoryCost judged(world, cost, steps, {}, options.threads);
    return judged.values(states, controls, 1, options.keep_going)[0];
  };
  return verify(with_parameters(system, planned.params), tested, options);
}

Page Trust::page(const std::string& title) const {
  Page page(title);
  page.lead(
      "Can this result be believed? It was run again in worlds that ought to give the same "
      "answer: computed with other steps, another integrator and other contacts, with "
      "parameters a little off, and with inputs that come late or noisy.");
  page.verdict(verdict);
  page.plot("What is left of the gain [%]", survival_plot(tests));
  PageTable table{
      .heading = "The tests",
      .columns = {"test", "cost at the start", "cost of the result", "gain that survives"},
      .rows = {{"as it was found", message(costs.start), message(costs.result), ""}}};
  for (const TestResult& t : tests) {
    table.rows.push_back({t.name, significant(t.costs.start, 4), significant(t.costs.result, 4),
                          message(fixed(100 * t.survives, 0), " %")});
  }
  table.rows[0][1] = significant(costs.start, 4), table.rows[0][2] = significant(costs.result, 4);
  page.table(table);
  page.section("Signs of exploitation");
  if (exploits.empty()) {
    page.sentence(
        "None: no energy from nothing, no deep penetration, none at speed, no force "
        "beyond limits.");
  }
  for (const Exploit& e : exploits) page.sentence(message(e.name, ": ", e.what, "."));
  return page;
}

}  // namespace cycloid::inline optimise
