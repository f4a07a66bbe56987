#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cycloid/base/error.h"
#include "cycloid/base/thread_pool.h"
#include "cycloid/fluid/spectral/spectral_stepper.h"
#include "cycloid/fluid/transform/fft.h"

namespace cycloid::inline fluid {
namespace {

using Complex = std::complex<double>;
constexpr int kMostFields = 2, kMostParameters = 4;

// e^{hL} of one mode and its derivatives: entry (i, j) at [i * fields + j].
struct ModeMatrix {
  Complex value[kMostFields * kMostFields], slope[kMostParameters][kMostFields * kMostFields];
};

// x⁺ = F⁻¹(e^{hL} F(x)): heat, advection and diffusion, waves. The record holds F(x).
template <class T>
class LinearStepper final : public Stepper<T> {
 public:
  explicit LinearStepper(std::shared_ptr<const SpectralModel> model)
      : Stepper<T>(sizes(*model)), model_(std::move(model)), transform_(model_->shape) {}

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& r) const override {
    return std::make_unique<Workspace>(*this, r.threads);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    const std::vector<double> given(p.lanes, p.lanes + this->sizes_.parameters);
    std::fill(w.p_bar.begin(), w.p_bar.end(), 0.0);
    if (w.p == given) return;
    w.p = given;
    w.matrix.resize(static_cast<std::size_t>(transform_.slabs() * transform_.rows()));
    for (int s = 0; s < transform_.slabs(); ++s) {
      for (int r = 0; r < transform_.rows(); ++r) w.matrix[mode(s, r)] = matrix(s, r, w.p.data());
    }
  }
  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    T* const u = record ? record->numbers<T>() : w.u.get();
    to_coefficients(w, in.x, u);
    multiply(w, u, w.v.get(), false, [](const ModeMatrix& m) { return m.value; });
    to_nodes(w, w.v.get(), x_next);
    const bool finite = std::all_of(x_next, x_next + fields() * transform_.nodes(),
                                    [](T v) { return std::isfinite(v); });
    return finite ? StepStatus::ok : StepStatus::non_finite;
  }
  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar, T*,
                StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    to_coefficients(w, x_next_bar, w.v.get());
    multiply(w, w.v.get(), w.u.get(), true, [](const ModeMatrix& m) { return m.value; });
    to_nodes(w, w.u.get(), w.x.data());
    for (std::size_t i = 0; i < w.x.size(); ++i) x_bar[i] += w.x[i];
    if (!in.wants_parameters) return;
    const T* const u = record.numbers<const T>();
    for (int p = 0; p < this->sizes_.parameters; ++p) {
      multiply(w, u, w.u.get(), false, [p](const ModeMatrix& m) { return m.slope[p]; });
      double sum = 0;
      for_each_number([&](int s, int r, std::size_t at) {
        sum +=
            transform_.weight(s, r) * static_cast<double>(w.u[at]) * static_cast<double>(w.v[at]);
      });
      w.p_bar[static_cast<std::size_t>(p)] += sum * static_cast<double>(transform_.nodes());
    }
  }
  bool pushforward(const StepInput<T>&, const StepRecord& record, const StepTangents<T>& tangents,
                   T* x_next_tan, StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    const std::size_t all = static_cast<std::size_t>(fields() * transform_.coefficients());
    std::vector<T> sum(all, T(0));
    const auto add = [&] {
      for (std::size_t i = 0; i < all; ++i) sum[i] += w.v[i];
    };
    if (tangents.x) {
      to_coefficients(w, tangents.x, w.u.get());
      multiply(w, w.u.get(), w.v.get(), false, [](const ModeMatrix& m) { return m.value; });
      add();
    }
    for (int p = 0; tangents.p && p < this->sizes_.parameters; ++p) {
      multiply(w, record.numbers<const T>(), w.v.get(), false,
               [p](const ModeMatrix& m) { return m.slope[p]; });
      for (std::size_t i = 0; i < all; ++i) w.v[i] *= tangents.p[p];
      add();
    }
    to_nodes(w, sum.data(), x_next_tan);
    return true;
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    const Workspace& w = static_cast<Workspace&>(workspace);
    std::copy(w.p_bar.begin(), w.p_bar.end(), p_bar);
  }
  StepTrouble explain(const StepInput<T>&, int, StepWorkspace&) const override {
    return {"exponential", model_->blocks[0].name, "it is no longer finite"};
  }

 private:
  struct Workspace final : StepWorkspace {
    Workspace(const LinearStepper& s, int threads)
        : fft(s.transform_, threads),
          u(aligned_numbers<T>(static_cast<std::size_t>(s.fields() * s.transform_.coefficients()))),
          v(aligned_numbers<T>(static_cast<std::size_t>(s.fields() * s.transform_.coefficients()))),
          x(static_cast<std::size_t>(s.fields() * s.transform_.nodes())),
          p_bar(static_cast<std::size_t>(s.sizes_.parameters)) {}
    FftWorkspace<T> fft;
    AlignedNumbers<T> u, v;
    std::vector<T> x;
    std::vector<double> p, p_bar;
    std::vector<ModeMatrix> matrix;
  };

  static StepperSizes sizes(const SpectralModel& m) {
    const RealTransform<T> f(m.shape);
    const std::int64_t record = m.fields() * f.coefficients();
    if (record > std::numeric_limits<int>::max()) {
      throw ModelError(message("a box of ", f.nodes(), " nodes is too large"));
    }
    StepperSizes s;
    s.state = s.tangent = static_cast<int>(m.fields() * f.nodes());
    for (const auto& d : m.defaults) s.parameters += static_cast<int>(d.size());
    s.record = static_cast<int>(record);
    s.spreads = true;
    return s;
  }

  int fields() const { return model_->fields(); }
  std::size_t mode(int slab, int row) const {
    return static_cast<std::size_t>(slab * transform_.rows() + row);
  }

  ModeMatrix matrix(int slab, int row, const double* p) const {
    const int d = model_->dimensions();
    const double h = model_->dt;
    double k[3] = {}, odd[3] = {}, k2 = 0;
    for (int a = 0; a < d; ++a) {
      const std::size_t i = static_cast<std::size_t>(a);
      const int number = transform_.wave_number(a, slab, row);
      k[a] = 2 * std::numbers::pi / model_->size[i] * number;
      // The highest wave of an even axis has no partner: its odd derivatives are zero at the nodes.
      odd[a] = 2 * std::abs(number) == model_->shape[i] ? 0 : k[a];
      k2 += k[a] * k[a];
    }
    ModeMatrix m = {};
    switch (model_->equation) {
      case SpectralEquation::advection_diffusion: {
        double c = 0;
        for (int a = 0; a < d; ++a) c += p[a] * odd[a];
        m.value[0] = std::exp(-p[d] * k2 * h) * std::polar(1.0, -c * h);
        for (int a = 0; a < d; ++a) m.slope[a][0] = Complex(0, -odd[a] * h) * m.value[0];
        m.slope[d][0] = -k2 * h * m.value[0];
        break;
      }
      case SpectralEquation::wave: {
        const double q = std::sqrt(k2), a = p[0] * q * h, c = std::cos(a), s = std::sin(a);
        const double over = q > 0 ? s / (p[0] * q) : h;  // sin(c k h) / (c k)
        m.value[0] = c, m.value[1] = over, m.value[2] = -p[0] * q * s, m.value[3] = c;
        m.slope[0][0] = -q * h * s, m.slope[0][1] = (h * c - over) / p[0];
        m.slope[0][2] = -q * s - p[0] * q * q * h * c, m.slope[0][3] = -q * h * s;
        break;
      }
      default: m.value[0] = std::exp(-p[0] * k2 * h); m.slope[0][0] = -k2 * h * m.value[0];
    }
    return m;
  }

  void to_coefficients(Workspace& w, const T* x, T* u) const {
    for (int f = 0; f < fields(); ++f) {
      transform_.forward(x + f * transform_.nodes(), u + f * transform_.coefficients(), w.fft);
    }
  }
  void to_nodes(Workspace& w, const T* u, T* x) const {
    for (int f = 0; f < fields(); ++f) {
      transform_.inverse(u + f * transform_.coefficients(), x + f * transform_.nodes(), w.fft);
    }
  }
  // Calls visit(slab, row, place) for every real number of the coefficients.
  template <class Visit>
  void for_each_number(Visit&& visit) const {
    for (int f = 0; f < fields(); ++f) {
      for (int s = 0; s < transform_.slabs(); ++s) {
        const std::size_t at = static_cast<std::size_t>(f * transform_.coefficients() +
                                                        std::int64_t{2} * s * transform_.pitch());
        for (int part = 0; part < 2; ++part) {
          for (int r = 0; r < transform_.rows(); ++r) {
            visit(s, r, at + static_cast<std::size_t>(part * transform_.pitch() + r));
          }
        }
      }
    }
  }
  // v = M u, or with the conjugate transpose; entries(matrix) chooses M.
  template <class Entries>
  void multiply(Workspace& w, const T* u, T* v, bool adjoint, Entries&& entries) const {
    const int F = fields();
    parallel_for(static_cast<std::size_t>(transform_.slabs()), w.fft.threads(), [&](std::size_t i) {
      const int s = static_cast<int>(i);
      const std::ptrdiff_t first = std::ptrdiff_t{2} * s * transform_.pitch();
      for (int r = 0; r < transform_.rows(); ++r) {
        const Complex* const m = entries(w.matrix[mode(s, r)]);
        Complex x[kMostFields];
        for (int f = 0; f < F; ++f) {
          const T* const at = u + f * transform_.coefficients() + first + r;
          x[f] = {static_cast<double>(at[0]), static_cast<double>(at[transform_.pitch()])};
        }
        for (int f = 0; f < F; ++f) {
          double re = 0, im = 0;
          for (int g = 0; g < F; ++g) {
            const Complex e = adjoint ? std::conj(m[g * F + f]) : m[f * F + g];
            re += e.real() * x[g].real() - e.imag() * x[g].imag();
            im += e.real() * x[g].imag() + e.imag() * x[g].real();
          }
          T* const at = v + f * transform_.coefficients() + first + r;
          at[0] = static_cast<T>(re), at[transform_.pitch()] = static_cast<T>(im);
        }
      }
    });
  }

  std::shared_ptr<const SpectralModel> model_;
  RealTransform<T> transform_;
};

}  // namespace

template <class T>
std::shared_ptr<const Stepper<T>> linear_spectral_stepper(
    std::shared_ptr<const SpectralModel> model) {
  return std::make_shared<LinearStepper<T>>(std::move(model));
}

template std::shared_ptr<const Stepper<float>> linear_spectral_stepper(
    std::shared_ptr<const SpectralModel>);
template std::shared_ptr<const Stepper<double>> linear_spectral_stepper(
    std::shared_ptr<const SpectralModel>);

}  // namespace cycloid::inline fluid
