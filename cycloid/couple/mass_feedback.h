// A feedback that gives accelerations, as the forces that a robot's mass takes for them.
//
//   f = M(q) y,   y = what the feedback gives                    (1)  rigid/tree/mass_force.h
// As `qfrc_applied` f adds y to the acceleration that the robot would have by itself; contacts,
// limits and implicit integrators then see it as they see every force. M is computed in double,
// lane by lane, with the parameters of the lane, whose cotangents it adds to.
#pragma once

#include "cycloid/system/feedback.h"

namespace cycloid::inline couple {

// `law` gives (nv) numbers from state and the first `open` inputs. Throws ModelError for a System
// that is no robot.
std::shared_ptr<const FeedbackLaw> mass_feedback(std::shared_ptr<const FeedbackLaw> law,
                                                 const System& robot, int open);

}  // namespace cycloid::inline couple
