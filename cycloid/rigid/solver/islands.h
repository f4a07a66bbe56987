// Constraint islands: what no row couples is solved by itself.
//
//   a = argmin_x Σ_islands ½ (x-a₀)ᵀ M (x-a₀) + s(J x - a_ref)                                 (1)
// A unit is a kinematic tree, or several that rows of the model tie together (IslandPlan). Units
// are in one island of a lane where a contact of that lane acts between them. Every island has a
// Newton's method of its own (constraint_newton.h), which ends when that island is solved: many
// separate things cost as much as each of them alone. An island without rows has x = a₀.
//
// Lanes may have different islands. An island is named by its first unit, and islands of one name
// are solved together in the lanes that have one, over the units and groups that some lane has in
// it (a part of the problem). In a lane, rows of another island are zero there. So what a lane's
// island is, and every sum in its solution, is the lane's own: neighbours add zeros alone. Where
// there is one name, the problem is solved as it stands, and no lane sees a difference.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "cycloid/base/array_items.h"
#include "cycloid/base/bits.h"
#include "cycloid/base/device_stage.h"
#include "cycloid/rigid/solver/constraint_newton.h"
#include "cycloid/rigid/solver/lane_bits.h"

namespace cycloid::inline rigid {

// Which blocks of dofs move as one, whatever touches.
struct IslandPlan {
  int units = 0;
  std::vector<int> unit;  // (blocks)

  IslandPlan() = default;
  // supports: sets of blocks that rows of the model couple, one behind the other.
  IslandPlan(const DofBlocks& dofs, std::span<const std::uint64_t> supports);
};

inline IslandPlan::IslandPlan(const DofBlocks& dofs, std::span<const std::uint64_t> supports)
    : unit(static_cast<std::size_t>(dofs.blocks)) {
  const auto at = [&](int i) -> int& { return unit[static_cast<std::size_t>(i)]; };
  for (int i = 0; i < dofs.blocks; ++i) at(i) = i;
  const auto first = [&](int i) {
    while (at(i) != i) i = at(i);
    return i;
  };
  const auto couple = [&](const std::uint64_t* words) {
    int other = -1;
    for_each(BlockSet{const_cast<std::uint64_t*>(words), dofs.words}, [&](int i) {
      if (other >= 0) at(std::max(first(i), first(other))) = std::min(first(i), first(other));
      other = i;
    });
  };
  for (int i = 0; i < dofs.blocks; ++i) couple(dofs.couples.data() + i * dofs.words);
  for (std::size_t i = 0; i < supports.size(); i += static_cast<std::size_t>(dofs.words)) {
    couple(supports.data() + i);
  }
  std::vector<int> number(unit.size());  // of a unit's first block: before all others
  for (int i = 0; i < dofs.blocks; ++i) {
    const auto block = static_cast<std::size_t>(i);
    number[block] = first(i) == i ? units++ : number[static_cast<std::size_t>(first(i))];
  }
  unit = number;
}

// A group of the problem acts on a unit in these lanes, or between it and another (-1: none).
struct IslandLink {
  int group, unit, other;
  unsigned lanes;
};

// An entry of a list that belongs to an island: a unit or a group, in these lanes.
struct IslandEntry {
  int what, next;
  unsigned lanes;
};

// Lists in one array, each in the order in which its entries came.
struct IslandLists {
  int *first, *last;  // (units)
  IslandEntry* entry;
  int count;

  CYCLOID_HD void clear(int units) {
    count = 0;
    for (int i = 0; i < units; ++i) first[i] = last[i] = -1;
  }
  // An entry that follows one of the same thing adds its lanes to it.
  CYCLOID_HD void add(int island, int what, unsigned lanes) {
    const int before = last[island];
    if (before >= 0 && entry[before].what == what) {
      entry[before].lanes |= lanes;
      return;
    }
    entry[count] = {what, -1, lanes};
    (before >= 0 ? entry[before].next : first[island]) = count;
    last[island] = count++;
  }
  template <class Visit>
  CYCLOID_HD void for_each_of(int island, Visit visit) const {
    for (int i = first[island]; i >= 0; i = entry[i].next) visit(entry[i].what, entry[i].lanes);
  }
};

template <class S>
struct IslandSpace {
  const IslandPlan* plan = nullptr;
  IslandLink* link;
  int links = 0;
  bool known = false;  // links are there: the problem may be taken apart
  int* root;           // (units, lanes) name of a lane's island
  unsigned* lanes;     // (units) that have an island of this name, with rows
  IslandLists units, groups;
  unsigned* unit_lanes;  // (units) lanes in which a unit is in the part
  int* local;            // (blocks) in the part, or -1
  int* global;           // (blocks) of the part
  ConstraintProblem<S> part;
  NewtonSpace<S> newton;  // of the part
  S* x;                   // (size)

  CYCLOID_HD bool several() const { return plan && plan->units > 1; }
  CYCLOID_HD unsigned lanes_of_block(int I) const {
    return unit_lanes[plan->unit[static_cast<std::size_t>(I)]];
  }

  void carve(const IslandPlan& of, const DofBlocks& dofs, ConstraintCapacity most,
             const NewtonSpace<S>& whole, Arena& arena) {
    plan = &of;
    if (!several()) return;
    const auto n = [](auto i) { return static_cast<std::size_t>(i); };
    const std::size_t width = n(kLanes<S>), all = n(of.units);
    arena.take(link, n(most.groups) * width);
    arena.take(root, all * width);
    arena.take(lanes, all);
    arena.take(unit_lanes, all);
    for (IslandLists* lists : {&units, &groups}) {
      arena.take(lists->first, all);
      arena.take(lists->last, all);
      arena.take(lists->entry, (lists == &units ? all : n(most.groups)) * width);
    }
    arena.take(local, n(dofs.blocks));
    arena.take(global, n(dofs.blocks));
    part.carve(dofs, most, arena);
    newton.carve_beside(whole, dofs, most, arena);
    arena.take(x, n(dofs.size()));
  }

  CYCLOID_HD void clear() {
    links = 0;
    known = false;
  }
  CYCLOID_HD void add(int group, int unit, int other, unsigned in) {
    link[links++] = {group, unit, other, in};
  }
};

// visit(name, lanes) for the islands that a unit is in.
template <class S, class Visit>
CYCLOID_HD void for_each_island(const IslandSpace<S>& w, int unit, unsigned lanes, Visit visit) {
  const int* const root = w.root + unit * kLanes<S>;
  while (lanes != 0) {
    const int name = root[lowest_bit(lanes)];
    unsigned same = 0;
    for (unsigned rest = lanes; rest != 0; rest &= rest - 1) {
      const int l = lowest_bit(rest);
      same |= static_cast<unsigned>(root[l] == name) << l;
    }
    lanes &= ~same;
    visit(name, same);
  }
}

// Names the islands of each lane after their first units.
template <class S>
CYCLOID_HD void name_islands(const IslandSpace<S>& w) {
  constexpr int L = kLanes<S>;
  const int units = w.plan->units;
  for (int u = 0; u < units; ++u) {
    for (int l = 0; l < L; ++l) w.root[u * L + l] = u;
  }
  const auto join = [&](int a, int b, int l) {
    while (w.root[a * L + l] != a) a = w.root[a * L + l];
    while (w.root[b * L + l] != b) b = w.root[b * L + l];
    w.root[std::max(a, b) * L + l] = std::min(a, b);
  };
  IslandLink before{-1, -1, -1, 0};
  for (int i = 0; i < w.links; ++i) {
    const IslandLink& k = w.link[i];
    if (k.other < 0) continue;
    const bool again = k.unit == before.unit && k.other == before.other;
    for (unsigned rest = k.lanes & ~(again ? before.lanes : 0u); rest != 0; rest &= rest - 1) {
      join(k.unit, k.other, lowest_bit(rest));
    }
    before = k;
  }
  for (int i = 0; i < units * L; ++i) w.root[i] = w.root[w.root[i] * L + i % L];
}

// The islands that have rows, with their units and groups. Returns how many names there are.
template <class S>
CYCLOID_HD int find_islands(const ConstraintProblem<S>& problem, IslandSpace<S>& w) {
  const int units = w.plan->units;
  const auto unit_of = [&](int i) {
    return w.plan->unit[static_cast<std::size_t>(problem.diagonal[i].place / kBlock)];
  };
  name_islands(w);
  fill_items(w.lanes, units, 0u);
  w.units.clear(units);
  w.groups.clear(units);
  for (int i = 0; i < problem.diagonals; ++i) {
    for_each_island(w, unit_of(i), kAllLanes<S>,
                    [&](int name, unsigned lanes) { w.lanes[name] |= lanes; });
  }
  for (int i = 0; i < w.links; ++i) {
    const IslandLink& k = w.link[i];
    for_each_island(w, k.unit, k.lanes, [&](int name, unsigned lanes) {
      w.lanes[name] |= lanes;
      w.groups.add(name, k.group, lanes);
    });
  }
  for (int u = 0; u < units; ++u) {
    for_each_island(w, u, kAllLanes<S>, [&](int name, unsigned lanes) {
      if ((lanes & w.lanes[name]) != 0) w.units.add(name, u, lanes);
    });
  }
  return static_cast<int>(
      std::count_if(w.lanes, w.lanes + units, [](unsigned n) { return n != 0; }));
}

// Copies n numbers, zeros in the other lanes.
template <class S>
CYCLOID_INLINE void copy_lanes(unsigned lanes, const S* from, int n, S* to) {
  if (lanes == kAllLanes<S>) {
    for (int i = 0; i < n; ++i) to[i] = from[i];
  } else {
    const Mask<S> own = lanes_of_bits<S>(lanes);
    for (int i = 0; i < n; ++i) to[i] = select(own, from[i], S(0));
  }
}
// Writes n numbers in these lanes.
template <class S>
CYCLOID_INLINE void put_lanes(unsigned lanes, const S* from, int n, S* to) {
  if (lanes == kAllLanes<S>) {
    for (int i = 0; i < n; ++i) to[i] = from[i];
  } else {
    const Mask<S> own = lanes_of_bits<S>(lanes);
    for (int i = 0; i < n; ++i) to[i] = select(own, from[i], to[i]);
  }
}

// Blocks, M and a₀ of an island.
template <class S>
CYCLOID_HD void take_units(const ConstraintProblem<S>& problem, int name, IslandSpace<S>& w) {
  ConstraintProblem<S>& part = w.part;
  fill_items(w.unit_lanes, w.plan->units, 0u);
  w.units.for_each_of(name, [&](int u, unsigned lanes) { w.unit_lanes[u] = lanes; });
  int count = 0;
  for (int I = 0; I < problem.mass.blocks; ++I) {
    w.local[I] = w.lanes_of_block(I) != 0 ? count : -1;
    if (w.local[I] >= 0) w.global[count++] = I;
  }
  part.mass.begin(count, problem.mass.pivots);
  for (int i = 0; i < count; ++i) {
    for_each(problem.mass.row(w.global[i]), [&](int J) { part.mass.row(i).insert(w.local[J]); });
  }
  part.mass.close();
  for (int i = 0; i < count; ++i) {
    const int I = w.global[i];
    for_each(problem.mass.row(I), [&](int J) {
      const S* const from = problem.M + problem.mass.place(I, J) * kBlockEntries;
      copy_items(from, kBlockEntries, part.M + part.mass.place(i, w.local[J]) * kBlockEntries);
    });
    copy_items<S>(problem.a0 + I * kBlock, kBlock, part.a0 + i * kBlock);
  }
}

// visit(row, row of the part, lanes) for the island's diagonal rows; these come in one order.
template <class S, class Visit>
CYCLOID_HD void for_each_diagonal(const ConstraintProblem<S>& problem, const IslandSpace<S>& w,
                                  Visit visit) {
  for (int i = 0, own = 0; i < problem.diagonals; ++i) {
    const unsigned lanes = w.lanes_of_block(problem.diagonal[i].place / kBlock);
    if (lanes != 0) visit(i, own++, lanes);
  }
}

// J of a group, in the blocks of the island.
template <class S>
CYCLOID_HD void take_jacobian(const ConstraintProblem<S>& problem, int g, int own, unsigned lanes,
                              const IslandSpace<S>& w) {
  const ConstraintProblem<S>& part = w.part;
  const S* const from = problem.jacobian(g);
  S* const to = part.jacobian(own);
  for_each(problem.support(g), [&](int I) {
    const int i = w.local[I];
    if (i < 0) return;
    part.add_support(own, i);
    for_each(problem.pairs(g, I), [&](int K) {
      if (w.local[K] >= 0) part.pairs(own, i).insert(w.local[K]);
    });
    for (int k = 0; k < problem.group[g].rows; ++k) {
      copy_lanes(lanes, from + k * problem.size() + I * kBlock, kBlock,
                 to + k * part.size() + i * kBlock);
    }
  });
}

// The rows of an island.
template <class S>
CYCLOID_HD void take_rows(const ConstraintProblem<S>& problem, int name, IslandSpace<S>& w) {
  ConstraintProblem<S>& part = w.part;
  part.clear();
  const auto numbers = [&](int row, int own, int n, unsigned lanes) {
    copy_lanes(lanes, problem.D + row, n, part.D + own);
    copy_lanes(lanes, problem.a_ref + row, n, part.a_ref + own);
    copy_items<S>(problem.friction + row, n, part.friction + own);
  };
  for_each_diagonal(problem, w, [&](int row, int, unsigned lanes) {
    const DiagonalRow& d = problem.diagonal[row];
    const int own = part.add_diagonal(d.law, w.local[d.place / kBlock] * kBlock + d.place % kBlock);
    part.sign[own] = problem.sign[row];
    numbers(row, own, 1, lanes);
  });
  w.groups.for_each_of(name, [&](int g, unsigned lanes) {
    const RowGroup& group = problem.group[g];
    const int own = part.add_group(group.law, group.rows);
    numbers(problem.group_row(g), own, group.rows, lanes);
    take_jacobian(problem, g, part.groups - 1, lanes, w);
  });
}

// x, residuals, forces and stiffness of an island, to where the whole problem has them.
template <class S>
CYCLOID_HD void put_back(const ConstraintProblem<S>& problem, int name, const IslandSpace<S>& w,
                         const NewtonSpace<S>& newton, S* x) {
  for (int i = 0; i < w.part.mass.blocks; ++i) {
    const int I = w.global[i];
    put_lanes(w.lanes_of_block(I), w.x + i * kBlock, kBlock, x + I * kBlock);
  }
  const auto rows = [&](int row, int own, int n, unsigned lanes, bool cone) {
    put_lanes(lanes, w.newton.r + own, n, newton.r + row);
    put_lanes(lanes, w.newton.at.f + own, n, newton.at.f + row);
    put_lanes(lanes, w.newton.at.diagonal + own, n, newton.at.diagonal + row);
    if (!cone) return;
    put_lanes(lanes, w.newton.at.cross + own, n, newton.at.cross + row);
    put_lanes(lanes, w.newton.at.z + own, n, newton.at.z + row);
  };
  for_each_diagonal(problem, w,
                    [&](int row, int own, unsigned lanes) { rows(row, own, 1, lanes, false); });
  int own = 0;
  w.groups.for_each_of(name, [&](int g, unsigned lanes) {
    const RowGroup& group = problem.group[g];
    rows(problem.group_row(g), w.part.group_row(own++), group.rows, lanes, is_cone(group.law));
  });
}

// √(a² + b²), exactly b where a is 0; a, b ≥ 0. NaN stays.
template <class S>
CYCLOID_HD S add_in_square(const S& a, const S& b) {
  const S most = max(a, b), share = min(a, b) / select(most > S(0), most, S(1));
  return select(is_finite(a + b), most * sqrt(S(1) + share * share), a + b);
}

// (1): the minimum of a problem that is not closed yet, as solve_newton leaves it.
template <class S>
CYCLOID_STAGE NewtonResult<S> solve_islands(ConstraintProblem<S>& problem,
                                            const NewtonOptions& options, IslandSpace<S>& w,
                                            const NewtonSpace<S>& newton, S* x) {
  if (!w.known || find_islands(problem, w) <= 1) {
    problem.close();
    return solve_newton(problem, options, newton, x);
  }
  const ConstraintResponse<S>& at = newton.at;
  for (int i = 0; i < problem.size(); ++i) x[i] = problem.a0[i] + S(0);
  S* const arrays[] = {newton.r, at.f, at.diagonal, at.cross, at.z};
  for (S* const rows : arrays) fill_items(rows, problem.all_rows(), S(0));
  NewtonResult<S> result{S(0), S(0), Mask<S>(true), Mask<S>(true), Mask<S>(true)};
  S forces = S(0);
  for (int name = 0; name < w.plan->units; ++name) {
    if (w.lanes[name] == 0) continue;
    take_units(problem, name, w);
    take_rows(problem, name, w);
    w.part.close();
    const NewtonResult<S> one = solve_newton(w.part, options, w.newton, w.x);
    put_back(problem, name, w, newton, x);
    result.residual = add_in_square(result.residual, one.residual);
    result.steps = max(result.steps, one.steps);
    result.solved = result.solved & one.solved;
    result.finite = result.finite & one.finite;
    result.rounded = result.rounded & (one.solved | one.rounded);
    const S of_island = sqrt(inner_product<S>(w.part.size(), w.newton.Md, w.newton.Md));
    forces = add_in_square(forces, S(options.scale) * of_island);
  }
  // What rounding leaves is judged by the forces of the lane, as if all were one island.
  const S most = S(kRoundedTolerances) * S(options.tolerance) * (S(1) + forces);
  result.solved = result.solved | (result.rounded & result.finite & (result.residual <= most));
  return result;
}

}  // namespace cycloid::inline rigid
