#include "cycloid/system/integrator/adaptive_samples.h"

#include <doctest/doctest.h>

#include <cstring>

#include "cycloid/system/integrator/dopri5.h"
#include "cycloid/system/integrator/sdirk4.h"
#include "cycloid/system/law/law_stepper.h"
#include "cycloid/system/laws/kepler.h"
#include "tests/support/law_steps.h"
#include "tests/support/standard_problems.h"
#include "tests/support/stepper_run.h"
#include "tests/support/test_laws.h"

namespace cycloid::adaptive_samples_test {

using test::DrivenOscillator;
using test::Numbers;
using test::Rows;

// In a step of 0.9 s: two in one substep, one in the first, one at the end.
const std::vector<double> kOffsets = {1e-4, 0.5, 0.50001, 0.9};

// [x (2), u, p (4), t, h] to the samples and x⁺.
template <class Scheme, class S>
struct SampledStep {
  explicit SampledStep(const S* in)
      : buffers(LawShape<DrivenOscillator>(law)),
        states(2 * kOffsets.size()),
        at{law, LawShape<DrivenOscillator>(law), in[7], in[8], in + 2, in + 3, buffers.memory()} {
    Scheme{}.step_sampled(at, in, buffers.x_next.data(), buffers.record.data(),
                          SampleLanes<S>{kOffsets, states.data(), nullptr});
  }
  DrivenOscillator law;
  test::StepBuffers<Scheme, DrivenOscillator, S> buffers;
  std::vector<S> states;
  LawPoint<DrivenOscillator, S> at;
};

template <class Scheme>
void check_pullback_of_samples() {
  const auto f = []<class S>(const S* in, S* out) {
    const SampledStep<Scheme, S> step(in);
    for (int i = 0; i < 8; ++i) out[i] = step.states[static_cast<std::size_t>(i)];
    for (int i = 0; i < 2; ++i) out[8 + i] = step.buffers.x_next[static_cast<std::size_t>(i)];
  };
  const auto f_pullback = []<class S>(const S* in, const S* out_bar, S* in_bar) {
    SampledStep<Scheme, S> step(in);
    LawPointBar<S> bar{in_bar[7], in_bar[8], in_bar + 2, in_bar + 3};
    step.at.scratch = step.buffers.memory();
    Scheme{}.step_sampled_pullback(step.at, in, step.buffers.record.data(), out_bar + 8,
                                   SampleLanes<S>{kOffsets, nullptr, out_bar}, bar, in_bar);
    in_bar[7] = bar.t, in_bar[8] = bar.h;
  };
  // Few substeps, and hundreds: the lanes of a pack pass their samples at different attempts.
  const std::vector<Numbers> points = {{0.8, -0.4, 0.7, 4.0, 0.3, 1.5, 1.3, 2.1, 0.9},
                                       {-1.2, 0.2, 0.0, 1.0, 0.0, 2.0, 5.0, 0.0, 0.9},
                                       {0.1, 0.0, -3.0, 100, 1.0, 0.5, 0.1, 100.0, 0.9},
                                       {0.3, -0.2, 0.0, 2e3, 0.5, 1.0, 2.0, -1.0, 0.9}};
  test::check_pullback("Adaptive::step_sampled", 10, f, f_pullback, points,
                       {.tolerance = 1e-9, .lane_tolerance = 1e-9});
}

// The samples of one step of orbits in lanes, what their cotangents give x̄ and p̄, and for every
// tenth sample the state after a step that ends there.
struct Sampled {
  Rows<double> states, x_next, x_bar, p_bar;
  std::vector<Rows<double>> parts;
};
template <class Scheme>
Sampled sample_orbits(const Rows<double>& rows, const std::vector<double>& offsets, double dt,
                      bool with_parts = false) {
  using S = Pack<double, 4>;
  const LawStepper<Kepler, Scheme, S> stepper(Kepler{}, Scheme{{1e-8, 1e-8}});
  const StepperSizes& s = stepper.sizes();
  const std::size_t count = 16 * offsets.size();
  const auto workspace = stepper.make_workspace({});
  test::RecordRoom record(stepper);
  test::LaneMemory<double> x(16), p(4 * static_cast<std::size_t>(s.parameters)), x_next(16),
      states(count), bar(count), end_bar(16), x_bar(16),
      p_bar(4 * static_cast<std::size_t>(s.parameters));
  test::to_lanes(rows, 4, 4, x.data());
  test::to_lanes(Rows<double>{{1.0, dt}}, s.parameters, 4, p.data());
  for (std::size_t i = 0; i < count; ++i) bar.data()[i] = std::sin(static_cast<double>(i / 4));
  for (int i = 0; i < 16; ++i) end_bar.data()[i] = x_bar.data()[i] = 0;
  stepper.begin({p.data()}, *workspace);
  const StepSamples<double> samples{offsets, states.data(), bar.data()};
  StepInput<double> in{x.data(), nullptr, 3, 0};
  in.samples = &samples;
  stepper.step(in, x_next.data(), &record, *workspace);
  stepper.pullback(in, record, end_bar.data(), x_bar.data(), nullptr, *workspace);
  stepper.finish(*workspace, p_bar.data());
  Sampled out{test::from_lanes(states.data(), static_cast<int>(count / 4), 4),
              test::from_lanes(x_next.data(), 4, 4),
              test::from_lanes(x_bar.data(), 4, 4),
              test::from_lanes(p_bar.data(), s.parameters, 4),
              {}};
  for (std::size_t i = 0; i < offsets.size() && with_parts; i += 10) {
    StepInput<double> part{x.data(), nullptr, 3, 0};
    part.part = offsets[i];
    stepper.step(part, x_next.data(), &record, *workspace);
    out.parts.push_back(test::from_lanes(x_next.data(), 4, 4));
  }
  return out;
}

template <class Scheme>
void check_orbits() {
  const double dt = 12;
  std::vector<double> offsets;
  for (int i = 1; i <= 300; ++i) offsets.push_back(i == 300 ? dt : dt * i / 300);
  const Rows<double> orbits = {test::orbit(0.0, 0), test::orbit(0.6, 0), test::orbit(0.3, 0),
                               test::orbit(0.8, 0)};
  const Sampled all = sample_orbits<Scheme>(orbits, offsets, dt, true);
  for (std::size_t l = 0; l < 4; ++l) {
    // The dense output is off by a few tolerances of one substep (adaptive_test.cpp).
    for (std::size_t i = 0; i < all.parts.size(); ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        const double there = all.parts[i][l][j];
        CHECK(std::abs(all.states[l][40 * i + j] - there) < 10e-8 * (1 + std::abs(there)));
      }
    }
    CHECK(std::memcmp(&all.states[l][4 * 299], all.x_next[l].data(), 4 * sizeof(double)) == 0);
    // Its neighbours do not matter.
    Rows<double> others(4, test::orbit(0.1, 1));
    others[l] = orbits[l];
    const Sampled alone = sample_orbits<Scheme>(others, offsets, dt);
    CHECK(all.states[l] == alone.states[l]);
    CHECK(all.x_bar[l] == alone.x_bar[l]);
    CHECK(all.p_bar[l] == alone.p_bar[l]);
  }
}

TEST_CASE("Adaptive::step_sampled: pullback equals dual numbers with substeps and times held") {
  check_pullback_of_samples<Dopri5>();
  check_pullback_of_samples<Sdirk4>();
}

TEST_CASE(
    "Adaptive: 300 samples of a step in lanes of different substeps are those of the motion") {
  check_orbits<Dopri5>();
  check_orbits<Sdirk4>();
}

TEST_CASE("Adaptive: a step that fails has the samples before that place") {
  // A fall into the centre takes π/√8 = 1.11 s.
  const Sampled out = sample_orbits<Dopri5>({{1, 0, 0, 0}}, {0.5, 1.0, 1.5}, 2);
  CHECK(!std::isfinite(out.x_next[0][0]));
  CHECK(std::isfinite(out.states[0][0]));
  CHECK(std::isfinite(out.states[0][4]));
}

}  // namespace cycloid::adaptive_samples_test
