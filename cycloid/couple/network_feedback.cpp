#include "cycloid/couple/network_feedback.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/couple/lane_array.h"
#include "cycloid/network/mlp_block.h"
#include "cycloid/system/run_lanes.h"

namespace cycloid::inline couple {
namespace {

// Few enough that a float sum loses no more than the steps themselves did.
constexpr int kStepsPerFlush = 16;
// Apart from what others draw by the same seeds.
constexpr std::uint64_t kNoiseSeed = 0x706f6c6963790000;

template <class T>
class NetworkLoop final : public Feedback<T> {
 public:
  NetworkLoop(const MlpShape& shape, std::shared_ptr<const Sight> sight, int open, int first_array,
              const NetworkOutput& output, int lanes)
      : plan_(shape),
        sight_(std::move(sight)),
        open_(open),
        first_array_(first_array),
        output_(output),
        lanes_(lanes),
        columns_(block_columns<T>(lanes)),
        kernels_(mlp_kernels<T>()) {}

  std::unique_ptr<StepWorkspace> make_workspace() const override {
    return std::make_unique<Workspace>(*this);
  }

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    w.weights = p.arrays + first_array_;
    w.bars = p.arrays_bar ? p.arrays_bar + first_array_ : nullptr;
    w.left_out = p.left_out;
    std::fill(w.sums.begin(), w.sums.end(), T(0));
    w.pending = 0;
    w.sight.begin(p);
    w.environments.clear();
    if (const std::int64_t* const now = RunLanes::now(); now && output_.noisy) {
      w.environments.assign(now, now + lanes_);
    }
  }

  void input(const FeedbackPoint<T>& at, T* u, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    MlpBlock<T> block = observed(at, w, false);
    draw(at, w);
    kernels_.run(MlpCall::value, block);
    for (int i = 0; i < plan_.shape.outputs(); ++i) {
      for (int l = 0; l < lanes_; ++l) {
        u[i * lanes_ + l] = output_.clipped(i, noisy(w, i, l, w.y.data()[i * columns_ + l]));
      }
    }
  }

  void pullback(const FeedbackPoint<T>& at, const T* u_bar, bool wants_parameters, T* x_bar,
                T* v_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    MlpBlock<T> block = observed(at, w, true);
    draw(at, w);
    w.o_bar.clear();
    block.x_bar = w.o_bar.data();
    if (wants_parameters && w.bars) block.w_bar = w.sum_pointers.data();
    block.v = w.y_bar.data();
    struct Way {
      const NetworkLoop& loop;
      const T* u_bar;
      const Workspace& w;
    } way{*this, u_bar, w};
    block.user = &way;
    block.between = [](void* user, const T* y, T* y_bar) {
      const Way& own = *static_cast<const Way*>(user);
      const int W = own.loop.lanes_, columns = own.loop.columns_;
      for (int i = 0; i < own.loop.plan_.shape.outputs(); ++i) {
        for (int l = 0; l < columns; ++l) {
          const bool none = l >= W || (own.w.left_out && own.w.left_out[l]);
          const T slope = none ? T(0)
                               : own.loop.output_.clip_slope(
                                     i, own.loop.noisy(own.w, i, l, y[i * columns + l]));
          y_bar[i * columns + l] = none ? T(0) : own.u_bar[i * W + l] * slope;
        }
      }
    };
    kernels_.run(MlpCall::pullback, block);
    const int seen = sight_->size();
    w.sight.pullback(at.x, at.t, w.o_bar.data(), columns_, x_bar);
    for (int i = 0; i < open_; ++i) {
      for (int l = 0; l < lanes_; ++l) {
        v_bar[i * lanes_ + l] += w.o_bar.data()[(seen + i) * columns_ + l];
      }
    }
    if (block.w_bar) pull_noise_back(w);
    if (block.w_bar && ++w.pending == kStepsPerFlush) flush(w);
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    Workspace& w = own(workspace);
    flush(w);
    w.sight.finish(p_bar);
  }

 private:
  struct Workspace final : StepWorkspace {
    explicit Workspace(const NetworkLoop& of)
        : sight(*of.sight_, of.lanes_),
          o(of.room(of.plan_.shape.inputs())),
          o_bar(of.room(of.plan_.shape.inputs())),
          y(of.room(of.plan_.shape.outputs())),
          y_bar(of.room(of.plan_.shape.outputs())),
          memory(of.kernels_.numbers(of.plan_, of.columns_, MlpOrder::pullback)),
          sums(of.plan_.shape.numbers(), T(0)),
          sum_pointers(layer_pointers(of.plan_.shape, sums.data())) {}
    typename Sight::Lanes<T> sight;
    LaneArray<T> o, o_bar, y, y_bar, memory;
    std::vector<T> sums;  // of the weights' cotangents, since the last flush
    std::vector<T*> sum_pointers;
    const T* const* weights = nullptr;
    double* const* bars = nullptr;
    const bool* left_out = nullptr;
    int pending = 0;
    std::vector<std::int64_t> environments;  // (lanes) of a run with noise; else empty
    std::vector<double> xi;                  // (lanes, outputs)
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }

  // Whole registers, with those behind the last column too.
  std::size_t room(int n) const {
    return static_cast<std::size_t>(n) * static_cast<std::size_t>(columns_) + 64;
  }

  // (1), and what the kernels need. Lanes that hold nothing, or are left out, are zeros, so that
  // they add nothing to the weights' cotangents even where they are not finite.
  MlpBlock<T> observed(const FeedbackPoint<T>& at, Workspace& w, bool way_back) const {
    T* const o = w.o.data();
    const int n = plan_.shape.inputs(), seen = sight_->size();
    w.sight.observe(at.x, at.t, o, columns_);
    for (int i = 0; i < open_; ++i) {
      std::copy_n(at.v + i * lanes_, lanes_, o + (seen + i) * columns_);
    }
    for (int l = 0; l < columns_; ++l) {
      if (l < lanes_ && !(way_back && w.left_out && w.left_out[l])) continue;
      for (int i = 0; i < n; ++i) o[i * columns_ + l] = T(0);
    }
    MlpBlock<T> block{&plan_, w.weights, columns_, w.memory.data()};
    block.x = o, block.y = w.y.data();
    return block;
  }

  // ξ of all lanes; nothing without a run.
  void draw(const FeedbackPoint<T>& at, Workspace& w) const {
    if (w.environments.empty()) return;
    const int n = plan_.shape.outputs();
    w.xi.resize(static_cast<std::size_t>(n) * w.environments.size());
    const double key = static_cast<double>(w.weights[2 * plan_.shape.layers() + 1][0]);
    for (std::size_t l = 0; l < w.environments.size(); ++l) {
      policy_noise(key, w.environments[l], at.step, n,
                   w.xi.data() + l * static_cast<std::size_t>(n));
    }
  }
  T xi(const Workspace& w, int i, int l) const {
    return static_cast<T>(w.xi[static_cast<std::size_t>(l * plan_.shape.outputs() + i)]);
  }
  // (2) of what the network gives.
  T noisy(const Workspace& w, int i, int l, T y) const {
    if (w.environments.empty()) return y;
    return y + w.weights[2 * plan_.shape.layers()][i] * xi(w, i, l);
  }
  // Adds to σ̄, given ȳ of the lanes that count.
  void pull_noise_back(const Workspace& w) const {
    if (w.environments.empty()) return;
    double* const bar = w.bars[2 * plan_.shape.layers()];
    for (int i = 0; i < plan_.shape.outputs(); ++i) {
      for (int l = 0; l < lanes_; ++l) {
        bar[i] += static_cast<double>(w.y_bar.data()[i * columns_ + l] * xi(w, i, l));  // (2)
      }
    }
  }

  void flush(Workspace& w) const {
    if (w.pending == 0) return;
    w.pending = 0;
    const T* from = w.sums.data();
    for (int k = 0; k < 2 * plan_.shape.layers(); ++k) {
      const int l = k / 2;
      const std::size_t n = static_cast<std::size_t>(plan_.shape.out(l)) *
                            static_cast<std::size_t>(k % 2 == 0 ? plan_.shape.in(l) : 1);
      for (std::size_t i = 0; i < n; ++i) w.bars[k][i] += static_cast<double>(from[i]);
      from += n;
    }
    std::fill(w.sums.begin(), w.sums.end(), T(0));
  }

  MlpPlan<T> plan_;
  std::shared_ptr<const Sight> sight_;
  int open_, first_array_;
  NetworkOutput output_;
  int lanes_, columns_;
  const MlpKernels<T>& kernels_;
};

class NetworkLaw final : public FeedbackLaw {
 public:
  NetworkLaw(const MlpShape& shape, std::shared_ptr<const Sight> sight, int open, int first_array,
             const NetworkOutput& output)
      : shape_(shape),
        sight_(std::move(sight)),
        open_(open),
        first_array_(first_array),
        output_(output) {}
  int numbers() const override { return 0; }
  std::vector<std::int64_t> arrays() const override {
    std::vector<std::int64_t> all = shape_.array_sizes();
    if (output_.noisy) all.push_back(shape_.outputs()), all.push_back(1);
    return all;
  }
  std::shared_ptr<const Feedback<float>> float32(int lanes, bool dual) const override {
    if (dual) return nullptr;
    return std::make_shared<NetworkLoop<float>>(shape_, sight_, open_, first_array_, output_,
                                                lanes);
  }
  std::shared_ptr<const Feedback<double>> float64(int lanes, bool dual) const override {
    if (dual) {
      return network_loop_in_duals(shape_, sight_, open_, first_array_, output_, lanes);
    }
    return std::make_shared<NetworkLoop<double>>(shape_, sight_, open_, first_array_, output_,
                                                 lanes);
  }

 private:
  MlpShape shape_;
  std::shared_ptr<const Sight> sight_;
  int open_, first_array_;
  NetworkOutput output_;
};

}  // namespace

std::shared_ptr<const FeedbackLaw> network_loop(const MlpShape& shape,
                                                std::shared_ptr<const Sight> sight, int open,
                                                int first_array, const NetworkOutput& output) {
  return std::make_shared<NetworkLaw>(shape, std::move(sight), open, first_array, output);
}

void policy_noise(double key, std::int64_t environment, std::int64_t step, int outputs,
                  double* xi) {
  RandomStream random(static_cast<std::uint64_t>(std::llround(key)) ^ kNoiseSeed,
                      static_cast<std::uint32_t>(environment), static_cast<std::uint64_t>(step));
  for (int i = 0; i < outputs; ++i) xi[i] = random.normal();
}

Network checked_network(const Network& given, int inputs, int outputs, const char* what,
                        const std::string& sees, const std::string& gives) {
  given.shape.check();
  if (given.shape.inputs() != inputs) {
    throw Error(message(what, ": the network must have ", inputs, " inputs (", sees, "); it has ",
                        given.shape.inputs()));
  }
  if (given.shape.outputs() != outputs) {
    throw Error(message(what, ": the network must have ", outputs, " outputs (", gives,
                        "); it has ", given.shape.outputs()));
  }
  if (given.weights.size() != given.shape.numbers()) {
    throw Error(message(what, ": the network has ", given.shape.numbers(), " weights; got ",
                        given.weights.size()));
  }
  Network folded = given;
  folded.shape = fold_normalisation(given.shape, folded.weights);
  return folded;
}

std::vector<AddedParameter> network_parameters(const Network& network, const std::string& prefix) {
  std::vector<AddedParameter> all;
  const double* next = network.weights.data();
  for (int l = 0; l < network.shape.layers(); ++l) {
    const int m = network.shape.out(l), n = network.shape.in(l);
    for (const bool weight : {true, false}) {
      Parameter p;
      p.name = message(prefix, weight ? ".weight" : ".bias", l);
      p.shape = weight ? std::vector<int>{m, n} : std::vector<int>{m};
      p.array = true;
      const int size = weight ? m * n : m;
      all.push_back({std::move(p), std::vector<double>(next, next + size)});
      next += size;
    }
  }
  return all;
}

}  // namespace cycloid::inline couple
