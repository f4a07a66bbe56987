// Networks: rows in, rows out. Shapes, names and checks of options are Python's part
// (python/cycloid/networks.py).
#include <nanobind/stl/map.h>

#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/couple/add_network.h"
#include "cycloid/couple/close_loop.h"
#include "cycloid/network/adam.h"
#include "module.h"
#include "networks.h"

namespace cycloid::python {
namespace {

template <class T>
using Output = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
template <class T>
using Given = std::optional<Rows<T>>;
template <class T>
using Wanted = std::optional<Output<T>>;

template <class T>
const MlpPlan<T>& plan_of(const Mlp& net) {
  if constexpr (std::is_same_v<T, float>) return net.float32;
  else return net.float64;
}

// Throws Error with the first number that is not finite.
template <class T>
void check_numbers(const Rows<T>& array, std::int64_t numbers, const char* what, int columns) {
  if (static_cast<std::int64_t>(array.size()) != numbers) {
    throw Error(message(what, " must have ", numbers, " numbers; got ", array.size()));
  }
  T sum = 0;  // not finite where one is not: x - x is 0 or NaN
  const T* const x = array.data();
  for (std::int64_t i = 0; i < numbers; ++i) sum += x[i] - x[i];
  if (sum == 0) return;
  for (std::int64_t i = 0; i < numbers; ++i) {
    if (std::isfinite(x[i])) continue;
    throw Error(columns > 0
                    ? message(what, " must be finite; got ", static_cast<double>(x[i]), " in row ",
                              i / columns, ", column ", i % columns)
                    : message(what, " must be finite; got ", static_cast<double>(x[i]), " at ", i));
  }
}

template <class T>
void call(const Mlp& net, MlpCall what, const Rows<T>& w, const Rows<T>& x, const Given<T>& v,
          const Given<T>& u, const Given<T>& y_bar, const Wanted<T>& y, const Wanted<T>& y_tan,
          const Wanted<T>& x_bar, const Wanted<T>& v_bar, const Wanted<T>& w_bar, int threads) {
  const MlpShape& shape = net.float64.shape;
  const int n = shape.inputs(), m = shape.outputs();
  MlpRows<T> rows;
  rows.rows = static_cast<std::int64_t>(x.size()) / n;
  check_numbers(x, rows.rows * n, "x", n);
  const auto given = [&](const Given<T>& array, const char* name, int columns) -> const T* {
    if (!array) return nullptr;
    check_numbers(*array, rows.rows * columns, name, columns);
    return array->data();
  };
  const auto wanted = [&](const Wanted<T>& array) { return array ? array->data() : nullptr; };
  rows.w = w.data(), rows.x = x.data();
  rows.v = given(v, what == MlpCall::gradient_pullback ? "g_bar" : "v", n);
  rows.u = given(u, "h_bar", n), rows.y_bar = given(y_bar, "y_bar", m);
  rows.y = wanted(y), rows.y_tan = wanted(y_tan), rows.x_bar = wanted(x_bar);
  rows.v_bar = wanted(v_bar), rows.w_bar = wanted(w_bar);
  const auto run = [&] { run_rows(what, plan_of<T>(net), rows, threads); };
  if (rows.rows <= kBlockRows) return run();
  const nb::gil_scoped_release unlocked;
  run();
}

template <class T>
void bind_calls(nb::class_<Mlp>& c, const std::string& bits) {
  c.def(("call" + bits).c_str(), &call<T>, nb::arg("what"), nb::arg("w"), nb::arg("x"),
        nb::arg("v").none(), nb::arg("u").none(), nb::arg("y_bar").none(), nb::arg("y").none(),
        nb::arg("y_tan").none(), nb::arg("x_bar").none(), nb::arg("v_bar").none(),
        nb::arg("w_bar").none(), nb::arg("threads"));
  c.def(("check_weights" + bits).c_str(), [](const Mlp& net, const Rows<T>& w) {
    check_numbers(w, static_cast<std::int64_t>(net.float64.shape.numbers()), "weights", 0);
  });
}

// A network with weights that stay, for rows one at a time: fewer arrays to look at in a call.
template <class T>
struct MlpWeights {
  const Mlp* net;
  Rows<T> w;
};

template <class T>
void bind_weights(nb::module_& m, const char* name) {
  nb::class_<MlpWeights<T>>(m, name)
      .def(
          "__init__",
          [](MlpWeights<T>* self, const Mlp& net, const Rows<T>& w) {
            new (self) MlpWeights<T>{&net, w};
          },
          nb::arg("network"), nb::arg("weights"), nb::keep_alive<1, 2>())
      .def("value",
           [](const MlpWeights<T>& self, const Rows<T>& x, const Output<T>& y) {
             call<T>(*self.net, MlpCall::value, self.w, x, {}, {}, {}, y, {}, {}, {}, {}, 0);
           })
      // In place of x: a block's rows are read before they are written.
      .def("gradient", [](const MlpWeights<T>& self, const Output<T>& x) {
        const Rows<T> read(x);
        call<T>(*self.net, MlpCall::gradient, self.w, read, {}, {}, {}, {}, {}, x, {}, {}, 0);
      });
}

Network network_of(const Mlp& net, const Rows<double>& weights) {
  const auto all = span_of(weights);
  return {net.float64.shape, {all.begin(), all.end()}};
}

template <class T>
void bind_fit(nb::module_& m, const char* name) {
  using Fit = GradientFit<T>;
  nb::class_<Fit>(m, name)
      .def(
          "__init__",
          [](Fit* self, const Mlp& net, const Rows<T>& w, double rate, double beta1, double beta2,
             double epsilon, double decay) {
            const auto all = span_of(w);
            new (self) Fit(net.float64.shape, {all.begin(), all.end()},
                           {rate, beta1, beta2, epsilon, decay});
          },
          nb::arg("network"), nb::arg("weights"), nb::arg("rate"), nb::arg("beta1"),
          nb::arg("beta2"), nb::arg("epsilon"), nb::arg("decay"))
      .def("step",
           [](Fit& self, const Rows<T>& x, const Rows<T>& target, int threads) {
             const int n = self.shape().inputs();
             const std::int64_t rows = static_cast<std::int64_t>(x.size()) / n;
             check_numbers(x, rows * n, "x", n);
             check_numbers(target, rows * n, "target", n);
             if (rows == 0) throw Error("a step of training needs rows; got none");
             const nb::gil_scoped_release unlocked;
             return self.step(x.data(), target.data(), rows, threads);
           })
      .def("set_rate", [](Fit& self, double rate) { self.adam().options().rate = rate; })
      .def("weights", [](const Fit& self) { return to_numpy(std::vector<T>(self.weights())); });
}

}  // namespace

void bind_networks(nb::module_& m) {
  nb::enum_<MlpCall>(m, "MlpCall")
      .value("value", MlpCall::value)
      .value("tangent", MlpCall::tangent)
      .value("pullback", MlpCall::pullback)
      .value("gradient", MlpCall::gradient)
      .value("gradient_pullback", MlpCall::gradient_pullback)
      .value("hessian_product_pullback", MlpCall::hessian_product_pullback);
  nb::class_<Mlp> c(m, "Mlp");
  c.def(
      "__init__",
      [](Mlp* self, const std::vector<int>& widths, const std::string& activation, bool residual,
         const std::vector<int>& angles, const std::vector<double>& frequencies,
         const std::vector<double>& input_shift, const std::vector<double>& input_scale,
         const std::vector<double>& output_shift, const std::vector<double>& output_scale) {
        MlpShape s;
        s.widths = widths, s.activation = activation_of(activation), s.residual = residual;
        s.angles = angles, s.frequencies = frequencies;
        s.input_shift = input_shift, s.input_scale = input_scale;
        s.output_shift = output_shift, s.output_scale = output_scale;
        s.check();
        new (self) Mlp{MlpPlan<float>(s), MlpPlan<double>(s)};
      },
      nb::arg("widths"), nb::arg("activation"), nb::arg("residual"), nb::arg("angles"),
      nb::arg("frequencies"), nb::arg("input_shift"), nb::arg("input_scale"),
      nb::arg("output_shift"), nb::arg("output_scale"));
  c.def_prop_ro("numbers", [](const Mlp& net) { return net.float64.shape.numbers(); });
  c.def("initial_weights", [](const Mlp& net, std::uint64_t seed) {
    return to_numpy(initial_weights(net.float64.shape, seed));
  });
  // (name, shape) of the arrays in the flat weights.
  c.def_prop_ro("arrays", [](const Mlp& net) {
    const MlpShape& s = net.float64.shape;
    std::vector<std::pair<std::string, std::vector<int>>> all;
    for (int l = 0; l < s.layers(); ++l) {
      all.emplace_back(message("weight", l), std::vector<int>{s.out(l), s.in(l)});
      all.emplace_back(message("bias", l), std::vector<int>{s.out(l)});
    }
    return all;
  });
  m.def(
      "close_loop_by_network",
      [](const System& system, const Mlp& net, const Rows<double>& weights,
         const std::optional<std::vector<std::string>>& observe, int clip,
         const std::vector<double>& noise, std::int64_t key) {
        return close_loop(system, network_of(net, weights), observe, static_cast<Clip>(clip),
                          {noise, key});
      },
      nb::arg("system"), nb::arg("network"), nb::arg("weights"), nb::arg("observe").none(),
      nb::arg("clip"), nb::arg("noise"), nb::arg("key"));
  // ξ of environments × steps × inputs (couple/network_feedback.h).
  m.def("policy_noise", [](std::int64_t key, std::int64_t environments, std::int64_t first,
                           std::int64_t steps, int inputs) {
    std::vector<double> xi(static_cast<std::size_t>(environments * steps * inputs));
    for (std::int64_t i = 0; i < environments * steps; ++i) {
      policy_noise(static_cast<double>(key), i / steps, first + i % steps, inputs,
                   xi.data() + i * inputs);
    }
    return to_numpy(std::move(xi));
  });
  using Names = std::optional<std::vector<std::string>>;
  m.def(
      "add_network_to_next",
      [](const System& system, const Mlp& net, const Rows<double>& weights, const Names& observe) {
        return add_network_to_next(system, network_of(net, weights), observe);
      },
      nb::arg("system"), nb::arg("network"), nb::arg("weights"), nb::arg("observe").none());
  m.def(
      "add_network_to_robot",
      [](const System& system, const Mlp& net, const Rows<double>& weights, const Names& observe,
         int open, bool acceleration) {
        return add_network_to_robot(system, network_of(net, weights), open,
                                    acceleration ? TermPlace::acceleration : TermPlace::force,
                                    observe);
      },
      nb::arg("system"), nb::arg("network"), nb::arg("weights"), nb::arg("observe").none(),
      nb::arg("open"), nb::arg("acceleration"));
  m.def(
      "add_network_to_law",
      [](const std::string& law, const std::map<std::string, std::vector<double>>& values,
         double dt, const std::string& integrator, const std::string& dtype,
         const std::vector<std::string>& vary, int n, double rtol, double atol, const Mlp& net,
         const Rows<double>& weights, const Names& observe, int place) {
        return add_network_to_law(law, values,
                                  {dt, integrator, precision_of(dtype), vary, rtol, atol}, n,
                                  network_of(net, weights), static_cast<TermPlace>(place), observe);
      },
      nb::arg("law"), nb::arg("values"), nb::arg("dt"), nb::arg("integrator"), nb::arg("dtype"),
      nb::arg("vary"), nb::arg("n"), nb::arg("rtol"), nb::arg("atol"), nb::arg("network"),
      nb::arg("weights"), nb::arg("observe").none(), nb::arg("place"));
  bind_calls<float>(c, "32");
  bind_calls<double>(c, "64");
  bind_weights<float>(m, "MlpWeights32");
  bind_weights<double>(m, "MlpWeights64");
  bind_fit<float>(m, "GradientFit32");
  bind_fit<double>(m, "GradientFit64");
  m.attr("activation_names") = nb::cast(activation_names());
}

}  // namespace cycloid::python
