#include "cycloid/learn/train.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"
#include "cycloid/base/random.h"
#include "cycloid/network/adam.h"
#include "cycloid/optimise/lbfgs.h"
#include "cycloid/optimise/levenberg_marquardt.h"

namespace cycloid::inline learn {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kKept = 0.98;           // of the running mean of the loss
constexpr double kGrowth = 1e3;          // of that mean over its lowest: the run is lost
constexpr std::int64_t kFailures = 20;   // infinite losses in a row
constexpr int kPairs = 20;               // of L-BFGS
constexpr std::ptrdiff_t kDampings = 4;  // of Gauss-Newton's memory, before D
constexpr std::uint32_t kOrderStream = 0x6f726465;

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

// |v|, in eight sums that do not wait for each other.
double length(std::span<const double> v) {
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= v.size(); i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sums[k] += v[i + k] * v[i + k];
  }
  for (; i < v.size(); ++i) sums[0] += v[i] * v[i];
  double all = 0;
  for (const double s : sums) all += s;
  return std::sqrt(all);
}

void append(const std::vector<double>& from, std::vector<double>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

// Pairs of n numbers each, one behind the other.
LbfgsMemory pairs_of(const std::vector<double>& memory, std::size_t n) {
  LbfgsMemory all;
  for (auto at = memory.begin(); memory.end() - at >= static_cast<std::ptrdiff_t>(2 * n);) {
    for (auto* to : {&all.s, &all.y}) {
      to->emplace_back(at, at + static_cast<std::ptrdiff_t>(n));
      at += static_cast<std::ptrdiff_t>(n);
    }
  }
  return all;
}

// Numbers of the parameter vector that are trained.
std::vector<int> trained_numbers(const System& system, const std::vector<std::string>& names) {
  std::vector<int> all;
  std::vector<bool> used(names.size(), false);
  std::vector<std::string> known;
  for (const Parameter& p : system.parameters().all()) {
    known.push_back(p.name);
    bool wanted = names.empty() && p.name != kTimestepName && p.not_differentiable.empty();
    for (std::size_t k = 0; k < names.size(); ++k) {
      const bool begins = p.name.starts_with(names[k]) && p.name.size() > names[k].size() &&
                          p.name[names[k].size()] == '.';
      if (p.name != names[k] && !begins) continue;
      if (!p.not_differentiable.empty()) {
        throw ParameterError(
            message("parameter \"", p.name, "\" is not differentiated: ", p.not_differentiable));
      }
      wanted = used[k] = true;
    }
    for (int i = 0; i < p.size && wanted; ++i) all.push_back(p.offset + i);
  }
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (used[k]) continue;
    throw ParameterError(
        message("no parameter is called \"", names[k], "\"", did_you_mean(names[k], known)));
  }
  if (all.empty()) throw Error("there is no parameter to train");
  return all;
}

void check(const TrainOptions& o) {
  const auto positive = [](double x, const char* what) {
    if (!(x > 0) || !std::isfinite(x)) {
      throw Error(message(what, " must be positive and finite; got ", x));
    }
  };
  const auto no_less_than_zero = [](double x, const char* what) {
    if (!(x >= 0) || !std::isfinite(x)) {
      throw Error(message(what, " must be zero or more, and finite; got ", x));
    }
  };
  positive(o.learning_rate, "learning_rate");
  no_less_than_zero(o.weight_decay, "weight_decay");
  no_less_than_zero(o.clip, "clip");
  if (o.steps < 0) throw Error(message("steps must not be negative; got ", o.steps));
  if (o.batch < 0) throw Error(message("batch must not be negative; got ", o.batch));
  if (!(o.validation >= 0 && o.validation < 1)) {
    throw Error(message("validation is a share in [0, 1); got ", o.validation));
  }
  if (o.first_horizon > o.horizon) {
    throw Error(message("a horizon that grows begins at ", o.horizon, " samples or fewer; got ",
                        o.first_horizon));
  }
}

class Training {
 public:
  Training(const System& system, TrainingLoss& loss, const TrainOptions& options,
           const TrainState* from)
      : system_(system),
        loss_(loss),
        o_(options),
        numbers_(trained_numbers(system, options.params)),
        own_(loss.own_numbers()),
        adam_(numbers_.size() + own_.size(),
              {options.learning_rate, options.beta1, options.beta2, options.epsilon, 0}) {
    check(options);
    loss.split(options.validation, learn_, validate_);
    if (learn_.empty()) {
      throw Error(message("validation holds back all ", validate_.size(),
                          " samples, and none is left to learn from: give a smaller share than ",
                          options.validation));
    }
    p_ = system.parameters().default_values();  // those not trained stay, to the bit
    free_ = system.parameters().to_free(p_);
    p_.insert(p_.end(), own_.begin(), own_.end());
    plain_ = numbers_.back() + 1 == system.parameters().size() &&
             numbers_.back() - numbers_.front() + 1 == static_cast<int>(numbers_.size());
    for (const int i : numbers_) {
      plain_ &= system.parameters().holding(i).constraint == Constraint::none;
    }
    if (from) {
      s_ = *from;
      if (s_.z.size() != numbers_.size() + own_.size() || s_.m.size() != s_.z.size()) {
        throw Error(message("the run to resume trained ", s_.z.size(), " numbers; this one trains ",
                            numbers_.size() + own_.size()));
      }
      adam_.set_moments(s_.m, s_.v, s_.adam_steps);
    } else {
      for (const int i : numbers_) s_.z.push_back(free_[static_cast<std::size_t>(i)]);
      s_.z.insert(s_.z.end(), own_.begin(), own_.end());
      s_.m.assign(s_.z.size(), 0.0), s_.v = s_.m;
      s_.best_loss = s_.lowest_mean = std::numeric_limits<double>::infinity();
    }
    every_ = options.validate_every > 0 ? options.validate_every
                                        : std::max<std::int64_t>(1, options.steps / 100);
    began_ = std::chrono::steady_clock::now();
    earlier_ = s_.seconds;
  }

  TrainRun run() {
    if (o_.method == TrainMethod::lbfgs) return run_lbfgs();
    if (o_.method == TrainMethod::gauss_newton) return run_gauss_newton();
    TrainRun out;
    out.message = "all steps were made";
    while (s_.step < o_.steps) {
      const double loss = step();
      if (const std::string why = judge(loss); !why.empty()) {
        out.ended = true, out.message = why;
        break;
      }
      if (!watched(loss)) {
        out.ended = true, out.message = "stopped by its watch";
        break;
      }
    }
    return finish(std::move(out));
  }

 private:
  // The System's parameters, then the loss's own numbers; kept until the next call.
  const std::vector<double>& params(std::span<const double> z) {
    if (plain_) {
      std::copy(z.begin(), z.end(), p_.end() - static_cast<std::ptrdiff_t>(z.size()));
      return p_;
    }
    for (std::size_t k = 0; k < numbers_.size(); ++k) {
      free_[static_cast<std::size_t>(numbers_[k])] = z[k];
    }
    const std::vector<double> moved = system_.parameters().from_free(free_);
    for (const int i : numbers_) {
      p_[static_cast<std::size_t>(i)] = moved[static_cast<std::size_t>(i)];
    }
    const std::span<const double> own = z.last(own_.size());
    std::copy(own.begin(), own.end(), p_.end() - static_cast<std::ptrdiff_t>(own.size()));
    return p_;
  }
  // Cotangents of z from those of the parameters, at the z of `params`; kept likewise.
  std::span<double> free_bar(std::span<double> p_bar) {
    if (plain_) return p_bar.last(numbers_.size() + own_.size());
    const std::span<double> own = p_bar.last(own_.size());
    std::vector<double> clean(p_bar.begin(), p_bar.end() - static_cast<std::ptrdiff_t>(own.size()));
    for (double& g : clean) {
      if (std::isnan(g)) g = 0;  // of what is not differentiated, and not trained
    }
    const std::vector<double> all = system_.parameters().from_free_pullback(free_, clean);
    z_bar_.clear();
    for (const int i : numbers_) z_bar_.push_back(all[static_cast<std::size_t>(i)]);
    z_bar_.insert(z_bar_.end(), own.begin(), own.end());
    return z_bar_;
  }

  // The samples of step k, each epoch in another order.
  std::span<const std::int64_t> batch(std::int64_t k) {
    const std::int64_t N = static_cast<std::int64_t>(learn_.size());
    if (o_.batch == 0 || o_.batch >= N) return learn_;
    const std::int64_t each = N / o_.batch, epoch = k / each;
    if (epoch != epoch_) {
      epoch_ = epoch, order_ = learn_;
      RandomStream random(o_.seed, kOrderStream, static_cast<std::uint64_t>(epoch));
      for (std::int64_t i = N - 1; i > 0; --i) {
        const auto j = static_cast<std::int64_t>(random.uniform() * static_cast<double>(i + 1));
        std::swap(order_[static_cast<std::size_t>(i)], order_[static_cast<std::size_t>(j)]);
      }
    }
    return std::span<const std::int64_t>(order_).subspan(
        static_cast<std::size_t>(k % each * o_.batch), static_cast<std::size_t>(o_.batch));
  }

  int horizon(std::int64_t k) const {
    if (o_.first_horizon <= 0) return o_.horizon;
    const double grown =
        static_cast<double>(k) / std::max(1.0, 0.5 * static_cast<double>(o_.steps));
    const int more = static_cast<int>(grown * (o_.horizon - o_.first_horizon + 1));
    return std::min(o_.horizon, o_.first_horizon + more);  // (4)
  }
  double rate(std::int64_t k) const {
    if (o_.schedule == RateSchedule::constant) return o_.learning_rate;
    const double done =
        static_cast<double>(k) / static_cast<double>(std::max<std::int64_t>(1, o_.steps));
    switch (o_.schedule) {  // (3)
      case RateSchedule::linear: return o_.learning_rate * (1 - done);
      case RateSchedule::exponential: return o_.learning_rate * std::pow(100.0, -done);
      default: return o_.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
    }
  }

  double step() {
    const std::vector<double>& p = params(s_.z);
    const std::int64_t k = s_.step++;
    if (looks()) before_ = s_.z;
    const double loss = loss_.value(p, {batch(k), horizon(k), k}, &bar_);
    if (!std::isfinite(loss)) return loss;
    const std::span<double> z_bar = free_bar(bar_);
    if (o_.method == TrainMethod::adam && o_.weight_decay > 0) {
      for (std::size_t i = 0; i < z_bar.size(); ++i) z_bar[i] += o_.weight_decay * s_.z[i];  // (1)
    }
    const double norm = length(z_bar);
    if (!std::isfinite(norm)) return std::numeric_limits<double>::infinity();
    if (o_.clip > 0 && norm > o_.clip) {
      for (double& g : z_bar) g *= o_.clip / norm;
    }
    adam_.options().rate = rate(k);
    adam_.options().decay = o_.method == TrainMethod::adamw ? o_.weight_decay : 0;
    adam_.step(z_bar.data(), s_.z.data());  // (2)
    return loss;
  }

  // Whether the step that was counted last is looked at.
  bool looks() const { return s_.step % every_ == 0 || s_.step == o_.steps || s_.step == 1; }
  double validation() { return loss_.value(params(s_.z), {validate_, o_.horizon, -1}, nullptr); }

  // Writes the history, keeps what is best; why the run ends, or nothing.
  std::string judge(double loss) {
    if (!std::isfinite(loss)) {
      if (++s_.failures < kFailures) return {};
      return "the loss was not finite in many steps in a row; the best numbers were kept: try a "
             "smaller learning rate, or a shorter horizon";
    }
    s_.failures = 0;
    s_.mean_loss = s_.step == 1 ? loss : kKept * s_.mean_loss + (1 - kKept) * loss;
    double seen = kNaN;
    std::string why;
    if (looks()) {
      const double judged = validate_.empty() ? s_.mean_loss : (seen = validation());
      if (judged < s_.best_loss) {
        s_.best_loss = judged, s_.since_best = 0;
        if (validate_.empty() && !before_.empty()) s_.best.swap(before_);  // filled again
        else s_.best = s_.z;
      } else if (!validate_.empty() && ++s_.since_best >= o_.patience && o_.patience > 0) {
        why = "the loss of what is held back no longer falls; the best numbers were kept";
      }
      s_.history.push_back(
          {s_.step, loss, seen, rate(s_.step - 1), earlier_ + seconds_since(began_)});
    }
    s_.lowest_mean = std::min(s_.lowest_mean, s_.mean_loss);
    if (s_.mean_loss > kGrowth * s_.lowest_mean && s_.step > 10) {
      why = "the loss grew; the best numbers were kept: try a smaller learning rate";
      lost_ = true;
    }
    return why;
  }

  bool watched(double loss) {
    if (!o_.watch) return true;
    const double now = seconds_since(began_);
    if (now - asked_ < 0.2 && s_.step < o_.steps) return true;
    asked_ = now;
    const double seen = s_.history.empty() ? kNaN : s_.history.back().validation;
    std::vector<double> here = params(s_.z);
    here.resize(here.size() - own_.size());  // the loss's own come last
    return o_.watch({s_.step, o_.steps, loss, seen, earlier_ + now, here});
  }

  // Takes a step that an optimiser of all samples has made; false, and why, where it should end.
  bool goes_on(std::span<const double> z, double loss, std::string& why) {
    ++s_.step;
    s_.z.assign(z.begin(), z.end());
    if (why = judge(loss); !why.empty()) return false;
    return watched(loss);
  }

  TrainRun run_lbfgs() {
    TrainRun out;
    const auto objective = [&](std::span<const double> at, std::span<double> gradient) {
      double loss = loss_.value(params(at), {learn_, o_.horizon, 0}, &bar_);
      if (!std::isfinite(loss)) {
        std::fill(gradient.begin(), gradient.end(), 0.0);
        return loss;
      }
      const std::span<const double> z_bar = free_bar(bar_);
      for (std::size_t i = 0; i < at.size(); ++i) {
        gradient[i] = z_bar[i] + o_.weight_decay * at[i];
        loss += 0.5 * o_.weight_decay * at[i] * at[i];
      }
      return loss;
    };
    LbfgsOptions options;
    options.max_iterations = static_cast<int>(std::max<std::int64_t>(0, o_.steps - s_.step));
    options.memory = kPairs;
    if (s_.remembers == o_.method) options.from = pairs_of(s_.memory, s_.z.size());
    std::string why;
    options.watch = [&](const LbfgsIterate& now) {
      return now.iteration == 0 || goes_on(now.x, now.value, why);
    };
    const LbfgsResult found = lbfgs(objective, s_.z, options);
    s_.z = found.x;
    s_.remembers = o_.method, s_.memory.clear();
    for (std::size_t k = 0; k < found.memory.s.size(); ++k) {
      append(found.memory.s[k], s_.memory), append(found.memory.y[k], s_.memory);
    }
    out.ended = found.status != OptimiserStatus::max_iterations;
    out.message = !why.empty() ? why : advice(found.status);
    return finish(std::move(out));
  }

  TrainRun run_gauss_newton() {
    const LossCall all{learn_, o_.horizon, 0};
    const std::size_t count = loss_.residual_count(all), n = s_.z.size();
    if (count == 0) {
      throw Error(
          "gauss_newton is for losses that are sums of squares, without terms and dropout; choose "
          "lbfgs");
    }
    if (n > kMostGaussNewton) {
      throw Error(message("gauss_newton trains ", kMostGaussNewton, " numbers at most; there are ",
                          n, ": choose lbfgs, or name fewer in params"));
    }
    const double decay = std::sqrt(o_.weight_decay);
    std::vector<double> jacobian;  // by the parameters
    const auto residuals = [&](std::span<const double> at, std::span<double> r,
                               std::span<double> J) {
      const std::vector<double>& p = params(at);
      if (!J.empty()) jacobian.resize(count * p.size());
      if (!loss_.residuals(p, all, r.first(count), J.empty() ? nullptr : jacobian.data())) {
        std::fill(r.begin(), r.end(), kNaN);
      }
      for (std::size_t k = 0; k < count && !J.empty(); ++k) {
        const std::span<const double> row =
            free_bar(std::span(jacobian).subspan(k * p.size(), p.size()));
        std::copy(row.begin(), row.end(), J.data() + k * n);
      }
      for (std::size_t i = 0; i < n && decay > 0; ++i) {
        r[count + i] = decay * at[i];
        for (std::size_t j = 0; j < n && !J.empty(); ++j) {
          J[(count + i) * n + j] = i == j ? decay : 0;
        }
      }
    };
    LmOptions options;
    options.first_damping = 1e-2;
    std::int64_t begun = s_.step;
    if (s_.remembers == o_.method && s_.memory.size() == static_cast<std::size_t>(kDampings) + n) {
      const std::vector<double>& m = s_.memory;
      options.from = {m[0], m[1], {m.begin() + kDampings, m.end()}, static_cast<int>(m[2])};
      begun = static_cast<std::int64_t>(m[3]);
    }
    // Of steps that are tried; those that are refused do not count here.
    options.max_iterations = static_cast<int>(std::max<std::int64_t>(0, o_.steps - begun));
    TrainRun out;
    std::string why;
    options.watch = [&](const LmIterate& now) {
      return now.iteration == 0 || goes_on(now.x, now.value, why);
    };
    const LmResult found =
        levenberg_marquardt(residuals, count + (decay > 0 ? n : 0), s_.z, options);
    s_.z = found.x;
    const LmMemory& m = found.memory;
    s_.remembers = o_.method;
    s_.memory = {m.damping, m.growth, static_cast<double>(m.tried), static_cast<double>(begun)};
    append(m.scale, s_.memory);
    out.ended = found.status != OptimiserStatus::max_iterations;
    out.message = !why.empty() ? why : advice(found.status);
    return finish(std::move(out));
  }

  TrainRun finish(TrainRun out) {
    s_.seconds = earlier_ + seconds_since(began_);
    s_.m = adam_.first_moment(), s_.v = adam_.second_moment(), s_.adam_steps = adam_.steps();
    const bool best = (!validate_.empty() || lost_ || s_.failures >= kFailures) && !s_.best.empty();
    out.params = params(best ? s_.best : s_.z);
    const auto own = out.params.end() - static_cast<std::ptrdiff_t>(own_.size());
    out.own.assign(own, out.params.end());
    out.params.erase(own, out.params.end());
    out.state = std::move(s_);
    return out;
  }

  System system_;
  TrainingLoss& loss_;
  TrainOptions o_;
  std::vector<int> numbers_;
  std::vector<double> own_;  // of the loss, as they began
  Adam<double> adam_;
  std::vector<std::int64_t> learn_, validate_, order_;
  std::vector<double> p_, free_, bar_, z_bar_, before_;  // before_: z of the loss looked at
  bool plain_ = false;  // trained numbers are the last, and their own free variables
  TrainState s_;
  std::int64_t every_ = 1, epoch_ = -1;
  bool lost_ = false;
  std::chrono::steady_clock::time_point began_;
  double earlier_ = 0, asked_ = -1;
};

}  // namespace

TrainRun train(const System& system, TrainingLoss& loss, const TrainOptions& options,
               const TrainState* from) {
  return Training(system, loss, options, from).run();
}

}  // namespace cycloid::inline learn
