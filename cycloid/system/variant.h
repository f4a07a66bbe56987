// The same world, computed otherwise: to see whether a result belongs to the world or to the way it
// was computed.
//
//   const System finer = system.variant({.dt = system.timestep() / 2});
//   const System other = system.variant({.integrator = "implicitfast", .contact = "hard"});
//
// Every System whose time step is a parameter (option.timestep) can vary it. What else one can vary
// is in its Ways, by name. States, inputs and parameters stay what they are, by name and order;
// defaults change where the way is a matter of numbers.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cycloid/system/parameters.h"

namespace cycloid::inline system {

struct SystemParts;

// What is empty, or 0, stays as it is.
struct Variant {
  double dt = 0;  // [s]
  std::string integrator = {}, contact = {};
};

// Other ways in which a System can be computed, by name.
struct Ways {
  std::string integrator = {};                // the one in use; empty: it has no name
  std::vector<std::string> integrators = {};  // empty: there is no other
  std::vector<std::string> contacts = {};
  // Puts parts of the varied System in place of the parts that it is given, whose defaults and
  // initial state count; the names are known, dt has been seen to. Null: nothing can be varied.
  std::function<void(const Variant& variant, SystemParts& parts)> use = {};
};

// The registry with other defaults. Throws ParameterError as pack and check do.
Parameters with_defaults(const Parameters& parameters,
                         const std::map<std::string, std::vector<double>>& values);

}  // namespace cycloid::inline system
