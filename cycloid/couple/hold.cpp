#include "cycloid/couple/hold.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/lane_array.h"

namespace cycloid::inline couple {
namespace {

// A record holds the inner records, then the states x_1 … x_{k-1}.
template <class T>
class HeldStepper final : public Stepper<T> {
 public:
  HeldStepper(std::shared_ptr<const Stepper<T>> inner, int steps)
      : Stepper<T>(sizes_of(inner->sizes(), steps)), inner_(std::move(inner)), steps_(steps) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(*this, resources);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    inner_->begin(p, *own(workspace).inner);
  }

  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    StepStatus status = StepStatus::ok;
    StepInput<T> at = in;
    for (int i = 0; i < steps_; ++i) {
      T* const to = i + 1 == steps_ ? x_next : record ? between(*record, i + 1) : w.state(i + 1);
      StepRecord of_inner = record ? inner_record(*record, i) : StepRecord();
      at.step = in.step * steps_ + i;
      status =
          std::max(status, inner_->step(at, to, record ? &of_inner : nullptr, *w.inner));  // (1)
      gather_notes(w, i == 0);
      at.x = to;
    }
    return status;
  }

  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const T* bar = x_next_bar;
    for (int i = steps_; i-- > 0;) {  // (2)
      T* const to = i == 0 ? x_bar : w.bars[i % 2].data();
      if (i > 0) w.bars[i % 2].clear();
      inner_->pullback(inner_input(in, record, i), inner_record(record, i), bar, to, u_bar,
                       *w.inner);
      bar = to;
    }
  }

  bool pushforward(const StepInput<T>& in, const StepRecord& record, const StepTangents<T>& tan,
                   T* x_next_tan, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    StepTangents<T> along = tan;
    for (int i = 0; i < steps_; ++i) {
      T* const to = i + 1 == steps_ ? x_next_tan : w.bars[i % 2].data();
      if (!inner_->pushforward(inner_input(in, record, i), inner_record(record, i), along, to,
                               *w.inner)) {
        return false;
      }
      along.x = to;
    }
    return true;
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    inner_->finish(*own(workspace).inner, p_bar);
  }
  void work_keys(const StepInput<T>& in, std::uint64_t* keys,
                 StepWorkspace& workspace) const override {
    StepInput<T> first = in;
    first.step *= steps_;
    inner_->work_keys(first, keys, *own(workspace).inner);
  }
  const LaneNote* notes(const StepWorkspace& workspace) const override {
    const Workspace& w = static_cast<const Workspace&>(workspace);
    return w.has_notes ? w.notes.data() : nullptr;
  }

  StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const int W = this->sizes_.lanes;
    StepInput<T> at = in;
    for (int i = 0;; ++i) {
      at.step = in.step * steps_ + i;
      T* const to = w.state(i + 1);
      inner_->step(at, to, nullptr, *w.inner);
      bool finite = i + 1 < steps_;
      for (int k = 0; k < this->sizes_.state; ++k) {
        finite = finite && std::isfinite(to[k * W + lane]);
      }
      if (!finite) return inner_->explain(at, lane, *w.inner);
      at.x = to;
    }
  }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const HeldStepper& s, const StepResources& resources)
        : inner(s.inner_->make_workspace(resources)),
          kept(static_cast<std::size_t>(s.sizes_.kept() * s.sizes_.lanes)),
          states(kept * static_cast<std::size_t>(s.steps_ + 1)),
          bars{LaneArray<T>(tangents(s)), LaneArray<T>(tangents(s))},
          notes(static_cast<std::size_t>(s.sizes_.lanes)) {}
    static std::size_t tangents(const HeldStepper& s) {
      return static_cast<std::size_t>(s.sizes_.tangent * s.sizes_.lanes);
    }
    T* state(int i) const { return states.data() + static_cast<std::size_t>(i) * kept; }

    std::unique_ptr<StepWorkspace> inner;
    std::size_t kept;
    LaneArray<T> states;
    std::array<LaneArray<T>, 2> bars;
    std::vector<LaneNote> notes;
    bool has_notes = false;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  static StepperSizes sizes_of(StepperSizes s, int steps) {
    s.record = steps * s.record + (steps - 1) * s.kept();
    s.jacobian_by_lane = s.takes_parts = s.gives_samples = false;
    return s;
  }

  StepRecord inner_record(const StepRecord& record, int i) const {
    const std::size_t bytes = inner_->record_bytes();
    return {record.data + static_cast<std::size_t>(i) * bytes, bytes, {}};
  }
  // x_i, 0 < i < k, in the record.
  T* between(const StepRecord& record, int i) const {
    std::byte* const first =
        record.data + static_cast<std::size_t>(steps_) * inner_->record_bytes();
    return reinterpret_cast<T*>(first) + (i - 1) * this->sizes_.kept() * this->sizes_.lanes;
  }
  StepInput<T> inner_input(const StepInput<T>& in, const StepRecord& record, int i) const {
    StepInput<T> at = in;
    at.step = in.step * steps_ + i;
    if (i > 0) at.x = between(record, i);
    return at;
  }

  // Counters are sums over the inner steps, the active set is that of all of them.
  void gather_notes(Workspace& w, bool first) const {
    const LaneNote* const from = inner_->notes(*w.inner);
    w.has_notes = from != nullptr;
    for (std::size_t l = 0; from && l < w.notes.size(); ++l) {
      LaneNote& note = w.notes[l];
      if (first) {
        note = from[l];
        continue;
      }
      note.residual = std::max(note.residual, from[l].residual);
      note.active_set = 0x9e3779b97f4a7c15u * note.active_set + from[l].active_set;
      note.crowded = note.crowded || from[l].crowded;
      for (std::size_t c = 0; c < note.counters.size(); ++c) {
        note.counters[c] += from[l].counters[c];
      }
    }
  }

  std::shared_ptr<const Stepper<T>> inner_;
  int steps_;
};

template <class T>
Steppers<T> held(const Steppers<T>& inner, int steps) {
  const auto one = [steps](const std::shared_ptr<const Stepper<T>>& s) {
    return s ? std::make_shared<const HeldStepper<T>>(s, steps) : nullptr;
  };
  return {one(inner.one), one(inner.packed), one(inner.dual)};
}

template <class T>
bool spreads(const Steppers<T>& inner) {
  return inner.one && inner.one->sizes().spreads;
}

}  // namespace

System hold(const System& system, int steps) {
  if (steps < 1) throw Error(message("hold: steps must be at least 1; got ", steps));
  const SystemParts& inner = system.parts();
  if (!inner.events.empty()) {
    throw ModelError(message("hold: system \"", inner.name, "\" has events, which end a step"));
  }
  if (spreads(inner.float32) || spreads(inner.float64)) {
    throw ModelError(message("hold: system \"", inner.name, "\" is a large world"));
  }
  SystemParts parts = inner;
  parts.name = message(inner.name, " held");
  parts.timestep = steps * inner.timestep;
  parts.feel_distance = nullptr;  // its steppers are wrapped as they are
  parts.kernels = nullptr, parts.on_device = nullptr;
  parts.parameters = Parameters();
  const std::vector<double>& values = inner.parameters.default_values();
  for (Parameter p : inner.parameters.all()) {
    const auto own = std::span(values).subspan(static_cast<std::size_t>(p.offset),
                                               static_cast<std::size_t>(p.size));
    if (p.name == kTimestepName) {
      p.name = "inner.timestep";
      p.not_differentiable = "the step is a multiple of it";
    }
    parts.parameters.add(p, own);
  }
  std::erase(parts.vary, std::string(kTimestepName));
  parts.float32 = held(inner.float32, steps);
  parts.float64 = held(inner.float64, steps);
  parts.ways = {};
  return System(std::move(parts));
}

}  // namespace cycloid::inline couple
