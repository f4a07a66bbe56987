#include "cycloid/fluid/grid/observe/single_observer.h"

namespace cycloid::inline fluid {
namespace {

class SingleObserver final : public ChunkObserver<float> {
 public:
  SingleObserver(std::shared_ptr<const DifferentiableObserver> of, const ObservedSizes& sizes)
      : ChunkObserver<float>(1, of->size()), of_(std::move(of)), sizes_(sizes) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& r) const override {
    auto w = std::make_unique<Workspace>();
    w->of = of_->make_workspace(r);
    return w;
  }
  void begin(const StepParameters<float>& p, StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    w.p.assign(p.lanes, p.lanes + sizes_.parameters);
    StepParameters<double> wide;
    wide.lanes = w.p.data();
    of_->begin(wide, *w.of);
  }
  void observe(const ObservedPoint<float>& point, float* values,
               StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    w.x.assign(point.x, point.x + sizes_.states);
    w.u.assign(point.u, point.u + sizes_.inputs);
    w.values.resize(static_cast<std::size_t>(size()));
    of_->observe({w.x.data(), w.u.data(), point.t}, w.values.data(), *w.of);
    for (const double value : w.values) *values++ = static_cast<float>(value);
  }

 private:
  struct Workspace final : StepWorkspace {
    std::unique_ptr<StepWorkspace> of;
    std::vector<double> p, x, u, values;
  };
  std::shared_ptr<const DifferentiableObserver> of_;
  ObservedSizes sizes_;
};

}  // namespace

std::shared_ptr<const ChunkObserver<float>> single_observer(
    std::shared_ptr<const DifferentiableObserver> of, const ObservedSizes& sizes) {
  return std::make_shared<SingleObserver>(std::move(of), sizes);
}

}  // namespace cycloid::inline fluid
