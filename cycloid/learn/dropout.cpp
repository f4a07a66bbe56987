#include "cycloid/learn/dropout.h"

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"

namespace cycloid::inline learn {
namespace {

constexpr std::uint64_t kMaskStream = 0x6d61736b;

// l of "NAME.weight<l>", or -1.
int layer_of(const std::string& name) {
  const std::size_t at = name.rfind(".weight");
  if (at == std::string::npos || at + 7 == name.size()) return -1;
  int l = 0;
  for (std::size_t i = at + 7; i < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9') return -1;
    l = 10 * l + (name[i] - '0');
  }
  return l;
}

class DropoutLoss final : public TrainingLoss {
 public:
  DropoutLoss(std::unique_ptr<TrainingLoss> of, Dropout dropout)
      : of_(std::move(of)), dropout_(std::move(dropout)) {}
  std::int64_t samples() const override { return of_->samples(); }
  void split(double share, std::vector<std::int64_t>& learn,
             std::vector<std::int64_t>& validate) const override {
    of_->split(share, learn, validate);
  }
  std::vector<double> own_numbers() const override { return of_->own_numbers(); }
  double value(std::span<const double> p, const LossCall& call,
               std::vector<double>* p_bar) override {
    if (call.step < 0) return of_->value(p, call, p_bar);
    const auto draw = static_cast<std::uint64_t>(call.step);
    const double loss = of_->value(dropout_.masked(p, draw), call, p_bar);
    if (p_bar && std::isfinite(loss)) dropout_.pull(*p_bar, draw);
    return loss;
  }

 private:
  std::unique_ptr<TrainingLoss> of_;
  Dropout dropout_;
};

}  // namespace

Dropout::Dropout(const System& system, double rate, std::uint64_t seed) : rate_(rate), seed_(seed) {
  if (!(rate >= 0 && rate < 1)) {
    throw Error(message("the rate of dropout must lie in [0, 1); got ", rate));
  }
  for (const Parameter& p : system.parameters().all()) {
    if (layer_of(p.name) < 1 || p.shape.size() != 2) continue;
    const int out = static_cast<int>(p.shape[0]), in = static_cast<int>(p.shape[1]);
    for (int j = 0; j < in; ++j) {
      std::vector<int>& unit = units_.emplace_back();
      for (int i = 0; i < out; ++i) unit.push_back(p.offset + i * in + j);
    }
  }
  if (units_.empty()) {
    throw Error(message("system \"", system.name(),
                        "\" has no network with hidden units; dropout leaves such units out"));
  }
}

void Dropout::scale(std::vector<double>& numbers, std::uint64_t draw) const {
  for (std::size_t j = 0; j < units_.size(); ++j) {
    RandomStream random(seed_ ^ kMaskStream, static_cast<std::uint32_t>(j), draw);
    const double mask = random.uniform() < rate_ ? 0 : 1 / (1 - rate_);
    for (const int i : units_[j]) numbers[static_cast<std::size_t>(i)] *= mask;  // (1)
  }
}

std::vector<double> Dropout::masked(std::span<const double> params, std::uint64_t draw) const {
  std::vector<double> out(params.begin(), params.end());
  scale(out, draw);
  return out;
}

void Dropout::pull(std::vector<double>& params_bar, std::uint64_t draw) const {
  scale(params_bar, draw);
}

std::vector<double> Dropout::directions(std::span<const double> params) const {
  const double size = std::sqrt(rate_ / (1 - rate_));
  std::vector<double> out(units_.size() * params.size(), 0.0);
  for (std::size_t j = 0; j < units_.size(); ++j) {
    for (const int i : units_[j]) {
      const auto at = static_cast<std::size_t>(i);
      out[j * params.size() + at] = size * params[at];  // (2)
    }
  }
  return out;
}

std::unique_ptr<TrainingLoss> dropout_loss(std::unique_ptr<TrainingLoss> of, Dropout dropout) {
  return std::make_unique<DropoutLoss>(std::move(of), std::move(dropout));
}

}  // namespace cycloid::inline learn
