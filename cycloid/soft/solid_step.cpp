#include "cycloid/soft/solid_step.h"

#include "cycloid/soft/solid_state.h"

namespace cycloid::inline soft {
template <class S>
struct SolidStep<S>::Bars {
  Bars(std::size_t n, std::size_t own)
      : x(n, S(0)), v(x), target(x), force(x), rest(x), numbers(own, S(0)) {}
  Numbers x, v;
  Numbers target, force, rest;  // (numbers); target at held ones alone
  Numbers numbers;              // of the terms
};

template <class S>
SolidStep<S>::SolidStep(NumbersIn<S>& n, const S* x, const S* u, bool first)
    : n_(n), plan_(*values_of(n).body.plan), first_(first) {
  const auto numbers = at(plan_.numbers());
  for (std::size_t i = 0; i < numbers; ++i) rest_.push_back(n.rest_at(i));
  x_.resize(numbers), v_.resize(numbers);
  read_state(plan_, x, x_.data(), v_.data());
  memory_ = x + plan_.moving();
  numbers_ = n.numbers_of_terms(u);
  force_ = n.spread_force(u, own_force_);
  const auto positions = at(plan_.held_points());
  for (std::size_t k = 0; k < positions; ++k) {
    const std::size_t i = at(plan_.held_numbers[k]);
    target_.push_back(rest_[i]);
    if (body().held_input >= 0) target_[k] += u[at(body().held_input) + k];
    if (first) x_[i] = target_[k], v_[i] = S(0);
  }
  const Numbers end = positions_at_end();
  int clamp = 0;
  for (std::size_t k = positions; k < plan_.held_numbers.size(); ++k) {
    const int i = plan_.held_numbers[k], j = i / 3 - plan_.points();
    target_.push_back(S(0));
    if (i % 3 == 0) {
      const S turned = body().turned_input >= 0 ? u[body().turned_input + clamp++] : S(0);
      target_[k] = held_turn(plan_, j, rest_.data(), x_.data(), end.data(), turned);
    }
    if (first) x_[at(i)] = target_[k], v_[at(i)] = S(0);
  }
}

template <class S>
SolidIntegrator SolidStep<S>::integrator() const {
  return body().integrator;
}

// With held positions where they shall be.
template <class S>
std::vector<S> SolidStep<S>::positions_at_end() const {
  Numbers end = x_;
  for (std::size_t k = 0; k < at(plan_.held_points()); ++k) {
    end[at(plan_.held_numbers[k])] = target_[k];
  }
  return end;
}

template <class S>
StageOf<S> SolidStep<S>::euler_stage() const {
  const double h = body().dt;
  StageOf<S> stage{{1 / h, h, 1 / h}, x_, v_, {x_.data(), nullptr}, force_, target_, numbers_};
  for (std::size_t i = 0; i < stage.momentum.size(); ++i) stage.momentum[i] *= n_.mass_at(i);
  stage.memory = memory_;
  return stage;  // (1)
}

template <class S>
StageOf<S> SolidStep<S>::trapezoid_stage(double part) const {
  const double h = part * body().dt;
  StageOf<S> stage{{2 / h, h / 2, 2 / h}, x_, v_, {x_.data(), nullptr}, force_, target_, numbers_};
  stage.rule.spread = 2;
  Numbers f(x_.size(), S(0));
  elastic_force(n_, numbers_, x_.data(), f);
  for (std::size_t i = 0; i < f.size(); ++i) {
    const S m = n_.mass_at(i);
    const S total =
        (force_ ? force_[i] : S(0)) + m * (n_.gravity_at(i) - n_.drag_rate() * v_[i]) - f[i];
    stage.momentum[i] = m * v_[i] + h / 2 * total;  // (2)
    stage.origin[i] += h / 2 * v_[i];
  }
  for (std::size_t k = 0; k < target_.size(); ++k) {
    const S& x = x_[at(plan_.held_numbers[k])];
    stage.target[k] = part == 1 ? target_[k] : x + part * (target_[k] - x);
  }
  return stage;
}

template <class S>
StageOf<S> SolidStep<S>::bdf_stage(const Numbers& x_mid, const Numbers& v_mid) const {
  const double h = kD * body().dt;
  StageOf<S> stage{{1 / h, h, 1 / h, 2, {kA, -kB}},
                   x_mid,
                   v_mid,
                   {x_mid.data(), x_.data()},
                   force_,
                   target_,
                   numbers_};
  for (std::size_t i = 0; i < x_.size(); ++i) {
    stage.origin[i] = kA * x_mid[i] - kB * x_[i];
    stage.momentum[i] = n_.mass_at(i) * (kA * v_mid[i] - kB * v_[i]);  // (3)
  }
  return stage;
}

// (1) of solid_stage.h; held numbers move evenly.
template <class S>
std::vector<S> SolidStep<S>::velocity(const StageOf<S>& stage, const Numbers& y) const {
  Numbers v(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) v[i] = stage.rule.alpha * (y[i] - stage.origin[i]);
  for (std::size_t k = 0; k < target_.size(); ++k) {
    const std::size_t i = at(plan_.held_numbers[k]);
    v[i] = (target_[k] - x_[i]) / body().dt;
  }
  return v;
}

template <class S>
void SolidStep<S>::write(const StageOf<S>& stage, const Numbers& y, S* x_next) const {
  const Numbers v = velocity(stage, y);
  write_state(plan_, rest_.data(), x_.data(), y.data(), v.data(), x_next);
}

template <class S>
void SolidStep<S>::pull_velocity(const StageOf<S>& stage, const Numbers& v_bar, Numbers& y_bar,
                                 StageBarsOf<S>& own, Bars& bars) const {
  for (std::size_t i = 0; i < y_bar.size(); ++i) {
    if (plan_.held[i]) {
      bars.target[i] += v_bar[i] / body().dt;
      bars.x[i] -= v_bar[i] / body().dt;
    } else {
      y_bar[i] += stage.rule.alpha * v_bar[i];
      own.origin[i] -= stage.rule.alpha * v_bar[i];
    }
  }
}

// Of a stage of (2): y_bar and v_bar of its end.
template <class S>
void SolidStep<S>::pull_trapezoid(const StageOf<S>& stage, const StageRecord& record,
                                  const Numbers& y, double part, Numbers y_bar,
                                  const Numbers& v_bar, Bars& bars) const {
  const double half = part * body().dt / 2;
  StageBarsOf<S> own(plan_);
  pull_velocity(stage, v_bar, y_bar, own, bars);
  stage_pullback(n_, stage, record, y, y_bar, own);
  Numbers f_bar(y_bar.size());
  for (std::size_t i = 0; i < y_bar.size(); ++i) {
    const S m = n_.mass_at(i), p_bar = own.momentum[i], total_bar = half * p_bar;
    if (plan_.held[i]) {
      bars.target[i] += part * own.held[i];
      bars.x[i] += (1 - part) * own.held[i];
    }
    bars.x[i] += own.origin[i] + own.before[0][i];
    bars.v[i] += half * own.origin[i] + m * p_bar - n_.drag_rate() * m * total_bar;
    bars.force[i] += own.force[i] + total_bar;
    n_.add_mass(i, v_[i] * p_bar + total_bar * (n_.gravity_at(i) - n_.drag_rate() * v_[i]));
    n_.add_gravity(i, m * total_bar);
    n_.add_drag(-(m * v_[i] * total_bar));
    f_bar[i] = -total_bar;
  }
  elastic_force_pullback(n_, numbers_, nullptr, x_.data(), f_bar, bars.x, bars.numbers);  // (2)
  for (std::size_t i = 0; i < own.numbers.size(); ++i) bars.numbers[i] += own.numbers[i];
}

template <class S>
void SolidStep<S>::pullback(const std::vector<StageRecord>& stages,
                            const std::vector<Numbers>& ends, const S* x_next_bar, S* x_bar,
                            S* u_bar) const {
  const auto numbers = at(plan_.numbers());
  Bars bars(numbers, numbers_.size());
  Numbers y_bar(numbers, S(0)), v_bar(y_bar);
  write_state_pullback(plan_, rest_.data(), x_.data(), ends.back().data(), x_next_bar, y_bar.data(),
                       v_bar.data(), bars.rest.data(), bars.x.data());
  if (integrator() == SolidIntegrator::newmark) {
    pull_trapezoid(trapezoid_stage(1), stages[0], ends[0], 1, y_bar, v_bar, bars);
    return pull_start(bars, x_bar, u_bar);
  }
  const bool two = integrator() == SolidIntegrator::bdf2;
  StageOf<S> first, stage;
  Numbers v_mid;
  if (two) {
    first = trapezoid_stage(kGamma);
    v_mid = velocity(first, ends[0]);
    stage = bdf_stage(ends[0], v_mid);
  } else {
    stage = euler_stage();
  }
  StageBarsOf<S> own(plan_);
  pull_velocity(stage, v_bar, y_bar, own, bars);
  if (!two) stage_memory_pullback(n_, stage, ends[0], x_next_bar + plan_.moving(), y_bar, own);
  stage_pullback(n_, stage, stages.back(), ends.back(), y_bar, own);
  for (std::size_t i = 0; i < own.memory.size(); ++i) {
    x_bar[at(plan_.moving()) + i] += own.memory[i];
  }
  Numbers x_mid_bar(numbers, S(0)), v_mid_bar(x_mid_bar);
  for (std::size_t i = 0; i < y_bar.size(); ++i) {
    const S m = n_.mass_at(i), p_bar = own.momentum[i];
    bars.target[i] += own.held[i];
    bars.force[i] += own.force[i];
    if (two) {
      x_mid_bar[i] = kA * own.origin[i] + own.before[0][i];
      bars.x[i] += own.before[1][i] - kB * own.origin[i];
      v_mid_bar[i] = kA * m * p_bar;
      bars.v[i] -= kB * m * p_bar;
      n_.add_mass(i, p_bar * (kA * v_mid[i] - kB * v_[i]));  // (3)
    } else {
      bars.x[i] += own.origin[i] + own.before[0][i];
      bars.v[i] += m * p_bar;
      n_.add_mass(i, p_bar * v_[i]);  // (1)
    }
  }
  for (std::size_t i = 0; i < own.numbers.size(); ++i) bars.numbers[i] += own.numbers[i];
  if (two) {
    pull_trapezoid(first, stages[0], ends[0], kGamma, std::move(x_mid_bar), v_mid_bar, bars);
  }
  pull_start(bars, x_bar, u_bar);
}

template <class S>
void SolidStep<S>::pull_start(Bars& bars, S* x_bar, S* u_bar) const {
  n_.add_terms(bars.numbers, u_bar);
  const auto positions = at(plan_.held_points());
  const auto take_start = [&](std::size_t k) {
    const std::size_t i = at(plan_.held_numbers[k]);
    if (!first_) return;
    bars.target[i] += bars.x[i];
    bars.x[i] = bars.v[i] = S(0);
  };
  for (std::size_t k = positions; k < plan_.held_numbers.size(); ++k) take_start(k);
  const Numbers end = positions_at_end();
  for_each_clamp([&](int j, int clamp) {
    S turned_bar(0);
    held_turn_pullback<S>(plan_, j, rest_.data(), x_.data(), end.data(),
                          bars.target[at(3 * (plan_.points() + j))], bars.rest.data(),
                          bars.x.data(), bars.target.data(), turned_bar);
    if (body().turned_input >= 0) u_bar[body().turned_input + clamp] += turned_bar;
  });
  for (std::size_t k = 0; k < positions; ++k) {
    const std::size_t i = at(plan_.held_numbers[k]);
    take_start(k);
    bars.rest[i] += bars.target[i];
    if (body().held_input >= 0) u_bar[at(body().held_input) + k] += bars.target[i];
  }
  n_.add_rest(bars.rest);
  read_state_pullback(plan_, bars.x.data(), bars.v.data(), x_bar);
  for (int i = 0; body().force_input >= 0 && i < 3 * plan_.points(); ++i) {
    u_bar[body().force_input + i] += bars.force[at(i)];
  }
}

template class SolidStep<double>;
template class SolidStep<Dual1>;

}  // namespace cycloid::inline soft
