#include "cycloid/soft/solid_observables.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "cycloid/base/error.h"
#include "cycloid/soft/element/strain.h"
#include "cycloid/soft/solid_state.h"
#include "cycloid/soft/touching_pairs.h"

namespace cycloid::inline soft {
namespace {

using Numbers = std::vector<double>;

enum class Shown { elastic, kinetic, potential, energy, reaction, stress, strain, volume, centre };

constexpr std::pair<std::string_view, Shown> kShown[] = {{"energy", Shown::energy},
                                                         {"elastic_energy", Shown::elastic},
                                                         {"kinetic_energy", Shown::kinetic},
                                                         {"reaction", Shown::reaction},
                                                         {"stress", Shown::stress},
                                                         {"strain", Shown::strain},
                                                         {"volume", Shown::volume},
                                                         {"centre_of_mass", Shown::centre},
                                                         {"potential_energy", Shown::potential}};

// A point of a run, and where its cotangents go.
struct Point {
  SolidNumbers& n;
  const double *x, *v, *force;  // force: null where there is no such input
  TermNumbers own;              // numbers of the terms
  const double* memory;         // what they remember
  double *x_bar = nullptr, *v_bar = nullptr, *force_bar = nullptr;
  TermNumbers own_bar = TermNumbers(own.size(), 0.0);
  double* memory_bar = nullptr;

  std::size_t numbers() const { return static_cast<std::size_t>(n.body.plan->numbers()); }
  std::size_t positions() const { return static_cast<std::size_t>(3 * n.body.plan->points()); }
  std::size_t cells() const { return static_cast<std::size_t>(n.body.plan->cells()); }
  SolidView view() const {
    SolidView at = n.view();
    at.now = x;
    return at;
  }
  // With velocities, for the forces of damping.
  SolidView moving() const {
    SolidView at = view();
    at.before[0] = v;
    at.z = n.damping;
    return at;
  }
  SolidBars bars() const {
    SolidBars to = n.bars();
    to.now = x_bar;
    return to;
  }
  TermsAt terms() const {
    TermsAt at;
    at.rest = n.rest, at.now = x, at.numbers = own.data(), at.memory = memory;
    at.step.flows = false;
    return at;
  }
  // Of a body that touches itself, where it does.
  Terms touching() const { return touching_terms(*n.body.plan, own, x, n.threads); }
  TermsBars terms_bars() {
    TermsBars to;
    to.rest = n.rest_bar.data(), to.now = x_bar, to.numbers = own_bar.data();
    to.memory = memory_bar;
    return to;
  }
  template <class Work>
  void for_each_chunk(Work&& work) const {
    n.body.plan->for_each_chunk(n.threads, work);
  }
};

Numbers of_cells(const Point& p, SolidKernels::Cells kernel, std::size_t each = 1) {
  Numbers out(p.cells() * each, 0.0);
  const SolidView at = p.view();
  p.for_each_chunk([&](int begin, int end) { kernel(at, begin, end, out.data()); });
  return out;
}

double sum(const Numbers& all) {
  double total = 0;
  for (const double a : all) total += a;
  return total;
}

double kinetic_energy(const Point& p) {
  double total = 0;
  for (std::size_t i = 0; i < p.numbers(); ++i) total += 0.5 * p.n.mass[i / 3] * p.v[i] * p.v[i];
  return total;  // (2)
}

void kinetic_energy_pullback(const Point& p, double bar) {
  for (std::size_t i = 0; i < p.numbers(); ++i) {
    p.v_bar[i] += bar * p.n.mass[i / 3] * p.v[i];
    p.n.mass_bar[i / 3] += bar * 0.5 * p.v[i] * p.v[i];
  }
}

double weight_energy(const Point& p) {
  double total = 0;
  for (std::size_t i = 0; i < p.positions(); ++i) {
    total -= p.n.mass[i / 3] * p.n.gravity[i % 3] * p.x[i];
  }
  return total;  // (3)
}

void weight_energy_pullback(const Point& p, double bar) {
  for (std::size_t i = 0; i < p.positions(); ++i) {
    const double m = p.n.mass[i / 3], g = p.n.gravity[i % 3];
    p.x_bar[i] -= bar * m * g;
    p.n.mass_bar[i / 3] -= bar * g * p.x[i];
    p.n.gravity_bar[i % 3] -= bar * m * p.x[i];
  }
}

double elastic_energy(const Point& p) {
  return sum(of_cells(p, p.n.body.kernels->energy)) +
         terms_energy(p.n.terms(), p.terms(), p.n.threads, true) +
         terms_energy(p.touching(), p.terms(), p.n.threads, true);  // (1)
}

void elastic_energy_pullback(Point& p, double bar) {
  terms_energy_pullback(p.n.terms(), p.terms(), p.n.threads, bar, p.terms_bars());
  terms_energy_pullback(p.touching(), p.terms(), p.n.threads, bar, p.terms_bars());
  if (!p.n.body.elastic) return;
  const Numbers each(p.cells(), bar);
  const SolidView at = p.view();
  const SolidBars to = p.bars();
  p.for_each_chunk([&](int begin, int end) {
    p.n.body.kernels->energy_pullback(at, begin, end, each.data(), to);  // (1)
  });
}

void reaction(const Point& p, double* out) {
  Numbers f(p.numbers(), 0.0);
  const SolidView still = p.view(), moving = p.moving();
  p.for_each_chunk([&](int begin, int end) {
    p.n.body.kernels->force(still, begin, end, f.data());
    p.n.body.kernels->rate_force(moving, begin, end, f.data());
  });
  TermsAt terms = p.terms();
  terms.frames = p.x;
  terms_force(p.n.terms(), terms, p.n.threads, f.data());
  terms_force(p.touching(), terms, p.n.threads, f.data());
  for (std::size_t i = 0; i < p.positions(); ++i) {
    const double m = p.n.mass[i / 3];
    out[i] = p.n.body.plan->held[i]
                 ? f[i] + m * (p.n.drag * p.v[i] - p.n.gravity[i % 3]) - (p.force ? p.force[i] : 0)
                 : 0.0;  // (4)
  }
}

void reaction_pullback(Point& p, const double* bar) {
  Numbers held(bar, bar + p.positions());
  held.resize(p.numbers(), 0.0);
  for (std::size_t i = 0; i < p.positions(); ++i) {
    if (!p.n.body.plan->held[i]) held[i] = 0;
    const double m = p.n.mass[i / 3], b = held[i];
    p.v_bar[i] += p.n.drag * m * b;
    p.n.drag_bar += m * p.v[i] * b;
    p.n.mass_bar[i / 3] += (p.n.drag * p.v[i] - p.n.gravity[i % 3]) * b;
    p.n.gravity_bar[i % 3] -= m * b;
    if (p.force) p.force_bar[i] -= b;
  }
  const SolidView still = p.view(), moving = p.moving();
  const SolidBars to = p.bars();
  SolidBars to_moving = to;
  to_moving.before[0] = p.v_bar;
  p.for_each_chunk([&](int begin, int end) {
    p.n.body.kernels->force_pullback(still, begin, end, held.data(), to);
    p.n.body.kernels->rate_force_pullback(moving, begin, end, held.data(), to_moving);
  });
  p.n.add_damping(1);
  TermsAt terms = p.terms();
  TermsBars bars = p.terms_bars();
  terms.frames = p.x, bars.frames = p.x_bar;
  terms_force_pullback(p.n.terms(), terms, p.n.threads, held.data(), bars);
  terms_force_pullback(p.touching(), terms, p.n.threads, held.data(), bars);
}

// function(element) of the body's cells.
template <class Function>
void with_element(ElementKind kind, Function&& function) {
  switch (kind) {
    case ElementKind::tet: function(Tet4{}); break;
    case ElementKind::hex: function(Hex8{}); break;
    default: function(Tet10{}); break;
  }
}

template <class E>
void gather_cell(const Point& p, int cell, const double* from, Vec3<double>* to) {
  const int* const nodes = p.n.body.plan->mesh.cells.data() + E::kNodes * cell;
  for (int a = 0; a < E::kNodes; ++a) {
    const double* const x = from + 3 * static_cast<std::ptrdiff_t>(nodes[a]);
    to[a] = {x[0], x[1], x[2]};
  }
}

void strain(const Point& p, double* out) {
  with_element(p.n.body.plan->mesh.element, [&](auto element) {
    using E = decltype(element);
    for (int c = 0; c < p.n.body.plan->cells(); ++c) {
      Vec3<double> rest[E::kNodes], now[E::kNodes];
      gather_cell<E>(p, c, p.n.rest, rest), gather_cell<E>(p, c, p.x, now);
      const Mat3<double> mean = mean_strain<E, double>(rest, now);  // (5)
      std::copy_n(mean.e, 9, out + 9 * c);
    }
  });
}

void strain_pullback(const Point& p, const double* bar) {
  with_element(p.n.body.plan->mesh.element, [&](auto element) {
    using E = decltype(element);
    for (int c = 0; c < p.n.body.plan->cells(); ++c) {
      Vec3<double> rest[E::kNodes], now[E::kNodes], rest_bar[E::kNodes], now_bar[E::kNodes];
      gather_cell<E>(p, c, p.n.rest, rest), gather_cell<E>(p, c, p.x, now);
      for (int a = 0; a < E::kNodes; ++a) rest_bar[a] = now_bar[a] = {0, 0, 0};
      Mat3<double> own;
      std::copy_n(bar + 9 * c, 9, own.e);
      mean_strain_pullback<E, double>(rest, now, own, rest_bar, now_bar);
      const int* const nodes = p.n.body.plan->mesh.cells.data() + E::kNodes * c;
      for (int a = 0; a < E::kNodes; ++a) {
        for (int i = 0; i < 3; ++i) {
          p.n.rest_bar[static_cast<std::size_t>(3 * nodes[a] + i)] += rest_bar[a][i];
          p.x_bar[3 * nodes[a] + i] += now_bar[a][i];
        }
      }
    }
  });
}

double whole_mass(const Point& p) {
  double total = 0;
  for (std::size_t v = 0; v < p.positions() / 3; ++v) total += p.n.mass[v];
  return total;
}

void centre(const Point& p, double* out) {
  std::fill_n(out, 3, 0.0);
  for (std::size_t i = 0; i < p.positions(); ++i) out[i % 3] += p.n.mass[i / 3] * p.x[i];
  for (int a = 0; a < 3; ++a) out[a] /= whole_mass(p);  // (7)
}

void centre_pullback(const Point& p, const double* bar) {
  double at[3];
  centre(p, at);
  const double total = whole_mass(p);
  for (std::size_t i = 0; i < p.positions(); ++i) {
    const double b = bar[i % 3] / total;
    p.x_bar[i] += p.n.mass[i / 3] * b;
    p.n.mass_bar[i / 3] += (p.x[i] - at[i % 3]) * b;
  }
}

int size_of(const SolidBody& body, Shown what) {
  switch (what) {
    case Shown::reaction: return 3 * body.plan->points();
    case Shown::stress:
    case Shown::strain: return 9 * body.plan->cells();
    case Shown::centre: return 3;
    default: return 1;
  }
}

class SolidObserver final : public DifferentiableObserver {
 public:
  SolidObserver(std::shared_ptr<const SolidBody> body, std::vector<Shown> shown)
      : DifferentiableObserver(1, total(*body, shown)),
        body_(std::move(body)),
        shown_(std::move(shown)) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& r) const override {
    return std::make_unique<Workspace>(*body_, r.threads);
  }
  void begin(const StepParameters<double>& p, StepWorkspace& w) const override {
    numbers(w).read(p);
  }
  void observe(const ObservedPoint<double>& at, double* values, StepWorkspace& w) const override {
    const Point p = point(at, w);
    const SolidKernels& k = *body_->kernels;
    for (const Shown what : shown_) {
      switch (what) {
        case Shown::elastic: *values = elastic_energy(p); break;
        case Shown::kinetic: *values = kinetic_energy(p); break;
        case Shown::energy:
          *values = elastic_energy(p) + kinetic_energy(p) + weight_energy(p);
          break;
        case Shown::potential: *values = weight_energy(p); break;
        case Shown::reaction: reaction(p, values); break;
        case Shown::strain: strain(p, values); break;
        case Shown::stress: {
          std::fill_n(values, 9 * p.cells(), 0.0);
          if (terms_stress(p.n.terms(), p.terms(), p.n.threads, values)) break;
          const Numbers all = of_cells(p, k.stress, 9);
          std::copy(all.begin(), all.end(), values);  // (5)
          break;
        }
        case Shown::volume: *values = sum(of_cells(p, k.volume)); break;  // (6)
        case Shown::centre: centre(p, values); break;
      }
      values += size_of(*body_, what);
    }
  }
  void pullback(const ObservedPoint<double>& at, const double* bar, double* x_bar, double* u_bar,
                StepWorkspace& w) const override {
    Point p = point(at, w);
    Numbers own_x_bar(p.numbers(), 0.0), own_v_bar(own_x_bar);
    p.x_bar = own_x_bar.data(), p.v_bar = own_v_bar.data();
    p.memory_bar = x_bar + body_->plan->moving();
    if (p.force) p.force_bar = u_bar + body_->force_input;
    const SolidBars to = p.bars();
    const SolidView view = p.view();
    for (const Shown what : shown_) {
      switch (what) {
        case Shown::elastic: elastic_energy_pullback(p, *bar); break;
        case Shown::kinetic: kinetic_energy_pullback(p, *bar); break;
        case Shown::energy:
          elastic_energy_pullback(p, *bar);
          kinetic_energy_pullback(p, *bar);
          weight_energy_pullback(p, *bar);
          break;
        case Shown::potential: weight_energy_pullback(p, *bar); break;
        case Shown::reaction: reaction_pullback(p, bar); break;
        case Shown::strain: strain_pullback(p, bar); break;
        case Shown::stress:
          if (!body_->elastic) {
            terms_stress_pullback(p.n.terms(), p.terms(), p.n.threads, bar, p.terms_bars());
            break;
          }
          p.for_each_chunk([&](int begin, int end) {
            body_->kernels->stress_pullback(view, begin, end, bar, to);
          });
          break;
        case Shown::volume: {
          const Numbers each(p.cells(), *bar);
          p.for_each_chunk([&](int begin, int end) {
            body_->kernels->volume_pullback(view, begin, end, each.data(), to);
          });
          break;
        }
        case Shown::centre: centre_pullback(p, bar); break;
      }
      bar += size_of(*body_, what);
    }
    read_state_pullback(*body_->plan, p.x_bar, p.v_bar, x_bar);
    p.n.add_terms(p.own_bar, u_bar);
  }
  void finish(StepWorkspace& w, double* p_bar) const override { numbers(w).give_back(p_bar); }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const SolidBody& body, int threads) : numbers(body, threads) {}
    SolidNumbers numbers;
    Numbers x, v;
  };
  static SolidNumbers& numbers(StepWorkspace& w) { return static_cast<Workspace&>(w).numbers; }
  static int total(const SolidBody& body, const std::vector<Shown>& shown) {
    int n = 0;
    for (const Shown what : shown) n += size_of(body, what);
    return n;
  }
  Point point(const ObservedPoint<double>& at, StepWorkspace& w) const {
    Workspace& own = static_cast<Workspace&>(w);
    own.x.resize(static_cast<std::size_t>(body_->plan->numbers())), own.v.resize(own.x.size());
    read_state(*body_->plan, at.x, own.x.data(), own.v.data());
    return {numbers(w),
            own.x.data(),
            own.v.data(),
            body_->force_input >= 0 ? at.u + body_->force_input : nullptr,
            numbers(w).numbers_of_terms(at.u),
            at.x + body_->plan->moving()};
  }

  std::shared_ptr<const SolidBody> body_;
  std::vector<Shown> shown_;
};

std::shared_ptr<const SolidObserver> observer_of(const std::shared_ptr<const SolidBody>& body,
                                                 const std::vector<std::string>& names) {
  std::vector<Shown> shown;
  for (const std::string& name : names) {
    for (const auto& [word, what] : kShown) {
      if (word == name) shown.push_back(what);
    }
  }
  return std::make_shared<SolidObserver>(body, std::move(shown));
}

}  // namespace

std::vector<Observable> SolidObservables::listed() const {
  std::vector<Observable> all;
  for (const auto& [word, what] : kShown) {
    const std::string name(word);
    const bool of_cells = what == Shown::stress || what == Shown::strain || what == Shown::volume;
    if (of_cells && body_->plan->cells() == 0) continue;  // cloth and rods
    switch (what) {
      case Shown::reaction: all.push_back({name, "N", {3 * body_->plan->points()}}); break;
      case Shown::stress: all.push_back({name, "Pa", {body_->plan->cells(), 3, 3}}); break;
      case Shown::strain: all.push_back({name, "", {body_->plan->cells(), 3, 3}}); break;
      case Shown::volume: all.push_back({name, "m³", {1}}); break;
      case Shown::centre: all.push_back({name, "m", {3}}); break;
      default: all.push_back({name, "J", {1}}); break;
    }
  }
  return all;
}

std::optional<Observable> SolidObservables::find(const std::string& name) const {
  constexpr std::string_view kVertex = "vertex:#";
  if (name.starts_with(kVertex)) {
    int i = -1;
    const char* const end = name.data() + name.size();
    const auto read = std::from_chars(name.data() + kVertex.size(), end, i);
    if (read.ec != std::errc() || read.ptr != end || i < 0 || i >= body_->plan->points()) {
      throw ModelError(message("\"", name, "\": there are vertices \"vertex:#0\" to \"vertex:#",
                               body_->plan->points() - 1, "\""));
    }
    return Observable{name, "m", {3}, {{3 * i, 3}}};
  }
  return Observables::find(name);
}

std::shared_ptr<const ChunkObserver<double>> SolidObservables::float64(
    const std::vector<std::string>& names, int) const {
  return observer_of(body_, names);
}

std::shared_ptr<const DifferentiableObserver> SolidObservables::differentiable(
    const std::vector<std::string>& names) const {
  return observer_of(body_, names);
}

}  // namespace cycloid::inline soft
