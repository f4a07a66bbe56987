#include "cycloid/fluid/grid/observe/grid_observables.h"

#include <cmath>

#include "cycloid/fluid/grid/observe/grid_forces.h"
#include "cycloid/fluid/grid/observe/grid_integrals.h"
#include "cycloid/fluid/grid/observe/grid_probes.h"
#include "cycloid/fluid/grid/observe/single_observer.h"

namespace cycloid::inline fluid {
namespace {

enum class Shown {
  kinetic_energy,
  enstrophy,
  divergence,
  vorticity,
  pressure,
  force,
  probe,
  probe_pressure,
  flux
};

struct Item {
  Shown what;
  Observable observable;
  int obstacle = 0, axis = 0;  // of a force
};

std::vector<Item> items_of(const GridModel& model) {
  const GridBox& box = model.box;
  std::vector<int> cells;
  for (int a = box.first; a < 3; ++a) cells.push_back(box.n[at(a)]);
  std::vector<int> turns = cells;
  if (box.dimensions == 3) turns.push_back(3);
  const char* const energy = box.dimensions == 2 ? "J/m" : "J";
  const char* const newton = box.dimensions == 2 ? "N/m" : "N";
  std::vector<Item> all = {
      {Shown::kinetic_energy, {"kinetic_energy", energy, {1}}},
      {Shown::enstrophy, {"enstrophy", box.dimensions == 2 ? "m²/s²" : "m³/s²", {1}}},
      {Shown::divergence, {"divergence", "1/s", {1}}},
      {Shown::vorticity, {"vorticity", "1/s", turns}},
      {Shown::pressure, {"pressure", "Pa", cells}}};
  static constexpr const char* kForces[3] = {"drag:#", "lift:#", "side_force:#"};
  for (int o = 0; o < static_cast<int>(model.obstacles.size()); ++o) {
    for (int a = 0; a < box.dimensions; ++a) {
      all.push_back(
          {Shown::force, {kForces[a] + std::to_string(o), newton, {1}}, o, a + box.first});
    }
  }
  const int probes = static_cast<int>(model.probes.size()) / box.dimensions;
  if (probes > 0) {
    all.push_back({Shown::probe, {"probe", "m/s", {probes, box.dimensions}}});
    all.push_back({Shown::probe_pressure, {"probe_pressure", "Pa", {probes}}});
  }
  const int lines = static_cast<int>(model.lines.size()) / 4;
  if (lines > 0) all.push_back({Shown::flux, {"flux", "m²/s", {lines}}});
  return all;
}

// Whether an item is a function of the pressure.
bool presses(const Item& item) {
  return item.what == Shown::pressure || item.what == Shown::force ||
         item.what == Shown::probe_pressure;
}

class GridObserver final : public DifferentiableObserver {
 public:
  GridObserver(std::shared_ptr<const GridModel> model, std::vector<Item> items)
      : DifferentiableObserver(1, total(items)),
        model_(std::move(model)),
        items_(std::move(items)) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& r) const override {
    return std::make_unique<Workspace>(model_, r.threads);
  }
  void begin(const StepParameters<double>& p, StepWorkspace& w) const override {
    instant(w).work.read(p.lanes);
  }
  void observe(const ObservedPoint<double>& point, double* values,
               StepWorkspace& w) const override {
    GridInstant& p = instant(w);
    for (const bool pressing : passes()) {
      p.set(point.x, point.u, pressing);
      for_each_item(pressing, [&](const Item& item, int at_value) {
        double* const out = values + at_value;
        switch (item.what) {
          case Shown::kinetic_energy: *out = kinetic_energy(p); break;
          case Shown::enstrophy: *out = enstrophy(p); break;
          case Shown::divergence: *out = std::abs(largest_divergence(p).first); break;
          case Shown::vorticity: vorticity(p, out); break;
          case Shown::pressure: pressure(p, out); break;
          case Shown::force: *out = force_on(p, item.obstacle, item.axis); break;
          case Shown::probe: probe(p, out); break;
          case Shown::probe_pressure: probe_pressure(p, out); break;
          case Shown::flux: flux(p, out); break;
        }
      });
    }
  }
  void pullback(const ObservedPoint<double>& point, const double* bars, double* x_bar,
                double* u_bar, StepWorkspace& w) const override {
    GridInstant& p = instant(w);
    for (const bool pressing : passes()) {
      p.set(point.x, point.u, pressing);
      p.clear_bars();
      for_each_item(pressing, [&](const Item& item, int at_value) {
        const double* const bar = bars + at_value;
        switch (item.what) {
          case Shown::kinetic_energy: kinetic_energy_pullback(p, *bar); break;
          case Shown::enstrophy: enstrophy_pullback(p, *bar); break;
          case Shown::divergence: divergence_pullback(p, *bar); break;
          case Shown::vorticity: vorticity_pullback(p, bar); break;
          case Shown::pressure: pressure_pullback(p, bar); break;
          case Shown::force: force_on_pullback(p, item.obstacle, item.axis, *bar); break;
          case Shown::probe: probe_pullback(p, bar); break;
          case Shown::probe_pressure: probe_pressure_pullback(p, bar); break;
          case Shown::flux: flux_pullback(p, bar); break;
        }
      });
      p.give_back(x_bar, u_bar, pressing);
    }
  }
  void finish(StepWorkspace& w, double* p_bar) const override { instant(w).work.give_back(p_bar); }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const std::shared_ptr<const GridModel>& model, int threads)
        : instant(model, threads) {}
    GridInstant instant;
  };
  static GridInstant& instant(StepWorkspace& w) { return static_cast<Workspace&>(w).instant; }
  static int total(const std::vector<Item>& items) {
    int n = 0;
    for (const Item& item : items) n += item.observable.size();
    return n;
  }

  // Obstacles that move are in one place for what presses, in another for the rest.
  std::vector<bool> passes() const {
    bool any = false, all = true;
    for (const Item& item : items_) any = any || presses(item), all = all && presses(item);
    if (model_->motions == 0 || any == all) return {any};
    return {false, true};
  }
  // Those of a pass, with their first values.
  template <class Visit>
  void for_each_item(bool pressing, Visit&& visit) const {
    int at_value = 0;
    for (const Item& item : items_) {
      if (model_->motions == 0 || presses(item) == pressing) visit(item, at_value);
      at_value += item.observable.size();
    }
  }

  std::shared_ptr<const GridModel> model_;
  std::vector<Item> items_;
};

std::shared_ptr<const GridObserver> observer_of(const std::shared_ptr<const GridModel>& model,
                                                const std::vector<std::string>& names) {
  const std::vector<Item> all = items_of(*model);
  std::vector<Item> items;
  for (const std::string& name : names) {
    for (const Item& item : all) {
      if (item.observable.name == name) items.push_back(item);
    }
  }
  return std::make_shared<GridObserver>(model, std::move(items));
}

}  // namespace

std::vector<Observable> GridObservables::listed() const {
  std::vector<Observable> all;
  for (const Item& item : items_of(*model_)) all.push_back(item.observable);
  return all;
}

std::shared_ptr<const ChunkObserver<float>> GridObservables::float32(
    const std::vector<std::string>& names, int) const {
  return single_observer(observer_of(model_, names),
                         {model_->states(), model_->inputs, model_->parameters});
}

std::shared_ptr<const ChunkObserver<double>> GridObservables::float64(
    const std::vector<std::string>& names, int) const {
  return observer_of(model_, names);
}

std::shared_ptr<const DifferentiableObserver> GridObservables::differentiable(
    const std::vector<std::string>& names) const {
  return observer_of(model_, names);
}

}  // namespace cycloid::inline fluid
