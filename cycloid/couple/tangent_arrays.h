// TangentArrays: arrays of parameters with their tangents side by side, and their cotangents.
//
// A chunk in dual numbers has both apart (StepParameters); what is computed with numbers of
// Dual<double, 1> wants them together. Cotangents are added up, and handed over by flush.
#pragma once

#include <algorithm>

#include "cycloid/math/dual.h"
#include "cycloid/system/stepper.h"

namespace cycloid::inline couple {

class TangentArrays {
 public:
  using Tangent = Dual<double, 1>;

  explicit TangentArrays(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {
    std::size_t numbers = 0;
    for (const std::int64_t n : sizes_) numbers += static_cast<std::size_t>(n);
    values_.resize(numbers), bars_.resize(numbers);
    std::size_t next = 0;
    for (const std::int64_t n : sizes_) {
      value_places_.push_back(values_.data() + next);
      bar_places_.push_back(bars_.data() + next);
      next += static_cast<std::size_t>(n);
    }
  }
  TangentArrays(const TangentArrays&) = delete;

  // Those from the first on, and no cotangents yet.
  void take(const StepParameters<double>& p, int first) {
    bars_of_ = p.arrays_bar ? p.arrays_bar + first : nullptr;
    bars_tan_of_ = p.arrays_bar_tan ? p.arrays_bar_tan + first : nullptr;
    std::fill(bars_.begin(), bars_.end(), Tangent(0.0));
    Tangent* to = values_.data();
    for (std::size_t k = 0; k < sizes_.size(); ++k) {
      const double* const value = p.arrays[first + static_cast<int>(k)];
      const double* const tangent =
          p.arrays_tan ? p.arrays_tan[first + static_cast<int>(k)] : nullptr;
      for (std::int64_t i = 0; i < sizes_[k]; ++i, ++to) {
        to->value = value[i], to->tangent[0] = tangent ? tangent[i] : 0;
      }
    }
  }
  // Adds the cotangents to those of the chunk, and clears them.
  void flush() {
    const Tangent* from = bars_.data();
    for (std::size_t k = 0; k < sizes_.size() && bars_of_; ++k) {
      for (std::int64_t i = 0; i < sizes_[k]; ++i, ++from) {
        bars_of_[k][i] += from->value;
        if (bars_tan_of_) bars_tan_of_[k][i] += from->tangent[0];
      }
    }
    std::fill(bars_.begin(), bars_.end(), Tangent(0.0));
  }

  bool wanted() const { return bars_of_ != nullptr; }
  const Tangent* const* values() const { return value_places_.data(); }
  Tangent* const* bars() const { return bar_places_.data(); }

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<Tangent> values_, bars_;
  std::vector<const Tangent*> value_places_;
  std::vector<Tangent*> bar_places_;
  double* const* bars_of_ = nullptr;
  double* const* bars_tan_of_ = nullptr;
};

}  // namespace cycloid::inline couple
