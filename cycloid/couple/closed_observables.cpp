#include "cycloid/couple/closed_observables.h"

#include <algorithm>

#include "cycloid/couple/lane_array.h"

namespace cycloid::inline couple {
namespace {

// What the observers of one loop share.
struct Loop {
  Closing closing;
  int inputs;  // of the inner System
};

// Base: ChunkObserver<T>, or DifferentiableObserver.
template <class T, class Base>
class ClosedSenses : public Base {
 public:
  ClosedSenses(std::shared_ptr<const Base> inner, const Loop& loop)
      : Base(inner->lanes(), inner->size()),
        inner_(std::move(inner)),
        feedback_(loop.closing.law->template in_lanes<T>(inner_->lanes(), false)),
        loop_(loop) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(*this, resources);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    feedback_->begin(p, *w.feedback);
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
          feedback(of.feedback_->make_workspace()),
          u(of.numbers(of.loop_.inputs)),
          u_bar(of.numbers(of.loop_.inputs)),
          fed(of.numbers(of.loop_.closing.outputs)) {}
    std::unique_ptr<StepWorkspace> inner, feedback;
    LaneArray<T> u, u_bar, fed;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  std::size_t numbers(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(this->lanes());
  }
  ObservedPoint<T> with_input(const ObservedPoint<T>& at, Workspace& w) const {
    const Closing& c = loop_.closing;
    const int W = this->lanes();
    feedback_->input({at.x, at.u, at.t}, w.fed.data(), *w.feedback);
    w.u.clear();
    if (c.open > 0) std::copy_n(at.u, c.open * W, w.u.data());
    for (int i = 0; i < c.outputs * W; ++i) w.u.data()[c.at * W + i] += w.fed.data()[i];
    return {at.x, w.u.data(), at.t};
  }

  std::shared_ptr<const Base> inner_;
  std::shared_ptr<const Feedback<T>> feedback_;
  Loop loop_;
};

class ClosedObserver final : public ClosedSenses<double, DifferentiableObserver> {
 public:
  using ClosedSenses::ClosedSenses;

  void pullback(const ObservedPoint<double>& at, const double* values_bar, double* x_bar,
                double* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const Closing& c = loop_.closing;
    w.u_bar.clear();
    inner_->pullback(with_input(at, w), values_bar, x_bar, w.u_bar.data(), *w.inner);
    for (int i = 0; i < c.open * lanes(); ++i) u_bar[i] += w.u_bar.data()[i];
    feedback_->pullback({at.x, at.u, at.t}, w.u_bar.data() + c.at * lanes(), true, x_bar, u_bar,
                        *w.feedback);
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    const Workspace& w = own(workspace);
    inner_->finish(*w.inner, p_bar);
    feedback_->finish(*w.feedback, p_bar);
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

std::shared_ptr<const Observables> closed_observables(const SystemParts& inner,
                                                      const Closing& closing) {
  if (!inner.observables) return nullptr;
  const Loop loop{closing, inner.inputs.size()};
  return std::make_shared<const ClosedObservables>(inner.observables, loop);
}

}  // namespace cycloid::inline couple
