#include "cycloid/soft/solid_numbers.h"

#include <algorithm>

namespace cycloid::inline soft {
namespace {

using Place = SolidBody::Place;

// One number or one per cell, as one per cell.
void spread(const Place& place, const double* lanes, const double* const* arrays,
            std::vector<double>& out) {
  if (out.empty()) return;
  if (place.array) std::copy_n(arrays[place.at], out.size(), out.begin());
  else std::fill(out.begin(), out.end(), lanes ? lanes[place.at] : 0.0);
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
  clear();
}

void SolidNumbers::clear() {
  damping_bar = drag_bar = 0;
  std::fill_n(gravity_bar, 3, 0.0);
  const auto cells = mu.size();
  rest_bar.assign(static_cast<std::size_t>(body.plan->numbers()), 0.0);
  mass_bar.assign(mass.size(), 0.0);
  for (auto* bar : {&mu_bar, &lam_bar, &mooney_bar, &z_bar}) bar->assign(cells, 0.0);
  terms_bar.assign(numbers_of_terms(nullptr).size(), 0.0);
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
  term_numbers_pullback(terms(), bar, nullptr, u_bar);
}

SolidView SolidNumbers::view() const {
  SolidView v;
  v.cells = body.plan->mesh.cells.data();
  v.law.material = body.material, v.law.elastic = body.elastic;
  v.rest = rest, v.mu = mu.data(), v.lam = lam.data();
  v.mooney = mooney;
  return v;
}

SolidBars SolidNumbers::bars() {
  return {rest_bar.data(), nullptr,           {nullptr, nullptr}, mu_bar.data(),
          lam_bar.data(),  mooney_bar.data(), z_bar.data()};
}

void SolidNumbers::add_damping(double z_over_damping) {
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
  const auto add = [&](const Place& place, const std::vector<double>& bar) {
    if (place.at < 0) return;
    if (!place.array) {
      for (const double b : bar) p_bar[place.at] += b;
    } else if (wants_back) {
      double* const to = parameters_.arrays_bar[place.at];
      for (std::size_t i = 0; i < bar.size(); ++i) to[i] += bar[i];
    }
  };
  std::vector<double> young_bar(mu.size(), 0.0), poisson_bar(mu.size(), 0.0);
  for (std::size_t c = 0; c < mu.size(); ++c) {
    lame_pullback(young[c], poisson[c], {mu_bar[c], lam_bar[c], 0.0}, young_bar[c],
                  poisson_bar[c]);  // (1)
  }
  mass_bar.resize(points_ / 3), rest_bar.resize(points_);
  add(body.young, young_bar), add(body.poisson, poisson_bar), add(body.density, density_bar);
  add(body.mass, mass_bar), add(body.vertices, rest_bar);
  if (body.mooney.at >= 0) add(body.mooney, mooney_bar);
  p_bar[body.damping.at] += damping_bar;
  p_bar[body.drag.at] += drag_bar;
  std::copy_n(gravity_bar, 3, p_bar + body.gravity.at);
  term_numbers_pullback(terms(), terms_bar, p_bar, nullptr);
  clear();
}

SolidNumbersTangent::SolidNumbersTangent(const SolidNumbers& at,
                                         const StepTangents<double>& tangents)
    : points(static_cast<std::size_t>(3 * at.body.plan->points())),
      mu(at.mu.size()),
      lam(at.mu.size()),
      mass(at.mass.size(), 0.0),
      lanes(tangents.p) {
  const SolidBody& b = at.body;
  const std::size_t cells = at.mu.size();
  std::vector<double> young(cells, 0.0), poisson(cells, 0.0), density(cells, 0.0);
  const auto read = [&](const Place& place, std::vector<double>& out) {
    if (place.at < 0) return;
    if (place.array ? tangents.arrays != nullptr : tangents.p != nullptr) {
      spread(place, tangents.p, tangents.arrays, out);
    }
  };
  read(b.young, young), read(b.poisson, poisson), read(b.density, density);
  for (std::size_t c = 0; c < cells; ++c) {
    using D = Dual<double, 1>;
    D e(at.young[c]), nu(at.poisson[c]);
    e.tangent[0] = young[c], nu.tangent[0] = poisson[c];
    const Coefficients<D> made = lame(e, nu);
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

}  // namespace cycloid::inline soft
