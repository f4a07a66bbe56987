// A constraint problem as one thread of a device hands it to the 32 lanes of a warp, and gets back
// what they found.
//
//   SolveMail    its numbers and words in global memory. Eight environments lie side by side: the
//                i-th number of environment e is at 8 i + e mod 8 of its tile, so that threads side
//                by side write whole sectors, and the warps of eight blocks, one each, read them
//   WarpProblem  the same in a warp's own memory, with that of Newton's method (warp_newton.h)
// Both are for one environment in plain numbers. The mass matrix and the factor of the Hessian lie
// in one square: V_ij, j ≤ i, at row i and column j; M_ij, i ≤ j, at row i and column j + 1. Rows
// of the square and of J have odd lengths: lanes that read a column read 32 banks.
#pragma once

#include "cycloid/base/warp.h"
#include "cycloid/rigid/solver/constraint_response.h"
#include "cycloid/system/device_call.h"

namespace cycloid::inline rigid {

// Sizes that the mail and the warp's memory follow from.
struct SolveShape {
  int size = 0, blocks = 0, mass = 0;  // of padded vectors; blocks; numbers of M's blocks
  int nv = 0, na = 0, entries = 0;
  ConstraintCapacity most;

  CYCLOID_HD SolveShape(const DofBlocks& dofs, const ConstraintCapacity& rows, int v, int w, int LD)
      : size(kBlock * dofs.blocks),
        blocks(dofs.blocks),
        mass(dofs.coupled * kBlockEntries),
        nv(v),
        na(w),
        entries(LD),
        most(rows) {}

  CYCLOID_HD int all() const { return most.diagonals + most.rows; }
  CYCLOID_HD int units() const { return most.diagonals + most.groups; }
};

// How the solve fared, as a step's notes take it.
struct SolveNotes {
  bool solved = false;
  std::uint64_t active_set = 0;
  int active_rows = 0;
};

template <class T>
struct SolveMail {
  SolveShape shape;
  T* numbers;
  std::uint32_t* words;

  // Of environment e.
  CYCLOID_HD SolveMail(const SolveShape& of, std::byte* memory, std::int64_t e) : shape(of) {
    std::byte* const tile = memory + e / kTile * kTile * static_cast<std::int64_t>(bytes(of));
    numbers = reinterpret_cast<T*>(tile) + e % kTile;
    words = reinterpret_cast<std::uint32_t*>(tile + sizeof(T) * kTile *
                                                        static_cast<std::size_t>(count(of))) +
            e % kTile;
  }
  // Of one environment; its memory is that of whole tiles.
  CYCLOID_HD static std::size_t bytes(const SolveShape& s) {
    return sizeof(T) * static_cast<std::size_t>(count(s)) +
           sizeof(std::uint32_t) *
               static_cast<std::size_t>(kHead + s.most.diagonals + 3 * s.most.groups + s.units());
  }

  // Numbers: [ M | a₀, then x | a_ref | D | friction | sign | J | factor | slope | ẇ⁺ | residual ]
  CYCLOID_HD T& number(int i) const { return numbers[i * kTile]; }
  CYCLOID_HD T& M(int i) const { return number(i); }
  CYCLOID_HD T& x(int i) const { return number(shape.mass + i); }
  CYCLOID_HD T& a_ref(int i) const { return number(rows_at() + i); }
  CYCLOID_HD T& D(int i) const { return number(rows_at() + shape.all() + i); }
  CYCLOID_HD T& friction(int i) const { return number(rows_at() + 2 * shape.all() + i); }
  CYCLOID_HD T& sign(int i) const { return number(rows_at() + 3 * shape.all() + i); }
  CYCLOID_HD T& J(int row, int i) const {
    return number(rows_at() + 3 * shape.all() + shape.most.diagonals + row * shape.size + i);
  }
  CYCLOID_HD T& factor(int i) const { return number(smooth_at() + i); }
  CYCLOID_HD T& slope(int i) const { return number(smooth_at() + shape.entries + i); }
  CYCLOID_HD T& act_next(int i) const { return number(smooth_at() + shape.entries + shape.nv + i); }
  CYCLOID_HD T& residual() const { return number(count(shape) - 1); }

  // Words: [ head | diagonal rows | groups | their blocks | names of rows and groups ]
  enum Head {
    kThere,
    kDiagonals,
    kGroups,
    kRows,
    kTouching,
    kFull,
    kSolved,
    kActive,
    kSet,
    kHead = 10
  };
  CYCLOID_HD std::uint32_t& word(int i) const { return words[i * kTile]; }
  CYCLOID_HD int head(Head i) const { return static_cast<int>(word(i)); }
  CYCLOID_HD int units() const { return head(kDiagonals) + head(kGroups); }
  CYCLOID_HD int all_rows() const { return head(kDiagonals) + head(kRows); }

  CYCLOID_HD void put_diagonal(int i, DiagonalRow row) const {
    word(kHead + i) = static_cast<std::uint32_t>(row.law) << 24 | static_cast<unsigned>(row.place);
  }
  CYCLOID_HD DiagonalRow diagonal(int i) const {
    const std::uint32_t w = word(kHead + i);
    return {static_cast<RowLaw>(w >> 24), static_cast<int>(w & 0xffffff)};
  }
  CYCLOID_HD void put_group(int g, const RowGroup& group, std::uint64_t blocks) const {
    word(groups_at() + g) = static_cast<std::uint32_t>(group.law) << 28 |
                            static_cast<unsigned>(group.rows) << 24 |
                            static_cast<unsigned>(group.first);
    word(groups_at() + shape.most.groups + 2 * g) = static_cast<std::uint32_t>(blocks);
    word(groups_at() + shape.most.groups + 2 * g + 1) = static_cast<std::uint32_t>(blocks >> 32);
  }
  CYCLOID_HD RowGroup group(int g) const {
    const std::uint32_t w = word(groups_at() + g);
    return {static_cast<RowLaw>(w >> 28), static_cast<int>(w >> 24 & 15),
            static_cast<int>(w & 0xffffff)};
  }
  CYCLOID_HD std::uint64_t blocks(int g) const {
    const int at = groups_at() + shape.most.groups + 2 * g;
    return word(at) | static_cast<std::uint64_t>(word(at + 1)) << 32;
  }
  // What a unit, a diagonal row or a group, is called in the active set; 0: it does not count.
  CYCLOID_HD std::uint32_t& name(int unit) const {
    return word(groups_at() + 3 * shape.most.groups + unit);
  }

  CYCLOID_HD void put_notes(const SolveNotes& notes) const {
    word(kSolved) = notes.solved;
    word(kActive) = static_cast<std::uint32_t>(notes.active_rows);
    word(kSet) = static_cast<std::uint32_t>(notes.active_set);
    word(kSet + 1) = static_cast<std::uint32_t>(notes.active_set >> 32);
  }
  CYCLOID_HD SolveNotes notes() const {
    return {word(kSolved) != 0, word(kSet) | static_cast<std::uint64_t>(word(kSet + 1)) << 32,
            head(kActive)};
  }

 private:
  CYCLOID_HD int rows_at() const { return shape.mass + shape.size; }
  CYCLOID_HD int groups_at() const { return kHead + shape.most.diagonals; }
  CYCLOID_HD int smooth_at() const {
    return rows_at() + 3 * shape.all() + shape.most.diagonals + shape.most.rows * shape.size;
  }
  CYCLOID_HD static int count(const SolveShape& s) {
    return s.mass + s.size + 3 * s.all() + s.most.diagonals + s.most.rows * s.size + s.entries +
           s.nv + s.na + 1;
  }
};

// The problem, as a thread has posed it: all but what units are called.
template <class T>
CYCLOID_HD void send_problem(const ConstraintProblem<T>& problem, const SolveMail<T>& mail) {
  for (int i = 0; i < mail.shape.mass; ++i) mail.M(i) = problem.M[i];
  for (int i = 0; i < problem.size(); ++i) mail.x(i) = problem.a0[i];
  for (int i = 0; i < problem.all_rows(); ++i) {
    mail.a_ref(i) = problem.a_ref[i];
    mail.D(i) = problem.D[i];
    mail.friction(i) = problem.friction[i];
  }
  for (int i = 0; i < problem.diagonals; ++i) {
    mail.sign(i) = problem.sign[i];
    mail.put_diagonal(i, problem.diagonal[i]);
  }
  for (int g = 0; g < problem.groups; ++g) {
    const RowGroup& group = problem.group[g];
    mail.put_group(g, group, *problem.support(g).word);
    const T* J = problem.jacobian(g);
    for (int k = group.first; k < group.first + group.rows; ++k, J += problem.size()) {
      for_each(problem.support(g), [&](int I) {
        for (int i = I * kBlock; i < (I + 1) * kBlock; ++i) mail.J(k, i) = J[i];
      });
    }
  }
  mail.word(SolveMail<T>::kDiagonals) = static_cast<std::uint32_t>(problem.diagonals);
  mail.word(SolveMail<T>::kGroups) = static_cast<std::uint32_t>(problem.groups);
  mail.word(SolveMail<T>::kRows) = static_cast<std::uint32_t>(problem.rows);
}

// A problem and Newton's method on it in a warp's memory.
template <class T>
struct WarpProblem {
  int size, blocks, stride, wide;  // stride, wide: of the square, and of J
  int diagonals, groups, rows;
  T* square;                // V and M
  T *pivots, *before;       // (2 size) factors of diagonal blocks; (size) diagonal of H
  T *x, *a0, *p, *g;        // (size)
  T *Md, *Mp;               // (size) M (x - a₀), M p
  T* sign;                  // (diagonals)
  T *a_ref, *D, *friction;  // (all rows)
  T *r, *r1, *q;            // (all rows) residuals here and there, J p
  ConstraintResponse<T> at;
  T* J;                    // (rows, wide)
  std::uint64_t* pattern;  // (blocks) blocks of V left of the diagonal, and on it
  std::uint64_t* support;  // (groups)
  DiagonalRow* diagonal;
  RowGroup* group;
  int* corners;  // (blocks of M) first row and column

  // capacity: rows of all kinds that there is room for.
  CYCLOID_HD static std::size_t bytes(const SolveShape& s, int capacity) {
    const auto n = static_cast<std::size_t>(s.size), rows = static_cast<std::size_t>(capacity),
               numbers = n * stride_of(s.size) + 9 * n +
                         rows * (11 + static_cast<std::size_t>(s.size | 1)),
               words = static_cast<std::size_t>(s.blocks) + rows;
    const std::size_t all = sizeof(std::uint64_t) * words + sizeof(T) * numbers +
                            rows * (sizeof(DiagonalRow) + sizeof(RowGroup)) +
                            sizeof(int) * static_cast<std::size_t>(s.mass / kBlockEntries);
    return (all + 15) / 16 * 16;
  }
  CYCLOID_HD WarpProblem(const SolveShape& s, int capacity, std::byte* memory)
      : size(s.size), blocks(s.blocks), stride(stride_of(s.size)), wide(s.size | 1) {
    const auto take = [&]<class X>(X*& array, int n) {
      array = reinterpret_cast<X*>(memory);
      memory += sizeof(X) * static_cast<std::size_t>(n);
    };
    take(pattern, blocks);
    take(support, capacity);
    take(square, size * stride);
    take(pivots, 2 * size);
    for (T** v : {&before, &x, &a0, &p, &g, &Md, &Mp}) take(*v, size);
    for (T** v : {&sign, &a_ref, &D, &friction, &r, &r1, &q, &at.f, &at.diagonal, &at.cross, &at.z})
      take(*v, capacity);
    take(J, capacity * wide);
    take(diagonal, capacity);
    take(group, capacity);
    take(corners, s.mass / kBlockEntries);
  }

  CYCLOID_HD int all_rows() const { return diagonals + rows; }
  CYCLOID_HD int units() const { return diagonals + groups; }
  CYCLOID_HD T& V(int i, int j) const { return square[i * stride + j]; }            // j ≤ i
  CYCLOID_HD T& upper_M(int i, int j) const { return square[i * stride + j + 1]; }  // i ≤ j
  CYCLOID_HD int unit_row(int unit) const {
    return unit < diagonals ? unit : diagonals + group[unit - diagonals].first;
  }
  // One diagonal row or one group as a problem of its own, whose numbers begin with row 0.
  CYCLOID_HD ConstraintProblem<T> alone(int unit, RowGroup& own) const {
    const int row = unit_row(unit);
    const bool is_diagonal = unit < diagonals;
    own = group[is_diagonal ? 0 : unit - diagonals];
    own.first = 0;
    ConstraintProblem<T> out;  // whose pointers lead somewhere, used or not
    out.diagonals = is_diagonal, out.diagonal = diagonal + (is_diagonal ? unit : 0);
    out.groups = !is_diagonal, out.group = &own, out.rows = is_diagonal ? 0 : own.rows;
    out.a_ref = a_ref + row, out.D = D + row, out.friction = friction + row;
    return out;
  }
  CYCLOID_HD ConstraintResponse<T> response_at(int row) const {
    return {at.f + row, at.diagonal + row, at.cross + row, at.z + row};
  }

 private:
  CYCLOID_HD static int stride_of(int size) { return (size + 1) | 1; }
};

// Reads the problem, and finds the pattern of its Hessian's factor (block_pattern.h).
template <class T>
CYCLOID_HD void receive_problem(const Warp& warp, const DofBlocks& dofs, const SolveMail<T>& mail,
                                WarpProblem<T>& to) {
  using Mail = SolveMail<T>;
  to.diagonals = mail.head(Mail::kDiagonals), to.groups = mail.head(Mail::kGroups);
  to.rows = mail.head(Mail::kRows);
  const int n = to.size;
  warp.each(to.units(), [&](int unit) {
    if (unit < to.diagonals) {
      to.diagonal[unit] = mail.diagonal(unit);
      to.sign[unit] = mail.sign(unit);
    } else {
      const int g = unit - to.diagonals;
      to.group[g] = mail.group(g);
      to.support[g] = mail.blocks(g);
    }
  });
  const int all = to.all_rows();
  warp.each(all, [&](int i) {
    to.a_ref[i] = mail.a_ref(i), to.D[i] = mail.D(i), to.friction[i] = mail.friction(i);
    to.at.f[i] = to.at.diagonal[i] = to.at.cross[i] = to.at.z[i] = T(0);
  });
  warp.each(n, [&](int j) {
    to.x[j] = to.a0[j] = mail.x(j);
    to.Md[j] = T(0);
    for (int i = 0; i <= j; ++i) to.upper_M(i, j) = T(0);
  });
  // J, and zeros where a group moves nothing.
  warp.copy(
      to.rows * n, [&](int t) { return mail.J(t / n, t % n); },
      [&](int t, const T& J) { to.J[t / n * to.wide + t % n] = J; });
  warp.each(n, [&](int j) {
    for (int g = 0; g < to.groups; ++g) {
      if (to.support[g] >> (j / kBlock) & 1) continue;
      const int first = to.group[g].first;
      for (int k = first; k < first + to.group[g].rows; ++k) to.J[k * to.wide + j] = T(0);
    }
  });
  // M, whose block row I follows those before it.
  warp.each(to.blocks, [&](int I) {
    int place = 0;
    for (int K = 0; K < I; ++K) place += bit_count(dofs.couples[static_cast<std::size_t>(K)]);
    for (std::uint64_t bits = dofs.couples[static_cast<std::size_t>(I)]; bits != 0;
         bits &= bits - 1) {
      to.corners[place++] = I * kBlock << 16 | lowest_bit(bits) * kBlock;
    }
  });
  warp.copy(
      mail.shape.mass, [&](int t) { return mail.M(t); },
      [&](int t, const T& M) {
        const int corner = to.corners[t / kBlockEntries], entry = t % kBlockEntries;
        const int i = (corner >> 16) + entry / kBlock, j = (corner & 0xffff) + entry % kBlock;
        if (j <= i) to.upper_M(j, i) = M;
      });
  warp.each(to.blocks, [&](int I) {
    const std::uint64_t upto = ~std::uint64_t{0} >> (63 - I);
    std::uint64_t row = dofs.couples[static_cast<std::size_t>(I)];
    for (int g = 0; g < to.groups; ++g) {
      if (to.support[g] >> I & 1) row |= to.support[g] & upto;
    }
    to.pattern[I] = row;
  });
  warp.each(1, [&](int) {  // block_pattern.h (1)
    for (int K = to.blocks - 1; K > 0; --K) {
      const std::uint64_t below = to.pattern[K] & ((std::uint64_t{1} << K) - 1);
      if (below != 0) to.pattern[topmost_bit(below)] |= below;
    }
  });
}

}  // namespace cycloid::inline rigid
