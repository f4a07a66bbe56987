#include "jax.h"

#include <algorithm>
#include <cstring>

#include "cycloid/adjoint/engine/run.h"
#include "cycloid/base/check.h"
#include "cycloid/base/error.h"
#include "run_options.h"

namespace cycloid::python {

ParameterColumns::ParameterColumns(const Parameters& registry, std::vector<std::int64_t> columns)
    : defaults_(registry.default_values()), columns_(std::move(columns)) {}

std::vector<double> ParameterColumns::rows_of(const xla::Buffer& given) const {
  const Numbers<double> numbers(given);
  const std::span<const double> from = numbers.span();
  if (columns_.empty()) return {from.begin(), from.end()};
  const std::size_t k = columns_.size(), n = defaults_.size(), rows = from.size() / k;
  std::vector<double> all;
  all.reserve(rows * n);
  for (std::size_t r = 0; r < rows; ++r) {
    all.insert(all.end(), defaults_.begin(), defaults_.end());
    for (std::size_t j = 0; j < k; ++j) {
      all[r * n + static_cast<std::size_t>(columns_[j])] = from[r * k + j];
    }
  }
  return all;
}

std::vector<double> ParameterColumns::tangents_of(std::span<const double> from) const {
  if (columns_.empty()) return {from.begin(), from.end()};
  const std::size_t k = columns_.size(), n = defaults_.size(), rows = from.size() / k;
  std::vector<double> all(rows * n, 0.0);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t j = 0; j < k; ++j) {
      all[r * n + static_cast<std::size_t>(columns_[j])] = from[r * k + j];
    }
  }
  return all;
}

void ParameterColumns::write_bars(std::span<const double> rows_bar, const xla::Buffer& to,
                                  Part part) const {
  if (columns_.empty()) {
    write(to, rows_bar, part);
    return;
  }
  const std::size_t n = defaults_.size();
  std::vector<double> chosen;
  for (std::size_t row = 0; row < rows_bar.size(); row += n) {
    for (const std::int64_t c : columns_) {
      chosen.push_back(rows_bar[row + static_cast<std::size_t>(c)]);
    }
  }
  write(to, std::span<const double>(chosen), part);
}

void write_token(const xla::Buffer& buffer, std::uint64_t token) {
  CYCLOID_CHECK(buffer.type == xla::NumberType::uint32 && size_of(buffer) == 2);
  std::memcpy(buffer.data, &token, sizeof(token));
}

std::uint64_t read_token(const xla::Buffer& buffer) {
  CYCLOID_CHECK(buffer.type == xla::NumberType::uint32 && size_of(buffer) == 2);
  std::uint64_t token;
  std::memcpy(&token, buffer.data, sizeof(token));
  return token;
}

RolloutOptions rollout_options_of(const XlaCall& call) {
  RolloutOptions options;
  options.save = save_of(call.text("save"), call.integers("save_steps"));
  options.memory = memory_of(call.text("memory"), call.integer("memory_value"));
  options.threads = static_cast<int>(call.integer("threads"));
  options.t0 = call.real("t0");
  options.times = call.reals("times");
  options.keep_going = call.keep_going();
  return options;
}

namespace {

// The arguments of a rollout, from argument `first` on.
template <class T>
class RolloutCall {
 public:
  RolloutCall(const XlaCall& call, const System& system, int first)
      : system_(system),
        columns_(system.parameters(), call.integers("columns")),
        x0_(call.argument(first)),
        controls_(call.argument(first + 1)),
        parameters_(columns_.rows_of(call.argument(first + 2))),
        steps_(call.integer("steps")),
        options_(rollout_options_of(call)) {}

  const ParameterColumns& columns() const { return columns_; }

  // Without `keep`, nothing that a pullback needs is kept.
  Trajectory<T> run(bool keep) const {
    RolloutOptions options = options_;
    if (!keep) options.memory = Memory::checkpoints(1);
    const std::span<const T> controls = controls_.span();
    return rollout(system_, x0_.span(),
                   controls.empty() ? Controls<T>(steps_) : Controls<T>(controls, steps_),
                   parameters_, options);
  }

  // Tangents in a direction, and with `keep` what second derivatives need.
  Pushforward push(const Direction& direction, bool keep) const {
    RolloutOptions options = options_;
    if (!keep) options.memory = Memory::checkpoints(1);
    const std::span<const T> controls = controls_.span();
    return pushforward(system_, x0_.span(),
                       controls.empty() ? Controls<T>(steps_) : Controls<T>(controls, steps_),
                       direction, parameters_, options);
  }

  // Whether this is the run of these arguments: a token is a hint.
  bool made(const Run<T>& run) const {
    const std::vector<double>& p =
        parameters_.empty() ? system_.parameters().default_values() : parameters_;
    return run.steps == steps_ && run.t0 == options_.t0 && same(x0_.span(), run.x0_raw) &&
           same(controls_.span(), run.controls) && same(std::span(p), run.parameters) &&
           run.sample_times == options_.times &&
           (!options_.times.empty() || run.saved == options_.save.steps(steps_));
  }

 private:
  template <class N>
  static bool same(std::span<const N> a, const std::vector<N>& b) {
    return a.size() == b.size() && (a.empty() || !std::memcmp(a.data(), b.data(), a.size_bytes()));
  }

  const System& system_;
  ParameterColumns columns_;
  Numbers<T> x0_, controls_;
  std::vector<double> parameters_;
  std::int64_t steps_;
  RolloutOptions options_;
};

template <class T>
struct KeptRollout final : Kept {
  KeptRollout(std::int64_t owner, Trajectory<T> trajectory)
      : Kept(owner, bytes_of(trajectory)), run(std::move(trajectory)) {}

  static std::uint64_t bytes_of(const Trajectory<T>& run) {
    const Run<T>& made = run.run();
    return run.report().tape_bytes + run.states().size_bytes() +
           sizeof(T) * (made.x0.size() + made.x0_raw.size() + made.controls.size()) +
           sizeof(double) * made.parameters.size();
  }

  Trajectory<T> run;
};

template <class T>
void roll_out(const XlaCall& call, const System& system) {
  const RolloutCall<T> asked(call, system, 0);
  const bool keep = call.integer("keep") != 0;
  Trajectory<T> run = asked.run(keep);
  if (call.integer("single") != 0) {
    if (call.integer("skip") == 0) check_step(run.report());
    warn(warning_of(run.report()));
  }
  write(call.result(0), run.states());
  const std::int64_t owner = call.integer("system");
  std::uint64_t token = 0;
  if (keep) token = kept_runs().put(std::make_shared<KeptRollout<T>>(owner, std::move(run)));
  write_token(call.result(1), token);
}

template <class T>
void pull_back(const XlaCall& call, const System& system) {
  const RolloutCall<T> asked(call, system, 1);
  const std::int64_t owner = call.integer("system"), wrt = call.integer("wrt");
  auto kept = kept_runs().find<KeptRollout<T>>(
      read_token(call.argument(0)),
      [&](const KeptRollout<T>& k) { return k.owner() == owner && asked.made(k.run.run()); });
  if (!kept) kept = std::make_shared<KeptRollout<T>>(owner, asked.run(true));

  PullbackOptions options;
  options.x0 = wrt & kFirst;
  options.controls = wrt & kSecond;
  options.params = wrt & kThird;
  options.failed =
      call.integer("skip") != 0 ? PullbackOptions::Failed::skip : PullbackOptions::Failed::raise;
  options.keep_going = call.keep_going();
  const Numbers<T> bars(call.argument(4));
  const std::size_t pullbacks = pullbacks_of(call.argument(4));
  const std::size_t size = bars.span().size() / pullbacks;
  for (std::size_t p = 0; p < pullbacks; ++p) {
    const Gradient<T> g = kept->run.pullback(bars.span().subspan(p * size, size), options);
    const Part part{p, pullbacks};
    if (options.x0) write(call.result(0), std::span(g.x0), part);
    if (options.controls) write(call.result(1), std::span(g.controls), part);
    if (options.params) asked.columns().write_bars(g.params, call.result(2), part);
  }
}

// Directions of the three arguments, P of each, from argument `first` on; none where there are no
// numbers.
class Directions {
 public:
  Directions(const XlaCall& call, int first, const ParameterColumns& columns)
      : count_(pullbacks_of(call.argument(first))),
        x0_(call.argument(first)),
        controls_(call.argument(first + 1)),
        given_(call.argument(first + 2)),
        params_(columns.tangents_of(given_.span())) {}

  std::size_t count() const { return count_; }
  Direction operator[](std::size_t p) const {
    Direction direction;
    direction.x0_coordinates = part(x0_.span(), p);
    direction.controls = part(controls_.span(), p);
    direction.params = part(params_, p);
    return direction;
  }

 private:
  std::span<const double> part(std::span<const double> all, std::size_t p) const {
    return all.subspan(p * (all.size() / count_), all.size() / count_);
  }

  std::size_t count_;
  Numbers<double> x0_, controls_, given_;
  std::vector<double> params_;
};

// In double, whatever the system computes in.
void rollout_pushforward_handler(const XlaCall& call) {
  const System system = found_on_shelf<System>(call.integer("system"));
  const RolloutCall<double> asked(call, system, 0);
  const Directions directions(call, 3, asked.columns());
  for (std::size_t p = 0; p < directions.count(); ++p) {
    write(call.result(0), asked.push(directions[p], false).states_tan(),
          Part{p, directions.count()});
  }
}

// Argument 3 has P cotangents of the values, which are held; the directions follow.
void rollout_hvp_handler(const XlaCall& call) {
  const System system = found_on_shelf<System>(call.integer("system"));
  const std::int64_t wrt = call.integer("wrt");
  const RolloutCall<double> asked(call, system, 0);
  const Numbers<double> bars(call.argument(3));
  const Directions directions(call, 4, asked.columns());
  const std::size_t size = bars.span().size() / directions.count();
  const std::vector<double> none(size, 0.0);
  for (std::size_t p = 0; p < directions.count(); ++p) {
    const Gradient<double> g =
        asked.push(directions[p], true)
            .pullback(bars.span().subspan(p * size, size), none, false, call.keep_going())
            .gradient_tan;
    const Part part{p, directions.count()};
    if (wrt & kFirst) write(call.result(0), std::span(g.x0), part);
    if (wrt & kSecond) write(call.result(1), std::span(g.controls), part);
    if (wrt & kThird) asked.columns().write_bars(g.params, call.result(2), part);
  }
}

void rollout_handler(const XlaCall& call) {
  const System system = found_on_shelf<System>(call.integer("system"));
  if (system.precision() == Precision::float64) roll_out<double>(call, system);
  else roll_out<float>(call, system);
}

void rollout_pullback_handler(const XlaCall& call) {
  const System system = found_on_shelf<System>(call.integer("system"));
  if (system.precision() == Precision::float64) pull_back<double>(call, system);
  else pull_back<float>(call, system);
}

// On platforms that are neither the CPU nor an NVIDIA card.
void refuse(const XlaCall&) {
  throw Error(
      "cycloid computes on the CPU and on NVIDIA cards; put the computation there: with "
      "jax.default_device(jax.devices(\"cpu\")[0]), or jax.device_put of its arguments");
}

nb::dict counts_of_kept_runs() {
  const KeptRuns::Counts counts = kept_runs().counts();
  nb::dict d;
  d["runs"] = counts.runs;
  d["bytes"] = counts.bytes;
  d["found"] = counts.found;
  d["missed"] = counts.missed;
  return d;
}

}  // namespace

void bind_jax(nb::module_& m) {
  nb::dict handlers;
  handlers["cycloid_rollout"] = capsule_of(&handled<rollout_handler>);
  handlers["cycloid_rollout_pullback"] = capsule_of(&handled<rollout_pullback_handler>);
  handlers["cycloid_rollout_pushforward"] = capsule_of(&handled<rollout_pushforward_handler>);
  handlers["cycloid_rollout_hvp"] = capsule_of(&handled<rollout_hvp_handler>);
  m.def(
      "shelve", [](const System& system) { return shelf().put(system); }, nb::arg("system"),
      "A handle by which handlers find the system, until it is unshelved.");
  add_observe_handlers(m, handlers);
  m.attr("xla_handlers") = handlers;
  m.attr("xla_refusal") = capsule_of(&handled<refuse>);
  add_card_handlers(m);
  m.def(
      "unshelve",
      [](std::int64_t handle) {
        shelf().drop(handle);
        kept_runs().drop_of(handle);
      },
      nb::arg("handle"));
  m.def("kept_runs", &counts_of_kept_runs, "What forward calls left for their pullbacks.");
  m.def("drop_kept_runs", [] { kept_runs().drop_all(); });
  m.def(
      "set_kept_budget", [](std::uint64_t bytes) { return kept_runs().set_budget(bytes); },
      nb::arg("bytes"), "What kept runs may take together; returns what it was.");
}

}  // namespace cycloid::python
