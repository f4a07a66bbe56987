// What runs on a card (`make test-gpu`): parity of steps and gradients with the CPU in double,
// determinism, and figures. A program of its own, so that it runs where Python does not.
//
//   device_check [--device cuda|host] [--laws] [--parity] [--jacobians] [--cosines] [--many]
//                [--figures] [--jacobian-figures] [model.cym …]
//                none of the words: laws, parity and jacobians
//
// Parity of one step and its pullback from states on the way of a rollout under random inputs:
//   |Δx_device - Δx_cpu| / (|Δx_cpu| + 1e-3 √nx)   at most 1e-4 (float), 1e-9 (double)
//   |bar_device - bar_cpu| / |bar_cpu|             at most 1e-3 (float), 1e-8 (double)
// both at the 95th percentile of 256 environments, and of the Jacobians A and B as of cotangents.
// --cosines: the gradient of 20 steps, in float, with the CPU's in double: cosine at least 0.999 at
// the 10 % quantile. --many: 10⁶ steps of environments from random states; every gradient is finite
// or its environment is named.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "cycloid/adjoint/engine/device_rollout.h"
#include "cycloid/adjoint/linearise.h"
#include "cycloid/adjoint/rollout.h"
#include "cycloid/base/error.h"
#include "cycloid/device/device.h"
#include "cycloid/model/model_file.h"
#include "cycloid/rigid/robot.h"
#include "cycloid/system/systems.h"

using namespace cycloid;

namespace {

using Clock = std::chrono::steady_clock;
std::string where = "cuda";
int failures = 0;

void judge(bool good, const std::string& what) {
  std::printf("%-6s %s\n", good ? "ok" : "FAILED", what.c_str());
  std::fflush(stdout);
  failures += !good;
}

double noise(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(state >> 11) / 4503599627370496.0 - 1;
}

template <class T>
std::vector<T> random_numbers(std::size_t n, double size, std::uint64_t seed) {
  std::vector<T> out(n);
  for (T& x : out) x = static_cast<T>(size * noise(seed));
  return out;
}

template <class To, class From>
std::vector<To> as(const std::vector<From>& from) {
  return {from.begin(), from.end()};
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[static_cast<std::size_t>(q * double(values.size() - 1))];
}

// Of each environment, |a - b| / (|b| + least).
template <class A, class B>
std::vector<double> relative_errors(const A& a, const B& b, std::size_t batch, double least) {
  std::vector<double> out;
  const std::size_t n = a.size() / batch;
  for (std::size_t e = 0; e < batch; ++e) {
    double difference = 0, size = 0;
    for (std::size_t i = e * n; i < (e + 1) * n; ++i) {
      const double x = double(a[i]), y = double(b[i]);
      difference += (x - y) * (x - y), size += y * y;
    }
    out.push_back(std::sqrt(difference) / (std::sqrt(size) + least));
  }
  return out;
}

// States of a CPU run in double, environment by environment: where parity is asked.
std::vector<double> visited(const System& cpu, std::int64_t batch, std::int64_t steps) {
  const std::size_t nx = static_cast<std::size_t>(cpu.states().size());
  std::vector<double> x0;
  std::uint64_t seed = 7;
  for (std::int64_t e = 0; e < batch; ++e) {
    std::vector<double> d(static_cast<std::size_t>(cpu.states().tangent_size())), x(nx);
    for (double& v : d) v = 0.05 * noise(seed);
    cpu.states().retract(cpu.initial_state().data(), d.data(), x.data());
    x0.insert(x0.end(), x.begin(), x.end());
  }
  const std::size_t nu = static_cast<std::size_t>(cpu.inputs().size());
  const auto u = random_numbers<double>(static_cast<std::size_t>(batch * steps) * nu, 0.4, 11);
  RolloutOptions options;
  options.save = Save::last();
  const Controls<double> controls = nu > 0 ? Controls<double>(u, steps) : Controls<double>(steps);
  const auto run = rollout(cpu, x0, controls, {}, options);
  return {run.states().begin(), run.states().end()};
}

struct Result {
  std::vector<double> states, x0, controls, params;
};

template <class T>
Result one_step(const System& system, const std::vector<double>& x, const std::vector<double>& u,
                const std::vector<double>& bar, std::int64_t steps) {
  RolloutOptions options;
  options.save = Save::last();
  const auto xs = as<T>(x), us = as<T>(u), bars = as<T>(bar);
  const Controls<T> controls = us.empty() ? Controls<T>(steps) : Controls<T>(us, steps);
  const auto run = rollout(system, xs, controls, {}, options);
  PullbackOptions pull;
  pull.failed = PullbackOptions::Failed::skip;
  const Gradient<T> g = run.pullback(bars, pull);
  Result out;
  out.states.assign(run.states().begin(), run.states().end());
  out.x0.assign(g.x0_tangent.begin(), g.x0_tangent.end());
  out.controls.assign(g.controls.begin(), g.controls.end());
  out.params = g.params;
  return out;
}

double whole_error(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i])) continue;
    difference += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
  }
  return size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
}

void parity(const std::string& name, const System& single, const System& wide, std::int64_t batch,
            std::int64_t steps_before) {
  const std::vector<double> x = visited(wide, batch, steps_before);
  const std::size_t rows = static_cast<std::size_t>(batch), nx = x.size() / rows,
                    nu = static_cast<std::size_t>(wide.inputs().size());
  const auto u = random_numbers<double>(rows * nu, 0.4, 23);
  const auto bar = random_numbers<double>(rows * nx, 1, 29);
  const Result truth = one_step<double>(wide, x, u, bar, 1);
  const auto compare = [&](const char* precision, const Result& got, double v_tol, double bar_tol) {
    std::vector<double> dv, dv_true;
    for (std::size_t i = 0; i < x.size(); ++i) {
      dv.push_back(got.states[i] - x[i]), dv_true.push_back(truth.states[i] - x[i]);
    }
    const double least = 1e-3 * std::sqrt(double(nx));
    const auto dv_errors = relative_errors(dv, dv_true, rows, least);
    const auto x_errors = relative_errors(got.x0, truth.x0, rows, 0);
    const double u_error = nu > 0 ? whole_error(got.controls, truth.controls) : 0;
    const double p_error = whole_error(got.params, truth.params);
    const double v95 = quantile(dv_errors, 0.95), x95 = quantile(x_errors, 0.95);
    char text[300];
    std::snprintf(text, sizeof text,
                  "%s, %s: change of state %.1e (median %.1e), cotangent %.1e (median %.1e), "
                  "inputs %.1e, parameters %.1e",
                  name.c_str(), precision, v95, quantile(dv_errors, 0.5), x95,
                  quantile(x_errors, 0.5), u_error, p_error);
    // Inputs and parameters are sums over all environments, outliers included: ten times as much.
    const bool sums = u_error <= 10 * bar_tol && p_error <= 10 * bar_tol;
    judge(v95 <= v_tol && x95 <= bar_tol && sums && truth.x0.size() > 0, text);
  };
  const auto same = [](const Result& a, const Result& b) {
    return a.states == b.states && a.x0 == b.x0 && a.controls == b.controls &&
           std::memcmp(a.params.data(), b.params.data(), 8 * a.params.size()) == 0;
  };
  const System near = on_device(single, where), there = on_device(wide, where);
  const Result first = one_step<float>(near, x, u, bar, 1);
  compare("float", first, 1e-4, 1e-3);
  judge(same(one_step<float>(near, x, u, bar, 1), first), name + ": the same bits twice");
  try {
    compare("double", one_step<double>(there, x, u, bar, 1), 1e-9, 1e-8);
  } catch (const Error& e) {  // a library without double
    std::printf("left out %s, double: %s\n", name.c_str(), e.what());
  }
}

// A and B of float and double on the device next to those of the CPU in double, and the same bits
// where another number of threads shares an environment's rows.
void check_jacobians(const std::string& name, const System& single, const System& wide) {
  constexpr std::size_t kRows = 256;
  const std::vector<double> x = visited(wide, kRows, 40);
  const std::size_t nu = static_cast<std::size_t>(wide.inputs().size());
  const auto u = random_numbers<double>(kRows * nu, 0.4, 23);
  LineariseOptions options;
  options.unsolved = true;
  const auto truth = linearise(wide, x, u, {}, options);
  const auto compare = [&](const char* precision, const auto& got, double tolerance) {
    const double a = quantile(relative_errors(got.A, truth.A, kRows, 0), 0.95),
                 b = nu > 0 ? quantile(relative_errors(got.B, truth.B, kRows, 1e-9), 0.95) : 0;
    char text[200];
    std::snprintf(text, sizeof text, "%s, %s: A %.1e, B %.1e", name.c_str(), precision, a, b);
    judge(a <= tolerance && b <= tolerance, text);
  };
  const System near = on_device(single, where), there = on_device(wide, where);
  const auto xs = as<float>(x), us = as<float>(u);
  const auto found = linearise(near, xs, us, {}, options);
  compare("Jacobians in float", found, 1e-3);
  std::vector<float> many;  // so many that a thread has all rows of its environment
  for (int i = 0; i < 130; ++i) many.insert(many.end(), xs.begin(), xs.end());
  std::vector<float> inputs;
  for (int i = 0; i < 130; ++i) inputs.insert(inputs.end(), us.begin(), us.end());
  const auto all = linearise(near, many, inputs, {}, options);
  judge(std::equal(found.A.begin(), found.A.end(), all.A.begin()) &&
            std::equal(found.A.rbegin(), found.A.rend(), all.A.rbegin()),
        name + ": the same bits, whoever shares the rows");
  try {
    compare("Jacobians in double", linearise(there, x, u, {}, options), 1e-8);
  } catch (const Error& e) {  // a library without double
    std::printf("left out %s, double: %s\n", name.c_str(), e.what());
  }
}

// Jacobians of states that lie on the device, to there.
void jacobian_figures(const std::string& name, const System& single, std::int64_t batch) {
  const System there = on_device(single, where);
  const auto& device = device_of(there)->device;
  const std::vector<double> some = visited(single.in_double(), 256, 40);
  const std::int64_t nx = static_cast<std::int64_t>(some.size()) / 256, nu = single.inputs().size(),
                     nt = single.states().tangent_size();
  std::vector<float> x;
  for (std::int64_t e = 0; e < batch; ++e) {
    const double* row = some.data() + (e % 256) * nx;
    x.insert(x.end(), row, row + nx);
  }
  const auto u = random_numbers<float>(static_cast<std::size_t>(batch * nu), 0.4, 3);
  const DeviceBuffer<float> x0(device, batch * nx), controls(device, batch * nu),
      next(device, batch * nx), A(device, batch * nt * nt), B(device, batch * nt * nu);
  x0.put(x.data(), batch * nx);
  controls.put(u.data(), batch * nu);
  LineariseOptions options;
  options.unsolved = true;
  double best = 1e30;
  for (int i = 0; i < 4; ++i) {
    const auto begun = Clock::now();
    device_linearise<float>(there, batch, {x0.data(), controls.data(), next.data()}, A.data(),
                            B.data(), batch, {}, options);
    best = std::min(best, std::chrono::duration<double>(Clock::now() - begun).count());
  }
  std::printf("figure %s: %lld environments, Jacobians A and B on the device: %.3f million/s\n",
              name.c_str(), static_cast<long long>(batch), 1e-6 * double(batch) / best);
  std::fflush(stdout);
}

// Of each environment, the cosine of the two cotangents; 1 where both are zero.
std::vector<double> cosines(const Result& a, const Result& b, std::size_t batch) {
  std::vector<double> out;
  const std::size_t n = a.x0.size() / batch, m = a.controls.size() / batch;
  for (std::size_t e = 0; e < batch; ++e) {
    double ab = 0, aa = 0, bb = 0;
    const auto add = [&](double x, double y) { ab += x * y, aa += x * x, bb += y * y; };
    for (std::size_t i = e * n; i < (e + 1) * n; ++i) add(a.x0[i], b.x0[i]);
    for (std::size_t i = e * m; i < (e + 1) * m; ++i) add(a.controls[i], b.controls[i]);
    out.push_back(aa == bb ? 1 : ab / std::sqrt(aa * bb));
  }
  return out;
}

void check_cosines(const std::string& name, const System& single, const System& wide) {
  constexpr std::int64_t kBatch = 256, kSteps = 20;
  const std::vector<double> x = visited(wide, kBatch, 40);
  const auto u = random_numbers<double>(
      static_cast<std::size_t>(kBatch * kSteps * wide.inputs().size()), 0.4, 23);
  const auto bar = random_numbers<double>(x.size(), 1, 29);
  const Result truth = one_step<double>(wide, x, u, bar, kSteps);
  const Result card = one_step<float>(on_device(single, where), x, u, bar, kSteps);
  const Result lanes = one_step<float>(single, x, u, bar, kSteps);
  const auto c = cosines(card, truth, kBatch), d = cosines(lanes, truth, kBatch);
  char text[300];
  std::snprintf(text, sizeof text,
                "%s: 20 steps in float, cosine at 10 %% %.6f (least %.4f); lanes of the CPU in "
                "float %.6f (%.4f)",
                name.c_str(), quantile(c, 0.1), quantile(c, 0), quantile(d, 0.1), quantile(d, 0));
  judge(quantile(c, 0.1) >= 0.999, text);
}

void check_many(const std::string& name, const System& single) {
  constexpr std::int64_t kBatch = 31250, kSteps = 32;
  const System there = on_device(single, where);
  const std::size_t nx = static_cast<std::size_t>(single.states().size());
  std::vector<double> d(static_cast<std::size_t>(single.states().tangent_size())), row(nx);
  std::vector<float> x;
  std::uint64_t seed = 3;
  for (std::int64_t e = 0; e < kBatch; ++e) {
    for (double& v : d) v = 0.5 * noise(seed);
    single.states().retract(single.initial_state().data(), d.data(), row.data());
    x.insert(x.end(), row.begin(), row.end());
  }
  const auto u = random_numbers<float>(
      static_cast<std::size_t>(kBatch * kSteps * single.inputs().size()), 1, 5);
  const Controls<float> controls = u.empty() ? Controls<float>(kSteps) : Controls<float>(u, kSteps);
  RolloutOptions options;
  options.save = Save::last();
  const auto run = rollout(there, x, controls, {}, options);
  const std::vector<float> bar(x.size(), 1.0f);
  PullbackOptions pull;
  pull.failed = PullbackOptions::Failed::skip;
  const auto g = run.pullback(bar, pull);
  std::int64_t zero = 0, wrong = 0;
  const std::size_t nt = d.size();
  for (std::size_t e = 0; e < static_cast<std::size_t>(kBatch); ++e) {
    double sum = 0;
    for (std::size_t i = 0; i < nt; ++i) sum += std::abs(double(g.x0_tangent[e * nt + i]));
    zero += sum == 0, wrong += !std::isfinite(sum);
  }
  std::int64_t bad = 0;
  for (const double v : g.params) bad += std::isinf(v);
  const std::size_t named = run.report().failed.size() + run.report().unsolved.size();
  char text[300];
  std::snprintf(text, sizeof text,
                "%s: %lld steps from random states, %.2f contacts: %zu failed, %zu unsolved, %zu "
                "crowded, %lld without gradient, %lld not finite",
                name.c_str(), static_cast<long long>(kBatch * kSteps),
                run.report().mean("contacts"), run.report().failed.size(),
                run.report().unsolved.size(), run.report().crowded.size(),
                static_cast<long long>(zero), static_cast<long long>(wrong));
  judge(wrong == 0 && bad == 0 && named < static_cast<std::size_t>(kBatch) / 20, text);
}

void figures(const std::string& name, const System& single, std::int64_t batch,
             std::int64_t steps) {
  const System there = on_device(single, where);
  const std::vector<double> some = visited(single.in_double(), 256, 40);
  const std::size_t nx = some.size() / 256, nu = static_cast<std::size_t>(single.inputs().size());
  std::vector<float> x;
  for (std::int64_t e = 0; e < batch; ++e) {
    const double* row = some.data() + static_cast<std::size_t>(e % 256) * nx;
    x.insert(x.end(), row, row + nx);
  }
  const auto u = random_numbers<float>(static_cast<std::size_t>(steps) * nu, 0.4, 3);
  RolloutOptions options;
  options.save = Save::last();
  const std::vector<float> bar(x.size(), 1.0f);
  double forward = 1e30, both = 1e30, contacts = 0;
  const Controls<float> controls = nu ? Controls<float>(u, steps) : Controls<float>(steps);
  for (int i = 0; i < 3; ++i) {
    const auto a = Clock::now();
    const auto run = rollout(there, x, controls, {}, options);
    const auto b = Clock::now();
    PullbackOptions pull;
    pull.failed = PullbackOptions::Failed::skip;
    pull.controls = false;  // one sequence for all: its sum is the host's
    const auto g = run.pullback(bar, pull);
    const auto c = Clock::now();
    contacts = run.report().mean("contacts");
    if (i == 0) {
      std::printf("figure %s: failed %zu, unsolved %zu, crowded %zu\n", name.c_str(),
                  run.report().failed.size(), run.report().unsolved.size(),
                  run.report().crowded.size());
    }
    forward = std::min(forward, std::chrono::duration<double>(b - a).count());
    both = std::min(both, std::chrono::duration<double>(c - a).count());
  }
  const double million = 1e-6 * double(batch * steps);
  std::printf(
      "figure %s: %lld environments, %lld steps, %.2f contacts: forward %.2f, both with "
      "parameters %.2f million steps/s (copies included)\n",
      name.c_str(), static_cast<long long>(batch), static_cast<long long>(steps), contacts,
      million / forward, million / both);
  std::fflush(stdout);
}

// The same from arrays that stay on the device, to there.
void resident_figures(const std::string& name, const System& single, std::int64_t batch,
                      std::int64_t steps) {
  const System there = on_device(single, where);
  const auto& device = device_of(there)->device;
  const std::vector<double> some = visited(single.in_double(), 256, 40);
  const std::int64_t nx = static_cast<std::int64_t>(some.size()) / 256, nu = single.inputs().size();
  std::vector<float> x;
  for (std::int64_t e = 0; e < batch; ++e) {
    const double* row = some.data() + (e % 256) * nx;
    x.insert(x.end(), row, row + nx);
  }
  const auto u = random_numbers<float>(static_cast<std::size_t>(steps * nu), 0.4, 3);
  const DeviceBuffer<float> x0(device, batch * nx), states(device, batch * nx),
      bar(device, batch * nx), x0_bar(device, batch * nx), controls(device, steps * nu);
  x0.put(x.data(), batch * nx);
  bar.put(std::vector<float>(x.size(), 1.0f).data(), batch * nx);
  controls.put(u.data(), steps * nu);
  RolloutOptions options;
  options.save = Save::last();
  PullbackOptions pull;
  pull.failed = PullbackOptions::Failed::skip;
  double forward = 1e30, both = 1e30;
  for (int i = 0; i < 4; ++i) {
    const auto a = Clock::now();
    DeviceRollout<float> run(there, batch, steps, {x0.data(), controls.data(), states.data()}, 1,
                             {}, options);
    const auto b = Clock::now();
    run.pullback({bar.data(), x0_bar.data(), nullptr}, pull);
    const auto c = Clock::now();
    forward = std::min(forward, std::chrono::duration<double>(b - a).count());
    both = std::min(both, std::chrono::duration<double>(c - a).count());
  }
  const double million = 1e-6 * double(batch * steps);
  std::printf(
      "figure %s: %lld environments, %lld steps, arrays on the device: forward %.2f, both with "
      "parameters %.2f million steps/s\n",
      name.c_str(), static_cast<long long>(batch), static_cast<long long>(steps), million / forward,
      million / both);
  std::fflush(stdout);
}

struct Asked {
  bool laws = false, parity = false, cosines = false, many = false, figures = false;
  bool jacobians = false, jacobian_figures = false;
};

void check_model(const std::string& path, const Asked& asked) {
  SavedModel saved = read_model(path);
  const std::string name = path.substr(path.rfind('/') + 1);
  // name_smooth.cym: without constraints
  if (name.find("_smooth") != std::string::npos) saved.model.options.acting.constraints = false;
  RobotOptions options;
  const System wide = make_robot(saved.model, options);
  options.precision = Precision::float32;
  const System single = make_robot(saved.model, options);
  try {
    if (asked.parity) parity(name, single, wide, 256, 40);
    if (asked.jacobians) check_jacobians(name, single, wide);
    if (asked.cosines) check_cosines(name, single, wide);
    if (asked.many) check_many(name, single);
    if (asked.figures) {
      for (const std::int64_t batch : {8192, 32768, 65536}) {
        figures(name, single, batch, 32);
        resident_figures(name, single, batch, 32);
      }
    }
    for (const std::int64_t batch : {1024, 8192, 32768, 65536}) {
      if (asked.jacobian_figures) jacobian_figures(name, single, batch);
    }
  } catch (const ModelError& e) {
    std::printf("refused %s: %s\n", name.c_str(), e.what());
  }
}

void check_laws() {
  for (const char* law :
       {"pendulum", "double_pendulum", "projectile", "kepler", "lorenz", "spring_chain"}) {
    systems::Settings settings;
    const System wide = systems::make(law, {}, settings, 5);
    settings.precision = Precision::float32;
    parity(law, systems::make(law, {}, settings, 5), wide, 512, 20);
  }
}

}  // namespace

int main(int count, char** arguments) {
  Asked asked;
  std::vector<std::string> models;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--device") where = arguments[++i];
    else if (word == "--laws") asked.laws = true;
    else if (word == "--parity") asked.parity = true;
    else if (word == "--jacobians") asked.jacobians = true;
    else if (word == "--jacobian-figures") asked.jacobian_figures = true;
    else if (word == "--cosines") asked.cosines = true;
    else if (word == "--many") asked.many = true;
    else if (word == "--figures") asked.figures = true;
    else models.push_back(word);
  }
  if (!(asked.laws || asked.parity || asked.cosines || asked.many || asked.figures ||
        asked.jacobians || asked.jacobian_figures)) {
    asked.laws = asked.parity = asked.jacobians = true;
  }
  try {
    for (const std::string& d : devices()) std::printf("device %s\n", d.c_str());
    if (asked.laws) check_laws();
    for (const std::string& path : models) check_model(path, asked);
  } catch (const std::exception& e) {
    std::printf("error: %s\n", e.what());
    return 1;
  }
  std::printf("%d failures\n", failures);
  return failures > 0;
}
