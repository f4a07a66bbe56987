// What one thread of a device does with an ObserveCall: it shows one environment.
//
// The thread's memory holds what the body carves and behind it [ computed values | u ].
#pragma once

#include "cycloid/base/host_device.h"
#include "cycloid/system/device_call.h"

namespace cycloid::inline device {

template <class T>
constexpr std::size_t observe_bytes(const ObserveCall<T>& c) {
  return c.body_bytes + sizeof(T) * static_cast<std::size_t>(c.computed + c.input);
}

// Pieces (place, from, count) of a thread's numbers, to its row of values.
template <class T>
CYCLOID_HD void hand_out(const int* pieces, int n, const T* from, T* row) {
  for (int i = 0; i < n; ++i, pieces += 3) {
    for (int k = 0; k < pieces[2]; ++k) row[pieces[0] + k] = from[pieces[1] + k];
  }
}

// Eyes(call, parameters, memory).look(x, u, t, values) computes what is not of the state.
template <class Eyes, class T>
CYCLOID_HD void run_observe(const ObserveCall<T>& c, std::int64_t e, std::byte* memory) {
  const T* const x = c.x + e * c.state;
  T* const row = c.values + e * c.size;
  hand_out(c.of_state, c.state_pieces, x, row);
  if (c.computed == 0) return;
  T* const values = reinterpret_cast<T*>(memory + c.body_bytes);
  T* const u = values + c.computed;
  for (int i = 0; i < c.input; ++i) u[i] = c.u ? c.u[e * c.control_stride + i] : T(0);
  Eyes eyes(c, c.params + e * c.parameter_stride, memory);
  eyes.look(x, u, static_cast<T>(c.t), values);
  hand_out(c.of_computed, c.computed_pieces, static_cast<const T*>(values), row);
}

// Of a System of which only the state is shown.
template <class T>
struct NoEyes {
  CYCLOID_HD NoEyes(const ObserveCall<T>&, const T*, std::byte*) {}
  CYCLOID_HD void look(const T*, const T*, T, T*) {}
};

}  // namespace cycloid::inline device
