#include "cycloid/learn/learned_observables.h"

#include <algorithm>

#include "cycloid/learn/field.h"

namespace cycloid::inline learn {
namespace {

constexpr int kObservedLanes = 16;  // a whole number of registers of every instruction set

// The numbers of x_dot, then the energy: all that there is, of which some are picked.
template <class T, class Base>
class LearnedSenses : public Base {
 public:
  LearnedSenses(std::shared_ptr<const FieldPlan<T>> plan, const std::vector<int>& picks, int lanes)
      : Base(lanes, static_cast<int>(picks.size())),
        plan_(std::move(plan)),
        picks_(picks),
        columns_(block_columns<T>(lanes)) {
    for (const int k : picks) (k < plan_->law.states() ? rate_ : energy_) = true;
  }

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources&) const override {
    return std::make_unique<Workspace>(*this);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.weights = p.arrays, w.bars = p.arrays_bar, w.left_out = p.left_out;
  }
  void observe(const ObservedPoint<T>& at, T* values, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.field.use(w.weights, nullptr);
    take(at, w, false);
    if (rate_) w.field.rate(w.x.data(), w.u.data(), w.all.data());
    if (energy_) w.field.energy(w.x.data(), w.all.data() + plan_->law.states() * columns_);
    for (std::size_t k = 0; k < picks_.size(); ++k) {
      std::copy_n(w.all.data() + picks_[k] * columns_, this->lanes(),
                  values + static_cast<int>(k) * this->lanes());
    }
  }

 protected:
  struct Workspace final : StepWorkspace {
    explicit Workspace(const LearnedSenses& of)
        : field(of.plan_, of.columns_),
          x(of.room(of.plan_->law.states())),
          x_bar(of.room(of.plan_->law.states())),
          u(of.room(of.plan_->law.inputs)),
          u_bar(of.room(of.plan_->law.inputs)),
          all(of.room(of.plan_->law.states() + 1)),
          all_bar(of.room(of.plan_->law.states() + 1)) {
      std::size_t numbers = 0;
      for (const std::int64_t n : of.plan_->arrays) numbers += static_cast<std::size_t>(n);
      sums.assign(numbers, T(0));
      T* next = sums.data();
      for (const std::int64_t n : of.plan_->arrays) sum_pointers.push_back(next), next += n;
    }
    Field<T> field;
    LaneArray<T> x, x_bar, u, u_bar, all, all_bar;
    std::vector<T> sums;
    std::vector<T*> sum_pointers;
    const T* const* weights = nullptr;
    double* const* bars = nullptr;
    const bool* left_out = nullptr;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }
  std::size_t room(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(columns_) + 64;
  }
  void take(const ObservedPoint<T>& at, Workspace& w, bool way_back) const {
    const auto rows = [&](const T* from, int n, T* to) {
      for (int i = 0; i < n; ++i) {
        for (int l = 0; l < columns_; ++l) {
          const bool none = l >= this->lanes() || (way_back && w.left_out && w.left_out[l]);
          to[i * columns_ + l] = none ? T(0) : from[i * this->lanes() + l];
        }
      }
    };
    rows(at.x, plan_->law.states(), w.x.data());
    rows(at.u, plan_->law.inputs, w.u.data());
  }

  std::shared_ptr<const FieldPlan<T>> plan_;
  std::vector<int> picks_;
  int columns_;
  bool rate_ = false, energy_ = false;
};

class LearnedObserver final : public LearnedSenses<double, DifferentiableObserver> {
 public:
  using LearnedSenses::LearnedSenses;

  void pullback(const ObservedPoint<double>& at, const double* values_bar, double* x_bar,
                double* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.field.use(w.weights, w.bars ? w.sum_pointers.data() : nullptr);
    take(at, w, true);
    w.all_bar.clear(), w.x_bar.clear(), w.u_bar.clear();
    for (std::size_t k = 0; k < picks_.size(); ++k) {
      for (int l = 0; l < lanes(); ++l) {
        if (w.left_out && w.left_out[l]) continue;
        w.all_bar.data()[picks_[k] * columns_ + l] += values_bar[static_cast<int>(k) * lanes() + l];
      }
    }
    const int nx = plan_->law.states();
    if (rate_) {
      w.field.rate_pullback(
          w.x.data(), w.u.data(),
          [&](const double*, double* bar) { std::copy_n(w.all_bar.data(), nx * columns_, bar); },
          w.x_bar.data(), w.u_bar.data());
    }
    if (energy_) {
      w.field.energy_pullback(w.x.data(), w.all_bar.data() + nx * columns_, w.x_bar.data());
    }
    for (int i = 0; i < nx; ++i) {
      for (int l = 0; l < lanes(); ++l) {
        x_bar[i * lanes() + l] += w.x_bar.data()[i * columns_ + l];
      }
    }
    for (int i = 0; i < plan_->law.inputs; ++i) {
      for (int l = 0; l < lanes(); ++l) {
        u_bar[i * lanes() + l] += w.u_bar.data()[i * columns_ + l];
      }
    }
    for (std::size_t k = 0; k < plan_->arrays.size() && w.bars; ++k) {
      for (std::int64_t i = 0; i < plan_->arrays[k]; ++i) w.bars[k][i] += w.sum_pointers[k][i];
    }
    std::fill(w.sums.begin(), w.sums.end(), 0.0);
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
