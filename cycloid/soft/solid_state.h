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

#include "cycloid/soft/solid_numbers.h"

namespace cycloid::inline soft {

// S: double, or dual numbers for the tangents of all this.
//
// x, v (numbers) of a state.
template <class S>
void read_state(const SolidPlan& plan, const S* state, S* x, S* v);
// Added to state_bar.
template <class S>
void read_state_pullback(const SolidPlan& plan, const S* x_bar, const S* v_bar, S* state_bar);

// The state, but for the memory, of x and v at the end of a step; rest and start (numbers). Null
// start: angles are measured from rest, as those of a body that is not in a step.
template <class S>
void write_state(const SolidPlan& plan, const S* rest, const S* start, const S* x, const S* v,
                 S* state);
// Added to x_bar, v_bar, rest_bar and start_bar (null where start is).
template <class S>
void write_state_pullback(const SolidPlan& plan, const S* rest, const S* start, const S* x,
                          const S* state_bar, S* x_bar, S* v_bar, S* rest_bar, S* start_bar);

// (2) of segment j, times the body's length; x: with positions at the step's end.
template <class S>
S held_turn(const SolidPlan& plan, int j, const S* rest, const S* start, const S* x,
            const S& turned);
// bar: of the result. Added to all, x_bar at positions.
template <class S>
void held_turn_pullback(const SolidPlan& plan, int j, const S* rest, const S* start, const S* x,
                        const S& bar, S* rest_bar, S* start_bar, S* x_bar, S& turned_bar);

}  // namespace cycloid::inline soft
