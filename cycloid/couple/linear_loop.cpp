#include "cycloid/couple/linear_loop.h"

#include <algorithm>

#include "cycloid/couple/lane_array.h"
#include "cycloid/couple/linear_feedback.h"
#include "cycloid/couple/paired_lanes.h"

namespace cycloid::inline couple {
namespace {

using Tangent = Dual<double, 1>;

// A stepper in dual numbers has W values in its lanes and then W tangents; the feedback reads them
// as W dual numbers.
template <class T>
class LinearLoop final : public Feedback<T> {
 public:
  LinearLoop(const Space& states, int inputs, int numbers, int lanes, bool dual)
      : space_(states), inputs_(inputs), before_(numbers), lanes_(lanes), dual_(dual) {}

  std::unique_ptr<StepWorkspace> make_workspace() const override {
    return std::make_unique<Workspace>(*this);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.p = p.lanes + before_ * lanes_;
    std::fill(w.p_bar.begin(), w.p_bar.end(), 0.0);
  }
  void input(const FeedbackPoint<T>& at, T* u, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    if (dual_) return input_in_duals(at.x, w, u);
    linear_feedback(shape(), w.p, at.x, lanes_, w.d.data(), u);
  }
  void pullback(const FeedbackPoint<T>& at, const T* u_bar, bool wants_parameters, T* x_bar, T*,
                StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    if (!wants_parameters) w.kept = w.p_bar;
    if (dual_) {
      pull_back_in_duals(at.x, w, u_bar, x_bar);
    } else {
      linear_feedback_pullback(shape(), w.p, at.x, u_bar, lanes_, w.d.data(), w.d_bar.data(), x_bar,
                               w.p_bar.data());
    }
    if (!wants_parameters) w.p_bar = w.kept;
  }
  bool pushforward(const FeedbackPoint<T>& at, const StepTangents<T>& tan, T* u_tan,
                   StepWorkspace& workspace) const override {
    if (dual_) return false;
    Workspace& w = own(workspace);
    const int W = lanes_, np = shape().numbers(), nx = space_.size(), nt = space_.tangent_size();
    w.pairs.resize(static_cast<std::size_t>((np + nx + nt + inputs_) * W));
    Tangent *const p = w.pairs.data(), *const x = p + np * W, *const d = x + nx * W,
                   *const u = d + nt * W;
    const T* const p_tan = tan.p ? tan.p + before_ * W : nullptr;
    for (int i = 0; i < np * W; ++i) {
      p[i] = Tangent(static_cast<double>(w.p[i]));
      p[i].tangent[0] = p_tan ? static_cast<double>(p_tan[i]) : 0;
    }
    std::vector<T> row(static_cast<std::size_t>(nx)), row_d(static_cast<std::size_t>(nt)),
        row_tan(row);
    for (int l = 0; l < W; ++l) {
      for (int i = 0; i < nx; ++i) row[static_cast<std::size_t>(i)] = at.x[i * W + l];
      for (int i = 0; i < nt; ++i) {
        row_d[static_cast<std::size_t>(i)] = tan.x ? tan.x[i * W + l] : T(0);
      }
      space_.velocity(row.data(), row_d.data(), row_tan.data());
      for (int i = 0; i < nx; ++i) {
        x[i * W + l] = Tangent(static_cast<double>(row[static_cast<std::size_t>(i)]));
        x[i * W + l].tangent[0] = static_cast<double>(row_tan[static_cast<std::size_t>(i)]);
      }
    }
    linear_feedback(shape(), p, x, W, d, u);
    for (int i = 0; i < inputs_ * W; ++i) u_tan[i] = static_cast<T>(u[i].tangent[0]);
    return true;
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    const Workspace& w = own(workspace);
    std::copy(w.p_bar.begin(), w.p_bar.end(), p_bar + before_ * lanes_);
  }

 private:
  struct Workspace final : StepWorkspace {
    explicit Workspace(const LinearLoop& of)
        : d(of.room(of.space_.tangent_size())), d_bar(d), p_bar(of.room(of.shape().numbers())) {}
    const T* p = nullptr;  // (numbers, W) of the feedback
    std::vector<T> d, d_bar;
    std::vector<double> p_bar, kept;
    std::vector<Tangent> pairs;  // memory for dual numbers
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  FeedbackShape shape() const { return {space_, inputs_}; }
  std::size_t room(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(lanes_);
  }

  PairedLanes pairs() const { return {lanes_ / 2}; }
  // As (n, W) dual numbers; returns where the next begin.
  template <class Number>
  Tangent* take(const Number* from, int n, Tangent* to) const {
    pairs().take(from, n, to, pairs().W);
    return to + n * pairs().W;
  }
  template <class Number>
  void give(const Tangent* from, int n, Number* to) const {
    pairs().give(from, n, pairs().W, to);
  }

  void input_in_duals(const T* x, Workspace& w, T* out) const {
    const int W = lanes_ / 2, nt = space_.tangent_size(), nx = space_.size();
    w.pairs.resize(static_cast<std::size_t>((shape().numbers() + nx + nt + inputs_) * W));
    Tangent *const p = w.pairs.data(), *const xs = take(w.p, shape().numbers(), p),
                   *const d = take(x, nx, xs), *const u = d + nt * W;
    linear_feedback(shape(), p, xs, W, d, u);
    give(u, inputs_, out);
  }

  void pull_back_in_duals(const T* x, Workspace& w, const T* u_bar, T* x_bar) const {
    const int W = lanes_ / 2, nt = space_.tangent_size(), nx = space_.size(),
              np = shape().numbers();
    w.pairs.resize(static_cast<std::size_t>((2 * np + nx + 3 * nt + inputs_) * W));
    Tangent *const p = w.pairs.data(), *const xs = take(w.p, np, p), *const u = take(x, nx, xs),
                   *const own_x = take(u_bar, inputs_, u), *const own_p = take(x_bar, nt, own_x),
                   *const d = take(w.p_bar.data(), np, own_p), *const d_bar = d + nt * W;
    linear_feedback_pullback(shape(), p, xs, u, W, d, d_bar, own_x, own_p);
    give(own_x, nt, x_bar);
    give(own_p, np, w.p_bar.data());
  }

  Space space_;
  int inputs_, before_, lanes_;
  bool dual_;
};

class LinearLaw final : public FeedbackLaw {
 public:
  LinearLaw(const Space& states, int inputs, int numbers)
      : states_(states), inputs_(inputs), before_(numbers) {}
  int numbers() const override { return FeedbackShape{states_, inputs_}.numbers(); }
  std::vector<std::int64_t> arrays() const override { return {}; }
  std::shared_ptr<const Feedback<float>> float32(int lanes, bool dual) const override {
    return std::make_shared<LinearLoop<float>>(states_, inputs_, before_, lanes, dual);
  }
  std::shared_ptr<const Feedback<double>> float64(int lanes, bool dual) const override {
    return std::make_shared<LinearLoop<double>>(states_, inputs_, before_, lanes, dual);
  }

 private:
  Space states_;
  int inputs_, before_;
};

}  // namespace

std::shared_ptr<const FeedbackLaw> linear_loop(const Space& states, int inputs, int numbers) {
  return std::make_shared<LinearLaw>(states, inputs, numbers);
}

}  // namespace cycloid::inline couple
