#include "cycloid/fluid/spectral/spectral_observables.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>

#include "cycloid/fluid/transform/fft.h"

namespace cycloid::inline fluid {
namespace {

using Numbers = std::vector<double>;

enum class Shown {
  kinetic_energy,
  enstrophy,
  divergence,
  vorticity,
  pressure,
  spectrum,
  probe,
  probe_pressure
};

struct Named {
  std::string_view name, unit;
  Shown what;
};
constexpr Named kShown[] = {{"kinetic_energy", "J", Shown::kinetic_energy},
                            {"enstrophy", "", Shown::enstrophy},
                            {"divergence", "1/s", Shown::divergence},
                            {"vorticity", "1/s", Shown::vorticity},
                            {"pressure", "Pa", Shown::pressure},
                            {"spectrum", "J", Shown::spectrum},
                            {"probe", "", Shown::probe},
                            {"probe_pressure", "Pa", Shown::probe_pressure}};

// Weights of the n nodes of a period in their Fourier series at x.
Numbers periodic_weights(double x, int n, double length) {
  Numbers weights(static_cast<std::size_t>(n));
  for (int j = 0; j < n; ++j) {
    double angle = 2 * std::numbers::pi * (x / length - static_cast<double>(j) / n);
    angle -= 2 * std::numbers::pi * std::round(angle / (2 * std::numbers::pi));
    const double below = n * (n % 2 == 0 ? std::tan(angle / 2) : std::sin(angle / 2));
    weights[static_cast<std::size_t>(j)] =
        std::abs(angle) < 1e-13 ? 1 : std::sin(n * angle / 2) / below;
  }
  return weights;
}

// The model with what all observers of it share.
struct Box {
  explicit Box(std::shared_ptr<const SpectralModel> m)
      : model(std::move(m)), all(model->shape), kept(model->shape, model->cut()) {
    const int d = model->dimensions();
    for (std::size_t i = 0; i < model->probes.size(); ++i) {
      const std::size_t a = i % static_cast<std::size_t>(d);
      weights.push_back(periodic_weights(model->probes[i], model->shape[a], model->size[a]));
    }
    volume = 1;
    smallest = 0;
    for (const double l : model->size) {
      volume *= l;
      const double k = 2 * std::numbers::pi / l;
      smallest = smallest == 0 ? k : std::min(smallest, k);
    }
    for (int s = 0; s < all.slabs(); ++s) {
      for (int r = 0; r < all.rows(); ++r) shells = std::max(shells, shell(s, r) + 1);
    }
  }

  // Along an axis; of the highest wave of an even number of nodes 0, as its odd derivatives are.
  double k(const RealTransform<double>& f, int axis, int slab, int row) const {
    const std::size_t a = static_cast<std::size_t>(axis);
    const int number = f.wave_number(axis, slab, row);
    if (2 * std::abs(number) == model->shape[a]) return 0;
    return 2 * std::numbers::pi / model->size[a] * number;
  }
  int shell(int slab, int row) const {
    double k2 = 0;
    for (int a = 0; a < model->dimensions(); ++a) {
      const double one = 2 * std::numbers::pi / model->size[static_cast<std::size_t>(a)] *
                         all.wave_number(a, slab, row);
      k2 += one * one;
    }
    return static_cast<int>(std::lround(std::sqrt(k2) / smallest));
  }
  int probes() const { return static_cast<int>(model->probes.size()) / model->dimensions(); }
  int vorticities() const { return model->dimensions() == 2 ? 1 : 3; }
  int probed() const { return model->velocities() > 0 ? model->velocities() : model->fields(); }
  bool offers(Shown what) const {
    const bool velocity = model->velocities() > 0,
               flow = model->equation == SpectralEquation::navier_stokes;
    switch (what) {
      case Shown::vorticity:
      case Shown::enstrophy: return velocity && model->dimensions() > 1;
      case Shown::pressure: return flow;
      case Shown::probe: return probes() > 0;
      case Shown::probe_pressure: return flow && probes() > 0;
      default: return velocity;
    }
  }
  std::vector<int> shape_of(Shown what) const {
    std::vector<int> nodes = model->shape;
    switch (what) {
      case Shown::pressure: return nodes;
      case Shown::vorticity:
        if (vorticities() > 1) nodes.insert(nodes.begin(), 3);
        return nodes;
      case Shown::spectrum: return {shells};
      case Shown::probe: return {probes(), probed()};
      case Shown::probe_pressure: return {probes()};
      default: return {1};
    }
  }
  int size_of(Shown what) const {
    int n = 1;
    for (const int s : shape_of(what)) n *= s;
    return n;
  }

  std::shared_ptr<const SpectralModel> model;
  RealTransform<double> all, kept;
  std::vector<Numbers> weights;  // (probe, axis)
  double volume = 1, smallest = 0;
  int shells = 0;
};

// One flow at one time, in double.
class Look {
 public:
  Look(const Box& box, int threads)
      : box_(box), all_(box.all, threads), kept_(box.kept, threads), n_(box.all.nodes()) {}

  void observe(Shown what, const double* x, double* out) {
    switch (what) {
      case Shown::kinetic_energy: *out = half_square(x, d()); break;  // (1)
      case Shown::enstrophy: {
        const Numbers w = vorticity(x);
        *out = half_square(w.data(), box_.vorticities());  // (2)
        break;
      }
      case Shown::divergence: {
        const Numbers div = divergence(x);
        *out = std::abs(div[largest(div)]);  // (3)
        break;
      }
      case Shown::vorticity: {
        const Numbers w = vorticity(x);
        std::copy(w.begin(), w.end(), out);  // (4)
        break;
      }
      case Shown::pressure: pressure(x, out); break;
      case Shown::spectrum: spectrum(x, out); break;
      case Shown::probe: probe(x, box_.probed(), out); break;
      case Shown::probe_pressure: {
        Numbers p(static_cast<std::size_t>(n_));
        pressure(x, p.data());
        probe(p.data(), 1, out);
        break;
      }
    }
  }

  void pullback(Shown what, const double* x, const double* bar, double* x_bar) {
    switch (what) {
      case Shown::kinetic_energy:
        for (std::int64_t i = 0; i < d() * n_; ++i) x_bar[i] += *bar * cell() * x[i];
        break;
      case Shown::enstrophy: {
        Numbers w = vorticity(x);
        for (double& v : w) v *= *bar * cell();
        vorticity_pullback(w.data(), x_bar);
        break;
      }
      case Shown::divergence: {
        const Numbers div = divergence(x);
        Numbers div_bar(div.size(), 0.0);
        const std::size_t at = largest(div);
        div_bar[at] = div[at] < 0 ? -*bar : *bar;
        divergence_pullback(div_bar, x_bar);
        break;
      }
      case Shown::vorticity: vorticity_pullback(bar, x_bar); break;
      case Shown::pressure: pressure_pullback(x, bar, x_bar); break;
      case Shown::spectrum: spectrum_pullback(x, bar, x_bar); break;
      case Shown::probe: probe_pullback(bar, box_.probed(), x_bar); break;
      case Shown::probe_pressure: {
        Numbers p_bar(static_cast<std::size_t>(n_), 0.0);
        probe_pullback(bar, 1, p_bar.data());
        pressure_pullback(x, p_bar.data(), x_bar);
        break;
      }
    }
  }

 private:
  int d() const { return box_.model->velocities(); }
  double cell() const { return box_.volume / static_cast<double>(n_); }
  double half_square(const double* x, int fields) const {
    double sum = 0;
    for (std::int64_t i = 0; i < fields * n_; ++i) sum += x[i] * x[i];
    return 0.5 * cell() * sum;
  }
  static std::size_t largest(const Numbers& v) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (std::abs(v[i]) > std::abs(v[at])) at = i;
    }
    return at;
  }

  static Numbers coefficients(const RealTransform<double>& f, FftWorkspace<double>& w,
                              const double* x) {
    Numbers X(static_cast<std::size_t>(f.coefficients()));
    f.forward(x, X.data(), w);
    return X;
  }
  // to += s i k_axis from, coefficient by coefficient.
  void add_derivative(int axis, double s, const Numbers& from, Numbers& to) const {
    const RealTransform<double>& f = box_.all;
    for (int slab = 0; slab < f.slabs(); ++slab) {
      for (int r = 0; r < f.rows(); ++r) {
        const std::size_t re = static_cast<std::size_t>(std::int64_t{2} * slab * f.pitch() + r);
        const std::size_t im = re + static_cast<std::size_t>(f.pitch());
        const double k = s * box_.k(f, axis, slab, r);
        to[re] -= k * from[im], to[im] += k * from[re];
      }
    }
  }
  // Component c of the curl is Σ over two (axis, component, sign).
  struct Part {
    int axis, component;
    double sign;
  };
  std::array<Part, 2> curl_parts(int c) const {
    if (box_.vorticities() == 1) return {{{0, 1, 1}, {1, 0, -1}}};
    const int a = (c + 1) % 3, b = (c + 2) % 3;
    return {{{a, b, 1}, {b, a, -1}}};
  }
  Numbers vorticity(const double* x) {
    std::vector<Numbers> u;
    for (int a = 0; a < d(); ++a) u.push_back(coefficients(box_.all, all_, x + a * n_));
    Numbers out(static_cast<std::size_t>(box_.vorticities() * n_));
    for (int c = 0; c < box_.vorticities(); ++c) {
      Numbers w(u[0].size(), 0.0);
      for (const Part& p : curl_parts(c)) {
        add_derivative(p.axis, p.sign, u[static_cast<std::size_t>(p.component)], w);
      }
      box_.all.inverse(w.data(), out.data() + c * n_, all_);
    }
    return out;
  }
  void vorticity_pullback(const double* bar, double* x_bar) {
    std::vector<Numbers> u(static_cast<std::size_t>(d()));
    for (int c = 0; c < box_.vorticities(); ++c) {
      const Numbers w = coefficients(box_.all, all_, bar + c * n_);
      for (const Part& p : curl_parts(c)) {
        Numbers& to = u[static_cast<std::size_t>(p.component)];
        to.resize(w.size(), 0.0);
        add_derivative(p.axis, -p.sign, w, to);
      }
    }
    for (int a = 0; a < d(); ++a)
      add_nodes(box_.all, all_, u[static_cast<std::size_t>(a)], x_bar + a * n_);
  }
  void add_nodes(const RealTransform<double>& f, FftWorkspace<double>& w, const Numbers& X,
                 double* x_bar) {
    Numbers x(static_cast<std::size_t>(n_));
    f.inverse(X.data(), x.data(), w);
    for (std::size_t i = 0; i < x.size(); ++i) x_bar[i] += x[i];
  }

  Numbers divergence(const double* x) {
    Numbers sum(static_cast<std::size_t>(box_.all.coefficients()), 0.0);
    for (int a = 0; a < d(); ++a) {
      add_derivative(a, 1, coefficients(box_.all, all_, x + a * n_), sum);
    }
    Numbers out(static_cast<std::size_t>(n_));
    box_.all.inverse(sum.data(), out.data(), all_);
    return out;
  }
  void divergence_pullback(const Numbers& bar, double* x_bar) {
    const Numbers X = coefficients(box_.all, all_, bar.data());
    for (int a = 0; a < d(); ++a) {
      Numbers u(X.size(), 0.0);
      add_derivative(a, -1, X, u);
      add_nodes(box_.all, all_, u, x_bar + a * n_);
    }
  }

  // The velocity that a step sees: kept modes alone.
  std::vector<Numbers> filtered(const double* x) {
    std::vector<Numbers> u;
    for (int a = 0; a < d(); ++a) {
      const Numbers X = coefficients(box_.kept, kept_, x + a * n_);
      u.emplace_back(static_cast<std::size_t>(n_));
      box_.kept.inverse(X.data(), u.back().data(), kept_);
    }
    return u;
  }
  // Multiplies a field of kept coefficients by -k_a k_b/|k|², twice where a ≠ b.
  void pressure_symbol(int a, int b, Numbers& X) const {
    const RealTransform<double>& f = box_.kept;
    for (int slab = 0; slab < f.slabs(); ++slab) {
      for (int r = 0; r < f.rows(); ++r) {
        double k[3] = {}, k2 = 0;
        for (int c = 0; c < d(); ++c) k[c] = box_.k(f, c, slab, r), k2 += k[c] * k[c];
        const double s = k2 > 0 ? -(a == b ? 1 : 2) * k[a] * k[b] / k2 : 0;
        const std::size_t re = static_cast<std::size_t>(std::int64_t{2} * slab * f.pitch() + r);
        X[re] *= s, X[re + static_cast<std::size_t>(f.pitch())] *= s;
      }
    }
  }
  void pressure(const double* x, double* out) {
    const std::vector<Numbers> u = filtered(x);
    Numbers sum(static_cast<std::size_t>(box_.kept.coefficients()), 0.0);
    Numbers product(static_cast<std::size_t>(n_));
    for (std::size_t a = 0; a < u.size(); ++a) {
      for (std::size_t b = a; b < u.size(); ++b) {
        for (std::size_t i = 0; i < product.size(); ++i) product[i] = u[a][i] * u[b][i];
        Numbers X = coefficients(box_.kept, kept_, product.data());
        pressure_symbol(static_cast<int>(a), static_cast<int>(b), X);
        for (std::size_t i = 0; i < X.size(); ++i) sum[i] += X[i];
      }
    }
    box_.kept.inverse(sum.data(), out, kept_);  // (5)
  }
  void pressure_pullback(const double* x, const double* bar, double* x_bar) {
    const std::vector<Numbers> u = filtered(x);
    std::vector<Numbers> u_bar(u.size(), Numbers(static_cast<std::size_t>(n_), 0.0));
    Numbers product_bar(static_cast<std::size_t>(n_));
    const Numbers P = coefficients(box_.kept, kept_, bar);
    for (std::size_t a = 0; a < u.size(); ++a) {
      for (std::size_t b = a; b < u.size(); ++b) {
        Numbers X = P;
        pressure_symbol(static_cast<int>(a), static_cast<int>(b), X);
        box_.kept.inverse(X.data(), product_bar.data(), kept_);
        for (std::size_t i = 0; i < product_bar.size(); ++i) {
          u_bar[a][i] += product_bar[i] * u[b][i];
          u_bar[b][i] += product_bar[i] * u[a][i];
        }
      }
    }
    for (std::size_t a = 0; a < u.size(); ++a) {
      add_nodes(box_.kept, kept_, coefficients(box_.kept, kept_, u_bar[a].data()),
                x_bar + static_cast<std::int64_t>(a) * n_);
    }
  }

  void spectrum(const double* x, double* out) {
    std::fill_n(out, box_.shells, 0.0);
    const RealTransform<double>& f = box_.all;
    for (int a = 0; a < d(); ++a) {
      const Numbers X = coefficients(f, all_, x + a * n_);
      for (int slab = 0; slab < f.slabs(); ++slab) {
        for (int r = 0; r < f.rows(); ++r) {
          const std::size_t re = static_cast<std::size_t>(std::int64_t{2} * slab * f.pitch() + r);
          const std::size_t im = re + static_cast<std::size_t>(f.pitch());
          out[box_.shell(slab, r)] +=
              0.5 * box_.volume * f.weight(slab, r) * (X[re] * X[re] + X[im] * X[im]);  // (6)
        }
      }
    }
  }
  void spectrum_pullback(const double* x, const double* bar, double* x_bar) {
    const RealTransform<double>& f = box_.all;
    for (int a = 0; a < d(); ++a) {
      Numbers X = coefficients(f, all_, x + a * n_);
      for (int slab = 0; slab < f.slabs(); ++slab) {
        for (int r = 0; r < f.rows(); ++r) {
          const std::size_t re = static_cast<std::size_t>(std::int64_t{2} * slab * f.pitch() + r);
          const double s = cell() * bar[box_.shell(slab, r)];
          X[re] *= s, X[re + static_cast<std::size_t>(f.pitch())] *= s;
        }
      }
      add_nodes(f, all_, X, x_bar + a * n_);
    }
  }

  // Calls visit(node, weight) for a probe.
  template <class Visit>
  void for_each_weight(int probe, Visit&& visit) const {
    const int axes = box_.model->dimensions();
    const Numbers* const w = box_.weights.data() + probe * axes;
    const std::size_t n1 = axes > 1 ? w[1].size() : 1, n2 = axes > 2 ? w[2].size() : 1;
    std::size_t node = 0;
    for (const double w0 : w[0]) {
      for (std::size_t j = 0; j < n1; ++j) {
        const double w1 = axes > 1 ? w0 * w[1][j] : w0;
        for (std::size_t k = 0; k < n2; ++k) visit(node++, axes > 2 ? w1 * w[2][k] : w1);
      }
    }
  }
  void probe(const double* x, int fields, double* out) const {
    for (int p = 0; p < box_.probes(); ++p) {
      for (int f = 0; f < fields; ++f) {
        double sum = 0;
        for_each_weight(p, [&](std::size_t i, double w) {
          sum += w * x[f * n_ + static_cast<std::int64_t>(i)];
        });
        out[p * fields + f] = sum;  // (7)
      }
    }
  }
  void probe_pullback(const double* bar, int fields, double* x_bar) const {
    for (int p = 0; p < box_.probes(); ++p) {
      for (int f = 0; f < fields; ++f) {
        const double b = bar[p * fields + f];
        for_each_weight(p, [&](std::size_t i, double w) {
          x_bar[f * n_ + static_cast<std::int64_t>(i)] += w * b;
        });
      }
    }
  }

  const Box& box_;
  FftWorkspace<double> all_, kept_;
  std::int64_t n_;
};

struct LookWorkspace final : StepWorkspace {
  LookWorkspace(const Box& box, int threads) : look(box, threads) {}
  Look look;
};

int total(const Box& box, const std::vector<Shown>& shown) {
  int n = 0;
  for (const Shown what : shown) n += box.size_of(what);
  return n;
}

class SpectralObserver final : public DifferentiableObserver {
 public:
  SpectralObserver(std::shared_ptr<const Box> box, std::vector<Shown> shown)
      : DifferentiableObserver(1, total(*box, shown)),
        box_(std::move(box)),
        shown_(std::move(shown)) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& r) const override {
    return std::make_unique<LookWorkspace>(*box_, r.threads);
  }
  void begin(const StepParameters<double>&, StepWorkspace&) const override {}
  void observe(const ObservedPoint<double>& at, double* values, StepWorkspace& w) const override {
    for (const Shown what : shown_) {
      static_cast<LookWorkspace&>(w).look.observe(what, at.x, values);
      values += box_->size_of(what);
    }
  }
  void pullback(const ObservedPoint<double>& at, const double* bar, double* x_bar, double*,
                StepWorkspace& w) const override {
    for (const Shown what : shown_) {
      static_cast<LookWorkspace&>(w).look.pullback(what, at.x, bar, x_bar);
      bar += box_->size_of(what);
    }
  }
  // None of them depends on a parameter.
  void finish(StepWorkspace&, double* p_bar) const override {
    std::size_t numbers = 0;
    for (const auto& d : box_->model->defaults) numbers += d.size();
    std::fill_n(p_bar, numbers, 0.0);
  }

 private:
  std::shared_ptr<const Box> box_;
  std::vector<Shown> shown_;
};

// Of a System in float: looked at in double.
class FloatObserver final : public ChunkObserver<float> {
 public:
  FloatObserver(std::shared_ptr<const Box> box, std::vector<Shown> shown)
      : ChunkObserver<float>(1, total(*box, shown)),
        box_(std::move(box)),
        shown_(std::move(shown)) {}
  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& r) const override {
    return std::make_unique<LookWorkspace>(*box_, r.threads);
  }
  void begin(const StepParameters<float>&, StepWorkspace&) const override {}
  void observe(const ObservedPoint<float>& at, float* values, StepWorkspace& w) const override {
    const Numbers x(at.x, at.x + box_->model->fields() * box_->model->nodes());
    for (const Shown what : shown_) {
      Numbers out(static_cast<std::size_t>(box_->size_of(what)));
      static_cast<LookWorkspace&>(w).look.observe(what, x.data(), out.data());
      for (const double v : out) *values++ = static_cast<float>(v);
    }
  }

 private:
  std::shared_ptr<const Box> box_;
  std::vector<Shown> shown_;
};

class SpectralObservables final : public Observables {
 public:
  explicit SpectralObservables(std::shared_ptr<const Box> box) : box_(std::move(box)) {}

  std::vector<Observable> listed() const override {
    std::vector<Observable> all;
    for (const Named& n : kShown) {
      if (!box_->offers(n.what)) continue;
      const bool speed = n.what == Shown::probe && box_->model->velocities() > 0;
      all.push_back(
          {std::string(n.name), speed ? "m/s" : std::string(n.unit), box_->shape_of(n.what)});
    }
    return all;
  }
  std::shared_ptr<const ChunkObserver<float>> float32(const std::vector<std::string>& names,
                                                      int) const override {
    return std::make_shared<FloatObserver>(box_, shown(names));
  }
  std::shared_ptr<const ChunkObserver<double>> float64(const std::vector<std::string>& names,
                                                       int) const override {
    return std::make_shared<SpectralObserver>(box_, shown(names));
  }
  std::shared_ptr<const DifferentiableObserver> differentiable(
      const std::vector<std::string>& names) const override {
    return std::make_shared<SpectralObserver>(box_, shown(names));
  }

 private:
  static std::vector<Shown> shown(const std::vector<std::string>& names) {
    std::vector<Shown> all;
    for (const std::string& name : names) {
      for (const Named& n : kShown) {
        if (n.name == name) all.push_back(n.what);
      }
    }
    return all;
  }
  std::shared_ptr<const Box> box_;
};

}  // namespace

std::shared_ptr<const Observables> spectral_observables(
    std::shared_ptr<const SpectralModel> model) {
  return std::make_shared<SpectralObservables>(std::make_shared<const Box>(std::move(model)));
}

}  // namespace cycloid::inline fluid
