#include "cycloid/learn/learned_tangents.h"

#include "cycloid/couple/paired_lanes.h"
#include "cycloid/couple/tangent_arrays.h"

namespace cycloid::inline learn {
namespace {

class LearnedTangents final : public Feedback<double> {
 public:
  LearnedTangents(std::shared_ptr<const FieldPlan<double>> plan, int lanes)
      : plan_(std::move(plan)), pairs_{lanes / 2}, C_(block_columns<Tangent1>(pairs_.W)) {
    const LearnedLaw& law = plan_->law;
    first_ = law.second_order() ? law.n : 0, outputs_ = law.states() - first_;
  }

  std::unique_ptr<StepWorkspace> make_workspace() const override {
    return std::make_unique<Workspace>(*this);
  }
  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.weights.take(p, 0);
    w.left_out = p.left_out;
  }
  void input(const FeedbackPoint<double>& at, double* y, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.field.use(w.weights.values(), nullptr);
    take(at, false, w);
    w.field.rate(w.x.data(), w.u.data(), w.x_dot.data());
    pairs_.give(w.x_dot.data() + first_ * C_, outputs_, C_, y);
  }
  void pullback(const FeedbackPoint<double>& at, const double* y_bar, bool wants_parameters,
                double* x_bar, double* v_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const bool weights = wants_parameters && w.weights.wanted();
    w.field.use(w.weights.values(), weights ? w.weights.bars() : nullptr);
    take(at, true, w);
    w.x_bar.clear(), w.u_bar.clear();
    const typename Field<Tangent1>::Between between = [&](const Tangent1*, Tangent1* bar) {
      std::fill_n(bar, plan_->law.states() * C_, Tangent1(0.0));
      pairs_.take(y_bar, outputs_, bar + first_ * C_, C_);
      clear_left_out(plan_->law.states(), w, bar);
    };
    w.field.rate_pullback(w.x.data(), w.u.data(), between, w.x_bar.data(), w.u_bar.data());
    pairs_.add(w.x_bar.data(), plan_->law.states(), C_, x_bar);
    pairs_.add(w.u_bar.data(), plan_->law.inputs, C_, v_bar);
  }
  void finish(StepWorkspace& workspace, double*) const override { own(workspace).weights.flush(); }

 private:
  struct Workspace final : StepWorkspace {
    explicit Workspace(const LearnedTangents& of)
        : field(of.plan_, of.C_),
          weights(of.plan_->arrays),
          x(of.room(of.plan_->law.states())),
          x_bar(of.room(of.plan_->law.states())),
          x_dot(of.room(of.plan_->law.states())),
          u(of.room(of.plan_->law.inputs)),
          u_bar(of.room(of.plan_->law.inputs)) {}
    Field<Tangent1> field;
    TangentArrays weights;
    LaneArray<Tangent1> x, x_bar, x_dot, u, u_bar;
    const bool* left_out = nullptr;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }
  std::size_t room(int n) const {
    return static_cast<std::size_t>(n + 1) * static_cast<std::size_t>(C_);
  }

  void take(const FeedbackPoint<double>& at, bool way_back, Workspace& w) const {
    const LearnedLaw& law = plan_->law;
    pairs_.take(at.x, law.states(), w.x.data(), C_);
    pairs_.take(at.v, law.inputs, w.u.data(), C_);
    if (!way_back) return;
    clear_left_out(law.states(), w, w.x.data());
    clear_left_out(law.inputs, w, w.u.data());
  }
  void clear_left_out(int n, const Workspace& w, Tangent1* rows) const {
    for (int l = 0; w.left_out && l < pairs_.W; ++l) {
      for (int i = 0; i < n && w.left_out[l]; ++i) rows[i * C_ + l] = Tangent1(0.0);
    }
  }

  std::shared_ptr<const FieldPlan<double>> plan_;
  PairedLanes pairs_;
  int C_, first_ = 0, outputs_ = 0;
};

}  // namespace

std::shared_ptr<const Feedback<double>> learned_in_duals(
    std::shared_ptr<const FieldPlan<double>> plan, int lanes) {
  return std::make_shared<LearnedTangents>(std::move(plan), lanes);
}

}  // namespace cycloid::inline learn
