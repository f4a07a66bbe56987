#include "cycloid/adjoint/report.h"

#include <doctest/doctest.h>

#include <limits>

#include "cycloid/adjoint/check_gradient.h"
#include "cycloid/adjoint/diagnose.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/base/error.h"
#include "tests/support/rollout_cases.h"

namespace cycloid::report_test {

using test::Numbers;
using test::same_bits;
using test::text_of_error;

// x⁺ = x + 1, and something to say about every lane: as many contacts as x, active rows that change
// at every third step, no solution from 10 to 14, no room at 16, and no finite number from 30 on.
class Counting final : public Stepper<double> {
 public:
  explicit Counting(int lanes) : Stepper<double>(sizes(lanes)) {}
  void begin(const StepParameters<double>&, StepWorkspace&) const override {}
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord*,
                  StepWorkspace& workspace) const override {
    auto* notes = reinterpret_cast<LaneNote*>(LaneWorkspace::memory(workspace));
    StepStatus status = StepStatus::ok;
    for (int l = 0; l < sizes_.lanes; ++l) {
      const double x = in.x[l];
      const int n = static_cast<int>(x);
      const bool unsolved = x >= 10 && x < 14;
      notes[l] = {unsolved ? 1 / x : 0, static_cast<std::uint64_t>(n / 3), n == 16, {n}};
      x_next[l] = x < 30 ? x + 1 : std::numeric_limits<double>::infinity();
      if ((unsolved || n == 16) && status == StepStatus::ok) status = StepStatus::short_of;
      if (x >= 30) status = StepStatus::non_finite;
    }
    return status;
  }
  void pullback(const StepInput<double>&, const StepRecord&, const double* x_next_bar,
                double* x_bar, double*, StepWorkspace&) const override {
    for (int l = 0; l < sizes_.lanes; ++l) x_bar[l] += x_next_bar[l];
  }
  void finish(StepWorkspace&, double*) const override {}
  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return reinterpret_cast<const LaneNote*>(LaneWorkspace::memory(workspace));
  }
  StepTrouble explain(const StepInput<double>&, int, StepWorkspace&) const override { return {}; }

 private:
  static StepperSizes sizes(int lanes) {
    StepperSizes s;
    s.lanes = lanes;
    s.state = s.tangent = 1;
    s.workspace = sizeof(LaneNote) * static_cast<std::size_t>(lanes);
    return s;
  }
};

System counting() {
  SystemParts parts;
  parts.name = "counting";
  parts.timestep = 1;
  parts.counters = {"contacts"};
  parts.states = Space({{"x", 1, "1"}});
  parts.initial_state = {0};
  parts.float64 = {std::make_shared<Counting>(1), std::make_shared<Counting>(4), nullptr};
  return System{std::move(parts)};
}

RolloutOptions with(const Memory& memory, int threads = 1) {
  RolloutOptions options;
  options.memory = memory;
  options.threads = threads;
  return options;
}

TEST_CASE("describe: environment, step, stage, body and reason in one line") {
  CHECK(describe(Failure{3, 17, "rk4 stage 2", "velocity", "its rate is not finite"}) ==
        "environment 3, step 17, rk4 stage 2, velocity: its rate is not finite");
  CHECK(describe(Failure{0, 1, "euler", "", "a tangent is not finite"}) ==
        "environment 0, step 1, euler: a tangent is not finite");
  CHECK(describe(Unsolved{3, 17, 2, 0.001}) ==
        "environment 3: the solver stopped short of its tolerance in 2 steps, first in "
        "step 17, with residuals up to 0.001");
  CHECK(describe(Unsolved{3, 17, 1, 0.001}) ==
        "environment 3: the solver stopped short of its tolerance in step 17, with "
        "residual 0.001");
  CHECK(describe(Crowded{1, 4, 1}) ==
        "environment 1: more contacts than there is room for in step 4; the first were kept");
}

TEST_CASE("Report: advice is about what there is, and only that") {
  Report report;
  CHECK(report.advice().empty());
  report.failed = {Failure{0, 3, kEventStage, "impact", "(Zeno)"}};
  CHECK(report.advice().find("Zeno") != std::string::npos);
  CHECK(report.advice().find("diverged") == std::string::npos);
  report.failed.push_back(Failure{1, 3, "rk4 stage 2", "velocity", "not finite"});
  CHECK(report.advice().find("Zeno") != std::string::npos);
  CHECK(report.advice().find("diverged") != std::string::npos);
  report.failed.erase(report.failed.begin());
  CHECK(report.advice().find("Zeno") == std::string::npos);
  report.failed.clear();
  report.crowded = {Crowded{}};
  CHECK(report.advice().find("contacts") != std::string::npos);
  CHECK(report.advice().find("solver") == std::string::npos);
  report.unsolved = {Unsolved{}};
  CHECK(report.advice().find("solver") != std::string::npos);
}

TEST_CASE("rollout: what a step notes is reported once, whatever is kept and whoever computes") {
  // Environment 3 never has anything to say; the padding of the last chunk copies environment 5.
  const Numbers x0 = {8, 11, 28, 17, 0, 4};
  for (const Memory& memory :
       {Memory::all(), Memory::sqrt(), Memory::checkpoints(2), Memory::automatic()}) {
    for (const int threads : {1, 2}) {
      const Trajectory<double> run = rollout(counting(), x0, 12, {}, with(memory, threads));
      PullbackOptions skip;
      skip.failed = PullbackOptions::Failed::skip;
      (void)run.pullback(Numbers(run.states().size(), 1.0), skip);  // repeats steps, not reports
      const Report& report = run.report();
      REQUIRE(report.unsolved.size() == 4);
      const std::vector<Unsolved> expected = {
          {0, 2, 4, 1.0 / 10}, {1, 0, 3, 1.0 / 11}, {4, 10, 2, 1.0 / 10}, {5, 6, 4, 1.0 / 10}};
      for (std::size_t i = 0; i < 4; ++i) {
        CAPTURE(i);
        CHECK(report.unsolved[i].environment == expected[i].environment);
        CHECK(report.unsolved[i].step == expected[i].step);
        CHECK(report.unsolved[i].count == expected[i].count);
        CHECK(report.unsolved[i].residual == expected[i].residual);
      }
      REQUIRE(report.crowded.size() == 2);
      CHECK(report.crowded[0].environment == 0);
      CHECK(report.crowded[1].environment == 1);
      CHECK(report.crowded[1].step == 5);
      REQUIRE(report.failed.size() == 1);
      CHECK(report.failed[0].environment == 2);
    }
  }
}

TEST_CASE("rollout: contacts and switches count every environment's own steps until it fails") {
  const Trajectory<double> lone = rollout(counting(), Numbers{0}, 6);
  CHECK(lone.report().mean("contacts") == (0 + 1 + 2 + 3 + 4 + 5) / 6.0);
  CHECK(lone.report().switch_fraction == 1 / 6.0);  // from 2 to 3
  const Trajectory<double> batch = rollout(counting(), Numbers{0, 0, 0, 0, 28}, 6);
  CHECK(batch.report().mean("contacts") == (4 * 15 + 28 + 29) / 30.0);
  CHECK(batch.report().switch_fraction == 4 / 30.0);
  CHECK(diagnose(lone, Numbers(7, 1.0)).switch_fraction == 1 / 6.0);
}

TEST_CASE("pullback: through a step that is not solved it raises, or gives a zero gradient") {
  const Numbers x0 = {0, 8, 0};
  const Trajectory<double> run = rollout(counting(), x0, 5);
  const Numbers bar(run.states().size(), 1.0);
  CHECK_THROWS_AS(run.pullback(bar), GradientError);
  const std::string said = text_of_error([&] { run.pullback(bar); });
  CHECK(said.find("environment 1: the solver") != std::string::npos);
  CHECK(said.find("skip") != std::string::npos);
  PullbackOptions skip;
  skip.failed = PullbackOptions::Failed::skip;
  CHECK(run.pullback(bar, skip).x0 == Numbers{6, 0, 6});
  CHECK_THROWS_AS(linearise(counting(), Numbers{12}), GradientError);
  CHECK_THROWS_AS(check_gradient(counting(), Numbers{8}, 5), GradientError);
  const Diagnosis d = diagnose(run, bar);
  CHECK(d.verdict == Verdict::fine);
  CHECK_FALSE(d.reliable);
  CHECK(d.advice.find("stopped short") != std::string::npos);
}

TEST_CASE("pullback: contacts without room are named, and the gradient is that of the step taken") {
  const Trajectory<double> run = rollout(counting(), Numbers{15}, 3);
  CHECK(run.report().crowded.size() == 1);
  CHECK(run.pullback(Numbers(4, 1.0)).x0 == Numbers{4});
  const GradientCheck check = check_gradient(counting(), Numbers{15.25}, 3);
  CHECK(check.ok);
  CHECK(check.crowded.size() == 1);
  CHECK(check.text.find("more contacts than there is room for") != std::string::npos);
}

TEST_CASE("step: hands out the report of what it could not do") {
  Report report;
  CHECK(step(counting(), Numbers{12}, {}, {}, &report) == Numbers{13});
  REQUIRE(report.unsolved.size() == 1);
  CHECK(report.unsolved[0].residual == 1.0 / 12);
}

}  // namespace cycloid::report_test
