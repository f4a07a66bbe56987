// The operators of room system; see base/operator_register.h.
#pragma once

#include "cycloid/base/operator_register.h"

namespace cycloid::inline system {

inline constexpr Operator kOperators[] = {
    // constraint.h, parameters.h
    differentiable("scalar_value_from_free"),
    differentiable("inertia_from_free"),
    differentiable("Parameters::from_free"),
    // law_space.h, law_point.h
    differentiable("law_retract"),
    differentiable("law_chart"),
    differentiable("law_x_dot"),
    differentiable("AnyLaw::x_dot"),
    differentiable("TermLaw::x_dot"),
    // law_observer.h
    differentiable("law_observe"),
    // interpolation.h
    differentiable("interpolate"),
    // event.h
    differentiable("law_events"),
    differentiable("law_reset"),
    // jump.h
    differentiable("jump_guard"),
    differentiable("jump"),
    differentiable("JumpLaw::x_dot"),
    differentiable("JumpLaw::events"),
    differentiable("JumpLaw::reset"),
    // integrators
    differentiable("stage_sum"),
    differentiable("Euler::step"),
    differentiable("SemiImplicitEuler::step"),
    differentiable("VelocityVerlet::step"),
    differentiable("Partitioned::step"),
    differentiable("Rk4::step"),
    differentiable("Discrete::step"),
    differentiable("solve_stage"),
    differentiable("ImplicitMidpoint::step"),
    differentiable("UnrolledMidpoint::step"),
    differentiable("DormandPrince::step"),
    differentiable("DormandPrince::sample"),
    differentiable("SdirkPair::step"),
    differentiable("SdirkPair::sample"),
    differentiable("Adaptive::step"),
    differentiable("Adaptive::step_sampled"),
    // laws/
    differentiable("Pendulum::x_dot"),
    differentiable("Pendulum::energy"),
    differentiable("DoublePendulum::x_dot"),
    differentiable("DoublePendulum::energy"),
    differentiable("Projectile::x_dot"),
    differentiable("Projectile::energy"),
    differentiable("AtRest::x_dot"),
    differentiable("Coasting::x_dot"),
    differentiable("SpringChain::x_dot"),
    differentiable("SpringChain::energy"),
    differentiable("Kepler::x_dot"),
    differentiable("Kepler::energy"),
    differentiable("Lorenz::x_dot"),
    differentiable("BouncingBall::x_dot"),
    differentiable("BouncingBall::energy"),
    differentiable("BeadOnCurve::x_dot"),
    differentiable("BeadOnCurve::events"),
    differentiable("StickSlip::x_dot"),
    differentiable("RimlessWheel::x_dot"),
    differentiable("RimlessWheel::energy"),
};

}  // namespace cycloid::inline system
