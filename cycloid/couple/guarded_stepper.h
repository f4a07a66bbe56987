// guarded_stepper.h: the step of guarded.h, for one environment.
//
// A state is [x (n), δ, σ (tangents each)]. Behind it are carried, not differentiated: the guard's
// own numbers (GuardCarry), the direction of (4), and what the two inner Systems carry on.
#pragma once

#include <limits>

#include "cycloid/couple/add_network.h"
#include "cycloid/couple/guarded.h"
#include "cycloid/couple/inner_run.h"
#include "cycloid/math/rotation.h"
#include "cycloid/system/integrator/interpolation.h"
#include "cycloid/system/run_lanes.h"

namespace cycloid::inline couple {

// kWhy and on tell of the last step; kDirection has as many numbers as there are tangents.
enum GuardCarry {
  kSince,
  kInterval,
  kGathered,
  kWeight,
  kWhy,
  kMissed,
  kAllowed,
  kSpent,
  kDirection
};

inline constexpr double kLeastFactor = 0.3, kMostFactor = 2;

struct GuardedPair {
  GuardedInner model, truth;
  GuardOptions options;
  double step = 0;   // H [s]
  Space space = {};  // of both
};

template <class T>
class GuardedStepper final : public Stepper<T> {
 public:
  GuardedStepper(std::shared_ptr<const GuardedPair> pair, std::shared_ptr<const Stepper<T>> model,
                 std::shared_ptr<const Stepper<T>> truth, const StepperSizes& sizes)
      : Stepper<T>(sizes),
        pair_(std::move(pair)),
        model_(std::move(model)),
        truth_(std::move(truth)),
        n_(truth_->sizes().state),
        nt_(truth_->sizes().tangent),
        own_(n_ + 2 * nt_) {}

  const GuardedPair& pair() const { return *pair_; }

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(*this, resources);
  }

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.p = p;
    w.of_run = RunLanes::now() != nullptr;
    if (w.of_run) w.environment = *RunLanes::now();
    w.model.begin(p);
    w.truth.begin(p);
  }

  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const T* const carry = in.x + own_;
    T* const carried = x_next + own_;
    std::copy_n(in.x, this->sizes_.kept(), x_next);
    carried[kWhy] = T(0);
    w.note = {};
    w.happened = {};
    if (in.ended && in.ended[0]) {
      if (record) record->template numbers<T>()[0] = T(kRest);
      return StepStatus::ok;
    }
    StepStatus status = w.model.run(in, in.x, model_carry(carry), false);
    const bool model_is_finite = all_finite(w.model.next(), n_);
    const bool model_has_event = !w.model.events().empty();
    std::copy_n(w.model.next_carry(), model_->sizes().carry, model_carry(carried));
    w.model_next.assign(w.model.next(), w.model.next() + n_);
    w.note.residual = w.model.note().residual;
    w.note.crowded = w.model.note().crowded;
    predict(in.x, carry[kSince], carry[kWeight], w, w.predicted.data());
    if (model_is_finite && !model_has_event) carried[kGathered] *= grow(in, carried, w);
    const GuardReason why = reason(carry, model_is_finite, model_has_event, w);
    const bool due = why != GuardReason::none;
    if (due) {
      status = w.truth.run(in, in.x, truth_carry(carry), false);
      std::copy_n(w.truth.next_carry(), truth_->sizes().carry, truth_carry(carried));
      w.happened = w.truth.events();
      carried[kWhy] = static_cast<T>(static_cast<int>(why));
      compare(in, model_is_finite && !model_has_event && w.happened.empty(), x_next, w);
      w.note.residual = w.truth.note().residual;
      w.note.crowded = w.truth.note().crowded;
    } else {
      std::copy(w.predicted.begin(), w.predicted.end(), x_next);  // (1)
      carried[kSince] = carry[kSince] + T(1);
    }
    if (record)
      record->template numbers<T>()[0] = T(!due ? kModel : w.jumped ? kJump : kComparison);
    if (!all_finite(x_next, own_)) return StepStatus::non_finite;
    return status == StepStatus::non_finite ? StepStatus::ok : status;
  }

  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const T* const carry = in.x + own_;
    const int branch = static_cast<int>(record.numbers<T>()[0]);
    const T j = carry[kSince], weight = carry[kWeight];
    const T *delta_next_bar = x_next_bar + nt_, *slope_next_bar = x_next_bar + 2 * nt_;
    T *const delta_bar = x_bar + nt_, *const slope_bar = x_bar + 2 * nt_;
    std::fill(w.model_bar.begin(), w.model_bar.end(), T(0));
    std::fill(w.truth_bar.begin(), w.truth_bar.end(), T(0));
    if (branch == kRest) {
      for (int k = 0; k < 3 * nt_; ++k) x_bar[k] += x_next_bar[k];
      return;
    }
    if (branch != kJump) w.model.run(in, in.x, model_carry(carry), true);
    if (branch != kModel) w.truth.run(in, in.x, truth_carry(carry), true);
    if (branch == kModel) {  // (1)
      correction(in.x, j, weight, w.tangent.data());
      std::fill(w.tangent_bar.begin(), w.tangent_bar.end(), T(0));
      add_in_tangents_pullback(pair_->space, w.tangent.data(), x_next_bar, 1, w.model_bar.data(),
                               w.tangent_bar.data());
      for (int k = 0; k < nt_; ++k) {
        delta_bar[k] += delta_next_bar[k] - weight * w.tangent_bar[index(k)];
        slope_bar[k] += slope_next_bar[k] - weight * j * w.tangent_bar[index(k)];
      }
    } else {  // (2)
      std::copy_n(x_next_bar, nt_, w.truth_bar.begin());
    }
    if (branch == kComparison) {
      const bool first = carry[kInterval] == T(0);
      for (int k = 0; k < nt_; ++k) {
        const T along = first ? T(0) : slope_next_bar[k] / j;
        w.tangent_bar[index(k)] = delta_next_bar[k] + along;
        delta_bar[k] -= along;
      }
      pair_->space.difference(w.truth.next(), w.model.next(), w.tangent.data());
      pull_difference(w.tangent.data(), w.tangent_bar.data(), w.truth_bar.data(),
                      w.model_bar.data());
    }
    if (branch != kJump) {
      w.model.pullback(without_events(in), w.model_bar.data(), x_bar, u_of(u_bar, *model_, w));
    }
    if (branch != kModel) w.truth.pullback(in, w.truth_bar.data(), x_bar, u_bar);
  }

  // A row of the Jacobian is the pullback of a unit cotangent: the numbers are few, and Jacobians
  // of steps from a cold start are others.
  bool pushforward(const StepInput<T>& in, const StepRecord& record, const StepTangents<T>& tan,
                   T* x_next_tan, StepWorkspace& workspace) const override {
    if (tan.arrays) throw GradientError("guarded: there is no pushforward along arrays of weights");
    const std::size_t numbers = index(this->sizes_.tangent), inputs = index(this->sizes_.input);
    std::vector<T> bar(numbers), x_bar(numbers), u_bar(inputs);
    std::vector<double> p_bar(index(this->sizes_.parameters));
    StepInput<T> asked = in;
    asked.wants_parameters = tan.p != nullptr;
    for (std::size_t i = 0; i < numbers; ++i) {
      for (std::vector<T>* v : {&bar, &x_bar, &u_bar}) std::fill(v->begin(), v->end(), T(0));
      bar[i] = T(1);
      const RunLanes lane(own(workspace).of_run ? &own(workspace).environment : nullptr);
      begin(StepParameters<T>(own(workspace).p), workspace);  // clears what has been added
      pullback(asked, record, bar.data(), x_bar.data(), u_bar.data(), workspace);
      double sum = 0;
      for (std::size_t k = 0; k < numbers && tan.x; ++k)
        sum += static_cast<double>(x_bar[k] * tan.x[k]);
      for (std::size_t k = 0; k < inputs && tan.u; ++k)
        sum += static_cast<double>(u_bar[k] * tan.u[k]);
      if (tan.p) {
        finish(workspace, p_bar.data());
        // A number without a derivative has none along a direction that leaves it alone.
        for (std::size_t k = 0; k < p_bar.size(); ++k) {
          if (tan.p[k] != T(0)) sum += p_bar[k] * static_cast<double>(tan.p[k]);
        }
      }
      x_next_tan[i] = static_cast<T>(sum);
    }
    return true;
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    Workspace& w = own(workspace);
    std::fill_n(p_bar, this->sizes_.parameters, 0.0);
    w.model.finish(p_bar);
    w.truth.finish(p_bar);
  }

  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return &static_cast<const Workspace&>(workspace).note;
  }
  std::span<const StepEvent> events(const StepWorkspace& workspace) const override {
    return static_cast<const Workspace&>(workspace).happened;
  }

  StepTrouble explain(const StepInput<T>& in, int, StepWorkspace& workspace) const override {
    return own(workspace).truth.explain(in, in.x, truth_carry(in.x + own_));
  }

 private:
  enum Branch { kModel, kComparison, kJump, kRest };  // in the record

  struct Workspace final : StepWorkspace {
    Workspace(const GuardedStepper& s, const StepResources& resources)
        : model(s.pair_->model, *s.model_, resources),
          truth(s.pair_->truth, *s.truth_, resources),
          predicted(s.index(s.n_)),
          moved(predicted),
          model_next(predicted),
          tangent(s.index(s.nt_)),
          tangent_bar(tangent),
          model_bar(tangent),
          truth_bar(tangent),
          spare(s.index(s.sizes_.input)) {}
    InnerRun<T> model, truth;
    std::vector<T> predicted, moved, model_next, tangent, tangent_bar, model_bar, truth_bar, spare;
    LaneNote note;
    std::span<const StepEvent> happened;
    bool jumped = false;  // nothing was learned of the model: it is lost, or there was an event
    StepParameters<T> p;
    std::int64_t environment = 0;  // of this run
    bool of_run = false;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  static StepInput<T> without_events(StepInput<T> in) {
    in.event_times_bar = nullptr;
    return in;
  }

  // A model without inputs has no cotangent to give.
  static T* u_of(T* u_bar, const Stepper<T>& inner, Workspace& w) {
    return inner.sizes().input > 0 ? u_bar : w.spare.data();
  }
  // Adds to the cotangents of a and b, tangents of one row, those of d = difference(a, b).
  void pull_difference(const T* d, const T* d_bar, T* a_bar, T* b_bar) const {
    for (const Block& b : pair_->space.pieces()) {
      const int at = b.tangent_offset;
      if (b.kind != BlockKind::quaternion) {
        for (int i = at; i < at + b.size; ++i) a_bar[i] -= d_bar[i], b_bar[i] += d_bar[i];
        continue;
      }
      Vec3<T> own_a{}, own_b{};
      difference_tangent_pullback(lane_vec3(d + at, 1, 0), lane_vec3(d_bar + at, 1, 0), own_a,
                                  own_b);
      add_to_lane(a_bar + at, 1, 0, own_a);
      add_to_lane(b_bar + at, 1, 0, own_b);
    }
  }

  template <class P>
  P* model_carry(P* carry) const {
    return carry + kDirection + nt_;
  }
  template <class P>
  P* truth_carry(P* carry) const {
    return model_carry(carry) + model_->sizes().carry;
  }

  // Why the truth takes this step.
  GuardReason reason(const T* carry, bool model_is_finite, bool model_has_event,
                     const Workspace& w) const {
    if (!model_is_finite || !all_finite(w.predicted.data(), n_)) return GuardReason::not_finite;
    if (model_has_event) return GuardReason::event;
    if (carry[kInterval] == T(0)) return GuardReason::start;
    if (carry[kSince] < carry[kInterval]) return GuardReason::none;
    if (pair_->options.every > 0) return GuardReason::schedule;
    return carry[kSpent] > T(0) ? GuardReason::budget : GuardReason::estimate;
  }

  // -w (δ + j σ)
  void correction(const T* x, T j, T weight, T* out) const {
    for (int k = 0; k < nt_; ++k) out[k] = -weight * (x[n_ + k] + j * x[n_ + nt_ + k]);
  }
  void predict(const T* x, T j, T weight, Workspace& w, T* out) const {
    correction(x, j, weight, w.tangent.data());
    std::copy(w.model_next.begin(), w.model_next.end(), out);
    add_in_tangents(pair_->space, w.tangent.data(), 1, out);  // (1)
  }

  T distance(const T* a, const T* b, Workspace& w) const {
    pair_->space.difference(a, b, w.tangent.data());
    T sum = 0;
    for (const T d : w.tangent) sum += d * d;
    return std::sqrt(sum);
  }

  // (2) to (7): writes x_next, the guard, and what is carried on. `smooth`: the model's step says
  // something about the steps that follow.
  void compare(const StepInput<T>& in, bool smooth, T* x_next, Workspace& w) const {
    const T* const carry = in.x + own_;
    T* const carried = x_next + own_;
    const bool first = carry[kInterval] == T(0);
    const T j = first ? T(1) : carry[kSince];
    w.note.counters = {pair_->truth.substeps, 1, 0, 0};
    std::copy_n(w.truth.next(), n_, x_next);
    carried[kSince] = T(1), carried[kMissed] = carried[kAllowed] = T(0);
    w.jumped = !smooth || !all_finite(x_next, n_);
    if (w.jumped) {
      std::fill_n(x_next + n_, 2 * nt_, T(0));
      carried[kInterval] = carried[kWeight] = T(0);  // the next step begins anew
      w.note.counters[2] = carried[kWhy] == T(static_cast<int>(GuardReason::not_finite));
      return;
    }
    pair_->space.difference(w.truth.next(), w.model_next.data(), w.tangent.data());
    for (int k = 0; k < nt_; ++k) {
      const T defect = w.tangent[index(k)];
      x_next[n_ + nt_ + k] = first ? T(0) : (defect - in.x[n_ + k]) / j;
      x_next[n_ + k] = defect;  // (2)
    }
    // What the model misses, as it is and corrected; (3) is that which was in use.
    predict(in.x, carry[kSince], T(1), w, w.moved.data());
    const T raw = distance(w.model_next.data(), x_next, w),
            corrected = first ? T(0) : distance(w.moved.data(), x_next, w);
    const T missed = first ? T(0) : distance(w.predicted.data(), x_next, w);  // (3)
    const bool correct = first || corrected < raw;
    carried[kWeight] = correct ? T(1) : T(0);
    schedule(carry, first, correct, raw, corrected, missed, j, carried, w);
  }

  // (5) to (7)
  void schedule(const T* carry, bool first, bool correct, T raw, T corrected, T missed, T j,
                T* carried, Workspace& w) const {
    const GuardOptions& o = pair_->options;
    // Of the j - 1 steps of the model, i after the comparison: (i/j)² ε where it was corrected.
    const T share = carry[kWeight] > T(0) ? (T(2) * j - T(1)) / (T(6) * j) : T(1);
    T gathered = carried[kGathered] + missed * (j - T(1)) * share;  // (5)
    if (!std::isfinite(gathered)) gathered = static_cast<T>(o.bound);
    carried[kGathered] = gathered;
    const T left = std::max(T(0), static_cast<T>(o.share * o.bound) - gathered);
    const T allowed = left * static_cast<T>(pair_->step / o.horizon);  // (6)
    carried[kMissed] = missed, carried[kAllowed] = allowed,
    carried[kSpent] = left > T(0) ? T(0) : T(1);
    if (missed > allowed) w.note.counters[2] = 1;
    if (o.every > 0) {
      carried[kInterval] = static_cast<T>(o.every);
      return;
    }
    const T least = static_cast<T>(kLeastFactor), most = static_cast<T>(kMostFactor);
    T factor = most;
    if (correct && corrected > T(0)) factor = std::cbrt(T(3) * allowed / corrected);
    if (!correct && raw > allowed) factor = least;
    const T interval = first ? T(1) : carry[kInterval] * std::clamp(factor, least, most);  // (7)
    carried[kInterval] = std::clamp(interval, T(1), static_cast<T>(o.most));
  }

  // (4): moves the direction on.
  T grow(const StepInput<T>& in, T* carried, Workspace& w) const {
    T* const v = carried + kDirection;
    T size = 0, scale = 1;
    for (int k = 0; k < nt_; ++k) size += v[k] * v[k];
    for (int k = 0; k < n_; ++k) scale = std::max(scale, std::abs(in.x[k]));
    if (!(size > T(0))) std::fill_n(v, nt_, T(1) / std::sqrt(static_cast<T>(nt_)));
    const T eta = std::sqrt(std::numeric_limits<T>::epsilon()) * scale;
    for (int k = 0; k < nt_; ++k) w.tangent[index(k)] = eta * v[k];
    pair_->space.retract(in.x, w.tangent.data(), w.moved.data());
    w.model.run(in, w.moved.data(), model_carry(in.x + own_), false);
    if (!w.model.events().empty()) return T(1);  // beyond a jump there is no direction
    const T growth = distance(w.model_next.data(), w.model.next(), w) / eta;
    if (!std::isfinite(growth) || !(growth > T(0))) return T(1);
    for (int k = 0; k < nt_; ++k) v[k] = w.tangent[index(k)] / (eta * growth);
    return growth;
  }

  std::shared_ptr<const GuardedPair> pair_;
  std::shared_ptr<const Stepper<T>> model_, truth_;
  int n_, nt_, own_;
};

}  // namespace cycloid::inline couple
