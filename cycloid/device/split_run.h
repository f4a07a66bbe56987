// A step of robots under constraints in three kernels, of which the second solves: one thread for
// an environment makes the rows, one warp finds the acceleration (rigid/solver/warp_newton.h), one
// thread integrates. What goes from one to the next lies in SolveMail, the state in c.x.
//
// So the solve, whose length differs most among environments, has lanes that work on one of them,
// memory shared by a warp and registers of its own, and few environments keep a card busy. It is
// for Euler's integrator, with dampers or without.
#pragma once

#include "cycloid/device/robot_body.h"

namespace cycloid::inline device {

CYCLOID_HD inline SolveShape solve_shape(const RobotImage& image) {
  const TreeView& tree = image.tree;
  return {image.constraints->dofs, image.constraints->most, tree.model.nv, tree.model.na,
          tree.entries()};
}
template <class T>
CYCLOID_HD SolveMail<T> mail_of(const StepCall<T>& c, std::int64_t e) {
  return {solve_shape(*static_cast<const RobotImage*>(c.image)), c.mail, e};
}

// Whether steps are made so, and in what memory.
template <class T>
SolveSizes solve_sizes(const TreeView& tree, const ConstraintPlan& plan, Implicit implicit) {
  constexpr int kFewRows = 24;               // of nearly all environments
  constexpr std::size_t kMostBytes = 98304;  // of a warp
  SolveSizes out;
  if (tree.model.options.integrator == RigidIntegrator::rk4 || implicit > Implicit::dampers) {
    return out;
  }
  const SolveShape shape(plan.dofs, plan.most, tree.model.nv, tree.model.na, tree.entries());
  if (plan.dofs.words > 1 || WarpProblem<T>::bytes(shape, shape.all()) > kMostBytes) return out;
  out.mail = SolveMail<T>::bytes(shape);
  out.rows[0] = std::min(kFewRows, shape.all()), out.rows[1] = shape.all();
  for (int i = 0; i < 2; ++i) out.warp[i] = WarpProblem<T>::bytes(shape, out.rows[i]);
  return out;
}

// A step's acceleration from the mail.
template <class T>
struct SolvedDynamics {
  const DofBlocks& dofs;
  const SolveMail<T>& mail;
  bool slopes;

  CYCLOID_HD int moved(const TreeView& tree) const { return slopes ? tree.model.nv : 0; }

  // constrained_instant.h (2), where M̂ has the slopes of dampers.
  CYCLOID_HD void accelerate(const Robot<T, T>& r, const Instant<T>&, const Workspace<T>& w,
                             T* record) const {
    const int nv = r.tree.model.nv;
    for (int k = 0; k < nv; ++k) record[k] = mail.x(dofs.place[static_cast<std::size_t>(k)]);
    for (int i = 0; i < r.tree.model.na; ++i) w.act_next[i] = mail.act_next(i);
    if (!slopes) return;
    for (int i = 0; i < r.tree.entries(); ++i) w.LD[i] = mail.factor(i);
    const T h = r.timestep();
    for (int k = 0; k < nv; ++k) w.qacc[k] = -h * mail.slope(k) * record[k];
    solve(r.tree, static_cast<const T*>(w.LD), w.qacc);
    for (int k = 0; k < nv; ++k) record[nv + k] = record[k] + w.qacc[k];
  }
};

// The first part of step k of the call.
template <class T>
CYCLOID_HD void run_pose(const StepCall<T>& c, std::int64_t k, std::int64_t e, std::byte* memory) {
  const ThreadArrays<T> at(c, memory);
  const SolveMail<T> mail = mail_of(c, e);
  EnvironmentNote& note = c.notes[e];
  if (k == 0) {
    if (c.begins) note = EnvironmentNote{};
    if (c.totals) add_totals(note, EnvironmentNote{}, *c.totals);
  }
  if (k == 0 && c.x0) {
    read_start(c, e, at.x);
    write_lane(static_cast<const T*>(at.x), c.count, e, c.state, c.x);
  } else {
    read_lane(static_cast<const T*>(c.x), c.count, e, c.state, at.x);
  }
  if (k == 0 && c.first_step == 0) save_state(c, e, 0, at.x);
  if (c.states_kept) {
    write_lane(static_cast<const T*>(at.x), c.count, e, c.state,
               c.states_kept + k * c.state * c.count);
  }
  mail.word(SolveMail<T>::kThere) = note.failed < 0;
  if (note.failed >= 0) return;
  read_input(c, e, k, at.u);
  RobotBody<T, true> body(c, c.params + e * c.parameter_stride, memory);
  body.pose(at.x, at.u, at.record, mail);
  if (!c.records) return;
  const ConstrainedRecord layout = body.record_layout();
  const int first = layout.slots(), kept = static_cast<int>(at.record[first]);
  write_lane(static_cast<const T*>(at.record + first), c.count, e, layout.used(kept) - first,
             c.records + (k * c.record + first) * c.count);
}

// The second. rows, above: an environment with more of them, or with no more than those, is left to
// another warp.
template <class T>
CYCLOID_HD void run_solve(const StepCall<T>& c, std::int64_t e, const Warp& warp, int rows,
                          int above, std::byte* memory) {
  const RobotImage& image = *static_cast<const RobotImage*>(c.image);
  const SolveMail<T> mail = mail_of(c, e);
  if (mail.word(SolveMail<T>::kThere) == 0) return;
  const int own = mail.all_rows();
  if (own > rows || own <= above) return;
  WarpProblem<T> problem(mail.shape, rows, memory);
  const NewtonOptions options{.scale = image.constraints->residual_scale,
                              .tolerance = kNewtonTolerance<T>};
  solve_mail(warp, image.constraints->dofs, options, mail, problem);
}

// What take_notes of step_notes.h writes.
template <class T>
CYCLOID_HD LaneNote lane_note(const SolveMail<T>& mail) {
  const SolveNotes solved = mail.notes();
  LaneNote note;
  note.active_set = solved.active_set;
  note.crowded = mail.word(SolveMail<T>::kFull) != 0;
  int* const counters = note.counters.data();
  counters[kContacts] = mail.head(SolveMail<T>::kTouching);
  counters[kActiveRows] = solved.active_rows;
  counters[kCrowded] = note.crowded;
  if (!solved.solved) {
    const double residual = static_cast<double>(mail.residual());
    note.residual = residual >= 0 ? residual : std::numeric_limits<double>::infinity();  // NaN
  }
  return note;
}

// The third.
template <class T>
CYCLOID_HD void run_move(const StepCall<T>& c, std::int64_t k, std::int64_t e, std::byte* memory) {
  const RobotImage& image = *static_cast<const RobotImage*>(c.image);
  const SolveMail<T> mail = mail_of(c, e);
  const int nv = mail.shape.nv;
  T* const x = reinterpret_cast<T*>(memory);
  T *const x_next = x + c.state, *const record = x_next + c.state;
  EnvironmentNote& note = c.notes[e];
  read_lane(static_cast<const T*>(c.x), c.count, e, c.state, x);
  const T* state = x;
  if (note.failed < 0) {
    Workspace<T> w;
    w.tau = record + 2 * nv, w.qacc = w.tau + nv, w.act_next = w.qacc + nv;
    w.LD = w.act_next + mail.shape.na;
    const Robot<T, T> r{image.tree, image.inputs, c.params + e * c.parameter_stride, image.implicit,
                        image.implicit <= Implicit::dampers};
    const SolvedDynamics<T> dynamics{image.constraints->dofs, mail,
                                     image.implicit != Implicit::nothing};
    euler_step(r, static_cast<const T*>(x), static_cast<const T*>(nullptr), w, x_next, record,
               dynamics);
    if (all_finite(x_next, c.state)) {
      take_note(lane_note(mail), c.first_step + k, note);
      if (c.records) {
        write_lane(static_cast<const T*>(record), c.count, e, dynamics.slopes ? 2 * nv : nv,
                   c.records + k * c.record * c.count);
      }
      write_lane(static_cast<const T*>(x_next), c.count, e, c.state, c.x);
      state = x_next;
    } else {
      note.failed = c.first_step + k;
    }
  }
  save_state(c, e, k + 1, state);
  if (c.totals && k + 1 == c.steps) add_totals(EnvironmentNote{}, note, *c.totals);
}

}  // namespace cycloid::inline device
