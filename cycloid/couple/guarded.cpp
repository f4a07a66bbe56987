#include "cycloid/couple/guarded.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline couple {
namespace {

// What is carried on: numbers behind the state, then the two inner Systems' own.
enum GuardCarry { kSince, kInterval, kGathered, kDirection };  // the last has n numbers

constexpr double kLeastFactor = 0.3, kMostFactor = 2;
constexpr int kComparison = 1, kLostModel = 2;  // branches; 0: the model

// Where an inner System's parameters are among the outer ones.
struct GuardedInner {
  System system;
  int substeps = 1;
  std::vector<int> places = {};  // of each number in lanes
  std::size_t first_array = 0;
};

template <class T>
bool all_finite(const T* x, int n) {
  return std::all_of(x, x + n, [](T v) { return std::isfinite(v); });
}

// An inner System's part of a step: substeps there, and back.
template <class T>
class InnerRun {
 public:
  InnerRun(const GuardedInner& inner, const Stepper<T>& stepper, const StepResources& resources)
      : inner_(inner),
        stepper_(stepper),
        workspace_(stepper.make_workspace(resources)),
        p_(static_cast<std::size_t>(stepper.sizes().parameters)),
        states_(static_cast<std::size_t>((inner.substeps + 1) * stepper.sizes().kept())),
        records_(static_cast<std::size_t>(inner.substeps)) {
    for (auto& r : records_) r.resize(static_cast<std::size_t>(stepper.sizes().record));
  }

  void begin(const StepParameters<T>& p) {
    for (std::size_t i = 0; i < p_.size(); ++i) {
      p_[i] = p.lanes[static_cast<std::size_t>(inner_.places[i])];
    }
    StepParameters<T> own = p;
    own.lanes = p_.data();
    own.arrays = p.arrays ? p.arrays + inner_.first_array : nullptr;
    own.arrays_bar = p.arrays_bar ? p.arrays_bar + inner_.first_array : nullptr;
    own.arrays_tan = nullptr, own.arrays_bar_tan = nullptr;
    stepper_.begin(own, *workspace_);
  }

  // From x and what is carried on; `keep`: with records, for the way back.
  StepStatus run(const StepInput<T>& in, const T* x, const T* carry, bool keep) {
    const StepperSizes& s = stepper_.sizes();
    std::copy_n(x, s.state, state(0));
    std::copy_n(carry, s.carry, state(0) + s.state);
    StepStatus status = StepStatus::ok;
    note_ = {};
    objects_.clear();
    for (int i = 0; i < inner_.substeps; ++i) {
      StepRecord record = record_at(i);
      const StepStatus own =
          stepper_.step(at(in, i), state(i + 1), keep ? &record : nullptr, *workspace_);
      if (keep) objects_.push_back(std::move(record));
      if (own != StepStatus::ok) status = own;
      if (const LaneNote* note = stepper_.notes(*workspace_)) {
        note_.residual = std::max(note_.residual, note->residual);
        note_.crowded = note_.crowded || note->crowded;
      }
      if (own == StepStatus::non_finite) {
        std::copy_n(state(i + 1), s.kept(), state(inner_.substeps));
        break;
      }
    }
    return status;
  }

  // Adds to x_bar and u_bar, after run with records.
  void pullback(const StepInput<T>& in, const T* next_bar, T* x_bar, T* u_bar) {
    const std::size_t n = static_cast<std::size_t>(stepper_.sizes().tangent);
    std::vector<T> bar(next_bar, next_bar + n), before(n);
    for (int i = inner_.substeps; i-- > 0;) {
      std::fill(before.begin(), before.end(), T(0));
      stepper_.pullback(at(in, i), objects_[static_cast<std::size_t>(i)], bar.data(), before.data(),
                        u_bar, *workspace_);
      std::swap(bar, before);
    }
    for (std::size_t k = 0; k < n; ++k) x_bar[k] += bar[k];
  }

  void finish(double* p_bar) {
    std::vector<double> own(p_.size());
    stepper_.finish(*workspace_, own.data());
    for (std::size_t i = 0; i < own.size(); ++i) p_bar[inner_.places[i]] += own[i];
  }

  StepTrouble explain(const StepInput<T>& in, const T* x, const T* carry) {
    run(in, x, carry, false);
    for (int i = 0; i < inner_.substeps; ++i) {
      if (!all_finite(state(i + 1), stepper_.sizes().state)) {
        return stepper_.explain(at(in, i), 0, *workspace_);
      }
    }
    return {"guard", "state", "the corrected step is not finite"};
  }

  const T* next() const { return states_.data() + inner_.substeps * stepper_.sizes().kept(); }
  const T* next_carry() const { return next() + stepper_.sizes().state; }
  const LaneNote& note() const { return note_; }

 private:
  T* state(int i) { return states_.data() + i * stepper_.sizes().kept(); }
  StepRecord record_at(int i) {
    return {reinterpret_cast<std::byte*>(records_[static_cast<std::size_t>(i)].data()),
            stepper_.record_bytes(),
            {}};
  }
  StepInput<T> at(const StepInput<T>& in, int i) {
    StepInput<T> own = in;
    own.x = state(i);
    own.step = in.step * inner_.substeps + i;
    return own;
  }

  const GuardedInner& inner_;
  const Stepper<T>& stepper_;
  std::unique_ptr<StepWorkspace> workspace_;
  std::vector<T> p_, states_;
  std::vector<std::vector<T>> records_;
  std::vector<StepRecord> objects_;
  LaneNote note_;
};

struct GuardedPair {
  GuardedInner model, truth;
  GuardOptions options;
  double step = 0;  // H [s]
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
        n_(truth_->sizes().state) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(*this, resources);
  }

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.p = p;
    w.model.begin(p);
    w.truth.begin(p);
  }

  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const T* const carry = in.x + 3 * n_;
    T* const carried = x_next + 3 * n_;
    std::copy_n(in.x + n_, 2 * n_, x_next + n_);
    std::copy_n(carry, this->sizes_.carry, carried);
    w.note = {};
    StepStatus status = w.model.run(in, in.x, model_carry(carry), false);
    const bool model_is_finite = all_finite(w.model.next(), n_);
    std::copy_n(w.model.next_carry(), model_->sizes().carry, model_carry(carried));
    w.model_next.assign(w.model.next(), w.model.next() + n_);
    w.note.residual = w.model.note().residual;
    predict(in.x, carry[kSince], w.model_next.data(), w.predicted.data());
    if (model_is_finite) carried[kGathered] *= grow(in, carried, w);
    const bool first = carry[kInterval] == T(0);
    const bool due = first || carry[kSince] >= carry[kInterval] || !model_is_finite ||
                     !all_finite(w.predicted.data(), n_);
    if (due) {
      status = w.truth.run(in, in.x, truth_carry(carry), false);
      std::copy_n(w.truth.next_carry(), truth_->sizes().carry, truth_carry(carried));
      compare(in, model_is_finite, x_next, w);
      w.note.residual = w.truth.note().residual;
    } else {
      std::copy(w.predicted.begin(), w.predicted.end(), x_next);  // (1)
      carried[kSince] = carry[kSince] + T(1);
    }
    if (record) {
      record->template numbers<T>()[0] = T(!due ? 0 : model_is_finite ? kComparison : kLostModel);
    }
    if (!all_finite(x_next, 3 * n_)) return StepStatus::non_finite;
    return status == StepStatus::non_finite ? StepStatus::ok : status;
  }

  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const T* const carry = in.x + 3 * n_;
    const int branch = static_cast<int>(record.numbers<T>()[0]);
    const T j = carry[kSince];
    const T *delta_next_bar = x_next_bar + n_, *slope_next_bar = x_next_bar + 2 * n_;
    T *const delta_bar = x_bar + n_, *const slope_bar = x_bar + 2 * n_;
    std::fill(w.model_bar.begin(), w.model_bar.end(), T(0));
    std::copy_n(x_next_bar, n_, w.truth_bar.begin());
    if (branch == 0) {  // (1)
      for (int k = 0; k < n_; ++k) {
        w.model_bar[index(k)] = x_next_bar[k];
        delta_bar[k] += delta_next_bar[k] - x_next_bar[k];
        slope_bar[k] += slope_next_bar[k] - j * x_next_bar[k];
      }
    } else if (branch == kComparison) {  // (2)
      const bool first = carry[kInterval] == T(0);
      for (int k = 0; k < n_; ++k) {
        const T along = first ? T(0) : slope_next_bar[k] / j;
        const T defect_bar = delta_next_bar[k] + along;
        w.model_bar[index(k)] = defect_bar;
        w.truth_bar[index(k)] -= defect_bar;
        delta_bar[k] -= along;
      }
    }
    if (branch != kLostModel) {
      w.model.run(in, in.x, model_carry(carry), true);
      w.model.pullback(in, w.model_bar.data(), x_bar, u_of(u_bar, *model_, w));
    }
    if (branch != 0) {
      w.truth.run(in, in.x, truth_carry(carry), true);
      w.truth.pullback(in, w.truth_bar.data(), x_bar, u_bar);
    }
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

  StepTrouble explain(const StepInput<T>& in, int, StepWorkspace& workspace) const override {
    return own(workspace).truth.explain(in, in.x, truth_carry(in.x + 3 * n_));
  }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const GuardedStepper& s, const StepResources& resources)
        : model(s.pair_->model, *s.model_, resources),
          truth(s.pair_->truth, *s.truth_, resources),
          predicted(s.index(s.n_)),
          moved(predicted),
          model_next(predicted),
          model_bar(predicted),
          truth_bar(predicted),
          spare(s.index(s.sizes_.input)) {}
    InnerRun<T> model, truth;
    std::vector<T> predicted, moved, model_next, model_bar, truth_bar, spare;
    LaneNote note;
    StepParameters<T> p;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  // A model without inputs has no cotangent to give.
  static T* u_of(T* u_bar, const Stepper<T>& inner, Workspace& w) {
    return inner.sizes().input > 0 ? u_bar : w.spare.data();
  }
  template <class P>
  P* model_carry(P* carry) const {
    return carry + kDirection + n_;
  }
  template <class P>
  P* truth_carry(P* carry) const {
    return model_carry(carry) + model_->sizes().carry;
  }

  void predict(const T* x, T j, const T* model, T* out) const {
    for (int k = 0; k < n_; ++k) out[k] = model[k] - (x[n_ + k] + j * x[2 * n_ + k]);  // (1)
  }

  T distance(const T* a, const T* b) const {
    T sum = 0;
    for (int k = 0; k < n_; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return std::sqrt(sum);
  }

  // (2) to (7): writes x_next, the guard, and what is carried on.
  void compare(const StepInput<T>& in, bool model_is_finite, T* x_next, Workspace& w) const {
    const T* const carry = in.x + 3 * n_;
    T* const carried = x_next + 3 * n_;
    const bool first = carry[kInterval] == T(0);
    const T j = first ? T(1) : carry[kSince];
    w.note.counters = {pair_->truth.substeps, 1, 0, 0};
    std::copy_n(w.truth.next(), n_, x_next);
    carried[kSince] = T(1);
    if (!model_is_finite || !all_finite(x_next, n_)) {
      std::fill_n(x_next + n_, 2 * n_, T(0));
      carried[kInterval] = T(1);
      w.note.counters[2] = 1;
      return;
    }
    for (int k = 0; k < n_; ++k) {
      const T defect = w.model_next[index(k)] - x_next[k];
      x_next[2 * n_ + k] = first ? T(0) : (defect - in.x[n_ + k]) / j;
      x_next[n_ + k] = defect;  // (2)
    }
    const T missed = first ? T(0) : distance(w.predicted.data(), x_next);  // (3)
    const GuardOptions& o = pair_->options;
    // Of the j - 1 steps of the model, i after the comparison: (i/j)² ε.
    const T since = missed * (j - T(1)) * (T(2) * j - T(1)) / (T(6) * j);
    T gathered = carried[kGathered] + since;  // (5)
    if (!std::isfinite(gathered)) gathered = static_cast<T>(o.bound);
    carried[kGathered] = gathered;
    const T left = std::max(T(0), static_cast<T>(o.share * o.bound) - gathered);
    const T allowed = left * static_cast<T>(pair_->step / o.horizon);  // (6)
    if (missed > allowed) w.note.counters[2] = 1;
    if (o.every > 0) {
      carried[kInterval] = static_cast<T>(o.every);
      return;
    }
    T factor = static_cast<T>(kMostFactor);
    if (missed > T(0)) factor = std::cbrt(T(3) * allowed / missed);
    factor = std::clamp(factor, static_cast<T>(kLeastFactor), static_cast<T>(kMostFactor));
    const T interval = first ? T(1) : carry[kInterval] * factor;  // (7)
    carried[kInterval] = std::clamp(interval, T(1), static_cast<T>(o.most));
  }

  // (4): moves the direction on.
  T grow(const StepInput<T>& in, T* carried, Workspace& w) const {
    T* const v = carried + kDirection;
    T size = 0, scale = 1;
    for (int k = 0; k < n_; ++k) size += v[k] * v[k], scale = std::max(scale, std::abs(in.x[k]));
    if (!(size > T(0))) std::fill_n(v, n_, T(1) / std::sqrt(static_cast<T>(n_)));
    const T eta = std::sqrt(std::numeric_limits<T>::epsilon()) * scale;
    for (int k = 0; k < n_; ++k) w.moved[index(k)] = in.x[k] + eta * v[k];
    w.model.run(in, w.moved.data(), model_carry(in.x + 3 * n_), false);
    const T growth = distance(w.model.next(), w.model_next.data()) / eta;
    if (!std::isfinite(growth) || !(growth > T(0))) return T(1);
    for (int k = 0; k < n_; ++k) {
      v[k] = (w.model.next()[k] - w.model_next[index(k)]) / (eta * growth);
    }
    return growth;
  }

  std::shared_ptr<const GuardedPair> pair_;
  std::shared_ptr<const Stepper<T>> model_, truth_;
  int n_;
};

template <class T>
Steppers<T> guarded_steppers(const std::shared_ptr<const GuardedPair>& pair, int parameters,
                             const std::vector<std::int64_t>& arrays) {
  const auto inner = [](const System& s) {
    return std::is_same_v<T, float> ? static_cast<const void*>(s.parts().float32.one.get())
                                    : static_cast<const void*>(s.parts().float64.one.get());
  };
  if (!inner(pair->model.system) || !inner(pair->truth.system)) return {};
  const auto steppers = [](const System& s) -> const Steppers<T>& {
    if constexpr (std::is_same_v<T, float>) return s.parts().float32;
    else return s.parts().float64;
  };
  const auto model = steppers(pair->model.system).one, truth = steppers(pair->truth.system).one;
  const int n = truth->sizes().state;
  StepperSizes sizes;
  sizes.state = sizes.tangent = 3 * n;
  sizes.input = truth->sizes().input;
  sizes.parameters = parameters;
  sizes.arrays = arrays;
  sizes.record = 1;
  sizes.carry = kDirection + n + model->sizes().carry + truth->sizes().carry;
  auto stepper = std::make_shared<const GuardedStepper<T>>(pair, model, truth, sizes);
  return {stepper, stepper, nullptr};
}

// Of the truth, whose states and parameters come first.
class GuardedObserver final : public DifferentiableObserver {
 public:
  GuardedObserver(std::shared_ptr<const DifferentiableObserver> inner, int first, int numbers)
      : DifferentiableObserver(inner->lanes(), inner->size()),
        inner_(std::move(inner)),
        first_(first),
        numbers_(numbers) {}
  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return inner_->make_workspace(resources);
  }
  void begin(const StepParameters<double>& p, StepWorkspace& w) const override {
    inner_->begin(p, w);
  }
  void observe(const ObservedPoint<double>& at, double* values, StepWorkspace& w) const override {
    inner_->observe(at, values, w);
  }
  void pullback(const ObservedPoint<double>& at, const double* values_bar, double* x_bar,
                double* u_bar, StepWorkspace& w) const override {
    inner_->pullback(at, values_bar, x_bar, u_bar, w);
  }
  void finish(StepWorkspace& w, double* p_bar) const override {
    std::fill_n(p_bar + first_ * lanes(), (numbers_ - first_) * lanes(), 0.0);
    inner_->finish(w, p_bar);
  }
  const LaneNote* notes(const StepWorkspace& w) const override { return inner_->notes(w); }

 private:
  std::shared_ptr<const DifferentiableObserver> inner_;
  int first_, numbers_;  // parameters in lanes: of the truth, of all
};

class GuardedObservables final : public Observables {
 public:
  GuardedObservables(std::shared_ptr<const Observables> inner, int first, int numbers)
      : inner_(std::move(inner)), first_(first), numbers_(numbers) {}
  std::vector<Observable> listed() const override { return inner_->listed(); }
  std::optional<Observable> find(const std::string& name) const override {
    return inner_->find(name);
  }
  std::optional<std::vector<std::string>> usual() const override { return inner_->usual(); }
  std::vector<std::string> known() const override { return inner_->known(); }
  std::string noun() const override { return inner_->noun(); }
  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>& names,
                                                      int lanes) const override {
    return inner_->float32(names, lanes);
  }
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int lanes) const override {
    return inner_->float64(names, lanes);
  }
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const override {
    auto inner = inner_->differentiable(names);
    if (!inner) return nullptr;
    return std::make_shared<const GuardedObserver>(std::move(inner), first_, numbers_);
  }

 private:
  std::shared_ptr<const Observables> inner_;
  int first_, numbers_;
};

void check_pair(const System& model, const System& truth, const GuardOptions& o) {
  const auto positive = [](double value, const char* name) {
    if (!(value > 0) || !std::isfinite(value)) {
      throw ParameterError(message("guarded: ", name, " must be positive; got ", value));
    }
  };
  positive(o.bound, "bound");
  positive(o.horizon, "horizon");
  positive(o.share, "share");
  if (o.every < 0) throw ParameterError("guarded: every must not be negative");
  if (o.most < 1) throw ParameterError("guarded: most must be at least 1");
  if (!truth.states().flat() || !model.states().flat()) {
    throw ModelError("guarded: states with quaternions cannot be corrected by differences");
  }
  if (!truth.events().empty() || !model.events().empty()) {
    throw ModelError("guarded: a System with events cannot be stepped in parts");
  }
  const int nm = model.inputs().size(), nt = truth.inputs().size();
  if (model.states().size() != truth.states().size() || (nm != nt && nm != 0)) {
    throw ModelError(message("guarded: the model has ", model.states().size(), " states and ", nm,
                             " inputs, the truth ", truth.states().size(), " and ", nt));
  }
}

int substeps(double whole, double own) {
  const double count = whole / own;
  if (std::abs(count - std::round(count)) > 1e-6 * count) {
    throw ModelError(message("guarded: steps of ", whole, " s and ", own,
                             " s do not divide each other; take a variant(dt=...) of one"));
  }
  return static_cast<int>(std::lround(count));
}

// A step that is held has another name, and no derivative.
Parameter guarded_parameter(Parameter p, const std::string& prefix, const char* whose) {
  if (p.name == kTimestepName) {
    p.name = message(whose, ".timestep");
    p.not_differentiable = "the steps of model and truth are held together";
  } else {
    p.name = prefix + p.name;
  }
  return p;
}

}  // namespace

System guarded(const System& model, const System& truth, const GuardOptions& options) {
  check_pair(model, truth, options);
  const SystemParts& inner = truth.parts();
  auto pair = std::make_shared<GuardedPair>(GuardedPair{{model}, {truth}, options});
  pair->step = std::max(model.timestep(), truth.timestep());
  pair->model.substeps = substeps(pair->step, model.timestep());
  pair->truth.substeps = substeps(pair->step, truth.timestep());

  SystemParts parts;
  parts.name = message(truth.name(), " guarded");
  parts.precision = truth.precision();
  parts.timestep = pair->step;
  std::vector<MixedBlockSpec> blocks;
  for (const Block& b : inner.states.blocks()) {
    blocks.push_back({b.name, b.unit, {BlockSpec{"piece", b.size, "1"}}});
  }
  const int n = inner.states.size();
  blocks.push_back({"guard", "1", {BlockSpec{"piece", 2 * n, "1"}}});
  parts.states = Space(blocks);
  parts.inputs = inner.inputs;
  parts.input_bounds = inner.input_bounds;
  parts.initial_state = inner.initial_state;
  parts.initial_state.resize(static_cast<std::size_t>(3 * n), 0.0);
  parts.counters = {"classical_steps", "comparisons", "alarms"};
  parts.vary = inner.vary;

  // Numbers of both, then arrays of both; what is the same in both is there once.
  std::vector<std::int64_t> arrays;
  for (const bool in_arrays : {false, true}) {
    for (GuardedInner* own : {&pair->truth, &pair->model}) {
      const bool of_model = own == &pair->model;
      if (in_arrays) own->first_array = arrays.size();
      const Parameters& registry = own->system.parameters();
      for (const Parameter& p : registry.all()) {
        if (p.array != in_arrays) continue;
        const auto value =
            std::span(registry.default_values())
                .subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.size));
        int place = parts.parameters.size();
        bool shared = false;
        if (of_model && !in_arrays && p.name != kTimestepName &&
            inner.parameters.contains(p.name)) {
          const Parameter& other = inner.parameters.find(p.name);
          shared = !other.array && other.size == p.size &&
                   std::equal(value.begin(), value.end(),
                              inner.parameters.default_values().begin() + other.offset);
          if (shared) place = other.offset;
        }
        if (!shared) {
          const Parameter renamed =
              guarded_parameter(p, of_model ? "model." : "", of_model ? "model" : "truth");
          parts.parameters.add(renamed, value);
          const std::vector<std::string>& vary = own->system.vary();
          const bool varies = std::find(vary.begin(), vary.end(), p.name) != vary.end();
          if (of_model && varies) parts.vary.push_back(renamed.name);
        }
        if (in_arrays) arrays.push_back(p.size);
        else
          for (int k = 0; k < p.size; ++k) own->places.push_back(place + k);
      }
    }
  }
  std::erase(parts.vary, std::string(kTimestepName));
  const int lanes = parts.parameters.lane_size(), first = inner.parameters.lane_size();
  const auto own = [first, lanes, all = inner.parameters.size()](const double* p) {
    std::vector<double> values(p, p + first);
    values.insert(values.end(), p + lanes, p + lanes + all - first);
    return values;
  };
  if (inner.refuse) {
    parts.refuse = [refuse = inner.refuse, own](const double* p) { return refuse(own(p).data()); };
  }
  if (inner.admit) {
    parts.admit = [admit = inner.admit, own](const double* p, double rounding, double* x) {
      return admit(own(p).data(), rounding, x);
    };
  }
  parts.float32 = guarded_steppers<float>(pair, lanes, arrays);
  parts.float64 = guarded_steppers<double>(pair, lanes, arrays);
  if (!(parts.precision == Precision::float32 ? parts.float32.one != nullptr
                                              : parts.float64.one != nullptr)) {
    throw ModelError(message("guarded: the model \"", model.name(), "\" does not compute in ",
                             truth.precision()));
  }
  if (inner.observables) {
    parts.observables = std::make_shared<const GuardedObservables>(inner.observables, first, lanes);
  }
  return System(std::move(parts));
}

}  // namespace cycloid::inline couple
