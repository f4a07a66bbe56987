#include "cycloid/couple/add_network.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/lane_array.h"
#include "cycloid/couple/mass_feedback.h"
#include "cycloid/math/rotation.h"
#include "cycloid/system/integrator/interpolation.h"

namespace cycloid::inline couple {

template <class T>
void add_in_tangents(const Space& space, const T* y, int W, T* x_next) {
  for (const Block& b : space.pieces()) {
    T* const x = x_next + b.offset * W;
    const T* const d = y + b.tangent_offset * W;
    if (b.kind != BlockKind::quaternion) {
      for (int i = 0; i < b.size * W; ++i) x[i] += d[i];  // (1)
      continue;
    }
    for (int l = 0; l < W; ++l) {
      const Quat<T> q = retract(lane_quat(x, W, l), lane_vec3(d, W, l));  // (1)
      x[l] = q.w, x[W + l] = q.x, x[2 * W + l] = q.y, x[3 * W + l] = q.z;
    }
  }
}

template <class T>
void add_in_tangents_pullback(const Space& space, const T* y, const T* x_next_bar, int W,
                              T* inner_bar, T* y_bar) {
  for (const Block& b : space.pieces()) {
    const int at = b.tangent_offset * W;
    if (b.kind != BlockKind::quaternion) {
      for (int i = at; i < at + b.size * W; ++i) {
        inner_bar[i] += x_next_bar[i];  // (1)
        y_bar[i] += x_next_bar[i];
      }
      continue;
    }
    for (int l = 0; l < W; ++l) {
      Vec3<T> q_bar{}, d_bar{};
      retract_tangent_pullback(Quat<T>{}, lane_vec3(y + at, W, l), lane_vec3(x_next_bar + at, W, l),
                               q_bar, d_bar);  // (1)
      add_to_lane(inner_bar + at, W, l, q_bar);
      add_to_lane(y_bar + at, W, l, d_bar);
    }
  }
}

template void add_in_tangents(const Space&, const float*, int, float*);
template void add_in_tangents(const Space&, const double*, int, double*);
template void add_in_tangents_pullback(const Space&, const float*, const float*, int, float*,
                                       float*);
template void add_in_tangents_pullback(const Space&, const double*, const double*, int, double*,
                                       double*);

namespace {

// The inner step, and what the network adds to its end.
template <class T>
class AddedStepper final : public Stepper<T> {
 public:
  AddedStepper(std::shared_ptr<const Stepper<T>> inner, std::shared_ptr<const Feedback<T>> network,
               const FeedbackLaw& law, const Space& states, double timestep)
      : Stepper<T>(sizes_of(*inner, law)),
        inner_(std::move(inner)),
        network_(std::move(network)),
        states_(states),
        timestep_(timestep) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(*this, resources);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    network_->begin(p, *w.network);
    inner_->begin(p, *w.inner);
  }
  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const StepStatus status = inner_->step(in, x_next, record, *w.inner);
    network_->input(point(in), w.y.data(), *w.network);
    add_in_tangents(states_, static_cast<const T*>(w.y.data()), lanes(), x_next);
    for (int i = 0; i < states_.size() * lanes(); ++i) {
      if (!std::isfinite(x_next[i])) return StepStatus::non_finite;
    }
    return status;
  }
  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    network_->input(point(in), w.y.data(), *w.network);
    w.inner_bar.clear(), w.y_bar.clear();
    add_in_tangents_pullback(states_, static_cast<const T*>(w.y.data()), x_next_bar, lanes(),
                             w.inner_bar.data(), w.y_bar.data());
    inner_->pullback(in, record, w.inner_bar.data(), x_bar, u_bar, *w.inner);
    network_->pullback(point(in), w.y_bar.data(), in.wants_parameters, x_bar, u_bar, *w.network);
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    Workspace& w = own(workspace);
    inner_->finish(*w.inner, p_bar);
    network_->finish(*w.network, p_bar);
  }
  void work_keys(const StepInput<T>& in, std::uint64_t* keys,
                 StepWorkspace& workspace) const override {
    inner_->work_keys(in, keys, *own(workspace).inner);
  }
  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return inner_->notes(*static_cast<const Workspace&>(workspace).inner);
  }
  StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    network_->input(point(in), w.y.data(), *w.network);
    for (int i = 0; i < states_.tangent_size(); ++i) {
      if (std::isfinite(w.y.data()[i * lanes() + lane])) continue;
      return {"network", states_.tangent_name(i), "what the network adds is not finite"};
    }
    return inner_->explain(in, lane, *w.inner);
  }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const AddedStepper& s, const StepResources& resources)
        : inner(s.inner_->make_workspace(resources)),
          network(s.network_->make_workspace()),
          y(s.room()),
          y_bar(s.room()),
          inner_bar(s.room()) {}
    std::unique_ptr<StepWorkspace> inner, network;
    LaneArray<T> y, y_bar, inner_bar;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  // What happens inside a step is the inner System's; what is added comes at its end.
  static StepperSizes sizes_of(const Stepper<T>& inner, const FeedbackLaw& law) {
    StepperSizes s = inner.sizes();
    for (const std::int64_t n : law.arrays()) s.arrays.push_back(n);
    s.takes_parts = s.gives_samples = s.jacobian_by_lane = false;
    return s;
  }
  int lanes() const { return this->sizes_.lanes; }
  std::size_t room() const {
    return static_cast<std::size_t>(states_.tangent_size()) * static_cast<std::size_t>(lanes());
  }
  FeedbackPoint<T> point(const StepInput<T>& in) const {
    return {in.x, in.u, in.t0 + static_cast<double>(in.step) * timestep_};
  }

  std::shared_ptr<const Stepper<T>> inner_;
  std::shared_ptr<const Feedback<T>> network_;
  Space states_;
  double timestep_;
};

template <class T>
Steppers<T> added(const Steppers<T>& inner, const FeedbackLaw& law, const SystemParts& parts) {
  const auto add = [&](const std::shared_ptr<const Stepper<T>>& s,
                       bool dual) -> std::shared_ptr<const Stepper<T>> {
    if (!s) return nullptr;
    auto network = law.in_lanes<T>(s->sizes().lanes, dual);
    if (!network) return nullptr;
    return std::make_shared<AddedStepper<T>>(s, std::move(network), law, parts.states,
                                             parts.timestep);
  };
  // What is added to vectors is added to their tangents too; a turn's derivative is another.
  return {add(inner.one, false), add(inner.packed, false),
          parts.states.flat() ? add(inner.dual, true) : nullptr};
}

int count_arrays(const SystemParts& parts) {
  return static_cast<int>(std::count_if(parts.parameters.all().begin(),
                                        parts.parameters.all().end(),
                                        [](const Parameter& p) { return p.array; }));
}

const std::string kSees = "the numbers of what it observes and of the inputs";

}  // namespace

System add_network_to_next(const System& system, const Network& network,
                           const std::optional<std::vector<std::string>>& observe) {
  SystemParts parts = system.parts();
  if (!parts.events.empty()) {
    throw ModelError(message("add_network: system \"", parts.name,
                             "\" has events, and nothing can be added behind them"));
  }
  const auto sight = std::make_shared<const Sight>(system, observe);
  const int nu = parts.inputs.size();
  const Network own = checked_network(network, sight->size() + nu, parts.states.tangent_size(),
                                      "add_network", kSees, "those of the state's tangents");
  const auto law = network_loop(own.shape, sight, nu, count_arrays(parts));
  for (const AddedParameter& a : network_parameters(own, "residual")) {
    parts.parameters.add(a.parameter, a.value);
  }
  parts.name = message(parts.name, " with network");
  parts.feel_distance = nullptr;  // its steppers are wrapped as they are
  parts.kernels = nullptr;        // they know the law without the network
  parts.float32 = added(parts.float32, *law, system.parts());
  parts.float64 = added(parts.float64, *law, system.parts());
  vary_inside(
      system,
      [network, observe](const System& other) {
        return add_network_to_next(other, network, observe);
      },
      parts);
  return System(std::move(parts));
}

System add_network_to_robot(const System& system, const Network& network, int open, TermPlace place,
                            const std::optional<std::vector<std::string>>& observe) {
  const SystemParts& inner = system.parts();
  const Block* force = nullptr;
  for (const Block& b : inner.inputs.blocks()) {
    if (b.name == "qfrc_applied") force = &b;
  }
  if (!force) {
    throw ModelError(message("add_network: system \"", inner.name,
                             "\" has no input \"qfrc_applied\" for a force"));
  }
  const auto sight = std::make_shared<const Sight>(system, observe);
  const Network own = checked_network(network, sight->size() + open, force->size, "add_network",
                                      kSees, "the degrees of freedom");
  Closing closing;
  closing.law = network_loop(own.shape, sight, open, count_arrays(inner));
  if (place == TermPlace::acceleration) closing.law = mass_feedback(closing.law, system, open);
  closing.open = open, closing.at = force->offset, closing.outputs = force->size;
  closing.again = [network, open, place, observe](const System& other) {
    return add_network_to_robot(other, network, open, place, observe);
  };
  return close_with(system, closing, message(inner.name, " with network"),
                    network_parameters(own, "residual"));
}

System add_network_to_law(std::string_view law,
                          const std::map<std::string, std::vector<double>>& values,
                          const systems::Settings& settings, int n, const Network& network,
                          TermPlace place, const std::optional<std::vector<std::string>>& observe) {
  const System base = systems::make(law, values, settings, n);
  const int nx = base.states().size(), nu = base.inputs().size();
  if (place != TermPlace::rate && !systems::is_second_order(law)) {
    throw Error(
        message("add_network: \"", law, "\" has no velocities to accelerate; add to its rate"));
  }
  if (place == TermPlace::force && 2 * nu != nx) {
    throw Error(message("add_network: \"", law,
                        "\" has no forces among its inputs; add to its acceleration"));
  }
  const auto sight = std::make_shared<const Sight>(base, observe);
  const bool rate = place == TermPlace::rate;
  const Network own =
      checked_network(network, sight->size() + nu, rate ? nx : nx / 2, "add_network", kSees,
                      rate ? "those of the state" : "those of the velocities");
  const auto term = network_loop(own.shape, sight, nu, 0);
  SystemParts parts = systems::make_with_term(law, values, settings, n, *term, place);
  for (const AddedParameter& a : network_parameters(own, "residual")) {
    parts.parameters.add(a.parameter, a.value);
  }
  parts.name = message(parts.name, " with network");
  const auto again = [law = std::string(law), settings, n, network, place,
                      observe](const System& other) {
    systems::Settings own_settings = settings;
    own_settings.integrator = other.ways().integrator;
    own_settings.dt = other.timestep();
    auto own_values = other.parameters().unpack(other.parameters().default_values());
    own_values.erase("option.timestep");
    return add_network_to_law(law, own_values, own_settings, n, network, place, observe);
  };
  vary_inside(base, again, parts);
  return System(std::move(parts));
}

}  // namespace cycloid::inline couple
