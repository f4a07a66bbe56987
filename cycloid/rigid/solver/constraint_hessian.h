// The memory of Newton's method, and the factor of its Hessian.
//
//   H = M + Jᵀ K J = Vᵀ V                                                                       (1)
// in blocks (block_factor.h): each block of H is summed from its block of M, the stiffness of
// diagonal rows, and J_Iᵀ (K J)_J of the groups that have stiffness in some lane. A group whose
// lanes are all free, or all solved, costs nothing.
#pragma once

#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/solver/constraint_response.h"

namespace cycloid::inline rigid {

template <class S>
struct NewtonSpace {
  S *p, *g, *Md, *Md1, *Mp;   // (size) step, gradient, M (x - a₀) here and there, M p
  S* diagonal;                // (size) stiffness of diagonal rows
  S *r, *r1, *q;              // (all rows) residuals here and there, J p
  S *w, *r_bar;               // (all rows) J μ and cotangents
  ConstraintResponse<S> at;   // (all rows)
  S* T;                       // (rows, size) K J
  S* V;                       // blocks of the Hessian's pattern
  std::uint64_t* live_words;  // groups with stiffness

  void carve(const DofBlocks& dofs, ConstraintCapacity most, Arena& arena) {
    const auto n = [](auto i) { return static_cast<std::size_t>(i); };
    arena.take(T, n(most.rows) * n(dofs.size()));
    arena.take(V, BlockPattern::most_blocks(dofs) * kBlockEntries);
    carve_vectors(dofs, most, arena);
  }
  // Beside another that is not at work at the same time: T and V are the same memory.
  void carve_beside(const NewtonSpace& other, const DofBlocks& dofs, ConstraintCapacity most,
                    Arena& arena) {
    T = other.T;
    V = other.V;
    carve_vectors(dofs, most, arena);
  }

 private:
  void carve_vectors(const DofBlocks& dofs, ConstraintCapacity most, Arena& arena) {
    const auto n = [](auto i) { return static_cast<std::size_t>(i); };
    for (S** vector : {&p, &g, &Md, &Md1, &Mp, &diagonal}) arena.take(*vector, n(dofs.size()));
    for (S** rows : {&r, &r1, &q, &w, &r_bar, &at.f, &at.diagonal, &at.cross, &at.z}) {
      arena.take(*rows, n(most.diagonals + most.rows));
    }
    arena.take(live_words, n(words_for(most.groups)));
  }
};

// The groups that have stiffness in a lane of `active`; K J of these.
template <class S>
CYCLOID_HD void find_live_groups(const ConstraintProblem<S>& problem, const Mask<S>& active,
                                 const NewtonSpace<S>& w) {
  const BlockSet live{w.live_words, problem.group_words};
  live.clear();
  for (int g = 0; g < problem.groups; ++g) {
    const RowGroup& group = problem.group[g];
    const int row = problem.group_row(g), heads = is_cone(group.law) ? 1 : group.rows;
    Mask<S> stiff = Mask<S>(false);
    for (int k = 0; k < heads; ++k) stiff = stiff | (w.at.diagonal[row + k] != S(0));
    if (!any(stiff & active)) continue;
    live.insert(g);
    multiply_stiffness(problem, g, w.at,
                       w.T + static_cast<std::ptrdiff_t>(group.first) * problem.size());
  }
}

// (1) at the response in w.at, for the lanes of `active`; the others' factor means nothing.
template <class S>
CYCLOID_STAGE void factor_hessian(const ConstraintProblem<S>& problem, const Mask<S>& active,
                                  const NewtonSpace<S>& w) {
  find_live_groups(problem, active, w);
  const BlockSet live{w.live_words, problem.group_words};
  const int size = problem.size();
  for (int i = 0; i < size; ++i) w.diagonal[i] = S(0);
  for (int i = 0; i < problem.diagonals; ++i) {
    w.diagonal[problem.diagonal[i].place] += w.at.diagonal[i];
  }
  const auto assemble = [&](int I, int J, BlockEntries<S>& block) {
    if (problem.mass.row(I).has(J)) {
      block.load(problem.M + problem.mass.place(I, J) * kBlockEntries);
    } else {
      block.clear();
    }
    if (I == J) block.add_diagonal(w.diagonal + I * kBlock);
    for_each_common(problem.terms(problem.hessian.place(I, J)), live, [&](int g) {
      const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(problem.group[g].first) * size;
      const S *a = problem.J + first + I * kBlock, *b = w.T + first + J * kBlock;
      for (int k = 0; k < problem.group[g].rows; ++k, a += size, b += size) {
        block.template add_outer<1>(a, b);
      }
    });
  };
  factor_blocks(problem.hessian, assemble, w.V);  // (1)
}

}  // namespace cycloid::inline rigid
