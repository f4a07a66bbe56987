// The state of a body as users hold it, and as a step works with it.
//
// A body's numbers x and v (solid_plan.h) are three for each vertex, and three more for each
// segment of a rod, of which the first is its angle ϑ times the body's length [m] (rod_laws.h) and
// the others are held at zero. The state is
//   [positions (3 n), velocities (3 n), twist (segments), twist_rate (segments), memory of terms]
// with twist θ [rad] the angle of a segment's frame against the one at rest, carried to the tangent
// now by the smallest turn. In a step ϑ starts as θ and is measured from the frame that is carried
// on from the step's start; at its end
//   θ = ϑ + Ω(T, c, t) + 2π w                                                        (1)
// with T, c and t the tangents at rest, at the start and at the end, Ω of rod_frame.h. w is a whole
// number, chosen so that the twist between neighbours ((5) of rod_laws.h) is the same by both
// measures. A segment whose ends are held has θ = `turned`, an input:
//   ϑ = turned - Ω(T, c, t)                                                          (2)
#pragma once

#include "cycloid/soft/solid_plan.h"

namespace cycloid::inline soft {

// x, v (numbers) of a state.
void read_state(const SolidPlan& plan, const double* state, double* x, double* v);
// Added to state_bar.
void read_state_pullback(const SolidPlan& plan, const double* x_bar, const double* v_bar,
                         double* state_bar);

// The state, but for the memory, of x and v at the end of a step; rest and start (numbers). Null
// start: angles are measured from rest, as those of a body that is not in a step.
void write_state(const SolidPlan& plan, const double* rest, const double* start, const double* x,
                 const double* v, double* state);
// Added to x_bar, v_bar, rest_bar and start_bar (null where start is).
void write_state_pullback(const SolidPlan& plan, const double* rest, const double* start,
                          const double* x, const double* state_bar, double* x_bar, double* v_bar,
                          double* rest_bar, double* start_bar);
// rest_tan: null for zeros.
void write_state_tangent(const SolidPlan& plan, const double* rest, const double* start,
                         const double* x, const double* rest_tan, const double* start_tan,
                         const double* x_tan, const double* v_tan, double* state_tan);

// (2) of segment j, times the body's length; x: with positions at the step's end.
double held_turn(const SolidPlan& plan, int j, const double* rest, const double* start,
                 const double* x, double turned);
// bar: of the result. Added to all, x_bar at positions.
void held_turn_pullback(const SolidPlan& plan, int j, const double* rest, const double* start,
                        const double* x, double bar, double* rest_bar, double* start_bar,
                        double* x_bar, double& turned_bar);
double held_turn_tangent(const SolidPlan& plan, int j, const double* rest, const double* start,
                         const double* x, const double* rest_tan, const double* start_tan,
                         const double* x_tan, double turned_tan);

}  // namespace cycloid::inline soft
