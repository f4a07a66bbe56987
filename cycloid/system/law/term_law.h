// TermLaw<S>: a law of motion with something added to it, such as a network.
//
//   rate          x_dot' = x_dot(t, x, u, p) + f(x, u, t)                     (1)
//   acceleration  the same on the velocities' half of x_dot                   (2)
//   force         x_dot' = x_dot(t, x, u + f(x, u, t), p): inputs are forces  (3)
// f is a Feedback (feedback.h), evaluated wherever the law is: in every stage of every integrator.
// It has a workspace of its own, with the chunk's parameters; TermStepper puts it where the law
// finds it for as long as a call lasts, which stays on its thread. Flat spaces; events are those
// of jump.h. In dual numbers the feedback is its own form for them; one without has no second
// derivatives.
#pragma once

#include "cycloid/system/feedback.h"
#include "cycloid/system/law/any_law.h"

namespace cycloid::inline system {

// What a call of a chunk has at hand: the feedback's workspace, and memory.
template <class T>
struct TermCall {
  StepWorkspace* workspace;
  T *y, *u, *u_bar;  // (outputs, W), (inputs, W)
  bool wants_parameters;
};

template <class S>
class TermLaw {
 public:
  using T = Scalar<S>;
  static constexpr int W = static_cast<int>(sizeof(S) / sizeof(T));

  template <class Law>
  TermLaw(const Law& law, std::shared_ptr<const Feedback<T>> term, TermPlace place)
      : base_(law), term_(std::move(term)), place_(place) {
    const LawShape<AnyLaw<S>> shape(base_);
    states_ = shape.states, inputs_ = shape.inputs;
    outputs_ = place == TermPlace::rate           ? states_
               : place == TermPlace::acceleration ? states_ / 2
                                                  : inputs_;
    first_ = place == TermPlace::acceleration ? states_ / 2 : 0;
  }

  const std::vector<BlockSpec>& state() const { return base_.state(); }
  const std::vector<BlockSpec>& input() const { return base_.input(); }
  const std::vector<ParameterSpec>& parameters() const { return base_.parameters(); }
  int outputs() const { return outputs_; }

  // The call that this thread is in.
  static TermCall<T>*& call() {
    thread_local TermCall<T>* now = nullptr;
    return now;
  }

  template <class Q>
  void x_dot(const Q& t, const Q* x, const Q* u, const Q* p, Q* dx) const {
    const TermCall<T>& c = *call();
    term_->input(point(t, x, u), c.y, *c.workspace);
    const S* const y = reinterpret_cast<const S*>(c.y);
    if (place_ == TermPlace::force) {
      base_.x_dot(t, x, with_force(u, y, c), p, dx);  // (3)
      return;
    }
    base_.x_dot(t, x, u, p, dx);
    for (int i = 0; i < outputs_; ++i) dx[first_ + i] += y[i];  // (1), (2)
  }

  template <class Q>
  void x_dot_pullback(const Q& t, const Q* x, const Q* u, const Q* p, const Q* dx_bar, Q& t_bar,
                      Q* x_bar, Q* u_bar, Q* p_bar) const {
    const TermCall<T>& c = *call();
    const Q* y_bar = dx_bar + first_;
    if (place_ == TermPlace::force) {
      term_->input(point(t, x, u), c.y, *c.workspace);
      Q* const own = reinterpret_cast<Q*>(c.u_bar);
      set_zero(own, inputs_);
      base_.x_dot_pullback(t, x, with_force(u, reinterpret_cast<const Q*>(c.y), c), p, dx_bar,
                           t_bar, x_bar, own, p_bar);  // (3)
      for (int i = 0; i < inputs_; ++i) u_bar[i] += own[i];
      y_bar = own;
    } else {
      base_.x_dot_pullback(t, x, u, p, dx_bar, t_bar, x_bar, u_bar, p_bar);  // (1), (2)
    }
    term_->pullback(point(t, x, u), reinterpret_cast<const T*>(y_bar), c.wants_parameters,
                    reinterpret_cast<T*>(x_bar), reinterpret_cast<T*>(u_bar), *c.workspace);
  }

  // By rows of the pullback, without parameters.
  template <class Q>
  void x_dot_jacobian(const Q& t, const Q* x, const Q* u, const Q* p, Q* J, Scratch scratch) const {
    TermCall<T>& c = *call();
    const bool wanted = c.wants_parameters;
    c.wants_parameters = false;
    LocalArray<Q, kDynamic> unit(scratch, states_), u_bar(scratch, inputs_),
        p_bar(scratch, LawShape<AnyLaw<S>>(base_).parameters);
    set_zero(unit.data(), states_);
    set_zero(u_bar.data(), inputs_);
    set_zero(p_bar.data(), LawShape<AnyLaw<S>>(base_).parameters);
    set_zero(J, states_ * states_);
    Q t_bar(0);
    for (int i = 0; i < states_; ++i) {
      unit[i] = Q(1);
      x_dot_pullback(t, x, u, p, unit.data(), t_bar, J + i * states_, u_bar.data(), p_bar.data());
      unit[i] = Q(0);
    }
    c.wants_parameters = wanted;
  }

 private:
  FeedbackPoint<T> point(const S& t, const S* x, const S* u) const {
    return {reinterpret_cast<const T*>(x), reinterpret_cast<const T*>(u), time_of(t)};
  }
  static double time_of(const S& t) {
    if constexpr (requires { t.tangent; }) return static_cast<double>(lane(t.value, 0));
    else return static_cast<double>(lane(t, 0));
  }
  const S* with_force(const S* u, const S* y, const TermCall<T>& c) const {
    S* const pushed = reinterpret_cast<S*>(c.u);
    for (int i = 0; i < inputs_; ++i) pushed[i] = u[i] + y[i];
    return pushed;
  }

  AnyLaw<S> base_;
  std::shared_ptr<const Feedback<T>> term_;
  TermPlace place_;
  int states_ = 0, inputs_ = 0, outputs_ = 0, first_ = 0;
};

// A stepper of a TermLaw, with the feedback's workspace and parameters.
template <class S>
class TermStepper final : public Stepper<Scalar<S>> {
 public:
  using T = Scalar<S>;

  TermStepper(std::shared_ptr<const Stepper<T>> inner, std::shared_ptr<const Feedback<T>> term,
              int outputs, const std::vector<std::int64_t>& arrays)
      : Stepper<T>(sizes_of(*inner, arrays)),
        inner_(std::move(inner)),
        term_(std::move(term)),
        outputs_(outputs) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(*this, resources);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    term_->begin(p, *w.term);
    inner_->begin(p, *w.inner);
  }
  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const Calling calling(w, in);
    return inner_->step(in, x_next, record, *w.inner);
  }
  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const Calling calling(w, in);
    inner_->pullback(in, record, x_next_bar, x_bar, u_bar, *w.inner);
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    Workspace& w = own(workspace);
    inner_->finish(*w.inner, p_bar);
    term_->finish(*w.term, p_bar);
  }
  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return inner_->notes(*static_cast<const Workspace&>(workspace).inner);
  }
  std::span<const StepEvent> events(const StepWorkspace& workspace) const override {
    return inner_->events(*static_cast<const Workspace&>(workspace).inner);
  }
  std::shared_ptr<const Stepper<T>> following(SubstepLog* log) const override {
    auto inner = inner_->following(log);
    if (!inner) return nullptr;
    return std::make_shared<TermStepper>(std::move(inner), term_, outputs_, this->sizes_.arrays);
  }
  StepTrouble explain(const StepInput<T>& in, int lane_, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const Calling calling(w, in);
    return inner_->explain(in, lane_, *w.inner);
  }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const TermStepper& s, const StepResources& resources)
        : inner(s.inner_->make_workspace(resources)),
          term(s.term_->make_workspace()),
          memory(sizeof(S) * static_cast<std::size_t>(s.outputs_ + 2 * s.sizes_.input)),
          call{term.get(), reinterpret_cast<T*>(LaneWorkspace::memory(memory)), nullptr, nullptr,
               true} {
      call.u = call.y + s.outputs_ * s.sizes_.lanes;
      call.u_bar = call.u + s.sizes_.input * s.sizes_.lanes;
    }
    std::unique_ptr<StepWorkspace> inner, term;
    LaneWorkspace memory;
    TermCall<T> call;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  // Shows the law its call, and hides it again.
  struct Calling {
    Calling(Workspace& w, const StepInput<T>& in) : before(TermLaw<S>::call()) {
      w.call.wants_parameters = in.wants_parameters;
      TermLaw<S>::call() = &w.call;
    }
    ~Calling() { TermLaw<S>::call() = before; }
    TermCall<T>* before;
  };

  static StepperSizes sizes_of(const Stepper<T>& inner, const std::vector<std::int64_t>& arrays) {
    StepperSizes s = inner.sizes();
    s.arrays = arrays;
    return s;
  }

  std::shared_ptr<const Stepper<T>> inner_;
  std::shared_ptr<const Feedback<T>> term_;
  int outputs_;
};

// Where systems.cpp finds steppers of a law with a term.
struct TermKey {
  std::string_view law, integrator;
  int n;  // masses of spring_chain; states or velocities of bare motion
  Precision precision;
  const FeedbackLaw* term;
  TermPlace place;
  double rtol = 0, atol = 0;
  int inputs = 0;       // of bare motion (laws/bare_motion.h)
  bool halves = false;  // the state of bare motion is [q, p]: partitioned.h applies
};
struct TermEntry {
  Steppers<float> float32;
  Steppers<double> float64;
};

}  // namespace cycloid::inline system

// An entry without steppers: the integrator does not apply to the law, or one of them is unknown.
namespace cycloid::isa::portable {
TermEntry term_law_steppers(const TermKey& key);
}  // namespace cycloid::isa::portable
namespace cycloid::isa::v3 {
TermEntry term_law_steppers(const TermKey& key);
}  // namespace cycloid::isa::v3
namespace cycloid::isa::v4 {
TermEntry term_law_steppers(const TermKey& key);
}  // namespace cycloid::isa::v4
