#include "cycloid/system/integrator/substep_log.h"

#include <doctest/doctest.h>

#include "cycloid/system/integrator/dopri5.h"
#include "cycloid/system/integrator/sdirk4.h"
#include "cycloid/system/laws/kepler.h"
#include "tests/support/law_steps.h"

namespace cycloid::substep_log_test {

using test::Numbers;

// Where an orbit stands after a step, and in how many substeps.
template <class Scheme>
std::pair<Numbers, double> take(Scheme scheme, SubstepLog& log, const Numbers& x, double t,
                                double h) {
  const Kepler law;
  const LawShape<Kepler> shape(law);
  test::StepBuffers<Scheme, Kepler, double> buffers(shape);
  const double mu = 1;
  log.begin_step(t);
  scheme.log = &log;
  const LawPoint<Kepler, double> at{law, shape, t, h, nullptr, &mu, buffers.memory()};
  scheme.step(at, x.data(), buffers.x_next.data(), buffers.record.data());
  return {buffers.x_next, buffers.record[0]};
}

TEST_CASE_TEMPLATE("SubstepLog: a run that follows takes the same substeps", Scheme, Dopri5,
                   Sdirk4) {
  const Numbers easy = {1, 0, 0, 1}, hard = {0.2, 0, 0, 2};
  const Scheme scheme{{1e-6, 1e-6}};
  SubstepLog log;
  const auto first = take(scheme, log, easy, 0, 1), second = take(scheme, log, hard, 1, 1);
  CHECK(second.second > 2 * first.second);
  log.follow();
  CHECK(take(scheme, log, easy, 0, 1) == first);
  // Another state, and a step that is longer and begins later, in as many substeps.
  CHECK(take(scheme, log, easy, 1.1, 1.01).second == second.second);
  log.follow();
  CHECK(take(scheme, log, hard, 0, 1).second == first.second);
}

TEST_CASE("SubstepLog: among the runs of a step, the nearest is followed") {
  SubstepLog log;
  log.begin_step(10);
  for (const double h : {1.0, 0.25}) {
    CHECK(log.substeps(10, h) == nullptr);
    log.add(h);
  }
  CHECK(log.substeps(10.25, 0.75) == nullptr);
  log.add(0.5);
  log.add(0.25);
  log.follow();
  log.begin_step(20);
  CHECK(*log.substeps(20, 0.9) == Numbers{1.0});
  CHECK(*log.substeps(20, 0.26) == Numbers{0.25});
  CHECK(*log.substeps(20.26, 0.74) == Numbers{0.5, 0.25});
}

TEST_CASE("SubstepLog: what was not recorded cannot be followed") {
  SubstepLog log;
  log.follow();
  log.begin_step(0);
  CHECK_THROWS_AS(log.substeps(0, 1), InternalError);
  SubstepLog idle;  // a step within which nothing ran
  idle.begin_step(0);
  idle.follow();
  idle.begin_step(0);
  CHECK_THROWS_AS(idle.substeps(0, 1), InternalError);
}

}  // namespace cycloid::substep_log_test
