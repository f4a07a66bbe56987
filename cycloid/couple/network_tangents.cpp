// The network of network_feedback.h in dual numbers: W environments and a tangent of each.
#include <algorithm>

#include "cycloid/couple/lane_array.h"
#include "cycloid/couple/network_feedback.h"
#include "cycloid/couple/paired_lanes.h"
#include "cycloid/couple/state_bar.h"
#include "cycloid/couple/tangent_arrays.h"
#include "cycloid/network/mlp_block.h"
#include "cycloid/system/run_lanes.h"

namespace cycloid::inline couple {
namespace {

class TangentLoop final : public Feedback<double> {
 public:
  TangentLoop(const MlpShape& shape, std::shared_ptr<const Sight> sight, int open, int first_array,
              const NetworkOutput& output, int lanes)
      : plan_(shape),
        sight_(std::move(sight)),
        open_(open),
        first_array_(first_array),
        output_(output),
        pairs_{lanes / 2},
        C_(block_columns<Tangent1>(pairs_.W)) {}

  std::unique_ptr<StepWorkspace> make_workspace() const override {
    return std::make_unique<Workspace>(*this);
  }

  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.weights.take(p, first_array_);
    w.left_out = p.left_out;
    w.environments.clear();
    if (const std::int64_t* const now = RunLanes::now(); now && output_.noisy) {
      w.environments.assign(now, now + pairs_.W);
    }
  }

  void input(const FeedbackPoint<double>& at, double* u, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    const MlpBlock<Tangent1> block = observed(at, w, false);
    mlp_kernels<Tangent1>().run(MlpCall::value, block);
    Tangent1* const y = w.y.data();
    for (int i = 0; i < outputs(); ++i) {
      for (int l = 0; l < pairs_.W; ++l) {
        const Tangent1 z = noisy(w, i, l, y[i * C_ + l]);
        Tangent1& to = y[i * C_ + l];
        to.value = output_.clipped(i, z.value);
        to.tangent[0] = output_.clip_slope(i, z.value) * z.tangent[0];
      }
    }
    pairs_.give(y, outputs(), C_, u);
  }

  void pullback(const FeedbackPoint<double>& at, const double* u_bar, bool wants_parameters,
                double* x_bar, double* v_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    MlpBlock<Tangent1> block = observed(at, w, true);
    w.o_bar.clear();
    pairs_.take(u_bar, outputs(), w.u_bar.data(), C_);
    block.x_bar = w.o_bar.data();
    if (wants_parameters && w.weights.wanted()) block.w_bar = w.weights.bars();
    block.v = w.y_bar.data();
    struct Way {
      const TangentLoop& loop;
      const Workspace& w;
    } way{*this, w};
    block.user = &way;
    block.between = [](void* user, const Tangent1* y, Tangent1* y_bar) {
      const Way& way_back = *static_cast<const Way*>(user);
      way_back.loop.clip_back(way_back.w, y, y_bar);
    };
    mlp_kernels<Tangent1>().run(MlpCall::pullback, block);
    if (block.w_bar) pull_noise_back(w);
    give_back(w, x_bar, v_bar);
  }

  void finish(StepWorkspace& workspace, double*) const override { own(workspace).weights.flush(); }

 private:
  struct Workspace final : StepWorkspace {
    explicit Workspace(const TangentLoop& of)
        : weights(of.array_sizes()),
          x(of.room(of.sight_->states().size())),
          x_bar(of.room(of.sight_->states().size())),
          d_bar(of.room(of.sight_->states().tangent_size())),
          o(of.room(of.plan_.shape.inputs())),
          o_bar(of.room(of.plan_.shape.inputs())),
          y(of.room(of.outputs())),
          y_bar(of.room(of.outputs())),
          u_bar(of.room(of.outputs())),
          memory(mlp_kernels<Tangent1>().numbers(of.plan_, of.C_, MlpOrder::pullback)) {}
    TangentArrays weights;
    LaneArray<Tangent1> x, x_bar, d_bar, o, o_bar, y, y_bar, u_bar, memory;
    const bool* left_out = nullptr;
    std::vector<std::int64_t> environments;
    std::vector<double> xi;  // (W, outputs)
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  int outputs() const { return plan_.shape.outputs(); }
  int noise_array() const { return 2 * plan_.shape.layers(); }
  std::size_t room(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(C_);
  }
  std::vector<std::int64_t> array_sizes() const {
    std::vector<std::int64_t> all = plan_.shape.array_sizes();
    if (output_.noisy) all.push_back(outputs()), all.push_back(1);
    return all;
  }

  MlpBlock<Tangent1> observed(const FeedbackPoint<double>& at, Workspace& w, bool way_back) const {
    const int W = pairs_.W, seen = sight_->size();
    pairs_.take(at.x, sight_->states().size(), w.x.data(), W);
    for (const Sight::Piece& piece : sight_->of_state()) {
      for (int i = 0; i < piece.count; ++i) {
        std::copy_n(w.x.data() + (piece.from + i) * W, W, w.o.data() + (piece.place + i) * C_);
      }
    }
    if (open_ > 0) pairs_.take(at.v, open_, w.o.data() + seen * C_, C_);
    for (int l = 0; l < C_; ++l) {
      if (l < W && !(way_back && w.left_out && w.left_out[l])) continue;
      for (int i = 0; i < plan_.shape.inputs(); ++i) w.o.data()[i * C_ + l] = Tangent1(0.0);
    }
    draw(at, w);
    MlpBlock<Tangent1> block{&plan_, w.weights.values(), C_, w.memory.data()};
    block.x = w.o.data(), block.y = w.y.data();
    return block;
  }

  void draw(const FeedbackPoint<double>& at, Workspace& w) const {
    if (w.environments.empty()) return;
    const std::size_t n = static_cast<std::size_t>(outputs());
    w.xi.resize(n * w.environments.size());
    const double key = w.weights.values()[noise_array() + 1][0].value;
    for (std::size_t l = 0; l < w.environments.size(); ++l) {
      policy_noise(key, w.environments[l], at.step, outputs(), w.xi.data() + l * n);
    }
  }
  double xi(const Workspace& w, int i, int l) const {
    return w.xi[static_cast<std::size_t>(l * outputs() + i)];
  }
  Tangent1 noisy(const Workspace& w, int i, int l, const Tangent1& y) const {
    if (w.environments.empty()) return y;
    return y + w.weights.values()[noise_array()][i] * xi(w, i, l);
  }
  void pull_noise_back(Workspace& w) const {
    if (w.environments.empty()) return;
    Tangent1* const bar = w.weights.bars()[noise_array()];
    for (int i = 0; i < outputs(); ++i) {
      for (int l = 0; l < pairs_.W; ++l) bar[i] += w.y_bar.data()[i * C_ + l] * xi(w, i, l);
    }
  }

  // ȳ of y before noise and clip.
  void clip_back(const Workspace& w, const Tangent1* y, Tangent1* y_bar) const {
    for (int i = 0; i < outputs(); ++i) {
      for (int l = 0; l < C_; ++l) {
        y_bar[i * C_ + l] = Tangent1(0.0);
        if (l >= pairs_.W || (w.left_out && w.left_out[l])) continue;
        const Tangent1 z = noisy(w, i, l, y[i * C_ + l]);
        Tangent1 slope(output_.clip_slope(i, z.value));
        slope.tangent[0] = output_.clip_bend(i, z.value) * z.tangent[0];
        y_bar[i * C_ + l] = w.u_bar.data()[i * C_ + l] * slope;
      }
    }
  }

  void give_back(Workspace& w, double* x_bar, double* v_bar) const {
    const int W = pairs_.W;
    w.x_bar.clear(), w.d_bar.clear();
    for (const Sight::Piece& piece : sight_->of_state()) {
      for (int i = 0; i < piece.count; ++i) {
        for (int l = 0; l < W; ++l) {
          w.x_bar.data()[(piece.from + i) * W + l] += w.o_bar.data()[(piece.place + i) * C_ + l];
        }
      }
    }
    add_state_bar(sight_->states(), static_cast<const Tangent1*>(w.x.data()),
                  static_cast<const Tangent1*>(w.x_bar.data()), W, w.d_bar.data());
    pairs_.add(w.d_bar.data(), sight_->states().tangent_size(), W, x_bar);
    pairs_.add(w.o_bar.data() + sight_->size() * C_, open_, C_, v_bar);
  }

  MlpPlan<double> plan_;
  std::shared_ptr<const Sight> sight_;
  int open_, first_array_;
  NetworkOutput output_;
  PairedLanes pairs_;
  int C_;
};

}  // namespace

std::shared_ptr<const Feedback<double>> network_loop_in_duals(const MlpShape& shape,
                                                              std::shared_ptr<const Sight> sight,
                                                              int open, int first_array,
                                                              const NetworkOutput& output,
                                                              int lanes) {
  if (sight->computes()) return nullptr;
  return std::make_shared<TangentLoop>(shape, std::move(sight), open, first_array, output, lanes);
}

}  // namespace cycloid::inline couple
