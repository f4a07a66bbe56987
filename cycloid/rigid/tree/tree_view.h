// TreeView: a robot as kernels read it, plain numbers in tables (base/table.h) that Tree owns.
//
// The model is unrolled into links. A link moves by one joint: hinge and slide have one degree of
// freedom, ball three; a free joint is a link of three translations followed by a ball; a body
// without joints is a fixed link. A body's inertia sits on its last link. Link 0 is the world, and
// parents come first. Sweeps over the bodies are loops over this list.
//
// The mass matrix has an entry for a dof and each of its ancestors. Row k of its lower triangle
// stands at row[k]: first the diagonal, then the parent dof, and so on to the root; the row of an
// ancestor is therefore a tail of the same shape.
#pragma once

#include "cycloid/base/table.h"
#include "cycloid/model/model_view.h"
#include "cycloid/rigid/tree/joint_coordinates.h"

namespace cycloid::inline rigid {

enum class LinkKind { fixed, translation, ball, hinge, slide };

struct Link {
  LinkKind kind = LinkKind::fixed;
  bool first = true, last = true;  // of its body
  int parent = 0;                  // link
  int body = 0, joint = -1;
  int dof = 0, qpos = 0;
};

constexpr int dof_numbers(LinkKind k) {
  return k == LinkKind::fixed ? 0 : k == LinkKind::ball || k == LinkKind::translation ? 3 : 1;
}

// Offsets into the parameter vector; -1 where the element has no such parameter.
struct BodyPlaces {
  int mass = -1, com = -1, inertia = -1, pos = -1, quat = -1;
};
struct JointPlaces {
  int pos = -1, axis = -1, stiffness = -1, spring = -1, damping = -1, armature = -1;
  int range = -1, frictionloss = -1;
};
struct MarkerPlaces {
  int pos = -1, quat = -1;
};
struct TendonPlaces {
  int stiffness = -1, damping = -1, spring_length = -1, coefficients = -1;
  int range = -1, frictionloss = -1;
};
struct GeomPlaces {
  int pos = -1, quat = -1, size = -1, friction = -1, solref = -1, solimp = -1, margin = -1;
  int gap = -1, fluid = -1;
  int adhesion = -1, surface = -1;  // where the geom sticks, where its surface moves
};
struct EqualityPlaces {
  int data = -1, solref = -1, solimp = -1;
};
struct ActuatorPlaces {
  int gain = -1, bias = -1, dynamics = -1, gear = -1;
};
struct OptionPlaces {
  int gravity = -1, timestep = -1, density = -1, viscosity = -1, wind = -1, impratio = -1;
};

// Of the compliant law of contacts (contact/hunt_crossley.h), where it acts.
struct CompliantPlaces {
  bool acts = false;
  double exponent = 1.5, depth_factor = 1;
  int stiffness = -1, dissipation = -1, stiction = -1;  // stiffness -1: that of the pair's solref
};

// Dofs last, last - 1, … of which each is the parent of the one before; from tips to root.
struct DofChain {
  int last, dofs;
};
inline constexpr int kLongestChain = 3;

// An actuator with damping or armature of its own, which counts on its joint's dofs times the
// square of its first gear.
struct DofActuator {
  int dof, actuator;
};

// An actuator of direct_actuator.h.
struct DirectActuator {
  int actuator, dof, qpos;
  bool affine_gain, affine_bias;
};

template <template <class> class List>
struct TreeLists {
  List<Link> links;             // links[0]: the world
  List<int> last_link;          // of each body
  List<int> row;                // nv + 1 offsets into the mass matrix
  List<int> parent_dof;         // of each dof, or -1
  List<int> dof_body;           // the body that each dof moves
  List<int> damping, armature;  // places of each dof's numbers
  List<char> root;              // body is the first of its kinematic tree
  List<char> has_children;      // bodies hang on the body
  List<char> last_child;        // of its parent, which a sweep from the tips meets first
  List<double> zero;            // qpos0 of each hinge and slide
  List<BodyPlaces> bodies;
  List<JointPlaces> joints;
  List<MarkerPlaces> sites;
  List<TendonPlaces> tendons;
  List<ActuatorPlaces> actuators;
  List<GeomPlaces> geoms;  // -1 for those that touch nothing
  List<EqualityPlaces> equalities;
  List<int> quaternions;  // places of quaternion parameters
  List<DofChain> chains;
  List<DofActuator> dof_actuators;
  List<DirectActuator> direct_actuators;
  List<char> acts_directly;   // each actuator: whether it is one of them
  List<int> free_bodies;      // free bodies without joints behind them
  List<int> fluid_geoms;      // geoms that the medium sees as ellipsoids
  List<char> fluid_by_geoms;  // each body: whether it has such geoms, and no inertia box
};

struct TreeView : TreeLists<Table> {
  ModelView model;
  OptionPlaces options;
  CompliantPlaces compliant;
  bool limits_actuators = false;     // some joint holds its actuators' total
  bool limits_compensation = false;  // ... which includes gravity compensation
  bool has_wrenches = false;         // forces on bodies, not on dofs alone, besides the medium's
  bool feels_medium = false;         // the model has one: its numbers are parameters, else not
  bool has_tendon_armature = false;
  bool has_adhesion = false;   // actuators act on contacts, or contacts can pull
  bool presses = false;        // actuators act on contacts
  bool has_bristles = false;   // of some motor's friction
  bool sticks = false;         // some contacts can pull
  bool surfaces_move = false;  // some geom's surface moves

  CYCLOID_HD int entries() const { return row.back(); }  // of the mass matrix

  // f(list...) for every list of some trees and their models, in the order of their block.
  template <class F, class... Trees>
  static void each_table(F&& f, Trees&... of) {
    f(of.links...), f(of.last_link...), f(of.row...), f(of.parent_dof...), f(of.dof_body...);
    f(of.damping...), f(of.armature...), f(of.root...), f(of.has_children...);
    f(of.last_child...), f(of.zero...);
    f(of.bodies...), f(of.joints...), f(of.sites...), f(of.tendons...), f(of.actuators...);
    f(of.geoms...), f(of.equalities...), f(of.quaternions...), f(of.chains...);
    f(of.dof_actuators...), f(of.direct_actuators...), f(of.acts_directly...);
    f(of.free_bodies...), f(of.fluid_geoms...), f(of.fluid_by_geoms...);
    ModelView::each_table(f, of.model...);
  }
};
static_assert(std::is_trivially_copyable_v<TreeView>);

}  // namespace cycloid::inline rigid
