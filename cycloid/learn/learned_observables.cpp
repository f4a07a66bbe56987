#include "cycloid/learn/learned_observables.h"

#include <algorithm>

#include "cycloid/learn/field_lanes.h"

namespace cycloid::inline learn {
namespace {

// Rates, energy and, one each, what distances miss.
int numbers_of(const LearnedLaw& law) {
  return law.states() + 1 + static_cast<int>(law.distances.size());
}

constexpr int kObservedLanes = 16;  // a whole number of registers of every instruction set

// The numbers of x_dot, then the energy: all that there is, of which some are picked.
template <class T, class Base>
class LearnedSenses : public Base {
 public:
  LearnedSenses(std::shared_ptr<const FieldPlan<T>> plan, const std::vector<int>& picks, int lanes)
      : Base(lanes, static_cast<int>(picks.size())), plan_(std::move(plan)), picks_(picks) {
    for (const int k : picks)
      (k < plan_->law.states() ? rate_ : k == plan_->law.states() ? energy_ : violation_) = true;
  }

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources&) const override {
    return std::make_unique<Workspace>(*this);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    own(workspace).at.begin(p);
  }
  void observe(const ObservedPoint<T>& at, T* values, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const int C = w.at.columns;
    w.at.field.use(w.at.weights, nullptr);
    w.at.take(at.x, at.u, false);
    if (rate_) w.at.field.rate(w.at.x.data(), w.at.u.data(), w.all.data());
    if (energy_) w.at.field.energy(w.at.x.data(), w.all.data() + plan_->law.states() * C);
    if (violation_) {
      w.at.field.violation(w.at.x.data(), w.all.data() + (plan_->law.states() + 1) * C);
    }
    for (std::size_t k = 0; k < picks_.size(); ++k) {
      std::copy_n(w.all.data() + picks_[k] * C, this->lanes(),
                  values + static_cast<int>(k) * this->lanes());
    }
  }

 protected:
  struct Workspace final : StepWorkspace {
    explicit Workspace(const LearnedSenses& of)
        : at(of.plan_, of.lanes()), all(numbers(of, at)), all_bar(numbers(of, at)) {}
    static std::size_t numbers(const LearnedSenses& of, const FieldLanes<T>& lanes) {
      return static_cast<std::size_t>(numbers_of(of.plan_->law) * lanes.columns) + 64;
    }
    FieldLanes<T> at;
    LaneArray<T> all, all_bar;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  std::shared_ptr<const FieldPlan<T>> plan_;
  std::vector<int> picks_;
  bool rate_ = false, energy_ = false, violation_ = false;
};

class LearnedObserver final : public LearnedSenses<double, DifferentiableObserver> {
 public:
  using LearnedSenses::LearnedSenses;

  void pullback(const ObservedPoint<double>& at, const double* values_bar, double* x_bar,
                double* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const int C = w.at.columns, nx = plan_->law.states();
    w.at.field.use(w.at.weights, w.at.bars ? w.at.sums.pointers.data() : nullptr);
    w.at.take(at.x, at.u, true);
    w.all_bar.clear();
    for (std::size_t k = 0; k < picks_.size(); ++k) {
      for (int l = 0; l < lanes(); ++l) {
        if (!w.at.counts(l)) continue;
        w.all_bar.data()[picks_[k] * C + l] += values_bar[static_cast<int>(k) * lanes() + l];
      }
    }
    if (rate_) {
      w.at.field.rate_pullback(
          w.at.x.data(), w.at.u.data(),
          [&](const double*, double* bar) { std::copy_n(w.all_bar.data(), nx * C, bar); },
          w.at.x_bar.data(), w.at.u_bar.data());
    }
    if (energy_) {
      w.at.field.energy_pullback(w.at.x.data(), w.all_bar.data() + nx * C, w.at.x_bar.data());
    }
    if (violation_) {
      w.at.field.violation_pullback(w.at.x.data(), w.all_bar.data() + (nx + 1) * C,
                                    w.at.x_bar.data());
    }
    w.at.give(x_bar, u_bar);
    if (w.at.bars) w.at.sums.flush(w.at.bars);
  }
  void finish(StepWorkspace&, double* p_bar) const override {
    std::fill_n(p_bar, lanes(), 0.0);  // the time step
  }
};

class LearnedObservables final : public Observables {
 public:
  LearnedObservables(const LearnedLaw& law, const systems::Settings& settings)
      : law_(law),
        settings_(settings),
        plan32_(std::make_shared<FieldPlan<float>>(law)),
        plan64_(std::make_shared<FieldPlan<double>>(law)) {}

  const LearnedLaw& law() const { return law_; }
  const systems::Settings& settings() const { return settings_; }
  std::vector<Observable> listed() const override {
    std::vector<Observable> all = {{"x_dot", "", {law_.states()}}};
    if (law_.kind != LearnedKind::neural_ode) all.push_back({"energy", "", {1}});
    if (law_.kind == LearnedKind::constrained) {
      all.push_back({"violation", "m", {static_cast<int>(law_.distances.size())}});
    }
    return all;
  }
  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>& names,
                                                      int lanes) const override {
    return std::make_shared<LearnedSenses<float, ChunkObserver<float>>>(plan32_, picks(names),
                                                                        lanes);
  }
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int lanes) const override {
    return std::make_shared<LearnedSenses<double, ChunkObserver<double>>>(plan64_, picks(names),
                                                                          lanes);
  }
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const override {
    return std::make_shared<LearnedObserver>(plan64_, picks(names), kObservedLanes);
  }

 private:
  std::vector<int> picks(const std::vector<std::string>& names) const {
    std::vector<int> all;
    for (const std::string& name : names) {
      for (int i = 0; i < law_.states() && name == "x_dot"; ++i) all.push_back(i);
      if (name == "energy") all.push_back(law_.states());
      for (int i = law_.states() + 1; i < numbers_of(law_) && name == "violation"; ++i) {
        all.push_back(i);
      }
    }
    return all;
  }

  LearnedLaw law_;
  systems::Settings settings_;
  std::shared_ptr<const FieldPlan<float>> plan32_;
  std::shared_ptr<const FieldPlan<double>> plan64_;
};

}  // namespace

std::shared_ptr<const Observables> learned_observables(const LearnedLaw& law,
                                                       const systems::Settings& settings) {
  return std::make_shared<LearnedObservables>(law, settings);
}

const LearnedLaw* learned_law(const System& system) {
  const auto* own = dynamic_cast<const LearnedObservables*>(system.observables());
  return own ? &own->law() : nullptr;
}

systems::Settings learned_settings(const System& system) {
  const auto* own = dynamic_cast<const LearnedObservables*>(system.observables());
  systems::Settings settings = own ? own->settings() : systems::Settings();
  settings.dt = system.timestep(), settings.precision = system.precision();
  settings.integrator = system.ways().integrator, settings.vary = system.vary();
  return settings;
}

}  // namespace cycloid::inline learn
