#include "cycloid/adjoint/rollout.h"

#include "cycloid/adjoint/engine/engine.h"
#include "cycloid/adjoint/engine/run_inputs.h"
#include "cycloid/base/error.h"

namespace cycloid::inline adjoint {
namespace {

template <class T>
Trajectory<T> checked_rollout(const System& system, std::span<const T> x0,
                              const Controls<T>& controls, std::span<const double> params,
                              const RolloutOptions& options) {
  const System chosen = options.gradient ? system.with_gradient(*options.gradient) : system;
  Run<T> run = checked_run(chosen, x0, controls, params, options);
  run.memory = options.memory;
  engine_of<T>(chosen).plan(run, options.memory);
  return roll_out(std::move(run), options.keep_going);
}

template <class T>
std::vector<T> one_step(const System& system, std::span<const T> x, std::span<const T> u,
                        std::span<const double> params, Report* report) {
  const Controls<T> controls = u.empty() ? Controls<T>(1) : Controls<T>(u, 1);
  RolloutOptions options;
  options.save = Save::last();
  options.memory = Memory::all();
  const Trajectory<T> run = checked_rollout(system, x, controls, params, options);
  if (!run.report().failed.empty()) {
    throw Error(message("the step failed: ", describe(run.report().failed.front())));
  }
  if (report) *report = run.report();
  return {run.states().begin(), run.states().end()};
}

}  // namespace

template <class T>
Trajectory<T> roll_out(Run<T> run, const KeepGoing& keep_going) {
  Trajectory<T> result;
  RunOutcome outcome;
  auto states = std::make_shared<std::vector<T>>(static_cast<std::size_t>(
      run.batch * static_cast<std::int64_t>(run.saved.size()) * run.system.states().size()));
  result.tape_ = engine_of<T>(run.system).forward(run, states->data(), outcome, keep_going);
  result.events_ = std::make_shared<const std::vector<Event>>(std::move(outcome.events));
  result.report_ = std::make_shared<const Report>(std::move(outcome.report));
  result.saved_steps_ = run.saved;
  for (std::size_t i = 0; i < run.samples.size(); ++i) {
    result.saved_steps_[i] = run.samples[i].step;
  }
  result.run_ = std::make_shared<const Run<T>>(std::move(run));
  result.states_ = std::move(states);
  return result;
}

template <class T>
std::int64_t Trajectory<T>::batch() const {
  return run_->batch;
}

template <class T>
std::int64_t Trajectory<T>::steps() const {
  return run_->steps;
}

template <class T>
const System& Trajectory<T>::system() const {
  return run_->system;
}

template <class T>
std::span<const T> Trajectory<T>::state(std::int64_t environment, std::int64_t saved) const {
  const std::int64_t rows = static_cast<std::int64_t>(run_->saved.size());
  const std::int64_t row = saved < 0 ? saved + rows : saved;
  if (environment < 0 || environment >= run_->batch || row < 0 || row >= rows) {
    throw Error(message("state(", environment, ", ", saved, "): there are ", run_->batch,
                        " environments with ", rows, " saved states each"));
  }
  const std::size_t n = static_cast<std::size_t>(system().states().size());
  return states().subspan(static_cast<std::size_t>(environment * rows + row) * n, n);
}

template <class T>
std::vector<double> Trajectory<T>::times() const {
  if (!run_->sample_times.empty()) return run_->sample_times;
  const double h = run_->step_length();
  std::vector<double> times;
  for (const std::int64_t k : run_->saved) times.push_back(run_->t0 + static_cast<double>(k) * h);
  return times;
}

Trajectory<double> rollout(const System& system, std::span<const double> x0,
                           const Controls<double>& controls, std::span<const double> params,
                           const RolloutOptions& options) {
  return checked_rollout(system, x0, controls, params, options);
}

Trajectory<float> rollout(const System& system, std::span<const float> x0,
                          const Controls<float>& controls, std::span<const double> params,
                          const RolloutOptions& options) {
  return checked_rollout(system, x0, controls, params, options);
}

std::vector<double> step(const System& system, std::span<const double> x, std::span<const double> u,
                         std::span<const double> params, Report* report) {
  return one_step(system, x, u, params, report);
}

std::vector<float> step(const System& system, std::span<const float> x, std::span<const float> u,
                        std::span<const double> params, Report* report) {
  return one_step(system, x, u, params, report);
}

template Trajectory<float> roll_out(Run<float>, const KeepGoing&);
template Trajectory<double> roll_out(Run<double>, const KeepGoing&);
template class Trajectory<float>;
template class Trajectory<double>;

}  // namespace cycloid::inline adjoint
