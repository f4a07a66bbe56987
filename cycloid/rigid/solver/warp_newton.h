// Newton's method of constraint_newton.h by the 32 lanes of a warp (base/warp.h), for one
// environment: a step, a search and an end are decided as there, and only sums have another order.
//
// Lanes share columns of H and of J, rows, and rows with one law each. H is summed and factored in
// place, a block row at a time from the last to the first (block_factor.h): when its turn comes,
// its diagonal block is factored by every lane for itself, and what it adds to the rows before it
// is subtracted at once. Trees that nothing connects are solved as one problem, not in islands.
#pragma once

#include "cycloid/rigid/solver/constraint_newton.h"
#include "cycloid/rigid/solver/warp_problem.h"
#include "cycloid/rigid/step_notes.h"

namespace cycloid::inline rigid {

template <class T>
class WarpNewton {
 public:
  CYCLOID_HD WarpNewton(const Warp& warp, const WarpProblem<T>& problem)
      : warp_(warp), w_(problem) {}

  // Leaves the minimum in x, and what the rows answer there.
  CYCLOID_HD NewtonResult<T> solve(const NewtonOptions& options) {
    const T scale = T(options.scale), tolerance = T(options.tolerance);
    const T exact = sizeof(T) == 4 ? T(100) * tolerance : tolerance;
    residuals();
    respond(w_.r);
    look(T(0));
    T residual = scale * sqrt(gradient().of[0]), least = residual, stalls = T(0);
    NewtonResult<T> result{residual, T(0), residual <= tolerance, is_finite(residual)};
    bool active = result.finite && residual > tolerance;
    for (int step = 0; step < options.most && active; ++step) {
      result.steps += T(1);
      factor_hessian();
      direction();
      look_along();
      const WarpSums<T, 2> along = slope_and_size();
      const T slope0 = along.of[0];
      const T rounding = T(8 * std::numeric_limits<T>::epsilon()) * along.of[1];
      const bool changed = respond(w_.r1);
      T alpha = T(1);
      look(alpha);
      WarpSums<T, 2> there = gradient();
      residual = scale * sqrt(there.of[0]);
      const T enough = T(step < 8 ? 0.3 : 0.01) * abs(slope0) + rounding;
      const bool full = abs(there.of[1]) <= enough || residual <= T(0.1) * least || !changed;
      if (!full && is_finite(residual)) {
        alpha = search(there.of[1], enough);
        warp_.each(w_.all_rows(), [&](int i) { w_.r1[i] = w_.r[i] + alpha * w_.q[i]; });
        respond(w_.r1);
        look(alpha);
        there = gradient();
        residual = scale * sqrt(there.of[0]);
      }

      const bool stuck = residual >= T(0.5) * least;
      stalls = stuck && abs(slope0) <= rounding ? stalls + T(1) : T(0);
      const bool at_rounding = stalls >= T(2) || (stalls >= T(1) && residual <= exact);
      if (!(at_rounding && residual > result.residual)) {
        move(alpha);
        result.residual = residual;
      }
      least = min(residual, least);
      const bool finite = is_finite(residual);
      result.finite = result.finite && finite;
      const bool near_enough = residual <= (changed ? tolerance : exact);
      result.solved = result.solved || (finite && near_enough);
      result.rounded = result.rounded || (finite && at_rounding);
      active = finite && !near_enough && !at_rounding;
    }
    result.rounded = result.rounded || active;
    if (result.rounded) {
      const WarpSums<T, 1> forces =
          warp_.template sums<T, 1>(w_.size, [&](int i, T* sum) { sum[0] += w_.Md[i] * w_.Md[i]; });
      const T most = T(kRoundedTolerances) * tolerance * (T(1) + scale * sqrt(forces.of[0]));
      result.solved = result.solved || result.residual <= most;
    }
    respond(w_.r);
    return result;
  }

  // name(unit): what a unit is called in the active set (step_notes.h).
  template <class Name>
  CYCLOID_HD SolveNotes notes(const NewtonResult<T>& result, Name name) const {
    const WarpSums<std::uint64_t, 2> found = warp_.template sums<std::uint64_t, 2>(
        w_.units(), [&](int unit, std::uint64_t* sum) { add_zones(unit, name(unit), sum); });
    return {result.solved, found.of[0], static_cast<int>(found.of[1])};
  }

 private:
  // r at x.
  CYCLOID_HD void residuals() const {
    products(w_.x, w_.r);
    warp_.each(w_.all_rows(), [&](int i) { w_.r[i] -= w_.a_ref[i]; });
  }
  // J y.
  CYCLOID_HD void products(const T* y, T* out) const {
    warp_.each(w_.all_rows(), [&](int i) {
      if (i < w_.diagonals) {
        out[i] = w_.sign[i] * y[w_.diagonal[i].place];
        return;
      }
      const T* const J = w_.J + (i - w_.diagonals) * w_.wide;
      T even = T(0), odd = T(0);
      for (int j = 0; j < w_.size; j += kBlock) {
        even += J[j] * y[j];
        odd += J[j + 1] * y[j + 1];
        even += J[j + 2] * y[j + 2];
      }
      out[i] = even + odd;
    });
  }

  // What all rows answer to r; whether the cost is another quadratic function there.
  CYCLOID_HD bool respond(const T* r) const {
    return warp_.any(w_.units(), [&](int unit) {
      RowGroup own;
      const int row = w_.unit_row(unit);
      return cycloid::respond(w_.alone(unit, own), r + row, w_.response_at(row));
    });
  }

  // M (x - a₀) - Jᵀ f at x + αp into g.
  CYCLOID_HD void look(const T& alpha) const {
    warp_.each(w_.size, [&](int j) {
      T sum = alpha == T(0) ? w_.Md[j] : w_.Md[j] + alpha * w_.Mp[j];
      for (int i = 0; i < w_.diagonals; ++i) {
        if (w_.diagonal[i].place == j) sum -= w_.sign[i] * w_.at.f[i];
      }
      for (int k = 0; k < w_.rows; ++k) sum -= w_.J[k * w_.wide + j] * w_.at.f[w_.diagonals + k];
      w_.g[j] = sum;
    });
  }
  // g·g and p·g.
  CYCLOID_HD WarpSums<T, 2> gradient() const {
    return warp_.template sums<T, 2>(w_.size, [&](int i, T* sum) {
      sum[0] += w_.g[i] * w_.g[i];
      sum[1] += w_.p[i] * w_.g[i];
    });
  }

  // H's lower triangle, column by column, where V will be.
  CYCLOID_HD void assemble() const {
    warp_.each(w_.size, [&](int j) {
      for (int i = j; i < w_.size; ++i) w_.V(i, j) = w_.upper_M(j, i);
      for (int i = 0; i < w_.diagonals; ++i) {
        if (w_.diagonal[i].place == j) w_.V(j, j) += w_.at.diagonal[i];
      }
      for (int g = 0; g < w_.groups; ++g) {
        if (w_.support[g] >> (j / kBlock) & 1) add_group(g, j);
      }
      w_.before[j] = w_.V(j, j);
    });
  }
  // Column j of Jᵀ K J of a group, from row j on.
  CYCLOID_HD void add_group(int g, int j) const {
    const RowGroup& group = w_.group[g];
    const int row = w_.diagonals + group.first;
    const T* const J = w_.J + group.first * w_.wide;
    const std::uint64_t rest = w_.support[g] >> (j / kBlock) << (j / kBlock);
    const auto add = [&](const T* y, int n) {
      for (std::uint64_t bits = rest; bits != 0; bits &= bits - 1) {
        const int first = lowest_bit(bits) * kBlock;
        for (int i = first; i < first + kBlock; ++i) {
          T sum = T(0);
          for (int k = 0; k < n; ++k) sum += J[k * w_.wide + i] * y[k];
          if (i >= j) w_.V(i, j) += sum;
        }
      }
    };
    if (!is_cone(group.law)) {
      for (int k = 0; k < group.rows; ++k) {
        const T K = w_.at.diagonal[row + k], y = K * J[k * w_.wide + j];
        for (int i = j; i < w_.size && K != T(0); ++i) w_.V(i, j) += J[k * w_.wide + i] * y;
      }
      return;
    }
    if (w_.at.diagonal[row] == T(0)) return;
    visit_law(ContactLaws{}, group.law, [&]<class Law>(Law) {
      with_row_count(group.rows, [&]<int n>(RowCount<n>) {
        const ConeStiffness<T, n> K = cone_stiffness<n>(w_.at, row);
        T x[n], y[n];
        for (int k = 0; k < n; ++k) x[k] = J[k * w_.wide + j];
        if constexpr (Law::kArrow) {
          K.multiply_arrow(x, y);
        } else {
          K.multiply(x, y);
        }
        add(static_cast<const T*>(y), n);
      });
    });
  }

  // The factor of diagonal block I, by whoever asks.
  CYCLOID_HD BlockEntries<T> diagonal_factor(int I) const {
    BlockEntries<T> out;
    const int at = I * kBlock;
    for (int i = 0; i < kBlock; ++i) {
      for (int j = 0; j < kBlock; ++j) out.e[i * kBlock + j] = j <= i ? w_.V(at + i, at + j) : T(0);
    }
    factor_diagonal(w_.before + at, w_.size, out);
    return out;
  }

  CYCLOID_HD void factor_hessian() const {
    assemble();
    for (int I = w_.blocks - 1; I >= 0; --I) {
      const int row = I * kBlock;
      const std::uint64_t left = w_.pattern[I] & ~(std::uint64_t{1} << I);
      const auto holds = [&](int j) { return left >> (j / kBlock) & 1; };
      warp_.each(row + 1, [&](int j) {
        if (j < row && !holds(j)) return;
        const BlockEntries<T> d = diagonal_factor(I);
        if (j == row) {
          T* const kept = w_.pivots + 2 * row;
          kept[0] = d.e[0], kept[1] = d.e[3], kept[2] = d.e[4];
          kept[3] = d.e[6], kept[4] = d.e[7], kept[5] = d.e[8];
          return;
        }
        T &v0 = w_.V(row, j), &v1 = w_.V(row + 1, j), &v2 = w_.V(row + 2, j);
        const T y2 = v2 * d.e[8], y1 = (v1 - d.e[7] * y2) * d.e[4];
        v0 = (v0 - d.e[6] * y2 - d.e[3] * y1) * d.e[0], v1 = y1, v2 = y2;
      });
      if (left == 0) continue;
      warp_.each(row, [&](int j) {
        if (!holds(j)) return;
        const T y0 = w_.V(row, j), y1 = w_.V(row + 1, j), y2 = w_.V(row + 2, j);
        for (std::uint64_t bits = left >> (j / kBlock) << (j / kBlock); bits != 0;
             bits &= bits - 1) {
          const int first = lowest_bit(bits) * kBlock;
          for (int i = first; i < first + kBlock; ++i) {
            if (i < j) continue;
            w_.V(i, j) -= w_.V(row, i) * y0 + w_.V(row + 1, i) * y1 + w_.V(row + 2, i) * y2;
          }
        }
      });
    }
  }

  // p = -H⁻¹ g, through Vᵀ y = -g, V p = y (block_factor.h (3)).
  CYCLOID_HD void direction() const {
    T* const y = w_.Mp;  // free until p is there
    warp_.each(w_.size, [&](int i) { w_.p[i] = -w_.g[i]; });
    for (int I = w_.blocks - 1; I >= 0; --I) {
      const int row = I * kBlock;
      const std::uint64_t left = w_.pattern[I];
      warp_.each(row + 1, [&](int j) {
        if (j < row && !(left >> (j / kBlock) & 1)) return;
        const T *d = w_.pivots + 2 * row, *b = w_.p + row;
        const T y2 = b[2] * d[5], y1 = (b[1] - d[4] * y2) * d[2];
        const T y0 = (b[0] - d[3] * y2 - d[1] * y1) * d[0];
        if (j == row) {
          y[row] = y0, y[row + 1] = y1, y[row + 2] = y2;
        } else {
          w_.p[j] -= w_.V(row, j) * y0 + w_.V(row + 1, j) * y1 + w_.V(row + 2, j) * y2;
        }
      });
    }
    for (int J = 0; J < w_.blocks; ++J) {
      const int column = J * kBlock, end = column + kBlock;
      warp_.each(w_.size - end + 1, [&](int k) {
        const int i = end - 1 + k;  // the block's last row stands for the block
        if (k > 0 && !(w_.pattern[i / kBlock] >> J & 1)) return;
        const T *d = w_.pivots + 2 * column, *b = y + column;
        const T x0 = b[0] * d[0], x1 = (b[1] - d[1] * x0) * d[2];
        const T x2 = (b[2] - d[3] * x0 - d[4] * x1) * d[5];
        if (k == 0) {
          w_.p[column] = x0, w_.p[column + 1] = x1, w_.p[column + 2] = x2;
        } else {
          y[i] -= w_.V(i, column) * x0 + w_.V(i, column + 1) * x1 + w_.V(i, column + 2) * x2;
        }
      });
    }
  }

  // M p, q = J p and r + q.
  CYCLOID_HD void look_along() const {
    warp_.each(w_.size, [&](int i) {
      T below = T(0), above = T(0);
      for (int j = 0; j < i; ++j) below += w_.upper_M(j, i) * w_.p[j];
      for (int j = i; j < w_.size; ++j) above += w_.upper_M(i, j) * w_.p[j];
      w_.Mp[i] = below + above;
    });
    products(w_.p, w_.q);
    warp_.each(w_.all_rows(), [&](int i) { w_.r1[i] = w_.r[i] + w_.q[i]; });
  }

  // p·g, and the size of which slope_rounding of constraint_newton.h is a share.
  CYCLOID_HD WarpSums<T, 2> slope_and_size() const {
    const int rows = w_.all_rows();
    return warp_.template sums<T, 2>(w_.size > rows ? w_.size : rows, [&](int i, T* sum) {
      if (i < w_.size) {
        const T inertia = w_.upper_M(i, i) * (abs(w_.a0[i]) + abs(w_.x[i]));
        sum[0] += w_.g[i] * w_.p[i];
        sum[1] += abs(w_.p[i]) * (abs(w_.Md[i]) + inertia);
      }
      if (i < rows) {
        const T force = abs(w_.at.f[i]) + w_.at.diagonal[i] * (abs(w_.a_ref[i]) + abs(w_.r[i]));
        sum[1] += force * abs(w_.q[i]);
      }
    });
  }

  // line_search.h.
  CYCLOID_HD T search(const T& slope1, const T& enough) const {
    const WarpSums<T, 2> m = warp_.template sums<T, 2>(w_.size, [&](int i, T* sum) {
      sum[0] += w_.p[i] * w_.Md[i];
      sum[1] += w_.p[i] * w_.Mp[i];
    });
    const T narrow = T(8 * std::numeric_limits<T>::epsilon());
    T alpha = T(1), slope = slope1, curvature = m.of[1] + row_slopes(alpha).curvature;
    T low = slope > T(0) ? T(0) : T(1), high = slope > T(0) ? T(1) : T(kLongestStep);
    T best = alpha, best_slope = abs(slope);
    bool open = true;
    for (int i = 0; i < kMostLineSteps && open; ++i) {
      const T newton = alpha - slope / curvature;
      alpha = newton > low && newton < high ? newton : T(0.5) * (low + high);
      const LineSlope<T> rows = row_slopes(alpha);
      slope = m.of[0] + alpha * m.of[1] + rows.slope;
      curvature = m.of[1] + rows.curvature;
      if (slope > T(0)) {
        high = alpha;
      } else {
        low = alpha;
      }
      if (abs(slope) < best_slope) best = alpha, best_slope = abs(slope);
      open = best_slope > enough && high - low > narrow * high;
    }
    return best;
  }
  CYCLOID_HD LineSlope<T> row_slopes(const T& alpha) const {
    const WarpSums<T, 2> sum = warp_.template sums<T, 2>(w_.units(), [&](int unit, T* to) {
      RowGroup own;
      const int row = w_.unit_row(unit);
      const LineSlope<T> one =
          cycloid::row_slopes<T>(w_.alone(unit, own), w_.r + row, w_.q + row, alpha);
      to[0] += one.slope;
      to[1] += one.curvature;
    });
    return {sum.of[0], sum.of[1]};
  }

  CYCLOID_HD void move(const T& alpha) const {
    warp_.each(w_.size, [&](int i) {
      w_.x[i] += alpha * w_.p[i];
      w_.Md[i] += alpha * w_.Mp[i];
    });
    warp_.each(w_.all_rows(), [&](int i) { w_.r[i] = w_.r1[i]; });
  }

  CYCLOID_HD void add_zones(int unit, std::uint64_t name, std::uint64_t* sum) const {
    if (name == 0) return;
    const int row = w_.unit_row(unit);
    const bool diagonal = unit < w_.diagonals;
    const RowLaw law = diagonal ? w_.diagonal[unit].law : w_.group[unit - w_.diagonals].law;
    RowZones<T> zones =
        row_zones<T>(w_.at, law, row, diagonal ? 1 : w_.group[unit - w_.diagonals].rows);
    if (!(zones.code > T(0))) return;
    if (diagonal && w_.sign[unit] < T(0)) zones.code += T(4) * zones.code;
    ActiveSets<1> sets;
    sets.add(name - 1, 1u, &zones.code, &zones.stiff);
    LaneNote note;
    sets.write(&note);
    sum[0] += note.active_set;
    sum[1] += static_cast<std::uint64_t>(note.counters[kActiveRows]);
  }

  const Warp& warp_;
  const WarpProblem<T>& w_;
};

// Names the units as note_active_sets of step_notes.h does, for one environment.
template <class T>
CYCLOID_HD void name_units(const ConstraintProblem<T>& problem, std::span<const int> places,
                           const ContactSpace<T>& contacts, const SolveMail<T>& mail) {
  int g = 0;
  for (std::size_t entry = 0; entry < places.size(); ++entry) {
    const int row = places[entry];
    if (row < 0) continue;
    const int unit = row < problem.diagonals ? row : problem.diagonals + g++;
    mail.name(unit) = static_cast<std::uint32_t>(2 * entry + 1);
  }
  const int first = problem.diagonals + problem.groups - contacts.slots;
  for (int slot = 0; slot < contacts.slots; ++slot) {
    mail.name(first + slot) = 0;
    if (contacts.groups[slot] == 0) continue;
    const LaneGroup& own = contacts.groups_of(slot)[0];
    const int place =
        contacts.touched[own.owner].pair * kMostTouches + contacts.touch[own.touch].place;
    mail.name(first + slot) = static_cast<std::uint32_t>(2 * place + 2);
  }
}

// Takes a problem from the mail, solves it and puts a, the residual and the notes back.
template <class T>
CYCLOID_HD void solve_mail(const Warp& warp, const DofBlocks& dofs, const NewtonOptions& options,
                           const SolveMail<T>& mail, WarpProblem<T>& problem) {
  receive_problem(warp, dofs, mail, problem);
  WarpNewton<T> newton(warp, problem);
  const NewtonResult<T> result = newton.solve(options);
  const SolveNotes notes =
      newton.notes(result, [&](int unit) { return std::uint64_t{mail.name(unit)}; });
  warp.each(problem.size, [&](int i) { mail.x(i) = problem.x[i] + T(0); });  // -0 becomes 0
  warp.each(1, [&](int) {
    mail.residual() = result.residual;
    mail.put_notes(notes);
  });
}

}  // namespace cycloid::inline rigid
