// A law written in Python as functions of arrays, as a Stepper of kRows environments at a time.
//
// Python (cycloid/_own_law.py) gives three callables on rows of double:
//   step(s, x, u, p, t)                  -> x_next     x (W, n), u (W, m), p (W, parameters), t (W)
//   pullback(s, x, u, p, t, x_next_bar)  -> (x_bar, u_bar, p_bar, s_bar)
//   pushforward(s, x, u, p, t, s_tan, x_tan, u_tan, p_tan) -> x_next_tan
// and two more for what it shows, by its number i:
//   observe(s, i, x, u, p, t)                -> y       (W, size)
//   observe_pullback(s, i, x, u, p, t, y_bar)  -> (x_bar, u_bar, p_bar, s_bar)
// s are the arrays of parameters that environments share, read-only, one for all rows.
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

template <class... Arguments>
nb::object called(const nb::callable& function, Arguments&&... arguments) {
  try {
    return function(std::forward<Arguments>(arguments)...);
  } catch (const nb::python_error& error) {
    remember_if_it_ends_the_program(error);
    throw;
  }
}

// A new array of `rows` times `columns` numbers, and where they lie.
std::pair<Matrix, double*> new_matrix(std::size_t rows, std::size_t columns) {
  double* data = new double[rows * columns + 1];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  return {Matrix(data, {rows, columns}, owner), data};
}

// (n, W) lanes as a new (W, n) array.
Matrix rows_of_lanes(const double* lanes, int n, int W) {
  auto [matrix, data] = new_matrix(static_cast<std::size_t>(W), static_cast<std::size_t>(n));
  for (int l = 0; l < W; ++l) {
    for (int i = 0; i < n; ++i) data[l * n + i] = lanes[i * W + l];
  }
  return matrix;
}

void add_to_lanes(const nb::object& result, int n, int W, double* lanes) {
  const Result bar = nb::cast<Result>(result);
  for (int l = 0; l < W; ++l) {
    for (int i = 0; i < n; ++i) lanes[i * W + l] += bar.data()[l * n + i];
  }
}

// Lets go of a function where the interpreter may be gone, and the function with it.
void let_go(std::initializer_list<nb::callable*> functions) {
  const nb::gil_scoped_acquire lock;
  for (nb::callable* function : functions) {
    if (lock) function->reset();
    else function->release();
  }
}

// Parameters in lanes, their cotangents behind them, and the arrays that lanes share: copies, which
// a user's function may keep.
class PythonWorkspace final : public StepWorkspace {
 public:
  explicit PythonWorkspace(std::size_t parameters) : numbers_(2 * parameters) {}
  ~PythonWorkspace() override {
    const nb::gil_scoped_acquire lock;
    if (lock) shared_.reset();
    else shared_.release();
  }

  void begin(const StepParameters<double>& p, const std::vector<std::int64_t>& arrays) {
    const std::size_t n = numbers_.size() / 2;
    std::copy_n(p.lanes, n, numbers_.begin());
    std::fill_n(numbers_.begin() + static_cast<std::ptrdiff_t>(n), n, 0.0);
    arrays_bar_ = p.arrays_bar;
    left_out_ = p.left_out;
    const nb::gil_scoped_acquire lock;
    shared_ = arrays.empty() ? nb::object(nb::tuple()) : copies(p.arrays, arrays);
  }
  // A tuple of read-only arrays, one for each of `sizes`; zeros where there are none.
  static nb::object copies(const double* const* from, const std::vector<std::int64_t>& sizes) {
    nb::list all;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::size_t n = static_cast<std::size_t>(sizes[k]);
      double* const data = new double[n + 1]();
      nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<double*>(p); });
      if (from) std::copy_n(from[k], n, data);
      all.append(nb::ndarray<nb::numpy, const double>(data, {n}, owner));
    }
    return nb::tuple(all);
  }

  double* parameters() { return numbers_.data(); }
  double* parameters_bar() { return numbers_.data() + numbers_.size() / 2; }
  const nb::object& shared() const { return shared_; }
  void add_shared(const nb::object& bars, const std::vector<std::int64_t>& sizes) const {
    for (std::size_t k = 0; arrays_bar_ && k < sizes.size(); ++k) {
      const Result bar = nb::cast<Result>(bars[k]);
      for (std::int64_t i = 0; i < sizes[k]; ++i) arrays_bar_[k][i] += bar.data()[i];
    }
  }
  // The lane whose numbers stand in for those of a lane that is left out, since the sum over lanes
  // would have part of it; -1: all are left out.
  int stand_in(int lane, int lanes) const {
    if (!left_out_ || !left_out_[lane]) return lane;
    for (int l = 0; l < lanes; ++l) {
      if (!left_out_[l]) return l;
    }
    return -1;
  }
  bool leaves_out(int lane) const { return left_out_ && left_out_[lane]; }

 private:
  std::vector<double> numbers_;
  nb::object shared_;
  double* const* arrays_bar_ = nullptr;
  const bool* left_out_ = nullptr;
};

PythonWorkspace& python_workspace(StepWorkspace& w) { return static_cast<PythonWorkspace&>(w); }

// Rows in which lanes that are left out are copies of others, and have no cotangent.
Matrix kept_rows(const double* lanes, int n, int W, const PythonWorkspace& w) {
  auto [matrix, data] = new_matrix(static_cast<std::size_t>(W), static_cast<std::size_t>(n));
  for (int l = 0; l < W; ++l) {
    const int from = w.stand_in(l, W);
    for (int i = 0; i < n; ++i) data[l * n + i] = lanes[i * W + from];
  }
  return matrix;
}
Matrix kept_bars(const double* lanes, int n, int W, const PythonWorkspace& w) {
  auto [matrix, data] = new_matrix(static_cast<std::size_t>(W), static_cast<std::size_t>(n));
  for (int l = 0; l < W; ++l) {
    for (int i = 0; i < n; ++i) data[l * n + i] = w.leaves_out(l) ? 0.0 : lanes[i * W + l];
  }
  return matrix;
}

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

  ~PythonStepper() override { let_go({&step_, &pullback_, &pushforward_}); }

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources&) const override {
    return std::make_unique<PythonWorkspace>(parameter_numbers());
  }
  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override {
    python_workspace(workspace).begin(p, sizes_.arrays);
  }

  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord*,
                  StepWorkspace& workspace) const override {
    const nb::gil_scoped_acquire lock;
    PythonWorkspace& w = python_workspace(workspace);
    const double* p = w.parameters();
    const Result next = nb::cast<Result>(called(step_, w.shared(), rows(in.x, sizes_.state),
                                                rows(in.u, sizes_.input),
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
    PythonWorkspace& w = python_workspace(workspace);
    if (w.stand_in(0, sizes_.lanes) < 0) return;
    double* p = w.parameters();
    const nb::object bars =
        called(pullback_, w.shared(), kept(in.x, sizes_.state, w), kept(in.u, sizes_.input, w),
               kept(p, sizes_.parameters, w), times(in, p),
               kept_bars(x_next_bar, sizes_.tangent, sizes_.lanes, w));
    add(bars[0], sizes_.tangent, x_bar);
    add(bars[1], sizes_.input, u_bar);
    add(bars[2], sizes_.parameters, w.parameters_bar());
    w.add_shared(bars[3], sizes_.arrays);
  }

  bool pushforward(const StepInput<double>& in, const StepRecord&,
                   const StepTangents<double>& tangents, double* x_next_tan,
                   StepWorkspace& workspace) const override {
    const nb::gil_scoped_acquire lock;
    PythonWorkspace& w = python_workspace(workspace);
    const double* p = w.parameters();
    const std::vector<double> zero(
        static_cast<std::size_t>(std::max({sizes_.tangent, sizes_.input, sizes_.parameters})) *
            static_cast<std::size_t>(sizes_.lanes),
        0.0);
    const auto given = [&](const double* tangent) { return tangent ? tangent : zero.data(); };
    const Result next = nb::cast<Result>(
        called(pushforward_, w.shared(), rows(in.x, sizes_.state), rows(in.u, sizes_.input),
               rows(p, sizes_.parameters), times(in, p),
               PythonWorkspace::copies(tangents.arrays, sizes_.arrays),
               rows(given(tangents.x), sizes_.tangent), rows(given(tangents.u), sizes_.input),
               rows(given(tangents.p), sizes_.parameters)));
    for (int l = 0; l < sizes_.lanes; ++l) {
      for (int i = 0; i < sizes_.tangent; ++i) {
        x_next_tan[i * sizes_.lanes + l] = next.data()[l * sizes_.tangent + i];
      }
    }
    return true;
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    std::copy_n(python_workspace(workspace).parameters_bar(), parameter_numbers(), p_bar);
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
  std::size_t parameter_numbers() const {
    return static_cast<std::size_t>(sizes_.parameters) * static_cast<std::size_t>(sizes_.lanes);
  }
  Matrix kept(const double* lanes, int n, const PythonWorkspace& w) const {
    return kept_rows(lanes, n, sizes_.lanes, w);
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

  Matrix rows(const double* lanes, int n) const { return rows_of_lanes(lanes, n, sizes_.lanes); }
  void add(const nb::object& result, int n, double* lanes) const {
    add_to_lanes(result, n, sizes_.lanes, lanes);
  }

  nb::callable step_, pullback_, pushforward_;
  Space states_;
  std::optional<double> dt_;
};

// What a law shows, by its functions.
struct PythonSights {
  PythonSights(nb::callable observe_rows, nb::callable pull_back, const StepperSizes& of,
               std::vector<Observable> listed)
      : observe(std::move(observe_rows)),
        pullback(std::move(pull_back)),
        sizes(of),
        all(std::move(listed)) {}
  PythonSights(const PythonSights&) = delete;
  ~PythonSights() { let_go({&observe, &pullback}); }

  nb::callable observe, pullback;
  StepperSizes sizes;  // of any lanes
  std::vector<Observable> all;
};

// The workspace: parameters, and their cotangents.
class PythonObserver final : public DifferentiableObserver {
 public:
  PythonObserver(std::shared_ptr<const PythonSights> sights, const std::vector<int>& chosen,
                 int lanes)
      : DifferentiableObserver(lanes, numbers_of(*sights, chosen)),
        sights_(std::move(sights)),
        chosen_(chosen) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources&) const override {
    return std::make_unique<PythonWorkspace>(parameter_numbers());
  }
  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override {
    python_workspace(workspace).begin(p, sights_->sizes.arrays);
  }
  void observe(const ObservedPoint<double>& at, double* values,
               StepWorkspace& workspace) const override {
    const nb::gil_scoped_acquire lock;
    for (const int i : chosen_) {
      const int n = sights_->all[static_cast<std::size_t>(i)].size();
      PythonWorkspace& w = python_workspace(workspace);
      const nb::object y = called(sights_->observe, w.shared(), i, rows(at.x, sights_->sizes.state),
                                  rows(at.u, sights_->sizes.input),
                                  rows(w.parameters(), sights_->sizes.parameters), times(at));
      std::fill_n(values, n * lanes(), 0.0);
      add_to_lanes(y, n, lanes(), values);
      values += n * lanes();
    }
  }
  void pullback(const ObservedPoint<double>& at, const double* values_bar, double* x_bar,
                double* u_bar, StepWorkspace& workspace) const override {
    const nb::gil_scoped_acquire lock;
    const StepperSizes& s = sights_->sizes;
    PythonWorkspace& w = python_workspace(workspace);
    if (w.stand_in(0, lanes()) < 0) return;
    for (const int i : chosen_) {
      const int n = sights_->all[static_cast<std::size_t>(i)].size();
      const nb::object bars = called(
          sights_->pullback, w.shared(), i, kept_rows(at.x, s.state, lanes(), w),
          kept_rows(at.u, s.input, lanes(), w), kept_rows(w.parameters(), s.parameters, lanes(), w),
          times(at), kept_bars(values_bar, n, lanes(), w));
      add_to_lanes(bars[0], s.tangent, lanes(), x_bar);
      add_to_lanes(bars[1], s.input, lanes(), u_bar);
      add_to_lanes(bars[2], s.parameters, lanes(), w.parameters_bar());
      w.add_shared(bars[3], s.arrays);
      values_bar += n * lanes();
    }
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    std::copy_n(python_workspace(workspace).parameters_bar(), parameter_numbers(), p_bar);
  }

 private:
  static int numbers_of(const PythonSights& sights, const std::vector<int>& chosen) {
    int n = 0;
    for (const int i : chosen) n += sights.all[static_cast<std::size_t>(i)].size();
    return n;
  }
  std::size_t parameter_numbers() const {
    return static_cast<std::size_t>(sights_->sizes.parameters) * static_cast<std::size_t>(lanes());
  }
  Matrix rows(const double* numbers, int n) const { return rows_of_lanes(numbers, n, lanes()); }
  Matrix times(const ObservedPoint<double>& at) const {  // (W, 1)
    auto [matrix, data] = new_matrix(static_cast<std::size_t>(lanes()), 1);
    std::fill_n(data, lanes(), at.t);
    return matrix;
  }

  std::shared_ptr<const PythonSights> sights_;
  std::vector<int> chosen_;
};

class PythonObservables final : public Observables {
 public:
  explicit PythonObservables(std::shared_ptr<const PythonSights> sights)
      : sights_(std::move(sights)) {}

  std::vector<Observable> listed() const override { return sights_->all; }
  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>&,
                                                      int) const override {
    return nullptr;
  }
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int lanes) const override {
    return made(names, lanes);
  }
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const override {
    return made(names, kRows);
  }

 private:
  std::shared_ptr<const PythonObserver> made(const std::vector<std::string>& names,
                                             int lanes) const {
    std::vector<int> chosen;
    for (const std::string& name : names) {
      for (std::size_t i = 0; i < sights_->all.size(); ++i) {
        if (sights_->all[i].name == name) chosen.push_back(static_cast<int>(i));
      }
    }
    return std::make_shared<PythonObserver>(sights_, chosen, lanes);
  }

  std::shared_ptr<const PythonSights> sights_;
};

using Blocks = std::vector<std::pair<std::string, int>>;
using Shapes = std::vector<std::pair<std::string, std::vector<int>>>;

Space space_of(const Blocks& blocks) {
  std::vector<BlockSpec> specs;
  for (const auto& [name, size] : blocks) specs.push_back({name.c_str(), size, ""});
  return Space(specs);
}

// Adds parameters, whose values come one after another.
void add_parameters(Parameters& parameters, const Shapes& shapes, std::span<const double> values,
                    bool arrays) {
  std::size_t next = 0;
  for (const auto& [name, shape] : shapes) {
    Parameter p;
    p.name = name;
    p.shape = shape;
    p.array = arrays;
    std::size_t n = 1;
    for (const int d : shape) n *= static_cast<std::size_t>(d);
    parameters.add(std::move(p), values.subspan(next, n));
    next += n;
  }
}

System make_python_law(const std::string& name, const Blocks& states, const Blocks& inputs,
                       const Shapes& parameters, const Rows<double>& values, const Shapes& shared,
                       const Rows<double>& shared_values, double dt,
                       const std::vector<std::string>& vary,
                       const std::vector<double>& initial_state, bool differentiate_dt,
                       const nb::callable& step, const nb::callable& pullback,
                       const nb::callable& pushforward, const Shapes& observables,
                       const nb::callable& observe, const nb::callable& observe_pullback) {
  SystemParts parts;
  parts.name = name;
  parts.timestep = dt;
  parts.states = space_of(states);
  parts.inputs = space_of(inputs);
  add_parameters(parts.parameters, parameters, span_of(values), false);
  if (differentiate_dt) {
    Parameter h;
    h.name = kTimestepName;
    h.unit = "s";
    h.constraint = Constraint::positive;
    parts.parameters.add(std::move(h), std::span(&dt, 1));
  }
  add_parameters(parts.parameters, shared, span_of(shared_values), true);
  parts.vary = vary;
  parts.initial_state = initial_state;
  StepperSizes sizes;
  sizes.state = sizes.tangent = parts.states.size();
  sizes.input = parts.inputs.size();
  sizes.parameters = parts.parameters.lane_size();
  for (const Parameter& p : parts.parameters.all()) {
    if (p.array) sizes.arrays.push_back(p.size);
  }
  if (!observables.empty()) {
    std::vector<Observable> all;
    for (const auto& [of, shape] : observables) all.push_back({of, "", shape});
    parts.observables = std::make_shared<PythonObservables>(
        std::make_shared<PythonSights>(observe, observe_pullback, sizes, std::move(all)));
  }
  const auto stepper = [&](int lanes) {
    sizes.lanes = lanes;
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
        nb::arg("parameters"), nb::arg("values"), nb::arg("shared"), nb::arg("shared_values"),
        nb::arg("dt"), nb::arg("vary"), nb::arg("initial_state"), nb::arg("differentiate_dt"),
        nb::arg("step"), nb::arg("pullback"), nb::arg("pushforward"), nb::arg("observables"),
        nb::arg("observe"), nb::arg("observe_pullback"));
  m.attr("python_law_rows") = kRows;
}

}  // namespace cycloid::python
