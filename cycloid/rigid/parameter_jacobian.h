// P of a step, its Jacobian along directions of the parameters (system/law/parameter_slopes.h).
//
// Equation of motion k, Φ_k (dynamics.h (4) for μ = e_k), depends on
//   mass, com and inertia of body b   ∂Φ_k/∂θ = -S_k · W,  k moves b, W a wrench on b          (1)
//     mass      f = a_c,                        n = c × f                                     (2)
//     com       f = m (α × d + ω × (ω × d)),    n = c × f + d × m a_c,   d = R e              (3)
//     inertia   f = 0,                          n = R (E α' + ω' × E ω'),  α' = Rᵀα, ω' = Rᵀω  (4)
//     with a_c = a_o + α × c + ω × (v_o + ω × c), the acceleration of the centre of mass c
//   gravity                           ∂Φ_k/∂g = mᶜ S_k(cᶜ)  of all that k moves                (5)
//   armature                          ∂Φ_k/∂θ = -q̈_k                                          (6)
//   what a joint and its actuators pull with: of the joint's own dofs alone, so that all joints
//     are found at once, with one μ for each place in a joint                                 (7)
// Then (1) to (3) of step_jacobian.h. Of robots whose forces act on bodies, and for other
// parameters, the sweep of motion_pullback.h runs once for each k.
#pragma once

#include "cycloid/rigid/step_jacobian.h"
#include "cycloid/system/law/parameter_slopes.h"

namespace cycloid::inline rigid {

// visit(direction, entry) for all entries of places first … end-1. Entries stand in the order of
// their places.
template <class Visit>
int for_each_use(const ParameterDirections& directions, std::int64_t first, std::int64_t end,
                 Visit visit) {
  int uses = 0;
  for (std::size_t j = 0; j < directions.size(); ++j) {
    const std::vector<DirectionEntry>& own = directions[j];
    if (own.empty() || own.back().place < first || own.front().place >= end) continue;
    auto e = std::lower_bound(own.begin(), own.end(), first,
                              [](const DirectionEntry& a, auto b) { return a.place < b; });
    for (; e != own.end() && e->place < end; ++e, ++uses) visit(static_cast<int>(j), *e);
  }
  return uses;
}

// W of (2) to (4) for number i of a body's ten, which follow each other: mass, com, inertia.
template <class S, class P>
CYCLOID_INLINE Force<S> inertial_wrench(const Robot<S, P>& r, const Workspace<S>& w, std::size_t b,
                                        int i) {
  const std::size_t l = static_cast<std::size_t>(r.tree.last_link[b]);
  const Motion<S>&v = w.v[l], &a = w.a[l];
  const Mat3<S>& R = w.frames.R[b];
  const Vec3<S>& c = w.inertia[b].com;
  const auto turning = [&](const Vec3<S>& d) {
    return cross(a.angular, d) + cross(v.angular, cross(v.angular, d));
  };
  if (i < 4) {
    const Vec3<S> a_c = a.linear + cross(v.angular, v.linear) + turning(c);
    if (i == 0) return {cross(c, a_c), a_c};  // (2)
    const Vec3<S> d{R(0, i - 1), R(1, i - 1), R(2, i - 1)};
    const S m = w.inertia[b].mass;
    const Vec3<S> f = turning(d) * m;
    return {cross(c, f) + cross(d, a_c) * m, f};  // (3)
  }
  constexpr int kRow[] = {0, 1, 2, 0, 0, 1}, kColumn[] = {0, 1, 2, 1, 2, 2};
  const int x = kRow[i - 4], y = kColumn[i - 4];
  const Vec3<S> alpha = transpose_vector_product(R, a.angular),
                omega = transpose_vector_product(R, v.angular);
  Vec3<S> E_alpha{}, E_omega{};
  E_alpha[x] = alpha[y], E_alpha[y] = alpha[x];
  E_omega[x] = omega[y], E_omega[y] = omega[x];
  return {R * (E_alpha + cross(omega, E_omega)), Vec3<S>{}};  // (4)
}

// (1) of all bodies; returns how many entries these are.
template <class S, class P>
int inertial_columns(const Robot<S, P>& r, const Workspace<S>& w,
                     const ParameterDirections& directions, int q, S* rows) {
  const TreeView& tree = r.tree;
  constexpr int kNumbers = 10;
  int uses = 0;
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    const int first = tree.bodies[b].mass;
    if (first < 0) continue;
    Force<S> W[kNumbers], sum{};
    unsigned known = 0;
    int direction = -1;
    const auto project = [&] {
      std::size_t mover = b;
      while (tree.model.bodies[mover].dofs == 0) {
        mover = static_cast<std::size_t>(tree.model.bodies[mover].parent);
      }
      const Body& body = tree.model.bodies[mover];
      for (int k = body.first_dof + body.dofs - 1; k >= 0; k = tree.parent_dof[k]) {
        rows[k * q + direction] -= power(sum, w.frames.column[k]);  // (1)
      }
    };
    uses += for_each_use(directions, first, first + kNumbers, [&](int j, const DirectionEntry& e) {
      if (j != direction && direction >= 0) project(), sum = Force<S>{};
      direction = j;
      const int i = static_cast<int>(e.place) - first;
      if (!(known >> i & 1u)) W[i] = inertial_wrench(r, w, b, i), known |= 1u << i;
      sum += W[i] * S(static_cast<Scalar<S>>(e.value));
    });
    if (direction >= 0) project();
  }
  return uses;
}

// (5), likewise.
template <class S, class P>
int gravity_columns(const Robot<S, P>& r, const Workspace<S>& w,
                    const ParameterDirections& directions, int q, S* rows) {
  const TreeView& tree = r.tree;
  const int first = tree.options.gravity;
  return for_each_use(directions, first, first + 3, [&](int j, const DirectionEntry& e) {
    if (!tree.model.options.acting.gravity) return;
    for (int k = 0; k < tree.model.nv; ++k) {
      const SpatialInertia<S>& behind = w.composite[tree.dof_body[k]];
      const Vec3<S> moved = field_at(w.frames.column[k], behind.com);
      rows[k * q + j] += S(static_cast<Scalar<S>>(e.value)) * behind.mass *
                         moved[static_cast<int>(e.place) - first];  // (5)
    }
  });
}

// (6) and (7), likewise. p_bar: memory for a cotangent of all parameters, of which only the places
// that directions name are looked at.
template <class S, class P>
int joint_columns(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                  const JacobianSpace<S>& space, const S* qacc, int inputs,
                  const ParameterDirections& directions, S* p_bar, S* rows) {
  const ModelView& model = r.tree.model;
  const int q = static_cast<int>(directions.size());
  // visit(joint, direction, entry) for what joints and actuators have.
  const auto uses_of = [&](auto visit) {
    int uses = 0;
    for (std::size_t i = 0; i < model.joints.size(); ++i) {
      const JointPlaces& at = r.tree.joints[i];
      const Joint& joint = model.joints[i];
      uses += for_each_use(directions, at.stiffness, at.armature + dof_numbers(joint.kind),
                           [&](int j, const DirectionEntry& e) { visit(joint, j, e); });
    }
    for (std::size_t i = 0; i < model.actuators.size(); ++i) {
      const ActuatorPlaces& at = r.tree.actuators[i];
      const Actuator& actuator = model.actuators[i];
      const Joint& joint = model.joints[static_cast<std::size_t>(actuator.target)];
      uses += for_each_use(directions, at.gain, at.gear + std::ssize(actuator.gear),
                           [&](int j, const DirectionEntry& e) { visit(joint, j, e); });
    }
    return uses;
  };
  int places = 0;
  const int uses = uses_of([&](const Joint& joint, int, const DirectionEntry& e) {
    places = std::max(places, dof_numbers(joint.kind));
    p_bar[e.place] = S(0);
  });
  for (int c = 0; c < places; ++c) {
    set_zero(w.mu, model.nv);
    for (const Joint& j : model.joints) {
      if (c < dof_numbers(j.kind)) w.mu[j.dof + c] = S(1);
    }
    set_zero(space.q_bar, model.nv);
    set_zero(space.v_bar, model.nv);
    set_zero(space.u_bar, inputs);
    S h_bar(0);
    gather_dof_forces(
        r, x, w, SlopePoint<S>{w.mu, w.m, qacc, w.bars.m}, static_cast<const S*>(nullptr),
        static_cast<const S*>(nullptr),
        InstantBars<S>{space.q_bar, space.v_bar, space.act_bar, space.u_bar, p_bar, h_bar});
    for (int k = 0; k < model.nv; ++k) {
      p_bar[r.tree.armature[static_cast<std::size_t>(k)]] -= w.mu[k] * qacc[k];  // (6)
    }
    uses_of([&](const Joint& joint, int j, const DirectionEntry& e) {
      if (c < dof_numbers(joint.kind)) {
        rows[(joint.dof + c) * q + j] +=
            S(static_cast<Scalar<S>>(e.value)) * p_bar[e.place];  // (7)
      }
    });
    uses_of([&](const Joint&, int, const DirectionEntry& e) { p_bar[e.place] = S(0); });
  }
  return uses;
}

// ∂Φ_k/∂p along all directions, (nv, directions), without a sweep for each k; false where these
// have parameters of other kinds.
template <class S, class P>
bool direct_columns(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                    const JacobianSpace<S>& space, const S* qacc, int inputs,
                    const ParameterDirections& directions, S* p_bar, S* rows) {
  if (!joints_alone(r) || !r.tree.dof_actuators.empty()) return false;
  const int q = static_cast<int>(directions.size());
  std::size_t entries = 0;
  for (const auto& direction : directions) entries += direction.size();
  set_zero(rows, r.tree.model.nv * q);
  const int uses = inertial_columns(r, w, directions, q, rows) +
                   gravity_columns(r, w, directions, q, rows) +
                   joint_columns(r, x, w, space, qacc, inputs, directions, p_bar, rows);
  return static_cast<std::size_t>(uses) == entries;
}

// The same for any parameters, by a sweep for each k.
template <class S, class P>
void swept_columns(const Robot<S, P>& r, const Instant<S>& x, const Workspace<S>& w,
                   const JacobianSpace<S>& space, const S* qacc, int inputs,
                   const ParameterDirections& directions, S* p_bar, S* rows) {
  const int nv = r.tree.model.nv, q = static_cast<int>(directions.size());
  for (int k = 0; k < nv; ++k) {
    set_zero(w.mu, nv);
    w.mu[k] = S(1);
    set_zero(space.q_bar, nv);
    set_zero(space.v_bar, nv);
    set_zero(space.u_bar, inputs);
    for (const auto& direction : directions) {
      for (const DirectionEntry& e : direction) p_bar[e.place] = S(0);
    }
    S h_bar(0);
    gather_motion(
        r, x, w, qacc, static_cast<const S*>(nullptr), static_cast<const S*>(nullptr),
        InstantBars<S>{space.q_bar, space.v_bar, space.act_bar, space.u_bar, p_bar, h_bar});
    for (int j = 0; j < q; ++j) {
      S sum(0);
      for (const DirectionEntry& e : directions[static_cast<std::size_t>(j)]) {
        sum += S(static_cast<Scalar<S>>(e.value)) * p_bar[e.place];
      }
      rows[k * q + j] = sum;
    }
  }
}

// step_jacobian.h (3) of rows by parameters other than h, on which q⁺ depends through v⁺ alone.
template <class S>
void parameter_position_rows(const TreeView& tree, const S& h, const S* v_next, int columns,
                             S* rows) {
  const int nv = tree.model.nv;
  for (const Joint& j : tree.model.joints) {
    visit_joint(
        j,
        [&](int, int dof, int n) {
          for (int k = dof; k < dof + n; ++k) {
            turn_rows(h, identity_matrix<S, 3>(), nv, k, 1, columns, rows);
          }
        },
        [&](int, int k) {
          Mat3<S> E{}, J{};
          turn_matrices(load_vec3(v_next + k) * h, E, J);
          turn_rows(h, J, nv, k, 3, columns, rows);
        });
  }
}

// P of a step of euler or implicitfast with its record, (tangent, directions), of robots without
// activations. p_bar as above.
template <class S, class P>
void euler_parameter_jacobian(const Robot<S, P>& r, const S* x, const S* u, const S* record,
                              const Workspace<S>& w, const JacobianSpace<S>& space, int inputs,
                              const ParameterDirections& directions, S* p_bar, S* out) {
  const StepShape n(r.tree);
  const Instant<S> at{x, x + n.nq, x + n.nq + n.nv, u};
  const int q = static_cast<int>(directions.size());
  S* const rows = out + n.nv * q;  // of v⁺
  place_and_factor(r, at, w, record);
  if (!direct_columns(r, at, w, space, record, inputs, directions, p_bar, rows)) {
    swept_columns(r, at, w, space, record, inputs, directions, p_bar, rows);
  }
  accelerations_jacobian(r, w, space, q, rows);
  const S h = r.timestep();
  for (int k = 0; k < n.nv; ++k) w.tau[k] = at.qvel[k] + h * record[k];
  parameter_position_rows(r.tree, h, static_cast<const S*>(w.tau), q, out);
}

}  // namespace cycloid::inline rigid
