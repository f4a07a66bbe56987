#include "cycloid/device/host_api.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "cycloid/device/heat_run.h"
#include "cycloid/device/kernels.h"
#include "cycloid/device/robot_eyes.h"
#include "cycloid/device/split_run.h"

namespace cycloid::inline device {
namespace {

constexpr std::int64_t kHostBytes = std::int64_t{1} << 28;  // what this device says that it has

std::string& last_error() {
  static thread_local std::string text = "not known to the kernels on this machine";
  return text;
}
const char* host_error() { return last_error().c_str(); }
const char* host_name() { return "kernels on the host"; }

int host_allocate(std::size_t bytes, void** out) {
  *out = std::malloc(bytes);
  if (*out) std::memset(*out, 0xa5, bytes);  // nothing may depend on what is there
  return *out ? 0 : 1;
}
int host_release(void* memory) {
  std::free(memory);
  return 0;
}
int host_copy(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  return 0;
}
int host_same(const void* a, const void* b, std::size_t bytes, int* out) {
  *out = std::memcmp(a, b, bytes) == 0;
  return 0;
}
int host_clear(void* memory, std::size_t bytes) {
  std::memset(memory, 0, bytes);
  return 0;
}
int host_free_bytes(std::int64_t* out) {
  *out = kHostBytes;
  return 0;
}
int host_wait() { return 0; }
void host_use_stream(void*) {}

template <class Body, class T>
void run_all(const StepCall<T>& call, Way way) {
  const std::size_t bytes = call.body_bytes + ThreadArrays<T>::bytes(call);
  std::vector<std::max_align_t> memory(bytes / sizeof(std::max_align_t) + 1);
  std::byte* const at = reinterpret_cast<std::byte*>(memory.data());
  for (std::int64_t e = 0; e < call.count; ++e) {
    std::memset(at, 0xa5, bytes);  // a thread of a card finds anything there
    if (way == Way::forward) run_forward<Body>(call, e, at);
    if (way == Way::back) run_backward<Body>(call, e, at);
    for (int piece = 0; way == Way::linearise && piece < call.pieces; ++piece) {
      std::memset(at, 0xa5, bytes);
      run_linearise<Body>(call, e, piece, at);
    }
  }
}

// A step in three kernels: warps are emulated lane by lane.
template <class T>
void run_split(const StepCall<T>& call) {
  std::vector<std::max_align_t> thread(
      (call.body_bytes + ThreadArrays<T>::bytes(call)) / sizeof(std::max_align_t) + 1),
      shared(call.solve.warp[1] / sizeof(std::max_align_t) + 1);
  const auto bytes_of = [](std::vector<std::max_align_t>& memory) {
    std::byte* const at = reinterpret_cast<std::byte*>(memory.data());
    std::memset(at, 0xa5, memory.size() * sizeof(std::max_align_t));
    return at;
  };
  for (std::int64_t k = 0; k < call.steps; ++k) {
    for (std::int64_t e = 0; e < call.count; ++e) {
      run_pose(call, k, e, bytes_of(thread));
      for (int i = 0; i < 2; ++i) {
        run_solve(call, e, Warp{}, call.solve.rows[i], i > 0 ? call.solve.rows[0] : -1,
                  bytes_of(shared));
      }
      run_move(call, k, e, bytes_of(thread));
    }
  }
}

template <class T>
int run_host(int kernel, const StepCall<T>& call, Way way) {
  if (kernel == kSmoothRobot) return run_all<RobotBody<T, false>>(call, way), 0;
  if (kernel == kConstrainedRobot && way == Way::forward && call.mail) return run_split(call), 0;
  if (kernel == kConstrainedRobot) return run_all<RobotBody<T, true>>(call, way), 0;
  return with_law_body<T>(kernel,
                          [&](auto tag) { run_all<typename decltype(tag)::Body>(call, way); })
             ? 0
             : 1;
}

// Who runs kernels of cells here.
struct HostCells {
  template <class Kernel>
  void run(std::int64_t blocks, const Kernel& kernel) {
    double shared[kCellShared];
    std::memset(shared, 0xa5, sizeof(shared));
    for (std::int64_t b = 0; b < blocks; ++b) kernel(CellBlock{b, blocks, shared});
  }
  void copy(double* to, const double* from, std::int64_t n) { fetch(to, from, n); }
  void clear(double* to, std::int64_t n) {
    std::memset(to, 0, static_cast<std::size_t>(n) * sizeof(double));
  }
  template <class X>
  void fetch(X* to, const X* from, std::int64_t n) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(X));
  }
  template <class X>
  void store(X* to, const X* from, std::int64_t n) {
    fetch(to, from, n);
  }
  const char* error() const { return nullptr; }
};

int run_heat(const StepCall<double>& call, Way way) {
  if (way == Way::linearise) {
    last_error() = "heat has no kernel for Jacobians";
    return 1;
  }
  HostCells cells;
  HeatRun<HostCells> run(call, cells);
  const char* const words = way == Way::forward ? run.forward() : run.backward();
  if (!words) return 0;
  last_error() = words;
  return 1;
}

int run_either(int kernel, const void* call, Way way) {
  if (kernel == kHeat + kDoubleKernels) {
    return run_heat(*static_cast<const StepCall<double>*>(call), way);
  }
  if (kernel >= kDoubleKernels) {
    return run_host(kernel - kDoubleKernels, *static_cast<const StepCall<double>*>(call), way);
  }
  return run_host(kernel, *static_cast<const StepCall<float>*>(call), way);
}
int host_forward(int kernel, const void* call) { return run_either(kernel, call, Way::forward); }
int host_backward(int kernel, const void* call) { return run_either(kernel, call, Way::back); }
int host_linearise(int kernel, const void* call) {
  return run_either(kernel, call, Way::linearise);
}

template <class Eyes, class T>
void observe_all(const ObserveCall<T>& call) {
  const std::size_t bytes = observe_bytes(call);
  std::vector<std::max_align_t> memory(bytes / sizeof(std::max_align_t) + 1);
  std::byte* const at = reinterpret_cast<std::byte*>(memory.data());
  for (std::int64_t e = 0; e < call.count; ++e) {
    std::memset(at, 0xa5, bytes);
    run_observe<Eyes>(call, e, at);
  }
}
template <class T>
int observe_host(const ObserveCall<T>& call) {
  if (call.computed > 0) return observe_all<RobotEyes<T>>(call), 0;
  return observe_all<NoEyes<T>>(call), 0;
}
int host_observe(int kernel, const void* call) {
  if (kernel >= kDoubleKernels) return observe_host(*static_cast<const ObserveCall<double>*>(call));
  return observe_host(*static_cast<const ObserveCall<float>*>(call));
}

int host_sum(const SumCall* call) {
  const std::int64_t blocks = (call->count + kSumBlock - 1) / kSumBlock;
  for (std::int64_t i = 0; i < call->numbers; ++i) {
    for (std::int64_t b = 0; b < blocks; ++b) sum_block(*call, i, b);
  }
  return 0;
}

constexpr DeviceApi kHostApi{kDeviceVersion, host_error,      host_name,       host_allocate,
                             host_release,   host_copy,       host_copy,       host_copy,
                             host_same,      host_clear,      host_free_bytes, host_forward,
                             host_backward,  host_linearise,  host_observe,    host_sum,
                             host_wait,      host_use_stream, host_wait,       kHostMemory};
[[maybe_unused]] const bool kInUse = use_host_api(kHostApi);

}  // namespace
}  // namespace cycloid::inline device
