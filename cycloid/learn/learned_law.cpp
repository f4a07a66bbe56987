#include "cycloid/learn/learned_law.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/network_feedback.h"
#include "cycloid/learn/field_lanes.h"
#include "cycloid/learn/learned_observables.h"
#include "cycloid/learn/learned_tangents.h"

namespace cycloid::inline learn {
namespace {

// Few enough that a float sum loses no more than the stages themselves did.
constexpr int kCallsPerFlush = 16;

// A Field as what moves bare motion (system/laws/bare_motion.h).
template <class T>
class LearnedFeedback final : public Feedback<T> {
 public:
  LearnedFeedback(std::shared_ptr<const FieldPlan<T>> plan, int lanes)
      : plan_(std::move(plan)), lanes_(lanes) {
    const LearnedLaw& law = plan_->law;
    first_ = law.second_order() ? law.n : 0, outputs_ = law.states() - first_;
  }

  std::unique_ptr<StepWorkspace> make_workspace() const override {
    return std::make_unique<Workspace>(*this);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.at.begin(p);
    w.pending = 0;
  }
  void input(const FeedbackPoint<T>& at, T* y, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.at.field.use(w.at.weights, nullptr);
    w.at.take(at.x, at.v, false);
    w.at.field.rate(w.at.x.data(), w.at.u.data(), w.x_dot.data());
    for (int i = 0; i < outputs_; ++i) {
      std::copy_n(w.x_dot.data() + (first_ + i) * w.at.columns, lanes_, y + i * lanes_);
    }
  }
  void pullback(const FeedbackPoint<T>& at, const T* y_bar, bool wants_parameters, T* x_bar,
                T* v_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const bool weights = wants_parameters && w.at.bars;
    w.at.field.use(w.at.weights, weights ? w.at.sums.pointers.data() : nullptr);
    w.at.take(at.x, at.v, true);
    const typename Field<T>::Between between = [&](const T*, T* bar) {
      std::fill_n(bar, plan_->law.states() * w.at.columns, T(0));
      for (int i = 0; i < outputs_; ++i) {
        for (int l = 0; l < lanes_; ++l) {
          if (w.at.counts(l)) bar[(first_ + i) * w.at.columns + l] = y_bar[i * lanes_ + l];
        }
      }
    };
    w.at.field.rate_pullback(w.at.x.data(), w.at.u.data(), between, w.at.x_bar.data(),
                             w.at.u_bar.data());
    w.at.give(x_bar, v_bar);
    if (weights && ++w.pending == kCallsPerFlush) flush(w);
  }
  void finish(StepWorkspace& workspace, double*) const override { flush(own(workspace)); }

 private:
  struct Workspace final : StepWorkspace {
    explicit Workspace(const LearnedFeedback& of)
        : at(of.plan_, of.lanes_),
          x_dot(static_cast<std::size_t>(of.plan_->law.states() * at.columns) + 64) {}
    FieldLanes<T> at;
    LaneArray<T> x_dot;
    int pending = 0;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }
  static void flush(Workspace& w) {
    if (w.pending > 0) w.at.sums.flush(w.at.bars);
    w.pending = 0;
  }

  std::shared_ptr<const FieldPlan<T>> plan_;
  int lanes_, first_, outputs_;
};

class LearnedFeedbackLaw final : public FeedbackLaw {
 public:
  explicit LearnedFeedbackLaw(const LearnedLaw& law)
      : plan32_(std::make_shared<FieldPlan<float>>(law)),
        plan64_(std::make_shared<FieldPlan<double>>(law)) {}
  int numbers() const override { return 0; }
  std::vector<std::int64_t> arrays() const override { return plan64_->arrays; }
  std::shared_ptr<const Feedback<float>> float32(int lanes, bool dual) const override {
    return dual ? nullptr : std::make_shared<LearnedFeedback<float>>(plan32_, lanes);
  }
  std::shared_ptr<const Feedback<double>> float64(int lanes, bool dual) const override {
    if (dual) return learned_in_duals(plan64_, lanes);
    return std::make_shared<LearnedFeedback<double>>(plan64_, lanes);
  }

 private:
  std::shared_ptr<const FieldPlan<float>> plan32_;
  std::shared_ptr<const FieldPlan<double>> plan64_;
};

void check_constrained(const LearnedLaw& law) {
  const int d = law.dimension;
  if (d < 1 || d > 3)
    throw ModelError(message("constrained: dimension must be 1, 2 or 3; got ", d));
  if (law.n % d != 0) {
    throw ModelError(message("constrained: ", law.n,
                             " coordinates are no whole number of points "
                             "in ",
                             d, " dimensions"));
  }
  const int P = law.particles();
  const int points = P + static_cast<int>(law.anchors.size()) / d;
  const int K = static_cast<int>(law.distances.size());
  if (static_cast<int>(law.masses.size()) != P || static_cast<int>(law.lengths.size()) != K) {
    throw ModelError(message("constrained: ", P, " particles and ", K,
                             " distances need as many "
                             "masses and lengths; got ",
                             law.masses.size(), " and ", law.lengths.size()));
  }
  if (K >= law.n) {
    throw ModelError(message("constrained: ", K, " distances leave none of ", law.n,
                             " coordinates free; leave out what others imply"));
  }
  for (const auto& [i, j] : law.distances) {
    if (i < 0 || j < 0 || i >= points || j >= points || i == j || (i >= P && j >= P)) {
      throw ModelError(message("constrained: a distance joins two of the ", points, " points (", P,
                               " particles, then anchors), one of them a particle; got ", i,
                               " and ", j));
    }
  }
  if (!(law.stabilisation >= 0) || !std::isfinite(law.stabilisation)) {
    throw ModelError(
        message("constrained: stabilisation is a rate, 0 or more [1/s]; got ", law.stabilisation));
  }
  if (!law.jumps.empty()) {
    throw ModelError(
        "constrained: an impulse of an impact would have to keep the distances; "
        "impacts are for the other laws");
  }
}

void check(const LearnedLaw& law) {
  const char* const what = name(law.kind);
  if (law.n < 1) throw ModelError(message(what, ": n must be at least 1; got ", law.n));
  if (law.inputs < 0) throw ModelError(message(what, ": inputs must not be negative"));
  if (law.kind == LearnedKind::constrained) check_constrained(law);
  for (std::size_t k = 0; k < law.angles.size(); ++k) {
    const int a = law.angles[k];
    if (a < 0 || a >= law.n) {
      throw ModelError(message(what, ": angle ", a, " is none of the ", law.n, " coordinates"));
    }
    if (k > 0 && a <= law.angles[k - 1]) throw ModelError(message(what, ": angles must rise"));
  }
  if (law.separable && law.kind != LearnedKind::hamiltonian) {
    throw ModelError(message(what, ": only a Hamiltonian is separable"));
  }
  if (law.dissipation && law.kind == LearnedKind::neural_ode) {
    throw ModelError("neural_ode: what dissipates is part of its rate; leave dissipation out");
  }
  if (law.input_matrix == InputMatrix::identity && law.inputs != law.n && law.inputs > 0 &&
      law.kind != LearnedKind::neural_ode) {
    throw ModelError(message(what, ": inputs act directly where there is one for each of the ",
                             law.n, " coordinates; there are ", law.inputs,
                             ": choose a constant or a network for the input matrix"));
  }
}

MlpShape shape_of(const LearnedLaw& law, int inputs, const std::vector<int>& hidden, int outputs,
                  bool with_angles) {
  MlpShape s;
  s.widths = {inputs};
  s.widths.insert(s.widths.end(), hidden.begin(), hidden.end());
  s.widths.push_back(outputs);
  s.activation = law.activation;
  if (with_angles) s.angles = law.angles;
  s.check();
  return s;
}

// A stream of random numbers of its own for each network.
std::uint64_t seed_of(std::uint64_t seed, std::size_t place) {
  return seed + 0x9E3779B97F4A7C15ull * place;
}

systems::TermOrder order_of(const LearnedLaw& law) {
  if (law.second_order()) return systems::TermOrder::second;
  return law.kind == LearnedKind::hamiltonian ? systems::TermOrder::halves
                                              : systems::TermOrder::first;
}

std::vector<BlockSpec> states_of(const LearnedLaw& law) {
  if (law.kind == LearnedKind::neural_ode) return {{"x", law.n, ""}};
  if (law.kind == LearnedKind::hamiltonian) return {{"q", law.n, ""}, {"p", law.n, ""}};
  if (law.kind == LearnedKind::constrained) {
    return {{"position", law.n, "m"}, {"velocity", law.n, "m/s"}};
  }
  return {{"q", law.n, ""}, {"velocity", law.n, ""}};
}

// Masses, lengths and anchors.
void add_points(const LearnedLaw& law, Parameters& to) {
  const auto add = [&](const char* name, const char* unit, std::vector<int> shape,
                       Constraint constraint, const std::vector<double>& values) {
    Parameter p;
    p.name = name, p.unit = unit, p.shape = std::move(shape), p.array = true;
    p.constraint = constraint;
    if (!values.empty()) to.add(std::move(p), values);
  };
  const int anchors = static_cast<int>(law.anchors.size()) / law.dimension;
  add("masses", "kg", {law.particles()}, Constraint::positive, law.masses);
  add("lengths", "m", {static_cast<int>(law.lengths.size())}, Constraint::positive, law.lengths);
  add("anchors", "m", {anchors, law.dimension}, Constraint::none, law.anchors);
}

}  // namespace

const char* name(LearnedKind kind) {
  switch (kind) {
    case LearnedKind::neural_ode: return "neural_ode";
    case LearnedKind::hamiltonian: return "hamiltonian";
    case LearnedKind::lagrangian: return "lagrangian";
    case LearnedKind::deep_lagrangian: return "deep_lagrangian";
    case LearnedKind::constrained: return "constrained";
  }
  return "";
}

std::vector<LearnedNetwork> networks_of(const LearnedLaw& law) {
  check(law);
  std::vector<LearnedNetwork> all;
  const int n = law.n;
  const auto add = [&](const char* name, int inputs, const std::vector<int>& hidden, int outputs,
                       bool with_angles) {
    all.push_back({name, shape_of(law, inputs, hidden, outputs, with_angles)});
  };
  switch (law.kind) {
    case LearnedKind::neural_ode:
      add("neural_ode", n + law.inputs, law.hidden, n, true);
      return all;
    case LearnedKind::hamiltonian:
      if (law.separable) {
        add("potential", n, law.hidden, 1, true);
        add("kinetic", n, law.hidden, 1, false);
      } else {
        add("hamiltonian", 2 * n, law.hidden, 1, true);
      }
      break;
    case LearnedKind::lagrangian: add("lagrangian", 2 * n, law.hidden, 1, true); break;
    case LearnedKind::deep_lagrangian:
      add("mass", n, law.hidden, law.triangle(), true);
      add("potential", n, law.hidden, 1, true);
      break;
    case LearnedKind::constrained: add("potential", n, law.hidden, 1, false); break;
  }
  if (law.dissipation) add("dissipation", n, law.side_hidden, law.triangle(), true);
  if (law.inputs > 0 && law.input_matrix == InputMatrix::network) {
    add("input", n, law.side_hidden, n * law.inputs, true);
  }
  return all;
}

System make_learned(const LearnedLaw& law, const systems::Settings& settings,
                    const std::map<std::string, std::vector<double>>& values) {
  const LearnedFeedbackLaw term(law);
  std::vector<BlockSpec> inputs;
  if (law.inputs > 0) inputs.push_back({"u", law.inputs, ""});
  SystemParts parts = systems::make_of_term(name(law.kind), states_of(law), inputs, settings, term,
                                            order_of(law), law.jumps);
  std::size_t place = 0;
  for (const LearnedNetwork& n : networks_of(law)) {
    const Network first{n.shape, initial_weights(n.shape, seed_of(law.seed, place++))};
    for (const AddedParameter& a : network_parameters(first, n.name)) {
      parts.parameters.add(a.parameter, a.value);
    }
  }
  if (law.inputs > 0 && law.kind != LearnedKind::neural_ode &&
      law.input_matrix == InputMatrix::constant) {
    Parameter p;
    p.name = "input.matrix", p.shape = {law.n, law.inputs}, p.array = true;
    std::vector<double> one(static_cast<std::size_t>(law.n * law.inputs), 0.0);
    for (int i = 0; i < std::min(law.n, law.inputs); ++i) {
      one[static_cast<std::size_t>(i * law.inputs + i)] = 1;
    }
    parts.parameters.add(std::move(p), one);
  }
  if (law.kind == LearnedKind::constrained) add_points(law, parts.parameters);
  if (!values.empty()) parts.parameters = with_defaults(parts.parameters, values);
  parts.observables = learned_observables(law, settings);
  parts.ways.use = [law, settings](const Variant& variant, SystemParts& of) {
    systems::Settings other = settings;
    if (!variant.integrator.empty()) other.integrator = variant.integrator;
    other.dt = of.timestep;
    std::map<std::string, std::vector<double>> own =
        of.parameters.unpack(of.parameters.default_values());
    own.erase(std::string(kTimestepName));
    SystemParts made = make_learned(law, other, own).parts();
    made.initial_state = std::move(of.initial_state);
    of = std::move(made);
  };
  return System(std::move(parts));
}

}  // namespace cycloid::inline learn
