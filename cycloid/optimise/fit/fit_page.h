// A fit as a page: the numbers with their intervals, what is weak, what was measured against what
// the fitted system shows, and its residuals.
#pragma once

#include <string>
#include <vector>

#include "cycloid/optimise/identify.h"
#include "cycloid/page/page.h"

namespace cycloid::inline optimise {

// A recording with what the fitted system shows of it, (samples, columns).
struct FitPicture {
  std::string heading;  // "Recording 0", "Held out 1"
  const Recording& recording;
  const std::vector<double>& shown;
};

// `verdict`: a sentence on top, or empty.
Page fit_page(const System& system, const Fit& fit, const std::vector<FitPicture>& pictures,
              const std::string& verdict = "");

}  // namespace cycloid::inline optimise
