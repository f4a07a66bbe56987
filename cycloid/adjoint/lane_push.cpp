#include <cmath>

#include "cycloid/adjoint/lane_engine.h"
#include "cycloid/adjoint/sweep.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

// One chunk, by Stepper::pushforward; false where the stepper has none.
bool push_chunk(const Run<double>& run, const RunTangents& tangents, std::int64_t chunk,
                SweepBuffers<double>& buffers, const StopToken& stop, const SavedTangents& saved) {
  const Stepper<double>& stepper = *run.stepper;
  const StepperSizes& s = stepper.sizes();
  const LaneMap map = run.map(chunk);
  const std::size_t W = static_cast<std::size_t>(s.lanes);
  LaneBuffer<double> u_tan(W * static_cast<std::size_t>(s.input)),
      p_tan(tangents.params.none() ? 0 : W * static_cast<std::size_t>(s.parameters)),
      d(W * static_cast<std::size_t>(s.tangent)), d_next(W * static_cast<std::size_t>(s.tangent));
  std::vector<double> row(saved.size()), row_tan(static_cast<std::size_t>(s.tangent));
  std::fill_n(u_tan.data(), W * static_cast<std::size_t>(s.input), 0.0);
  ChunkTape<double> no_tape(run);
  Sweep<double> sweep(run, no_tape, buffers, chunk, stop);
  gather(map, run.x0.data(), run.x0_stride(), 0, s.state, buffers.state.data());
  std::fill_n(buffers.state.data() + s.state * s.lanes, s.carry * s.lanes, 0.0);
  gather(map, tangents.start.numbers.data(), s.tangent, 0, s.tangent, d.data());
  if (!tangents.params.none()) {
    gather(map, tangents.params.numbers.data(), tangents.params.stride(), 0, s.parameters,
           p_tan.data());
  }
  StepTangents<double> along{d.data(), u_tan.data(), p_tan.data()};
  std::vector<const double*> arrays;
  if (!tangents.params.none() && !s.arrays.empty()) {
    const double* first = tangents.params.of(map.environment(0)) + s.parameters;
    for (const std::int64_t n : s.arrays) {
      arrays.push_back(first);
      first += n;
    }
    along.arrays = arrays.data();
  }
  std::fill_n(buffers.inputs.data(), W * static_cast<std::size_t>(s.input), 0.0);
  double *x = buffers.state.data(), *next = buffers.next_state.data();
  for (std::int64_t k = 0; k <= run.steps; ++k) {
    for (int l = 0; l < map.active; ++l) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = x[i * W + static_cast<std::size_t>(l)];
      for (std::size_t i = 0; i < row_tan.size(); ++i) {
        row_tan[i] = d.data()[i * W + static_cast<std::size_t>(l)];
      }
      saved.take(k, map.environment(l), row.data(), row_tan.data());
    }
    if (k == run.steps || stop.stop_requested()) break;
    if (run.control_rows > 0) {
      gather(map, run.controls.data(), run.control_stride(), k * s.input, s.input,
             buffers.inputs.data());
    }
    if (!tangents.controls.none()) {
      gather(map, tangents.controls.numbers.data(), tangents.controls.stride(), k * s.input,
             s.input, u_tan.data());
    }
    const StepInput<double> in{x, buffers.inputs.data(), k, run.t0};
    buffers.record.bytes = stepper.record_bytes();
    if (stepper.step(in, next, &buffers.record, *buffers.workspace) == StepStatus::non_finite) {
      for (int l = 0; l < map.active; ++l) {
        bool finite = true;
        for (std::size_t i = 0; i < row.size(); ++i) {
          finite = finite && std::isfinite(next[i * W + static_cast<std::size_t>(l)]);
        }
        if (finite) continue;
        const StepTrouble trouble = stepper.explain(in, l, *buffers.workspace);
        throw GradientError(message(
            "there is no pushforward through a step that failed: ",
            describe(Failure{map.environment(l), k, trouble.stage, trouble.body, trouble.reason})));
      }
    }
    along.x = d.data();
    if (!stepper.pushforward(in, buffers.record, along, d_next.data(), *buffers.workspace)) {
      return false;
    }
    std::swap(d, d_next);
    std::swap(x, next);
  }
  return true;
}

}  // namespace

std::int64_t LaneDoubleEngine::pair_width(const System& system) const {
  const auto& dual = system.steppers<double>().dual;
  return dual ? dual->sizes().lanes / 2 : 0;
}

bool LaneDoubleEngine::push(const Run<double>& run, const RunTangents& along,
                            const SavedTangents& saved, const KeepGoing& keep_going) const {
  std::vector<char> offered(static_cast<std::size_t>(run.chunks()), 0);
  for_each_task(run, run.chunks(), keep_going,
                [&](std::int64_t chunk, SweepBuffers<double>& buffers, const StopToken& stop) {
                  offered[static_cast<std::size_t>(chunk)] =
                      push_chunk(run, along, chunk, buffers, stop, saved);
                });
  return std::find(offered.begin(), offered.end(), 0) == offered.end();
}

}  // namespace cycloid::inline adjoint
