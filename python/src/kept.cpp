#include "kept.h"

#include <utility>

namespace cycloid::python {

std::int64_t Shelf::put(std::any value) {
  const std::lock_guard lock(mutex_);
  values_.emplace(++last_, std::move(value));
  return last_;
}

void Shelf::drop(std::int64_t handle) {
  std::map<std::int64_t, std::any>::node_type dropped;  // ends after the lock
  const std::lock_guard lock(mutex_);
  dropped = values_.extract(handle);
}

KeptRuns::Runs::iterator KeptRuns::drop(Runs::iterator run, Dropped& dropped) {
  counts_.bytes -= run->second->bytes();
  counts_.runs -= 1;
  dropped.push_back(std::move(run->second));
  return runs_.erase(run);
}

std::uint64_t KeptRuns::put(std::shared_ptr<const Kept> run) {
  Dropped dropped;  // ends after the lock
  const std::lock_guard lock(mutex_);
  for (const std::uint64_t token : std::exchange(used_, {})) {
    if (const auto at = runs_.find(token); at != runs_.end()) drop(at, dropped);
  }
  while (!runs_.empty() && counts_.bytes + run->bytes() > budget_) {
    drop(runs_.begin(), dropped);
  }
  counts_.bytes += run->bytes();
  counts_.runs += 1;
  runs_.emplace(++last_, std::move(run));
  return last_;
}

void KeptRuns::drop_of(std::int64_t owner) {
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  for (auto at = runs_.begin(); at != runs_.end();) {
    at = at->second->owner() == owner ? drop(at, dropped) : std::next(at);
  }
}

void KeptRuns::drop_all() {
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  while (!runs_.empty()) drop(runs_.begin(), dropped);
}

std::uint64_t KeptRuns::set_budget(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return std::exchange(budget_, bytes);
}

KeptRuns::Counts KeptRuns::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::shared_ptr<const Kept> KeptRuns::at(std::uint64_t token) const {
  const std::lock_guard lock(mutex_);
  const auto at = runs_.find(token);
  return at == runs_.end() ? nullptr : at->second;
}

void KeptRuns::count(std::uint64_t token, bool found) {
  const std::lock_guard lock(mutex_);
  (found ? counts_.found : counts_.missed) += 1;
  if (found) used_.push_back(token);
}

// Never destroyed: a thread of XLA's may still be in a call when the program ends.
Shelf& shelf() {
  static Shelf& shelf = *new Shelf;
  return shelf;
}

KeptRuns& kept_runs() {
  static KeptRuns& runs = *new KeptRuns;
  return runs;
}

}  // namespace cycloid::python
