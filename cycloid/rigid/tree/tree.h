// Tree: a Model unrolled into links, and where each physical number stands in the parameter vector.
//
// A link moves by one joint: hinge and slide have one degree of freedom, ball three; a free joint
// is a link of three translations followed by a ball; a body without joints is a fixed link. A
// body's inertia sits on its last link. Link 0 is the world, and parents come first. Sweeps over
// the bodies are loops over this list.
//
// The mass matrix has an entry for a dof and each of its ancestors. Row k of its lower triangle
// stands at row[k]: first the diagonal, then the parent dof, and so on to the root; the row of an
// ancestor is therefore a tail of the same shape.
#pragma once

#include <vector>

#include "cycloid/rigid/tree/joint_coordinates.h"
#include "cycloid/system/parameters.h"

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
  int gap = -1;
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

// MuJoCo's lengths of gainprm, biasprm and dynprm, of which the first numbers act.
inline constexpr int kActuatorNumbers = 10;

struct Tree {
  // constrained: numbers that only constraints look at are parameters too.
  explicit Tree(const Model& model, bool constrained = true);

  Model model;
  Parameters parameters;
  std::vector<Link> links;             // links[0]: the world
  std::vector<int> last_link;          // of each body
  std::vector<int> row;                // nv + 1 offsets into the mass matrix
  std::vector<int> parent_dof;         // of each dof, or -1
  std::vector<int> dof_body;           // the body that each dof moves
  std::vector<int> damping, armature;  // places of each dof's numbers
  std::vector<char> root;              // body is the first of its kinematic tree
  std::vector<char> has_children;      // bodies hang on the body
  std::vector<char> last_child;        // of its parent, which a sweep from the tips meets first
  std::vector<double> zero;            // qpos0 of each hinge and slide
  std::vector<BodyPlaces> bodies;
  std::vector<JointPlaces> joints;
  std::vector<MarkerPlaces> sites;
  std::vector<TendonPlaces> tendons;
  std::vector<ActuatorPlaces> actuators;
  std::vector<GeomPlaces> geoms;  // -1 for those that touch nothing
  std::vector<EqualityPlaces> equalities;
  OptionPlaces options;
  std::vector<int> quaternions;  // places of quaternion parameters
  // Of each mesh and height field, which of the arrays of parameters it is, or -1: none.
  std::vector<int> mesh_arrays, field_arrays;

  // Dofs last, last - 1, … of which each is the parent of the one before; from tips to root.
  struct Chain {
    int last, dofs;
  };
  static constexpr int kLongestChain = 3;
  std::vector<Chain> chains;

  // Actuators with damping or armature of their own, which count on their joint's dofs times the
  // square of their first gear.
  struct DofActuator {
    int dof, actuator;
  };
  std::vector<DofActuator> dof_actuators;
  // Actuators of direct_actuator.h, and which they are.
  struct DirectActuator {
    int actuator, dof, qpos;
    bool affine_gain, affine_bias;
  };
  std::vector<DirectActuator> direct_actuators;
  std::vector<char> acts_directly;

  std::vector<int> free_bodies;      // free bodies without joints behind them
  bool limits_actuators = false;     // some joint holds its actuators' total
  bool limits_compensation = false;  // ... which includes gravity compensation
  bool has_wrenches = false;         // forces on bodies, not on dofs alone, besides the medium's
  bool feels_medium = false;         // the model has one: its numbers are parameters, else not
  bool has_tendon_armature = false;

  int entries() const { return row.back(); }  // of the mass matrix
};

}  // namespace cycloid::inline rigid
