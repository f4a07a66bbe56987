// A System with a learned residual: a network of what it shows and of its inputs is added inside.
//
//   next    x⁺ = step(x, u, p) ⊕ N([o(x), u]; w)            (1)  in tangents of the next state
//   force   u' = [u, 0] + [0, N([o(x), u]; w)]              (2)  of a robot, at "qfrc_applied",
//           once per step, at its start: the contact solver sees it as a force of the user's
//   acceleration of a robot: (2) with M(q) N in place of N           mass_feedback.h
//   rate, acceleration, force of a law, in every stage      (3)  system/law/term_law.h
// New parameters are the arrays `residual.weight0` (out, in), `residual.bias0`, … (normalisation
// folded in). The physical parameters stay as they are, and free.
#pragma once

#include "cycloid/couple/network_feedback.h"
#include "cycloid/system/systems.h"

namespace cycloid::inline couple {

// (1). Throws Error on sizes that do not fit, ModelError for a System with events: where they
// happen is the law's to say.
System add_network_to_next(const System& system, const Network& network,
                           const std::optional<std::vector<std::string>>& observe = std::nullopt);

// (2), of a robot with an input "qfrc_applied" that has the first `open` inputs of it afterwards;
// place: force or acceleration.
System add_network_to_robot(const System& system, const Network& network, int open, TermPlace place,
                            const std::optional<std::vector<std::string>>& observe = std::nullopt);

// (3), of a law by name as systems::make makes it. Throws Error on sizes that do not fit and on a
// law that has no such place.
System add_network_to_law(std::string_view law,
                          const std::map<std::string, std::vector<double>>& values,
                          const systems::Settings& settings, int n, const Network& network,
                          TermPlace place,
                          const std::optional<std::vector<std::string>>& observe = std::nullopt);

// (1) of one row in lanes: x_next (states, W) becomes x_next ⊕ y.
template <class T>
void add_in_tangents(const Space& space, const T* y, int W, T* x_next);
// Adds to inner_bar (tangents, W), of x_next before, and to y_bar.
template <class T>
void add_in_tangents_pullback(const Space& space, const T* y, const T* x_next_bar, int W,
                              T* inner_bar, T* y_bar);

}  // namespace cycloid::inline couple
