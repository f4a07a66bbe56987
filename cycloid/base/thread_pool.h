// base/thread_pool.h: the same work on many indices, on several threads.
//
//   parallel_for(chunks, threads, [&](std::size_t chunk, int worker, const StopToken& stop) {
//     for (int t = 0; t < steps && !stop.stop_requested(); ++t) step(chunk, arenas[worker]);
//   });
//
// - Indices 0 … count−1 are begun in order and taken one at a time by whoever is free. The calling
//   thread works too. `worker` is below min(threads, count), and no two calls that run at the same
//   time have the same: it may choose an arena. Which worker gets which index is chance, so a
//   result that is to be the same every time depends on the index alone.
// - threads = 0 means default_threads() (core_count.h). Any number may be asked for; when the
//   system refuses a thread, fewer run.
// - When work throws, indices that have not begun are dropped, those behind it are asked to stop,
//   those before it finish, and the exception of the lowest index is rethrown here: the one that
//   a single thread would have met first.
// - `keep_going` (interrupt.h) is asked on the calling thread: between indices, whenever the work
//   of this thread looks at its StopToken, and while waiting for the others. When it answers
//   false everyone is asked to stop, and Interrupted is thrown; when it throws, that is rethrown.
// - Threads that are more than the indices are divided among the calls of work, threads / count for
//   each: inside work, a further parallel_for has these at most (one where indices are many), and
//   stops with the outer. A lone task has all of them.
// - Several threads of the user may call at once; they share the helpers.
// - Helpers are started when first needed, run in the floating-point environment of the caller,
//   take no signals, and sleep in between. After fork() the child starts its own; at exit they are
//   joined, and a later call runs on its own thread.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "cycloid/base/interrupt.h"

namespace cycloid::inline base {

// A reference to the work: callable with (index, worker, stop).
struct ParallelWork {
  void (*call)(void* function, std::size_t index, int worker, const StopToken& stop);
  void* function;
};

void parallel_for(std::size_t count, int threads, ParallelWork work,
                  const KeepGoing& keep_going = {});

// For any function of (index), (index, worker) or (index, worker, stop).
template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, ParallelWork>)
void parallel_for(std::size_t count, int threads, F&& function, const KeepGoing& keep_going = {}) {
  using Function = std::remove_reference_t<F>;
  const auto call = [](void* target, std::size_t index, int worker, const StopToken& stop) {
    Function& f = *static_cast<Function*>(target);
    if constexpr (std::is_invocable_v<Function&, std::size_t, int, const StopToken&>)
      f(index, worker, stop);
    else if constexpr (std::is_invocable_v<Function&, std::size_t, int>) f(index, worker);
    else f(index);
  };
  void* const target = const_cast<void*>(static_cast<const void*>(std::addressof(function)));
  parallel_for(count, threads, ParallelWork{call, target}, keep_going);
}

}  // namespace cycloid::inline base
