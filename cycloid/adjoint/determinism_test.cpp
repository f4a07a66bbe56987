// What is the same every time, bit by bit: whoever computes it, among whatever neighbours.
#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/pushforward.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/system/make_system.h"
#include "tests/support/failing_laws.h"
#include "tests/support/rollout_cases.h"
#include "tests/support/test_laws.h"

namespace cycloid::determinism_test {

using test::Numbers;
using test::rollout_case;
using test::RolloutCase;
using test::same_bits;
using test::same_gradient;
using test::seeded;

const std::vector<Memory> kForms = {Memory::all(), Memory::sqrt(), Memory::checkpoints(3)};

template <class T>
RolloutOptions with(const Memory& memory, int threads) {
  RolloutOptions options;
  options.memory = memory;
  options.threads = threads;
  return options;
}

// Environments [first, first + count) roll out and are pulled back as within the whole batch.
template <class T>
void check_slice(const RolloutCase<T>& c, const Trajectory<T>& whole, const std::vector<T>& bar,
                 const Gradient<T>& gradient, std::int64_t first, std::int64_t count) {
  CAPTURE(first);
  CAPTURE(count);
  const auto rows = [&](std::span<const T> all) {
    const std::size_t row = all.size() / static_cast<std::size_t>(c.batch);
    return all.subspan(static_cast<std::size_t>(first) * row,
                       static_cast<std::size_t>(count) * row);
  };
  const Trajectory<T> part = c.slice(first, count).run();
  CHECK(same_bits(part.states(), rows(whole.states())));
  const Gradient<T> g = part.pullback(rows(bar));
  CHECK(same_bits(g.x0, rows(gradient.x0)));
  CHECK(same_bits(g.controls, rows(gradient.controls)));
  const std::size_t np = static_cast<std::size_t>(c.system.parameters().size());
  CHECK(same_bits(
      g.params,
      std::span(gradient.params).subspan(static_cast<std::size_t>(first) * np, g.params.size())));
}

// A batch in which every environment has parameters of its own.
template <class T>
RolloutCase<T> varied_case(const System& system, std::int64_t batch, std::int64_t steps) {
  RolloutCase<T> c = rollout_case<T>(system, batch, steps);
  c.params.clear();
  for (std::int64_t e = 0; e < batch; ++e) {
    const Numbers row = test::seeded_parameters(system, static_cast<std::uint64_t>(e));
    c.params.insert(c.params.end(), row.begin(), row.end());
  }
  return c;
}

std::vector<std::string> all_parameters(const char* law) {
  std::vector<std::string> names;
  const System system = systems::make(law);
  for (const Parameter& p : system.parameters().all()) names.push_back(p.name);
  return names;
}

System brittle_system() {
  return make_system(test::Brittle{},
                     {.dt = 0.1, .vary = {"stiffness", "breaks_at", "option.timestep"}});
}

template <class T>
void check_places(Precision precision) {
  for (const char* law : {"double_pendulum", "projectile", "spring_chain"}) {
    CAPTURE(law);
    const System system =
        systems::make(law, {}, {.precision = precision, .vary = all_parameters(law)});
    const RolloutCase<T> c = varied_case<T>(system, 100, 40);
    const Trajectory<T> whole = c.run();
    const std::vector<T> bar = seeded<T>(4, whole.states().size());
    const Gradient<T> gradient = whole.pullback(bar);
    for (const std::int64_t count : {2, 3, 17, 33, 99}) {
      for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1}, 100 - count}) {
        if (first + count <= 100) check_slice(c, whole, bar, gradient, first, count);
      }
    }
    check_slice(c, whole, bar, gradient, 50, 13);
  }
}

TEST_CASE("determinism: 1, 2 and 3 threads give the same bits [threads]") {
  RolloutCase<double> c = rollout_case<double>(systems::double_pendulum(), 50, 30);
  SUBCASE("inputs of each environment's own") {}
  SUBCASE("shared inputs") { c.controls = seeded<double>(3, 60); }
  SUBCASE("shared start") { c.x0 = {1.0, 0.5, 0.1, -0.1}; }
  for (const Memory& memory : kForms) {
    const Trajectory<double> one = c.run(with<double>(memory, 1));
    const Numbers bar = seeded<double>(4, one.states().size());
    const Gradient<double> gradient = one.pullback(bar);
    for (const int threads : {2, 3}) {
      const Trajectory<double> run = c.run(with<double>(memory, threads));
      CHECK(same_bits(run.states(), one.states()));
      CHECK(same_gradient(run.pullback(bar), gradient));
    }
  }
}

TEST_CASE(
    "determinism: threads do not change sums over more chunks than there are groups [threads]") {
  // At most 16 double lanes to a chunk in any instruction set: 69 chunks or more, for 64 groups.
  RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 1100, 5);
  c.controls = seeded<double>(3, 5);
  const Trajectory<double> one = c.run(with<double>(Memory::all(), 1));
  REQUIRE(one.report().lanes <= 16);
  const Numbers bar = seeded<double>(4, one.states().size());
  const Gradient<double> gradient = one.pullback(bar);
  CHECK(test::largest(gradient.controls) > 0);
  for (const int threads : {2, 3}) {
    CHECK(same_gradient(c.run(with<double>(Memory::all(), threads)).pullback(bar), gradient));
  }

  // The sum is over all of them.
  const Numbers shared = c.controls;
  c.controls.clear();
  for (int e = 0; e < 1100; ++e) c.controls.insert(c.controls.end(), shared.begin(), shared.end());
  const Gradient<double> own = c.run(with<double>(Memory::all(), 1)).pullback(bar);
  Numbers sum(5, 0.0);
  for (std::size_t i = 0; i < own.controls.size(); ++i) sum[i % 5] += own.controls[i];
  CHECK(test::relative_error(gradient.controls, sum) < 1e-12);
}

TEST_CASE(
    "determinism: threads do not change float32 runs failures linearise or pushforward [threads]") {
  const System in_float = systems::pendulum({}, {.precision = Precision::float32});
  const RolloutCase<float> f = rollout_case<float>(in_float, 70, 20);
  const Trajectory<float> one = f.run(with<float>(Memory::sqrt(), 1));
  const std::vector<float> bar = seeded<float>(4, one.states().size());
  CHECK(same_gradient(f.run(with<float>(Memory::sqrt(), 3)).pullback(bar), one.pullback(bar)));

  const System brittle = brittle_system();
  RolloutCase<double> b = varied_case<double>(brittle, 40, 20);
  for (std::size_t e = 0; e < 40; ++e) b.params[3 * e + 1] = e % 7 == 2 ? 1.0 : 1e9;
  const Trajectory<double> alone = b.run(with<double>(Memory::all(), 1)),
                           together = b.run(with<double>(Memory::all(), 3));
  REQUIRE(alone.report().failed.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(describe(alone.report().failed[i]) == describe(together.report().failed[i]));
  }
  CHECK(same_bits(alone.states(), together.states()));

  const RolloutCase<double> c = rollout_case<double>(systems::pendulum(), 70, 20);
  const Numbers u(c.controls.begin(), c.controls.begin() + 70);
  const auto linear = [&](int threads) {
    return linearise(c.system, c.x0, u, c.params, {.params = true, .threads = threads});
  };
  CHECK(same_bits(linear(1).A, linear(2).A));
  CHECK(same_bits(linear(1).P, linear(2).P));
  const Numbers direction = seeded<double>(8, c.x0.size());
  const auto tangents = [&](int threads) {
    const Pushforward p = pushforward(c.system, c.x0, c.inputs(), {.x0 = direction}, c.params,
                                      with<double>(Memory::automatic(), threads));
    return Numbers(p.states_tan().begin(), p.states_tan().end());
  };
  CHECK(same_bits(tangents(1), tangents(2)));
}

TEST_CASE(
    "determinism: an environment's place and the size of its batch change nothing, in double") {
  check_places<double>(Precision::float64);
}

TEST_CASE(
    "determinism: an environment's place and the size of its batch change nothing, in float") {
  check_places<float>(Precision::float32);
}

TEST_CASE("determinism: neighbours that fail change nothing, whatever is kept") {
  const System system = brittle_system();
  RolloutCase<double> whole = varied_case<double>(system, 33, 25);
  for (std::size_t e = 0; e < 33; ++e) whole.params[3 * e + 1] = 1e9;
  RolloutCase<double> broken = whole;
  for (const std::size_t e : {0u, 5u, 6u, 20u, 32u}) {
    broken.params[3 * e + 1] = 0.1 * static_cast<double>(e) + 0.01;
  }
  for (const Memory& memory : kForms) {
    const Trajectory<double> good = whole.run(memory), bad = broken.run(memory);
    REQUIRE(bad.report().failed.size() == 4);  // the fifth would fail after the end
    const Numbers bar = seeded<double>(4, good.states().size());
    const Gradient<double> expected = good.pullback(bar),
                           skipped = bad.pullback(bar, {.failed = PullbackOptions::Failed::skip});
    for (std::size_t e = 0; e < 33; ++e) {
      if (e == 0 || e == 5 || e == 6 || e == 20) continue;
      const auto row = [&](const auto& rows) {
        const std::size_t n = rows.size() / 33;
        return std::span(rows).subspan(e * n, n);
      };
      CHECK(same_bits(row(good.states()), row(bad.states())));
      CHECK(same_bits(row(expected.x0), row(skipped.x0)));
      CHECK(same_bits(row(expected.controls), row(skipped.controls)));
      CHECK(same_bits(row(expected.params), row(skipped.params)));
    }
  }
}

TEST_CASE("determinism: a lone environment agrees with the lanes to 1e-12 per step") {
  for (const auto& [name, system] : test::law_systems()) {
    CAPTURE(name);
    const RolloutCase<double> c = rollout_case<double>(system, 2, 1);
    const Trajectory<double> pair = c.run(), lone = c.slice(0, 1).run();
    CHECK(test::relative_error(lone.states(), pair.states().first(lone.states().size())) < 1e-12);
    const Numbers bar = seeded<double>(4, lone.states().size());
    Numbers both = bar;
    both.resize(2 * bar.size(), 0.0);
    CHECK(test::relative_error(lone.pullback(bar).params, pair.pullback(both).params) < 1e-12);
  }
}

TEST_CASE("determinism: two threads of the user may pull back one trajectory at once [threads]") {
  const RolloutCase<double> c = rollout_case<double>(systems::double_pendulum(), 40, 60);
  for (const Memory& memory : kForms) {
    const Trajectory<double> run = c.run(with<double>(memory, 2));
    const Numbers a = seeded<double>(4, run.states().size()), b = seeded<double>(5, a.size());
    const Gradient<double> of_a = run.pullback(a), of_b = run.pullback(b);
    std::vector<char> same(2, 1);
    const auto repeat = [&](const Numbers& bar, const Gradient<double>& expected, char& all) {
      for (int i = 0; i < 5; ++i) {
        if (!same_gradient(run.pullback(bar), expected)) all = 0;
      }
    };
    std::thread other([&] { repeat(a, of_a, same[0]); });
    repeat(b, of_b, same[1]);
    other.join();
    CHECK(same[0] == 1);
    CHECK(same[1] == 1);
  }
}

}  // namespace cycloid::determinism_test
