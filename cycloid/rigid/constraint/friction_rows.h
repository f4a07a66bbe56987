// Friction loss of degrees of freedom: a dry resistance of at most η against motion.
//
//   J = e_k,   x = 0,   a_ref = -b q̇_k,   η = frictionloss_k [N] or [N·m]                     (1)
// The row is always there and its impedance that of no violation, d₀ (impedance.h). J is constant,
// so that the pullback has the velocity and η only.
#pragma once

#include "cycloid/rigid/constraint/row_block.h"

namespace cycloid::inline rigid {

// loss: the place of η in the parameters.
struct DofFriction {
  int dof, loss;
  double weight;
  Compliance soft;
};

template <class S>
CYCLOID_HD RowBlock<S> dof_friction_block(const DofFriction& friction, const RowInstant<S>& at) {
  RowBlock<S> block;
  block.stiff = false;
  take_softness(friction.soft, block);
  block.weight[0] = number<S>(friction.weight);
  block.v[0] = at.qvel[friction.dof];  // (1)
  return block;
}

// Returns the row's place in the problem.
template <class S, class P>
CYCLOID_HD int add_dof_friction(const DofFriction& friction, const P* p, const RowInstant<S>& at,
                                ConstraintProblem<S>& problem) {
  const int row = problem.add_diagonal(RowLaw::friction_loss,
                                       problem.dofs->place[static_cast<std::size_t>(friction.dof)]);
  problem.sign[row] = S(1);
  put_row_block(at.options, dof_friction_block(friction, at), Mask<S>(true), row, problem);
  problem.friction[row] = S(p[friction.loss]);
  return row;
}

template <class S>
CYCLOID_HD void dof_friction_pullback(const DofFriction& friction, const RowInstant<S>& at, int row,
                                      const RowResults<S>& results, const RowGradient<S>& to) {
  const RowBlock<S> block = dof_friction_block(friction, at);
  const RowBlockBars<S> bar = row_block_pullback(at.options, block, row, results, to.options_bar);
  to.v_bar[friction.dof] += bar.v[0];
  if (to.p_bar) to.p_bar[friction.loss] += results.friction_bar[row];
}

}  // namespace cycloid::inline rigid
