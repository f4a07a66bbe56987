// What of a robot can be computed otherwise (system/variant.h), and how.
//
//   integrator  euler, implicit, implicitfast, rk4: those of MuJoCo
//   contact     soft, hard: contacts that give four times as much, or a fourth; compliant: the law
//               of hunt_crossley.h in place of MuJoCo's, mujoco: the other way round
// A contact's stiffness goes with the inverse square of its time constant. solref is scaled:
//   (t, ratio) -> (f t, ratio),  (-k, -b) -> (-k / f², -b / f)      f = 2 soft, 1/2 hard     (1)
// of the geoms in the registry, of given pairs in the model. With refsafe a time constant stays at
// least two steps: contacts that are as hard as the step allows do not become harder.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "cycloid/model/model.h"
#include "cycloid/rigid/contact_choice.h"
#include "cycloid/system/variant.h"

namespace cycloid::inline rigid {

const char* name(RigidIntegrator integrator);

// With the contacts of a model that has some, which push by this law.
Ways robot_ways(const Model& model, const ContactChoice& contact = {});

// The law of contacts of a variant of a robot that has this one.
ContactChoice varied_contact(const ContactChoice& contact, const Variant& variant);

// (1)
std::array<double, 2> scaled_solref(const std::array<double, 2>& solref, double factor);

// dt, the integrator, and the contacts of geoms and given pairs.
Model varied_model(Model model, const Variant& variant);

// Scales the contacts of geoms in a registry. Numbers of a compliant law ("contact.…") go where the
// variant has another.
std::map<std::string, std::vector<double>> varied_values(const Parameters& parameters,
                                                         const Variant& variant);

}  // namespace cycloid::inline rigid
