#include "cycloid/adjoint/engine/alike.h"

#include <doctest/doctest.h>

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/system/systems.h"
#include "tests/support/rollout_cases.h"

namespace cycloid::alike_test {

// A stepper that asks for environments in the order of falling angle.
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
      keys[l] = static_cast<std::uint64_t>(1e6 * (10 - in.x[l]));
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
  REQUIRE(looked_at.order.size() == batch);
  for (std::size_t i = 1; i < batch; ++i) {
    const auto angle = [&](std::size_t k) {
      return x0[2 * static_cast<std::size_t>(looked_at.order[k])];
    };
    CHECK(angle(i - 1) >= angle(i) - 1e-6);
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
  CHECK(order_of(45, kWorthOrdering).size() == 45);
  CHECK(order_of(45, kWorthOrdering - 1).empty());
  CHECK(order_of(2, kWorthOrdering).empty());
}

}  // namespace cycloid::alike_test
