// A law written in Python as functions of arrays, as a Stepper of kRows environments at a time.
//
// Python (cycloid/_own_law.py) gives three callables on rows of double:
//   step(x, u, p, t)                  -> x_next        x (W, n), u (W, m), p (W, parameters), t (W)
//   pullback(x, u, p, t, x_next_bar)  -> (x_bar, u_bar, p_bar)
//   pushforward(x, u, p, t, x_tan, u_tan, p_tan) -> x_next_tan
// Here rows become lanes and back. W is always kRows, but for a lone environment: what NumPy makes
// of a row may depend, in the last bit, on how many rows there are, and the batch must not.
// Threads of a rollout take the interpreter lock in turn.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "cycloid/base/error.h"
#include "module.h"
#include "unlocked.h"

namespace cycloid::python {
namespace {

constexpr int kRows = 128;

using Matrix = nb::ndarray<nb::numpy, double>;
using Result = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

class PythonStepper final : public Stepper<double> {
 public:
  // dt: the fixed time step [s], or none when it is the last parameter.
  PythonStepper(nb::callable step, nb::callable pullback, nb::callable pushforward,
                const StepperSizes& sizes, Space states, std::optional<double> dt)
      : Stepper<double>(sizes),
        step_(std::move(step)),
        pullback_(std::move(pullback)),
        pushforward_(std::move(pushforward)),
        states_(std::move(states)),
        dt_(dt) {}

  ~PythonStepper() override {
    const nb::gil_scoped_acquire lock;
    for (nb::callable* function : {&step_, &pullback_, &pushforward_}) {
      if (lock) function->reset();
      else function->release();  // the interpreter is gone, and the function with it
    }
  }

  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override {
    double* own = numbers(workspace);
    std::memcpy(own, p.lanes, sizeof(double) * parameter_numbers());
    std::memset(own + parameter_numbers(), 0, sizeof(double) * parameter_numbers());
  }

  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord*,
                  StepWorkspace& workspace) const override {
    const nb::gil_scoped_acquire lock;
    const double* p = numbers(workspace);
    const Result next =
        nb::cast<Result>(called(step_, rows(in.x, sizes_.state), rows(in.u, sizes_.input),
                                rows(p, sizes_.parameters), times(in, p)));
    bool finite = true;
    for (int l = 0; l < sizes_.lanes; ++l) {
      for (int i = 0; i < sizes_.state; ++i) {
        const double v = next.data()[l * sizes_.state + i];
        finite = finite && std::isfinite(v);
        x_next[i * sizes_.lanes + l] = v;
      }
    }
    return finite ? StepStatus::ok : StepStatus::non_finite;
  }

  void pullback(const StepInput<double>& in, const StepRecord&, const double* x_next_bar,
                double* x_bar, double* u_bar, StepWorkspace& workspace) const override {
    const nb::gil_scoped_acquire lock;
    double* p = numbers(workspace);
    const nb::object bars =
        called(pullback_, rows(in.x, sizes_.state), rows(in.u, sizes_.input),
               rows(p, sizes_.parameters), times(in, p), rows(x_next_bar, sizes_.tangent));
    add(bars[0], sizes_.tangent, x_bar);
    add(bars[1], sizes_.input, u_bar);
    add(bars[2], sizes_.parameters, p + parameter_numbers());
  }

  bool pushforward(const StepInput<double>& in, const StepRecord&,
                   const StepTangents<double>& tangents, double* x_next_tan,
                   StepWorkspace& workspace) const override {
    const nb::gil_scoped_acquire lock;
    const double* p = numbers(workspace);
    const std::vector<double> zero(
        static_cast<std::size_t>(std::max({sizes_.tangent, sizes_.input, sizes_.parameters})) *
            static_cast<std::size_t>(sizes_.lanes),
        0.0);
    const auto given = [&](const double* tangent) { return tangent ? tangent : zero.data(); };
    const Result next = nb::cast<Result>(
        called(pushforward_, rows(in.x, sizes_.state), rows(in.u, sizes_.input),
               rows(p, sizes_.parameters), times(in, p), rows(given(tangents.x), sizes_.tangent),
               rows(given(tangents.u), sizes_.input), rows(given(tangents.p), sizes_.parameters)));
    for (int l = 0; l < sizes_.lanes; ++l) {
      for (int i = 0; i < sizes_.tangent; ++i) {
        x_next_tan[i * sizes_.lanes + l] = next.data()[l * sizes_.tangent + i];
      }
    }
    return true;
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    std::memcpy(p_bar, numbers(workspace) + parameter_numbers(),
                sizeof(double) * parameter_numbers());
  }

  StepTrouble explain(const StepInput<double>& in, int lane,
                      StepWorkspace& workspace) const override {
    std::vector<double> x_next(static_cast<std::size_t>(sizes_.state * sizes_.lanes));
    step(in, x_next.data(), nullptr, workspace);
    for (int i = 0; i < sizes_.state; ++i) {
      if (std::isfinite(x_next[static_cast<std::size_t>(i * sizes_.lanes + lane)])) continue;
      return {"step", states_.block_of(i).name,
              "the Python function returned a number that is not finite"};
    }
    return {"step", "",
            "the Python function returned a number that is not finite, but when asked again all "
            "were: it must give the same result for the same arguments"};
  }

 private:
  static double* numbers(StepWorkspace& w) {
    return reinterpret_cast<double*>(LaneWorkspace::memory(w));
  }
  std::size_t parameter_numbers() const {
    return static_cast<std::size_t>(sizes_.parameters) * static_cast<std::size_t>(sizes_.lanes);
  }

  template <class... Arguments>
  static nb::object called(const nb::callable& function, Arguments&&... arguments) {
    try {
      return function(std::forward<Arguments>(arguments)...);
    } catch (const nb::python_error& error) {
      remember_if_it_ends_the_program(error);
      throw;
    }
  }

  // A new array of `rows` times `columns` numbers, and where they lie.
  static std::pair<Matrix, double*> new_matrix(std::size_t rows, std::size_t columns) {
    double* data = new double[rows * columns + 1];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
    return {Matrix(data, {rows, columns}, owner), data};
  }

  // (n, W) lanes as a new (W, n) array.
  Matrix rows(const double* lanes, int n) const {
    auto [matrix, data] =
        new_matrix(static_cast<std::size_t>(sizes_.lanes), static_cast<std::size_t>(n));
    for (int l = 0; l < sizes_.lanes; ++l) {
      for (int i = 0; i < n; ++i) data[l * n + i] = lanes[i * sizes_.lanes + l];
    }
    return matrix;
  }

  // (W, 1)
  Matrix times(const StepInput<double>& in, const double* p) const {
    auto [matrix, data] = new_matrix(static_cast<std::size_t>(sizes_.lanes), 1);
    const double* h = dt_ ? nullptr : p + (sizes_.parameters - 1) * sizes_.lanes;
    for (int l = 0; l < sizes_.lanes; ++l) {
      data[l] = in.t0 + static_cast<double>(in.step) * (h ? h[l] : *dt_);
    }
    return matrix;
  }

  void add(const nb::object& result, int n, double* lanes) const {
    const Result bar = nb::cast<Result>(result);
    for (int l = 0; l < sizes_.lanes; ++l) {
      for (int i = 0; i < n; ++i) lanes[i * sizes_.lanes + l] += bar.data()[l * n + i];
    }
  }

  nb::callable step_, pullback_, pushforward_;
  Space states_;
  std::optional<double> dt_;
};

using Blocks = std::vector<std::pair<std::string, int>>;
using Shapes = std::vector<std::pair<std::string, std::vector<int>>>;

Space space_of(const Blocks& blocks) {
  std::vector<BlockSpec> specs;
  for (const auto& [name, size] : blocks) specs.push_back({name.c_str(), size, ""});
  return Space(specs);
}

// `values` are those of all parameters, one after another.
Parameters parameters_of(const Shapes& shapes, const std::vector<double>& values) {
  Parameters parameters;
  std::size_t next = 0;
  for (const auto& [name, shape] : shapes) {
    Parameter p;
    p.name = name;
    p.shape = shape;
    std::size_t n = 1;
    for (const int d : shape) n *= static_cast<std::size_t>(d);
    parameters.add(std::move(p), std::span(values).subspan(next, n));
    next += n;
  }
  return parameters;
}

System make_python_law(const std::string& name, const Blocks& states, const Blocks& inputs,
                       const Shapes& parameters, const std::vector<double>& values, double dt,
                       const std::vector<std::string>& vary,
                       const std::vector<double>& initial_state, bool differentiate_dt,
                       const nb::callable& step, const nb::callable& pullback,
                       const nb::callable& pushforward) {
  SystemParts parts;
  parts.name = name;
  parts.timestep = dt;
  parts.states = space_of(states);
  parts.inputs = space_of(inputs);
  parts.parameters = parameters_of(parameters, values);
  if (differentiate_dt) {
    Parameter h;
    h.name = kTimestepName;
    h.unit = "s";
    h.constraint = Constraint::positive;
    parts.parameters.add(std::move(h), std::span(&dt, 1));
  }
  parts.vary = vary;
  parts.initial_state = initial_state;
  const auto stepper = [&](int lanes) {
    StepperSizes sizes;
    sizes.lanes = lanes;
    sizes.state = sizes.tangent = parts.states.size();
    sizes.input = parts.inputs.size();
    sizes.parameters = parts.parameters.size();
    sizes.workspace = 2 * sizeof(double) * static_cast<std::size_t>(sizes.parameters) *
                      static_cast<std::size_t>(lanes);
    return std::make_shared<PythonStepper>(step, pullback, pushforward, sizes, parts.states,
                                           differentiate_dt ? std::nullopt : std::optional(dt));
  };
  parts.float64.one = stepper(1);
  parts.float64.packed = stepper(kRows);
  return System(std::move(parts));
}

}  // namespace

void bind_python_law(nb::module_& m) {
  m.def("make_python_law", &make_python_law, nb::arg("name"), nb::arg("states"), nb::arg("inputs"),
        nb::arg("parameters"), nb::arg("values"), nb::arg("dt"), nb::arg("vary"),
        nb::arg("initial_state"), nb::arg("differentiate_dt"), nb::arg("step"), nb::arg("pullback"),
        nb::arg("pushforward"));
  m.attr("python_law_rows") = kRows;
}

}  // namespace cycloid::python
