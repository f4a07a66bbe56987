#include "cycloid/network/mlp_shape.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/base/random.h"

namespace cycloid::inline network {

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = {"tanh", "softplus", "silu", "relu", "sine"};
  return names;
}

Activation activation_of(const std::string& name) {
  const auto& all = activation_names();
  const auto found = std::find(all.begin(), all.end(), name);
  if (found == all.end()) {
    throw Error(message("unknown activation \"", name, "\"", did_you_mean(name, all)));
  }
  return static_cast<Activation>(found - all.begin());
}

const std::string& name(Activation activation) {
  return activation_names()[static_cast<std::size_t>(activation)];
}

std::size_t MlpShape::numbers() const {
  std::size_t n = 0;
  for (int l = 0; l < layers(); ++l) n += numbers(l);
  return n;
}

std::vector<double> MlpShape::wave_matrix() const {
  const std::size_t n = static_cast<std::size_t>(inputs());
  std::vector<double> F(angles.size() * n, 0.0);
  for (std::size_t k = 0; k < angles.size(); ++k)
    F[k * n + static_cast<std::size_t>(angles[k])] = 1;
  F.insert(F.end(), frequencies.begin(), frequencies.end());
  return F;
}

void MlpShape::check() const {
  if (widths.size() < 2) {
    throw Error(message("a network needs at least the sizes of its inputs and outputs; got ",
                        widths.size(), widths.size() == 1 ? " size" : " sizes"));
  }
  for (const int n : widths) {
    if (n < 1) throw Error(message("the sizes of a network's layers must be positive; got ", n));
  }
  const std::size_t n = static_cast<std::size_t>(inputs()), m = static_cast<std::size_t>(outputs());
  if (frequencies.size() % n != 0) {
    throw Error(message("frequencies must have ", n, " columns, one for each input"));
  }
  for (std::size_t k = 0; k < angles.size(); ++k) {
    if (angles[k] < 0 || angles[k] >= inputs() || (k > 0 && angles[k] <= angles[k - 1])) {
      throw Error(message("angles must be rising indices of the ", n, " inputs; got ", angles[k]));
    }
  }
  const auto check_numbers = [](const std::vector<double>& v, std::size_t size, const char* what,
                                bool positive) {
    if (!v.empty() && v.size() != size) {
      throw Error(message(what, " must have ", size, " numbers; got ", v.size()));
    }
    for (const double x : v) {
      if (!std::isfinite(x) || (positive && x <= 0)) {
        throw Error(message(what, " must be finite", positive ? " and positive" : "", "; got ", x));
      }
    }
  };
  check_numbers(frequencies, frequencies.size(), "frequencies", false);
  check_numbers(input_shift, n, "the shift of the inputs", false);
  check_numbers(input_scale, n, "the scale of the inputs", true);
  check_numbers(output_shift, m, "the shift of the outputs", false);
  check_numbers(output_scale, m, "the scale of the outputs", true);
  if (input_shift.size() != input_scale.size() || output_shift.size() != output_scale.size()) {
    throw Error("a normalisation has a shift and a scale");
  }
  for (const int a : angles) {
    const std::size_t i = static_cast<std::size_t>(a);
    if (!input_shift.empty() && (input_shift[i] != 0 || input_scale[i] != 1)) {
      throw Error(message("input ", a, " is an angle: it is not normalised (shift 0, scale 1)"));
    }
  }
}

MlpShape fold_normalisation(const MlpShape& shape, std::vector<double>& weights) {
  MlpShape folded = shape;
  folded.input_shift.clear(), folded.input_scale.clear();
  folded.output_shift.clear(), folded.output_scale.clear();
  const std::vector<double*> at = layer_pointers(shape, weights.data());
  const std::size_t n = static_cast<std::size_t>(shape.inputs());
  if (!shape.input_shift.empty()) {
    for (std::size_t k = 0; k < folded.frequencies.size(); ++k) {
      const std::size_t i = k % n;
      if (folded.frequencies[k] != 0 && shape.input_shift[i] != 0) {
        throw Error(
            "a network with frequencies over inputs that are shifted has no equal without "
            "normalisation; give its inputs scales only");
      }
      folded.frequencies[k] /= shape.input_scale[i];
    }
    const std::size_t in = static_cast<std::size_t>(shape.in(0));
    for (std::size_t o = 0; o < static_cast<std::size_t>(shape.out(0)); ++o) {
      std::size_t column = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (std::binary_search(shape.angles.begin(), shape.angles.end(), static_cast<int>(i))) {
          continue;
        }
        double& w = at[0][o * in + column++];
        w /= shape.input_scale[i];
        at[1][o] -= w * shape.input_shift[i];
      }
    }
  }
  if (!shape.output_shift.empty()) {
    const std::size_t last = 2 * static_cast<std::size_t>(shape.layers() - 1),
                      in = static_cast<std::size_t>(shape.in(shape.layers() - 1));
    for (std::size_t o = 0; o < static_cast<std::size_t>(shape.outputs()); ++o) {
      for (std::size_t i = 0; i < in; ++i) at[last][o * in + i] *= shape.output_scale[o];
      at[last + 1][o] = at[last + 1][o] * shape.output_scale[o] + shape.output_shift[o];
    }
  }
  return folded;
}

std::vector<double> initial_weights(const MlpShape& shape, std::uint64_t seed) {
  std::vector<double> weights(shape.numbers());
  const std::vector<double*> at = layer_pointers(shape, weights.data());
  for (int l = 0; l < shape.layers(); ++l) {
    const double in = shape.in(l);
    const bool sine = shape.activation == Activation::sine;
    const double bound = !sine ? 1 / std::sqrt(in) : l == 0 ? 1 / in : std::sqrt(6 / in);
    RandomStream random(seed, static_cast<std::uint32_t>(l));
    double* const first = at[2 * static_cast<std::size_t>(l)];
    for (std::size_t i = 0; i < shape.numbers(l); ++i) first[i] = random.uniform(-bound, bound);
  }
  return weights;
}

}  // namespace cycloid::inline network
