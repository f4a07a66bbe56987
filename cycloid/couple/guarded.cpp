#include "cycloid/couple/guarded.h"

#include "cycloid/base/error.h"
#include "cycloid/couple/guarded_stepper.h"
#include "cycloid/system/observer.h"

namespace cycloid::inline couple {
namespace {

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
  const int nt = truth->sizes().tangent;
  StepperSizes sizes;
  sizes.state = truth->sizes().state + 2 * nt, sizes.tangent = 3 * nt;
  sizes.input = truth->sizes().input;
  sizes.parameters = parameters;
  sizes.arrays = arrays;
  sizes.record = 1;
  sizes.has_events = truth->sizes().has_events;
  sizes.carry = kDirection + nt + model->sizes().carry + truth->sizes().carry;
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
  const int nm = model.inputs().size(), nt = truth.inputs().size();
  if (model.states().size() != truth.states().size() ||
      model.states().tangent_size() != truth.states().tangent_size() || (nm != nt && nm != 0)) {
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

// The truth's blocks, piece by piece, then the guard.
Space with_guard(const Space& space) {
  std::vector<MixedBlockSpec> blocks;
  for (const Block& b : space.blocks()) {
    MixedBlockSpec& own = blocks.emplace_back(MixedBlockSpec{b.name, b.unit, {}});
    for (const Block& piece : space.pieces()) {
      if (piece.offset < b.offset || piece.offset >= b.offset + b.size) continue;
      own.pieces.push_back(BlockSpec{"piece", piece.size, "1", piece.kind});
    }
  }
  blocks.push_back({"guard", "1", {BlockSpec{"piece", 2 * space.tangent_size(), "1"}}});
  return Space(blocks);
}

// The steps of one environment that the truth took.
template <class T>
void log_environment(const GuardedStepper<T>& stepper, const System& system, const GuardRun& run,
                     std::int64_t environment, std::vector<GuardEntry>& out) {
  const StepperSizes& s = stepper.sizes();
  const GuardOptions& o = stepper.pair().options;
  const std::size_t lanes = static_cast<std::size_t>(system.parameters().lane_size());
  const auto row = [&](std::span<const double> all, std::size_t width, std::int64_t steps) {
    const bool shared = all.size() == width * static_cast<std::size_t>(steps);
    return all.data() + (shared ? 0 : environment) * steps * static_cast<std::int64_t>(width);
  };
  const std::size_t numbers = static_cast<std::size_t>(system.parameters().size());
  const double* const given = run.params.empty() ? system.parameters().default_values().data()
                                                 : row(run.params, numbers, 1);
  std::vector<T> p(given, given + numbers), x(static_cast<std::size_t>(s.kept()), T(0)), next(x),
      u(static_cast<std::size_t>(s.input), T(0));
  const double* const x0 = row(run.x0, static_cast<std::size_t>(s.state), 1);
  std::copy_n(x0, s.state, x.begin());
  system.states().normalise(x.data());
  std::vector<const T*> arrays;
  std::size_t at = lanes;
  for (const std::int64_t size : s.arrays) {
    arrays.push_back(p.data() + at), at += static_cast<std::size_t>(size);
  }
  const auto workspace = stepper.make_workspace({});
  stepper.begin({p.data(), arrays.data()}, *workspace);
  bool ended = false;
  for (std::int64_t k = 0; k < run.steps && !ended; ++k) {
    if (!run.controls.empty()) {
      const double* const own = row(run.controls, static_cast<std::size_t>(s.input), run.steps);
      std::copy_n(own + k * s.input, s.input, u.begin());
    }
    const StepStatus status =
        stepper.step({x.data(), u.data(), k, run.t0}, next.data(), nullptr, *workspace);
    if (status == StepStatus::non_finite) return;
    const T* const carried = next.data() + s.state;
    const auto why = static_cast<GuardReason>(static_cast<int>(carried[kWhy]));
    if (why != GuardReason::none) {
      const double time = run.t0 + static_cast<double>(k) * system.timestep();
      out.push_back({environment, k, time, why, static_cast<double>(carried[kMissed]),
                     static_cast<double>(carried[kAllowed]),
                     static_cast<double>(carried[kGathered]), o.bound});
    }
    for (const StepEvent& e : stepper.events(*workspace)) ended = ended || e.ends;
    std::swap(x, next);
  }
}

template <class T>
bool log_all(const Steppers<T>& steppers, const System& system, const GuardRun& run,
             std::vector<GuardEntry>& out) {
  const auto* const stepper = dynamic_cast<const GuardedStepper<T>*>(steppers.one.get());
  if (!stepper) return false;
  for (std::int64_t e = 0; e < run.environments; ++e)
    log_environment(*stepper, system, run, e, out);
  return true;
}

}  // namespace

const char* name(GuardReason reason) {
  switch (reason) {
    case GuardReason::none: return "none";
    case GuardReason::start: return "start";
    case GuardReason::schedule: return "schedule";
    case GuardReason::estimate: return "estimate";
    case GuardReason::budget: return "budget";
    case GuardReason::not_finite: return "not finite";
    case GuardReason::event: return "event";
  }
  return "";
}

std::vector<GuardEntry> guard_log(const System& system, const GuardRun& run) {
  std::vector<GuardEntry> out;
  const bool single = system.precision() == Precision::float32;
  if (single ? log_all(system.parts().float32, system, run, out)
             : log_all(system.parts().float64, system, run, out)) {
    return out;
  }
  throw Error(message("system \"", system.name(), "\" is not guarded; it has no log"));
}

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
  pair->space = inner.states;
  const int numbers = inner.states.size() + 2 * inner.states.tangent_size();
  parts.states = with_guard(inner.states);
  parts.events = inner.events;
  parts.inputs = inner.inputs;
  parts.input_bounds = inner.input_bounds;
  parts.initial_state = inner.initial_state;
  parts.initial_state.resize(static_cast<std::size_t>(numbers), 0.0);
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
