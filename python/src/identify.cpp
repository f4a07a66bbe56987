#include "cycloid/optimise/identify.h"

#include <nanobind/stl/map.h>

#include "cycloid/base/error.h"
#include "cycloid/optimise/fit/fit_page.h"
#include "cycloid/optimise/fit/verify_fit.h"
#include "cycloid/record/csv.h"
#include "recording_rows.h"
#include "unlocked.h"
#include "watch_function.h"

namespace cycloid::python {
namespace {

nb::tuple rows_of(const Recording& r) {
  return nb::make_tuple(to_numpy(r.times), to_numpy(r.values), to_numpy(r.controls), r.names,
                        r.sigma, r.x0);
}

Loss loss_of(const std::string& word) {
  for (const Loss loss : {Loss::squared, Loss::huber, Loss::cauchy}) {
    if (word == name(loss)) return loss;
  }
  throw Error(message("loss must be \"squared\", \"huber\" or \"cauchy\", got \"", word, "\""));
}

FitMethod method_of(const std::string& word) {
  for (const FitMethod method :
       {FitMethod::automatic, FitMethod::lm, FitMethod::lbfgs, FitMethod::adam}) {
    if (word == name(method)) return method;
  }
  throw Error(
      message("method must be \"auto\", \"lm\", \"lbfgs\" or \"adam\", got \"", word, "\""));
}

// What Python says about a call, besides the recordings and the unknowns.
IdentifyOptions identify_options(const nb::dict& given) {
  IdentifyOptions o;
  o.x0.known = nb::cast<bool>(given["known"]);
  o.x0.rows = nb::cast<std::vector<double>>(given["x0"]);
  for (const auto& [name, low, high] : nb::cast<std::vector<Range>>(given["bounds"])) {
    o.unknowns.bounds.push_back({name, low, high});
  }
  for (const auto& [name, mean, std] : nb::cast<std::vector<Range>>(given["priors"])) {
    o.unknowns.priors.push_back({name, mean, std});
  }
  o.unknowns.parameters = nb::cast<std::vector<double>>(given["parameters"]);
  o.loss = loss_of(nb::cast<std::string>(given["loss"]));
  o.method = method_of(nb::cast<std::string>(given["method"]));
  o.shooting = nb::cast<double>(given["shooting"]);
  o.restarts = nb::cast<int>(given["restarts"]);
  o.seed = nb::cast<std::uint64_t>(given["seed"]);
  o.iterations = nb::cast<int>(given["iterations"]);
  o.theta = nb::cast<std::vector<double>>(given["theta"]);
  o.starts = nb::cast<std::vector<double>>(given["starts"]);
  o.threads = nb::cast<int>(given["threads"]);
  o.is_stop = [](const std::exception_ptr& thrown) {
    const nb::gil_scoped_acquire lock;
    try {
      std::rethrow_exception(thrown);
    } catch (nb::python_error& error) {
      return error.matches(PyExc_KeyboardInterrupt);
    } catch (...) {
      return false;
    }
  };
  return o;
}

nb::dict fit_of(Fit fit) {
  nb::dict d;
  nb::list parameters, outputs, shown, sigma;
  for (const FitParameter& p : fit.parameters) {
    parameters.append(nb::make_tuple(p.name, p.place, p.size, p.shape, p.offset));
  }
  for (const FitOutput& o : fit.outputs) {
    outputs.append(nb::make_tuple(o.name, o.rms, o.sigma, o.whiteness, o.count));
  }
  for (auto& rows : fit.shown) shown.append(to_numpy(std::move(rows)));
  for (const auto& row : fit.sigma) sigma.append(to_numpy(row));
  d["parameters"] = parameters;
  d["names"] = fit.names;
  d["values"] = to_numpy(std::move(fit.values));
  d["std"] = to_numpy(std::move(fit.std));
  d["covariance"] = to_numpy(std::move(fit.covariance));
  d["information_root"] = to_numpy(std::move(fit.information_root));
  d["flat"] = to_numpy(std::move(fit.flat));
  d["x0"] = to_numpy(std::move(fit.x0));
  d["outputs"] = outputs;
  d["shown"] = shown;
  d["sigma"] = sigma;
  d["weak"] = fit.weak;
  d["determined"] = fit.determined;
  d["converged"] = fit.converged;
  d["message"] = fit.message;
  d["cost"] = fit.cost;
  d["start_cost"] = fit.start_cost;
  d["largest_gap"] = fit.largest_gap;
  d["iterations"] = fit.iterations;
  d["history"] = to_numpy(std::move(fit.history));
  d["steps"] = fit.steps;
  d["seconds"] = fit.seconds;
  d["theta"] = to_numpy(std::move(fit.theta));
  d["starts"] = to_numpy(std::move(fit.starts));
  return d;
}

// A fit from what Python keeps of it, as far as pages and doubts look at it.
Fit fit_from(const nb::dict& kept) {
  Fit f;
  f.names = nb::cast<std::vector<std::string>>(kept["names"]);
  f.values = copied(nb::cast<Rows<double>>(kept["values"]));
  f.std = copied(nb::cast<Rows<double>>(kept["std"]));
  f.covariance = copied(nb::cast<Rows<double>>(kept["covariance"]));
  f.flat = copied(nb::cast<Rows<double>>(kept["flat"]));
  f.history = copied(nb::cast<Rows<double>>(kept["history"]));
  f.weak = nb::cast<std::vector<std::string>>(kept["weak"]);
  f.converged = nb::cast<bool>(kept["converged"]);
  f.message = nb::cast<std::string>(kept["message"]);
  f.iterations = nb::cast<int>(kept["iterations"]);
  f.steps = nb::cast<std::int64_t>(kept["steps"]);
  using Output = std::tuple<std::string, double, double, double, std::int64_t>;
  for (const auto& [name, rms, sigma, p, count] : nb::cast<std::vector<Output>>(kept["outputs"])) {
    f.outputs.push_back({name, rms, sigma, p, count});
  }
  using Parameter = std::tuple<std::string, int, int, std::vector<int>, int>;
  for (const auto& [name, place, size, shape, offset] :
       nb::cast<std::vector<Parameter>>(kept["parameters"])) {
    f.parameters.push_back({name, place, size, shape, offset});
  }
  return f;
}

}  // namespace

void bind_identify(nb::module_& m) {
  m.def(
      "identify",
      [](const System& system, const std::vector<RecordingRows>& recordings,
         const std::vector<Request>& params, const nb::dict& given, const nb::object& watch) {
        IdentifyOptions options = identify_options(given);
        options.watch = watch_of(watch);
        std::vector<Recording> all;
        for (const RecordingRows& rows : recordings) all.push_back(recording_of(rows));
        std::vector<UnknownRequest> requests;
        for (const auto& [names, guess] : params) requests.push_back({names, guess});
        Fit fit;
        {
          const Unlocked call;
          options.keep_going = call.keep_going();
          fit = identify(system, all, requests, options);
        }
        return fit_of(std::move(fit));
      },
      nb::arg("system"), nb::arg("recordings"), nb::arg("params"), nb::arg("options"),
      nb::arg("watch").none());
  m.def(
      "fit_start",
      [](const System& system, const nb::dict& kept, const RecordingRows& rows,
         const std::vector<double>& parameters, const nb::dict& given) {
        const Recording recording = recording_of(rows);
        IdentifyOptions options =
            start_options(system, fit_from(kept), recording, identify_options(given));
        Fit fit;
        {
          const Unlocked call;
          options.keep_going = call.keep_going();
          fit = fit_start(system, recording, parameters, options);
        }
        return fit_of(std::move(fit));
      },
      nb::arg("system"), nb::arg("fit"), nb::arg("recording"), nb::arg("parameters"),
      nb::arg("options"));
  // The page of a fit, from what Python keeps of it.
  m.def(
      "write_fit_page",
      [](const System& system, const nb::dict& fit,
         const std::vector<std::tuple<std::string, RecordingRows, Rows<double>>>& pictures,
         const std::string& verdict, const std::string& path) {
        const Fit f = fit_from(fit);
        std::vector<Recording> recordings;
        std::vector<std::vector<double>> shown;
        for (const auto& [heading, rows, values] : pictures) {
          recordings.push_back(recording_of(rows));
          shown.push_back(copied(values));
        }
        std::vector<FitPicture> all;
        for (std::size_t i = 0; i < pictures.size(); ++i) {
          all.push_back({std::get<0>(pictures[i]), recordings[i], shown[i]});
        }
        fit_page(system, f, all, verdict).write(path);
      },
      nb::arg("system"), nb::arg("fit"), nb::arg("pictures"), nb::arg("verdict"), nb::arg("path"));
  m.def(
      "verify_fit",
      [](const System& system, const nb::dict& kept, const std::vector<RecordingRows>& recordings,
         const Rows<double>& guess, const nb::dict& given, int delay, double noise, int draws,
         double spread, const std::map<std::string, std::vector<double>>& std, std::uint64_t seed,
         int threads) {
        const Fit fit = fit_from(kept);
        IdentifyOptions fitted = identify_options(given);
        std::vector<Recording> all;
        for (const RecordingRows& rows : recordings) all.push_back(recording_of(rows));
        VerifyOptions options;
        options.delay = delay, options.noise = noise, options.draws = draws;
        options.spread = spread, options.std = std, options.seed = seed, options.threads = threads;
        const std::vector<double> before = copied(guess);
        const Unlocked call;
        options.keep_going = call.keep_going();
        return verify_fit(system, fit, all, before, fitted, options);
      },
      nb::arg("system"), nb::arg("fit"), nb::arg("recordings"), nb::arg("guess"),
      nb::arg("options"), nb::arg("delay"), nb::arg("noise"), nb::arg("draws"), nb::arg("spread"),
      nb::arg("std"), nb::arg("seed"), nb::arg("threads"));
  m.def(
      "tied_names",
      [](const System& system, const std::vector<std::string>& patterns) {
        return tied_names(system, patterns);
      },
      nb::arg("system"), nb::arg("patterns"), "The groups of names that tied patterns stand for.");
  m.def(
      "read_recording_csv",
      [](const System& system, const std::string& path) {
        std::vector<std::string> notes;
        const Recording r = recording_from_table(system, read_csv(path), &notes);
        return nb::make_tuple(rows_of(r), notes);
      },
      nb::arg("system"), nb::arg("path"));
  m.def(
      "write_recording_csv",
      [](const System& system, const RecordingRows& rows, const std::string& path) {
        const Recording r = recording_of(rows);
        check_recording(system, r, "the recording");
        write_bytes(path, csv_text(table_from_recording(system, r)));
      },
      nb::arg("system"), nb::arg("recording"), nb::arg("path"));
  m.def(
      "recorded_outputs",
      [](const System& system, const RecordingRows& rows) {
        const Recording r = recording_of(rows);
        check_recording(system, r, "the recording");
        std::vector<std::tuple<std::string, int, int>> all;
        for (const RecordedOutput& o : outputs_of(system, r)) {
          all.emplace_back(o.name, o.column, o.size);
        }
        const Measured measured(system, r);
        std::vector<int> columns;
        for (int i = 0; i < system.states().size(); ++i) {
          columns.push_back(measured.column_of_state(i));
        }
        return nb::make_tuple(all, columns);
      },
      nb::arg("system"), nb::arg("recording"),
      "Name, first column and size of each output; the column of each number of the state, or -1.");
}

}  // namespace cycloid::python
