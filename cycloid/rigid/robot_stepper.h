// RobotStepper: the step of step.h in the lanes of one scalar S, as a Stepper.
//
// kConstrained: with the dynamics of constrained_dynamics.h, else without constraints.
// P is the type of a parameter in the workspace: one number for all lanes, or one per lane (S) when
// environments differ. Cotangents of parameters are summed in S over a few steps, then in double.
// S may be Dual<double, 1> (dual_stepper.cpp): two lanes, a value and its tangent.
#pragma once

#include "cycloid/base/error.h"
#include "cycloid/rigid/constrained_jacobian.h"
#include "cycloid/rigid/parameter_jacobian.h"
#include "cycloid/rigid/rk4_step.h"
#include "cycloid/rigid/robot_steppers.h"
#include "cycloid/rigid/switches.h"
#include "cycloid/system/lane_sums.h"

namespace cycloid::inline rigid {

template <class S, class P, bool kConstrained = false>
class RobotStepper final : public SubstepStepper<Scalar<S>>, public ParameterSlopes<Scalar<S>> {
 public:
  using T = Scalar<S>;

  explicit RobotStepper(const RobotKey& key) : SubstepStepper<T>(sizes_of(key)), key_(key) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources&) const override {
    auto workspace = std::make_unique<LaneWorkspace>(this->sizes_.workspace);
    std::byte* const memory = LaneWorkspace::memory(*workspace);
    Arena arena = Arena::over(memory);
    (new (memory) Layout)->carve(key_, this->sizes_.record, arena);
    return workspace;
  }

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    const Layout& at = layout(workspace);
    constexpr int kStride = std::is_same_v<P, S> ? 1 : kLanes<S>;
    for (int i = 0; i < parameters(); ++i) {
      at.p[i] = reinterpret_cast<const P*>(p.lanes)[i * kStride];
    }
    prepare_parameters(*key_.tree, at.p, at.quat_length);
    *at.sums = {};
    if constexpr (kConstrained) {
      const ContactPlan& contacts = key_.constraints->contacts;
      const SolidArrays<T> arrays{p.arrays, p.arrays_bar, p.left_out, p.arrays_tan,
                                  p.arrays_bar_tan};
      at.constraints.contacts.begin(contacts);
      at.constraints.contacts.set_solids(contacts, key_.tree->source, arrays);
      if (key_.near_width > 0) {
        at.constraints.near.begin(contacts);
        at.constraints.near.set_solids(contacts, key_.tree->source, arrays);
      }
    }
  }

  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Layout at = layout(workspace);
    const Robot<S, P> r = robot(at);
    const S *x = reinterpret_cast<const S*>(in.x), *u = reinterpret_cast<const S*>(in.u);
    S* out = reinterpret_cast<S*>(x_next);
    S* own = record ? record->numbers<S>() : at.record;
    std::fill_n(at.notes, kNotes, LaneNote{});
    with_dynamics(at, [&](const auto& dynamics) {
      if (integrator() == RigidIntegrator::rk4) {
        rk4_step(r, x, u, at.work, out, own, dynamics);
      } else {
        euler_step(r, x, u, at.work, out, own, dynamics);
        if constexpr (kConstrained) {
          if (record)
            record->bytes =
                sizeof(S) * static_cast<std::size_t>(dynamics.record_used(*key_.tree, own));
        }
      }
    });
    keep_switches(at);
    auto finite = finite_lanes(out[0]);
    for (int i = 1; i < this->sizes_.state; ++i) finite = finite & finite_lanes(out[i]);
    if (!all(finite)) return StepStatus::non_finite;
    return fell_short(at.notes, kNotes) ? StepStatus::short_of : StepStatus::ok;
  }

  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    Layout at = summing(workspace);
    clear_first(at);
    const Robot<S, P> r = robot(at);
    const S *x = reinterpret_cast<const S*>(in.x), *u = reinterpret_cast<const S*>(in.u);
    const S *own = record.numbers<const S>(), *bar = reinterpret_cast<const S*>(x_next_bar);
    S *x_out = reinterpret_cast<S*>(x_bar), *u_out = reinterpret_cast<S*>(u_bar);
    S h_bar(0);
    S* p_bar = in.wants_parameters ? at.p_bar : nullptr;
    with_dynamics(at, [&](const auto& dynamics) {
      if (integrator() == RigidIntegrator::rk4) {
        rk4_step_pullback(r, x, u, own, at.work, bar, x_out, u_out, p_bar, h_bar, dynamics);
      } else {
        euler_step_pullback(r, x, u, own, at.work, bar, x_out, u_out, p_bar, h_bar, dynamics);
      }
    });
    at.p_bar[key_.tree->options.timestep] += h_bar;
    *at.h_bar = h_bar;
    if (++at.sums->pending == kStepsPerSum) add_to_sums(at);
  }

  bool jacobian(const StepInput<T>& in, const StepRecord& record, T* A, T* B,
                StepWorkspace& workspace) const override {
    if (integrator() == RigidIntegrator::rk4 || kByLane || kDual) return false;
    if (kConstrained && (key_.inputs.mocap_pos >= 0 || key_.inputs.mocap_quat >= 0)) return false;
    if (kConstrained &&
        (key_.tree->has_adhesion || key_.tree->surfaces_move || key_.tree->compliant.acts ||
         key_.tree->model.options.acting.exact_diagonal)) {
      return false;
    }
    Layout at = layout(workspace);
    const ModelView& m = key_.tree->model;
    const Robot<S, P> r = robot(at);
    const S *x = reinterpret_cast<const S*>(in.x), *u = reinterpret_cast<const S*>(in.u),
            *own = record.numbers<const S>();
    const StepJacobian<S> out{m.nv, m.na, this->sizes_.input, reinterpret_cast<S*>(A),
                              reinterpret_cast<S*>(B)};
    if constexpr (kDual) {
    } else if constexpr (!kConstrained) {
      euler_step_jacobian(r, x, u, own, at.work, at.jacobian, out);
    } else if constexpr (!kByLane) {
      with_dynamics(at, [&](const auto& dynamics) {
        constrained_step_jacobian(r, x, u, own, at.work, dynamics, at.jacobian, out);
      });
    }
    return true;
  }

  bool parameter_jacobian(const StepInput<T>& in, const StepRecord& record,
                          const ParameterDirections& directions, T* P_out,
                          StepWorkspace& workspace) const override {
    if (integrator() == RigidIntegrator::rk4 || kDual) return false;
    if (key_.tree->model.na > 0 || moves_itself(directions)) return false;
    if constexpr (!kDual) {
      Layout at = layout(workspace);
      const Robot<S, P> r = robot(at);
      const S *x = reinterpret_cast<const S*>(in.x), *u = reinterpret_cast<const S*>(in.u),
              *own = record.numbers<const S>();
      S* const out = reinterpret_cast<S*>(P_out);
      if constexpr (!kConstrained) {
        euler_parameter_jacobian(r, x, u, own, at.work, at.jacobian, this->sizes_.input, directions,
                                 at.p_bar, out);
      } else {
        pull_velocity_rows(in, record, directions, out, at);
      }
      at.sums->cleared = false;  // p_bar is no cotangent any more
    }
    return true;
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    const Layout& at = layout(workspace);
    clear_first(at);
    add_to_sums(at);
    std::memcpy(p_bar, at.p_sum, sizeof(Accumulator<S>) * static_cast<std::size_t>(parameters()));
    const P* length = at.quat_length;
    for (const int place : key_.tree->quaternions) {
      if constexpr (kDual) {
        S* out = reinterpret_cast<S*>(p_bar) + place;
        store(out, ambient_from_tangent_cotangent(load_quat(at.p + place), load_vec3(out)) *
                       (S(1) / *length));
      } else {
        finish_quaternion(at.p + place, *length, p_bar + place * kLanes<S>);
      }
      ++length;
    }
  }

  void work_keys(const StepInput<T>& in, std::uint64_t* keys,
                 StepWorkspace& workspace) const override {
    if constexpr (kConstrained) {
      Layout at = layout(workspace);
      const StepShape n(*key_.tree);
      const S *x = reinterpret_cast<const S*>(in.x), *u = reinterpret_cast<const S*>(in.u);
      with_dynamics(at, [&](const auto& dynamics) {
        dynamics.work_keys(robot(at), {x, x + n.nq, x + n.nq + n.nv, u}, at.work, keys);
      });
    }
  }

  const LaneNote* notes(const StepWorkspace& workspace) const override {
    return kConstrained ? layout(workspace).notes : nullptr;
  }

  StepTrouble explain(const StepInput<T>& in, int lane, StepWorkspace& workspace) const override;

  void set_timestep(T h, StepWorkspace& workspace) const override {
    layout(workspace).p[key_.tree->options.timestep] = P(h);
  }
  // What follows is for one environment.
  T timestep_bar(const StepWorkspace& workspace) const override {
    return take_lane(primal(*layout(workspace).h_bar), 0);
  }
  void list_switches(const StepWorkspace& workspace, std::vector<Switch>& out) const override {
    out.clear();
    if constexpr (kSwitches) {
      const Layout& at = layout(workspace);
      out.assign(at.switches, at.switches + *at.switch_count);
    }
  }
  void switch_pullback(const StepInput<T>& in, std::uint64_t thing, SwitchNumber number, T bar,
                       T* x_bar, T* u_bar, StepWorkspace& workspace) const override {
    if constexpr (kSwitches) {
      Layout at = summing(workspace);
      clear_first(at);
      const Robot<S, P> r = robot(at);
      const StepShape n(*key_.tree);
      const Instant<S> x{in.x, in.x + n.nq, in.x + n.nq + n.nv, in.u};
      S h_bar(0);
      const InstantBars<S> bars{
          x_bar, x_bar + n.nv, x_bar + 2 * n.nv, u_bar, in.wants_parameters ? at.p_bar : nullptr,
          h_bar};
      with_dynamics(at, [&](ConstrainedDynamics<S> dynamics) {
        dynamics.notes = nullptr;
        if (number == SwitchNumber::gap) {
          return gather_switch_gap(r, x, at.work, *key_.constraints, at.constraints,
                                   SwitchName(thing), S(bar), bars);
        }
        std::vector<S> rows;
        gather_switch_force(r, x, at.work, dynamics, thing, S(bar), at.record, rows, bars);
      });
    }
  }

 private:
  // Whether a direction has numbers on which q⁺ depends besides v⁺, or that are normalised.
  bool moves_itself(const ParameterDirections& directions) const {
    for (const auto& direction : directions) {
      for (const DirectionEntry& e : direction) {
        if (e.place == key_.tree->options.timestep || e.place >= parameters()) return true;
        for (const int quat : key_.tree->quaternions) {
          if (e.place >= quat && e.place < quat + 4) return true;
        }
      }
    }
    return false;
  }

  // Numbers of a scalar: its lanes, or a value and its tangent.
  static constexpr int kNumbers = static_cast<int>(sizeof(S) / sizeof(T));
  static constexpr bool kDual = kNumbers != kLanes<S>;
  static constexpr int kNotes = kConstrained ? kNumbers : 0;
  static constexpr std::int64_t kStepsPerSum = 64;
  static constexpr bool kSwitches = kConstrained && BuiltinScalar<S>;

  RigidIntegrator integrator() const { return key_.tree->model.options.integrator; }
  int parameters() const { return key_.tree->parameters.lane_size(); }

  static double lane_value(const P& x, int l) {
    if constexpr (BuiltinScalar<P>) {
      return static_cast<double>(x);
    } else {
      return static_cast<double>(lane(x, l));
    }
  }

  // From the tangent's cotangent of a quaternion that was normalised to that of its coordinates.
  static void finish_quaternion(const P* q, const P& length, double* out) {
    constexpr int W = kLanes<S>;
    for (int l = 0; l < W; ++l, ++out) {
      const auto value = [&](int i) { return lane_value(q[i], l); };
      const Quat<double> unit{value(0), value(1), value(2), value(3)};
      const Quat<double> bar =
          ambient_from_tangent_cotangent(unit, Vec3<double>{out[0], out[W], out[2 * W]}) *
          (1 / lane_value(length, l));
      out[0] = bar.w, out[W] = bar.x, out[2 * W] = bar.y, out[3 * W] = bar.z;
    }
  }

  Implicit implicit() const { return implicit_of(*key_.tree); }

  // Jacobians under constraints fill the lanes with the dofs of one environment.
  static constexpr bool kByLane = kConstrained && !BuiltinScalar<S>;
  struct NoJacobian {
    void carve(const TreeView&, int, Arena&) {}
  };
  template <class A>
  struct JacobianOf {
    using type = std::conditional_t<kConstrained || kDual, NoJacobian, JacobianSpace<A>>;
  };
  template <BuiltinScalar A>
  struct JacobianOf<A> {
    using type = std::conditional_t<kConstrained, ConstrainedJacobianSpace<A>, JacobianSpace<A>>;
  };
  using Jacobian = typename JacobianOf<S>::type;

  static void carve_jacobian(const RobotKey& key, Jacobian& space, Arena& arena) {
    if constexpr (kConstrained && !kByLane) {
      space.carve(*key.tree, *key.constraints, key.input_size, arena);
    } else {
      space.carve(*key.tree, key.input_size, arena);
    }
  }

  // What p_bar and p_sum hold since begin.
  struct Sums {
    std::int64_t pending = 0;            // steps in p_bar
    bool cleared = false, some = false;  // p_bar has been set to zero; p_sum has been written
  };
  // The arrays of a workspace; it lies at the workspace's beginning.
  struct Layout {
    void carve(const RobotKey& key, int record_size, Arena& arena) {
      arena.take<Layout>(1);  // itself
      const std::size_t n = static_cast<std::size_t>(key.tree->parameters.lane_size());
      arena.take(sums, 1);
      arena.take(notes, kNotes);
      arena.take(p_sum, n);
      arena.take(p, n);
      arena.take(quat_length, key.tree->quaternions.size());
      arena.take(p_bar, n);
      arena.take(h_bar, 1);
      arena.take(record, static_cast<std::size_t>(record_size));
      work.carve(*key.tree, arena);
      carve_jacobian(key, jacobian, arena);
      if constexpr (kConstrained) {
        constraints.carve(*key.tree, *key.constraints, arena, key.near_width > 0);
      }
      if constexpr (kSwitches) {
        arena.take(switch_count, 1);
        arena.take(switches, static_cast<std::size_t>(key.constraints->rows.count() +
                                                      key.constraints->contacts.slots));
      }
    }
    Sums* sums;
    LaneNote* notes;  // (kNotes)
    Accumulator<S>* p_sum;
    P *p, *quat_length;
    S *p_bar, *h_bar, *record;
    Workspace<S> work;
    Jacobian jacobian;
    ConstraintMemory<S> constraints;  // where there are any
    int* switch_count;
    Switch* switches;  // of the last step
  };

  static const Layout& layout(const StepWorkspace& workspace) {
    return *reinterpret_cast<const Layout*>(LaneWorkspace::memory(workspace));
  }

  // The same for cotangents that add_to_sums will take.
  Layout summing(const StepWorkspace& workspace) const {
    Layout at = layout(workspace);
    if constexpr (kConstrained) {
      ContactSpace<S>& contacts = at.constraints.contacts;
      contacts.waits = key_.constraints->contacts.waits;
    }
    return at;
  }

  // Those of the state from which a step has gone.
  void keep_switches(const Layout& at) const {
    if constexpr (kSwitches) {
      int& count = *at.switch_count;
      count = 0;
      for_each_switch(*key_.constraints, at.constraints, [&](const Switch& there, int row) {
        Switch& own = at.switches[count++] = there;
        own.pushes = at.constraints.solver.newton.at.f[row] > S(0);
      });
    }
  }

  // Calls function(dynamics) with the dynamics of this robot.
  template <class Function>
  void with_dynamics(Layout& at, Function&& function) const {
    if constexpr (kConstrained) {
      function(ConstrainedDynamics<S>{*key_.constraints, at.constraints,
                                      implicit() != Implicit::nothing, at.notes,
                                      static_cast<T>(key_.near_width)});
    } else {
      function(SmoothDynamics{});
    }
  }

  static int record_numbers(const RobotKey& key) {
    const TreeView& tree = *key.tree;
    const RigidIntegrator kind = tree.model.options.integrator;
    const auto numbers = [&](const auto& dynamics) {
      return kind == RigidIntegrator::rk4 ? 4 * rk4_record_per_stage(tree, dynamics)
                                          : dynamics.record_numbers(tree);
    };
    if constexpr (kConstrained) {
      ConstraintMemory<S> none;
      const bool slopes = implicit_of(tree) != Implicit::nothing;
      return numbers(ConstrainedDynamics<S>{*key.constraints, none, slopes});
    } else {
      return numbers(SmoothDynamics{});
    }
  }

  static StepperSizes sizes_of(const RobotKey& key) {
    const TreeView& tree = *key.tree;
    StepperSizes s;
    s.lanes = kNumbers;
    s.state = tree.model.nq + tree.model.nv + tree.model.na;
    s.tangent = 2 * tree.model.nv + tree.model.na;
    s.input = key.input_size;
    s.parameters = key.tree->parameters.lane_size();
    for (const Parameter& p : key.tree->parameters.all()) {
      if (p.array) s.arrays.push_back(p.size);
    }
    s.record = record_numbers(key);
    s.record_is_costly = true;
    s.jacobian_by_lane = kByLane;
    if constexpr (kConstrained && !kDual) {
      s.has_work_keys = !key.constraints->contacts.pairs.empty();
    }
    Arena measure = Arena::measuring();
    Layout().carve(key, s.record, measure);
    s.workspace = measure.used();
    return s;
  }

  Robot<S, P> robot(const Layout& at) const {
    return {*key_.tree, key_.inputs, at.p, implicit(), implicit() <= Implicit::dampers};
  }

  void clear_first(const Layout& at) const {
    if (at.sums->cleared) return;
    for (int i = 0; i < parameters(); ++i) at.p_bar[i] = S(0);
    at.sums->cleared = true;
  }
  void add_to_sums(const Layout& at) const {
    if constexpr (kConstrained) {
      add_waiting_numbers(key_.constraints->contacts, *key_.tree, static_cast<const P*>(at.p),
                          at.constraints.contacts, at.p_bar);
    }
    for (int i = 0; i < parameters(); ++i) {
      if (!at.sums->some) at.p_sum[i] = Accumulator<S>{};
      at.p_sum[i].add(at.p_bar[i]);
      at.p_bar[i] = S(0);
    }
    *at.sums = {0, true, true};
  }

  // P under constraints: a pullback for every row of v⁺, from which those of q⁺ follow.
  void pull_velocity_rows(const StepInput<T>& in, const StepRecord& record,
                          const ParameterDirections& directions, S* out, Layout& at) const;

  RobotKey key_;
};

template <class S, class P, bool kConstrained>
void RobotStepper<S, P, kConstrained>::pull_velocity_rows(const StepInput<T>& in,
                                                          const StepRecord& record,
                                                          const ParameterDirections& directions,
                                                          S* out, Layout& at) const {
  const Robot<S, P> r = robot(at);
  const StepShape n(*key_.tree);
  const int q = static_cast<int>(directions.size());
  const std::size_t tangent = static_cast<std::size_t>(this->sizes_.tangent);
  const S *x = reinterpret_cast<const S*>(in.x), *u = reinterpret_cast<const S*>(in.u),
          *own = record.numbers<const S>(), *qacc = own;
  std::vector<S> x_next_bar(tangent), x_bar(tangent),
      u_bar(static_cast<std::size_t>(this->sizes_.input));
  for (int k = 0; k < n.nv; ++k) {
    std::fill(x_next_bar.begin(), x_next_bar.end(), S(0));
    std::fill(x_bar.begin(), x_bar.end(), S(0));
    std::fill(u_bar.begin(), u_bar.end(), S(0));
    x_next_bar[static_cast<std::size_t>(n.nv + k)] = S(1);
    for (const auto& direction : directions) {
      for (const DirectionEntry& e : direction) at.p_bar[e.place] = S(0);
    }
    S h_bar(0);
    with_dynamics(at, [&](const auto& dynamics) {
      qacc = own + dynamics.moved(*key_.tree);
      euler_step_pullback(r, x, u, own, at.work, static_cast<const S*>(x_next_bar.data()),
                          x_bar.data(), u_bar.data(), at.p_bar, h_bar, dynamics);
    });
    for (int j = 0; j < q; ++j) {
      S sum(0);
      for (const DirectionEntry& e : directions[static_cast<std::size_t>(j)]) {
        sum += S(static_cast<T>(e.value)) * at.p_bar[e.place];
      }
      out[(n.nv + k) * q + j] = sum;
    }
  }
  const S h = r.timestep();
  for (int k = 0; k < n.nv; ++k) at.work.tau[k] = x[n.nq + k] + h * qacc[k];
  parameter_position_rows(r.tree, h, static_cast<const S*>(at.work.tau), q, out);
}

// Runs the step again and names the first joint whose acceleration is not finite in this lane.
template <class S, class P, bool kConstrained>
StepTrouble RobotStepper<S, P, kConstrained>::explain(const StepInput<T>& in, int l,
                                                      StepWorkspace& workspace) const {
  const Layout at = layout(workspace);
  const TreeView& tree = *key_.tree;
  const StepShape n(tree);
  std::vector<S> out(static_cast<std::size_t>(this->sizes_.state));
  step(in, reinterpret_cast<T*>(out.data()), nullptr, workspace);
  const auto finite = [&](const S& x) {
    T values[kNumbers];
    std::memcpy(values, &x, sizeof(S));
    return values[l] - values[l] == T(0);
  };
  const Model& named = key_.tree->source;
  const auto body_of = [&](int dof) {
    const Dof& d = tree.model.dofs[static_cast<std::size_t>(dof)];
    return message("body:", Model::label(named.bodies, d.body),
                   ", joint:", Model::label(named.joints, d.joint));
  };
  const bool rk4 = integrator() == RigidIntegrator::rk4;
  for (int stage = 0; stage < (rk4 ? 4 : 1); ++stage) {
    const S* qacc = at.record + stage * (this->sizes_.record / 4);
    for (int k = 0; k < n.nv; ++k) {
      if (!finite(qacc[k])) {
        const char* const part = kConstrained ? "constrained dynamics" : "smooth dynamics";
        return {rk4 ? message("rk4 stage ", stage + 1) : part, body_of(k),
                "its acceleration is not finite"};
      }
    }
  }
  for (int k = 0; k < n.nv; ++k) {
    if (!finite(out[static_cast<std::size_t>(n.nq + k)])) {
      return {"integration", body_of(k), "its new velocity is not finite"};
    }
  }
  for (const Joint& j : tree.model.joints) {
    for (int i = 0; i < qpos_numbers(j.kind); ++i) {
      if (!finite(out[static_cast<std::size_t>(j.qpos + i)])) {
        return {"integration", body_of(j.dof), "its new position is not finite"};
      }
    }
  }
  return {"actuation", "act", "a new activation is not finite"};
}

}  // namespace cycloid::inline rigid
