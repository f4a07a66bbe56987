#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "cycloid/base/error.h"
#include "cycloid/base/random.h"
#include "cycloid/base/thread_pool.h"
#include "cycloid/learn/field_lanes.h"
#include "cycloid/learn/training_loss.h"

namespace cycloid::inline learn {
namespace {

// As in network/network.h: blocks stay in cache, and groups are summed in their order.
constexpr std::int64_t kRows = 64, kGroups = 8;
constexpr std::uint32_t kNoiseStream = 0x6e6f6973;

void check_rows(const std::vector<double>& rows, std::size_t numbers, int columns,
                const char* what) {
  if (rows.size() != numbers) {
    throw Error(message("derivatives: ", what, " must have ", columns,
                        " numbers in each row, as many rows as x; got ", rows.size(), " numbers"));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::isfinite(rows[i])) continue;
    throw Error(message("derivatives: ", what, " must be finite; got ", rows[i], " in row ",
                        i / static_cast<std::size_t>(columns), ", column ",
                        i % static_cast<std::size_t>(columns)));
  }
}

template <class T>
class DerivativeLoss final : public TrainingLoss {
 public:
  DerivativeLoss(const System& system, const LearnedLaw& law, const Derivatives& data,
                 const LossOptions& options)
      : system_(system),
        plan_(std::make_shared<FieldPlan<T>>(law)),
        options_(options),
        nx_(law.states()),
        nu_(law.inputs),
        rows_(static_cast<std::int64_t>(data.x.size()) / nx_),
        x_(data.x.begin(), data.x.end()),
        x_dot_(data.x_dot.begin(), data.x_dot.end()),
        u_(data.u.begin(), data.u.end()) {
    if (u_.empty()) u_.assign(static_cast<std::size_t>(rows_ * nu_), T(0));
  }

  std::int64_t samples() const override { return rows_; }
  void split(double share, std::vector<std::int64_t>& learn,
             std::vector<std::int64_t>& validate) const override {
    learn.resize(static_cast<std::size_t>(rows_));
    std::iota(learn.begin(), learn.end(), 0);
    const auto held = static_cast<std::int64_t>(std::llround(share * static_cast<double>(rows_)));
    if (held == 0) return;
    RandomStream random(options_.seed, 3);
    for (std::int64_t i = rows_ - 1; i > 0; --i) {
      const auto j = static_cast<std::int64_t>(random.uniform() * static_cast<double>(i + 1));
      std::swap(learn[static_cast<std::size_t>(i)], learn[static_cast<std::size_t>(j)]);
    }
    validate.assign(learn.end() - held, learn.end());
    learn.resize(static_cast<std::size_t>(rows_ - held));
    std::sort(learn.begin(), learn.end());
    std::sort(validate.begin(), validate.end());
  }

  double value(std::span<const double> p, const LossCall& call,
               std::vector<double>* p_bar) override {
    const std::size_t lanes = static_cast<std::size_t>(system_.parameters().lane_size());
    weights_.assign(p.begin() + static_cast<std::ptrdiff_t>(lanes), p.end());
    const std::int64_t count = static_cast<std::int64_t>(call.chosen.size()),
                       blocks = (count + kRows - 1) / kRows, groups = std::min(blocks, kGroups);
    // One thread takes the groups in turn, with sums that stay in cache.
    const bool in_turn = options_.threads == 1;
    need_workers(in_turn ? 1 : groups);
    const double factor = 1 / (static_cast<double>(count) * nx_);
    double loss = 0;
    if (p_bar) {
      p_bar->resize(p.size());
      std::fill_n(p_bar->begin(), lanes, 0.0);
    }
    const auto add = [&](const Worker& w, bool first) {
      loss += w.loss;
      if (!p_bar) return;
      double* const bar = p_bar->data() + lanes;
      const std::vector<T>& sums = w.sums.values;
      for (std::size_t i = 0; i < sums.size(); ++i) {
        bar[i] = (first ? 0 : bar[i]) + static_cast<double>(sums[i]);
      }
    };
    parallel_for(static_cast<std::size_t>(groups), options_.threads, [&](std::size_t g) {
      Worker& w = *workers_[in_turn ? 0 : g];
      w.loss = 0;
      if (p_bar) w.sums.clear();
      const std::int64_t k = static_cast<std::int64_t>(g);
      for (std::int64_t b = k * blocks / groups; b < (k + 1) * blocks / groups; ++b) {
        run(w, call, b * kRows, std::min(kRows, count - b * kRows), count, factor,
            p_bar != nullptr);
      }
      if (in_turn) add(w, g == 0);
    });
    for (std::int64_t g = 0; g < groups && !in_turn; ++g) {
      add(*workers_[static_cast<std::size_t>(g)], g == 0);
    }
    return loss;
  }

  std::size_t residual_count(const LossCall& call) const override {
    return call.chosen.size() * static_cast<std::size_t>(nx_);
  }
  bool residuals(std::span<const double> p, const LossCall& call, std::span<double> r,
                 double* jacobian) override {
    const std::size_t lanes = static_cast<std::size_t>(system_.parameters().lane_size());
    weights_.assign(p.begin() + static_cast<std::ptrdiff_t>(lanes), p.end());
    const std::int64_t count = static_cast<std::int64_t>(call.chosen.size()),
                       groups = std::min(count, kGroups);
    need_workers(groups);
    const double weight = std::sqrt(2 / (static_cast<double>(count) * nx_));
    if (jacobian) std::fill_n(jacobian, r.size() * p.size(), 0.0);
    parallel_for(static_cast<std::size_t>(groups), options_.threads, [&](std::size_t g) {
      const std::int64_t k = static_cast<std::int64_t>(g);
      for (std::int64_t b = k * count / groups; b < (k + 1) * count / groups; ++b) {
        const std::size_t first = static_cast<std::size_t>(b) * static_cast<std::size_t>(nx_);
        compare_row(*workers_[g], call, b, weight, r.data() + first,
                    jacobian ? jacobian + first * p.size() : nullptr, p.size(), lanes);
      }
    });
    return std::all_of(r.begin(), r.end(), [](double x) { return std::isfinite(x); });
  }

 private:
  struct Worker {
    explicit Worker(const DerivativeLoss& of)
        : x(of.room(of.nx_)),
          u(of.room(of.nu_)),
          target(of.room(of.nx_)),
          x_dot(of.room(of.nx_)),
          sums(of.plan_->arrays) {}
    LaneArray<T> x, u, target, x_dot;
    ArraySums<T> sums;
    std::vector<std::unique_ptr<Field<T>>> fields;  // by their columns
    double loss = 0;
  };
  void need_workers(std::int64_t count) {
    while (static_cast<std::int64_t>(workers_.size()) < count) {
      workers_.push_back(std::make_unique<Worker>(*this));
    }
  }
  std::size_t room(int n) const { return static_cast<std::size_t>(n + 1) * kRows + 64; }

  Field<T>& field(Worker& w, int columns) const {
    for (const auto& f : w.fields) {
      if (f->columns() == columns) return *f;
    }
    w.fields.push_back(std::make_unique<Field<T>>(plan_, columns));
    return *w.fields.back();
  }

  std::vector<const T*> weight_pointers() const {
    std::vector<const T*> arrays;
    const T* next = weights_.data();
    for (const std::int64_t n : plan_->arrays) arrays.push_back(next), next += n;
    return arrays;
  }
  double scale(int i) const {
    return options_.scale.empty() ? 1 : 1 / options_.scale[static_cast<std::size_t>(i)];
  }

  // Residuals of one row, and the rows of their Jacobian by a pullback for each.
  void compare_row(Worker& w, const LossCall& call, std::int64_t b, double weight, double* r,
                   double* jacobian, std::size_t columns, std::size_t lanes) const {
    take_rows(w, call, b, 1, 1);
    Field<T>& f = field(w, 1);
    const std::vector<const T*> arrays = weight_pointers();
    f.use(arrays.data(), jacobian ? w.sums.pointers.data() : nullptr);
    f.rate(w.x.data(), w.u.data(), w.x_dot.data());
    for (int i = 0; i < nx_; ++i) {
      r[i] = weight * scale(i) * static_cast<double>(w.x_dot.data()[i] - w.target.data()[i]);
      if (!jacobian) continue;
      w.sums.clear();
      const auto one = [&](const T*, T* bar) {
        std::fill_n(bar, nx_, T(0));
        bar[i] = T(1);
      };
      f.rate_pullback(w.x.data(), w.u.data(), one, nullptr, nullptr);
      double* const row = jacobian + static_cast<std::size_t>(i) * columns + lanes;
      for (std::size_t k = 0; k < w.sums.values.size(); ++k) {
        row[k] = weight * scale(i) * static_cast<double>(w.sums.values[k]);
      }
    }
  }

  // Chosen rows into C columns.
  void take_rows(Worker& w, const LossCall& call, std::int64_t first, std::int64_t count,
                 int C) const {
    w.x.clear(), w.u.clear(), w.target.clear();
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t row = call.chosen[static_cast<std::size_t>(first + r)];
      RandomStream random(options_.seed ^ kNoiseStream, static_cast<std::uint32_t>(row),
                          static_cast<std::uint64_t>(call.step));
      for (int i = 0; i < nx_; ++i) {
        const std::size_t at = static_cast<std::size_t>(row * nx_ + i);
        T x = x_[at];
        if (!options_.noise.empty() && call.step >= 0) {
          x += static_cast<T>(options_.noise[static_cast<std::size_t>(i)] * random.normal());
        }
        w.x.data()[i * C + r] = x;
        w.target.data()[i * C + r] = x_dot_[at];
      }
      for (int i = 0; i < nu_; ++i) {
        w.u.data()[i * C + r] = u_[static_cast<std::size_t>(row * nu_ + i)];
      }
    }
  }

  void run(Worker& w, const LossCall& call, std::int64_t first, std::int64_t count,
           std::int64_t all, double factor, bool back) const {
    const int C = all == 1 ? 1 : block_columns<T>(std::max(static_cast<int>(count), 2));
    take_rows(w, call, first, count, C);
    Field<T>& f = field(w, C);
    const std::vector<const T*> arrays = weight_pointers();
    f.use(arrays.data(), back ? w.sums.pointers.data() : nullptr);
    const auto compare = [&](const T* x_dot, T* bar) {
      double sum = 0;
      for (int i = 0; i < nx_; ++i) {
        const double scale = this->scale(i);
        for (std::int64_t r = 0; r < C; ++r) {
          if (r >= count) {
            if (bar) bar[i * C + r] = T(0);
            continue;
          }
          const double off =
              static_cast<double>(x_dot[i * C + r] - w.target.data()[i * C + r]) * scale;
          sum += off * off;  // (1)
          if (bar) bar[i * C + r] = static_cast<T>(2 * factor * scale * off);
        }
      }
      w.loss += sum * factor;
    };
    if (back) {
      f.rate_pullback(w.x.data(), w.u.data(), compare, nullptr, nullptr);
      return;
    }
    f.rate(w.x.data(), w.u.data(), w.x_dot.data());
    compare(w.x_dot.data(), nullptr);
  }

  System system_;
  std::shared_ptr<const FieldPlan<T>> plan_;
  LossOptions options_;
  int nx_, nu_;
  std::int64_t rows_;
  std::vector<T> x_, x_dot_, u_, weights_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

std::unique_ptr<TrainingLoss> derivative_loss(const System& system, const Derivatives& data,
                                              const LossOptions& options) {
  const LearnedLaw* const law = learned_law(system);
  if (!law) {
    throw Error(message("system \"", system.name(),
                        "\" shows no x_dot to compare with derivatives; give recordings"));
  }
  const int nx = system.states().size(), nu = system.inputs().size();
  const std::size_t rows = data.x.size() / static_cast<std::size_t>(nx);
  if (rows == 0) throw Error("derivatives: there are no rows to learn from");
  check_rows(data.x, rows * static_cast<std::size_t>(nx), nx, "x");
  check_rows(data.x_dot, rows * static_cast<std::size_t>(nx), nx, "x_dot");
  if (!data.u.empty()) check_rows(data.u, rows * static_cast<std::size_t>(nu), nu, "u");
  if (options.shooting > 0 || options.clip_each > 0) {
    throw Error(
        "shooting and clip_each are for windows of recordings, and derivatives have none; give "
        "recordings");
  }
  if (!options.terms.empty()) {
    throw Error("terms are functions of runs, and derivatives have none; give recordings");
  }
  if (system.precision() == Precision::float32) {
    return std::make_unique<DerivativeLoss<float>>(system, *law, data, options);
  }
  return std::make_unique<DerivativeLoss<double>>(system, *law, data, options);
}

}  // namespace cycloid::inline learn
