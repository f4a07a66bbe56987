// MlpShape: the sizes of a network and what is fixed about it besides its weights.
//
//   ξ  = (x - input_shift) / input_scale                       (1)  normalisation of inputs
//   h₀ = [ξ_i for i not an angle, sin F ξ, cos F ξ]            (2)  features, after [Tancik2020]
//   z_l = W_l h_l + b_l,     h_{l+1} = σ(z_l) + r_l h_l          (3)  r_l = 1 where residual
//   y  = output_shift + output_scale z_{L-1}                   (4)  the last layer is linear
// F has a row e_i for each angle, on which the network then depends with period 2π, and a row for
// each of `frequencies`; angles are not normalised. A residual connection goes around hidden layers
// of equal width. Weights, flat: W_0 (out, in) row by row, b_0, W_1, b_1, …
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cycloid/network/activation.h"

namespace cycloid::inline network {

struct MlpShape {
  std::vector<int> widths;  // inputs, hidden …, outputs: at least two
  Activation activation = Activation::tanh;
  bool residual = false;
  std::vector<int> angles = {};          // inputs, rising
  std::vector<double> frequencies = {};  // (m, inputs), by rows
  // One number for each input and output, or none.
  std::vector<double> input_shift = {}, input_scale = {}, output_shift = {}, output_scale = {};

  int inputs() const { return widths.front(); }
  int outputs() const { return widths.back(); }
  int layers() const { return static_cast<int>(widths.size()) - 1; }
  int waves() const {
    return static_cast<int>(angles.size() + frequencies.size() / widths.front());
  }
  int features() const { return inputs() - static_cast<int>(angles.size()) + 2 * waves(); }
  // Of layer l: numbers in and out.
  int in(int l) const { return l == 0 ? features() : widths[static_cast<std::size_t>(l)]; }
  int out(int l) const { return widths[static_cast<std::size_t>(l) + 1]; }
  bool skips(int l) const { return residual && l > 0 && l < layers() - 1 && in(l) == out(l); }
  bool normalised() const { return !input_shift.empty() || !output_shift.empty(); }
  std::size_t numbers(int l) const {
    return static_cast<std::size_t>(out(l)) * (static_cast<std::size_t>(in(l)) + 1);
  }
  std::size_t numbers() const;
  // Of W_0, b_0, W_1, …
  std::vector<std::int64_t> array_sizes() const {
    std::vector<std::int64_t> all;
    for (int l = 0; l < layers(); ++l) {
      all.push_back(std::int64_t{out(l)} * in(l));
      all.push_back(out(l));
    }
    return all;
  }
  // F (waves, inputs).
  std::vector<double> wave_matrix() const;
  // Throws Error, with what is wrong.
  void check() const;
};

// The same function without normalisation, and its weights: (1) and (4) folded into F, the first
// and the last layer. Frequencies over inputs that are shifted have a phase then, which F lacks:
// throws Error where there are such.
MlpShape fold_normalisation(const MlpShape& shape, std::vector<double>& weights);

// Weights uniform in ±1/sqrt(in), biases too, by Philox of the seed, each layer from a stream of
// its own; with sine ±sqrt(6/in), of the first layer ±1/in, as [Sitzmann2020] with frequency 1.
std::vector<double> initial_weights(const MlpShape& shape, std::uint64_t seed);

// Where each of `shape`'s arrays begins in flat weights: W_0, b_0, W_1, …
template <class T>
std::vector<T*> layer_pointers(const MlpShape& shape, T* weights) {
  std::vector<T*> at;
  for (int l = 0; l < shape.layers(); ++l) {
    at.push_back(weights);
    at.push_back(weights + static_cast<std::size_t>(shape.in(l)) * shape.out(l));
    weights += shape.numbers(l);
  }
  return at;
}

}  // namespace cycloid::inline network
