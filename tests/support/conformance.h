// What every System must keep. A new kind of world is held to it by one line:
//
//   conform(test::rollout_case<double>(system, batch, steps), {.lacks = {{claim, reason}}});
//
// A case has rows of starts and inputs, more than one chunk of them, and parameters, all where the
// derivatives are alive. The claims, by name:
//   the step               as in conformance_step.h
//   lanes equal scalar     environments in lanes, and each alone: states and gradients to rounding
//   threads                1, 2 or 3: every bit of states and gradients
//   batch                  neither its size, nor the place in it, nor neighbours: every bit
//   memory                 all, automatic, sqrt, 1 to 3 checkpoints, budgets between: every bit of
//                          the gradient, within the budget; stepping back to the drift it reports
//   sums                   a gradient of what is shared is the sum over environments
//   dot test               <ȳ, J ẋ> = <Jᵀ ȳ, ẋ>, J ẋ from pushforward or from differences
//   differences            the gradient by central differences, block by block, with a sweep of
//                          steps; it is NaN where a parameter is not differentiated, and there only
//   float equals double    in place of the last two for a System in float
//   failed                 an environment that fails is named, stands still at finite numbers, has
//                          no gradient, and its neighbours keep every bit
//   cancelled              a run and a way back that are stopped end with Interrupted; the same
//                          ones afterwards give the same bits
//   refuses                NaN and infinity in x0, inputs and parameters
//   counters               those reported are those declared
//   quaternions            stay of length 1
// What a System lacks is said with a reason, which is printed; nothing is left out silently.
// conform_reports gives the broken claims instead, to test the suite itself.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "cycloid/adjoint/pushforward.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/system/integrator/reversible.h"
#include "tests/support/conformance_step.h"
#include "tests/support/passing_stepper.h"

namespace cycloid::test {

struct ConformOptions {
  std::map<std::string, std::string> lacks = {};  // a claim that does not apply, and why
  // Relative to the largest number, per step; 0: 1e-12 in double, 1e-5 in float. A solver that
  // ends at a tolerance of its own has that.
  double lanes_tolerance = 0;
  double dot_tolerance = 1e-12;        // relative to the sum of |terms|
  double difference_tolerance = 1e-6;  // of the best of the sweep
  double float_tolerance = 1e-3;       // between float and double, relative
  std::int64_t difference_batch = 3;   // environments that are differenced
  std::int64_t failing_environment = 1;
};

struct BrokenClaim {
  std::string claim, what;
};

template <class T>
class Conformance {
 public:
  Conformance(const RolloutCase<T>& c, const ConformOptions& options)
      : case_(c),
        options_(options),
        arrays_(c.system.parameters().lane_size() != c.system.parameters().size()) {
    bar_ = seeded<T>(31, static_cast<std::size_t>(c.batch) * bar_row());
    tolerance_ = options.lanes_tolerance > 0 ? options.lanes_tolerance
                 : std::is_same_v<T, double> ? 1e-12
                                             : 1e-5;
  }

  std::vector<BrokenClaim> broken;
  std::vector<BrokenClaim> lacking;  // with their reasons

  void run() {
    const auto& steppers = case_.system.template steppers<T>();
    const auto say = [&](const std::string& claim, const std::string& what) { fail(claim, what); };
    guarded("the step", [&] {
      conform_step(*steppers.one, case_, say);
      conform_step(*steppers.packed, case_, say);
    });
    guarded("lanes equal scalar", [&] { lanes(); });
    guarded("threads", [&] { threads(); });
    guarded("batch", [&] { batch(); });
    guarded("memory", [&] { memory(); });
    guarded("sums", [&] { sums(); });
    if constexpr (std::is_same_v<T, double>) {
      guarded("dot test", [&] { dot_test(); });
      guarded("differences", [&] { differences(); });
    } else {
      guarded("float equals double", [&] { float_equals_double(); });
    }
    guarded("failed", [&] { failed(); });
    guarded("cancelled", [&] { cancelled(); });
    guarded("refuses", [&] { refuses(); });
    guarded("counters", [&] { counters(); });
    guarded("quaternions", [&] { quaternions(); });
  }

 private:
  using Indices = std::vector<std::int64_t>;
  // States (batch, saved, states) and a row of each gradient for each environment.
  struct Rows {
    std::vector<T> states;
    Gradient<T> g;
  };

  std::size_t bar_row() const {
    return static_cast<std::size_t>((case_.steps + 1) * case_.system.states().size());
  }
  void fail(const std::string& claim, const std::string& what) {
    for (const BrokenClaim& b : broken) {
      if (b.claim == claim && b.what == what) return;
    }
    broken.push_back({claim, what});
  }
  template <class Check>
  void guarded(const std::string& claim, Check&& check) {
    const auto lack = options_.lacks.find(claim);
    if (lack != options_.lacks.end()) {
      lacking.push_back({claim, lack->second});
      return;
    }
    try {
      check();
    } catch (const std::exception& error) {
      fail(claim, message("throws: ", error.what()));
    }
  }

  // Of these environments, in this order.
  template <class U>
  std::vector<U> picked(const std::vector<U>& rows, const Indices& at) const {
    const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(rows.size()) / case_.batch;
    std::vector<U> out;
    for (const std::int64_t e : at) {
      out.insert(out.end(), rows.begin() + e * row, rows.begin() + (e + 1) * row);
    }
    return out;
  }
  RolloutCase<T> picked_case(const RolloutCase<T>& c, const Indices& at) const {
    RolloutCase<T> part = c;
    part.batch = static_cast<std::int64_t>(at.size());
    part.x0 = picked(c.x0, at);
    part.controls = picked(c.controls, at);
    if (c.params.size() > static_cast<std::size_t>(c.system.parameters().size())) {
      part.params = picked(c.params, at);
    }
    return part;
  }
  Indices everyone() const {
    Indices all(static_cast<std::size_t>(case_.batch));
    for (std::size_t e = 0; e < all.size(); ++e) all[e] = static_cast<std::int64_t>(e);
    return all;
  }
  adjoint::PullbackOptions for_each() const {
    adjoint::PullbackOptions options;
    options.each = true;
    options.params = !arrays_;  // lanes have one gradient of an array together
    return options;
  }
  Rows rows_of(const Trajectory<T>& run, const std::vector<T>& bar,
               adjoint::PullbackOptions options) const {
    return {{run.states().begin(), run.states().end()}, run.pullback(bar, options)};
  }
  Rows rows_of(const Indices& at) const {
    return rows_of(picked_case(case_, at).run(), picked(bar_, at), for_each());
  }
  const Rows& reference() {
    if (reference_.states.empty()) reference_ = rows_of(everyone());
    return reference_;
  }
  // Environment e of `a`, a batch of so many, and f of `b`, by visit(rows of a, rows of b, what).
  template <class Visit>
  void compare(const Rows& a, std::int64_t e, std::int64_t of_a, const Rows& b, std::int64_t f,
               std::int64_t of_b, Visit&& visit) const {
    const auto part = [](const auto& rows, std::int64_t i, std::int64_t n) {
      const std::size_t row = rows.size() / static_cast<std::size_t>(n);
      return std::span(rows.data() + static_cast<std::size_t>(i) * row, row);
    };
    visit(part(a.states, e, of_a), part(b.states, f, of_b), "states");
    visit(part(a.g.x0, e, of_a), part(b.g.x0, f, of_b), "gradient by x0");
    visit(part(a.g.controls, e, of_a), part(b.g.controls, f, of_b), "gradient by controls");
    if (arrays_) return;
    visit(part(a.g.params, e, of_a), part(b.g.params, f, of_b), "gradient by parameters");
  }
  void same_rows(const char* claim, const Rows& a, std::int64_t e, std::int64_t of_a,
                 std::int64_t f, const std::string& where) {
    compare(a, e, of_a, reference(), f, case_.batch, [&](auto x, auto y, const char* what) {
      if (!same_bits(x, y)) fail(claim, message("the ", what, " change bits ", where));
    });
  }

  void lanes() {
    for (std::int64_t e = 0; e < case_.batch; ++e) {
      compare(rows_of({e}), 0, 1, reference(), e, case_.batch,
              [&](auto alone, auto batched, const char* what) {
                const bool states = std::string_view(what) == "states";
                const double scale = largest_finite(batched);
                for (std::size_t i = 0; i < alone.size(); ++i) {
                  const double a = static_cast<double>(alone[i]),
                               b = static_cast<double>(batched[i]);
                  if (std::isnan(a) && std::isnan(b)) continue;
                  const double steps = states ? static_cast<double>(i / nx() + 1)
                                              : 10.0 * static_cast<double>(case_.steps);
                  if (std::abs(a - b) <= tolerance_ * steps * scale) continue;
                  fail("lanes equal scalar",
                       message("environment ", e, ": the ", what, " differ by ",
                               std::abs(a - b) / scale, " of the largest, at number ", i));
                  return;
                }
              });
    }
  }

  void threads() {
    threads_of(case_, bar_, "");
    threads_of(picked_case(case_, {0}), picked(bar_, {0}), ", of a lone environment");
  }
  void threads_of(const RolloutCase<T>& c, const std::vector<T>& bar, const char* whose) {
    std::vector<T> states;
    Gradient<T> g;
    for (const int threads : {1, 2, 3}) {
      RolloutOptions options;
      options.threads = threads;
      const Trajectory<T> run = c.run(options);
      const Gradient<T> found = run.pullback(bar);
      if (threads == 1) {
        states.assign(run.states().begin(), run.states().end());
        g = found;
      }
      if (!same_bits(states, run.states())) {
        fail("threads", message("states change bits with ", threads, " threads", whose));
      }
      if (!same_gradient(g, found)) {
        fail("threads", message("the gradient changes bits with ", threads, " threads", whose));
      }
      if (!same_gradient(found, run.pullback(bar))) {
        fail("threads",
             message("a second pullback gives other bits, with ", threads, " threads", whose));
      }
    }
  }

  void batch() {
    const std::int64_t n = case_.batch;
    if (n < 3) return fail("batch", "needs a case of three environments at least");
    Indices backwards = everyone();
    std::reverse(backwards.begin(), backwards.end());
    const Rows reversed = rows_of(backwards);
    for (std::int64_t e = 0; e < n; ++e) {
      same_rows("batch", reversed, n - 1 - e, n, e, "with the place in the batch");
    }
    for (const Indices& at : {Indices{0, 1}, Indices{n - 1, 0, 1}, Indices{1, 0, n - 1, 2, 1}}) {
      const std::int64_t size = static_cast<std::int64_t>(at.size());
      const Rows some = rows_of(at);
      for (std::int64_t i = 0; i < size; ++i) {
        same_rows("batch", some, i, size, at[static_cast<std::size_t>(i)],
                  message("in a batch of ", size));
      }
    }
    // Every second environment stays; the others become copies of the last.
    Indices crowd = everyone();
    for (std::size_t e = 1; e < crowd.size(); e += 2) crowd[e] = n - 1;
    const Rows among = rows_of(crowd);
    for (std::int64_t e = 0; e < n; e += 2) {
      same_rows("batch", among, e, n, e, "with other neighbours");
    }
  }

  void memory() {
    const Trajectory<T> all = case_.run(Memory::all());
    const Gradient<T> g = all.pullback(bar_);
    const std::int64_t bytes = static_cast<std::int64_t>(all.report().tape_bytes);
    const auto check = [&](const Memory& form, const std::string& name) {
      const Trajectory<T> run = case_.run(form);
      if (!same_bits(all.states(), run.states())) {
        fail("memory", message("states change bits with memory ", name));
      }
      if (!same_gradient(g, run.pullback(bar_))) {
        fail("memory", message("the gradient changes bits with memory ", name));
      }
      return run.report().tape_bytes;
    };
    check(Memory::automatic(), "auto");
    check(Memory::sqrt(), "sqrt");
    for (const int n : {1, 2, 3}) check(Memory::checkpoints(n), message(n, " checkpoints"));
    // What a budget must have room for besides, the System knows: the smallest that it takes, and
    // some above.
    int taken = 0;
    for (std::int64_t budget = bytes / 4; taken < 4 && budget < 1000 * bytes; budget += bytes / 4) {
      try {
        const std::uint64_t kept = check(Memory::budget(budget), message(budget, " bytes"));
        ++taken;
        if (kept <= static_cast<std::uint64_t>(budget)) continue;
        fail("memory", message("a budget of ", budget, " bytes keeps ", kept));
      } catch (const Error& error) {
        if (!contains(error.what(), "is too small")) throw;
      }
    }
    if (taken == 0) fail("memory", "no budget is large enough");
    stepping_back(g);
  }

  void stepping_back(const Gradient<T>& g) {
    if (reversible(case_.system.template steppers<T>().packed.get()) == nullptr ||
        !case_.system.events().empty()) {
      return lacking.push_back({"memory", "steps cannot be run backwards"});
    }
    std::string refusal;
    try {
      const Gradient<T> back = case_.run(Memory::reversible()).pullback(bar_);
      const double most =
          1e3 * (back.drift + static_cast<double>(std::numeric_limits<T>::epsilon()));
      const auto check = [&](const auto& a, const auto& b, const char* what) {
        for (std::size_t i = 0; i < a.size(); ++i) {
          const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
          if (std::isnan(x) && std::isnan(y)) continue;
          if (std::abs(x - y) <= most * largest_finite(b)) continue;
          return fail("memory", message("stepping back, the gradient by ", what, " is off by ",
                                        std::abs(x - y), " with a drift of ", back.drift));
        }
      };
      check(back.x0, g.x0, "x0");
      check(back.controls, g.controls, "controls");
      check(back.params, g.params, "parameters");
    } catch (const Error& error) {
      // verlet with damping says so.
      if (!contains(error.what(), "a step back does not undo the step")) throw;
      lacking.push_back({"memory", error.what()});
    }
  }

  void sums() {
    if (arrays_) return lacking.push_back({"sums", "lanes have one gradient of an array"});
    const Gradient<T> shared = case_.run().pullback(bar_);
    const std::size_t np = static_cast<std::size_t>(case_.system.parameters().size());
    if (shared.params.size() != np) return lacking.push_back({"sums", "nothing is shared"});
    const Numbers& each = reference().g.params;
    for (std::size_t i = 0; i < np; ++i) {
      double sum = 0, size = 0;
      for (std::size_t e = 0; e < each.size() / np; ++e) {
        sum += each[e * np + i];
        size += std::abs(each[e * np + i]);
      }
      if (std::isnan(sum) && std::isnan(shared.params[i])) continue;
      if (std::abs(sum - shared.params[i]) <= 1e-12 * size) continue;
      fail("sums", message(case_.system.parameters().number_name(static_cast<int>(i)), ": ",
                           shared.params[i], " is not the sum ", sum));
    }
  }

  // Inputs of a run in one row of numbers: x0, controls, parameters.
  struct Point {
    Numbers x0, controls, params;
  };
  Point point(const RolloutCase<double>& c) const {
    return {c.x0, c.controls, c.params.empty() ? c.system.parameters().default_values() : c.params};
  }
  static double loss(const RolloutCase<double>& c, const Point& z, const Point& along, double h,
                     const Numbers& bar) {
    RolloutCase<double> moved = c;
    const auto add = [h](const Numbers& v, const Numbers& d) {
      Numbers out = v;
      for (std::size_t i = 0; i < d.size(); ++i) out[i] += h * d[i];
      return out;
    };
    moved.x0 = add(z.x0, along.x0);
    moved.controls = add(z.controls, along.controls);
    moved.params = add(z.params, along.params);
    const Trajectory<double> run = moved.run();
    double sum = 0;
    for (std::size_t i = 0; i < bar.size(); ++i) sum += bar[i] * run.states()[i];
    return sum;
  }
  // Differences D(h) and D(h/2), extrapolated to an error of O(h⁴); from one side, to O(h³), where
  // a parameter is at the end of its constraint.
  static double difference(const RolloutCase<double>& c, const Point& z, const Point& along,
                           double h, const Numbers& bar) {
    const auto L = [&](double s) { return loss(c, z, along, s, bar); };
    const auto D = [&](double s) {
      try {
        return (L(s) - L(-s)) / (2 * s);
      } catch (const ParameterError&) {
        return (4 * L(s) - 3 * L(0) - L(2 * s)) / (2 * s);
      }
    };
    return (4 * D(h / 2) - D(h)) / 3;
  }
  // Of which the best of a sweep of steps is nearest to `expected`.
  static double best_error(const RolloutCase<double>& c, const Point& z, const Point& along,
                           const Numbers& bar, double expected, double scale, double enough) {
    double best = std::numeric_limits<double>::infinity();
    for (const double h : {1e-3, 1e-4, 1e-5, 1e-2, 1e-6, 1e-7, 1e-1, 1e-8}) {
      try {
        const double d = difference(c, z, along, h, bar);
        const double size = std::max({std::abs(d), std::abs(expected), scale});
        best = std::min(best, std::abs(d - expected) / size);
      } catch (const ParameterError&) {
        // Too far out of a constraint; a smaller step is not.
      }
      if (best <= enough) break;
    }
    return best;
  }
  static double dot(const Numbers& g, const Numbers& d) {
    double sum = 0;
    for (std::size_t i = 0; i < d.size(); ++i) sum += d[i] == 0 ? 0 : g[i] * d[i];
    return sum;
  }
  static double absolute_dot(const Numbers& g, const Numbers& d) {
    double sum = 0;
    for (std::size_t i = 0; i < d.size(); ++i) sum += d[i] == 0 ? 0 : std::abs(g[i] * d[i]);
    return sum;
  }
  // A direction of this length relative to the numbers, zero where a parameter is not
  // differentiated.
  Numbers parameter_direction(const Numbers& params, std::uint64_t seed) const {
    const Parameters& registry = case_.system.parameters();
    Numbers d = seeded<double>(seed, params.size(), 0.5, 1.0);
    for (std::size_t i = 0; i < d.size(); ++i) {
      const int number = static_cast<int>(i) % registry.size();
      const bool counts = registry.holding(number).not_differentiable.empty();
      d[i] *= counts ? (std::abs(params[i]) > 0 ? std::abs(params[i]) : 0.1) : 0;
    }
    return d;
  }

  void dot_test() {
    const StepperSizes& s = case_.system.template steppers<double>().packed->sizes();
    const bool ends = std::any_of(case_.system.events().begin(), case_.system.events().end(),
                                  [](const EventSpec& e) { return e.effect == EventEffect::end; });
    const Gradient<double> g = case_.run().pullback(bar_);
    Point z = point(case_), v;
    v.params = parameter_direction(z.params, 43);
    v.controls = seeded<double>(42, z.controls.size());
    v.x0 = seeded<double>(41, g.x0_tangent.size());
    const double right =
        dot(g.x0_tangent, v.x0) + dot(g.controls, v.controls) + dot(g.params, v.params);
    const double scale = absolute_dot(g.x0_tangent, v.x0) + absolute_dot(g.controls, v.controls) +
                         absolute_dot(g.params, v.params);
    if (!(scale > 0)) return fail("dot test", "the gradient is zero or not a number");
    if (!arrays_ && s.carry == 0 && !ends) {
      const Pushforward push = pushforward(case_.system, case_.x0, case_.inputs(),
                                           {v.x0, v.controls, v.params}, case_.params);
      const Numbers tangents(push.states_tan().begin(), push.states_tan().end());
      const double left = dot(bar_, tangents);
      const double error = std::abs(left - right) / (scale + absolute_dot(bar_, tangents));
      if (!(error <= options_.dot_tolerance)) {
        fail("dot test", message("<ȳ, J ẋ> = ", left, ", <Jᵀ ȳ, ẋ> = ", right, ", off by ", error));
      }
      return;
    }
    lacking.push_back({"dot test", "no pushforward: by differences, to 1e-8"});
    if (!case_.system.states().flat()) v.x0.assign(z.x0.size(), 0.0);
    const double expected = dot(g.x0, v.x0) + dot(g.controls, v.controls) + dot(g.params, v.params);
    const double error = best_error(case_, z, v, bar_, expected, 1e-3 * scale, 1e-9);
    if (!(error <= 1e-8)) fail("dot test", message("differences are off by ", error));
  }

  void differences() {
    Indices some = everyone();
    some.resize(std::min<std::size_t>(some.size(), options_.difference_batch));
    const RolloutCase<double> c = picked_case(case_, some);
    const Numbers bar = picked(bar_, some);
    const Trajectory<double> run = c.run();
    const Gradient<double> g = run.pullback(bar);
    const Point z = point(c);
    // What the loss's rounding hides: 1e-16 of its terms over the smallest steps that help.
    const double scale =
        1e-7 * absolute_dot(bar, Numbers(run.states().begin(), run.states().end()));
    const auto check = [&](const Point& along, const std::string& block) {
      const double expected =
          dot(g.x0, along.x0) + dot(g.controls, along.controls) + dot(g.params, along.params);
      const double most = options_.difference_tolerance;
      const double error = best_error(c, z, along, bar, expected, scale, 0.1 * most);
      if (!(error <= most)) {
        fail("differences", message("the gradient by ", block, " is off by ", error));
      }
    };
    const auto alive = [&](const Numbers& numbers, const char* what) {
      const bool some_finite = std::any_of(numbers.begin(), numbers.end(),
                                           [](double x) { return std::isfinite(x) && x != 0; });
      if (!numbers.empty() && !some_finite) fail("differences", message("by ", what, ": all zero"));
    };
    alive(g.x0, "x0");
    alive(g.controls, "controls");
    const Space &states = c.system.states(), &inputs = c.system.inputs();
    const auto blocks = [&](const Space& space, std::size_t count, auto member) {
      const Numbers d = seeded<double>(51, count);
      for (const Block& block : space.blocks()) {
        Point along;
        Numbers& part = along.*member;
        part.assign(count, 0.0);
        for (std::size_t i = 0; i < count; ++i) {
          const int at = static_cast<int>(i) % space.size();
          if (at >= block.offset && at < block.offset + block.size) part[i] = d[i];
        }
        check(along, block.name);
      }
    };
    blocks(states, z.x0.size(), &Point::x0);
    if (inputs.size() > 0 && !z.controls.empty()) {
      blocks(inputs, z.controls.size(), &Point::controls);
    }
    const Parameters& registry = c.system.parameters();
    const Numbers d = parameter_direction(z.params, 52);
    bool differentiated = false;
    for (const Parameter& p : registry.all()) {
      Point along;
      along.params.assign(z.params.size(), 0.0);
      for (std::size_t i = 0; i < z.params.size(); ++i) {
        const int at = static_cast<int>(i) % registry.size();
        if (at < p.offset || at >= p.offset + p.size) continue;
        along.params[i] = d[i];
        if (std::isnan(g.params[i]) == p.not_differentiable.empty()) {
          fail("differences", message("the gradient by ", p.name, " is ", g.params[i]));
        }
      }
      if (!p.not_differentiable.empty()) continue;
      differentiated = true;
      check(along, p.name);
    }
    if (differentiated) alive(g.params, "parameters");
  }

  void float_equals_double() {
    const RolloutCase<double> wide{case_.system.in_double(),
                                   case_.batch,
                                   case_.steps,
                                   Numbers(case_.x0.begin(), case_.x0.end()),
                                   Numbers(case_.controls.begin(), case_.controls.end()),
                                   case_.params};
    const Trajectory<double> exact = wide.run();
    const Gradient<double> g = exact.pullback(Numbers(bar_.begin(), bar_.end()));
    const Trajectory<T> run = case_.run();
    const Gradient<T> found = run.pullback(bar_);
    const auto check = [&](const auto& a, const auto& b, const char* what) {
      const double scale = largest_finite(b);
      for (std::size_t i = 0; i < std::size(a); ++i) {
        const double x = static_cast<double>(a[i]), y = b[i];
        if (std::isnan(x) && std::isnan(y)) continue;
        if (std::abs(x - y) <= options_.float_tolerance * scale) continue;
        return fail("float equals double", message("the ", what, " differ by ",
                                                   std::abs(x - y) / scale, " of the largest"));
      }
    };
    check(run.states(), exact.states(), "states");
    check(found.x0_tangent, g.x0_tangent, "gradients by x0");
    check(found.controls, g.controls, "gradients by controls");
    check(found.params, g.params, "gradients by parameters");
  }

  // A case whose environment `f` fails, and no other; false where none of the tries does.
  bool failing_case(std::int64_t f, RolloutCase<T>& out) const {
    constexpr bool wide = std::is_same_v<T, double>;
    constexpr double kMax = std::numeric_limits<T>::max();
    const Space &states = case_.system.states(), &inputs = case_.system.inputs();
    for (const double size : wide ? std::vector{1e200, kMax} : std::vector{1e30, kMax}) {
      for (std::size_t b = 0; b <= states.blocks().size() + inputs.blocks().size(); ++b) {
        out = case_;
        const bool state = b <= states.blocks().size();
        const auto put = [&](std::vector<T>& rows, const Space& space, std::size_t block) {
          const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(rows.size()) / case_.batch;
          for (std::ptrdiff_t i = 0; i < row; ++i) {
            const int at = static_cast<int>(i) % space.size();
            const bool in =
                block == space.blocks().size() || &space.block_of(at) == &space.blocks()[block];
            if (in) rows[static_cast<std::size_t>(f * row + i)] = static_cast<T>(size);
          }
        };
        if (state) put(out.x0, states, b);
        else put(out.controls, inputs, b - states.blocks().size() - 1);
        try {
          const Report report = out.run().report();
          if (!report.failed.empty()) return true;
        } catch (const Error&) {
          // The start is refused.
        }
      }
    }
    return false;
  }

  void failed() {
    const std::int64_t f = options_.failing_environment, n = case_.batch;
    RolloutCase<T> broken_case = case_;
    if (!failing_case(f, broken_case)) {
      return fail("failed", "no start or input was found that fails: give a reason in lacks");
    }
    const Trajectory<T> run = broken_case.run();
    const std::vector<Failure>& failures = run.report().failed;
    if (failures.size() != 1 || failures[0].environment != f) {
      return fail("failed", message(failures.size(), " environments failed, the first is ",
                                    failures[0].environment, "; expected ", f, " alone"));
    }
    if (failures[0].reason.empty()) fail("failed", "the report has no reason");
    for (const T x : run.states()) {
      if (!std::isfinite(x)) return fail("failed", "a state is not finite");
    }
    const std::string text = text_of_error<GradientError>([&] { run.pullback(bar_, for_each()); });
    if (!contains(text, message("environment ", f))) {
      fail("failed", "the pullback does not name the environment: " + text);
    }
    adjoint::PullbackOptions skip = for_each();
    skip.failed = adjoint::PullbackOptions::Failed::skip;
    const Rows rows = rows_of(run, bar_, skip);
    for (std::int64_t e = 0; e < n; ++e) {
      if (e != f) same_rows("failed", rows, e, n, e, "when a neighbour fails");
    }
    compare(rows, f, n, rows, f, n, [&](auto x, auto, const char* what) {
      if (std::string_view(what) == "states") return;
      if (largest_finite(x) != 0) fail("failed", message("the ", what, " of who failed is not 0"));
    });
  }

  // Sleeps for longer than the time between two questions, once in each of step and pullback.
  struct Dawdle {
    std::atomic<bool> step{false}, pullback{false};
  };
  class Dawdling final : public PassingStepper<T> {
   public:
    Dawdling(SharedStepper<T> inner, Dawdle& dawdle)
        : PassingStepper<T>(std::move(inner)), dawdle_(dawdle) {}
    StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                    StepWorkspace& workspace) const override {
      pause(dawdle_.step);
      return PassingStepper<T>::step(in, x_next, record, workspace);
    }
    void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                  T* u_bar, StepWorkspace& workspace) const override {
      pause(dawdle_.pullback);
      PassingStepper<T>::pullback(in, record, x_next_bar, x_bar, u_bar, workspace);
    }

   private:
    static void pause(std::atomic<bool>& armed) {
      if (armed.exchange(false)) std::this_thread::sleep_for(kPollInterval + kPollInterval / 4);
    }
    Dawdle& dawdle_;
  };

  void cancelled() {
    Dawdle dawdle;
    RolloutCase<T> slow = case_;
    slow.system = with_steppers<T>(case_.system, [&](SharedStepper<T> s) -> SharedStepper<T> {
      return std::make_shared<Dawdling>(std::move(s), dawdle);
    });
    const Trajectory<T> calm = slow.run();
    const Gradient<T> g = calm.pullback(bar_);
    RolloutOptions options;
    options.threads = 1;
    int asked = 0;
    options.keep_going = [&] { return ++asked < 1; };
    dawdle.step = true;
    const auto interrupted = [](auto&& work) {
      try {
        work();
      } catch (const Interrupted&) {
        return true;
      }
      return false;
    };
    if (!interrupted([&] { slow.run(options); })) fail("cancelled", "a run was not interrupted");
    if (asked != 1) fail("cancelled", message("a run was asked ", asked, " times, not once"));
    const Trajectory<T> again = slow.run();
    if (!same_bits(calm.states(), again.states())) {
      fail("cancelled", "the run after it has other bits");
    }
    adjoint::PullbackOptions back;
    back.keep_going = [] { return false; };
    dawdle.pullback = true;
    if (!interrupted([&] { calm.pullback(bar_, back); })) {
      fail("cancelled", "a way back was not interrupted");
    }
    dawdle.pullback = false;
    if (!same_gradient(g, calm.pullback(bar_)) || !same_gradient(g, again.pullback(bar_))) {
      fail("cancelled", "the gradient after it has other bits");
    }
  }

  void refuses() {
    const auto check = [&](const char* what, auto member) {
      for (const double bad :
           {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        RolloutCase<T> c = case_;
        auto& numbers = c.*member;
        if (numbers.empty()) return;
        numbers[numbers.size() / 2] =
            static_cast<typename std::decay_t<decltype(numbers)>::value_type>(bad);
        if (text_of_error([&] { c.run(); }).empty()) {
          fail("refuses", message(bad, " in ", what, " is not refused"));
        }
      }
    };
    check("x0", &RolloutCase<T>::x0);
    check("controls", &RolloutCase<T>::controls);
    check("params", &RolloutCase<T>::params);
  }

  void counters() {
    const Trajectory<T> run = case_.run();
    const std::vector<Counter>& reported = run.report().counters;
    const std::vector<std::string>& declared = case_.system.counters();
    const double steps = static_cast<double>(case_.batch * case_.steps);
    if (reported.size() != declared.size()) {
      return fail("counters", message(reported.size(), " of ", declared.size(), " are reported"));
    }
    for (std::size_t i = 0; i < declared.size(); ++i) {
      const Counter& counter = reported[i];
      if (counter.name != declared[i]) fail("counters", counter.name + " is not " + declared[i]);
      if (counter.total < 0 || std::abs(counter.mean * steps - static_cast<double>(counter.total)) >
                                   1e-9 * static_cast<double>(counter.total)) {
        fail("counters", counter.name + ": the mean is not the total over steps");
      }
    }
  }

  void quaternions() {
    const Trajectory<T> run = case_.run();
    for (const Block& piece : case_.system.states().pieces()) {
      if (piece.kind != BlockKind::quaternion) continue;
      for (std::size_t row = 0; row < run.states().size(); row += nx()) {
        double square = 0;
        for (int i = 0; i < 4; ++i) {
          const double q = run.states()[row + static_cast<std::size_t>(piece.offset + i)];
          square += q * q;
        }
        if (std::abs(std::sqrt(square) - 1) <= tolerance_) continue;
        return fail("quaternions", message(piece.name, " has length ", std::sqrt(square)));
      }
    }
  }

  template <class Numbers>
  static double largest_finite(const Numbers& numbers) {
    double most = 0;
    for (const auto x : numbers) {
      if (std::isfinite(x)) most = std::max(most, std::abs(static_cast<double>(x)));
    }
    return most;
  }
  std::size_t nx() const { return static_cast<std::size_t>(case_.system.states().size()); }

  RolloutCase<T> case_;
  ConformOptions options_;
  bool arrays_;
  std::vector<T> bar_;
  double tolerance_ = 0;
  Rows reference_;
};

// The claims that the case does not keep.
template <class T>
std::vector<BrokenClaim> conform_reports(const RolloutCase<T>& c,
                                         const ConformOptions& options = {}) {
  Conformance<T> conformance(c, options);
  conformance.run();
  return conformance.broken;
}

template <class T>
void conform(const RolloutCase<T>& c, const ConformOptions& options = {}) {
  Conformance<T> conformance(c, options);
  conformance.run();
  const std::string who =
      message(c.system.name(), " in ", name(c.system.precision()), ", ", c.system.describe());
  for (const BrokenClaim& lack : conformance.lacking) {
    std::printf("%s: not held to \"%s\": %s\n", c.system.name().c_str(), lack.claim.c_str(),
                lack.what.c_str());
  }
  for (const BrokenClaim& b : conformance.broken) {
    FAIL_CHECK(who, ": ", b.claim, ": ", b.what);
  }
  CHECK(conformance.broken.empty());
}

}  // namespace cycloid::test
