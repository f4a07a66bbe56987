// Scorecards. A model comes as (name, System or None, forecast or None, novelty or None):
//   forecast(x0, controls, rows, steps) -> (mean, std or None)    rows as flat arrays
//   novelty(x, u, next) -> numbers
#include "cycloid/evaluate/evaluate.h"

#include "cost_terms.h"
#include "module.h"
#include "recording_rows.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

using Numbers = std::vector<double>;
using Held = std::shared_ptr<nb::object>;
using GivenModel = std::tuple<std::string, std::optional<System>, nb::object, nb::object>;

// Freed with the lock, wherever the last copy ends.
Held held(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* o) {
            const nb::gil_scoped_acquire lock;
            delete o;
          }};
}

nb::object array_of(std::span<const double> numbers) {
  return nb::cast(to_numpy(Numbers(numbers.begin(), numbers.end())));
}

template <class F>
auto with_lock(const F& call) {
  const nb::gil_scoped_acquire lock;
  try {
    return call();
  } catch (const nb::python_error& error) {
    remember_if_it_ends_the_program(error);
    throw;
  }
}

Candidate candidate_of(const GivenModel& given) {
  const auto& [name, system, forecast, novelty] = given;
  Candidate out{.name = name, .system = system};
  if (!forecast.is_none()) {
    out.forecast = [f = held(forecast)](std::span<const double> x0,
                                        std::span<const double> controls, std::int64_t rows,
                                        std::int64_t steps) {
      return with_lock([&] {
        const nb::object answer = (*f)(array_of(x0), array_of(controls), rows, steps);
        Forecast found{copied(nb::cast<Rows<double>>(answer[0])), {}};
        if (!answer[1].is_none()) found.std = copied(nb::cast<Rows<double>>(answer[1]));
        return found;
      });
    };
  }
  if (!novelty.is_none()) {
    out.novelty = [f = held(novelty)](std::span<const double> x, std::span<const double> u,
                                      std::span<const double> next) {
      return with_lock([&] {
        return copied(nb::cast<Rows<double>>((*f)(array_of(x), array_of(u), array_of(next))));
      });
    };
  }
  return out;
}

EvaluateOptions evaluate_options(const nb::dict& given) {
  EvaluateOptions o;
  const auto take = [&]<class T>(const char* name, T& value) {
    if (given.contains(name)) value = nb::cast<T>(given[name]);
  };
  take("shifts", o.shifts);
  take("training_seconds", o.training_seconds);
  take("timing", o.timing);
  take("plan_starts", o.plan_starts);
  take("draws", o.draws);
  take("seed", o.seed);
  take("threads", o.threads);
  o.lacks_gradient = [](const std::exception_ptr& thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const nb::python_error& error) {
      const nb::gil_scoped_acquire lock;
      return error.matches(nb::module_::import_("cycloid._core").attr("GradientError"));
    } catch (...) {
      return false;
    }
  };
  if (given.contains("larger")) {
    const auto [model, truth, x0] =
        nb::cast<std::tuple<GivenModel, System, Numbers>>(given["larger"]);
    o.larger = LargerWorld{candidate_of(model), truth, x0};
  }
  return o;
}

}  // namespace

void bind_evaluate(nb::module_& m) {
  nb::class_<Scorecard>(m, "Scorecard")
      .def_prop_ro("scores",
                   [](const Scorecard& card) {
                     nb::list all;
                     for (const Score& s : card.scores) {
                       all.append(nb::make_tuple(s.name, s.value, s.interval.low, s.interval.high,
                                                 name(card.mark(s))));
                     }
                     return all;
                   })
      .def_prop_ro("curves",
                   [](const Scorecard& card) {
                     nb::dict all;
                     for (const ScoreCurve& c : card.curves) {
                       all[c.name.c_str()] = nb::make_tuple(to_numpy(c.x), to_numpy(c.y));
                     }
                     return all;
                   })
      .def_ro("model", &Scorecard::model)
      .def_ro("truth", &Scorecard::truth)
      .def_ro("notes", &Scorecard::notes)
      .def_prop_ro("verdict", &Scorecard::verdict)
      .def_prop_ro("json", &Scorecard::json);
  m.def("scorecard_table",
        [](const std::vector<Scorecard>& cards) { return scorecard_table(cards); });
  m.def("write_scorecards", [](const std::vector<Scorecard>& cards, const std::string& path) {
    scorecard_page(cards).write(path);
  });
  m.def(
      "evaluate",
      [](const GivenModel& model, const System& truth, const Rows<double>& x0,
         const std::optional<Rows<double>>& controls, std::int64_t steps, const nb::object& cost,
         const nb::dict& options) {
        EvaluateOptions o = evaluate_options(options);
        const Candidate candidate = candidate_of(model);
        if (!cost.is_none()) o.cost = cost_of(nb::cast<nb::list>(cost), truth, steps);
        const Controls<double> given =
            controls ? Controls<double>(span_of(*controls), steps) : Controls<double>(steps);
        const Unlocked call;
        o.keep_going = call.keep_going();
        return evaluate_model(candidate, truth, span_of(x0), given, o);
      },
      nb::arg("model"), nb::arg("truth"), nb::arg("x0"), nb::arg("controls").none(),
      nb::arg("steps"), nb::arg("cost").none(), nb::arg("options"));
  m.def(
      "evaluate_recordings",
      [](const GivenModel& model, const std::vector<RecordingRows>& rows, const nb::dict& options) {
        EvaluateOptions o = evaluate_options(options);
        const Candidate candidate = candidate_of(model);
        std::vector<Recording> recordings;
        for (const RecordingRows& r : rows) recordings.push_back(recording_of(r));
        const Unlocked call;
        o.keep_going = call.keep_going();
        return evaluate_model(candidate, recordings, o);
      },
      nb::arg("model"), nb::arg("recordings"), nb::arg("options"));
}

}  // namespace cycloid::python
