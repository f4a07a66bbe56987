// Field: a world with everything that lanes do not have.
//
//   x⁺ = x + h c x,   c an array of n numbers that environments share
// Its record is an object as large as the state; a counter of steps is carried on but not
// differentiated; a step spreads over its threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include "cycloid/base/thread_pool.h"
#include "cycloid/system/system.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test {

class Field : public Stepper<double> {
 public:
  Field(int n, int lanes) : Stepper<double>(sizes(n, lanes)) {}

  struct Own : StepWorkspace {
    explicit Own(int n) : threads(n) {}
    int threads;
    StepParameters<double> p;
  };
  struct Kept final : RecordObject {
    std::size_t bytes() const override { return sizeof(double) * x.size(); }
    Numbers x;
  };

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Own>(resources.threads);
  }
  void begin(const StepParameters<double>& p, StepWorkspace& w) const override {
    static_cast<Own&>(w).p = p;
  }
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& w) const override {
    const Own& own = static_cast<const Own&>(w);
    const int W = sizes_.lanes, n = sizes_.state;
    parallel_for(static_cast<std::size_t>(n), own.threads, [&](std::size_t i) {
      for (int l = 0; l < W; ++l) {
        const std::size_t at = i * static_cast<std::size_t>(W) + static_cast<std::size_t>(l);
        x_next[at] = in.x[at] + own.p.lanes[l] * own.p.arrays[0][i] * in.x[at];
      }
    });
    for (int l = 0; l < W; ++l) x_next[n * W + l] = in.x[n * W + l] + 1;
    most_threads = std::max(most_threads.load(), own.threads);
    last_count = x_next[n * W];
    if (record) {
      auto kept = std::make_unique<Kept>();
      kept->x.assign(in.x, in.x + n * W);
      record->object = std::move(kept);
      record->bytes = 0;
    }
    ++steps;
    const bool finite =
        std::all_of(x_next, x_next + n * W, [](double x) { return std::isfinite(x); });
    return finite ? StepStatus::ok : StepStatus::non_finite;
  }
  void pullback(const StepInput<double>&, const StepRecord& record, const double* x_next_bar,
                double* x_bar, double*, StepWorkspace& w) const override {
    const Own& own = static_cast<const Own&>(w);
    const Numbers& x = static_cast<const Kept&>(*record.object).x;
    const int W = sizes_.lanes;
    for (int i = 0; i < sizes_.state; ++i) {
      for (int l = 0; l < W; ++l) {
        const std::size_t at = static_cast<std::size_t>(i * W + l);
        const double c = own.p.arrays[0][i], h = own.p.lanes[l];
        x_bar[at] += (1 + h * c) * x_next_bar[at];
        if (own.p.arrays_bar && !(own.p.left_out && own.p.left_out[l])) {
          own.p.arrays_bar[0][i] += h * x[at] * x_next_bar[at];
        }
      }
    }
  }
  void finish(StepWorkspace&, double* p_bar) const override {
    std::fill_n(p_bar, sizes_.lanes, 0.0);
  }
  StepTrouble explain(const StepInput<double>&, int, StepWorkspace&) const override {
    return {"growth", "x", "it is not finite"};
  }

  mutable std::atomic<int> most_threads{0}, steps{0};
  mutable std::atomic<double> last_count{0};

 private:
  static StepperSizes sizes(int n, int lanes) {
    StepperSizes s;
    s.lanes = lanes;
    s.state = s.tangent = n;
    s.parameters = 1;
    s.arrays = {n};
    s.carry = 1;
    s.record_is_costly = s.spreads = true;
    return s;
  }
};

// ... as a System, whose steppers can be asked.
template <class Kind = Field>
struct FieldWorldOf {
  FieldWorldOf(int n, int lanes)
      : one(std::make_shared<Kind>(n, 1)), packed(std::make_shared<Kind>(n, lanes)), system([&] {
          SystemParts parts;
          parts.name = "field";
          parts.timestep = 1;
          parts.states = Space({{"x", n, "1"}});
          Parameter h, c;
          h.name = "rate";
          h.not_differentiable = "a number of the test";
          c.name = "field";
          c.shape = {n};
          c.array = true;
          Numbers values(static_cast<std::size_t>(n));
          for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = 0.1 + 0.01 * i;
          parts.parameters.add(h, Numbers{0.5});
          parts.parameters.add(c, values);
          parts.vary = {"field"};
          parts.initial_state.assign(static_cast<std::size_t>(n), 1.0);
          parts.float64 = {one, packed, nullptr};
          return System(std::move(parts));
        }()) {}
  std::shared_ptr<Kind> one, packed;
  System system;
};
using FieldWorld = FieldWorldOf<>;

}  // namespace cycloid::test
