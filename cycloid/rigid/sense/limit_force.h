// The force of a limit: that of its row after the solve [N], [N·m].
//
//   y = f of the row of the limit that the joint or tendon is at; zero where it is at none     (1)
// Its cotangent is one of the row's force, which the pullback of the solve takes
// (constrained_instant.h). Source: MuJoCo's manual, sensors jointlimitfrc and tendonlimitfrc.
#pragma once

#include "cycloid/rigid/sense/sense_space.h"
#include "cycloid/rigid/sense/sensor_kind.h"

namespace cycloid::inline rigid {

// visit(row) for the rows that a sensor looks at.
template <class S, class Visit>
void for_each_limit_row(const TreeView& tree, const Sensor& s, const SenseSpace<S>& space,
                        Visit visit) {
  if (!space.plan) return;
  const bool on_joint = kind_of(s) == SensorKind::joint_limit_force;
  const std::size_t k = static_cast<std::size_t>(s.object);
  const int dof = on_joint ? tree.model.joints[k].dof : -1;
  for_each_limit(space.plan->rows, [&](const auto& limit, int i) {
    const int row = space.constraints.places[i];
    if (row < 0) return;
    if constexpr (requires { limit.tendon; }) {
      if (!on_joint && limit.tendon == s.object) visit(row);
    } else {
      if (on_joint && limit.dof == dof) visit(row);
    }
  });
}

template <class S>
S limit_force(const TreeView& tree, const Sensor& s, const SenseSpace<S>& space) {
  S sum(0);
  for_each_limit_row(tree, s, space,
                     [&](int row) { sum += space.constraints.solver.newton.at.f[row]; });
  return sum;  // (1)
}
template <class S>
void limit_force_pullback(const TreeView& tree, const Sensor& s, const SenseSpace<S>& space,
                          const S& bar) {
  for_each_limit_row(tree, s, space, [&](int row) { space.row_force_bar[row] += bar; });
}

}  // namespace cycloid::inline rigid
