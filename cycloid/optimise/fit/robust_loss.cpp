#include "cycloid/optimise/fit/robust_loss.h"

#include <cmath>

namespace cycloid::inline optimise {
namespace {

constexpr double kHuber = 1.345, kCauchy = 2.385;

}  // namespace

const char* name(Loss loss) {
  switch (loss) {
    case Loss::squared: return "squared";
    case Loss::huber: return "huber";
    case Loss::cauchy: return "cauchy";
  }
  return "unknown";
}

double loss_of(Loss loss, double r) {  // (1)
  const double a = std::abs(r);
  switch (loss) {
    case Loss::huber: return a <= kHuber ? 0.5 * r * r : kHuber * a - 0.5 * kHuber * kHuber;
    case Loss::cauchy: return 0.5 * kCauchy * kCauchy * std::log1p(r * r / (kCauchy * kCauchy));
    default: return 0.5 * r * r;
  }
}

double weight_of(Loss loss, double r) {  // (2)
  const double a = std::abs(r);
  switch (loss) {
    case Loss::huber: return a <= kHuber ? 1 : kHuber / a;
    case Loss::cauchy: return 1 / (1 + r * r / (kCauchy * kCauchy));
    default: return 1;
  }
}

}  // namespace cycloid::inline optimise
