// verify: how much of an optimum's gain survives when the same world is computed otherwise.
//
// An optimiser finds the simulator's weak spots. Each test runs the optimum again in a world that
// ought to give the same answer, and compares what is left of the gain:
//   survives = (J_start - J_test) / (J_start - J_result), cut to 0 … 1                          (1)
// J_start is the cost without the optimum (zero inputs, the first guess) in the same test; where it
// is no more than J_result, nothing has been gained, and (1) is 0. Tests:
//   half step, quarter step     the time step; inputs are held as long as before
//   other integrator            the first that the System has besides its own
//   hard contact, soft contact  a fourth and four times of what contacts give
//   compliant contact           the other law of contact (rigid/contact/hunt_crossley.h), with a
//                               quarter of the step, since it is explicit; or mujoco contact
//   parameters                  values drawn within their uncertainty
//   delay, noise                inputs come late, and not as they were sent
// A test that the System cannot vary is left out. A test of draws takes means over them. Besides
// these, exploits.h looks for signs in the run itself.
//
// Plans run with their gains: u_t = controls_t - gains_t (x ⊖ states_t), within the bounds.     (2)
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cycloid/base/interrupt.h"
#include "cycloid/optimise/plan.h"
#include "cycloid/optimise/planning/exploits.h"
#include "cycloid/page/page.h"

namespace cycloid::inline optimise {

struct VerifyOptions {
  int delay = 1;        // of inputs, in steps
  double noise = 0.02;  // standard deviation of inputs, in units of their width
  int draws = 8;        // of noise and of parameters
  // Standard deviations of parameters by name, as many as they have numbers. Empty: `spread` of the
  // value for masses, friction and damping of robots, and for all positive numbers of laws.
  std::map<std::string, std::vector<double>> std = {};
  double spread = 0.05;
  // Draws of parameters from elsewhere, rows of the flat vector, in place of these two.
  std::vector<std::vector<double>> parameters = {};
  std::uint64_t seed = 0;
  int threads = 0;
  KeepGoing keep_going = {};
};

// The world of one test. `system`: its defaults are the parameters that act. `substeps`: of its
// steps make one of the result's.
struct TestWorld {
  System system;
  int substeps = 1;
  int delay = 0;
  double noise = 0;
  std::uint64_t seed = 0;
  int threads = 0;
  KeepGoing keep_going = {};
};

// What the start and the result cost there; not finite where a run fails.
struct TestCosts {
  double start = 0, result = 0;
};
using Judge = std::function<TestCosts(const TestWorld&)>;

struct TestResult {
  std::string name;
  double survives = 0;  // (1)
  TestCosts costs;      // means over draws
};

struct Trust {
  double survives = 0;  // the least of the tests
  std::vector<TestResult> tests;
  std::vector<Exploit> exploits;
  TestCosts costs;  // as the optimiser had them
  bool ok = false;  // survives >= 0.5 and no exploits
  std::string verdict;

  // A page that says and shows it.
  Page page(const std::string& title) const;
};

inline constexpr double kLeastSurvival = 0.5;

// (1)
double surviving_share(const TestCosts& test, double result);

// The tests of a result whose costs are judged in each world. `system`: with the parameters of the
// result as its defaults (with_parameters).
Trust verify(const System& system, const Judge& judge, std::vector<Exploit> exploits,
             const VerifyOptions& options = {});

// The System with other defaults.
System with_parameters(const System& system, std::span<const double> params);

// A plan, and what a run costs in a world: cost(system, states (T+1, n), controls (T, m)).
struct PlanUnderTest {
  std::vector<double> x0, controls, states;  // (n), (T, m), (T+1, n)
  std::vector<double> gains = {};            // (T, m, tangents); empty: none
  std::vector<double> low = {}, high = {};   // (m); empty: no bounds
  double t0 = 0;
  std::function<double(const System& system, std::span<const double> states,
                       std::span<const double> controls)>
      cost = {};
};

// Throws Error on sizes that do not fit.
Trust verify(const System& system, const PlanUnderTest& plan, const VerifyOptions& options = {});

// Of what `plan` found, with the cost and the options that it was given.
Trust verify(const System& system, std::span<const double> x0, const Cost& cost, const Plan& plan,
             const PlanOptions& planned = {}, const VerifyOptions& options = {});

// The runs of a plan (2) in one world: with zero inputs, and with the plan.
struct PlanRuns {
  std::vector<double> start_states, start_controls;  // (T+1, n), (T, m)
  std::vector<double> states, controls;              // (T+1, n), (T, m)
  bool start_failed = false, failed = false;
};
PlanRuns run_plan(const PlanUnderTest& plan, const TestWorld& world);

}  // namespace cycloid::inline optimise
