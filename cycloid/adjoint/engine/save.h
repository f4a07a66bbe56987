// Which states of a rollout the user gets: all, the last, every k-th, or a list of steps.
#pragma once

#include <cstdint>
#include <vector>

namespace cycloid::inline adjoint {

class Save {
 public:
  static Save all() { return Save(Kind::all, 0, {}); }
  static Save last() { return Save(Kind::last, 0, {}); }
  // Steps 0, k, 2k, …
  static Save every(std::int64_t k) { return Save(Kind::every, k, {}); }
  // Strictly increasing, each within 0…T; -1 means T, -2 means T-1, …
  static Save at(std::vector<std::int64_t> steps) { return Save(Kind::at, 0, std::move(steps)); }

  // The saved steps of a run of T steps, increasing. Throws Error when they do not exist.
  std::vector<std::int64_t> steps(std::int64_t T) const;

 private:
  enum class Kind { all, last, every, at };
  Save(Kind kind, std::int64_t k, std::vector<std::int64_t> list)
      : kind_(kind), k_(k), list_(std::move(list)) {}
  Kind kind_;
  std::int64_t k_;
  std::vector<std::int64_t> list_;
};

}  // namespace cycloid::inline adjoint
