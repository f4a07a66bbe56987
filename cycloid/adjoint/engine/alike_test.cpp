#include "cycloid/adjoint/engine/alike.h"

#include <doctest/doctest.h>

#include <functional>

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/system/systems.h"
#include "tests/support/rollout_cases.h"

namespace cycloid::alike_test {

// The quarter of falling angles, from 1: what a step works at.
std::uint64_t quarter(double angle) { return 1 + static_cast<std::uint64_t>(2 * (1 - angle)); }

// A stepper that asks for environments by the quarters of their angles.
class Keyed final : public Stepper<double> {
 public:
  explicit Keyed(const Stepper<double>& own) : Stepper<double>(own.sizes()), own_(own) {
    sizes_.has_work_keys = true;
  }
  void begin(const StepParameters<double>& p, StepWorkspace& w) const override { own_.begin(p, w); }
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& w) const override {
    return own_.step(in, x_next, record, w);
  }
  void pullback(const StepInput<double>& in, const StepRecord& record, const double* x_next_bar,
                double* x_bar, double* u_bar, StepWorkspace& w) const override {
    own_.pullback(in, record, x_next_bar, x_bar, u_bar, w);
  }
  void work_keys(const StepInput<double>& in, std::uint64_t* keys, StepWorkspace&) const override {
    for (int l = 0; l < sizes_.lanes; ++l) {
      keys[l] = quarter(in.x[l]) << 48;
    }
  }
  void finish(StepWorkspace& w, double* p_bar) const override { own_.finish(w, p_bar); }
  StepTrouble explain(const StepInput<double>& in, int lane, StepWorkspace& w) const override {
    return own_.explain(in, lane, w);
  }

 private:
  const Stepper<double>& own_;
};

Run<double> swings(const std::vector<double>& x0, const std::vector<double>& u,
                   std::int64_t steps) {
  const System system = systems::pendulum();
  Run<double> run = checked_run(system, std::span<const double>(x0),
                                Controls<double>(std::span<const double>(u), steps), {}, {});
  engine_of<double>(system).plan(run, Memory::all());
  return run;
}

TEST_CASE("put_alike_together: chunks are filled in the order of keys, and no number changes") {
  constexpr std::int64_t kSteps = 20;
  const std::size_t batch = 45;
  const std::vector<double> x0 = test::seeded<double>(3, 2 * batch),
                            u = test::seeded<double>(4, batch * kSteps);
  const Run<double> plain = swings(x0, u, kSteps);
  const Keyed keyed(*plain.stepper);
  Run<double> ordered = plain;
  ordered.stepper = &keyed;

  Run<double> looked_at = ordered;
  put_alike_together(looked_at, {});
  if (plain.lanes() == 1) {  // chunks of one
    CHECK(looked_at.order.empty());
    return;
  }
  REQUIRE(looked_at.order.size() == batch);
  for (std::size_t i = 1; i < batch; ++i) {
    const auto key = [&](std::size_t k) {
      return quarter(x0[2 * static_cast<std::size_t>(looked_at.order[k])]);
    };
    CHECK(key(i - 1) <= key(i));
  }
  CHECK(looked_at.place(looked_at.order[7]) == 7);

  const Trajectory<double> one = roll_out(plain, {}), two = roll_out(ordered, {});
  CHECK(test::same_bits(one.states(), two.states()));
  const std::vector<double> bar = test::seeded<double>(5, one.states().size());
  const Gradient<double> g = one.pullback(bar), h = two.pullback(bar);
  CHECK(test::same_bits(g.x0, h.x0));
  CHECK(test::same_bits(g.controls, h.controls));
  CHECK(test::relative_error(g.params, h.params) < 1e-13);  // a sum in another order
}

TEST_CASE(
    "put_alike_together: an order in which neighbours are alike stays, a mixed one does not") {
  const std::size_t batch = 96;
  const std::size_t W = static_cast<std::size_t>(
      swings(std::vector<double>(2 * batch), std::vector<double>(batch), 1).lanes());
  const std::size_t sorted = W > 1 ? batch : 0;
  const auto order_of = [&](const std::function<std::size_t(std::size_t)>& quarter_of) {
    std::vector<double> x0(2 * batch, 0.0);
    for (std::size_t e = 0; e < batch; ++e) {
      x0[2 * e] = 0.9 - 0.5 * static_cast<double>(quarter_of(e));
    }
    Run<double> run = swings(x0, std::vector<double>(batch * kWorthOrdering), kWorthOrdering);
    const Keyed keyed(*run.stepper);
    run.stepper = &keyed;
    put_alike_together(run, {});
    return run.order;
  };
  CHECK(order_of([](std::size_t e) { return 3 - e / 24; }).empty());
  CHECK(order_of([](std::size_t e) { return e % 4; }).size() == sorted);
  // One lane of each chunk has work of its own, which a chunk for all of them has once.
  CHECK(order_of([&](std::size_t e) { return e % W == 0 ? 1 : 0; }).size() == sorted);
}

TEST_CASE("put_alike_together: short runs, single chunks and shared states stay as they are") {
  const auto order_of = [](std::size_t batch, std::int64_t steps) {
    const std::vector<double> x0 = test::seeded<double>(3, 2 * batch),
                              u = test::seeded<double>(4, batch * static_cast<std::size_t>(steps));
    Run<double> run = swings(x0, u, steps);
    const Keyed keyed(*run.stepper);
    run.stepper = &keyed;
    put_alike_together(run, {});
    return run.order;
  };
  const bool one_lane = swings(std::vector<double>(90), std::vector<double>(45), 1).lanes() == 1;
  CHECK(order_of(45, kWorthOrdering).size() == (one_lane ? 0 : 45));
  CHECK(order_of(45, kWorthOrdering - 1).empty());
  CHECK(order_of(2, kWorthOrdering).empty());
}

}  // namespace cycloid::alike_test
