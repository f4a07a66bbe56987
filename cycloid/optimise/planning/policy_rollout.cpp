#include "cycloid/optimise/planning/policy_rollout.h"

#include <algorithm>

#include "cycloid/adjoint/engine/lanes.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/check.h"

namespace cycloid::inline optimise {
namespace {

// The inner step behind (1). Behind what the inner step carries on, it carries u_{t-1}.
class PolicyStepper final : public Stepper<double> {
 public:
  PolicyStepper(std::shared_ptr<const Stepper<double>> inner, const Space& states,
                std::shared_ptr<const Policy> policy)
      : Stepper<double>(sizes_of(inner->sizes())),
        inner_(std::move(inner)),
        space_(states),
        inputs_(inner_->sizes().input),
        policy_(std::move(policy)) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(*this, resources);
  }
  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override {
    inner_->begin(p, *own(workspace).inner);
  }
  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const StepStatus status = inner_->step(with_input(in, w), x_next, record, *w.inner);
    const int W = sizes_.lanes;
    std::copy_n(w.u.data(), inputs_ * W, x_next + inner_->sizes().kept() * W);
    return status;
  }
  void pullback(const StepInput<double>&, const StepRecord&, const double*, double*, double*,
                StepWorkspace&) const override {
    CYCLOID_CHECK(false, "a line search has no way back");
  }
  void finish(StepWorkspace&, double*) const override {
    CYCLOID_CHECK(false, "a line search has no way back");
  }
  void work_keys(const StepInput<double>& in, std::uint64_t* keys,
                 StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    inner_->work_keys(with_input(in, w), keys, *w.inner);
  }
  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return inner_->notes(*static_cast<const Workspace&>(workspace).inner);
  }
  std::span<const StepEvent> events(const StepWorkspace& workspace) const override {
    return inner_->events(*static_cast<const Workspace&>(workspace).inner);
  }
  StepTrouble explain(const StepInput<double>& in, int lane,
                      StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    return inner_->explain(with_input(in, w), lane, *w.inner);
  }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const PolicyStepper& s, const StepResources& resources)
        : inner(s.inner_->make_workspace(resources)),
          u(static_cast<std::size_t>(s.inputs_ * s.sizes_.lanes)),
          x(s.sizes_.state),
          before(s.inputs_),
          row(s.inputs_),
          d(s.sizes_.tangent + s.inputs_) {}
    std::unique_ptr<StepWorkspace> inner;
    LaneBuffer<double> u;
    std::vector<double> x, before, row, d;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  static StepperSizes sizes_of(StepperSizes s) {
    s.carry += s.input;
    s.input = 1;
    return s;
  }

  StepInput<double> with_input(const StepInput<double>& in, Workspace& w) const {
    const int W = sizes_.lanes, kept = inner_->sizes().kept();
    for (int l = 0; l < W; ++l) {
      for (int i = 0; i < sizes_.state; ++i) w.x[i] = in.x[i * W + l];
      for (int i = 0; i < inputs_; ++i) w.before[i] = in.x[(kept + i) * W + l];
      policy_input(space_, *policy_, in.step, in.u[l], w.x.data(),
                   in.step > 0 ? w.before.data() : nullptr, w.d.data(), w.row.data());
      for (int i = 0; i < inputs_; ++i) w.u.data()[i * W + l] = w.row[i];
    }
    StepInput<double> given = in;
    given.u = w.u.data();
    return given;
  }

  std::shared_ptr<const Stepper<double>> inner_;
  Space space_;
  int inputs_;
  std::shared_ptr<const Policy> policy_;
};

System closed_by(const System& system, const std::shared_ptr<const Policy>& policy) {
  SystemParts parts = system.parts();
  const Steppers<double>& inner = system.steppers<double>();
  const auto close = [&](const std::shared_ptr<const Stepper<double>>& stepper)
      -> std::shared_ptr<const Stepper<double>> {
    return stepper ? std::make_shared<PolicyStepper>(stepper, system.states(), policy) : nullptr;
  };
  parts.inputs = Space(std::vector<BlockSpec>{{"step_length", 1, "1"}});
  parts.input_bounds.clear();
  parts.feel_distance = nullptr;
  parts.gradient = ExactGradient{};
  parts.observables = nullptr;
  parts.float64 = {close(inner.one), close(inner.packed), nullptr};
  return System(std::move(parts));
}

}  // namespace

void policy_input(const Space& space, const Policy& policy, std::int64_t t, double a,
                  const double* x, const double* before, double* d, double* u) {
  const int nx = space.size(), nt = space.tangent_size(), columns = policy.columns,
            m = policy.steps > 0 ? static_cast<int>(std::ssize(policy.controls) / policy.steps) : 0;
  const double* const nominal = policy.controls.data() + t * m;
  space.difference(policy.states.data() + t * nx, x, d);
  for (int i = 0; i < m && columns > nt; ++i) {
    d[nt + i] = before ? before[i] - nominal[i - m] : 0.0;
  }
  for (int i = 0; i < m; ++i) {
    double sum = nominal[i] + a * policy.k[t * m + i];
    const double* const row = policy.K.data() + (t * m + i) * columns;
    for (int j = 0; j < columns; ++j) sum += row[j] * d[j];  // (1)
    u[i] = policy.low.empty() ? sum : std::clamp(sum, policy.low[i], policy.high[i]);
  }
}

PolicyRollout::PolicyRollout(const System& system)
    : policy_(std::make_shared<Policy>()), system_(system), closed_(closed_by(system, policy_)) {}

PolicyRollout::Candidates PolicyRollout::run(Policy policy, std::span<const double> x0,
                                             std::span<const double> lengths,
                                             std::span<const double> params, double t0, int threads,
                                             const KeepGoing& keep_going) {
  *policy_ = std::move(policy);
  const std::int64_t T = policy_->steps, rows = std::ssize(lengths), nx = system_.states().size(),
                     m = system_.inputs().size();
  std::vector<double> a(rows * T);
  for (std::int64_t r = 0; r < rows; ++r) std::fill_n(a.data() + r * T, T, lengths[r]);
  RolloutOptions options;
  options.memory = Memory::checkpoints(1);
  options.threads = threads;
  options.t0 = t0;
  options.keep_going = keep_going;
  const Trajectory<double> run = rollout(closed_, x0, Controls<double>(a, T), params, options);
  Candidates out;
  out.states.assign(run.states().begin(), run.states().end());
  out.failed.assign(rows, false);
  for (const Failure& f : run.report().failed) out.failed[f.environment] = true;
  out.controls.resize(rows * T * m);
  std::vector<double> d(system_.states().tangent_size() + m);
  for (std::int64_t r = 0; r < rows; ++r) {
    double* const u = out.controls.data() + r * T * m;
    for (std::int64_t t = 0; t < T && !out.failed[r]; ++t) {
      policy_input(system_.states(), *policy_, t, lengths[r],
                   out.states.data() + (r * (T + 1) + t) * nx, t > 0 ? u + (t - 1) * m : nullptr,
                   d.data(), u + t * m);
    }
  }
  return out;
}

}  // namespace cycloid::inline optimise
