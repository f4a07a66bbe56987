#include "cycloid/base/error.h"
#include "jax.h"
#include "run_options.h"

namespace cycloid::python {
namespace {

// The arguments of an observation, from argument `first` on, copied.
struct ObserveCall {
  ObserveCall(const XlaCall& call, const Observer& observer, int first)
      : columns(observer.system().parameters(), call.integers("columns")),
        x(numbers_of(call.argument(first))),
        u(numbers_of(call.argument(first + 1))),
        parameters(columns.rows_of(call.argument(first + 2))),
        time(call.real("t")),
        threads(static_cast<int>(call.integer("threads"))),
        rows(call.argument(first).shape[0]) {}

  Observation seen_by(const Observer& observer, const KeepGoing& keep_going) const {
    return observe(observer, {x, u, parameters, time, rows}, {threads, keep_going});
  }
  bool operator==(const ObserveCall& other) const {
    return rows == other.rows && time == other.time && x == other.x && u == other.u &&
           parameters == other.parameters;
  }
  std::uint64_t bytes() const { return sizeof(double) * (x.size() + u.size() + parameters.size()); }

  static std::vector<double> numbers_of(const xla::Buffer& buffer) {
    const Numbers<double> numbers(buffer);
    return {numbers.span().begin(), numbers.span().end()};
  }

  ParameterColumns columns;
  std::vector<double> x, u, parameters;
  double time;
  int threads;
  std::int64_t rows;
};

struct KeptObservation final : Kept {
  KeptObservation(std::int64_t owner, ObserveCall asked, Observation observation)
      : Kept(owner, 2 * asked.bytes() + sizeof(double) * observation.values().size()),
        call(std::move(asked)),
        seen(std::move(observation)) {}

  ObserveCall call;
  Observation seen;
};

void observe_handler(const XlaCall& call) {
  const std::int64_t owner = call.integer("system");
  const Observer observer = found_on_shelf<Observer>(owner);
  ObserveCall asked(call, observer, 0);
  Observation seen = asked.seen_by(observer, call.keep_going());
  warn(warning_of(seen.notes()));
  write(call.result(0), std::span<const double>(seen.values()));
  std::uint64_t token = 0;
  if (call.integer("keep") != 0) {
    token = kept_runs().put(
        std::make_shared<KeptObservation>(owner, std::move(asked), std::move(seen)));
  }
  write_token(call.result(1), token);
}

void observe_pullback_handler(const XlaCall& call) {
  const std::int64_t owner = call.integer("system"), wrt = call.integer("wrt");
  const Observer observer = found_on_shelf<Observer>(owner);
  const ObserveCall asked(call, observer, 1);
  auto kept = kept_runs().find<KeptObservation>(
      read_token(call.argument(0)),
      [&](const KeptObservation& k) { return k.owner() == owner && k.call == asked; });
  if (!kept) {
    kept =
        std::make_shared<KeptObservation>(owner, asked, asked.seen_by(observer, call.keep_going()));
  }
  const Numbers<double> bars(call.argument(4));
  const std::size_t pullbacks = pullbacks_of(call.argument(4));
  const std::size_t size = bars.span().size() / pullbacks;
  for (std::size_t p = 0; p < pullbacks; ++p) {
    const ObservationGradient g = kept->seen.pullback(bars.span().subspan(p * size, size),
                                                      {asked.threads, call.keep_going()});
    const Part part{p, pullbacks};
    if (wrt & kFirst) write(call.result(0), std::span(g.states), part);
    if (wrt & kSecond) write(call.result(1), std::span(g.inputs), part);
    if (wrt & kThird) asked.columns.write_bars(g.parameters, call.result(2), part);
  }
}

}  // namespace

void add_observe_handlers(nb::module_& m, nb::dict& handlers) {
  handlers["cycloid_observe"] = capsule_of(&handled<observe_handler>);
  handlers["cycloid_observe_pullback"] = capsule_of(&handled<observe_pullback_handler>);
  m.def(
      "shelve", [](const Observer& observer) { return shelf().put(observer); },
      nb::arg("observer"));
}

}  // namespace cycloid::python
