#include "cycloid/adjoint/engine/run.h"

#include <doctest/doctest.h>

#include <set>

#include "cycloid/system/systems.h"

namespace cycloid::run_test {

Run<double> run_of(std::int64_t batch, std::int64_t steps) {
  Run<double> run(systems::pendulum());
  run.stepper = run.system.steppers<double>().packed.get();
  run.batch = batch;
  run.steps = steps;
  return run;
}

TEST_CASE("Run: chunks cover the batch, and a shared row has no stride") {
  Run<double> run = run_of(1, 10);
  const int W = run.lanes();
  CHECK(W > 1);
  CHECK(run.chunks() == 1);
  run.batch = W;
  CHECK(run.chunks() == 1);
  run.batch = W + 1;
  CHECK(run.chunks() == 2);
  CHECK(run.map(1).active == 1);

  CHECK(run.x0_stride() == 0);
  CHECK(run.control_stride() == 0);
  CHECK(run.parameter_stride() == 0);
  run.start_rows = run.control_rows = run.parameter_rows = run.batch;
  CHECK(run.x0_stride() == 2);
  CHECK(run.control_stride() == 10 * 1);
  CHECK(run.parameter_stride() == 5);
  run.control_rows = 1;
  CHECK(run.control_stride() == 0);
}

TEST_CASE("Tape: every state and record of every chunk has a place of its own") {
  Run<double> run = run_of(20, 3);
  run.plan.keep_records = true;
  run.plan.chunk_record_bytes = INT64_MAX;
  ChunkTape<double> tape(run);
  const StepperSizes& s = run.stepper->sizes();
  const std::int64_t record_numbers = s.record * s.lanes;
  std::set<double*> numbers;
  for (std::int64_t chunk = 0; chunk < run.chunks(); ++chunk) {
    for (std::int64_t k = 0; k < 3; ++k) {
      for (int i = 0; i < s.state * s.lanes; ++i) numbers.insert(tape.state(chunk, k) + i);
      const StepRecord* const room = tape.records(chunk).offer(run.stepper->record_bytes());
      REQUIRE(room != nullptr);
      for (int i = 0; i < record_numbers; ++i) numbers.insert(room->numbers<double>() + i);
      tape.records(chunk).keep();
    }
    CHECK(tape.records(chunk).offer(run.stepper->record_bytes()) == nullptr);
  }
  CHECK(numbers.size() ==
        static_cast<std::size_t>(run.chunks() * 3 * (s.state * s.lanes + record_numbers)));
  CHECK(tape.records_kept() == 3 * run.chunks());
  CHECK(tape.failed_step ==
        std::vector<std::int64_t>(static_cast<std::size_t>(run.chunks() * s.lanes), -1));
}

}  // namespace cycloid::run_test
