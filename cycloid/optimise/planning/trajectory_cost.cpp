#include "cycloid/optimise/planning/trajectory_cost.h"

#include <algorithm>
#include <cmath>

#include "cycloid/base/error.h"
#include "cycloid/optimise/planning/products.h"
#include "cycloid/page/number_text.h"

namespace cycloid::inline optimise {
namespace {

constexpr double kFirstPenalty = 10;
constexpr double kMissed = 0.1;  // of the distance at the start

// One weight, or one for each of n numbers; all finite and not negative.
std::vector<double> weights(const std::vector<double>& given, int n, const std::string& of,
                            const char* what) {
  if (given.size() != 1 && given.size() != static_cast<std::size_t>(n)) {
    throw Error(message(of, ": ", what, " must be one number or ", n, "; got ", given.size()));
  }
  for (const double w : given) {
    if (!std::isfinite(w) || w < 0) {
      throw Error(message(of, ": ", what, " must be finite and not negative; got ", w));
    }
  }
  return given.size() == 1 ? std::vector<double>(n, given[0]) : given;
}

std::vector<double> limits(const std::vector<double>& given, int n, const std::string& of,
                           const char* what) {
  if (given.size() != 1 && given.size() != static_cast<std::size_t>(n)) {
    throw Error(message(of, ": ", what, " must be one number or ", n, "; got ", given.size()));
  }
  for (const double v : given) {
    if (std::isnan(v)) throw Error(message(of, ": ", what, " must not be NaN"));
  }
  return given.size() == 1 ? std::vector<double>(n, given[0]) : given;
}

}  // namespace

// Numbers of φ for each residual (trajectory_cost.h): a Reach has weights, a Keep has limits,
// multipliers (steps, residuals, 2: those of low and of high) and a penalty.
struct TrajectoryCost::Residuals {
  Output output;
  std::vector<std::int64_t> at;
  std::vector<double> target;  // (1 or at, size)
  std::vector<double> weight;  // (residuals) of a Reach; empty: this is a Keep
  std::vector<double> low, high, multipliers;
  double rho = kFirstPenalty;

  const double* target_at(std::size_t j) const {
    const std::size_t size = static_cast<std::size_t>(output.size());
    return target.data() + (target.size() == size ? 0 : j * size);
  }
  bool is_constraint() const { return weight.empty(); }

  struct Point {
    double value, slope, curvature;
  };
  // φ of residual i at chosen step j.
  Point phi(std::size_t j, std::size_t i, double r) const {
    if (!is_constraint()) return {weight[i] * r * r, 2 * weight[i] * r, 2 * weight[i]};  // (1)
    const double* const lambda = multipliers.data() + (j * low.size() + i) * 2;
    Point out{0, 0, 0};
    const auto side = [&](double c, double l, double sign, bool both) {
      const double pushed = both ? c + l / rho : std::max(0.0, c + l / rho);  // (2)
      out.value += rho / 2 * (pushed * pushed - l / rho * (l / rho));
      out.slope += sign * rho * pushed;
      if (both || pushed > 0) out.curvature += rho;
    };
    if (low[i] == high[i]) {
      side(r - high[i], lambda[1], 1, true);
      return out;
    }
    if (std::isfinite(low[i])) side(low[i] - r, lambda[0], -1, false);
    if (std::isfinite(high[i])) side(r - high[i], lambda[1], 1, false);
    return out;
  }
};

TrajectoryCost::TrajectoryCost(const System& system, const Cost& cost, std::int64_t steps,
                               std::span<const double> params, int threads)
    : system_(system), steps_(steps), params_(params.begin(), params.end()), threads_(threads) {
  const int nu = system.inputs().size();
  const auto add_to = [](std::vector<double>& sum, const std::vector<double>& w) {
    sum.resize(w.size(), 0.0);
    for (std::size_t i = 0; i < w.size(); ++i) sum[i] += w[i];
  };
  for (const Term& term : cost.terms) {
    const std::string of = describe(term);
    if (const Effort* e = std::get_if<Effort>(&term)) {
      add_to(effort_, weights(e->weight, nu, of, "weight"));
    } else if (const Smooth* s = std::get_if<Smooth>(&term)) {
      add_to(smooth_, weights(s->weight, nu, of, "weight"));
    } else if (const Function* f = std::get_if<Function>(&term)) {
      if (!f->evaluate) throw Error(message(of, ": there is no function"));
      functions_.push_back(*f);
    } else if (const Reach* r = std::get_if<Reach>(&term)) {
      Output output(system, r->name);
      std::vector<std::int64_t> at = r->when.of(steps);
      const std::size_t size = static_cast<std::size_t>(output.size());
      std::vector<double> target = r->target;
      if (target.size() == 1 && size > 1 && !output.has_quaternions())
        target.resize(size, target[0]);
      if (target.size() != size && target.size() != at.size() * size) {
        throw Error(message(of, ": target must have ", size, " numbers, or as many for each of ",
                            at.size(), " steps; got ", target.size()));
      }
      for (std::size_t i = 0; i < target.size(); i += size) {
        for (std::size_t k = i; k < i + size; ++k) {
          if (!std::isfinite(target[k])) {
            throw Error(message(of, ": target must be finite; number ", k, " is ", target[k]));
          }
        }
        if (!output.normalise(target.data() + i)) {
          throw Error(message(of, ": a quaternion of the target is zero"));
        }
      }
      std::vector<double> w = weights(r->weight, output.residuals(), of, "weight");
      residuals_.push_back(std::make_unique<Residuals>(Residuals{
          std::move(output), std::move(at), std::move(target), std::move(w), {}, {}, {}}));
    } else if (const Keep* k = std::get_if<Keep>(&term)) {
      Output output(system, k->name);
      if (output.has_quaternions()) {
        throw Error(message(of, ": an orientation has no low and high; name numbers"));
      }
      const int n = output.size();
      std::vector<double> low = limits(k->low, n, of, "low"), high = limits(k->high, n, of, "high");
      for (int i = 0; i < n; ++i) {
        if (!(low[i] <= high[i])) {
          throw Error(message(of, ": low must not exceed high; got ", low[i], " and ", high[i]));
        }
      }
      std::vector<std::int64_t> at = k->when.of(steps);
      std::vector<double> lambda(at.size() * n * 2, 0.0);
      residuals_.push_back(std::make_unique<Residuals>(Residuals{std::move(output),
                                                                 std::move(at),
                                                                 std::vector<double>(n, 0.0),
                                                                 {},
                                                                 std::move(low),
                                                                 std::move(high),
                                                                 std::move(lambda)}));
    }
  }
}

TrajectoryCost::~TrajectoryCost() = default;

OutputRows TrajectoryCost::rows_of(const Residuals& term, std::span<const double> states,
                                   std::span<const double> controls, std::int64_t rows,
                                   std::vector<double>& x, std::vector<double>& u,
                                   const KeepGoing& keep_going) const {
  const std::int64_t nx = system_.states().size(), nu = system_.inputs().size(),
                     n = std::ssize(term.at);
  x.resize(rows * n * nx);
  const bool inputs = !term.output.of_state();
  u.assign(inputs ? rows * n * nu : 0, 0.0);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t t = term.at[j];
      std::copy_n(states.data() + (r * (steps_ + 1) + t) * nx, nx, x.data() + (r * n + j) * nx);
      if (!inputs || t == steps_) continue;
      std::copy_n(controls.data() + (r * steps_ + t) * nu, nu, u.data() + (r * n + j) * nu);
    }
  }
  return {x, u, rows * n, params_, threads_, keep_going};
}

std::vector<double> TrajectoryCost::values(std::span<const double> states,
                                           std::span<const double> controls, std::int64_t rows,
                                           const KeepGoing& keep_going) const {
  const std::int64_t nu = system_.inputs().size();
  std::vector<double> out(rows, 0.0), x, u, r;
  for (const auto& term : residuals_) {
    const OutputRows at = rows_of(*term, states, controls, rows, x, u, keep_going);
    const Output::Values seen = term->output.values(at);
    const std::size_t nr = term->output.residuals(), n = term->at.size();
    r.resize(nr);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::size_t j = 0; j < n; ++j) {
        const double* const y = seen.y.data() + (row * n + j) * term->output.size();
        term->output.residual(term->target_at(j), y, r.data());
        for (std::size_t i = 0; i < nr; ++i) out[row] += term->phi(j, i, r[i]).value;
      }
    }
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    const double* const own = controls.data() + row * steps_ * nu;
    for (std::int64_t i = 0; !effort_.empty() && i < steps_ * nu; ++i) {
      out[row] += effort_[i % nu] * own[i] * own[i];
    }
    for (std::int64_t i = nu; !smooth_.empty() && i < steps_ * nu; ++i) {
      const double change = own[i] - own[i - nu];
      out[row] += smooth_[i % nu] * change * change;
    }
  }
  std::vector<double> own(rows);
  for (const Function& f : functions_) {
    f.evaluate(rows, states.data(), controls.data(), own.data(), nullptr, nullptr);
    for (std::int64_t row = 0; row < rows; ++row) out[row] += own[row];
  }
  return out;
}

double TrajectoryCost::gradient(std::span<const double> states, std::span<const double> controls,
                                std::span<double> states_bar, std::span<double> controls_bar,
                                const KeepGoing& keep_going) const {
  const Space& space = system_.states();
  const std::int64_t nx = space.size(), nt = space.tangent_size(), nu = system_.inputs().size();
  double value = 0;
  std::fill(states_bar.begin(), states_bar.end(), 0.0);
  std::fill(controls_bar.begin(), controls_bar.end(), 0.0);
  std::vector<double> tangent_bar((steps_ + 1) * nt, 0.0), x, u;
  for (const auto& term : residuals_) {
    const OutputRows at = rows_of(*term, states, controls, 1, x, u, keep_going);
    const Output::Values seen = term->output.values(at);
    const std::size_t nr = term->output.residuals(), n = term->at.size();
    std::vector<double> r(n * nr), r_bar(n * nr), x_bar(n * nt, 0.0), u_bar(n * nu, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
      term->output.residual(term->target_at(j), seen.y.data() + j * term->output.size(),
                            r.data() + j * nr);
      for (std::size_t i = 0; i < nr; ++i) {
        const Residuals::Point p = term->phi(j, i, r[j * nr + i]);
        value += p.value;
        r_bar[j * nr + i] = p.slope;
      }
    }
    term->output.add_pulled(seen, r, r_bar, x_bar.data(), u_bar.data(), at);
    for (std::size_t j = 0; j < n; ++j) {
      const std::int64_t t = term->at[j];
      for (std::int64_t i = 0; i < nt; ++i) tangent_bar[t * nt + i] += x_bar[j * nt + i];
      for (std::int64_t i = 0; t < steps_ && i < nu; ++i)
        controls_bar[t * nu + i] += u_bar[j * nu + i];
    }
  }
  for (std::int64_t t = 0; t <= steps_; ++t) {
    space.to_coordinates(states.data() + t * nx, tangent_bar.data() + t * nt,
                         states_bar.data() + t * nx);
  }
  for (std::int64_t i = 0; !effort_.empty() && i < steps_ * nu; ++i) {
    value += effort_[i % nu] * controls[i] * controls[i];
    controls_bar[i] += 2 * effort_[i % nu] * controls[i];
  }
  for (std::int64_t i = nu; !smooth_.empty() && i < steps_ * nu; ++i) {
    const double change = controls[i] - controls[i - nu], w = smooth_[i % nu];
    value += w * change * change;
    controls_bar[i] += 2 * w * change;
    controls_bar[i - nu] -= 2 * w * change;
  }
  std::vector<double> own_states(states_bar.size()), own_controls(controls_bar.size());
  for (const Function& f : functions_) {
    double own = 0;
    f.evaluate(1, states.data(), controls.data(), &own, own_states.data(), own_controls.data());
    value += own;
    for (std::size_t i = 0; i < states_bar.size(); ++i) states_bar[i] += own_states[i];
    for (std::size_t i = 0; i < controls_bar.size(); ++i) controls_bar[i] += own_controls[i];
  }
  return value;
}

void TrajectoryCost::expand(std::span<const double> states, std::span<const double> controls,
                            Expansion& out, const KeepGoing& keep_going) const {
  const std::int64_t n = system_.states().tangent_size(), m = system_.inputs().size(), T = steps_;
  out.lx.assign((T + 1) * n, 0.0);
  out.lxx.assign((T + 1) * n * n, 0.0);
  out.lu.assign(T * m, 0.0);
  out.luu.assign(T * m * m, 0.0);
  out.lux.clear();
  for (std::int64_t t = 0; !effort_.empty() && t < T; ++t) {
    for (std::int64_t i = 0; i < m; ++i) {
      out.lu[t * m + i] = 2 * effort_[i] * controls[t * m + i];
      out.luu[(t * m + i) * m + i] = 2 * effort_[i];
    }
  }
  const Products product = products();
  std::vector<double> x, u, R, S, scaled;
  for (const auto& term : residuals_) {
    const OutputRows at = rows_of(*term, states, controls, 1, x, u, keep_going);
    const Output& output = term->output;
    const Output::Values seen = output.values(at);
    const std::int64_t nr = output.residuals(), rows = std::ssize(term->at);
    std::vector<double> r(rows * nr), slope(rows * nr), curvature(rows * nr);
    for (std::int64_t j = 0; j < rows; ++j) {
      output.residual(term->target_at(j), seen.y.data() + j * output.size(), r.data() + j * nr);
      for (std::int64_t i = 0; i < nr; ++i) {
        const Residuals::Point p = term->phi(j, i, r[j * nr + i]);
        slope[j * nr + i] = p.slope;
        curvature[j * nr + i] = p.curvature;
      }
    }
    if (output.of_state()) {
      for (std::int64_t j = 0; j < rows; ++j) {
        const std::int64_t t = term->at[j];
        double *const lx = out.lx.data() + t * n, *const lxx = out.lxx.data() + t * n * n;
        for (const OutputPart& p : output.parts()) {
          const double *const g = slope.data() + j * nr + p.tangent_place, *const h =
                                                                               curvature.data() +
                                                                               j * nr +
                                                                               p.tangent_place;
          if (!p.quaternion) {
            for (int i = 0; i < p.count; ++i) {
              const int at_i = p.tangent_from + i;
              lx[at_i] += g[i];  // (3)
              lxx[at_i * n + at_i] += h[i];
            }
            continue;
          }
          double block[9];
          Output::quaternion_block(r.data() + j * nr + p.tangent_place, block);
          for (int a = 0; a < 3; ++a) {
            for (int k = 0; k < 3; ++k) {
              lx[p.tangent_from + a] += block[k * 3 + a] * g[k];  // (3)
              for (int b = 0; b < 3; ++b) {
                lxx[(p.tangent_from + a) * n + p.tangent_from + b] +=
                    block[k * 3 + a] * h[k] * block[k * 3 + b];
              }
            }
          }
        }
      }
      continue;
    }
    output.jacobians(seen, r, at, R, S);
    if (out.lux.empty()) out.lux.assign(T * m * n, 0.0);
    for (std::int64_t j = 0; j < rows; ++j) {
      const std::int64_t t = term->at[j];
      const double *const g = slope.data() + j * nr, *const h = curvature.data() + j * nr;
      const double *const Rj = R.data() + j * nr * n, *const Sj = S.data() + j * nr * m;
      scaled.assign(Rj, Rj + nr * n);
      for (std::int64_t i = 0; i < nr * n; ++i) scaled[i] *= h[i / n];
      product.add_transposed(n, 1, nr, Rj, g, out.lx.data() + t * n);  // (3)
      product.add_transposed(n, n, nr, Rj, scaled.data(), out.lxx.data() + t * n * n);
      if (t == T || m == 0) continue;
      product.add_transposed(m, 1, nr, Sj, g, out.lu.data() + t * m);
      product.add_transposed(m, n, nr, Sj, scaled.data(), out.lux.data() + t * m * n);
      scaled.assign(Sj, Sj + nr * m);
      for (std::int64_t i = 0; i < nr * m; ++i) scaled[i] *= h[i / m];
      product.add_transposed(m, m, nr, Sj, scaled.data(), out.luu.data() + t * m * m);
    }
  }
}

std::string TrajectoryCost::without_model() const {
  return functions_.empty() ? "" : describe(functions_.front());
}

std::string TrajectoryCost::without_gradient() const {
  for (const Function& f : functions_) {
    if (!f.has_gradient) return describe(f);
  }
  return "";
}

std::vector<std::string> TrajectoryCost::missed(std::span<const double> states,
                                                std::span<const double> controls) const {
  std::vector<std::string> out;
  std::vector<double> x, u, r;
  const std::int64_t nx = system_.states().size();
  for (const auto& term : residuals_) {
    // Tracking a path has no one distance.
    if (term->is_constraint() || term->at.size() != 1) continue;
    r.resize(term->output.residuals());
    const auto distance = [&](const OutputRows& at) {
      const Output::Values seen = term->output.values(at);
      term->output.residual(term->target_at(0), seen.y.data(), r.data());
      double sum = 0;
      for (std::size_t i = 0; i < r.size(); ++i) sum += term->weight[i] > 0 ? r[i] * r[i] : 0.0;
      return std::sqrt(sum);
    };
    const double end = distance(rows_of(*term, states, controls, 1, x, u, {}));
    const double start = distance({states.first(nx), {}, 1, params_, threads_, {}});
    if (!(end > kMissed * start) || end == 0) continue;
    out.push_back(message("Reach(\"", term->output.name(), "\") ends ", significant(end, 4),
                          " from its target, which was ", significant(start, 4),
                          " away: it may be out of reach in these steps and bounds, or worth a ",
                          "larger weight."));
  }
  return out;
}

bool TrajectoryCost::has_constraints() const {
  return std::any_of(residuals_.begin(), residuals_.end(),
                     [](const auto& t) { return t->is_constraint(); });
}

double TrajectoryCost::violation(std::span<const double> states,
                                 std::span<const double> controls) const {
  double most = 0;
  std::vector<double> x, u;
  for (const auto& term : residuals_) {
    if (!term->is_constraint()) continue;
    const OutputRows at = rows_of(*term, states, controls, 1, x, u, {});
    const std::vector<double> y = term->output.values(at).y;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t k = i % term->low.size();
      most = std::max({most, y[i] - term->high[k], term->low[k] - y[i]});
    }
  }
  return most;
}

void TrajectoryCost::update_multipliers(std::span<const double> states,
                                        std::span<const double> controls, double factor) {
  std::vector<double> x, u;
  for (const auto& term : residuals_) {
    if (!term->is_constraint()) continue;
    const OutputRows at = rows_of(*term, states, controls, 1, x, u, {});
    const std::vector<double> y = term->output.values(at).y;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t k = i % term->low.size();
      double* const lambda = term->multipliers.data() + i * 2;
      if (term->low[k] == term->high[k]) {
        lambda[1] += term->rho * (y[i] - term->high[k]);
        continue;
      }
      if (std::isfinite(term->low[k])) {
        lambda[0] = std::max(0.0, lambda[0] + term->rho * (term->low[k] - y[i]));
      }
      if (std::isfinite(term->high[k])) {
        lambda[1] = std::max(0.0, lambda[1] + term->rho * (y[i] - term->high[k]));
      }
    }
    term->rho *= factor;
  }
}

void TrajectoryCost::set_penalty(double rho) {
  for (const auto& term : residuals_) {
    term->rho = rho;
    std::fill(term->multipliers.begin(), term->multipliers.end(), 0.0);
  }
}

}  // namespace cycloid::inline optimise
