// kept.h: what a foreign call leaves behind for a later one, found again by a number.
//
// Arrays of a framework carry numbers only. Systems are named by handles, which end with the Python
// object; what a forward call computed is named by a token, which it gives out among its results,
// and which the pullback of that call shows again.
//
// A token is a hint. What it names may be gone when it is asked for: then the forward run is made
// once more, and its gradient is bitwise the same. Runs are dropped
// - when the next one comes, if they have been used; until then another pullback finds them;
// - the oldest first, when all together take more than a budget; the newest always stays;
// - when their system is.
// Nothing is destroyed under a lock here: the end of a law written in Python takes the
// interpreter's.
#pragma once

#include <any>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "cycloid/adjoint/engine/memory.h"

namespace cycloid::python {

// Values by handles, which are given out as 1, 2, 3, …: a program that does the same has the same.
class Shelf {
 public:
  std::int64_t put(std::any value);
  void drop(std::int64_t handle);
  // None when it was dropped.
  template <class T>
  std::optional<T> find(std::int64_t handle) const {
    const std::lock_guard lock(mutex_);
    const auto at = values_.find(handle);
    if (at == values_.end()) return std::nullopt;
    return std::any_cast<T>(at->second);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::any> values_;
  std::int64_t last_ = 0;
};

// What a pullback can use again.
class Kept {
 public:
  Kept(std::int64_t owner, std::uint64_t bytes) : owner_(owner), bytes_(bytes) {}
  virtual ~Kept() = default;
  std::int64_t owner() const { return owner_; }  // the handle of what it was made from
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::int64_t owner_;
  std::uint64_t bytes_;
};

class KeptRuns {
 public:
  struct Counts {
    std::uint64_t runs = 0, bytes = 0;    // that are here
    std::uint64_t found = 0, missed = 0;  // when they were asked for
  };

  std::uint64_t put(std::shared_ptr<const Kept> run);
  void drop_of(std::int64_t owner);
  void drop_all();
  std::uint64_t set_budget(std::uint64_t bytes);  // returns what it was
  Counts counts() const;

  // The run of this token, if it is still here and `is_it` says so; else null.
  template <class T, class IsIt>
  std::shared_ptr<const T> find(std::uint64_t token, const IsIt& is_it) {
    auto run = std::dynamic_pointer_cast<const T>(at(token));
    if (run && !is_it(*run)) run = nullptr;
    count(token, run != nullptr);
    return run;
  }

 private:
  using Runs = std::map<std::uint64_t, std::shared_ptr<const Kept>>;  // the oldest first
  using Dropped = std::vector<std::shared_ptr<const Kept>>;
  std::shared_ptr<const Kept> at(std::uint64_t token) const;
  void count(std::uint64_t token, bool found);
  Runs::iterator drop(Runs::iterator run, Dropped& dropped);

  mutable std::mutex mutex_;
  Runs runs_;
  std::vector<std::uint64_t> used_;
  std::uint64_t last_ = 0;
  std::uint64_t budget_ = 2 * kAutomaticBudget;  // [bytes]
  Counts counts_;
};

// Those of this process. They outlive every thread.
Shelf& shelf();
KeptRuns& kept_runs();

}  // namespace cycloid::python
