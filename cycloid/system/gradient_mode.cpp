#include "cycloid/system/gradient_mode.h"

#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline system {
namespace {

void check_mode(const ExactGradient&) {}

void check_mode(const FromDistance& mode) {
  if (!(mode.width > 0) || !std::isfinite(mode.width)) {
    throw Error(message("FromDistance: the width [m] must be positive; got ", mode.width));
  }
}

void check_mode(const Smoothed& mode) {
  if (!(mode.sigma > 0) || !std::isfinite(mode.sigma)) {
    throw Error(message("Smoothed: sigma must be positive; got ", mode.sigma));
  }
  if (mode.samples < 2) {
    throw Error(message("Smoothed: at least two samples are needed to know a variance; got ",
                        mode.samples));
  }
}

}  // namespace

void check(const GradientMode& mode) {
  std::visit([](const auto& m) { check_mode(m); }, mode);
}

}  // namespace cycloid::inline system
