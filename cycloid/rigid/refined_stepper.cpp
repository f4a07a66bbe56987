#include "cycloid/rigid/refined_stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cycloid/base/error.h"
#include "cycloid/rigid/robot_counters.h"
#include "cycloid/rigid/step.h"
#include "cycloid/rigid/step_notes.h"
#include "cycloid/rigid/switches.h"

namespace cycloid::inline rigid {
namespace {

constexpr int kMostHalvings = 24;              // of what is left of a step
constexpr int kMostSwitches = 64;              // that are located within one step
constexpr std::size_t kMostSubsteps = 20'000;  // then the rest of a step is taken as it is
constexpr double kLeastScale = 1e-3;           // of a block, in its unit
constexpr double kLeastTolerance = 100;        // roundings
constexpr double kGapRounding = 1e4;           // roundings of a metre
constexpr double kRoomToDouble = 0.1;          // of the tolerance: the error is of order two

// What passes through zero at the end of a substep.
struct SwitchEvent {
  SwitchNumber number = SwitchNumber::gap;
  bool before = false;  // the row is there, and pushes, at the shorter end of the bracket
  std::vector<std::uint64_t> things;
};

template <class T>
struct Substep {
  T h = 0;
  T share = 0;       // c of (5); 0 where the substep ends at a switch
  T used = 0;        // of a switch: the sum of the shares before it
  bool cut = false;  // ends at a switch
  T h_before = 0;    // of a switch: the longest substep without it
  SwitchEvent event;
};

template <class T>
struct RefinedRecord final : RecordObject {
  std::vector<Substep<T>> substeps;
  std::vector<T> states;  // (substeps, state) where each begins

  std::size_t bytes() const override {
    std::size_t things = 0;
    for (const Substep<T>& s : substeps) things += s.event.things.size();
    return sizeof(*this) + sizeof(Substep<T>) * substeps.size() + sizeof(T) * states.size() +
           sizeof(std::uint64_t) * things;
  }
};

template <class T>
struct RefinedWorkspace final : StepWorkspace {
  std::unique_ptr<StepWorkspace> inner;
  std::vector<T> x, y, found, a, b, one, next;            // states
  std::vector<T> e, e_bar, a_bar, b_bar, one_bar, x_bar;  // tangents
  std::vector<T> probe, probe_x, probe_u, out_bar;        // ...
  std::vector<T> record[3];                               // of the robot's steps
  std::vector<Switch> at_x, at_a, at_y, at_found;
  T timestep = 0;
  double timestep_bar = 0;
  LaneNote note;
  bool noted = false;
};

const Switch* find_same(const std::vector<Switch>& in, const Switch& wanted) {
  const auto at =
      std::find_if(in.begin(), in.end(), [&](const Switch& s) { return s.is_same(wanted); });
  return at == in.end() ? nullptr : &*at;
}

// Whether the same rows push. One that comes or goes without a force is none of a step's business.
bool push_alike(const std::vector<Switch>& a, const std::vector<Switch>& b) {
  const auto next = [](const std::vector<Switch>& in, std::size_t i) {
    while (i < in.size() && !in[i].pushes) ++i;
    return i;
  };
  std::size_t i = next(a, 0), j = next(b, 0);
  for (; i < a.size() && j < b.size(); i = next(a, i + 1), j = next(b, j + 1)) {
    if (!a[i].is_same(b[j])) return false;
  }
  return i == a.size() && j == b.size();
}

// Contacts that come or go have a gap of zero; others have other features from here on, and stay.
void keep_smallest_gaps(std::vector<Switch>& moved, double rounding) {
  double least = std::numeric_limits<double>::infinity();
  for (const Switch& s : moved) {
    if (SwitchName(s.thing).contact) least = std::min(least, std::abs(s.gap));
  }
  std::erase_if(moved, [&](const Switch& s) {
    return SwitchName(s.thing).contact && std::abs(s.gap) > least + rounding;
  });
}

// What changed from one list of switches to the next, of states that are the same but for rounding.
SwitchEvent event_between(const std::vector<Switch>& before, const std::vector<Switch>& after,
                          double rounding) {
  std::vector<Switch> made, lost, pushed, released;
  for (const Switch& s : after) {
    const Switch* const was = find_same(before, s);
    if (s.pushes && !(was && was->pushes)) (was ? pushed : made).push_back(s);
  }
  for (const Switch& s : before) {
    const Switch* const is = find_same(after, s);
    if (s.pushes && !(is && is->pushes)) (is ? released : lost).push_back(s);
  }
  keep_smallest_gaps(made, rounding);
  keep_smallest_gaps(lost, rounding);
  const auto event = [](SwitchNumber number, bool ends, const std::vector<Switch>& of) {
    SwitchEvent e{number, ends, {}};
    for (const Switch& s : of) e.things.push_back(s.thing);
    return e;
  };
  if (!made.empty()) return event(SwitchNumber::gap, false, made);
  if (!lost.empty()) return event(SwitchNumber::gap, true, lost);
  if (!pushed.empty()) return event(SwitchNumber::force, false, pushed);
  return event(SwitchNumber::force, true, released);
}

// The largest |number| of a block; NaN where there is one.
template <class T>
T largest(const T* x, int n) {
  T most = 0;
  for (int i = 0; i < n; ++i) {
    if (!(std::abs(x[i]) <= most)) most = std::abs(x[i]);
  }
  return most;
}

template <class T>
bool is_finite(const std::vector<T>& x) {
  const T size = largest(x.data(), static_cast<int>(x.size()));
  return size - size == T(0);
}

template <class T>
class RefinedStepper final : public Stepper<T> {
 public:
  using Work = RefinedWorkspace<T>;

  RefinedStepper(std::shared_ptr<const SubstepStepper<T>> step, std::shared_ptr<const Tree> tree,
                 bool constrained, double tolerance)
      : Stepper<T>(sizes_of(step->sizes())),
        step_(std::move(step)),
        tree_(std::move(tree)),
        n_(*tree_),
        counter_(substep_counter(constrained)),
        tolerance_(static_cast<T>(tolerance)) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    auto w = std::make_unique<Work>();
    w->inner = step_->make_workspace(resources);
    const auto room = [](int n) { return static_cast<std::size_t>(n); };
    for (std::vector<T>* state : {&w->x, &w->y, &w->found, &w->a, &w->b, &w->one, &w->next}) {
      state->resize(room(this->sizes_.state));
    }
    for (std::vector<T>* tangent : {&w->e, &w->e_bar, &w->a_bar, &w->b_bar, &w->one_bar, &w->x_bar,
                                    &w->probe, &w->probe_x, &w->out_bar}) {
      tangent->resize(room(this->sizes_.tangent));
    }
    w->probe_u.resize(room(this->sizes_.input));
    for (std::vector<T>& record : w->record) record.resize(room(step_->sizes().record));
    return w;
  }

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Work& w = static_cast<Work&>(workspace);
    step_->begin(p, *w.inner);
    w.timestep = p.lanes[tree_->options.timestep];
    w.timestep_bar = 0;
  }

  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Work& w = static_cast<Work&>(workspace);
    auto made = std::make_unique<RefinedRecord<T>>();
    w.note = {};
    w.noted = false;
    std::copy_n(in.x, this->sizes_.state, w.x.begin());
    const int count = walk(in, w, *made);
    std::copy(w.x.begin(), w.x.end(), x_next);
    w.note.counters[static_cast<std::size_t>(counter_)] = count;
    if (record) {
      record->bytes = 0;
      record->object = std::move(made);
    }
    if (!is_finite(w.x)) return StepStatus::non_finite;
    return fell_short(&w.note, 1) ? StepStatus::short_of : StepStatus::ok;
  }

  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    Work& w = static_cast<Work&>(workspace);
    const auto& made = static_cast<const RefinedRecord<T>&>(*record.object);
    std::copy_n(x_next_bar, this->sizes_.tangent, w.out_bar.begin());
    double left_bar = 0;  // R̄
    for (std::size_t j = made.substeps.size(); j-- > 0;) {
      const Substep<T>& s = made.substeps[j];
      StepInput<T> at = in;
      at.x = made.states.data() + j * static_cast<std::size_t>(this->sizes_.state);
      if (s.cut) {
        pull_switch(at, s, left_bar, u_bar, w);
        left_bar *= 1 - static_cast<double>(s.used);  // (6)
      }
      std::fill(w.x_bar.begin(), w.x_bar.end(), T(0));
      const double h_bar =
          double_step_pullback(at, s.h, w.out_bar.data(), w.x_bar.data(), u_bar, w);
      if (!s.cut) left_bar += static_cast<double>(s.share) * h_bar;  // (5)
      std::swap(w.out_bar, w.x_bar);
    }
    for (int i = 0; i < this->sizes_.tangent; ++i) x_bar[i] += w.out_bar[index(i)];
    w.timestep_bar += left_bar;
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    Work& w = static_cast<Work&>(workspace);
    step_->finish(*w.inner, p_bar);
    p_bar[tree_->options.timestep] = w.timestep_bar;  // that of the substeps has been seen
  }

  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return &static_cast<const Work&>(workspace).note;
  }

  StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const override {
    Work& w = static_cast<Work&>(workspace);
    inner_step(in, in.x, w.timestep, w.next.data(), nullptr, w);
    if (is_finite(w.next)) return {"refinement", "state", "a substep of the step is not finite"};
    return step_->explain(in, lane, *w.inner);
  }

 private:
  static StepperSizes sizes_of(const StepperSizes& inner) {
    StepperSizes s = inner;
    s.record = 0;
    s.workspace = 0;
    s.has_work_keys = s.jacobian_by_lane = false;
    return s;
  }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  // The robot's own step, with what it has to say.
  void inner_step(const StepInput<T>& in, const T* x, T h, T* next, std::vector<T>* record,
                  Work& w) const {
    StepInput<T> at = in;
    at.x = x;
    step_->set_timestep(h, *w.inner);
    StepRecord own;
    if (record) own = {reinterpret_cast<std::byte*>(record->data()), step_->record_bytes(), {}};
    step_->step(at, next, record ? &own : nullptr, *w.inner);
    const LaneNote* note = step_->notes(*w.inner);
    if (!note) return;
    if (!w.noted) {
      w.note = *note;
      w.noted = true;
    }
    w.note.residual = std::max(w.note.residual, note->residual);
    w.note.crowded = w.note.crowded || note->crowded;
  }

  // (1) to (3): y, and the error of (4). Leaves the switches at x and at x_a.
  T double_step(const StepInput<T>& in, const T* x, T h, T* y, Work& w) const {
    inner_step(in, x, h, w.one.data(), nullptr, w);
    step_->list_switches(*w.inner, w.at_x);
    inner_step(in, x, h / 2, w.a.data(), nullptr, w);
    inner_step(in, w.a.data(), h / 2, w.b.data(), nullptr, w);
    step_->list_switches(*w.inner, w.at_a);
    extrapolate(h, y, w);
    return error(x, w);
  }

  void extrapolate(T h, T* y, Work& w) const {
    const T *va = w.a.data() + n_.nq, *vb = w.b.data() + n_.nq, *v1 = w.one.data() + n_.nq;
    for (int k = 0; k < n_.nv; ++k) w.e[index(k)] = h * ((va[k] + vb[k]) / 2 - v1[k]);  // (2)
    retract_qpos(*tree_, static_cast<const T*>(w.b.data()), static_cast<const T*>(w.e.data()), y);
    for (int k = 0; k < n_.nv + n_.na; ++k) y[n_.nq + k] = 2 * vb[k] - v1[k];  // (3)
  }

  // (4).
  T error(const T* x, Work& w) const {
    const T* const xb = w.b.data();
    const auto scale = [&](int first, int n) {
      return std::max({T(kLeastScale), largest(x + first, n), largest(xb + first, n)});
    };
    T most = largest(w.e.data(), n_.nv) / scale(0, n_.nq);
    const auto add = [&](int first, int n) {
      T size = 0;
      for (int k = first; k < first + n; ++k) {
        const T difference = std::abs(xb[k] - w.one[index(k)]);
        if (!(difference <= size)) size = difference;
      }
      const T own = size / scale(first, n);
      if (!(own <= most)) most = own;
    };
    add(n_.nq, n_.nv);
    if (n_.na > 0) add(n_.nq + n_.nv, n_.na);
    return most;
  }

  void list_at(const StepInput<T>& in, const T* x, std::vector<Switch>& out, Work& w) const {
    inner_step(in, x, w.timestep, w.next.data(), nullptr, w);
    step_->list_switches(*w.inner, out);
  }

  // Takes w.x from the beginning of a step to its end. Returns the number of substeps.
  int walk(const StepInput<T>& in, Work& w, RefinedRecord<T>& made) const {
    T left = w.timestep, used = 0;
    int halvings = 0, located = 0;
    while (used < T(1)) {
      const bool enough = made.substeps.size() >= kMostSubsteps;
      const T share = enough ? T(1) - used : std::min(std::ldexp(T(1), -halvings), T(1) - used);
      const T h = left * share;
      const T error = double_step(in, w.x.data(), h, w.y.data(), w);
      const bool far = !(error <= tolerance_), passed = !push_alike(w.at_a, w.at_x);
      if ((far || passed) && halvings < kMostHalvings && !enough) {
        ++halvings;
        continue;
      }
      if (far) w.note.residual = std::max(w.note.residual, static_cast<double>(error));
      made.states.insert(made.states.end(), w.x.begin(), w.x.end());
      Substep<T>& s = made.substeps.emplace_back();
      if (!is_finite(w.y)) {
        std::swap(w.x, w.y);
        break;
      }
      list_at(in, w.y.data(), w.at_y, w);
      if (!push_alike(w.at_y, w.at_x) && located < kMostSwitches && !enough) {
        s = locate(in, h, w);
        s.used = used;
        left = left * (T(1) - used) - s.h;  // (6)
        used = 0;
        ++located;
        if (!(left > 0)) used = T(1);
        while (halvings > 0 && left * std::ldexp(T(1), -halvings) < h / 2) --halvings;
      } else {
        s.h = h, s.share = share;
        used += share;
        if (error < T(kRoomToDouble) * tolerance_ && halvings > 0) --halvings;
      }
      std::swap(w.x, w.y);
    }
    return static_cast<int>(made.substeps.size());
  }

  // (6) within a substep of length h, from w.x to w.y; w.at_x and w.at_y are known. Moves w.y.
  Substep<T> locate(const StepInput<T>& in, T h, Work& w) const {
    T low = 0, high = h;
    const T resolution = std::numeric_limits<T>::epsilon() * w.timestep;
    const std::vector<Switch> before = w.at_x;
    std::vector<Switch> at_low = before;  // with the gaps there
    while (high - low > resolution) {
      const T middle = low + (high - low) / 2;
      if (!(middle > low && middle < high)) break;
      double_step(in, w.x.data(), middle, w.found.data(), w);
      list_at(in, w.found.data(), w.at_found, w);
      if (push_alike(w.at_found, before)) {
        low = middle;
        at_low = w.at_found;
        continue;
      }
      high = middle;
      std::swap(w.y, w.found);
      std::swap(w.at_y, w.at_found);
    }
    Substep<T> s;
    s.h = high;
    s.h_before = low;
    s.cut = true;
    s.event = event_between(at_low, w.at_y, kGapRounding * std::numeric_limits<T>::epsilon());
    return s;
  }

  // The pullback of (3), recomputing (1): adds to x_bar and u_bar, returns h̄.
  double double_step_pullback(const StepInput<T>& in, T h, const T* y_bar, T* x_bar, T* u_bar,
                              Work& w) const {
    inner_step(in, in.x, h, w.one.data(), &w.record[0], w);
    inner_step(in, in.x, h / 2, w.a.data(), &w.record[1], w);
    inner_step(in, w.a.data(), h / 2, w.b.data(), &w.record[2], w);
    extrapolate(h, w.found.data(), w);
    const int nv = n_.nv, vectors = nv + n_.na;
    for (std::vector<T>* bar : {&w.e_bar, &w.a_bar, &w.b_bar, &w.one_bar}) {
      std::fill(bar->begin(), bar->end(), T(0));
    }
    retract_qpos_pullback(*tree_, static_cast<const T*>(w.b.data()),
                          static_cast<const T*>(w.e.data()), y_bar, w.b_bar.data(), w.e_bar.data());
    for (int k = nv; k < nv + vectors; ++k) {  // (3)
      w.b_bar[index(k)] += 2 * y_bar[k];
      w.one_bar[index(k)] -= y_bar[k];
    }
    double h_bar = 0;
    for (int k = 0; k < nv; ++k) {  // (2)
      const T e_bar = w.e_bar[index(k)];
      h_bar += static_cast<double>(e_bar) * static_cast<double>(w.e[index(k)] / h);
      w.a_bar[index(nv + k)] += h * e_bar / 2;
      w.b_bar[index(nv + k)] += h * e_bar / 2;
      w.one_bar[index(nv + k)] -= h * e_bar;
    }
    const auto pull = [&](const T* x, T length, int own, const T* out_bar, T* to) {  // (1)
      StepInput<T> at = in;
      at.x = x;
      step_->set_timestep(length, *w.inner);
      const StepRecord record{
          reinterpret_cast<std::byte*>(w.record[own].data()), step_->record_bytes(), {}};
      step_->pullback(at, record, out_bar, to, u_bar, *w.inner);
      return static_cast<double>(step_->timestep_bar(*w.inner));
    };
    h_bar += pull(w.a.data(), h / 2, 2, w.b_bar.data(), w.a_bar.data()) / 2;
    h_bar += pull(in.x, h / 2, 1, w.a_bar.data(), x_bar) / 2;
    h_bar += pull(in.x, h, 0, w.one_bar.data(), x_bar);
    return h_bar;
  }

  // Adds the cotangents of g to those of the substep's end, of inputs and of parameters.
  void switch_number_pullback(const StepInput<T>& in, const Substep<T>& s, T g_bar, T* y_bar,
                              T* u_bar, Work& w) const {
    double_step(in, in.x, s.event.before ? s.h_before : s.h, w.found.data(), w);
    StepInput<T> at = in;
    at.x = w.found.data();
    step_->set_timestep(w.timestep, *w.inner);
    const T each = g_bar / static_cast<T>(s.event.things.size());
    for (const std::uint64_t thing : s.event.things) {
      step_->switch_pullback(at, thing, s.event.number, each, y_bar, u_bar, *w.inner);
    }
  }

  // (7), (8): from x̄⁺ in w.out_bar to x̄⁺ - λ g_x.
  void pull_switch(const StepInput<T>& in, const Substep<T>& s, double left_bar, T* u_bar,
                   Work& w) const {
    if (s.event.things.empty()) return;
    StepInput<T> looked = in;
    looked.wants_parameters = false;
    const auto along_h = [&](const T* y_bar) {
      std::fill(w.probe_x.begin(), w.probe_x.end(), T(0));
      return double_step_pullback(looked, s.h, y_bar, w.probe_x.data(), w.probe_u.data(), w);
    };
    std::fill(w.probe.begin(), w.probe.end(), T(0));
    switch_number_pullback(looked, s, T(1), w.probe.data(), w.probe_u.data(), w);
    const double beta = along_h(w.probe.data()), alpha = along_h(w.out_bar.data());
    const double lambda = (alpha - left_bar) / beta;
    if (!(lambda - lambda == 0)) return;  // grazed
    switch_number_pullback(in, s, static_cast<T>(-lambda), w.out_bar.data(), u_bar, w);
  }

  std::shared_ptr<const SubstepStepper<T>> step_;
  std::shared_ptr<const Tree> tree_;
  StepShape n_;
  int counter_;
  T tolerance_;
};

template <class T>
std::shared_ptr<const Stepper<T>> refined(std::shared_ptr<const SubstepStepper<T>> step,
                                          std::shared_ptr<const Tree> tree, bool constrained,
                                          double tolerance) {
  return std::make_shared<const RefinedStepper<T>>(std::move(step), std::move(tree), constrained,
                                                   tolerance);
}

}  // namespace

void check_refinement(double tolerance, RigidIntegrator integrator, Precision precision) {
  const double rounding = precision == Precision::float32
                              ? double(std::numeric_limits<float>::epsilon())
                              : std::numeric_limits<double>::epsilon();
  const double least = kLeastTolerance * rounding;
  if (!(tolerance >= least && tolerance < 1)) {
    throw ParameterError(message("refine: the tolerance, a relative error, must be between ", least,
                                 " (a hundred roundings of ",
                                 precision == Precision::float32 ? "float32" : "float64",
                                 ") and 1; got ", tolerance));
  }
  if (integrator == RigidIntegrator::rk4) {
    throw ModelError(
        "refine divides the steps of the integrators Euler, implicit and implicitfast, and makes "
        "them of second order; RK4 looks at contacts at the end of a step too, where a switch is "
        "not yet made: set <option integrator=\"implicitfast\"/>");
  }
}

int substep_counter(bool constrained) {
  return constrained ? static_cast<int>(std::size(kRobotCounters)) : 0;
}

std::shared_ptr<const Stepper<float>> refined_stepper(
    std::shared_ptr<const SubstepStepper<float>> step, std::shared_ptr<const Tree> tree,
    bool constrained, double tolerance) {
  return refined<float>(std::move(step), std::move(tree), constrained, tolerance);
}
std::shared_ptr<const Stepper<double>> refined_stepper(
    std::shared_ptr<const SubstepStepper<double>> step, std::shared_ptr<const Tree> tree,
    bool constrained, double tolerance) {
  return refined<double>(std::move(step), std::move(tree), constrained, tolerance);
}

}  // namespace cycloid::inline rigid
