#include "cycloid/fluid/substeps.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "cycloid/base/check.h"
#include "cycloid/base/error.h"

namespace cycloid::inline fluid {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

template <class T>
class SubstepStepper final : public Stepper<T> {
 public:
  SubstepStepper(std::vector<std::shared_ptr<const Stepper<T>>> levels, double dt,
                 std::size_t counter)
      : Stepper<T>([&] {
          StepperSizes s = levels.front()->sizes();
          s.record += 1;  // k, behind the record of S_0
          return s;
        }()),
        levels_(std::move(levels)),
        dt_(dt),
        counter_(counter) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    auto w = std::make_unique<Workspace>();
    w->resources = resources;
    w->last.resize(at(this->sizes_.kept()));
    for (auto& bar : w->bars) bar.resize(at(this->sizes_.tangent));
    w->p_bar.resize(at(this->sizes_.parameters));
    return w;
  }

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.p = p;
    w.begun.fill(false);
  }

  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    StepStatus status = StepStatus::non_finite;
    int k = 0;
    for (; k < count() && status == StepStatus::non_finite; ++k) {
      status = k == 0 ? whole(in, x_next, record, w) : walk(k, in, x_next, w);
    }
    --k;
    w.note.counters[counter_] = 1 << k;
    if (record) level(*record) = static_cast<T>(k);
    return status;
  }

  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const int k = static_cast<int>(level(record));
    if (k == 0) {
      levels_[0]->pullback(in, record, x_next_bar, x_bar, u_bar, inner(0, w));
      return;
    }
    walk(k, in, w.last.data(), w);
    const T* bar = x_next_bar;
    for (int i = 1 << k; i-- > 0;) {
      T* const to = i == 0 ? x_bar : w.bars[at(i % 2)].data();
      if (i > 0) std::fill_n(to, this->sizes_.tangent, T(0));
      const StepRecord made = remake(k, i, in, w);
      levels_[at(k)]->pullback(part(k, i, in, w), made, bar, to, u_bar, inner(k, w));
      bar = to;
    }
  }

  bool pushforward(const StepInput<T>& in, const StepRecord& record, const StepTangents<T>& tan,
                   T* x_next_tan, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const int k = static_cast<int>(level(record));
    if (k == 0) return levels_[0]->pushforward(in, record, tan, x_next_tan, inner(0, w));
    walk(k, in, w.last.data(), w);
    StepTangents<T> along = tan;
    for (int i = 0; i < 1 << k; ++i) {
      T* const to = i + 1 == 1 << k ? x_next_tan : w.bars[at(i % 2)].data();
      const StepRecord made = remake(k, i, in, w);
      if (!levels_[at(k)]->pushforward(part(k, i, in, w), made, along, to, inner(k, w))) {
        return false;
      }
      along.x = to;
    }
    return true;
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    Workspace& w = own(workspace);
    std::fill_n(p_bar, this->sizes_.parameters, 0.0);
    for (int k = 0; k < count(); ++k) {
      if (!w.begun[at(k)]) continue;
      levels_[at(k)]->finish(*w.inner[at(k)], w.p_bar.data());
      for (std::size_t i = 0; i < w.p_bar.size(); ++i) p_bar[i] += w.p_bar[i];
    }
  }

  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return &static_cast<const Workspace&>(workspace).note;
  }

  StepTrouble explain(const StepInput<T>& in, int, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const int k = count() - 1;
    walk(k, in, w.last.data(), w);
    StepTrouble found = levels_[at(k)]->explain(part(k, w.taken - 1, in, w), 0, inner(k, w));
    found.reason = even_in_substeps(dt_) + found.reason;
    return found;
  }

 private:
  struct Workspace final : StepWorkspace {
    StepResources resources;
    StepParameters<T> p;
    std::array<std::unique_ptr<StepWorkspace>, kSubstepLevels> inner;  // made when first needed
    std::array<bool, kSubstepLevels> begun = {};
    std::vector<T> starts;  // x_1, x_2, … of (1)
    int taken = 0;          // steps of (1), the one that failed included
    std::vector<T> last, record;
    std::array<std::vector<T>, 2> bars;  // of tangents too
    std::vector<double> p_bar;
    LaneNote note;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }
  int count() const { return static_cast<int>(levels_.size()); }
  T& level(const StepRecord& record) const {
    return record.template numbers<T>()[this->sizes_.record - 1];
  }

  StepWorkspace& inner(int k, Workspace& w) const {
    auto& one = w.inner[at(k)];
    if (!one) one = levels_[at(k)]->make_workspace(w.resources);
    if (!w.begun[at(k)]) levels_[at(k)]->begin(w.p, *one), w.begun[at(k)] = true;
    return *one;
  }

  // What step i of (1) is a function of, after `walk`.
  StepInput<T> part(int k, int i, const StepInput<T>& in, const Workspace& w) const {
    StepInput<T> one = in;
    one.step = (in.step << k) + i;
    if (i > 0) one.x = w.starts.data() + at(i - 1) * at(this->sizes_.kept());
    return one;
  }

  StepStatus whole(const StepInput<T>& in, T* x_next, StepRecord* record, Workspace& w) const {
    StepRecord of_inner;
    if (record) of_inner = {record->data, levels_[0]->record_bytes(), {}};
    StepWorkspace& room = inner(0, w);
    const StepStatus status = levels_[0]->step(in, x_next, record ? &of_inner : nullptr, room);
    if (record) record->object = std::move(of_inner.object);
    w.note = {};
    gather(0, room, w);
    return status;
  }

  // (1), without records.
  StepStatus walk(int k, const StepInput<T>& in, T* x_next, Workspace& w) const {
    const int parts = 1 << k, kept = this->sizes_.kept();
    if (w.starts.size() < at(parts - 1) * at(kept)) w.starts.resize(at(parts - 1) * at(kept));
    StepWorkspace& room = inner(k, w);
    StepStatus status = StepStatus::ok;
    w.note = {};
    for (int i = 0; i < parts; ++i) {
      T* const to = i + 1 == parts ? x_next : w.starts.data() + at(i) * at(kept);
      const StepStatus one = levels_[at(k)]->step(part(k, i, in, w), to, nullptr, room);
      w.taken = i + 1;
      status = std::max(status, one);
      gather(k, room, w);
      if (one != StepStatus::non_finite) continue;
      if (to != x_next) std::copy_n(to, kept, x_next);
      break;
    }
    return status;
  }

  // The record of step i of (1), after `walk`.
  StepRecord remake(int k, int i, const StepInput<T>& in, Workspace& w) const {
    const Stepper<T>& S = *levels_[at(k)];
    w.record.resize(S.record_bytes() / sizeof(T));
    StepRecord record = {reinterpret_cast<std::byte*>(w.record.data()), S.record_bytes(), {}};
    S.step(part(k, i, in, w), w.last.data(), &record, inner(k, w));
    return record;
  }

  // Counters are sums over the parts of a step.
  void gather(int k, const StepWorkspace& room, Workspace& w) const {
    const LaneNote* const note = levels_[at(k)]->notes(room);
    if (!note) return;
    w.note.residual = std::max(w.note.residual, note->residual);
    for (std::size_t c = 0; c < counter_; ++c) w.note.counters[c] += note->counters[c];
  }

  std::vector<std::shared_ptr<const Stepper<T>>> levels_;
  double dt_;
  std::size_t counter_;
};

}  // namespace

template <class T>
std::shared_ptr<const Stepper<T>> with_substeps(
    std::vector<std::shared_ptr<const Stepper<T>>> levels, double dt, std::size_t counter) {
  CYCLOID_CHECK(levels.size() == kSubstepLevels && counter < kMostCounters);
  CYCLOID_CHECK(levels.front()->sizes().lanes == 1);
  return std::make_shared<SubstepStepper<T>>(std::move(levels), dt, counter);
}

template std::shared_ptr<const Stepper<float>> with_substeps(
    std::vector<std::shared_ptr<const Stepper<float>>>, double, std::size_t);
template std::shared_ptr<const Stepper<double>> with_substeps(
    std::vector<std::shared_ptr<const Stepper<double>>>, double, std::size_t);

std::string even_in_substeps(double dt) {
  constexpr int kMost = 1 << (kSubstepLevels - 1);
  return message("even in ", kMost, " substeps of ", dt / kMost, " s: ");
}

}  // namespace cycloid::inline fluid
