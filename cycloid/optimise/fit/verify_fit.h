// verify of a fit: does it foretell recordings better than the first guess, however the same world
// is computed?
//
// J of verify.h (1) is the squared error on recordings in units of σ, each from the start that fits
// it best:
//   J(p) = Σ_outputs rms² / σ² · count                                                       (1)
// J_result with the fitted parameters, J_start with those of the guess. Parameters are drawn from
// the fit's covariance; numbers that are not determined stay.
#pragma once

#include "cycloid/optimise/identify.h"
#include "cycloid/optimise/verify.h"

namespace cycloid::inline optimise {

// `recordings`: what the fit is judged by, held out or fitted. `guess`: all parameters before the
// fit. `fitted`: its loss and threads count.
Trust verify_fit(const System& system, const Fit& fit, const std::vector<Recording>& recordings,
                 std::span<const double> guess, const IdentifyOptions& fitted = {},
                 const VerifyOptions& options = {});

// Options of fit_start for a recording: the sensors' numbers of the fit as bounds that hold them.
IdentifyOptions start_options(const System& system, const Fit& fit, const Recording& recording,
                              const IdentifyOptions& fitted);

}  // namespace cycloid::inline optimise
