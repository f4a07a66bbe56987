#include "cycloid/learn/transitions.h"

#include <cmath>
#include <numbers>

#include "cycloid/base/error.h"
#include "cycloid/learn/learned_law.h"

namespace cycloid::inline learn {

void check_transitions(const System& system, const Transitions& data) {
  const std::size_t n = static_cast<std::size_t>(system.states().size()),
                    m = static_cast<std::size_t>(system.inputs().size()), N = data.x.size() / n;
  if (N == 0 || data.x.size() % n != 0 || data.next.size() != data.x.size() ||
      (!data.u.empty() && data.u.size() != N * m)) {
    throw Error(message("transitions of system \"", system.name(), "\" have ", n, " states and ", m,
                        " inputs a row, one row at least; got ", data.x.size(), ", ",
                        data.next.size(), " and ", data.u.size(), " numbers"));
  }
  for (const std::vector<double>* rows : {&data.x, &data.next, &data.u}) {
    for (const double v : *rows) {
      if (!std::isfinite(v)) throw Error("transitions must be finite");
    }
  }
}

Transitions transitions_of(const System& system, const Derivatives& data) {
  Transitions out{data.x, data.x, data.u};
  for (std::size_t i = 0; i < out.next.size(); ++i) {
    out.next[i] += system.timestep() * data.x_dot[i];
  }
  return out;
}

System euler_step(const System& system) {
  const LearnedLaw* const law = learned_law(system);
  if (!law) {
    throw Error(message("system \"", system.name(),
                        "\" is no learned law; derivatives train learned laws, recordings any"));
  }
  systems::Settings settings = learned_settings(system);
  settings.integrator = "euler";
  std::map<std::string, std::vector<double>> values;
  const std::vector<double>& all = system.parameters().default_values();
  for (const Parameter& p : system.parameters().all()) {
    if (p.name == kTimestepName) continue;
    values[p.name].assign(all.begin() + p.offset, all.begin() + p.offset + p.size);
  }
  return make_learned(*law, settings, values);
}

std::vector<double> step_misses(const System& system, const Transitions& data,
                                std::span<const double> ahead) {
  const Space& space = system.states();
  const std::size_t n = static_cast<std::size_t>(space.size()),
                    nt = static_cast<std::size_t>(space.tangent_size()), N = data.x.size() / n;
  std::vector<double> out(N * nt);
  for (std::size_t r = 0; r < N; ++r) {
    space.difference(ahead.data() + r * n, data.next.data() + r * n, out.data() + r * nt);
  }
  if (const LearnedLaw* law = learned_law(system)) {
    for (const int a : law->angles) {
      for (std::size_t r = 0; r < N; ++r) {
        double& miss = out[r * nt + static_cast<std::size_t>(a)];
        miss = std::remainder(miss, 2 * std::numbers::pi);
      }
    }
  }
  return out;
}

}  // namespace cycloid::inline learn
