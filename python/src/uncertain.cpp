// Models that state their uncertainty: rows in, rows out. Shapes and checks of options are Python's
// part (python/cycloid/_uncertain.py).
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/learn/dropout.h"
#include "cycloid/learn/gaussian_loss.h"
#include "cycloid/learn/laplace.h"
#include "cycloid/learn/moments.h"
#include "recording_rows.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

Transitions transitions_from(const Rows<double>& x, const std::optional<Rows<double>>& u,
                             const Rows<double>& next) {
  Transitions out{copied(x), copied(next)};
  if (u) out.u = copied(*u);
  return out;
}

// Arrays come from files: throws Error where one has another size, or a number that is not finite.
void check_size(const Rows<double>& array, std::size_t numbers, const char* what) {
  const auto all = span_of(array);
  if (all.size() != numbers) {
    throw Error(message(what, " must have ", numbers, " numbers; got ", all.size()));
  }
  for (const double x : all) {
    if (!std::isfinite(x)) throw Error(message(what, " must be finite; got ", x));
  }
}

void bind_noise(nb::module_& m) {
  nb::class_<NoiseNetwork>(m, "NoiseNetwork")
      .def("__init__",
           [](NoiseNetwork* made, const std::vector<int>& widths, const std::vector<int>& angles,
              const Rows<double>& weights, const Rows<double>& least, const Rows<double>& shift,
              const Rows<double>& scale, const Rows<double>& first) {
             NoiseNetwork n;
             n.shape.widths = widths, n.shape.angles = angles;
             n.shape.input_shift = copied(shift), n.shape.input_scale = copied(scale);
             n.shape.output_shift = copied(first);
             n.shape.output_scale.assign(n.shape.output_shift.size(), 1.0);
             n.shape.check();
             check_size(weights, n.shape.numbers(), "the weights of the noise");
             check_size(least, static_cast<std::size_t>(n.shape.outputs()), "the least noise");
             n.weights = copied(weights), n.least = copied(least);
             new (made) NoiseNetwork(std::move(n));
           })
      .def_prop_ro("widths", [](const NoiseNetwork& n) { return n.shape.widths; })
      .def_prop_ro("angles", [](const NoiseNetwork& n) { return n.shape.angles; })
      .def_prop_ro(
          "weights", [](const NoiseNetwork& n) { return to_numpy(n.weights); }, nb::rv_policy::move)
      .def_prop_ro(
          "least", [](const NoiseNetwork& n) { return to_numpy(n.least); }, nb::rv_policy::move)
      .def_prop_ro(
          "shift", [](const NoiseNetwork& n) { return to_numpy(n.shape.input_shift); },
          nb::rv_policy::move)
      .def_prop_ro(
          "scale", [](const NoiseNetwork& n) { return to_numpy(n.shape.input_scale); },
          nb::rv_policy::move)
      .def_prop_ro(
          "first", [](const NoiseNetwork& n) { return to_numpy(n.shape.output_shift); },
          nb::rv_policy::move)
      .def("with_weights",
           [](const NoiseNetwork& n, const Rows<double>& weights) {
             check_size(weights, n.shape.numbers(), "the weights of the noise");
             NoiseNetwork other = n;
             other.weights = copied(weights);
             return other;
           })
      .def("std", [](const NoiseNetwork& n, const Rows<double>& x,
                     const std::optional<Rows<double>>& u, std::int64_t rows) {
        const auto seen = n.features(span_of(x), span_of(u), static_cast<std::size_t>(rows));
        return to_numpy(n.stated(seen, n.weights, 0));
      });
  m.def("make_noise", [](const System& system, const Rows<double>& x,
                         const std::optional<Rows<double>>& u, const Rows<double>& next,
                         const std::vector<int>& hidden, double share, std::uint64_t seed) {
    const Transitions data = transitions_from(x, u, next);
    std::vector<double> first = step_sizes(system, data);
    for (double& s : first) s *= share;
    return make_noise_network(system, data, hidden, first, seed);
  });
  m.def("sample_runs", [](const System& system, const NoiseNetwork& noise, const Rows<double>& x0,
                          const std::optional<Rows<double>>& controls, std::int64_t steps,
                          std::int64_t members, std::uint64_t seed, int threads) {
    std::vector<double> runs;
    {
      const Unlocked call;
      runs = sample_runs(system, noise, span_of(x0), span_of(controls), steps, members, seed,
                         threads, call.keep_going());
    }
    return to_numpy(std::move(runs));
  });
}

void check_indices(const LaplacePosterior& p, std::size_t parameters) {
  for (const int i : p.numbers) {
    if (static_cast<std::size_t>(i) < parameters) continue;
    throw Error(message("there are ", parameters, " parameters; none has the index ", i));
  }
}

void bind_weights(nb::module_& m) {
  nb::class_<LaplacePosterior>(m, "LaplacePosterior")
      .def("__init__",
           [](LaplacePosterior* made, const std::vector<int>& numbers, const Rows<double>& factor,
              const Rows<double>& noise, double prior, double determined) {
             const std::size_t k = numbers.size();
             check_size(factor, k * k, "the factor of the weights' covariance");
             check_size(noise, noise.size(), "the noise of a step");
             for (const int i : numbers) {
               if (i < 0) throw Error(message("no parameter has the index ", i));
             }
             new (made) LaplacePosterior{numbers, copied(factor), copied(noise), prior, determined};
           })
      .def_ro("numbers", &LaplacePosterior::numbers)
      .def_ro("prior", &LaplacePosterior::prior)
      .def_ro("determined", &LaplacePosterior::determined)
      .def_prop_ro(
          "factor", [](const LaplacePosterior& p) { return to_numpy(p.factor); },
          nb::rv_policy::move)
      .def_prop_ro(
          "noise", [](const LaplacePosterior& p) { return to_numpy(p.noise); }, nb::rv_policy::move)
      .def("draw",
           [](const LaplacePosterior& p, const Rows<double>& params, std::uint64_t seed,
              std::uint32_t k) {
             check_indices(p, params.size());
             return to_numpy(laplace_draw(p, span_of(params), seed, k));
           })
      .def("directions", [](const LaplacePosterior& p, std::size_t parameters) {
        check_indices(p, parameters);
        return to_numpy(laplace_directions(p, parameters));
      });
  m.def("laplace", [](const System& system, const Rows<double>& x,
                      const std::optional<Rows<double>>& u, const Rows<double>& next,
                      const std::vector<std::string>& params, double prior, int threads) {
    const Transitions data = transitions_from(x, u, next);
    const Unlocked call;
    return laplace_posterior(system, data, {params, prior, threads, call.keep_going()});
  });
  nb::class_<Dropout>(m, "Dropout")
      .def(nb::init<const System&, double, std::uint64_t>())
      .def("masked", [](const Dropout& d, const Rows<double>& params,
                        std::uint64_t k) { return to_numpy(d.masked(span_of(params), k)); })
      .def("directions", [](const Dropout& d, const Rows<double>& params) {
        return to_numpy(d.directions(span_of(params)));
      });
}

}  // namespace

void bind_uncertain(nb::module_& m) {
  bind_noise(m);
  bind_weights(m);
  m.def("euler_step", [](const System& system) { return euler_step(system); });
  m.def(
      "propagate_moments",
      [](const System& system, const Rows<double>& x0, const std::optional<Rows<double>>& controls,
         std::int64_t steps, const std::optional<Rows<double>>& params,
         const std::optional<Rows<double>>& directions, const NoiseNetwork* noise,
         const std::optional<Rows<double>>& start, int threads) {
        MomentRun run;
        {
          const Unlocked call;
          run = propagate_moments(system, span_of(x0), span_of(controls), steps,
                                  {span_of(params), span_of(directions), noise, span_of(start),
                                   threads, call.keep_going()});
        }
        return nb::make_tuple(to_numpy(std::move(run.mean)), to_numpy(std::move(run.std)),
                              to_numpy(std::move(run.covariance)));
      },
      nb::arg("system"), nb::arg("x0"), nb::arg("controls").none(), nb::arg("steps"),
      nb::arg("params").none(), nb::arg("directions").none(), nb::arg("noise").none(),
      nb::arg("start").none(), nb::arg("threads"));
}

}  // namespace cycloid::python
