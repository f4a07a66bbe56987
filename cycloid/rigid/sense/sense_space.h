// What sensors need: the list of what is observed, and the memory of an instant.
#pragma once

#include "cycloid/rigid/sense/ray_picture.h"
#include "cycloid/rigid/tree/interaction.h"
#include "cycloid/rigid/tree/root_field.h"

namespace cycloid::inline rigid {

// What is observed: sensors and fields, where each one's numbers begin, and what they need.
struct SensorList {
  std::vector<Sensor> sensors;
  std::vector<int> places;
  std::vector<bool> fields;  // whether each is of a field of mjData, be it by a sensor's law
  int size = 0;
  bool accelerations = false, joint_forces = false, interactions = false, contacts = false;
  bool externals = false, roots = false, constraint_forces = false;
  bool adhesion = false;                     // asks what adhesion actuators do: set by look_at
  std::shared_ptr<const SeenSolids> solids;  // where a sensor may look at some

  void add(const Sensor& s, bool field = false) {
    const SensorKind k = kind_of(s);
    sensors.push_back(s);
    places.push_back(size);
    fields.push_back(field);
    size += s.dimension;
    accelerations = accelerations || needs_acceleration(k);
    joint_forces =
        joint_forces || k == SensorKind::joint_actuator_force || k == SensorKind::joint_actuation;
    interactions = interactions || sees_interaction(k);
    contacts = contacts || sees_contacts(k);
    externals = externals || k == SensorKind::external_force;
    roots = roots || is_root_field(k);
    constraint_forces = constraint_forces || k == SensorKind::joint_constraint;
  }
  bool sees_forces() const { return interactions || externals; }

  // To be called after the last sensor: adhesion acts by contacts, which are found with q̈.
  void look_at(const TreeView& tree) {
    for (const Sensor& s : sensors) {
      adhesion = adhesion || (tree.has_adhesion &&
                              (joint_forces || kind_of(s) == SensorKind::actuator_velocity));
    }
    accelerations = accelerations || adhesion;
  }

  // Only its fields, or only its sensors, each where it is in the whole.
  SensorList only(bool chosen) const {
    SensorList out;
    for (std::size_t n = 0; n < sensors.size(); ++n) {
      if (fields[n] != chosen) continue;
      out.add(sensors[n], chosen);
      out.places.back() = places[n];
    }
    out.size = size;
    out.solids = solids;
    out.adhesion = adhesion;
    out.accelerations = out.accelerations || adhesion;
    return out;
  }
};

// A workspace, and cotangents that are gathered before they go home.
template <class S>
struct SenseSpace {
  Workspace<S> work;
  S *length_bar, *rate_bar, *force_bar;          // (actuators)
  S *turn_bar, *turn_rate_bar, *turn_force_bar;  // (3 actuators), of orientation servos
  S *tendon_length_bar, *tendon_rate_bar;        // (tendons)
  S *joint_force_bar, *qacc_bar;                 // (nv)
  S *constraint_force, *constraint_bar;          // (nv) Jᵀf of the rows, and its cotangent
  const ConstraintPlan* plan;  // null: nothing constrains, and what follows is not there
  ConstraintMemory<S> constraints;
  LaneNote* notes = nullptr;  // (lanes) how the solve fared, where someone asks
  ContactViews<S> views;
  S *row_force_bar, *contact_sign;  // (all rows), (slots)
  S *no_rows, *pull;                // (all rows) zeros, (slots) of adhesion_sensor.h
  InteractionSpace<S> interaction;
  RootSpace<S> roots;
  RaySolids solids;
  SolidShape* seen;  // (solids of the list)

  void carve(const TreeView& tree, const ConstraintPlan* constrained, Arena& arena,
             const SeenSolids* looked_at = nullptr, const std::vector<Mesh>* meshes = nullptr) {
    plan = constrained;
    arena.take(seen, looked_at ? looked_at->all.size() : 0);
    solids = {{looked_at, seen}, meshes};
    work.carve(tree, arena);
    interaction.carve(tree, arena);
    roots.carve(tree, arena);
    if (plan) {
      constraints.carve(tree, *plan, arena);
      views.carve(plan->contacts, arena);
    } else {
      views.slots = 0;
    }
    for (S** array : {&length_bar, &rate_bar, &force_bar}) {
      arena.take(*array, tree.model.actuators.size());
    }
    for (S** array : {&turn_bar, &turn_rate_bar, &turn_force_bar}) {
      arena.take(*array, 3 * tree.model.actuators.size());
    }
    for (S** array : {&tendon_length_bar, &tendon_rate_bar}) {
      arena.take(*array, tree.model.tendons.size());
    }
    for (S** array : {&joint_force_bar, &qacc_bar, &constraint_force, &constraint_bar}) {
      arena.take(*array, static_cast<std::size_t>(tree.model.nv));
    }
    if (plan) {
      arena.take(row_force_bar, static_cast<std::size_t>(plan->most.diagonals + plan->most.rows));
      arena.take(no_rows, static_cast<std::size_t>(plan->most.diagonals + plan->most.rows));
      for (S** array : {&contact_sign, &pull}) {
        arena.take(*array, static_cast<std::size_t>(plan->contacts.slots));
      }
    } else {
      row_force_bar = contact_sign = no_rows = pull = nullptr;
    }
  }
  void clear(const TreeView& tree) const {
    for (S* array : {length_bar, rate_bar, force_bar}) {
      set_zero(array, static_cast<int>(tree.model.actuators.size()));
    }
    for (S* array : {turn_bar, turn_rate_bar, turn_force_bar}) {
      set_zero(array, 3 * static_cast<int>(tree.model.actuators.size()));
    }
    for (S* array : {tendon_length_bar, tendon_rate_bar}) {
      set_zero(array, static_cast<int>(tree.model.tendons.size()));
    }
    for (S* array : {joint_force_bar, qacc_bar, constraint_bar}) set_zero(array, tree.model.nv);
    if (plan) set_zero(row_force_bar, constraints.solver.problem.all_rows());
    interaction.clear(tree);
    roots.clear(tree);
  }
};

template <class S, class P>
InteractionPoint<S, P> interaction_point(const Robot<S, P>& r, const Instant<S>& x,
                                         SenseSpace<S>& space) {
  return {r, x, space.work, space.plan, space.constraints, space.views};
}

}  // namespace cycloid::inline rigid
