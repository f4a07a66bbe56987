// Rollouts of closed-form laws and their gradients, one thread. Time per environment and step.
//
// Each case reports `env_steps` per second and, as a label, what the adjoint kept. The gradient is
// with respect to the initial states, the inputs (shared zeros) and all parameters.
#include <benchmark/benchmark.h>

#include "cycloid/cycloid.h"

namespace {

using namespace cycloid;

template <class T>
struct Case {
  System system;
  std::vector<T> x0, states_bar;
  std::int64_t batch, steps;
  RolloutOptions options;

  Case(const char* law, Precision precision, std::int64_t environments, std::int64_t T_steps)
      : system(systems::make(law, {}, {.precision = precision})),
        batch(environments),
        steps(T_steps) {
    const std::vector<double>& x = system.initial_state();
    for (std::int64_t e = 0; e < batch; ++e) {
      for (const double v : x) x0.push_back(static_cast<T>(v + 1e-3 * static_cast<double>(e % 97)));
    }
    states_bar.assign(x0.size(), T(1));
    options.save = Save::last();
    options.threads = 1;
  }

  Trajectory<T> forward() const {
    return rollout(system, std::span<const T>(x0), Controls<T>(steps), {}, options);
  }

  void count(benchmark::State& state, const Trajectory<T>& run) const {
    state.counters["env_steps"] = benchmark::Counter(static_cast<double>(batch * steps),
                                                     benchmark::Counter::kIsIterationInvariantRate);
    state.SetLabel(run.report().memory + ", " + run.report().instruction_set);
  }
};

template <class T>
void forward(benchmark::State& state, const char* law, Precision precision, std::int64_t batch,
             std::int64_t steps) {
  const Case<T> c(law, precision, batch, steps);
  for (auto _ : state) benchmark::DoNotOptimize(c.forward().states().data());
  c.count(state, c.forward());
}

template <class T>
void forward_backward(benchmark::State& state, const char* law, Precision precision,
                      std::int64_t batch, std::int64_t steps) {
  const Case<T> c(law, precision, batch, steps);
  for (auto _ : state) {
    const Trajectory<T> run = c.forward();
    benchmark::DoNotOptimize(run.pullback(c.states_bar).x0.data());
  }
  c.count(state, c.forward());
}

template <class T>
void add(const std::string& name, const char* law, Precision precision, std::int64_t batch,
         std::int64_t steps) {
  benchmark::RegisterBenchmark((name + "/forward").c_str(), forward<T>, law, precision, batch,
                               steps)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark((name + "/forward_backward").c_str(), forward_backward<T>, law,
                               precision, batch, steps)
      ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add<float>("pendulum/4096x1000/float32", "pendulum", Precision::float32, 4096, 1000);
  add<double>("pendulum/4096x1000/float64", "pendulum", Precision::float64, 4096, 1000);
  add<double>("pendulum/1x1000/float64", "pendulum", Precision::float64, 1, 1000);
  add<double>("pendulum/100x1000/float64", "pendulum", Precision::float64, 100, 1000);
  add<double>("double_pendulum/1x1000/float64", "double_pendulum", Precision::float64, 1, 1000);
  add<float>("double_pendulum/4096x1000/float32", "double_pendulum", Precision::float32, 4096,
             1000);
  add<double>("lorenz/4096x1000/float64", "lorenz", Precision::float64, 4096, 1000);
  benchmark::RunSpecifiedBenchmarks();
}
