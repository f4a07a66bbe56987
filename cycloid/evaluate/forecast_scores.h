// forecast_scores.h: numbers that judge forecasts against what came, on plain arrays.
//
// Errors e = (forecast - truth) / σ, with σ the truth's standard deviation per number, of runs of S
// samples of n numbers, (runs, S, n); NaN where nothing was measured. A Gaussian forecast has
// standard deviations s in the same units.
//   rms        sqrt(mean e²)                                                            (1)
//   crps       of a normal forecast: learn/gaussian_score.h                             (2)
//   coverage   share of |e| ≤ z_p s, Φ(z_p) = (1 + p)/2                                  (3)
//   spread over skill   sqrt(mean s²) / sqrt(mean e²): 1 where s is right               (4)
//   auroc      P(score of a positive > score of a negative), ties count half            (5)
//   spectrum   ‖√P - √P*‖ / ‖√P*‖, P the mean power spectrum over runs and numbers       (6)
//   Sinkhorn   S(a, b) = W(a, b) - ½ W(a, a) - ½ W(b, b), W the entropic transport cost
//              for |x - y|² (Feydy2019); its square root is a distance                   (7)
// A shift of all points by d has the distance |d| in (7), whatever the regularisation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cycloid/learn/gaussian_score.h"

namespace cycloid::inline evaluate {

// A number of ours as containers take it.
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// (runs, samples, numbers), one after another.
struct RunRows {
  std::int64_t runs = 0, samples = 0, numbers = 0;
  std::vector<double> values;

  const double* at(std::int64_t run, std::int64_t sample) const {
    return values.data() + (run * samples + sample) * numbers;
  }
  double* at(std::int64_t run, std::int64_t sample) {
    return values.data() + (run * samples + sample) * numbers;
  }
  bool empty() const { return values.empty(); }
};

double rms(std::span<const double> errors);  // (1); NaN where there is none

// Of each run: the first sample at which the RMS over numbers exceeds `bound`, or `samples`.
std::vector<std::int64_t> first_beyond(const RunRows& errors, double bound);

double normal_quantile(double p);  // Φ⁻¹, of 0 < p < 1

double coverage(std::span<const double> errors, std::span<const double> spread,
                double level);                                                             // (3)
double spread_over_skill(std::span<const double> errors, std::span<const double> spread);  // (4)
double auroc(std::span<const double> negatives, std::span<const double> positives);        // (5)

// The power of every frequency but zero, per run: (runs, samples / 2), summed over numbers, means
// removed, with Hann's window. Runs with a hole have NaN.
std::vector<double> power_spectra(const RunRows& rows);
// (6) of mean powers.
double spectrum_error(std::span<const double> power, std::span<const double> truth);

// (7): the distance of two sets of points of n numbers. `regularisation` in units of n.
double sinkhorn_distance(std::span<const double> a, std::span<const double> b, std::int64_t n,
                         double regularisation = 0.1);

}  // namespace cycloid::inline evaluate
