// How the contacts of a robot push: as MuJoCo's do, or by a compliant law that is smooth in depth
// and slip. Chosen when a robot is made (RobotOptions::contact); limits and equalities are MuJoCo's
// in both.
#pragma once

#include <optional>
#include <variant>

namespace cycloid::inline rigid {

struct MujocoContact {
  bool operator==(const MujocoContact&) const = default;
};

// The law of contact/hunt_crossley.h. dissipation, stiction and, where it is given, stiffness are
// parameters: "contact.dissipation", "contact.stiction", "contact.stiffness".
struct HuntCrossley {
  std::optional<double> stiffness = {};  // k [N/m^exponent]; none: from each pair's solref
  double exponent = 1.5;                 // p: 1.5 for spheres, 1 for a linear spring
  double dissipation = 1.0;              // c [s/m]
  double stiction = 0.05;  // slip speed at which friction has 71 % of its strength [m/s]

  bool operator==(const HuntCrossley&) const = default;
};

using ContactChoice = std::variant<MujocoContact, HuntCrossley>;

// Throws ParameterError on a number that is not finite, an exponent below 1, a stiffness or
// stiction that is not positive, or a negative dissipation.
void check_contact(const ContactChoice& choice);

}  // namespace cycloid::inline rigid
