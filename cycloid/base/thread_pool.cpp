#include "cycloid/base/thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "cycloid/base/core_count.h"
#include "cycloid/base/error.h"

namespace cycloid::inline base {

namespace {

// The steady clock at the resolution of the scheduler's tick, which is enough here and costs less.
std::chrono::nanoseconds coarse_now() {
#if defined(CLOCK_MONOTONIC_COARSE)
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
#else
  return std::chrono::steady_clock::now().time_since_epoch();
#endif
}

constexpr std::size_t kNoIndex = SIZE_MAX;

// The token of the work this thread is in, or null; and the threads that a parallel_for inside it
// may use.
thread_local const StopToken* current_token = nullptr;
thread_local int own_threads = 1;

// Forks that this process has been born from since it loaded us. A job begun before the last one
// has lost its helpers.
std::atomic<int> forks{0};

// One call of parallel_for. It lives on the stack of its caller.
struct Job {
  Job(std::size_t n, ParallelWork w, const KeepGoing& k, int each)
      : count(n), work(w), keep_going(k), threads_each(each) {
    if (keep_going) last_asked = coarse_now();
  }

  const std::size_t count;
  const ParallelWork work;
  const KeepGoing& keep_going;
  const int threads_each;  // of a call of work
  const StopToken* const outer = current_token;
  const int born_after = forks.load();

  std::atomic<std::size_t> next{0};           // the next index to begin
  std::atomic<bool> stop{false};              // everyone is asked to stop
  std::atomic<std::size_t> failed{kNoIndex};  // the lowest index that threw
  std::mutex error_mutex;
  std::exception_ptr error;  // what it threw

  // Of the calling thread.
  std::chrono::nanoseconds last_asked{0};
  std::exception_ptr refusal;  // what keep_going threw

  // Guarded by the pool's mutex.
  int open = 0;    // helpers that may still join
  int joined = 0;  // helpers that have
  int active = 0;  // helpers at work
  std::condition_variable idle;
  std::fenv_t environment;  // the caller's

  void fail(std::size_t index, std::exception_ptr thrown) {
    const std::lock_guard lock(error_mutex);
    if (index >= failed.load()) return;
    failed.store(index);
    error = std::move(thrown);
  }

  // On the calling thread: passes on that the outer work, or the user, wants to stop.
  void ask_user() {
    if (outer != nullptr && outer->stop_requested()) stop.store(true);
    if (!keep_going || stop.load()) return;
    if (coarse_now() - last_asked < kPollInterval) return;
    try {
      if (!keep_going()) stop.store(true);
    } catch (...) {
      refusal = std::current_exception();
      stop.store(true);
    }
    last_asked = coarse_now();
  }

  void rethrow() const {
    if (refusal) std::rethrow_exception(refusal);
    if (stop.load()) throw Interrupted("stopped, as asked, before the work was complete");
    if (error) std::rethrow_exception(error);
  }
};

// One worker's part in a job, and what its StopToken refers to.
struct Turn {
  Job& job;
  const int worker;
  std::size_t index = 0;

  bool should_stop() {
    if (worker == 0) job.ask_user();
    return job.stop.load(std::memory_order_relaxed) ||
           index > job.failed.load(std::memory_order_relaxed);
  }
};

// Begins indices until there are none left, or none wanted. Worker 0 is the calling thread.
void take_turns(Job& job, int worker) {
  Turn turn{job, worker};
  const StopToken token([](void* t) { return static_cast<Turn*>(t)->should_stop(); }, &turn);
  const StopToken* const outer = std::exchange(current_token, &token);
  const int outer_threads = std::exchange(own_threads, job.threads_each);
  while (true) {
    // Indices begin in order, so whatever has not begun lies behind the one that failed.
    if (turn.should_stop() || job.failed.load() != kNoIndex) break;
    turn.index = job.next.fetch_add(1);
    if (turn.index >= job.count) break;
    try {
      job.work.call(job.work.function, turn.index, worker, token);
    } catch (...) {
      job.fail(turn.index, std::current_exception());
    }
  }
  current_token = outer;
  own_threads = outer_threads;
}

// Signals that are meant for the process stay with the user's threads; those that a thread causes
// itself, and the profiler's, stay with the thread.
class ScopedSignalBlock {
 public:
  ScopedSignalBlock() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      sigdelset(&blocked, own);
    pthread_sigmask(SIG_SETMASK, &blocked, &previous_);
  }
  ~ScopedSignalBlock() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }
  ScopedSignalBlock(const ScopedSignalBlock&) = delete;
  ScopedSignalBlock& operator=(const ScopedSignalBlock&) = delete;

 private:
  sigset_t previous_;
};

class Pool {
 public:
  explicit Pool(Pool* left_behind) : left_behind_(left_behind) {}

  // Works on `job`, with up to `helpers` helpers, until it is done.
  void run(Job& job, int helpers) {
    publish(job, helpers);
    take_turns(job, 0);
    require_same_process(job);
    std::unique_lock lock(mutex_);
    job.open = 0;
    while (job.active > 0) {
      // Nobody to ask: neither the user nor the work around.
      if (!job.keep_going && job.outer == nullptr) {
        job.idle.wait(lock);
        continue;
      }
      job.idle.wait_for(lock, kPollInterval);
      lock.unlock();
      job.ask_user();
      require_same_process(job);
      lock.lock();
    }
    std::erase(jobs_, &job);
  }

  // At exit: asks all work to stop and joins the helpers.
  void close() {
    std::vector<std::thread> helpers;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      for (Job* job : jobs_) job->stop.store(true);
      helpers.swap(helpers_);
    }
    wake_.notify_all();
    for (std::thread& helper : helpers) {
      // Work may call exit() itself.
      if (helper.get_id() == std::this_thread::get_id()) helper.detach();
      else helper.join();
    }
  }

 private:
  void publish(Job& job, int helpers) {
    std::fegetenv(&job.environment);
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      int awaited = 0;  // helpers that other jobs still wait for
      for (const Job* other : jobs_) awaited += other->open;
      start(busy_ + awaited + helpers);
      jobs_.push_back(&job);
      job.open = helpers;
    }
    wake_.notify_all();
  }

  // Sees to it that there are `count` helpers, or as many as the system allows.
  void start(int count) {
    if (static_cast<int>(helpers_.size()) >= count) return;
    const ScopedSignalBlock block;
    try {
      while (static_cast<int>(helpers_.size()) < count) helpers_.emplace_back(&Pool::help, this);
    } catch (const std::system_error&) {
    }
  }

  void help() {
    std::unique_lock lock(mutex_);
    while (true) {
      Job* job = nullptr;
      wake_.wait(lock, [&] { return closed_ || (job = open_job()) != nullptr; });
      if (closed_) return;
      --job->open;
      ++job->active;
      ++busy_;
      const int worker = ++job->joined;
      lock.unlock();
      std::fesetenv(&job->environment);
      take_turns(*job, worker);
      lock.lock();
      --busy_;
      if (--job->active == 0) job->idle.notify_one();  // under the lock: the job may end at once
    }
  }

  Job* open_job() const {
    for (Job* job : jobs_)
      if (job->open > 0) return job;
    return nullptr;
  }

  static void require_same_process(const Job& job) {
    if (job.born_after != forks.load())
      throw Error(
          "a process that was forked inside parallel_for cannot finish it, for its helpers stayed "
          "in the parent; fork outside, or end the child with _exit");
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Job*> jobs_;  // in flight, oldest first
  std::vector<std::thread> helpers_;
  int busy_ = 0;  // helpers at work
  bool closed_ = false;
  Pool* const left_behind_;  // by a fork: kept reachable, never used
};

// Never destroyed, so that it is there for whoever calls last; close() ends its threads.
std::atomic<Pool*> pool{nullptr};
std::atomic<Pool*> left_behind{nullptr};
std::atomic<bool> exiting{false};

void close_at_exit() {
  exiting.store(true);
  if (Pool* known = pool.load()) known->close();
}

// The child has none of the threads, and locks in any state: it leaves the pool alone.
void forget_in_child() {
  if (Pool* const parents = pool.exchange(nullptr)) left_behind.store(parents);
  forks.fetch_add(1);
}

Pool& the_pool() {
  Pool* known = pool.load();
  if (known != nullptr) return *known;
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) {
    pthread_atfork(nullptr, nullptr, forget_in_child);
    std::atexit(close_at_exit);
  }
  Pool* const fresh = new Pool(left_behind.load());
  if (pool.compare_exchange_strong(known, fresh)) return *fresh;
  delete fresh;
  return *known;
}

}  // namespace

void parallel_for(std::size_t count, int threads, ParallelWork work, const KeepGoing& keep_going) {
  if (threads < 0 || threads > kMaxThreads)
    throw Error(message("expected a number of threads from 1 to ", kMaxThreads,
                        ", or 0 for the default, got ", threads));
  if (count == 0) return;
  if (threads == 0) threads = default_threads();
  if (current_token != nullptr) threads = std::min(threads, own_threads);
  const int workers = static_cast<int>(std::min<std::size_t>(count, threads));
  Job job(count, work, keep_going, threads / workers);
  if (workers > 1 && !exiting.load()) the_pool().run(job, workers - 1);
  else take_turns(job, 0);
  job.rethrow();
}

}  // namespace cycloid::inline base
