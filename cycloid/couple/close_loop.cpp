#include "cycloid/couple/close_loop.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/closing.h"
#include "cycloid/couple/linear_loop.h"

namespace cycloid::inline couple {
namespace {

void check_size(const std::vector<double>& given, int expected, const char* name, const char* of) {
  if (given.size() != static_cast<std::size_t>(expected)) {
    throw ModelError(message("close_loop: ", name, " has ", given.size(), " numbers, expected ",
                             expected, " (", of, ")"));
  }
}

void check_inputs(const SystemParts& inner) {
  if (inner.inputs.size() > 0) return;
  throw ModelError(
      message("close_loop: system \"", inner.name, "\" has no inputs that a feedback could give"));
}

// The arrays policy.noise and policy.key.
void add_noise(const PolicyNoise& noise, int inputs, std::vector<AddedParameter>& added) {
  check_size(noise.deviation, inputs, "noise", "inputs");
  for (const double s : noise.deviation) {
    if (s >= 0 && std::isfinite(s)) continue;
    throw Error(message("close_loop: noise must be zero or more, and finite; got ", s));
  }
  if (noise.key < 0 || noise.key > kMostKey) {
    throw Error(message("close_loop: key must lie in 0 … ", kMostKey, "; got ", noise.key));
  }
  Parameter deviation, key;
  deviation.name = "policy.noise", deviation.shape = {inputs};
  key.name = "policy.key", key.shape = {};
  key.not_differentiable = "it chooses which noise is drawn";
  deviation.array = key.array = true;
  added.push_back({std::move(deviation), noise.deviation});
  added.push_back({std::move(key), {static_cast<double>(noise.key)}});
}

// A key or a deviation that came by params and is none is refused there too.
System with_checked_noise(const System& noisy) {
  SystemParts parts = noisy.parts();
  const Parameter &key = parts.parameters.find("policy.key"),
                  &deviation = parts.parameters.find("policy.noise");
  parts.refuse = [at = key.offset, first = deviation.offset, n = deviation.size,
                  before = parts.refuse](const double* p) {
    if (std::string why = before ? before(p) : std::string(); !why.empty()) return why;
    if (!(p[at] >= 0 && p[at] <= kMostKey && p[at] == std::floor(p[at]))) {
      return message("policy.key must be a whole number in 0 … ", kMostKey, "; got ", p[at]);
    }
    for (int i = first; i < first + n; ++i) {
      if (p[i] >= 0 && std::isfinite(p[i])) continue;
      return message("policy.noise must be zero or more, and finite; got ", p[i]);
    }
    return std::string();
  };
  return System(std::move(parts));
}

}  // namespace

System close_loop(const System& system, const LinearFeedback& feedback) {
  const SystemParts& inner = system.parts();
  const int nu = inner.inputs.size(), nt = inner.states.tangent_size(), nx = inner.states.size();
  check_inputs(inner);
  check_size(feedback.gain, nu * nt, "gain", "inputs times tangents");
  check_size(feedback.target, nx, "target", "states");
  check_size(feedback.command, nu, "command", "inputs");
  if (std::vector<double> unit = feedback.target; !inner.states.normalise(unit.data())) {
    throw ModelError("close_loop: a quaternion of the target is zero, which is no orientation");
  }
  std::vector<AddedParameter> added;
  const auto add = [&](const char* name, std::vector<int> shape, const std::vector<double>& value) {
    Parameter p;
    p.name = name;
    p.shape = std::move(shape);
    added.push_back({std::move(p), value});
  };
  add("feedback.gain", {nu, nt}, feedback.gain);
  add("feedback.target", {nx}, feedback.target);
  add("feedback.command", {nu}, feedback.command);
  Closing closing;
  closing.law = linear_loop(inner.states, nu, inner.parameters.lane_size());
  closing.outputs = nu;
  closing.again = [feedback](const System& other) { return close_loop(other, feedback); };
  return close_with(system, closing, message(inner.name, " closed"), added);
}

System close_loop(const System& system, const Network& network,
                  const std::optional<std::vector<std::string>>& observe, Clip clip,
                  const PolicyNoise& noise) {
  const SystemParts& inner = system.parts();
  check_inputs(inner);
  const int nu = inner.inputs.size();
  const auto sight = std::make_shared<const Sight>(system, observe);
  const Network own =
      checked_network(network, sight->size(), nu, "close_loop",
                      observe ? "the numbers of what it observes" : "the numbers of the state",
                      "those of the system's inputs");
  NetworkOutput output{.clip = clip, .noisy = !noise.deviation.empty()};
  for (int i = 0; i < nu && !inner.input_bounds.empty(); ++i) {
    output.bounds.push_back(system.input_bounds(i));
    const Bounds& b = output.bounds.back();
    if (clip == Clip::tanh && std::isfinite(b.low) != std::isfinite(b.high)) {
      throw Error(message("close_loop: clip = tanh needs two bounds, and input ", i,
                          " has one; choose hard or none"));
    }
  }
  Closing closing;
  const int arrays =
      static_cast<int>(std::count_if(inner.parameters.all().begin(), inner.parameters.all().end(),
                                     [](const Parameter& p) { return p.array; }));
  closing.law = network_loop(own.shape, sight, 0, arrays, output);
  closing.outputs = nu, closing.noisy = output.noisy;
  closing.again = [network, observe, clip, noise](const System& other) {
    return close_loop(other, network, observe, clip, noise);
  };
  std::vector<AddedParameter> added = network_parameters(own, "policy");
  if (output.noisy) add_noise(noise, nu, added);
  const System made = close_with(system, closing, message(inner.name, " closed"), added);
  return output.noisy ? with_checked_noise(made) : made;
}

}  // namespace cycloid::inline couple
