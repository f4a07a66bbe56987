#include "cycloid/network/adam.h"

#include <cmath>

#include "cycloid/base/error.h"

namespace cycloid::inline network {

template <class T>
void Adam<T>::step(const T* w_bar, T* w) {
  ++steps_;
  const AdamOptions& o = options_;
  const double t = static_cast<double>(steps_);
  const double constants[] = {o.beta1,
                              o.beta2,
                              o.rate / (1 - std::pow(o.beta1, t)),
                              1 / std::sqrt(1 - std::pow(o.beta2, t)),
                              o.epsilon,
                              1 - o.rate * o.decay};
  mlp_kernels<T>().adam(m_.size(), w_bar, w, m_.data(), v_.data(), constants);  // (1), (2)
}

template <class T>
void Adam<T>::set_moments(const std::vector<T>& m, const std::vector<T>& v, std::int64_t steps) {
  if (m.size() != m_.size() || v.size() != v_.size()) {
    throw Error(
        message("Adam has moments of ", m_.size(), " numbers; got ", m.size(), " and ", v.size()));
  }
  m_ = m, v_ = v, steps_ = steps;
}

template <class T>
GradientFit<T>::GradientFit(const MlpShape& shape, const std::vector<double>& weights,
                            const AdamOptions& options)
    : plan_(shape), weights_(weights.begin(), weights.end()), adam_(weights.size(), options) {
  if (shape.outputs() != 1) {
    throw Error(
        message("a gradient is that of a network with one output; this one has ", shape.outputs()));
  }
  if (weights.size() != shape.numbers()) {
    throw Error(message("expected ", shape.numbers(), " weights, got ", weights.size()));
  }
}

template <class T>
double GradientFit<T>::step(const T* x, const T* target, std::int64_t rows, int threads) {
  struct Loss {
    const T* target;
    int inputs;
    double factor;
    std::vector<double> blocks;
  } loss{target, plan_.shape.inputs(), 0, {}};
  loss.factor = 1 / (static_cast<double>(rows) * loss.inputs);
  loss.blocks.resize(static_cast<std::size_t>((rows + kBlockRows - 1) / kBlockRows));
  MlpRows<T> call;
  call.rows = rows, call.w = weights_.data(), call.x = x;
  bar_.assign(weights_.size(), T(0));
  call.w_bar = bar_.data();
  call.between = {[](void* user, std::int64_t first, int count, int columns, const T* g, T* g_bar) {
                    Loss& l = *static_cast<Loss*>(user);
                    double sum = 0;
                    for (int i = 0; i < l.inputs; ++i) {
                      for (int r = 0; r < count; ++r) {
                        const T off = g[i * columns + r] - l.target[(first + r) * l.inputs + i];
                        sum += static_cast<double>(off) * static_cast<double>(off);
                        g_bar[i * columns + r] = off * static_cast<T>(2 * l.factor);  // (3)
                      }
                    }
                    l.blocks[static_cast<std::size_t>(first / kBlockRows)] = sum * l.factor;
                  },
                  &loss};
  run_rows(MlpCall::fit, plan_, call, threads);
  adam_.step(bar_.data(), weights_.data());
  double sum = 0;
  for (const double block : loss.blocks) sum += block;
  return sum;
}

template class Adam<float>;
template class Adam<double>;
template class GradientFit<float>;
template class GradientFit<double>;

}  // namespace cycloid::inline network
