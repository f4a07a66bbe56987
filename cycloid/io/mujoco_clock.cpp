#include "cycloid/io/mujoco_clock.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "cycloid/io/compile.h"
#include "cycloid/io/mujoco_library.h"

namespace cycloid::inline io {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

MujocoTimes time_mujoco(const std::string& path_or_xml, int steps, int turns) {
  const CompiledModel model = compile_model(path_or_xml, {});
  const MujocoLibrary& mujoco = mujoco_library();
  const std::unique_ptr<mjData, decltype(mujoco.mj_deleteData)> data(
      mujoco.mj_makeData(model.get()), mujoco.mj_deleteData);
  const std::size_t n = static_cast<std::size_t>(2 * model->nv + model->na);
  std::vector<mjtNum> A(n * n), B(n * static_cast<std::size_t>(model->nu));
  MujocoTimes out;
  out.step = out.differences = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < turns; ++turn) {
    mujoco.mj_resetData(model.get(), data.get());
    double touching = 0;
    const Clock::time_point start = Clock::now();
    for (int k = 0; k < steps; ++k) {
      mujoco.mj_step(model.get(), data.get());
      touching += data->ncon;
    }
    out.step = std::min(out.step, since(start) / steps);
    out.contacts = touching / steps;
    const Clock::time_point again = Clock::now();
    mujoco.mjd_transitionFD(model.get(), data.get(), 1e-6, 0, A.data(), B.data(), nullptr, nullptr);
    out.differences = std::min(out.differences, since(again));
  }
  return out;
}

}  // namespace cycloid::inline io
