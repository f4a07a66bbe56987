// What all soft bodies take, and how a System is made of one: shared by solid.h, cloth.h and rod.h.
//
// Obstacles are planes, spheres, capsules and boxes at a pose: a position [m] and a rotation vector
// [rad], both parameters ("floor.position", "obstacle:#0.rotation"), moved by inputs of six numbers
// ("floor", "obstacle:#0": displacement and rotation vector, on top of the pose) and with a surface
// that runs at the input "obstacle:#0.velocity" (velocity [m/s], spin [rad/s]), which friction
// feels. A pose is that of the end of the step. A body with self_contact keeps the triangles of its
// surface apart, a rod its segments (term/self_contact.h), by the same numbers of contact as
// obstacles.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "cycloid/soft/solid_numbers.h"
#include "cycloid/soft/term/obstacle.h"
#include "cycloid/system/system.h"

namespace cycloid::inline soft {

struct SoftObstacle {
  ObstacleShape shape = ObstacleShape::plane;
  std::array<double, 3> position = {}, rotation = {};  // [m], rotation vector [rad]
  std::array<double, 3> size = {};  // radius; radius, half length; half sides [m]
};

struct SoftLoad {
  enum class Kind { traction, pressure, spring };
  Kind kind = Kind::traction;
  std::vector<int> nodes;      // (faces, each), or vertices
  int each = 3;                // nodes of a face: 3, 4 or 6
  std::vector<double> value;   // traction (3) [Pa], pressure [Pa], stiffness [N/m]
  std::vector<double> points;  // of springs (vertices, 3) [m]
};

struct BodyOptions {
  double damping = 0;                             // Kelvin and Voigt's [s]
  double drag = 0;                                // [1/s]
  std::vector<double> mass = {};                  // point masses (n) [kg]; empty: none
  std::vector<char> held = {};                    // of each number (3 n); empty: none
  std::array<double, 3> gravity = {0, 0, -9.81};  // [m/s²]
  std::vector<std::string> inputs = {};  // "force", "pinned", "floor", "obstacle:#0.velocity", ...
  double dt = 0.01;                      // [s]
  std::string integrator = "implicit_euler";  // or "newmark", "bdf2"
  std::vector<SoftObstacle> floor = {};       // none or one: it has a name of its own
  std::vector<SoftObstacle> obstacles = {};
  std::string contact = "barrier";  // or "compliant"
  double contact_width = 0;         // within which a barrier acts [m]; 0: 1e-3 of the body's length
  double contact_stiffness = 0;     // [N/m]; 0: from the body's weight
  double friction = 0;
  double stiction = 1e-3;     // speed below which it sticks [m/s]
  bool self_contact = false;  // the surface keeps away from itself, by a barrier
  std::vector<SoftLoad> loads = {};
  std::string linear_solver = "auto";  // or "direct", "iterative" (stiffness_solver.h)
};

// A law, and where its numbers come from: parameters, and inputs besides.
struct NamedTerm {
  StencilTerm term;
  struct Number {
    std::string parameter = {};
    int component = 0;
    std::string input = {};
    int input_component = 0;
  };
  std::vector<Number> numbers;
};

// A parameter of a body of its own kind.
struct BodyParameter {
  std::string name, unit;
  Constraint constraint = Constraint::none;
  std::vector<double> value;
  bool of_cells = false;  // an array (cells)
  SolidBody::Place SolidBody::* place = nullptr;
};

struct BodyParts {
  std::string name;
  SolidMesh mesh;
  int turns = 0;               // segments of a rod, which turn about themselves (solid_state.h)
  std::vector<int> touching;   // vertices that may touch obstacles
  std::vector<int> skin = {};  // triangles (m, 3) that may touch each other
  double round = 0;            // of a rod: its radius, for contact with itself [m]
  std::vector<NamedTerm> laws = {};
  std::vector<BodyParameter> parameters = {};
  Material material = Material::neo_hookean;
  Formulation formulation = Formulation::standard;
  bool elastic = true;                   // false: one of the laws is the material
  std::vector<std::string> inputs = {};  // of one number each, besides those of all bodies
  // Why these numbers make no body; empty where they do.
  std::function<std::string(const Parameters& registry, const double* p)> refuse = {};
};

// Throws ModelError or ParameterError on what makes no sense.
System make_body(BodyParts parts, const BodyOptions& options);

// The place of a word in a list. Throws ModelError with the nearest one.
int index_of_word(const char* what, const std::string& word, const std::vector<std::string>& words);

// The body behind a System of this room. Throws ModelError for others.
std::shared_ptr<const SolidBody> soft_body_of(const System& system);

}  // namespace cycloid::inline soft
