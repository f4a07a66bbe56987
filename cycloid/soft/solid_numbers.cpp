#include "cycloid/soft/solid_numbers.h"

#include <algorithm>

namespace cycloid::inline soft {
namespace {

using Place = SolidBody::Place;

// One number or one per cell, as one per cell; zeros of what the body has no parameter for, such
// as the density of a flex.
void spread(const Place& place, const double* lanes, const double* const* arrays,
            std::vector<double>& out) {
  if (out.empty() || place.at < 0) return;
  if (place.array) std::copy_n(arrays[place.at], out.size(), out.begin());
  else std::fill(out.begin(), out.end(), lanes ? lanes[place.at] : 0.0);
}

// Cotangents of parameters to where they belong: those in lanes, and of arrays, or null.
void hand_over(const SolidBody& body, const NumberBars& n, const std::vector<double>& young_bar,
               const std::vector<double>& poisson_bar, const std::vector<double>& density_bar,
               double* p_bar, double* const* arrays_bar) {
  const auto add = [&](const Place& place, const std::vector<double>& bar, std::size_t count) {
    if (place.at < 0) return;
    for (std::size_t i = 0; !place.array && i < count; ++i) p_bar[place.at] += bar[i];
    for (std::size_t i = 0; place.array && arrays_bar && i < count; ++i) {
      arrays_bar[place.at][i] += bar[i];
    }
  };
  const auto points = static_cast<std::size_t>(body.plan->points());
  for (const auto& [place, bar] :
       {std::pair(&body.young, &young_bar), std::pair(&body.poisson, &poisson_bar),
        std::pair(&body.density, &density_bar), std::pair(&body.mooney, &n.mooney_bar)}) {
    add(*place, *bar, bar->size());
  }
  add(body.mass, n.mass_bar, points), add(body.vertices, n.rest_bar, 3 * points);
  p_bar[body.damping.at] += n.damping_bar;
  p_bar[body.drag.at] += n.drag_bar;
  for (int i = 0; i < 3; ++i) p_bar[body.gravity.at + i] += n.gravity_bar[i];
  term_numbers_pullback<double>(body.plan->terms, n.terms_bar, p_bar, nullptr);
}

}  // namespace

SolidNumbers::SolidNumbers(const SolidBody& b, int n)
    : body(b), threads(n), points_(static_cast<std::size_t>(3 * b.plan->points())) {
  const auto cells = static_cast<std::size_t>(b.plan->cells());
  young.resize(cells), poisson.resize(cells), density.resize(cells);
  mu.resize(cells), lam.resize(cells);
}

void SolidNumbers::read(const StepParameters<double>& p) {
  parameters_ = p;
  spread(body.young, p.lanes, p.arrays, young);
  spread(body.poisson, p.lanes, p.arrays, poisson);
  spread(body.density, p.lanes, p.arrays, density);
  for (std::size_t c = 0; c < mu.size(); ++c) {
    const Coefficients<double> made = lame(young[c], poisson[c]);
    mu[c] = made.mu, lam[c] = made.lam;  // (1)
  }
  damping = p.lanes[body.damping.at];
  drag = p.lanes[body.drag.at];
  mooney = body.mooney.at >= 0 ? p.lanes[body.mooney.at] : 0;
  std::copy_n(p.lanes + body.gravity.at, 3, gravity);
  rest = p.arrays[body.vertices.at];
  if (body.plan->turns > 0) {
    all_rest_.assign(rest, rest + points_);
    all_rest_.resize(static_cast<std::size_t>(body.plan->numbers()), 0.0);
    rest = all_rest_.data();
  }
  const double* const points = p.arrays[body.mass.at];
  mass.assign(points, points + body.plan->points());
  mass.resize(static_cast<std::size_t>(body.plan->vertices()), 0.0);
  const SolidView v = view();
  body.plan->for_each_chunk(threads, [&](int begin, int end) {
    body.kernels->mass(v, begin, end, density.data(), mass.data());  // (2)
  });
  const TermNumbers numbers = numbers_of_terms(nullptr);
  TermsAt at;
  at.rest = rest, at.numbers = numbers.data();
  terms_mass(terms(), at, threads, mass.data());
  wants_back = p.arrays_bar != nullptr && !(p.left_out && p.left_out[0]);
  clear_bars(body);
}

void NumberBars::clear_bars(const SolidBody& body) {
  damping_bar = drag_bar = 0;
  std::fill_n(gravity_bar, 3, 0.0);
  rest_bar.assign(static_cast<std::size_t>(body.plan->numbers()), 0.0);
  mass_bar.assign(static_cast<std::size_t>(body.plan->vertices()), 0.0);
  for (auto* bar : {&mu_bar, &lam_bar, &mooney_bar, &z_bar}) {
    bar->assign(static_cast<std::size_t>(body.plan->cells()), 0.0);
  }
  std::size_t own = 0;
  for (const StencilTerm& term : body.plan->terms) own += term.sources.size();
  terms_bar.assign(own, 0.0);
}

void SolidNumbers::add_rest(const std::vector<double>& bar) {
  for (std::size_t i = 0; i < bar.size(); ++i) rest_bar[i] += bar[i];
}

const double* SolidNumbers::spread_force(const double* u, std::vector<double>& space) const {
  if (!u || body.force_input < 0) return nullptr;
  const double* const force = u + body.force_input;
  if (body.plan->turns == 0) return force;
  space.assign(force, force + points_);
  space.resize(static_cast<std::size_t>(body.plan->numbers()), 0.0);
  return space.data();
}

TermNumbers SolidNumbers::numbers_of_terms(const double* u) const {
  return term_numbers(terms(), parameters_.lanes, u);
}

void SolidNumbers::add_terms(const TermNumbers& bar, double* u_bar) {
  for (std::size_t i = 0; i < bar.size(); ++i) terms_bar[i] += bar[i];
  term_numbers_pullback<double>(terms(), bar, nullptr, u_bar);
}

SolidView SolidNumbers::view() const {
  SolidView v;
  v.cells = body.plan->mesh.cells.data();
  v.law.material = body.material, v.law.elastic = body.elastic;
  v.rest = rest, v.mu = mu.data(), v.lam = lam.data();
  v.mooney = mooney;
  return v;
}

SolidBars NumberBars::bars() {
  return {rest_bar.data(), nullptr,           {nullptr, nullptr}, mu_bar.data(),
          lam_bar.data(),  mooney_bar.data(), z_bar.data()};
}

void NumberBars::add_damping(double z_over_damping) {
  double sum = 0;
  for (const double z : z_bar) sum += z;
  damping_bar += z_over_damping * sum;
  std::fill(z_bar.begin(), z_bar.end(), 0.0);
}

void SolidNumbers::give_back(double* p_bar) {
  std::fill_n(p_bar, body.lane_numbers, 0.0);
  std::vector<double> density_bar(mu.size(), 0.0);
  const SolidView v = view();
  body.plan->for_each_chunk(threads, [&](int begin, int end) {
    body.kernels->mass_pullback(v, begin, end, density.data(), mass_bar.data(), rest_bar.data(),
                                density_bar.data());  // (2)
  });
  const TermNumbers numbers = numbers_of_terms(nullptr);
  TermsAt at;
  at.rest = rest, at.numbers = numbers.data();
  TermsBars bars_of_terms;
  bars_of_terms.rest = rest_bar.data(), bars_of_terms.numbers = terms_bar.data();
  terms_mass_pullback(terms(), at, threads, mass_bar.data(), bars_of_terms);
  std::vector<double> young_bar(mu.size(), 0.0), poisson_bar(mu.size(), 0.0);
  for (std::size_t c = 0; c < mu.size(); ++c) {
    lame_pullback(young[c], poisson[c], {mu_bar[c], lam_bar[c], 0.0}, young_bar[c],
                  poisson_bar[c]);  // (1)
  }
  hand_over(body, *this, young_bar, poisson_bar, density_bar, p_bar,
            wants_back ? parameters_.arrays_bar : nullptr);
  clear_bars(body);
}

SolidNumbersTangent::SolidNumbersTangent(const SolidNumbers& at,
                                         const StepTangents<double>& tangents)
    : points(static_cast<std::size_t>(3 * at.body.plan->points())),
      young(at.mu.size(), 0.0),
      poisson(young),
      density(young),
      mu(young),
      lam(young),
      mass(at.mass.size(), 0.0),
      lanes(tangents.p) {
  const SolidBody& b = at.body;
  const std::size_t cells = at.mu.size();
  const auto read = [&](const Place& place, std::vector<double>& out) {
    if (place.array ? tangents.arrays != nullptr : tangents.p != nullptr) {
      spread(place, tangents.p, tangents.arrays, out);
    }
  };
  read(b.young, young), read(b.poisson, poisson), read(b.density, density);
  for (std::size_t c = 0; c < cells; ++c) {
    const Coefficients<Dual1> made =
        lame(SolidDuals::dual(at.young[c], young[c]), SolidDuals::dual(at.poisson[c], poisson[c]));
    mu[c] = made.mu.tangent[0], lam[c] = made.lam.tangent[0];
  }
  if (tangents.p) {
    damping = tangents.p[b.damping.at], drag = tangents.p[b.drag.at];
    if (b.mooney.at >= 0) mooney = tangents.p[b.mooney.at];
    std::copy_n(tangents.p + b.gravity.at, 3, gravity);
  }
  if (tangents.arrays) {
    rest = tangents.arrays[b.vertices.at];
    if (b.plan->turns > 0) {
      all_rest.assign(rest, rest + points);
      all_rest.resize(static_cast<std::size_t>(b.plan->numbers()), 0.0);
      rest = all_rest.data();
    }
    std::copy_n(tangents.arrays[b.mass.at], b.plan->points(), mass.begin());
  }
  const SolidView v = at.view();
  b.plan->for_each_chunk(at.threads, [&](int begin, int end) {
    b.kernels->mass_tangent(v, rest, begin, end, at.density.data(), density.data(), mass.data());
  });
  const TermNumbers numbers = at.numbers_of_terms(nullptr);
  const TermNumbers along = term_numbers_tangent(at.terms(), lanes, nullptr);
  TermsAt here, t;
  here.rest = at.rest, here.numbers = numbers.data();
  t.rest = rest, t.numbers = along.data();
  terms_mass_tangent(at.terms(), here, t, at.threads, mass.data());
}

SolidDuals::SolidDuals(SolidNumbers& n, const StepTangents<double>& tangents)
    : at(n), along(n, tangents) {
  tangent.clear_bars(n.body);
}

void SolidDuals::add_rest(const std::vector<Dual1>& bar) {
  for (std::size_t i = 0; i < bar.size(); ++i) {
    at.rest_bar[i] += bar[i].value;
    tangent.rest_bar[i] += bar[i].tangent[0];
  }
}

const Dual1* SolidDuals::spread_force(const Dual1* u, std::vector<Dual1>& space) const {
  const SolidBody& body = at.body;
  if (!u || body.force_input < 0) return nullptr;
  const Dual1* const force = u + body.force_input;
  if (body.plan->turns == 0) return force;
  space.assign(force, force + along.points);
  space.resize(static_cast<std::size_t>(body.plan->numbers()), Dual1(0.0));
  return space.data();
}

std::vector<Dual1> SolidDuals::numbers_of_terms(const Dual1* u) const {
  std::vector<double> values, tangents;
  for (int i = 0; u && i < at.body.inputs; ++i) {
    values.push_back(u[i].value), tangents.push_back(u[i].tangent[0]);
  }
  const TermNumbers own = at.numbers_of_terms(u ? values.data() : nullptr),
                    way = term_numbers_tangent(at.terms(), along.lanes,
                                               u ? tangents.data() : nullptr);
  std::vector<Dual1> out;
  for (std::size_t i = 0; i < own.size(); ++i) out.push_back(dual(own[i], way[i]));
  return out;
}

void SolidDuals::add_terms(const std::vector<Dual1>& bar, Dual1* u_bar) {
  for (std::size_t i = 0; i < bar.size(); ++i) {
    at.terms_bar[i] += bar[i].value;
    tangent.terms_bar[i] += bar[i].tangent[0];
  }
  term_numbers_pullback<Dual1>(at.terms(), bar, nullptr, u_bar);
}

void SolidDuals::give_back(Dual1* p_bar, double* const* arrays_bar_tan) {
  const SolidBody& body = at.body;
  const std::size_t cells = at.mu.size();
  std::vector<double> density_bar(cells, 0.0), young_bar(cells, 0.0), poisson_bar(cells, 0.0);
  const SolidView v = at.view();
  body.plan->for_each_chunk(at.threads, [&](int begin, int end) {  // (2)
    body.kernels->mass_pullback(v, begin, end, at.density.data(), tangent.mass_bar.data(),
                                tangent.rest_bar.data(), density_bar.data());
    body.kernels->mass_pullback_tangent(v, along.rest, begin, end, at.density.data(),
                                        along.density.data(), at.mass_bar.data(),
                                        tangent.rest_bar.data(), density_bar.data());
  });
  const TermNumbers numbers = at.numbers_of_terms(nullptr),
                    way = term_numbers_tangent(at.terms(), along.lanes, nullptr);
  TermsAt here, t;
  here.rest = at.rest, here.numbers = numbers.data();
  t.rest = along.rest, t.numbers = way.data();
  TermsBars to;
  to.rest = tangent.rest_bar.data(), to.numbers = tangent.terms_bar.data();
  terms_mass_pullback(at.terms(), here, at.threads, tangent.mass_bar.data(), to);
  terms_mass_pullback_tangent(at.terms(), here, t, at.threads, at.mass_bar.data(), to);
  for (std::size_t c = 0; c < cells; ++c) {
    Dual1 e_bar(0.0), nu_bar(0.0);
    lame_pullback<Dual1>(dual(at.young[c], along.young[c]), dual(at.poisson[c], along.poisson[c]),
                         {dual(at.mu_bar[c], tangent.mu_bar[c]),
                          dual(at.lam_bar[c], tangent.lam_bar[c]), Dual1(0.0)},
                         e_bar, nu_bar);  // (1)
    young_bar[c] = e_bar.tangent[0], poisson_bar[c] = nu_bar.tangent[0];
  }
  std::vector<double> lanes(static_cast<std::size_t>(body.lane_numbers), 0.0), values(lanes);
  hand_over(body, tangent, young_bar, poisson_bar, density_bar, lanes.data(),
            at.wants_back ? arrays_bar_tan : nullptr);
  at.give_back(values.data());
  for (std::size_t i = 0; i < lanes.size(); ++i) p_bar[i] = dual(values[i], lanes[i]);
  tangent.clear_bars(body);
}

}  // namespace cycloid::inline soft
