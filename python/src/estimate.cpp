// estimate: states, forces and parameters of a recording, with covariance.
#include "cycloid/optimise/estimate.h"

#include "recording_rows.h"
#include "unlocked.h"
#include "watch_function.h"

namespace cycloid::python {
namespace {

using Numbers = std::vector<double>;

EstimateOptions estimate_options(const nb::dict& given) {
  EstimateOptions o;
  const auto numbers = [&](const char* name) { return nb::cast<Numbers>(given[name]); };
  o.forces = nb::cast<std::vector<std::string>>(given["forces"]);
  for (const auto& [names, guess] : nb::cast<std::vector<Request>>(given["params"])) {
    o.params.push_back({names, guess});
  }
  for (const auto& [name, low, high] : nb::cast<std::vector<Range>>(given["bounds"])) {
    o.unknowns.bounds.push_back({name, low, high});
  }
  o.unknowns.parameters = numbers("at");
  o.x0 = numbers("x0"), o.x0_std = numbers("x0_std"), o.process = numbers("process");
  o.force_std = numbers("force_std"), o.force_rate = numbers("force_rate");
  o.param_std = numbers("param_std"), o.param_rate = numbers("param_rate");
  o.smooth = nb::cast<bool>(given["smooth"]);
  o.horizon = nb::cast<int>(given["horizon"]);
  o.iterations = nb::cast<int>(given["iterations"]);
  o.threads = nb::cast<int>(given["threads"]);
  return o;
}

nb::dict estimate_of(Estimate e) {
  nb::dict d;
  nb::list parameters;
  for (const FitParameter& p : e.parameters) {
    parameters.append(nb::make_tuple(p.name, p.place, p.size, p.shape));
  }
  d["states"] = to_numpy(std::move(e.states));
  d["covariance"] = to_numpy(std::move(e.covariance));
  d["forces"] = to_numpy(std::move(e.forces));
  d["params"] = to_numpy(std::move(e.params));
  d["force_names"] = e.force_names;
  d["param_names"] = e.param_names;
  d["parameters"] = parameters;
  d["sigma"] = to_numpy(std::move(e.sigma));
  d["tangents"] = e.tangents;
  d["misfit"] = e.misfit;
  d["measured"] = e.measured;
  d["iterations"] = e.iterations;
  d["converged"] = e.converged;
  d["message"] = e.message;
  d["steps"] = e.steps;
  d["seconds"] = e.seconds;
  return d;
}

}  // namespace

void bind_estimate(nb::module_& m) {
  m.def(
      "estimate",
      [](const System& system, const RecordingRows& rows, const nb::dict& given,
         const nb::object& watch) {
        const Recording recording = recording_of(rows);
        EstimateOptions options = estimate_options(given);
        options.watch = watch_of(watch);
        Estimate found;
        {
          Unlocked call;
          options.keep_going = call.keep_going();
          found = estimate(system, recording, options);
        }
        return estimate_of(std::move(found));
      },
      nb::arg("system"), nb::arg("recording"), nb::arg("options"), nb::arg("watch").none());
}

}  // namespace cycloid::python
