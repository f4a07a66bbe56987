#include "cycloid/couple/closed_observables.h"

#include "cycloid/couple/lane_array.h"
#include "cycloid/couple/linear_feedback.h"

namespace cycloid::inline couple {
namespace {

// What the observers of one loop share.
struct Loop {
  Space states;
  int inputs, parameters;  // of the inner System, those in lanes

  FeedbackShape shape() const { return {states, inputs}; }
};

// Base: ChunkObserver<T>, or DifferentiableObserver.
template <class T, class Base>
class ClosedSenses : public Base {
 public:
  ClosedSenses(std::shared_ptr<const Base> inner, const Loop& loop)
      : Base(inner->lanes(), inner->size()), inner_(std::move(inner)), loop_(loop) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(*this, resources);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.p = p.lanes + loop_.parameters * this->lanes();
    w.p_bar.clear();
    inner_->begin(p, *w.inner);
  }
  void observe(const ObservedPoint<T>& at, T* values, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    inner_->observe(with_input(at, w), values, *w.inner);
  }
  void observe_behind(const ObservedStep<T>& step, T* values,
                      StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    inner_->observe_behind({with_input(step.before, w), step.record, step.failed}, values,
                           *w.inner);
  }
  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return inner_->notes(*static_cast<const Workspace&>(workspace).inner);
  }

 protected:
  struct Workspace final : StepWorkspace {
    Workspace(const ClosedSenses& of, const StepResources& resources)
        : inner(of.inner_->make_workspace(resources)),
          u(of.numbers(of.loop_.inputs)),
          u_bar(of.numbers(of.loop_.inputs)),
          d(of.numbers(of.loop_.states.tangent_size())),
          d_bar(of.numbers(of.loop_.states.tangent_size())),
          p_bar(of.numbers(of.loop_.shape().numbers())) {}
    std::unique_ptr<StepWorkspace> inner;
    const T* p = nullptr;  // (numbers, W) of the feedback
    LaneArray<T> u, u_bar, d, d_bar;
    LaneArray<double> p_bar;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  std::size_t numbers(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(this->lanes());
  }
  ObservedPoint<T> with_input(const ObservedPoint<T>& at, Workspace& w) const {
    linear_feedback(loop_.shape(), w.p, at.x, this->lanes(), w.d.data(), w.u.data());
    return {at.x, w.u.data(), at.t};
  }

  std::shared_ptr<const Base> inner_;
  Loop loop_;
};

class ClosedObserver final : public ClosedSenses<double, DifferentiableObserver> {
 public:
  using ClosedSenses::ClosedSenses;

  void pullback(const ObservedPoint<double>& at, const double* values_bar, double* x_bar, double*,
                StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.u_bar.clear();
    inner_->pullback(with_input(at, w), values_bar, x_bar, w.u_bar.data(), *w.inner);
    linear_feedback_pullback(loop_.shape(), w.p, at.x, static_cast<const double*>(w.u_bar.data()),
                             lanes(), w.d.data(), w.d_bar.data(), x_bar, w.p_bar.data());
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    const Workspace& w = own(workspace);
    inner_->finish(*w.inner, p_bar);
    std::copy_n(w.p_bar.data(), numbers(loop_.shape().numbers()),
                p_bar + loop_.parameters * lanes());
  }
};

class ClosedObservables final : public Observables {
 public:
  ClosedObservables(std::shared_ptr<const Observables> inner, const Loop& loop)
      : inner_(std::move(inner)), loop_(loop) {}

  std::vector<Observable> listed() const override { return inner_->listed(); }
  std::optional<Observable> find(const std::string& name) const override {
    return inner_->find(name);
  }
  std::optional<std::vector<std::string>> usual() const override { return inner_->usual(); }
  std::vector<std::string> known() const override { return inner_->known(); }
  std::string noun() const override { return inner_->noun(); }

  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>& names,
                                                      int lanes) const override {
    return close<ClosedSenses<float, ChunkObserver<float>>>(inner_->float32(names, lanes));
  }
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int lanes) const override {
    return close<ClosedSenses<double, ChunkObserver<double>>>(inner_->float64(names, lanes));
  }
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const override {
    return close<ClosedObserver>(inner_->differentiable(names));
  }

 private:
  template <class Closed, class Inner>
  std::shared_ptr<const Closed> close(std::shared_ptr<const Inner> observer) const {
    return observer ? std::make_shared<const Closed>(std::move(observer), loop_) : nullptr;
  }

  std::shared_ptr<const Observables> inner_;
  Loop loop_;
};

}  // namespace

std::shared_ptr<const Observables> closed_observables(const SystemParts& inner) {
  if (!inner.observables) return nullptr;
  const Loop loop{inner.states, inner.inputs.size(), inner.parameters.lane_size()};
  return std::make_shared<const ClosedObservables>(inner.observables, loop);
}

}  // namespace cycloid::inline couple
