#include "cycloid/couple/close_loop.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/closed_observables.h"
#include "cycloid/couple/lane_array.h"
#include "cycloid/couple/linear_feedback.h"
#include "cycloid/math/dual.h"
#include "cycloid/system/substep_log.h"

namespace cycloid::inline couple {
namespace {

constexpr const char* kNames[] = {"feedback.gain", "feedback.target", "feedback.command"};

using Tangent = Dual<double, 1>;

// The inner step with inputs from the feedback. A stepper in dual numbers has W values in its lanes
// and then W tangents; the feedback reads them as W dual numbers.
template <class T>
class ClosedStepper final : public Stepper<T> {
 public:
  ClosedStepper(std::shared_ptr<const Stepper<T>> inner, const Space& states, bool dual)
      : Stepper<T>(sizes_of(*inner, states)),
        inner_(std::move(inner)),
        space_(states),
        inputs_(inner_->sizes().input),
        dual_(dual) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(*this, resources);
  }

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.p = p.lanes + inner_->sizes().parameters * lanes();
    std::fill(w.p_bar.begin(), w.p_bar.end(), 0.0);
    inner_->begin(p, *w.inner);
  }

  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    return inner_->step(with_input(in, w), x_next, record, *w.inner);
  }

  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar, T*,
                StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.u_bar.clear();
    inner_->pullback(with_input(in, w), record, x_next_bar, x_bar, w.u_bar.data(), *w.inner);
    pull_back_input(in.x, w, w.u_bar.data(), x_bar);
  }

  // A of the closed loop is A + B ∂u/∂x.
  bool jacobian(const StepInput<T>& in, const StepRecord& record, T* A, T*,
                StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const int W = lanes(), nt = this->sizes_.tangent;
    const std::size_t numbers = static_cast<std::size_t>(nt * W);
    const LaneArray<T> B(numbers * static_cast<std::size_t>(inputs_));
    std::vector<T> row(numbers);
    if (!inner_->jacobian(with_input(in, w), record, A, B.data(), *w.inner)) return false;
    const std::vector<double> kept = w.p_bar;  // this is no pullback: their sums stay as they are
    for (int m = 0; m < inputs_; ++m) {
      w.u_bar.clear();
      std::fill_n(w.u_bar.data() + m * W, W, T(1));
      std::fill(row.begin(), row.end(), T(0));
      pull_back_input(in.x, w, w.u_bar.data(), row.data());
      for (int i = 0; i < nt; ++i) {
        for (int j = 0; j < nt * W; ++j) {
          A[i * nt * W + j] +=
              B.data()[(i * inputs_ + m) * W + j % W] * row[static_cast<std::size_t>(j)];
        }
      }
    }
    w.p_bar = kept;
    return true;
  }

  bool pushforward(const StepInput<T>& in, const StepRecord& record, const StepTangents<T>& tan,
                   T* x_next_tan, StepWorkspace& workspace) const override {
    if (dual_) return false;
    Workspace& w = own(workspace);
    const StepInput<T> given = with_input(in, w);
    const int W = lanes(), np = shape().numbers(), nx = this->sizes_.state,
              nt = this->sizes_.tangent;
    w.pairs.resize(static_cast<std::size_t>((np + nx + nt + inputs_) * W));
    Tangent *const p = w.pairs.data(), *const x = p + np * W, *const d = x + nx * W,
                   *const u = d + nt * W;
    const T* const p_tan = tan.p ? tan.p + inner_->sizes().parameters * W : nullptr;
    for (int i = 0; i < np * W; ++i) {
      p[i] = Tangent(static_cast<double>(w.p[i]));
      p[i].tangent[0] = p_tan ? static_cast<double>(p_tan[i]) : 0;
    }
    std::vector<T> row(static_cast<std::size_t>(nx)), row_d(static_cast<std::size_t>(nt)),
        row_tan(row);
    for (int l = 0; l < W; ++l) {
      for (int i = 0; i < nx; ++i) row[static_cast<std::size_t>(i)] = in.x[i * W + l];
      for (int i = 0; i < nt; ++i) {
        row_d[static_cast<std::size_t>(i)] = tan.x ? tan.x[i * W + l] : T(0);
      }
      space_.velocity(row.data(), row_d.data(), row_tan.data());
      for (int i = 0; i < nx; ++i) {
        x[i * W + l] = Tangent(static_cast<double>(row[static_cast<std::size_t>(i)]));
        x[i * W + l].tangent[0] = static_cast<double>(row_tan[static_cast<std::size_t>(i)]);
      }
    }
    linear_feedback(shape(), p, x, W, d, u);
    for (int i = 0; i < inputs_ * W; ++i) w.u_bar.data()[i] = static_cast<T>(u[i].tangent[0]);
    return inner_->pushforward(given, record, {tan.x, w.u_bar.data(), tan.p, tan.arrays},
                               x_next_tan, *w.inner);
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    Workspace& w = own(workspace);
    inner_->finish(*w.inner, p_bar);
    std::copy(w.p_bar.begin(), w.p_bar.end(), p_bar + inner_->sizes().parameters * lanes());
  }

  void work_keys(const StepInput<T>& in, std::uint64_t* keys,
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
  std::shared_ptr<const Stepper<T>> following(SubstepLog* log) const override {
    auto inner = inner_->following(log);
    return inner ? std::make_shared<ClosedStepper>(std::move(inner), space_, dual_) : nullptr;
  }
  StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const StepInput<T> given = with_input(in, w);
    for (int i = 0; i < inputs_; ++i) {
      if (std::isfinite(given.u[i * lanes() + lane])) continue;
      return {"feedback", message("input ", i), "what the feedback gives is not finite"};
    }
    return inner_->explain(given, lane, *w.inner);
  }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const ClosedStepper& s, const StepResources& resources)
        : inner(s.inner_->make_workspace(resources)),
          u(s.numbers(s.inputs_)),
          u_bar(s.numbers(s.inputs_)),
          d(s.numbers(s.sizes_.tangent)),
          d_bar(d),
          p_bar(s.numbers(s.shape().numbers())) {}
    std::unique_ptr<StepWorkspace> inner;
    const T* p = nullptr;  // (numbers, W) of the feedback
    LaneArray<T> u, u_bar;
    std::vector<T> d, d_bar;
    std::vector<double> p_bar;
    std::vector<Tangent> pairs;  // memory for dual numbers
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  static StepperSizes sizes_of(const Stepper<T>& inner, const Space& states) {
    StepperSizes s = inner.sizes();
    s.parameters += FeedbackShape{states, s.input}.numbers();
    s.input = 0;
    return s;
  }

  FeedbackShape shape() const { return {space_, inputs_}; }
  int lanes() const { return this->sizes_.lanes; }
  std::size_t numbers(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(lanes());
  }

  StepInput<T> with_input(const StepInput<T>& in, Workspace& w) const {
    if (dual_) {
      input_in_duals(in.x, w);
    } else {
      linear_feedback(shape(), w.p, in.x, lanes(), w.d.data(), w.u.data());
    }
    StepInput<T> given = in;
    given.u = w.u.data();
    return given;
  }

  void pull_back_input(const T* x, Workspace& w, const T* u_bar, T* x_bar) const {
    if (dual_) return pull_back_in_duals(x, w, u_bar, x_bar);
    linear_feedback_pullback(shape(), w.p, x, u_bar, lanes(), w.d.data(), w.d_bar.data(), x_bar,
                             w.p_bar.data());
  }

  // (n, W values and W tangents) as (n, W) dual numbers, and back.
  template <class Number>
  Tangent* take(const Number* from, int n, Tangent* to) const {
    const int W = lanes() / 2;
    for (int i = 0; i < n; ++i) {
      for (int l = 0; l < W; ++l) {
        to[i * W + l] = Tangent(static_cast<double>(from[i * 2 * W + l]));
        to[i * W + l].tangent[0] = static_cast<double>(from[(i * 2 + 1) * W + l]);
      }
    }
    return to + n * W;
  }
  template <class Number>
  void give(const Tangent* from, int n, Number* to) const {
    const int W = lanes() / 2;
    for (int i = 0; i < n; ++i) {
      for (int l = 0; l < W; ++l) {
        to[i * 2 * W + l] = static_cast<Number>(from[i * W + l].value);
        to[(i * 2 + 1) * W + l] = static_cast<Number>(from[i * W + l].tangent[0]);
      }
    }
  }

  void input_in_duals(const T* x, Workspace& w) const {
    const int W = lanes() / 2, nt = this->sizes_.tangent, nx = this->sizes_.state;
    w.pairs.resize(static_cast<std::size_t>((shape().numbers() + nx + nt + inputs_) * W));
    Tangent *const p = w.pairs.data(), *const xs = take(w.p, shape().numbers(), p),
                   *const d = take(x, nx, xs), *const u = d + nt * W;
    linear_feedback(shape(), p, xs, W, d, u);
    give(u, inputs_, w.u.data());
  }

  void pull_back_in_duals(const T* x, Workspace& w, const T* u_bar, T* x_bar) const {
    const int W = lanes() / 2, nt = this->sizes_.tangent, nx = this->sizes_.state,
              np = shape().numbers();
    w.pairs.resize(static_cast<std::size_t>((2 * np + nx + 3 * nt + inputs_) * W));
    Tangent *const p = w.pairs.data(), *const xs = take(w.p, np, p), *const u = take(x, nx, xs),
                   *const own_x = take(u_bar, inputs_, u), *const own_p = take(x_bar, nt, own_x),
                   *const d = take(w.p_bar.data(), np, own_p), *const d_bar = d + nt * W;
    linear_feedback_pullback(shape(), p, xs, u, W, d, d_bar, own_x, own_p);
    give(own_x, nt, x_bar);
    give(own_p, np, w.p_bar.data());
  }

  std::shared_ptr<const Stepper<T>> inner_;
  Space space_;
  int inputs_;
  bool dual_;
};

template <class T>
Steppers<T> closed(const Steppers<T>& inner, const Space& states) {
  const auto close = [&](const std::shared_ptr<const Stepper<T>>& stepper,
                         bool dual) -> std::shared_ptr<const Stepper<T>> {
    return stepper ? std::make_shared<ClosedStepper<T>>(stepper, states, dual) : nullptr;
  };
  return {close(inner.one, false), close(inner.packed, false), close(inner.dual, true)};
}

void check_size(const std::vector<double>& given, int expected, const char* name, const char* of) {
  if (given.size() != static_cast<std::size_t>(expected)) {
    throw ModelError(message("close_loop: ", name, " has ", given.size(), " numbers, expected ",
                             expected, " (", of, ")"));
  }
}

// The loop around the varied inner system, with the defaults and the initial state of `of`.
void compute_otherwise(const System& system, const LinearFeedback& feedback, const Variant& variant,
                       SystemParts& of) {
  std::map<std::string, std::vector<double>> values =
      of.parameters.unpack(of.parameters.default_values());
  SystemParts inner = system.parts();
  inner.timestep = of.timestep;
  const auto inner_values = [&] {
    std::map<std::string, std::vector<double>> own = values;
    for (const char* name : kNames) own.erase(name);
    return own;
  };
  inner.parameters = with_defaults(inner.parameters, inner_values());
  inner.ways.use(variant, inner);
  const Parameters& varied = inner.parameters;
  for (auto& [name, value] : varied.unpack(varied.default_values())) values[name] = value;
  SystemParts other = close_loop(System(std::move(inner)), feedback).parts();
  other.parameters = with_defaults(other.parameters, values);
  other.initial_state = std::move(of.initial_state);
  of = std::move(other);
}

}  // namespace

System close_loop(const System& system, const LinearFeedback& feedback) {
  const SystemParts& inner = system.parts();
  const int nu = inner.inputs.size(), nt = inner.states.tangent_size(), nx = inner.states.size();
  if (nu == 0) {
    throw ModelError(message("close_loop: system \"", inner.name,
                             "\" has no inputs that a feedback could give"));
  }
  check_size(feedback.gain, nu * nt, "gain", "inputs times tangents");
  check_size(feedback.target, nx, "target", "states");
  check_size(feedback.command, nu, "command", "inputs");
  if (std::vector<double> unit = feedback.target; !inner.states.normalise(unit.data())) {
    throw ModelError("close_loop: a quaternion of the target is zero, which is no orientation");
  }
  SystemParts parts = inner;
  parts.input_bounds.clear();
  parts.feel_distance = nullptr;  // its steppers are wrapped as they are
  parts.name = message(inner.name, " closed");
  parts.inputs = Space();
  parts.parameters = Parameters();
  const auto add_old = [&](bool arrays) {
    const std::vector<double>& all = inner.parameters.default_values();
    for (const Parameter& p : inner.parameters.all()) {
      if (p.array != arrays) continue;
      parts.parameters.add(p, std::span(all).subspan(static_cast<std::size_t>(p.offset),
                                                     static_cast<std::size_t>(p.size)));
    }
  };
  const auto add = [&](int which, std::vector<int> shape, const std::vector<double>& value) {
    Parameter p;
    p.name = kNames[which];
    p.shape = std::move(shape);
    parts.parameters.add(std::move(p), value);
    parts.vary.push_back(kNames[which]);
  };
  add_old(false);
  add(0, {nu, nt}, feedback.gain);
  add(1, {nx}, feedback.target);
  add(2, {nu}, feedback.command);
  add_old(true);
  // The law sees its own parameters: ours come between its numbers and its arrays.
  const auto own = [lanes = inner.parameters.lane_size(), all = inner.parameters.size(),
                    ours = parts.parameters.size() - inner.parameters.size()](const double* p) {
    std::vector<double> values(p, p + lanes);
    values.insert(values.end(), p + lanes + ours, p + all + ours);
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
  parts.float32 = closed(inner.float32, inner.states);
  parts.float64 = closed(inner.float64, inner.states);
  parts.observables = closed_observables(inner);
  if (inner.ways.use) {
    parts.ways.use = [system, feedback](const Variant& variant, SystemParts& of) {
      compute_otherwise(system, feedback, variant, of);
    };
  }
  return System(std::move(parts));
}

}  // namespace cycloid::inline couple
