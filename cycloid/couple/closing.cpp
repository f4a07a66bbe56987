#include "cycloid/couple/closing.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/closed_observables.h"
#include "cycloid/couple/lane_array.h"
#include "cycloid/system/integrator/substep_log.h"

namespace cycloid::inline couple {
namespace {

// The inner step with inputs from the feedback.
template <class T>
class ClosedStepper final : public Stepper<T> {
 public:
  ClosedStepper(std::shared_ptr<const Stepper<T>> inner,
                std::shared_ptr<const Feedback<T>> feedback, const Closing& closing,
                double timestep)
      : Stepper<T>(sizes_of(*inner, closing)),
        inner_(std::move(inner)),
        feedback_(std::move(feedback)),
        closing_(closing),
        inputs_(inner_->sizes().input),
        timestep_(timestep) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(*this, resources);
  }

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    feedback_->begin(p, *w.feedback);
    inner_->begin(p, *w.inner);
  }

  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    return inner_->step(with_input(in, w), x_next, record, *w.inner);
  }

  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.u_bar.clear();
    inner_->pullback(with_input(in, w), record, x_next_bar, x_bar, w.u_bar.data(), *w.inner);
    const int open = closing_.open * lanes();
    for (int i = 0; i < open; ++i) u_bar[i] += w.u_bar.data()[i];
    feedback_->pullback(point(in), fed(w.u_bar), in.wants_parameters, x_bar, u_bar, *w.feedback);
  }

  // A of the closed loop is A + B ∂u/∂x, B that of the open inputs + B ∂u/∂v.
  bool jacobian(const StepInput<T>& in, const StepRecord& record, T* A, T* B,
                StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const int W = lanes(), nt = this->sizes_.tangent, nv = closing_.open;
    const LaneArray<T> inner_B(numbers(nt * inputs_));
    std::vector<T> row(numbers(nt)), open_row(numbers(nv));
    if (!inner_->jacobian(with_input(in, w), record, A, inner_B.data(), *w.inner)) return false;
    const auto entry = [&](int i, int m) { return inner_B.data() + (i * inputs_ + m) * W; };
    for (int i = 0; i < nt; ++i) {
      for (int m = 0; m < nv; ++m) std::copy_n(entry(i, m), W, B + (i * nv + m) * W);
    }
    for (int m = 0; m < closing_.outputs; ++m) {
      w.u_bar.clear();
      std::fill_n(w.u_bar.data() + (closing_.at + m) * W, W, T(1));
      std::fill(row.begin(), row.end(), T(0));
      std::fill(open_row.begin(), open_row.end(), T(0));
      feedback_->pullback(point(in), fed(w.u_bar), false, row.data(), open_row.data(), *w.feedback);
      const auto add = [&](T* to, int i, const std::vector<T>& along) {
        for (std::size_t j = 0; j < along.size(); ++j) {
          to[static_cast<std::size_t>(i) * along.size() + j] +=
              entry(i, closing_.at + m)[j % static_cast<std::size_t>(W)] * along[j];
        }
      };
      for (int i = 0; i < nt; ++i) add(A, i, row), add(B, i, open_row);
    }
    return true;
  }

  bool pushforward(const StepInput<T>& in, const StepRecord& record, const StepTangents<T>& tan,
                   T* x_next_tan, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const StepInput<T> given = with_input(in, w);
    if (!feedback_->pushforward(point(in), tan, w.fed.data(), *w.feedback)) return false;
    w.u_bar.clear();
    T* const u_tan = w.u_bar.data();
    if (tan.u) std::copy_n(tan.u, closing_.open * lanes(), u_tan);
    add_fed(w.fed, u_tan);
    return inner_->pushforward(given, record, {tan.x, u_tan, tan.p, tan.arrays}, x_next_tan,
                               *w.inner);
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    Workspace& w = own(workspace);
    inner_->finish(*w.inner, p_bar);
    feedback_->finish(*w.feedback, p_bar);
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
    if (!inner) return nullptr;
    return std::make_shared<ClosedStepper>(std::move(inner), feedback_, closing_, timestep_);
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
          feedback(s.feedback_->make_workspace()),
          u(s.numbers(s.inputs_)),
          u_bar(s.numbers(s.inputs_)),
          fed(s.numbers(s.closing_.outputs)) {}
    std::unique_ptr<StepWorkspace> inner, feedback;
    LaneArray<T> u, u_bar, fed;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  static StepperSizes sizes_of(const Stepper<T>& inner, const Closing& closing) {
    StepperSizes s = inner.sizes();
    s.parameters += closing.law->numbers();
    for (const std::int64_t n : closing.law->arrays()) s.arrays.push_back(n);
    s.input = closing.open;
    // A lane by itself is not told which environment it is.
    if (closing.noisy) s.jacobian_by_lane = false;
    return s;
  }

  int lanes() const { return this->sizes_.lanes; }
  std::size_t numbers(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(lanes());
  }
  FeedbackPoint<T> point(const StepInput<T>& in) const {
    const std::int64_t before = timestep_ > 0 ? std::llround(in.t0 / timestep_) : 0;
    return {in.x, in.u, in.t0 + static_cast<double>(in.step) * timestep_, before + in.step};
  }
  const T* fed(const LaneArray<T>& u_bar) const { return u_bar.data() + closing_.at * lanes(); }
  void add_fed(const LaneArray<T>& fed, T* u) const {
    T* const to = u + closing_.at * lanes();
    for (int i = 0; i < closing_.outputs * lanes(); ++i) to[i] += fed.data()[i];
  }
  StepInput<T> with_input(const StepInput<T>& in, Workspace& w) const {
    feedback_->input(point(in), w.fed.data(), *w.feedback);
    w.u.clear();
    if (closing_.open > 0) std::copy_n(in.u, closing_.open * lanes(), w.u.data());
    add_fed(w.fed, w.u.data());
    StepInput<T> given = in;
    given.u = w.u.data();
    return given;
  }

  std::shared_ptr<const Stepper<T>> inner_;
  std::shared_ptr<const Feedback<T>> feedback_;
  Closing closing_;
  int inputs_;
  double timestep_;
};

template <class T>
Steppers<T> closed(const Steppers<T>& inner, const Closing& closing, double timestep) {
  const auto close = [&](const std::shared_ptr<const Stepper<T>>& stepper,
                         bool dual) -> std::shared_ptr<const Stepper<T>> {
    if (!stepper) return nullptr;
    auto feedback = closing.law->in_lanes<T>(stepper->sizes().lanes, dual);
    if (!feedback) return nullptr;
    return std::make_shared<ClosedStepper<T>>(stepper, std::move(feedback), closing, timestep);
  };
  return {close(inner.one, false), close(inner.packed, false), close(inner.dual, true)};
}

// The first n numbers of a space.
Space first_numbers(const Space& space, int n) {
  std::vector<MixedBlockSpec> kept;
  for (const Block& b : space.blocks()) {
    if (b.offset >= n) break;
    MixedBlockSpec spec{b.name, b.unit, {}};
    for (const Block& p : space.pieces()) {
      if (p.offset < b.offset || p.offset >= b.offset + b.size) continue;
      BlockSpec piece{"piece", p.size, "1", p.kind};
      spec.pieces.push_back(piece);
    }
    kept.push_back(spec);
  }
  return n == 0 ? Space() : Space(kept);
}

}  // namespace

System close_with(const System& system, const Closing& closing, const std::string& name,
                  const std::vector<AddedParameter>& added) {
  const SystemParts& inner = system.parts();
  SystemParts parts = inner;
  parts.feel_distance = nullptr;  // its steppers are wrapped as they are
  parts.kernels = nullptr;
  parts.name = name;
  parts.inputs = first_numbers(inner.inputs, closing.open);
  if (!parts.input_bounds.empty()) {
    parts.input_bounds.resize(static_cast<std::size_t>(closing.open));
  }
  parts.parameters = Parameters();
  const auto add_old = [&](bool arrays) {
    const std::vector<double>& all = inner.parameters.default_values();
    for (const Parameter& p : inner.parameters.all()) {
      if (p.array != arrays) continue;
      parts.parameters.add(p, std::span(all).subspan(static_cast<std::size_t>(p.offset),
                                                     static_cast<std::size_t>(p.size)));
    }
  };
  const auto add_new = [&](bool arrays) {
    for (const AddedParameter& a : added) {
      if (a.parameter.array != arrays) continue;
      parts.parameters.add(a.parameter, a.value);
      if (!arrays) parts.vary.push_back(a.parameter.name);
    }
  };
  add_old(false), add_new(false), add_old(true), add_new(true);
  // The law sees its own parameters: ours come behind its numbers and behind its arrays.
  const auto own = [lanes = inner.parameters.lane_size(), all = inner.parameters.size(),
                    ours = closing.law->numbers()](const double* p) {
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
  parts.float32 = closed(inner.float32, closing, inner.timestep);
  parts.float64 = closed(inner.float64, closing, inner.timestep);
  parts.observables = closed_observables(inner, closing);
  vary_inside(system, closing.again, parts);
  return System(std::move(parts));
}

void vary_inside(const System& system, const std::function<System(const System& other)>& again,
                 SystemParts& parts) {
  parts.ways = system.ways();
  if (!parts.ways.use) return;
  parts.ways.use = [system, again](const Variant& variant, SystemParts& of) {
    std::map<std::string, std::vector<double>> values =
        of.parameters.unpack(of.parameters.default_values());
    SystemParts inner = system.parts();
    inner.timestep = of.timestep;
    std::map<std::string, std::vector<double>> own = values;
    std::erase_if(own, [&](const auto& p) { return !inner.parameters.contains(p.first); });
    inner.parameters = with_defaults(inner.parameters, own);
    inner.ways.use(variant, inner);
    const Parameters& varied = inner.parameters;
    for (auto& [name, value] : varied.unpack(varied.default_values())) values[name] = value;
    SystemParts other = again(System(std::move(inner))).parts();
    other.parameters = with_defaults(other.parameters, values);
    other.initial_state = std::move(of.initial_state);
    of = std::move(other);
  };
}

}  // namespace cycloid::inline couple
