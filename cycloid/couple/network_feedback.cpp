#include "cycloid/couple/network_feedback.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/lane_array.h"
#include "cycloid/network/mlp_block.h"

namespace cycloid::inline couple {
namespace {

// Few enough that a float sum loses no more than the steps themselves did.
constexpr int kStepsPerFlush = 16;

template <class T>
class NetworkLoop final : public Feedback<T> {
 public:
  NetworkLoop(const MlpShape& shape, std::shared_ptr<const Sight> sight, int open, int first_array,
              std::vector<Bounds> bounds, Clip clip, int lanes)
      : plan_(shape),
        sight_(std::move(sight)),
        open_(open),
        first_array_(first_array),
        bounds_(std::move(bounds)),
        clip_(clip),
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
  }

  void input(const FeedbackPoint<T>& at, T* u, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    MlpBlock<T> block = observed(at, w, false);
    kernels_.run(MlpCall::value, block);
    for (int i = 0; i < plan_.shape.outputs(); ++i) {
      for (int l = 0; l < lanes_; ++l) u[i * lanes_ + l] = clipped(i, w.y.data()[i * columns_ + l]);
    }
  }

  void pullback(const FeedbackPoint<T>& at, const T* u_bar, bool wants_parameters, T* x_bar,
                T* v_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    MlpBlock<T> block = observed(at, w, true);
    w.o_bar.clear();
    block.x_bar = w.o_bar.data();
    if (wants_parameters && w.bars) block.w_bar = w.sum_pointers.data();
    block.v = w.y_bar.data();
    struct Way {
      const NetworkLoop& loop;
      const T* u_bar;
      const bool* left_out;
    } way{*this, u_bar, w.left_out};
    block.user = &way;
    block.between = [](void* user, const T* y, T* y_bar) {
      const Way& own = *static_cast<const Way*>(user);
      const int W = own.loop.lanes_, columns = own.loop.columns_;
      for (int i = 0; i < own.loop.plan_.shape.outputs(); ++i) {
        for (int l = 0; l < columns; ++l) {
          const bool none = l >= W || (own.left_out && own.left_out[l]);
          y_bar[i * columns + l] =
              none ? T(0) : own.u_bar[i * W + l] * own.loop.clip_slope(i, y[i * columns + l]);
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

  // (3)
  T clipped(int i, T y) const {
    if (bounds_.empty() || clip_ == Clip::none) return y;
    const Bounds& b = bounds_[static_cast<std::size_t>(i)];
    if (clip_ == Clip::hard) {
      const T low = static_cast<T>(b.low), high = static_cast<T>(b.high);
      return y < low ? low : y > high ? high : y;
    }
    if (!std::isfinite(b.low)) return y;
    const T middle = static_cast<T>((b.low + b.high) / 2),
            reach = static_cast<T>((b.high - b.low) / 2);
    return middle + reach * std::tanh((y - middle) / reach);
  }
  T clip_slope(int i, T y) const {
    if (bounds_.empty() || clip_ == Clip::none) return T(1);
    const Bounds& b = bounds_[static_cast<std::size_t>(i)];
    if (clip_ == Clip::hard) {
      return y < static_cast<T>(b.low) || y > static_cast<T>(b.high) ? T(0) : T(1);
    }
    if (!std::isfinite(b.low)) return T(1);
    const T t = std::tanh((y - static_cast<T>((b.low + b.high) / 2)) /
                          static_cast<T>((b.high - b.low) / 2));
    return T(1) - t * t;
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
  std::vector<Bounds> bounds_;
  Clip clip_;
  int lanes_, columns_;
  const MlpKernels<T>& kernels_;
};

class NetworkLaw final : public FeedbackLaw {
 public:
  NetworkLaw(const MlpShape& shape, std::shared_ptr<const Sight> sight, int open, int first_array,
             std::vector<Bounds> bounds, Clip clip)
      : shape_(shape),
        sight_(std::move(sight)),
        open_(open),
        first_array_(first_array),
        bounds_(std::move(bounds)),
        clip_(clip) {}
  int numbers() const override { return 0; }
  std::vector<std::int64_t> arrays() const override {
    std::vector<std::int64_t> all;
    for (int l = 0; l < shape_.layers(); ++l) {
      all.push_back(std::int64_t{shape_.out(l)} * shape_.in(l));
      all.push_back(shape_.out(l));
    }
    return all;
  }
  std::shared_ptr<const Feedback<float>> float32(int lanes, bool dual) const override {
    return make<float>(lanes, dual);
  }
  std::shared_ptr<const Feedback<double>> float64(int lanes, bool dual) const override {
    return make<double>(lanes, dual);
  }

 private:
  template <class T>
  std::shared_ptr<const Feedback<T>> make(int lanes, bool dual) const {
    if (dual) return nullptr;
    return std::make_shared<NetworkLoop<T>>(shape_, sight_, open_, first_array_, bounds_, clip_,
                                            lanes);
  }

  MlpShape shape_;
  std::shared_ptr<const Sight> sight_;
  int open_, first_array_;
  std::vector<Bounds> bounds_;
  Clip clip_;
};

}  // namespace

std::shared_ptr<const FeedbackLaw> network_loop(const MlpShape& shape,
                                                std::shared_ptr<const Sight> sight, int open,
                                                int first_array, std::vector<Bounds> bounds,
                                                Clip clip) {
  return std::make_shared<NetworkLaw>(shape, std::move(sight), open, first_array, std::move(bounds),
                                      clip);
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
