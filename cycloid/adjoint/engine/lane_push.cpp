#include <cmath>

#include "cycloid/adjoint/engine/lane_engine.h"
#include "cycloid/adjoint/engine/sweep.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

// A step's tangent by a pullback for each row, for steppers that carry something on: along the run
// what they carry is at hand, which a step that is linearised alone begins without. Cotangents of
// arrays are those of all lanes, so that lanes then go one after another.
class RowPush {
 public:
  RowPush(const StepperSizes& s)
      : s_(s),
        one_(numbers(s.tangent)),
        x_bar_(numbers(s.tangent)),
        u_bar_(numbers(s.input)),
        p_bar_(numbers(s.parameters)),
        p_before_(numbers(s.parameters)) {}

  void push(const Stepper<double>& stepper, Sweep<double>& sweep, const StepInput<double>& in,
            const StepRecord& record, const StepTangents<double>& along, double* d_next,
            StepWorkspace& workspace) {
    if (!along.arrays)
      return push_lanes(stepper, in, record, along, 0, s_.lanes, d_next, workspace);
    const std::unique_ptr<bool[]> left_out(new bool[static_cast<std::size_t>(s_.lanes)]);
    std::vector<double*> bars;
    arrays_.clear();
    for (const std::int64_t n : s_.arrays) arrays_.emplace_back(static_cast<std::size_t>(n));
    for (std::vector<double>& array : arrays_) bars.push_back(array.data());
    for (int l = 0; l < s_.lanes; ++l) {
      for (int other = 0; other < s_.lanes; ++other) left_out[other] = other != l;
      sweep.begin(bars.data(), left_out.get());
      push_lanes(stepper, in, record, along, l, l + 1, d_next, workspace);
    }
    sweep.begin();
  }

 private:
  std::size_t numbers(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(s_.lanes);
  }

  void push_lanes(const Stepper<double>& stepper, const StepInput<double>& in,
                  const StepRecord& record, const StepTangents<double>& along, int first, int last,
                  double* d_next, StepWorkspace& workspace) {
    const int W = s_.lanes;
    StepInput<double> asked = in;
    asked.wants_parameters = along.p != nullptr;
    if (along.p) stepper.finish(workspace, p_before_.data());
    for (int i = 0; i < s_.tangent; ++i) {
      for (const LaneBuffer<double>* bar : {&one_, &x_bar_, &u_bar_}) {
        std::fill_n(bar->data(), bar->bytes() / sizeof(double), 0.0);
      }
      for (std::vector<double>& array : arrays_) std::fill(array.begin(), array.end(), 0.0);
      std::fill_n(one_.data() + i * W, W, 1.0);
      stepper.pullback(asked, record, one_.data(), x_bar_.data(), u_bar_.data(), workspace);
      if (along.p) stepper.finish(workspace, p_bar_.data());
      for (int l = first; l < last; ++l) d_next[i * W + l] = product(along, l);
      std::swap(p_before_, p_bar_);
    }
  }

  // One row of the Jacobians with the direction, in lane l.
  double product(const StepTangents<double>& along, int l) const {
    double sum = 0;
    const auto add = [&](const LaneBuffer<double>& bar, const double* tan, int count) {
      for (int i = l; i < count * s_.lanes; i += s_.lanes) sum += bar.data()[i] * tan[i];
    };
    add(x_bar_, along.x, s_.tangent);
    add(u_bar_, along.u, s_.input);
    for (int i = l; along.p && i < s_.parameters * s_.lanes; i += s_.lanes) {
      sum += (p_bar_.data()[i] - p_before_.data()[i]) * along.p[i];  // finish gives sums
    }
    for (std::size_t k = 0; k < arrays_.size(); ++k) {
      for (std::size_t i = 0; i < arrays_[k].size(); ++i) sum += arrays_[k][i] * along.arrays[k][i];
    }
    return sum;
  }

  const StepperSizes& s_;
  LaneBuffer<double> one_, x_bar_, u_bar_, p_bar_, p_before_;
  std::vector<std::vector<double>> arrays_;
};

// One chunk, by Stepper::pushforward; false where the stepper has none, and carries nothing on.
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
  RowPush rows(s);
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
      if (s.carry == 0) return false;
      rows.push(stepper, sweep, in, buffers.record, along, d_next.data(), *buffers.workspace);
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
