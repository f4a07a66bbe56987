// What a law shows besides its state, in lanes.
//
//   energy(x, p) -> E                                                 (1)  named "energy"
//   energy_pullback(x, p, E_bar, x_bar, p_bar)                             optional; adds
//   kEnergyUnit                                                            "J" without it
// where kinetic plus potential energy is conserved without damping and input. And anything else,
// by blocks with a name, a size and a unit:
//   static constexpr std::array kObservables = {BlockSpec{"tip", 2, "m"}};
//   observe(t, x, u, p, y)                                            (2)  y: the blocks' numbers
//   observe_pullback(t, x, u, p, y_bar, t_bar, x_bar, u_bar, p_bar)        optional; adds
// Without its pullback, (1) or (2) is differentiated by dual numbers, as x_dot is (law.h).
//
// W lanes are those of a stepper; they are worked on in groups of the lanes of S. The parameters
// are the law's and the time step, on which nothing here depends.
#pragma once

#include "cycloid/base/arena.h"
#include "cycloid/math/pack.h"
#include "cycloid/system/law/law_point.h"
#include "cycloid/system/law/law_steppers.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline system {

template <class Law>
concept HasEnergy = requires(const Law& law, const double* c) { law.energy(c, c); };
template <class Law>
concept HasEnergyPullback =
    requires(const Law& law, const double* c, double* m) { law.energy_pullback(c, c, 1.0, m, m); };
template <class Law>
concept HasObservables = requires { Law::kObservables; };
template <class Law>
concept HasObservePullback = requires(const Law& law, const double* c, double& r, double* m) {
  law.observe_pullback(0.0, c, c, c, c, r, m, m, m);
};
// Members of these names, whatever their arguments.
template <class Law>
concept NamesEnergyPullback = requires { &Law::template energy_pullback<double>; };
template <class Law>
concept NamesObservePullback = requires { &Law::template observe_pullback<double>; };

// (1), then (2).
template <class Law>
std::vector<Observable> law_observables() {
  std::vector<Observable> all;
  if constexpr (HasEnergy<Law>) {
    all.push_back({"energy", "J", {1}});
    if constexpr (requires { Law::kEnergyUnit; }) all.back().unit = Law::kEnergyUnit;
  }
  if constexpr (HasObservables<Law>) {
    for (const BlockSpec& b : Law::kObservables) all.push_back({b.name, b.unit, {b.size}});
  }
  return all;
}

// Numbers of (2), and of both.
template <class Law>
constexpr int observed_numbers() {
  int n = 0;
  if constexpr (HasObservables<Law>) {
    for (const BlockSpec& b : Law::kObservables) n += b.size;
  }
  return n;
}
template <class Law>
constexpr int law_values = observed_numbers<Law>() + (HasEnergy<Law> ? 1 : 0);

template <class Law, class S>
CYCLOID_INLINE void law_observe(const LawPoint<Law, S>& at, const S* x, S* y) {
  if constexpr (HasEnergy<Law>) *y++ = at.law.energy(x, at.p);                // (1)
  if constexpr (HasObservables<Law>) at.law.observe(at.t, x, at.u, at.p, y);  // (2)
}

// Adds the cotangents of x (tangents), u and p.
template <class Law, class S>
CYCLOID_INLINE void law_observe_pullback(const LawPoint<Law, S>& at, const S* x, const S* y_bar,
                                         S* x_bar, S* u_bar, S* p_bar) {
  [[maybe_unused]] S t_bar(0);
  if constexpr (HasEnergyPullback<Law>) {  // (1)
    at.law.energy_pullback(x, at.p, y_bar[0], x_bar, p_bar);
    ++y_bar;
  } else if constexpr (HasEnergy<Law>) {
    static_assert(!NamesEnergyPullback<Law>,
                  "energy_pullback has other arguments than system/law/law_observer.h lists");
    pull_back_by_duals<1>(
        at, at.t, x, y_bar, t_bar, x_bar, u_bar, p_bar,
        [&](const auto&, const auto* xd, const auto*, const auto* pd, auto* y) {
          y[0] = at.law.energy(xd, pd);
        },
        1);
    ++y_bar;
  }
  if constexpr (HasObservePullback<Law>) {  // (2)
    at.law.observe_pullback(at.t, x, at.u, at.p, y_bar, t_bar, x_bar, u_bar, p_bar);
  } else if constexpr (HasObservables<Law>) {
    static_assert(!NamesObservePullback<Law>,
                  "observe_pullback has other arguments than system/law/law_observer.h lists");
    constexpr int n = observed_numbers<Law>();
    pull_back_by_duals<n>(
        at, at.t, x, y_bar, t_bar, x_bar, u_bar, p_bar,
        [&](const auto& td, const auto* xd, const auto* ud, const auto* pd, auto* y) {
          at.law.observe(td, xd, ud, pd, y);
        },
        n);
  }
}

// Some of a law's numbers. Base: ChunkObserver<T>, or DifferentiableObserver for LawObserver.
template <class Law, class S, class Base = ChunkObserver<Scalar<S>>>
class LawSenses : public Base {
 public:
  using T = Scalar<S>;

  // picks: the places of the wanted numbers among all of the law's.
  LawSenses(const Law& law, const std::vector<int>& picks, int lanes)
      : Base(lanes, static_cast<int>(picks.size())), law_(law), shape_(law), picks_(picks) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources&) const override {
    Arena measure = Arena::measuring();
    Memory(*this, measure);
    return std::make_unique<LaneWorkspace>(measure.used());
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    const Memory at = memory(workspace);
    const std::size_t numbers = parameter_lanes();
    std::copy_n(p.lanes, numbers, at.p_lanes);
    std::fill_n(at.p_sum, numbers, 0.0);
  }
  void observe(const ObservedPoint<T>& point, T* values, StepWorkspace& workspace) const override {
    const Memory at = memory(workspace);
    for (int first = 0; first < this->lanes(); first += kGroup) {
      law_observe(load_point(at, point, first), at.x, at.y);
      for (std::size_t k = 0; k < picks_.size(); ++k) {
        put(at.y[picks_[k]], values, static_cast<int>(k), first);
      }
    }
  }

 protected:
  static constexpr int kGroup = static_cast<int>(sizeof(S) / sizeof(T));

  // Local arrays of one group, then the chunk's parameters and their cotangents.
  struct Memory {
    Memory(const LawSenses& of, Arena& arena) {
      const LawShape<Law>& n = of.shape_;
      const auto take = [&](S*& to, int count) { arena.take(to, static_cast<std::size_t>(count)); };
      take(x, n.states), take(u, n.inputs), take(p, n.parameters), take(y, law_values<Law>);
      take(x_bar, n.tangents), take(u_bar, n.inputs), take(p_bar, n.parameters);
      take(y_bar, law_values<Law>);
      arena.take(p_sum, of.parameter_lanes());
      arena.take(p_lanes, of.parameter_lanes());
    }
    S *x, *u, *p, *y, *y_bar, *x_bar, *u_bar, *p_bar;
    double* p_sum;
    T* p_lanes;
  };
  Memory memory(const StepWorkspace& workspace) const {
    Arena arena = Arena::over(LaneWorkspace::memory(workspace));
    return Memory(*this, arena);
  }

  std::size_t parameter_lanes() const {  // with the time step
    return static_cast<std::size_t>(shape_.parameters + 1) *
           static_cast<std::size_t>(this->lanes());
  }
  void get(const T* from, int row, int first, S& to) const {
    std::memcpy(static_cast<void*>(&to), from + row * this->lanes() + first, sizeof(S));
  }
  void put(const S& from, T* to, int row, int first) const {
    std::memcpy(to + row * this->lanes() + first, &from, sizeof(S));
  }
  LawPoint<Law, S> load_point(const Memory& at, const ObservedPoint<T>& point, int first) const {
    for (int i = 0; i < shape_.states; ++i) get(point.x, i, first, at.x[i]);
    for (int i = 0; i < shape_.inputs; ++i) get(point.u, i, first, at.u[i]);
    for (int i = 0; i < shape_.parameters; ++i) get(at.p_lanes, i, first, at.p[i]);
    return {law_, shape_, S(static_cast<T>(point.t)), S(0), at.u, at.p, Scratch{nullptr}};
  }

  Law law_;
  LawShape<Law> shape_;
  std::vector<int> picks_;
};

template <class Law, class S>
class LawObserver final : public LawSenses<Law, S, DifferentiableObserver> {
  using Base = LawSenses<Law, S, DifferentiableObserver>;
  using typename Base::Memory;

 public:
  using Base::Base;

  void pullback(const ObservedPoint<double>& point, const double* values_bar, double* x_bar,
                double* u_bar, StepWorkspace& workspace) const override {
    const Memory at = this->memory(workspace);
    const auto& n = this->shape_;
    for (int first = 0; first < this->lanes(); first += Base::kGroup) {
      const LawPoint<Law, S> here = this->load_point(at, point, first);
      set_zero(at.y_bar, law_values<Law>);
      for (std::size_t k = 0; k < this->picks_.size(); ++k) {
        S bar;
        this->get(values_bar, static_cast<int>(k), first, bar);
        at.y_bar[this->picks_[k]] += bar;
      }
      set_zero(at.x_bar, n.tangents), set_zero(at.u_bar, n.inputs);
      set_zero(at.p_bar, n.parameters);
      law_observe_pullback(here, at.x, at.y_bar, at.x_bar, at.u_bar, at.p_bar);
      add(at.x_bar, n.tangents, x_bar, first), add(at.u_bar, n.inputs, u_bar, first);
      add(at.p_bar, n.parameters, at.p_sum, first);
    }
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    std::copy_n(this->memory(workspace).p_sum, this->parameter_lanes(), p_bar);
  }

 private:
  void add(const S* from, int count, double* to, int first) const {
    for (int i = 0; i < count; ++i) {
      S sum;
      this->get(to, i, first, sum);
      this->put(sum + from[i], to, i, first);
    }
  }
};

template <class Law>
class LawObservables final : public Observables {
 public:
  explicit LawObservables(const Law& law) : law_(law) {}

  std::vector<Observable> listed() const override { return law_observables<Law>(); }
  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>& names,
                                                      int lanes) const override {
    using Lanes = Pack<float, kLawLanes<float>>;
    const std::vector<int> picks = places_of(names);
    if (lanes % kLawLanes<float> == 0) {
      return std::make_shared<LawSenses<Law, Lanes>>(law_, picks, lanes);
    }
    return std::make_shared<LawSenses<Law, float>>(law_, picks, lanes);
  }
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int lanes) const override {
    const std::vector<int> picks = places_of(names);
    if (lanes % kLawLanes<double> == 0) return std::make_shared<Differentiable>(law_, picks, lanes);
    return std::make_shared<LawObserver<Law, double>>(law_, picks, lanes);
  }
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const override {
    return std::make_shared<Differentiable>(law_, places_of(names), kLawLanes<double>);
  }

 private:
  using Differentiable = LawObserver<Law, Pack<double, kLawLanes<double>>>;

  // The places of the numbers of these names, all of which are listed.
  static std::vector<int> places_of(const std::vector<std::string>& names) {
    std::vector<int> picks;
    for (const std::string& name : names) {
      int place = 0;
      for (const Observable& o : law_observables<Law>()) {
        for (int i = 0; i < o.size() && o.name == name; ++i) picks.push_back(place + i);
        place += o.size();
      }
    }
    return picks;
  }

  Law law_;
};

}  // namespace cycloid::inline system
