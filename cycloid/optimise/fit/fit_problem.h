// FitProblem: the residuals of recordings as functions of what is unknown, with their Jacobian.
//
// Unknown are θ = (numbers of parameters z, numbers of sensors) and the state s_e at the start of
// every stretch e, in tangents. A recording is one stretch, or, with multiple shooting, several of
// equal length whose ends must meet the next one's start:
//   r_ei(θ, s_e) = (w - v) / σ              over all that was measured in stretch e          (1)
//   c_e(θ, s_e, s_{e+1}) = s_{e+1} ⊖ φ(n_e h; s_e, p) = 0                                    (2)
//   ∂r_e/∂(θ, s_e), ∂φ/∂(θ, s_e)            from stretch_run.h and measured.h                (3)
// A step uses the row of controls in force at its start. Steps have the System's length, from the
// first sample on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cycloid/optimise/fit/measured.h"
#include "cycloid/optimise/fit/robust_loss.h"
#include "cycloid/optimise/fit/stretch_run.h"
#include "cycloid/optimise/fit/unknowns.h"
#include "cycloid/record/recording.h"

namespace cycloid::inline optimise {

// Numbers of a sensor: "output:tip.offset" and ".gain" (one for each of its numbers), ".delay" [s].
struct SensorUnknown {
  enum class Kind { offset, gain, delay } kind = Kind::offset;
  std::string name, output;
  int place = 0, size = 1;  // in θ
};

// Where the unknowns stand.
struct FitPoint {
  std::vector<double> theta;   // (K)
  std::vector<double> starts;  // (stretches, states)
};

// Where a residual comes from.
struct ResidualPlace {
  int recording = 0, sample = 0, piece = 0, number = 0;
};

// Of each stretch.
struct StretchResiduals {
  std::vector<double> r;  // (1)
  std::vector<double> J;  // (residuals, K + start_columns), if asked for
  std::vector<ResidualPlace> places;
  std::vector<double> gap;      // (2), (tangents); empty for the last of a recording
  std::vector<double> end_tan;  // ∂φ/∂(θ, s_e), (tangents, K + start_columns), empty where gap is
};

struct Evaluated {
  bool ok = true;
  std::string reason;
  std::vector<StretchResiduals> stretches;
  // What the recordings should show, (samples, columns), NaN where nothing was measured.
  std::vector<std::vector<double>> shown;
};

struct FitStretch {
  int recording = 0;
  std::int64_t first_step = 0, steps = 1;
  bool last = false;  // of its recording
  bool free = true;   // its start is unknown
};

// How starts are found.
struct FitStarts {
  bool known = false;        // of the recordings: not unknown
  std::vector<double> rows;  // (recordings, states), known; empty: the recordings' own
};

class FitProblem {
 public:
  // `sensors` are requests whose names begin with "output:". Throws Error and ParameterError on
  // what cannot be.
  FitProblem(const System& system, std::vector<Recording> recordings, Unknowns unknowns,
             const std::vector<UnknownRequest>& sensors, const UnknownOptions& options,
             const FitStarts& starts, double shooting, const StretchOptions& running);

  const System& system() const { return system_; }
  const Unknowns& unknowns() const { return unknowns_; }
  const std::vector<SensorUnknown>& sensors() const { return sensors_; }
  const std::vector<Recording>& recordings() const { return recordings_; }
  const std::vector<Measured>& measured() const { return measured_; }
  const std::vector<FitStretch>& stretches() const { return stretches_; }
  std::size_t size() const { return low_.size(); }  // K
  std::size_t tangents() const { return nt_; }
  // Columns of J by a start: none where all starts are known.
  std::size_t start_columns() const { return ns_; }
  std::size_t states() const { return nx_; }
  const std::vector<std::string>& names() const { return names_; }  // of θ, one per number
  const std::vector<double>& low() const { return low_; }
  const std::vector<double>& high() const { return high_; }
  const std::vector<Unknowns::Prior>& priors() const { return priors_; }
  std::int64_t steps_per_run() const { return steps_; }  // of all stretches together

  // The guess, with starts from what was measured; those of later stretches that were not measured
  // come from a run.
  FitPoint start();
  std::vector<double> parameters(std::span<const double> theta) const;
  // θ as physical values, and ∂/∂θ, (K, K).
  std::vector<double> values(std::span<const double> theta) const;
  std::vector<double> values_jacobian(std::span<const double> theta) const;
  std::string refusal(std::span<const double> theta) const;
  void project(std::span<const double> theta, std::span<double> to) const;
  FitPoint moved(const FitPoint& from, std::span<const double> theta,
                 std::span<const double> starts_tan) const;

  // (1) and (2), with (3) where `jacobian`.
  Evaluated evaluate(const FitPoint& at, bool jacobian) const;
  // Σ ρ(r) and the priors' part, of whole recordings; writes the gradient by θ and by the starts'
  // tangents (fit_gradient.h). Infinite where a run fails.
  double gradient(const FitPoint& at, Loss loss, std::span<double> theta_bar,
                  std::span<double> starts_bar) const;
  // The residuals' sum of squares at several θ with the starts of `at`, in one batch where the
  // System lets parameters differ between environments; not finite where a run fails.
  std::vector<double> costs(const FitPoint& at,
                            const std::vector<std::vector<double>>& thetas) const;

  // σ of every column of a recording.
  const std::vector<double>& sigma(std::size_t recording) const { return sigma_[recording]; }
  void set_sigma(std::size_t recording, std::size_t column, double value) {
    sigma_[recording][column] = value;
  }
  bool sigma_known() const { return sigma_known_; }

 private:
  static constexpr double kSlack = 1e-6;  // of a step: times that count as its beginning

  // A state that is looked at: of a sample, for outputs that share a delay.
  struct Look {
    int sample = 0, delay = -1;  // index among sensors, or none
    int stretch = 0;
    double offset = 0;            // in the stretch [s]
    int before = -1, after = -1;  // looks a little earlier and later, for ∂/∂delay
    bool readings = true;         // has residuals of its own
  };
  struct Looks {
    std::vector<std::vector<Look>> of;           // recording
    std::vector<Stretch> stretches;              // with offsets
    std::vector<std::vector<std::size_t>> rows;  // of each look, its place among its stretch's
  };
  void add_sensors(const std::vector<UnknownRequest>& requests, const UnknownOptions& options);
  void cut(double shooting);
  void take_starts(const FitStarts& starts);
  void guess_sigma();
  std::size_t control_row(std::size_t recording, double time) const;
  int delay_of(std::size_t recording, int output) const;
  double sensor_value(std::span<const double> theta, SensorUnknown::Kind kind,
                      std::size_t recording, int output, int within, int* place) const;
  Looks looks(std::span<const double> theta) const;
  LookedRows looked_rows(std::size_t recording, const Looks& looks,
                         const std::vector<std::vector<double>>& states) const;
  double pull_residuals(const Looks& looks, std::size_t recording, const Looked& seen,
                        std::span<const double> theta, Loss loss, std::span<double> values_bar,
                        std::span<double> theta_bar) const;
  std::vector<double> shown(const Looks& looks, std::size_t recording, const Looked& seen,
                            std::span<const double> theta) const;
  void add_residuals(const Looks& looks, std::size_t recording, const Looked& seen,
                     const StretchStates& run, std::span<const double> theta, bool jacobian,
                     Evaluated& out) const;

  System system_;
  std::vector<Recording> recordings_;
  Unknowns unknowns_;
  std::vector<SensorUnknown> sensors_;
  std::vector<Measured> measured_;
  std::vector<FitStretch> stretches_;
  std::vector<Stretch> runs_;  // without offsets
  std::vector<std::string> names_;
  std::vector<double> low_, high_, sensor_start_;
  std::vector<Unknowns::Prior> priors_;
  std::vector<std::vector<double>> sigma_;
  std::vector<std::vector<double>> first_states_;  // of recordings
  std::size_t nx_, nt_, nu_, ns_ = 0;
  double h_;
  bool sigma_known_ = true;
  std::int64_t steps_ = 0;
  StretchOptions running_;
};

}  // namespace cycloid::inline optimise
