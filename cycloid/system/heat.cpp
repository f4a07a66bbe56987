#include "cycloid/system/heat.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/base/thread_pool.h"
#include "cycloid/math/sparse_cholesky.h"
#include "cycloid/system/kernel_source.h"

namespace cycloid::systems {
namespace {

// The box: its cells, who touches whom, and the order of elimination.
struct Box {
  std::vector<int> shape;
  int cells = 0;
  SparsePattern pattern;  // of A; each row's entries in the order of columns
  std::shared_ptr<const Dissection> dissection;

  explicit Box(const std::vector<int>& sizes) : shape(sizes) {
    std::int64_t count = 1;
    for (const int n : shape) {
      if (n < 1) throw ModelError(message("heat: every side needs at least one cell; got ", n));
      count *= n;
      if (count > kMostCells) {
        throw ModelError(message("heat: at most ", kMostCells, " cells; the shape asks for more"));
      }
    }
    if (shape.empty() || shape.size() > 3) {
      throw ModelError(message("heat: a box has one to three sides; got ", shape.size()));
    }
    cells = static_cast<int>(count);
    std::vector<double> points;
    for (int i = 0; i < cells; ++i) {
      const std::size_t first = pattern.column.size();
      pattern.column.push_back(i);
      int stride = cells, rest = i;
      for (const int n : shape) {
        stride /= n;
        const int along = rest / stride;
        rest %= stride;
        points.push_back(along);
        if (along > 0) pattern.column.push_back(i - stride);
        if (along + 1 < n) pattern.column.push_back(i + stride);
      }
      std::sort(pattern.column.begin() + static_cast<std::ptrdiff_t>(first), pattern.column.end());
      pattern.first.push_back(pattern.entries());
    }
    dissection =
        std::make_shared<const Dissection>(pattern, points, static_cast<int>(shape.size()));
  }

  static constexpr std::int64_t kMostCells = std::int64_t{1} << 26;

  // "cell (3, 17)"
  std::string cell_name(int i) const {
    std::string name = "cell (";
    int stride = cells, rest = i;
    for (std::size_t a = 0; a < shape.size(); ++a) {
      stride /= shape[a];
      name += message(a == 0 ? "" : ", ", rest / stride);
      rest %= stride;
    }
    return name + ")";
  }
};

// Cells that a thread takes at once.
constexpr int kBlock = 4096;

// Calls function(i) for every cell, on several threads.
template <class Function>
void for_each_cell(int cells, int threads, Function&& function) {
  const int blocks = (cells + kBlock - 1) / kBlock;
  parallel_for(static_cast<std::size_t>(blocks), threads, [&](std::size_t b) {
    const int begin = static_cast<int>(b) * kBlock, end = std::min(begin + kBlock, cells);
    for (int i = begin; i < end; ++i) function(i);
  });
}

struct Factored final : RecordObject {
  explicit Factored(const Box& box) : factor(box.dissection) {}
  std::size_t bytes() const override { return factor.bytes(); }
  CholeskyFactor factor;
};

class HeatStepper final : public Stepper<double> {
 public:
  HeatStepper(std::shared_ptr<const Box> box, double h, double slope)
      : Stepper<double>(sizes(*box)), box_(std::move(box)), h_(h), slope_(slope) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& resources) const override {
    return std::make_unique<Workspace>(resources.threads, box_->cells, box_->pattern.entries());
  }

  void begin(const StepParameters<double>& p, StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    w.k = p.arrays[0];
    w.k_bar = p.arrays_bar ? p.arrays_bar[0] : nullptr;
    w.constant.reset();
  }

  StepStatus step(const StepInput<double>& in, double* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    std::unique_ptr<Factored> own;
    if (!factor(w, in.x, own)) {
      std::fill_n(x_next, box_->cells, std::nan(""));
      return StepStatus::non_finite;
    }
    const Factored& made = own ? *own : *w.constant;
    std::copy_n(in.x, box_->cells, x_next);
    made.factor.solve(x_next, w.threads);  // (3)
    if (record) {
      std::copy_n(x_next, box_->cells, record->numbers<double>());
      record->object = std::move(own);
    }
    const bool finite =
        std::all_of(x_next, x_next + box_->cells, [](double v) { return std::isfinite(v); });
    return finite ? StepStatus::ok : StepStatus::non_finite;
  }

  void pullback(const StepInput<double>& in, const StepRecord& record, const double* x_next_bar,
                double* x_bar, double*, StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    const double* const next = record.numbers<const double>();
    conductivities(w, in.x);
    w.lambda.assign(x_next_bar, x_next_bar + box_->cells);
    factor_of(record, w, in.x).solve(w.lambda.data(), w.threads);  // (4)
    const double* const lambda = w.lambda.data();
    const bool wants_k = w.k_bar && in.wants_parameters;
    for_each_cell(box_->cells, w.threads, [&](int i) {
      double kappa_bar = 0;
      for_each_neighbour(i, [&](std::int64_t, int j) {
        const double g_bar = -h_ * (lambda[i] - lambda[j]) * (next[i] - next[j]);  // (5)
        const double share =
            w.kappa[static_cast<std::size_t>(j)] /
            (w.kappa[static_cast<std::size_t>(i)] + w.kappa[static_cast<std::size_t>(j)]);
        kappa_bar += g_bar * 2 * share * share;  // (6)
      });
      if (wants_k) w.k_bar[i] += kappa_bar * (1 + slope_ * in.x[i]);  // (7)
      x_bar[i] += lambda[i] + kappa_bar * w.k[i] * slope_;
    });
  }

  bool pushforward(const StepInput<double>& in, const StepRecord& record,
                   const StepTangents<double>& tangents, double* x_next_tan,
                   StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    const double* const next = record.numbers<const double>();
    conductivities(w, in.x);
    const auto kappa_tan = [&](int i) {
      const double k_tan = tangents.arrays ? tangents.arrays[0][i] : 0;
      const double x_tan = tangents.x ? tangents.x[i] : 0;
      return k_tan * (1 + slope_ * in.x[i]) + w.k[i] * slope_ * x_tan;  // (1)
    };
    for_each_cell(box_->cells, w.threads, [&](int i) {
      const double kappa = w.kappa[static_cast<std::size_t>(i)];
      double sum = tangents.x ? tangents.x[i] : 0;
      for_each_neighbour(i, [&](std::int64_t, int j) {
        const double other = w.kappa[static_cast<std::size_t>(j)], both = kappa + other,
                     g_tan = 2 * (other * other * kappa_tan(i) + kappa * kappa * kappa_tan(j)) /
                             (both * both);       // (2)
        sum -= h_ * g_tan * (next[i] - next[j]);  // (8)
      });
      x_next_tan[i] = sum;
    });
    factor_of(record, w, in.x).solve(x_next_tan, w.threads);
    return true;
  }

  void finish(StepWorkspace&, double*) const override {}

  StepTrouble explain(const StepInput<double>& in, int, StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    conductivities(w, in.x);
    for (int i = 0; i < box_->cells; ++i) {
      const double kappa = w.kappa[static_cast<std::size_t>(i)];
      if (kappa > 0) continue;
      return {"conductivity", box_->cell_name(i),
              message("k (1 + slope T) is ", kappa, ", and heat flows only where it is positive")};
    }
    return {"implicit Euler", "temperature", "the new temperatures are not finite"};
  }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(int n, int cells, std::int64_t entries)
        : threads(n),
          kappa(static_cast<std::size_t>(cells)),
          lambda(kappa),
          values(static_cast<std::size_t>(entries)) {}
    int threads;
    const double* k = nullptr;
    double* k_bar = nullptr;
    std::vector<double> kappa, lambda, values;
    std::unique_ptr<Factored> constant;  // of all steps, where the slope is zero
  };

  static StepperSizes sizes(const Box& box) {
    StepperSizes s;
    s.state = s.tangent = s.record = box.cells;
    s.arrays = {box.cells};
    s.record_is_costly = s.spreads = true;
    return s;
  }

  // Calls visit(entry of the pattern, cell) for the neighbours of cell i.
  template <class Visit>
  void for_each_neighbour(int i, Visit&& visit) const {
    const SparsePattern& a = box_->pattern;
    for (std::int64_t e = a.first[static_cast<std::size_t>(i)];
         e < a.first[static_cast<std::size_t>(i) + 1]; ++e) {
      const int j = a.column[static_cast<std::size_t>(e)];
      if (j != i) visit(e, j);
    }
  }

  void conductivities(Workspace& w, const double* x) const {
    for_each_cell(box_->cells, w.threads, [&](int i) {
      w.kappa[static_cast<std::size_t>(i)] = w.k[i] * (1 + slope_ * x[i]);  // (1)
    });
  }

  // Factors A where it must be: into `own` for this step, or for all. False: A is not positive
  // definite, or not finite.
  bool factor(Workspace& w, const double* x, std::unique_ptr<Factored>& own) const {
    if (slope_ == 0 && w.constant) return true;
    conductivities(w, x);
    for (const double kappa : w.kappa) {
      if (!(kappa > 0)) return false;
    }
    for_each_cell(box_->cells, w.threads, [&](int i) {
      const double kappa = w.kappa[static_cast<std::size_t>(i)];
      double sum = 0;
      for_each_neighbour(i, [&](std::int64_t e, int j) {
        const double other = w.kappa[static_cast<std::size_t>(j)];
        const double g = 2 * kappa * other / (kappa + other);  // (2)
        w.values[static_cast<std::size_t>(e)] = -h_ * g;
        sum += g;
      });
      const auto row =
          box_->pattern.column.begin() + box_->pattern.first[static_cast<std::size_t>(i)];
      const auto end =
          box_->pattern.column.begin() + box_->pattern.first[static_cast<std::size_t>(i) + 1];
      w.values[static_cast<std::size_t>(std::lower_bound(row, end, i) -
                                        box_->pattern.column.begin())] = 1 + h_ * sum;
    });
    auto made = std::make_unique<Factored>(*box_);
    if (made->factor.factor(w.values, w.threads) >= 0) return false;
    (slope_ == 0 ? w.constant : own) = std::move(made);
    return true;
  }

  // The factor of a step: its record's, or that of all steps.
  const CholeskyFactor& factor_of(const StepRecord& record, Workspace& w, const double* x) const {
    if (record.object) return static_cast<const Factored&>(*record.object).factor;
    std::unique_ptr<Factored> none;
    factor(w, x, none);
    return w.constant->factor;
  }

  std::shared_ptr<const Box> box_;
  double h_, slope_;
};

}  // namespace

System heat(const std::vector<int>& shape, const std::vector<double>& conductivity, double dt,
            double slope) {
  if (!std::isfinite(dt) || dt <= 0) {
    throw ParameterError(message("the time step dt must be positive [s]; got ", dt));
  }
  if (!std::isfinite(slope)) throw ParameterError(message("slope must be finite; got ", slope));
  const auto box = std::make_shared<const Box>(shape);
  const std::size_t n = static_cast<std::size_t>(box->cells);
  if (conductivity.size() != 1 && conductivity.size() != n) {
    throw ParameterError(message("conductivity takes one number, or one for each of the ", n,
                                 " cells; got ", conductivity.size()));
  }
  SystemParts parts;
  parts.name = "heat";
  parts.timestep = dt;
  parts.states = Space({{"temperature", box->cells, "K"}});
  Parameter k;
  k.name = "conductivity";
  k.unit = "1/s";
  k.constraint = Constraint::positive;
  k.shape = {box->cells};
  k.array = true;
  parts.parameters.add(std::move(k), conductivity.size() == n
                                         ? conductivity
                                         : std::vector<double>(n, conductivity[0]));
  parts.vary = {"conductivity"};
  parts.initial_state.assign(n, 0.0);
  parts.float64.one = std::make_shared<HeatStepper>(box, dt, slope);
  parts.float64.packed = parts.float64.one;
  parts.kernels = std::make_shared<HeatSource>(shape, dt, slope);
  return System(std::move(parts));
}

}  // namespace cycloid::systems
