// Systems of room system, and worlds that are no lanes, held to what every System must keep; and
// the suite itself, held to steppers that break one claim each.
#include "tests/support/conformance.h"

#include "cycloid/system/make_system.h"
#include "tests/support/field_world.h"
#include "tests/support/test_laws.h"

namespace cycloid::conformance_test {

using test::BrokenClaim;
using test::conform;
using test::conform_reports;
using test::ConformOptions;
using test::PassingStepper;
using test::rollout_case;
using test::RolloutCase;
using test::SharedStepper;

// Two chunks and a bit, whatever the lanes.
template <class T>
RolloutCase<T> conform_case(const System& system, std::int64_t steps = 7, std::uint64_t seed = 7) {
  const std::int64_t W = system.steppers<T>().packed->sizes().lanes;
  return rollout_case<T>(system, 2 * W + 1, steps, seed);
}

// With nothing shared between rows of the test.
RolloutCase<double> field_case(const System& system) {
  RolloutCase<double> c = conform_case<double>(system);
  c.params = system.parameters().default_values();
  return c;
}

TEST_CASE("conformance: every law with every integrator, in double") {
  std::uint64_t seed = 100;
  for (const auto& [name, system] : test::law_systems()) {
    CAPTURE(name);
    conform(conform_case<double>(system, 7, ++seed));
  }
}

TEST_CASE("conformance: every law with every integrator, in float") {
  std::uint64_t seed = 200;
  for (const auto& [name, system] : test::law_systems(Precision::float32)) {
    CAPTURE(name);
    ConformOptions options;
    options.lanes_tolerance = 1e-4;  // an implicit step ends at some roundings of float
    conform(conform_case<float>(system, 7, ++seed), options);
  }
}

TEST_CASE("conformance: laws with events, through events") {
  for (const std::string law : {"bouncing_ball", "rimless_wheel"}) {
    const System system = systems::make(law, {}, {.dt = 0.1});
    RolloutCase<double> c = conform_case<double>(system, 12);
    c.params = system.parameters().default_values();
    for (std::size_t i = 0; i < c.x0.size(); ++i) {
      const double start = system.initial_state()[i % system.initial_state().size()];
      c.x0[i] = start + 0.1 * (c.x0[i] - start);
    }
    CAPTURE(law);
    CHECK_FALSE(c.run().events().empty());
    ConformOptions options;
    if (law == "rimless_wheel") options.lacks = {{"failed", "a start that large is refused"}};
    conform(c, options);
  }
}

TEST_CASE("conformance: a user's law, with a quaternion, by dual numbers and by its own pullback") {
  const LawSettings settings{.values = {{"moments", {1.0, 2.0, 3.0}}, {"field", {0.7}}}};
  conform(conform_case<double>(make_system(test::Dipole(), settings)));
  conform(conform_case<double>(make_system(test::DipoleByDuals(), settings)));
  conform(conform_case<double>(make_system<VelocityVerlet>(test::Dipole(), settings)));
}

TEST_CASE("conformance: a world of arrays, objects as records, numbers carried on, own threads") {
  const test::FieldWorld world(5, 4);
  conform(field_case(world.system));
}

// What follows proves that the suite can fail.

bool caught(const std::vector<BrokenClaim>& broken, const std::string& claim) {
  std::string others;
  for (const BrokenClaim& b : broken) {
    if (b.claim == claim) return true;
    others += b.claim + ": " + b.what + "; ";
  }
  MESSAGE("not caught as \"", claim, "\", but as: ", others);
  return false;
}

template <class Broken>
std::vector<BrokenClaim> reports_of(const System& system) {
  RolloutCase<double> c = conform_case<double>(system);
  c.system =
      test::with_steppers<double>(system, [](SharedStepper<double> s) -> SharedStepper<double> {
        return std::make_shared<Broken>(std::move(s));
      });
  return conform_reports(c);
}

System healthy() { return systems::make("pendulum", {}, {.integrator = "implicit_midpoint"}); }

struct Healthy final : PassingStepper<double> {
  using PassingStepper::PassingStepper;
};

struct AssignsState final : PassingStepper<double> {
  using PassingStepper::PassingStepper;
  void pullback(const StepInput<double>& in, const StepRecord& record, const double* x_next_bar,
                double* x_bar, double* u_bar, StepWorkspace& w) const override {
    std::fill_n(x_bar, sizes_.tangent * sizes_.lanes, 0.0);
    PassingStepper::pullback(in, record, x_next_bar, x_bar, u_bar, w);
  }
};

struct AssignsInput final : PassingStepper<double> {
  using PassingStepper::PassingStepper;
  void pullback(const StepInput<double>& in, const StepRecord& record, const double* x_next_bar,
                double* x_bar, double* u_bar, StepWorkspace& w) const override {
    std::fill_n(u_bar, sizes_.input * sizes_.lanes, 0.0);
    PassingStepper::pullback(in, record, x_next_bar, x_bar, u_bar, w);
  }
};

struct LooksAtNeighbour final : PassingStepper<double> {
  using PassingStepper::PassingStepper;
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& w) const override {
    const StepStatus status = PassingStepper::step(in, x_next, record, w);
    if (sizes_.lanes > 1) x_next[0] += 1e-15 * in.x[1];
    return status;
  }
};

struct SpoiltByNeighbour final : PassingStepper<double> {
  using PassingStepper::PassingStepper;
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& w) const override {
    const StepStatus status = PassingStepper::step(in, x_next, record, w);
    if (sizes_.lanes > 1 && !std::isfinite(x_next[1])) x_next[0] += 1e-12;
    return status;
  }
};

struct RecordDiffers final : PassingStepper<double> {
  using PassingStepper::PassingStepper;
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& w) const override {
    const StepStatus status = PassingStepper::step(in, x_next, record, w);
    if (record) record->numbers<double>()[0] *= 1 + 1e-10 * ++made;
    return status;
  }
  mutable std::atomic<int> made{0};
};

struct WrongParameter final : PassingStepper<double> {
  using PassingStepper::PassingStepper;
  void finish(StepWorkspace& w, double* p_bar) const override {
    PassingStepper::finish(w, p_bar);
    for (int l = 0; l < sizes_.lanes; ++l) p_bar[sizes_.lanes + l] *= 1 + 1e-4;
  }
};

struct CountsInSecret final : PassingStepper<double> {
  using PassingStepper::PassingStepper;
  const LaneNote* notes(const StepWorkspace&) const override { return notes_.data(); }
  std::vector<LaneNote> notes_ = std::vector<LaneNote>(64, LaneNote{.counters = {3}});
};

struct LosesLength final : PassingStepper<double> {
  using PassingStepper::PassingStepper;
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& w) const override {
    const StepStatus status = PassingStepper::step(in, x_next, record, w);
    for (int i = 0; i < 4 * sizes_.lanes; ++i) x_next[i] *= 1 + 1e-9;
    return status;
  }
};

struct DependsOnThreads final : test::Field {
  using Field::Field;
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& w) const override {
    const StepStatus status = Field::step(in, x_next, record, w);
    x_next[0] += 1e-14 * static_cast<Own&>(w).threads;
    return status;
  }
};

// Counts its steps in the workspace instead of carrying the count on.
struct ForgetsCarry final : test::Field {
  using Field::Field;
  struct Counted final : Own {
    using Own::Own;
    int steps = 0;
  };
  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Counted>(resources.threads);
  }
  void begin(const StepParameters<double>& p, StepWorkspace& w) const override {
    Field::begin(p, w);
    static_cast<Counted&>(w).steps = 0;
  }
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& w) const override {
    const StepStatus status = Field::step(in, x_next, record, w);
    const double warm = 1e-12 * ++static_cast<Counted&>(w).steps;
    for (int l = 0; l < sizes_.lanes; ++l) x_next[l] += warm;
    return status;
  }
};

struct AssignsArrays final : test::Field {
  using Field::Field;
  void pullback(const StepInput<double>& in, const StepRecord& record, const double* x_next_bar,
                double* x_bar, double* u_bar, StepWorkspace& w) const override {
    const Own& own = static_cast<const Own&>(w);
    if (own.p.arrays_bar) std::fill_n(own.p.arrays_bar[0], sizes_.arrays[0], 0.0);
    Field::pullback(in, record, x_next_bar, x_bar, u_bar, w);
  }
};

template <class Kind>
std::vector<BrokenClaim> field_reports() {
  const test::FieldWorldOf<Kind> world(5, 4);
  return conform_reports(field_case(world.system));
}

TEST_CASE("conformance: a stepper that passes all on breaks nothing") {
  CHECK(reports_of<Healthy>(healthy()).empty());
  CHECK(field_reports<test::Field>().empty());
}

TEST_CASE("conformance: what breaks a claim is caught as that claim") {
  CHECK(caught(reports_of<AssignsState>(healthy()), "accumulators are added to"));
  CHECK(caught(reports_of<AssignsInput>(healthy()), "accumulators are added to"));
  CHECK(caught(reports_of<LooksAtNeighbour>(healthy()), "batch"));
  CHECK(caught(reports_of<SpoiltByNeighbour>(healthy()), "failed"));
  const auto record = reports_of<RecordDiffers>(healthy());
  CHECK(caught(record, "a record made again is the first one"));
  CHECK(caught(record, "memory"));
  const auto parameter = reports_of<WrongParameter>(healthy());
  CHECK(caught(parameter, "differences"));
  CHECK(caught(reports_of<CountsInSecret>(healthy()), "counters are declared"));
  CHECK(caught(reports_of<LosesLength>(make_system(test::Dipole())), "quaternions"));
  CHECK(caught(field_reports<AssignsArrays>(), "accumulators are added to"));
  const auto threads = field_reports<DependsOnThreads>();
  CHECK(caught(threads, "threads"));
  CHECK(caught(threads, "a step taken again is the first one"));
  const auto carry = field_reports<ForgetsCarry>();
  CHECK(caught(carry, "memory"));
  CHECK(caught(carry, "a step taken again is the first one"));
}

TEST_CASE("conformance: a claim that a System lacks is not held against it") {
  ConformOptions options;
  options.lacks = {{"differences", "a parameter's cotangent is wrong on purpose"},
                   {"dot test", "likewise"}};
  RolloutCase<double> c = conform_case<double>(healthy());
  c.system = test::with_steppers<double>(healthy(), [](SharedStepper<double> s) {
    return SharedStepper<double>(std::make_shared<WrongParameter>(std::move(s)));
  });
  CHECK(conform_reports(c, options).empty());
}

}  // namespace cycloid::conformance_test
