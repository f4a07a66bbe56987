// Rows of what a robot shows, for tests of room rigid: chunks one after another, on one thread.
// adjoint/observe.h does the same on several, and for every System.
#pragma once

#include <algorithm>

#include "cycloid/system/observed_rows.h"
#include "cycloid/system/observer.h"

namespace cycloid::test {

class RobotEyes {
 public:
  // Without names: what is usual.
  explicit RobotEyes(const System& robot,
                     const std::optional<std::vector<std::string>>& names = std::nullopt)
      : robot_(robot),
        names_(names ? *names : *robot.observables()->usual()),
        chunks_(robot.observables()->differentiable(names_)) {}

  int size() const { return chunks_->size(); }

  std::vector<double> values(const ObservedRows& at, std::vector<RowNote>* notes = nullptr) const {
    const CheckedRows rows(robot_, at);
    std::vector<double> out(static_cast<std::size_t>(rows.rows * size()));
    for_each_chunk(
        rows, [&](std::int64_t first, const ObservedPoint<double>& point, StepWorkspace& space) {
          Lanes y(chunks_->size(), W());
          chunks_->observe(point, y.data(), space);
          y.to_rows(first, rows.rows, out.data());
          for (int l = 0; notes && l < W() && first + l < rows.rows; ++l) {
            const LaneNote& note = chunks_->notes(space)[l];
            if (note.residual > 0 || note.crowded) notes->push_back({first + l, note});
          }
        });
    return out;
  }

  ObservationGradient pullback(const ObservedRows& at, const std::vector<double>& bar) const {
    const CheckedRows rows(robot_, at);
    const Space& states = robot_.states();
    ObservationGradient g = rows.zero_gradient(robot_);
    for_each_chunk(
        rows, [&](std::int64_t first, const ObservedPoint<double>& point, StepWorkspace& space) {
          Lanes y_bar(size(), W()), x_bar(states.tangent_size(), W()), u_bar(nu(), W()),
              p_bar(np(), W());
          y_bar.from_rows(bar, rows.rows, first);
          chunks_->pullback(point, y_bar.data(), x_bar.data(), u_bar.data(), space);
          chunks_->finish(space, p_bar.data());
          x_bar.to_rows(first, rows.rows, g.states_tangent.data());
          u_bar.to_rows(first, rows.rows, g.inputs.data());
          for (int l = 0; l < W() && first + l < rows.rows; ++l) {
            double* const own = g.parameters.data() + rows.parameter_place(first + l);
            for (int i = 0; i < np(); ++i) own[i] += p_bar.data()[i * W() + l];
          }
        });
    for (std::int64_t i = 0; i < rows.rows; ++i) {
      states.to_coordinates(rows.raw.data() + i * states.size(),
                            g.states_tangent.data() + i * states.tangent_size(),
                            g.states.data() + i * states.size());
    }
    return g;
  }

 private:
  // Numbers of a chunk, zeros at first.
  class Lanes {
   public:
    Lanes(int n, int W) : n_(n), W_(W), block_(sizeof(double) * static_cast<std::size_t>(n * W)) {
      std::fill_n(data(), n * W, 0.0);
    }
    double* data() const { return reinterpret_cast<double*>(LaneWorkspace::memory(block_)); }
    void from_rows(const std::vector<double>& rows, std::int64_t count, std::int64_t first) const {
      for (int l = 0; l < W_; ++l) {
        const std::int64_t row = std::min<std::int64_t>(first + l, count - 1);
        for (int i = 0; i < n_; ++i) {
          data()[i * W_ + l] = rows[static_cast<std::size_t>(row * n_ + i)];
        }
      }
    }
    void to_rows(std::int64_t first, std::int64_t count, double* rows) const {
      for (int l = 0; l < W_ && first + l < count; ++l) {
        for (int i = 0; i < n_; ++i) rows[(first + l) * n_ + i] = data()[i * W_ + l];
      }
    }

   private:
    int n_, W_;
    LaneWorkspace block_;
  };

  int W() const { return chunks_->lanes(); }
  int nu() const { return robot_.inputs().size(); }
  int np() const { return robot_.parameters().size(); }

  template <class Visit>
  void for_each_chunk(const CheckedRows& rows, Visit&& visit) const {
    const auto space = chunks_->make_workspace({});
    const Lanes x(robot_.states().size(), W()), u(nu(), W()), p(np(), W());
    for (std::int64_t first = 0; first < rows.rows; first += W()) {
      x.from_rows(rows.x, rows.rows, first);
      u.from_rows(rows.u, rows.rows, first);
      p.from_rows(rows.p, rows.parameter_rows, first);
      chunks_->begin({p.data()}, *space);
      visit(first, ObservedPoint<double>{x.data(), u.data(), rows.time}, *space);
    }
  }

  System robot_;
  std::vector<std::string> names_;
  std::shared_ptr<const DifferentiableObserver> chunks_;
};

}  // namespace cycloid::test
