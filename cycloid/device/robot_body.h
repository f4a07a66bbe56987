// RobotBody: a robot's step (rigid/step.h) and its pullback as one thread of a device makes them.
//
// S = P = T: one environment, one number. What the thread reads is a RobotImage: the tree, the plan
// of the constraints and the layout of a thread's memory, in one block on the device
// (robot_form.cpp makes it). The layout was carved over another place; its addresses move with
// `memory`.
//   kConstrained: with the dynamics of constrained_dynamics.h, else without constraints
#pragma once

#include <cstring>

#include "cycloid/device/environment_run.h"
#include "cycloid/device/robot_rows.h"
#include "cycloid/rigid/constrained_dynamics.h"
#include "cycloid/rigid/rk4_step.h"
#include "cycloid/rigid/solver/warp_newton.h"

namespace cycloid::inline device {

// Arrays of a thread. Nothing but numbers and addresses, all of which are 8 bytes or pairs of ints.
template <class T, bool kConstrained>
struct RobotSpace {
  Workspace<T> work;
  ConstraintMemory<T> constraints;  // where there are any

  void carve(const TreeView& tree, const ConstraintPlan* plan, Arena& arena) {
    work.carve(tree, arena);
    if constexpr (kConstrained) constraints.carve(tree, *plan, arena);
  }
};

struct RobotImage {
  TreeView tree;
  const ConstraintPlan* constraints = nullptr;  // of robots that have some
  InputPlaces inputs;
  Implicit implicit = Implicit::nothing;
  const std::uint64_t* layout = nullptr;  // the words of a RobotSpace carved at address 0,
  const unsigned char* moves = nullptr;   // and which of them are addresses of the thread's memory
};

// The layout of a thread's memory, over it.
template <class Space>
CYCLOID_HD void place(const RobotImage& image, std::byte* memory, Space& at) {
  constexpr int kWords = sizeof(at) / sizeof(std::uint64_t);
  const std::uint64_t base = reinterpret_cast<std::uint64_t>(memory);
  for (int i = 0; i < kWords; ++i) {
    const std::uint64_t word = image.layout[i] + (image.moves[i] ? base : std::uint64_t{0});
    std::memcpy(reinterpret_cast<std::byte*>(&at) + i * sizeof(word), &word, sizeof(word));
  }
}

template <class T, bool kConstrained>
class RobotBody {
 public:
  CYCLOID_HD RobotBody(const StepCall<T>& call, const T* p, std::byte* memory)
      : image_(*static_cast<const RobotImage*>(call.image)), p_(p) {
    place(image_, memory, at_);
    if constexpr (kConstrained) {
      at_.constraints.contacts.begin(image_.constraints->contacts);
      at_.constraints.solver.problem.start_patterns();
      IslandSpace<T>& islands = at_.constraints.solver.islands;
      if (islands.several()) islands.part.start_patterns();
    }
  }

  CYCLOID_HD void step(double, std::int64_t, const T* x, const T* u, T* x_next, T* record,
                       LaneNote& note) {
    const Robot<T, T> r = robot();
    with_dynamics(&note, [&](const auto& dynamics) {
      if (image_.tree.model.options.integrator == RigidIntegrator::rk4) {
        rk4_step(r, x, u, at_.work, x_next, record, dynamics);
      } else {
        euler_step(r, x, u, at_.work, x_next, record, dynamics);
      }
    });
  }

  CYCLOID_HD ConstrainedRecord record_layout() {
    return ConstrainedDynamics<T>{*image_.constraints, at_.constraints,
                                  image_.implicit != Implicit::nothing}
        .layout(image_.tree);
  }

  // What comes before the solve of a step (split_run.h), for the mail; what the record keeps of
  // contacts, too.
  CYCLOID_HD void pose(const T* x, const T* u, T* record, const SolveMail<T>& mail) {
    const Robot<T, T> r = robot();
    const StepShape n(r.tree);
    const ConstraintPlan& plan = *image_.constraints;
    const ContactSpace<T>& contacts = at_.constraints.contacts;
    const ConstraintProblem<T>& problem = at_.constraints.solver.problem;
    const bool slopes = image_.implicit != Implicit::nothing;
    const ConstrainedRecord at = record_layout();
    RobotRows<T> rows{plan,
                      at_.constraints,
                      {record + at.contacts(), at.room, 0, at.width},
                      false,
                      ConstrainedDynamics<T>::detection(r.tree)};
    const NewtonOptions none{.most = 0};  // a step of none: to a₀
    constrained_acceleration(r, Instant<T>{x, x + n.nq, x + n.nq + n.nv, u}, at_.work,
                             at_.constraints.solver, rows, none, record, record + n.nv);
    keep_contacts(contacts, rows.record);
    record[at.slots()] = T(rows.record.slots);
    send_problem(problem, mail);
    name_units(problem, at_.constraints.static_places(plan), contacts, mail);
    for (int i = 0; slopes && i < r.tree.entries(); ++i) mail.factor(i) = at_.work.LD[i];
    for (int k = 0; slopes && k < n.nv; ++k) mail.slope(k) = at_.work.slope[k];
    for (int i = 0; i < n.na; ++i) mail.act_next(i) = at_.work.act_next[i];
    mail.word(SolveMail<T>::kTouching) = static_cast<std::uint32_t>(contacts.count[0]);
    mail.word(SolveMail<T>::kFull) = contacts.crowded;
  }

  // Adds to x_bar and u_bar, and to p_bar unless it is null.
  CYCLOID_HD void pullback(double, std::int64_t, const T* x, const T* u, const T* record,
                           const T* x_next_bar, T* x_bar, T* u_bar, T* p_bar) {
    const Robot<T, T> r = robot();
    T h_bar(0);
    with_dynamics(nullptr, [&](const auto& dynamics) {
      if (image_.tree.model.options.integrator == RigidIntegrator::rk4) {
        rk4_step_pullback(r, x, u, record, at_.work, x_next_bar, x_bar, u_bar, p_bar, h_bar,
                          dynamics);
      } else {
        euler_step_pullback(r, x, u, record, at_.work, x_next_bar, x_bar, u_bar, p_bar, h_bar,
                            dynamics);
      }
    });
    if (p_bar) p_bar[image_.tree.options.timestep] += h_bar;
  }

  // Of euler's step, rows of q⁺ follow from those of v⁺ (robot_rows.h).
  CYCLOID_HD void linearise(double t0, std::int64_t k, const T* x, const T* u, const T* record,
                            JacobianRows<T>& rows) {
    if (image_.tree.model.options.integrator != RigidIntegrator::rk4) {
      return with_dynamics(nullptr, [&](const auto& dynamics) {
        robot_rows(robot(), x, u, record, at_.work, dynamics, rows);
      });
    }
    for (int i = 0; i < rows.size(); ++i) {
      if (!rows.owns(i)) continue;
      rows.find(i, [&] {
        pullback(t0, k, x, u, record, rows.x_next_bar, rows.x_bar, rows.u_bar, nullptr);
      });
    }
  }

 private:
  CYCLOID_HD Robot<T, T> robot() const {
    return {image_.tree, image_.inputs, p_, image_.implicit, image_.implicit <= Implicit::dampers};
  }
  template <class Function>
  CYCLOID_HD void with_dynamics(LaneNote* note, Function&& function) {
    if constexpr (kConstrained) {
      function(ConstrainedDynamics<T>{*image_.constraints, at_.constraints,
                                      image_.implicit != Implicit::nothing, note});
    } else {
      function(SmoothDynamics{});
    }
  }

  const RobotImage& image_;
  const T* p_;
  RobotSpace<T, kConstrained> at_;
};

}  // namespace cycloid::inline device
