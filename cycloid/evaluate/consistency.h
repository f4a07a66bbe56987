// consistency.h: whether a model keeps what the truth keeps. Each gives a number per run, or none
// where the truth itself does not keep it.
//
// With E, momentum and divergence as the truth observes them at the model's states:
//   energy          max_t |E - E*| / max_t K*, K* the truth's kinetic energy                   (1)
//   momentum        max_t |L - L*| / max_t |L*|                                               (2)
//   volume          |log |det A| - log |det A*||, A the Jacobian of a step                    (3)
//   symplecticity   ‖Aᵀ J A - J‖ / ‖J‖, J = (0 I; -I 0); where the truth's own step has it     (4)
//   time reversal   T steps, velocities flipped, T steps with the inputs reversed: distance
//                   from the start; where the truth itself comes back                         (5)
//   penetration     depth of the deepest contact beyond the truth's [m]                       (6)
//   limits          joint positions beyond their range, of its width, beyond the truth's      (7)
//   equivariance    ‖f(g x, g u) - g f(x, u)‖ / ‖f(x, u) - x‖ for symmetries g that the truth's
//                   step f has: mirror (all signs), a full turn of each number, rotation and
//                   translation of points in the plane or in space                            (8)
// Velocities are the blocks that are called so (qvel, p), or the second of two like blocks; the
// kinetic energy of a law is E less that at rest.
#pragma once

#include <optional>
#include <string>

#include "cycloid/evaluate/contest.h"

namespace cycloid::inline evaluate {

// Numbers of a state that are velocities or momenta.
std::vector<int> velocity_numbers(const Space& space);

using RunNumbers = std::optional<std::vector<double>>;  // (runs)

RunNumbers energy_drift(const Contest& contest);    // (1)
RunNumbers momentum_drift(const Contest& contest);  // (2)
RunNumbers divergence(const Contest& contest);      // what the model has beyond the truth

struct JacobianScores {
  RunNumbers volume, symplecticity;  // (3), (4)
};
JacobianScores jacobian_scores(const Contest& contest);

RunNumbers time_reversal(const Contest& contest);    // (5)
RunNumbers penetration(const Contest& contest);      // (6)
RunNumbers limit_violation(const Contest& contest);  // (7)
RunNumbers equivariance(const Contest& contest);     // (8)

}  // namespace cycloid::inline evaluate
