#include "cycloid/adjoint/engine/alike.h"

#include <numeric>
#include <span>

#include "cycloid/adjoint/engine/sweep.h"

namespace cycloid::inline adjoint {
namespace {

// What the chunks work at when they are filled in this order: the things that keys name, each once
// for all lanes of a chunk.
std::size_t work_in(std::span<const std::int64_t> order, std::span<const std::uint64_t> keys,
                    int lanes) {
  std::size_t work = 0;
  std::vector<std::uint64_t> things;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::uint64_t rest = keys[static_cast<std::size_t>(order[i])]; rest != 0; rest <<= 16) {
      if (rest >> 48 != 0) things.push_back(rest >> 48);
    }
    if ((i + 1) % static_cast<std::size_t>(lanes) != 0 && i + 1 < order.size()) continue;
    std::sort(things.begin(), things.end());
    work += static_cast<std::size_t>(std::unique(things.begin(), things.end()) - things.begin());
    things.clear();
  }
  return work;
}

}  // namespace

template <class T>
void put_alike_together(Run<T>& run, const KeepGoing& keep_going) {
  const StepperSizes& s = run.stepper->sizes();
  if (!s.has_work_keys || run.chunks() < 2 || run.steps < kWorthOrdering || run.x0_rows == 1 ||
      run.pair_width > 0) {
    return;
  }
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(run.chunks() * s.lanes));
  for_each_task(
      run, run.chunks(), keep_going,
      [&](std::int64_t chunk, SweepBuffers<T>& buffers, const StopToken&) {
        const LaneMap map = run.map(chunk);
        gather(map, run.parameters.data(), run.parameter_stride(), 0, s.parameters,
               buffers.parameters.data());
        std::vector<const T*> arrays;
        run.point_to_arrays(map.environment(0), arrays);
        run.stepper->begin({buffers.parameters.data(), arrays.data()}, *buffers.workspace);
        gather(map, run.x0.data(), run.x0_stride(), 0, s.state, buffers.state.data());
        std::fill_n(buffers.inputs.data(), s.input * s.lanes, T(0));
        if (run.control_rows > 0) {
          gather(map, run.controls.data(), run.control_stride(), 0, s.input, buffers.inputs.data());
        }
        run.stepper->work_keys({buffers.state.data(), buffers.inputs.data(), 0, run.t0},
                               keys.data() + chunk * s.lanes, *buffers.workspace);
      });
  std::vector<std::int64_t> given(static_cast<std::size_t>(run.batch));
  std::iota(given.begin(), given.end(), 0);
  run.order = given;
  std::stable_sort(run.order.begin(), run.order.end(), [&](std::int64_t a, std::int64_t b) {
    return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)];
  });
  if (3 * work_in(given, keys, s.lanes) <= 4 * work_in(run.order, keys, s.lanes)) run.order.clear();
}

template void put_alike_together(Run<float>&, const KeepGoing&);
template void put_alike_together(Run<double>&, const KeepGoing&);

}  // namespace cycloid::inline adjoint
