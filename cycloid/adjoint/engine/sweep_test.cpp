// The way back over a tape: the same numbers whatever was kept, and as few repeated steps as can
// be.
#include "cycloid/adjoint/engine/sweep.h"

#include <doctest/doctest.h>

#include <cmath>

#include "cycloid/adjoint/rollout.h"
#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/make_system.h"
#include "tests/support/failing_laws.h"
#include "tests/support/rollout_cases.h"
#include "tests/support/test_laws.h"
#include "tests/support/watched_stepper.h"

namespace cycloid::sweep_test {

using test::Numbers;
using test::rollout_case;
using test::RolloutCase;
using test::same_bits;
using test::same_gradient;
using test::seeded;
using test::Watch;

struct Form {
  const char* name;
  Memory memory;
};

std::vector<Form> forms(std::int64_t T, std::int64_t state_bytes) {
  std::vector<Form> all = {
      {"sqrt", Memory::sqrt()},
      {"auto", Memory::automatic()},
      {"2 checkpoints", Memory::checkpoints(2)},
      {"3 checkpoints", Memory::checkpoints(3)},
      {"10 checkpoints", Memory::checkpoints(10)},
      {"T - 1 checkpoints", Memory::checkpoints(std::max<std::int64_t>(1, T - 1))},
      {"T checkpoints", Memory::checkpoints(T)},
      {"T + 9 checkpoints", Memory::checkpoints(T + 9)},
      {"small budget", Memory::budget(40 * state_bytes)},
      {"large budget", Memory::budget(1 << 30)}};
  if (T <= 100) all.push_back({"1 checkpoint", Memory::checkpoints(1)});
  return all;
}

// Every form of memory gives the gradient of `all`, bit for bit.
template <class T>
void check_forms(const RolloutCase<T>& c) {
  const Trajectory<T> stored = c.run(Memory::all());
  const std::vector<T> bar = seeded<T>(4, stored.states().size());
  PullbackOptions options;
  options.failed = PullbackOptions::Failed::skip;
  const Gradient<T> reference = stored.pullback(bar, options);
  CHECK(test::largest(reference.x0) > 0);
  const std::int64_t chunk_bytes = static_cast<std::int64_t>(sizeof(T)) * stored.report().lanes *
                                   stored.run().stepper->sizes().state;
  for (const Form& form : forms(c.steps, chunk_bytes * stored.run().chunks())) {
    CAPTURE(form.name);
    const Trajectory<T> run = c.run(form.memory);
    REQUIRE(same_bits(run.states(), stored.states()));
    CHECK(same_gradient(run.pullback(bar, options), reference));
  }
}

template <class T>
void check_lengths(const System& system) {
  for (const std::int64_t batch : {1, 19}) {
    for (const std::int64_t steps : {1, 2, 3, 7, 64, 65, 1000}) {
      CAPTURE(batch);
      CAPTURE(steps);
      check_forms(rollout_case<T>(system, batch, steps));
    }
  }
}

TEST_CASE("Sweep: checkpointed gradients equal stored ones bit for bit, in double") {
  check_lengths<double>(systems::pendulum({.damping = 0.1}));
}

TEST_CASE("Sweep: checkpointed gradients equal stored ones bit for bit, in float") {
  check_lengths<float>(systems::pendulum({.damping = 0.1}, {.precision = Precision::float32}));
}

TEST_CASE("Sweep: ... for every law and integrator") {
  for (const auto& [name, system] : test::law_systems()) {
    CAPTURE(name);
    check_forms(rollout_case<double>(system, 3, 30));
  }
}

TEST_CASE("Sweep: ... for a law in time, and on quaternions") {
  check_forms(rollout_case<double>(make_system(test::DrivenOscillator{}), 3, 70));
  check_forms(rollout_case<double>(make_system(test::Dipole{}), 3, 70));
  check_forms(rollout_case<double>(make_system(test::Dipole{}), 1, 70));
}

TEST_CASE("Sweep: ... with environments that fail on the way") {
  const System system = make_system(test::Brittle{}, {.dt = 0.1, .vary = {"breaks_at"}});
  for (const std::int64_t steps : {7, 65, 200}) {
    RolloutCase<double> c = rollout_case<double>(system, 19, steps);
    const Numbers row = system.parameters().default_values();
    c.params.clear();
    for (int e = 0; e < 19; ++e) {
      c.params.insert(c.params.end(), row.begin(), row.end());
      if (e % 5 == 3)
        c.params[c.params.size() - 2] = 0.05 + 0.03 * static_cast<double>(e * steps) / 19;
    }
    CHECK(c.run().report().failed.size() == 4);
    check_forms(c);
  }
}

TEST_CASE("Sweep: the number of repeated steps is the binomial optimum") {
  const System system = systems::pendulum();
  for (const std::int64_t T : {1, 2, 5, 10, 31, 64, 65, 100, 333}) {
    for (const std::int64_t n : {1, 2, 3, 4, 7, 10, 40}) {
      CAPTURE(T);
      CAPTURE(n);
      const std::int64_t optimum = optimal_forward_steps(T, n) - (T - 1);
      const RolloutCase<double> lone = rollout_case<double>(system, 1, T);
      const auto recomputed = [&](const RolloutCase<double>& c) {
        const Trajectory<double> run = c.run(Memory::checkpoints(n), Save::last());
        return run.pullback(Numbers(run.states().size(), 1.0)).recomputed_steps;
      };
      CHECK(recomputed(lone) == optimum);
      if (T > 100) continue;
      // Each chunk of lanes repeats as many.
      const RolloutCase<double> batch = rollout_case<double>(system, 50, T);
      const std::int64_t chunks = batch.run().run().chunks();
      CHECK(chunks > 1);
      CHECK(recomputed(batch) == chunks * optimum);
    }
  }
}

TEST_CASE("Sweep: the stepper runs as often as is said") {
  // T steps forward; on the way back the repeated ones, and once more each step for its record.
  Watch watch;
  const System system = test::watched_system(Pendulum{}, watch, false);
  const std::int64_t T = 100;
  for (const auto& [memory, repeated] :
       {std::pair{Memory::all(), std::int64_t{0}},
        {Memory::checkpoints(4), optimal_forward_steps(T, 4) - (T - 1)},
        {Memory::checkpoints(200), std::int64_t{0}}}) {
    const RolloutCase<double> c = rollout_case<double>(system, 1, T);
    watch.steps = watch.pullbacks = 0;
    const Trajectory<double> run = c.run(memory);
    CHECK(watch.steps == T);
    watch.steps = 0;
    CHECK(run.pullback(Numbers(2 * (T + 1), 1.0)).recomputed_steps == repeated);
    CHECK(watch.steps == repeated + T);
    CHECK(watch.pullbacks == T);
  }
  // Segments keep their records while they are pulled back: every step runs once more.
  const RolloutCase<double> c = rollout_case<double>(system, 1, T);
  const Trajectory<double> run = c.run(Memory::sqrt());
  watch.steps = 0;
  CHECK(run.pullback(Numbers(2 * (T + 1), 1.0)).recomputed_steps == T - T / 10);
  CHECK(watch.steps == T);
}

TEST_CASE("Sweep: records that are costly are kept when memory allows, and no step runs again") {
  for (const std::int64_t batch : {1, 10}) {
    Watch cheap_watch, watch;
    const RolloutCase<double> cheap =
        rollout_case<double>(test::watched_system(Pendulum{}, cheap_watch, false), batch, 90);
    RolloutCase<double> costly = cheap;
    costly.system = test::watched_system(Pendulum{}, watch, true);
    const Numbers bar = seeded<double>(4, static_cast<std::size_t>(batch * 91 * 2));
    const Gradient<double> reference = cheap.run().pullback(bar);
    for (const Memory& memory : {Memory::automatic(), Memory::all(), Memory::budget(10000000)}) {
      const Trajectory<double> run = costly.run(memory);
      CHECK(test::contains(run.report().memory, "and records"));
      watch.steps = 0;
      const Gradient<double> g = run.pullback(bar);
      CHECK(watch.steps == 0);
      CHECK(g.recomputed_steps == 0);
      CHECK(same_gradient(g, reference));
    }
    // Too little memory for the records: they are made again, and the gradient is the same.
    const Trajectory<double> run = costly.run(Memory::budget(60 * 2 * 8 * batch));
    CHECK(!test::contains(run.report().memory, "and records"));
    watch.steps = 0;
    CHECK(same_gradient(run.pullback(bar), reference));
    CHECK(watch.steps > 0);
  }
}

TEST_CASE(
    "Sweep: steps are visited from the last to the first, each with its own state and input") {
  // Environment 3 fails at step 40, and is visited where it stands from then on.
  const System system = make_system(test::Brittle{}, {.dt = 0.1, .vary = {"breaks_at"}});
  RolloutCase<double> c = rollout_case<double>(system, 4, 130);
  c.params.clear();
  for (int e = 0; e < 4; ++e) c.params.insert(c.params.end(), {2.0, e == 3 ? 4.05 : 1e9, 0.1});
  REQUIRE(c.run().report().failed.size() == 1);
  const Trajectory<double> stored = c.run(Memory::all());
  for (const Memory& memory : {Memory::all(), Memory::sqrt(), Memory::checkpoints(3)}) {
    const Trajectory<double> run = c.run(memory);
    SweepBuffers<double> buffers(run.run());
    const StopToken never;
    Sweep<double> sweep(run.run(), chunk_tape(run), buffers, 0, never);
    const int W = sweep.map().lanes;
    std::int64_t expected = 129;
    sweep.reverse([&](const StepInput<double>& in, const StepRecord&) {
      REQUIRE(in.step == expected--);
      for (int l = 0; l < sweep.map().active; ++l) {
        const Numbers x = {in.x[l], in.x[W + l]};
        REQUIRE(same_bits(x, stored.state(l, in.step)));
        REQUIRE(in.u[l] == c.controls[static_cast<std::size_t>(l * 130 + in.step)]);
      }
    });
    CHECK(expected == -1);
  }
}

}  // namespace cycloid::sweep_test
