#include "cycloid/fluid/spectral/spectral_stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <numbers>
#include <unordered_map>

#include "cycloid/base/error.h"
#include "cycloid/base/thread_pool.h"
#include "cycloid/fluid/spectral/exponential_scheme.h"
#include "cycloid/fluid/transform/fft.h"

namespace cycloid::inline fluid {
namespace {

constexpr int kSlabBlock = 8;                      // slabs that a thread takes at once
constexpr std::int64_t kNodesPerThread = 1 << 14;  // fewer are not worth another thread

// Coefficients of the scheme for each mode, and their derivatives by z = h L.
template <class T>
struct EtdTable {
  std::vector<double> key;                   // the parameters that it was made for
  std::vector<std::vector<T>> value, slope;  // (groups, parts, slabs, pitch) each
};

template <class T>
class SpectralStepper final : public Stepper<T> {
 public:
  explicit SpectralStepper(std::shared_ptr<const SpectralModel> model)
      : Stepper<T>(sizes(*model)),
        model_(std::move(model)),
        transform_(model_->shape, model_->cut()),
        scheme_(etd_scheme(model_->order)),
        term_(term_kernels<T>(model_->term())),
        etd_(etd_kernels<T>()) {
    const int d = model_->dimensions();
    const std::size_t pitch = static_cast<std::size_t>(transform_.pitch());
    for (int a = 0; a < 2; ++a) row_k_[a].assign(pitch, T(0));
    slab_k_.assign(static_cast<std::size_t>(transform_.slabs()), T(0));
    weight_.assign(pitch, T(0));
    inverse_square_.assign(slab_k_.size() * pitch, T(0));
    for (int s = 0; s < transform_.slabs(); ++s) {
      for (int r = 0; r < transform_.rows(); ++r) {
        const WaveVector k = wave_vector(s, r);
        const std::size_t row = static_cast<std::size_t>(r), slab = static_cast<std::size_t>(s);
        row_k_[0][row] = static_cast<T>(k[0]);
        if (d == 3) row_k_[1][row] = static_cast<T>(k[1]);
        if (d > 1) slab_k_[slab] = static_cast<T>(k[static_cast<std::size_t>(d - 1)]);
        weight_[row] = static_cast<T>(transform_.weight(s, r));
        const double k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
        inverse_square_[slab * pitch + row] = static_cast<T>(k2 > 0 ? 1 / k2 : 0);
      }
    }
    modes_.dimensions = d, modes_.slabs = transform_.slabs();
    modes_.pitch = transform_.pitch(), modes_.stride = transform_.coefficients();
    modes_.row_k[0] = row_k_[0].data(), modes_.row_k[1] = row_k_[1].data();
    modes_.slab_k = slab_k_.data(), modes_.inverse_square = inverse_square_.data();
    modes_.weight = weight_.data();
    modes_.half_stride = static_cast<std::ptrdiff_t>(transform_.half_numbers());
    modes_.nodes = transform_.nodes();
    etd_view_.fields = term_.fields, etd_view_.parts = model_->complex_rates() ? 2 : 1;
    for (int f = 0; f < term_.fields; ++f) etd_view_.group[f] = model_->group_of(f);
    etd_view_.per_group = etd_view_.parts * modes_.slabs * modes_.pitch;
  }

  std::unique_ptr<StepWorkspace> make_workspace(const StepResources& r) const override {
    const std::int64_t most = std::max<std::int64_t>(1, modes_.nodes / kNodesPerThread);
    return std::make_unique<Workspace>(*this,
                                       static_cast<int>(std::min<std::int64_t>(r.threads, most)));
  }

  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    w.p.assign(p.lanes, p.lanes + this->sizes_.parameters);
    w.table = table_for(w.p);
    const auto c = model_->constants(w.p.data());
    for (std::size_t i = 0; i < 3; ++i) w.constants[i] = static_cast<T>(c[i]);
    std::fill(w.slopes.begin(), w.slopes.end(), 0.0);
    std::fill(w.constants_bar.begin(), w.constants_bar.end(), 0.0);
  }

  StepStatus step(const StepInput<T>& in, T* x_next, StepRecord* record,
                  StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    const std::ptrdiff_t n = modes_.nodes;
    if (this->sizes_.carry > 0) x_next[this->sizes_.state] = T(1);
    if (!(courant(w, in.x) <= static_cast<T>(model_->courant_limit()))) {
      std::fill_n(x_next, term_.fields * n, std::numeric_limits<T>::quiet_NaN());
      return StepStatus::non_finite;
    }
    const bool warm = is_warm(in.x);
    Made made = made_in(record ? record->numbers<T>() : nullptr, w);
    if (record && warm) record->bytes -= sizeof(T) * static_cast<std::size_t>(node_numbers());
    for (int f = 0; f < term_.fields; ++f) {
      transform_.forward(in.x + f * n, made.u + f * modes_.stride, w.fft);  // (1)
    }
    clear_pads(made.u);
    if (term_.projects) for_each_slab(w, [&](int s) { term_.project(modes_, s, made.u); });
    take_force(w, in.u);
    for (int i = 0; i < scheme_.stages; ++i) {
      const T* U = made.u;
      if (i > 0) {
        sum(w, made, i - 1, w.stage.get());
        U = w.stage.get();
      }
      if (i == 0 && warm) {
        evaluate_nodes(w, in.x, made.N(*this, 0));
      } else {
        evaluate(w, U, made.N(*this, i), made.nodes ? nodes_of(made, i) : nullptr);
      }
      add_force(w, made.N(*this, i));  // (2)
    }
    sum(w, made, scheme_.stages - 1, w.stage.get());
    for (int f = 0; f < term_.fields; ++f) {
      transform_.inverse(w.stage.get() + f * modes_.stride, x_next + f * n, w.fft);  // (3)
    }
    return etd_.all_finite(x_next, term_.fields * n) ? StepStatus::ok : StepStatus::non_finite;
  }

  void pullback(const StepInput<T>& in, const StepRecord& record, const T* x_next_bar, T* x_bar,
                T* u_bar, StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    const Made made = made_in(record.numbers<T>(), w);
    const std::ptrdiff_t n = modes_.nodes, all = term_.fields * modes_.stride;
    T* const stage_bar = w.stage.get();
    T* const made_bar = w.bars();
    std::fill_n(made_bar, all * (1 + scheme_.stages), T(0));
    for (int f = 0; f < term_.fields; ++f) {
      transform_.forward(x_next_bar + f * n, stage_bar + f * modes_.stride, w.fft);  // (3)
    }
    for (int i = scheme_.stages; i > 0; --i) {
      sum_pullback(w, made, i - 1, stage_bar, made_bar, in.wants_parameters);
      T* const N_bar = made_bar + i * all;
      force_pullback(w, N_bar, i == scheme_.stages);
      if (in.wants_parameters && term_.constants > 0) {
        const T* U = made.u;
        if (term_.uses_state && i > 1) {
          sum(w, made, i - 2, w.other.get());
          U = w.other.get();
        }
        constants_pullback(w, U, N_bar);
      }
      T* const U_bar = i > 1 ? stage_bar : made_bar;
      if (i > 1) std::fill_n(stage_bar, all, T(0));
      if (i == 1 && is_warm(in.x)) {
        evaluate_nodes_adjoint(w, in.x, N_bar, U_bar, x_bar);
      } else {
        evaluate_adjoint(w, nodes_of(made, i - 1), N_bar, U_bar);  // (2)
      }
    }
    add_nodes(w, made_bar, x_bar);  // (1)
    give_force(w, u_bar);
  }

  bool pushforward(const StepInput<T>& in, const StepRecord& record,
                   const StepTangents<T>& tangents, T* x_next_tan,
                   StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    const Made made = made_in(record.numbers<T>(), w);
    const std::ptrdiff_t n = modes_.nodes, all = term_.fields * modes_.stride;
    Made tangent = {w.bars(), w.bars() + all, nullptr};
    if (tangents.x) {
      for (int f = 0; f < term_.fields; ++f) {
        transform_.forward(tangents.x + f * n, tangent.u + f * modes_.stride, w.fft);
      }
      if (term_.projects) for_each_slab(w, [&](int s) { term_.project(modes_, s, tangent.u); });
    } else {
      std::fill_n(tangent.u, all, T(0));
    }
    const auto moved = tangents.p ? table_tangent(w, tangents.p) : std::vector<std::vector<T>>();
    std::array<T, 3> c_tan = {};
    const auto which = model_->constant_parameters();
    for (std::size_t i = 0; i < 3; ++i) {
      if (tangents.p && which[i] >= 0) c_tan[i] = tangents.p[which[i]];
    }
    if (tangents.u) take_force(w, tangents.u);
    // What is linear in N: a source that does not depend on the state has no tangent.
    const std::array<T, 3> c =
        model_->equation == SpectralEquation::gray_scott ? std::array<T, 3>{} : w.constants;
    for (int i = 0; i < scheme_.stages; ++i) {
      const T *U = made.u, *U_tan = tangent.u;
      if (i > 0) {
        sum(w, made, i - 1, w.other.get());
        sum_tangent(w, made, tangent, moved, i - 1, w.stage.get());
        U = w.other.get(), U_tan = w.stage.get();
      }
      T* const N_tan = tangent.N(*this, i);
      if (i == 0 && is_warm(in.x)) {
        evaluate_nodes_tangent(w, in.x, tangents.x, c.data(), U_tan, N_tan);
      } else {
        evaluate_tangent(w, U_tan, nodes_of(made, i), c.data(), N_tan);
      }
      if (tangents.p && term_.constants > 0) {
        std::fill_n(w.products.get(), term_.products * modes_.stride, T(0));
        for_each_slab(w, [&](int s) {
          term_.assembled(modes_, s, c_tan.data(), w.products.get(), U, w.seen.get());
        });
        for (std::ptrdiff_t k = 0; k < all; ++k) N_tan[k] += w.seen[static_cast<std::size_t>(k)];
      }
      if (tangents.u) add_force(w, N_tan);
    }
    sum_tangent(w, made, tangent, moved, scheme_.stages - 1, w.stage.get());
    for (int f = 0; f < term_.fields; ++f) {
      transform_.inverse(w.stage.get() + f * modes_.stride, x_next_tan + f * n, w.fft);
    }
    return true;
  }

  void finish(StepWorkspace& workspace, double* p_bar) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    const double nodes = static_cast<double>(modes_.nodes);
    for (int p = 0; p < this->sizes_.parameters; ++p) {
      double sum = 0;
      for (int g = 0; g < model_->groups(); ++g) {
        for (int s = 0; s < modes_.slabs; ++s) {
          const double* const at = w.slopes.data() + (g * modes_.slabs + s) * modes_.pitch;
          for (int r = 0; r < transform_.rows(); ++r) {
            sum += at[r] * transform_.weight(s, r) * model_->rate_slope(g, wave_vector(s, r), p);
          }
        }
      }
      p_bar[p] = sum * nodes * model_->dt;
    }
    const auto which = model_->constant_parameters();
    for (std::size_t i = 0; i < 3; ++i) {
      if (which[i] >= 0) p_bar[which[i]] += nodes * w.constants_bar[i];
    }
  }

  StepTrouble explain(const StepInput<T>& in, int, StepWorkspace& workspace) const override {
    Workspace& w = static_cast<Workspace&>(workspace);
    const std::ptrdiff_t n = modes_.nodes;
    const std::vector<double> x(in.x, in.x + term_.fields * n);
    if (model_->velocities() > 0) {
      const std::string why = model_->refuse_start(w.p.data(), x.data());
      if (!why.empty()) return {"CFL", model_->blocks[0].name, why};
    }
    std::vector<T> next(x.size());
    step(in, next.data(), nullptr, workspace);
    const auto bad = std::find_if(next.begin(), next.end(), [](T v) { return !std::isfinite(v); });
    const std::int64_t at = bad == next.end() ? 0 : bad - next.begin();
    return {message("ETDRK", model_->order), message(block_of(at), " at ", model_->node_name(at)),
            "it is no longer finite; try a smaller time step"};
  }

 private:
  // What a step makes and its pullback needs: û, N_i and node values, in a record or a workspace.
  struct Made {
    T *u, *first, *nodes;
    T* N(const SpectralStepper& s, int i) const {
      return first + i * s.term_.fields * s.modes_.stride;
    }
    // 0: û, i: N_i
    const T* from(const SpectralStepper& s, int i) const { return i == 0 ? u : N(s, i - 1); }
  };

  struct Workspace final : StepWorkspace {
    Workspace(const SpectralStepper& s, int threads)
        : fft(s.transform_, threads, s.term_.seen_fields + s.term_.products),
          made(aligned_numbers<T>(s.coefficient_numbers(s.term_.fields * (1 + s.scheme_.stages)))),
          stage(aligned_numbers<T>(s.coefficient_numbers(s.term_.fields))),
          other(aligned_numbers<T>(s.coefficient_numbers(s.term_.fields))),
          seen(aligned_numbers<T>(s.coefficient_numbers(s.term_.seen_fields))),
          products(aligned_numbers<T>(s.coefficient_numbers(s.term_.products))),
          half_seen(aligned_numbers<T>(s.half_numbers(s.term_.seen_fields))),
          half_products(aligned_numbers<T>(s.half_numbers(s.term_.products))),
          field(static_cast<std::size_t>(s.modes_.nodes)),
          slopes(static_cast<std::size_t>(s.model_->groups() * s.modes_.slabs * s.modes_.pitch)),
          constants_bar(3),
          slab_sums(static_cast<std::size_t>(3 * s.modes_.slabs)) {
      if (s.model_->input_size > 0) {
        force = aligned_numbers<T>(s.coefficient_numbers(s.term_.fields));
      }
    }

    // Cotangents or tangents of what is made; lasting numbers are the record's then.
    T* bars() { return made.get(); }

    FftWorkspace<T> fft;
    AlignedNumbers<T> force;  // coefficients of an acceleration, or their cotangents; null: none
    AlignedNumbers<T> made, stage, other, seen, products, half_seen, half_products;
    std::vector<T> field;
    std::vector<double> p;
    std::array<T, 3> constants = {};
    std::shared_ptr<const EtdTable<T>> table;
    std::vector<double> slopes;  // (groups, slabs, pitch), over all steps
    std::vector<double> constants_bar, slab_sums;
  };

  static StepperSizes sizes(const SpectralModel& m) {
    const RealTransform<T> f(m.shape, m.cut());
    const TermKernels<T>& term = term_kernels<T>(m.term());
    const std::int64_t stages = etd_scheme(m.order).stages;
    const std::int64_t record =
        term.fields * (1 + stages) * f.coefficients() + stages * term.seen_fields * f.nodes();
    if (record > std::numeric_limits<int>::max()) {
      throw ModelError(message("a step of ", f.nodes(), " nodes has ", record,
                               " numbers to keep; take fewer nodes or order=2"));
    }
    StepperSizes s;
    s.state = s.tangent = static_cast<int>(term.fields * f.nodes());
    s.input = m.input_size;
    for (const auto& d : m.defaults) s.parameters += static_cast<int>(d.size());
    s.record = static_cast<int>(record);
    s.carry = term.sees_state ? 1 : 0;
    s.record_is_costly = s.spreads = true;
    return s;
  }

  std::size_t coefficient_numbers(int fields) const {
    return static_cast<std::size_t>(fields * modes_.stride);
  }
  std::size_t half_numbers(int fields) const {
    return static_cast<std::size_t>(fields * modes_.half_stride);
  }
  std::ptrdiff_t node_numbers() const { return term_.seen_fields * modes_.nodes; }
  // Whether x comes from a step: its numbers are then those of û at the nodes, but for rounding.
  bool is_warm(const T* x) const { return this->sizes_.carry > 0 && x[this->sizes_.state] != T(0); }
  // Node values of a stage in a record; those of the first, which may be missing, lie last.
  T* nodes_of(const Made& made, int stage) const {
    return made.nodes + (stage == 0 ? scheme_.stages - 1 : stage - 1) * node_numbers();
  }

  Made made_in(T* record, Workspace& w) const {
    const std::ptrdiff_t all = term_.fields * modes_.stride;
    T* const at = record ? record : w.made.get();
    return {at, at + all, record ? record + all * (1 + scheme_.stages) : nullptr};
  }

  WaveVector wave_vector(int slab, int row) const {
    WaveVector k = {};
    for (int a = 0; a < model_->dimensions(); ++a) {
      const std::size_t i = static_cast<std::size_t>(a);
      k[i] = 2 * std::numbers::pi / model_->size[i] * transform_.wave_number(a, slab, row);
    }
    return k;
  }

  std::string block_of(std::int64_t number) const {
    std::int64_t end = 0;
    for (const BlockSpec& b : model_->blocks) {
      end += b.size;
      if (number < end) return b.name;
    }
    return {};
  }

  template <class Work>
  void for_each_slab(Workspace& w, Work&& work) const {
    const int blocks = (modes_.slabs + kSlabBlock - 1) / kSlabBlock;
    parallel_for(static_cast<std::size_t>(blocks), w.fft.threads(), [&](std::size_t b) {
      const int begin = static_cast<int>(b) * kSlabBlock;
      const int end = std::min(begin + kSlabBlock, modes_.slabs);
      for (int s = begin; s < end; ++s) work(s);
    });
  }

  // Numbers beyond the rows: a record begins as anything.
  void clear_pads(T* u) const {
    for (std::ptrdiff_t part = 0; part < 2 * modes_.slabs * term_.fields; ++part) {
      std::fill(u + part * modes_.pitch + transform_.rows(), u + (part + 1) * modes_.pitch, T(0));
    }
  }

  T courant(Workspace& w, const T* x) const {
    const int d = model_->velocities();
    if (d == 0) return T(0);
    T rates[3] = {}, all = 0;
    for (int a = 0; a < d; ++a) {
      rates[a] = static_cast<T>(model_->dt / model_->spacing(a));
      all += rates[a];
    }
    T most = etd_.fastest(x, modes_.nodes, modes_.nodes, rates, d);
    if (model_->equation == SpectralEquation::shallow_water) {
      // Not below what the model says of a start: the crest and the fastest water as one node.
      const T one = 1;
      const T crest = etd_.fastest(x + 2 * modes_.nodes, 0, modes_.nodes, &one, 1);
      if (!(most + all * std::sqrt(w.constants[0] * (w.constants[1] + crest)) <= T(1))) {
        const std::vector<double> exact(x, x + 3 * modes_.nodes);
        return model_->refuse_start(w.p.data(), exact.data()).empty()
                   ? T(0)
                   : std::numeric_limits<T>::infinity();
      }
    }
    return most;
  }

  // The parts of a stage, and as many again where parameters have a tangent.
  struct StageTerms {
    std::array<EtdTerm<T>, 2 * kMostEtdParts> all;
    int count = 0;
    void add(const EtdTerm<T>& term) { all[static_cast<std::size_t>(count++)] = term; }
  };
  StageTerms terms(const Workspace& w, const Made& made, int stage, T* bars) const {
    StageTerms out;
    for (const EtdPart& part : scheme_.parts[static_cast<std::size_t>(stage)]) {
      const std::size_t c = static_cast<std::size_t>(part.coefficient);
      out.add({w.table->value[c].data(), w.table->slope[c].data(), static_cast<T>(part.scale),
               made.from(*this, part.from),
               bars ? bars + part.from * term_.fields * modes_.stride : nullptr});
    }
    return out;
  }

  // U_{stage+2}, or x⁺ after the last.
  void sum(Workspace& w, const Made& made, int stage, T* out) const {
    const auto parts = terms(w, made, stage, nullptr);
    for_each_slab(
        w, [&](int s) { etd_.sum(modes_, etd_view_, s, parts.all.data(), parts.count, out); });
  }
  void sum_pullback(Workspace& w, const Made& made, int stage, const T* out_bar, T* made_bar,
                    bool wants_parameters) const {
    const auto parts = terms(w, made, stage, made_bar);
    const bool slopes = wants_parameters && this->sizes_.parameters > 0;
    for_each_slab(w, [&](int s) {
      etd_.sum_adjoint(modes_, etd_view_, s, parts.all.data(), parts.count, out_bar);
      if (slopes) {
        etd_.slopes(modes_, etd_view_, s, parts.all.data(), parts.count, out_bar, w.slopes.data());
      }
    });
  }
  void sum_tangent(Workspace& w, const Made& made, const Made& tangent,
                   const std::vector<std::vector<T>>& moved, int stage, T* out) const {
    auto parts = terms(w, tangent, stage, nullptr);
    if (!moved.empty()) {
      for (const EtdPart& part : scheme_.parts[static_cast<std::size_t>(stage)]) {
        parts.add({moved[static_cast<std::size_t>(part.coefficient)].data(), nullptr,
                   static_cast<T>(part.scale), made.from(*this, part.from), nullptr});
      }
    }
    for_each_slab(
        w, [&](int s) { etd_.sum(modes_, etd_view_, s, parts.all.data(), parts.count, out); });
  }

  // ĝ along axis 0 at the nodes, and what comes of it: columns(block, room). from, to: null where
  // node values are read or written instead.
  template <class Columns>
  void through_nodes(Workspace& w, const T* from, int from_fields, T* half_from, T* half_to,
                     int to_fields, T* to, Columns&& columns) const {
    for (int f = 0; from && f < from_fields; ++f) {
      transform_.inverse_to_half(from + f * modes_.stride, half_from + f * modes_.half_stride,
                                 w.fft);
    }
    parallel_for(static_cast<std::size_t>(transform_.column_blocks()), w.fft.threads(),
                 [&](std::size_t block, int worker) {
                   columns(static_cast<int>(block), w.fft.room(worker));
                 });
    for (int f = 0; to && f < to_fields; ++f) {
      transform_.forward_from_half(half_to + f * modes_.half_stride, to + f * modes_.stride, w.fft);
    }
  }
  const T* seen(Workspace& w, const T* U) const {
    if (term_.sees_state) return U;
    for_each_slab(w, [&](int s) { term_.seen(modes_, s, U, w.seen.get()); });
    return w.seen.get();
  }
  void evaluate(Workspace& w, const T* U, T* N, T* nodes) const {
    T *const g = w.half_seen.get(), *const q = w.half_products.get();
    through_nodes(w, seen(w, U), term_.seen_fields, g, q, term_.products, w.products.get(),
                  [&](int block, void* room) {
                    term_.columns(modes_, transform_.view(), block, g, q, nodes, room);
                  });
    for_each_slab(
        w, [&](int s) { term_.assembled(modes_, s, w.constants.data(), w.products.get(), U, N); });
  }
  void evaluate_adjoint(Workspace& w, const T* nodes, const T* N_bar, T* U_bar) const {
    for_each_slab(w, [&](int s) {
      term_.assembled_adjoint(modes_, s, w.constants.data(), N_bar, w.products.get(), U_bar);
    });
    T *const g = w.half_seen.get(), *const q = w.half_products.get();
    through_nodes(w, w.products.get(), term_.products, q, g, term_.seen_fields, w.seen.get(),
                  [&](int block, void* room) {
                    term_.columns_adjoint(modes_, transform_.view(), block, q, nodes, g, nullptr,
                                          room);
                  });
    for_each_slab(w, [&](int s) { term_.seen_adjoint(modes_, s, w.seen.get(), U_bar); });
  }
  void evaluate_tangent(Workspace& w, const T* U_tan, const T* nodes, const T* c, T* N_tan) const {
    T *const g = w.half_seen.get(), *const q = w.half_products.get();
    through_nodes(w, seen(w, U_tan), term_.seen_fields, g, q, term_.products, w.products.get(),
                  [&](int block, void* room) {
                    term_.columns_tangent(modes_, transform_.view(), block, g, nullptr, nodes, q,
                                          room);
                  });
    for_each_slab(w, [&](int s) { term_.assembled(modes_, s, c, w.products.get(), U_tan, N_tan); });
  }

  // Likewise of a warm start, whose node values are known.
  void evaluate_nodes(Workspace& w, const T* x, T* N) const {
    T* const q = w.half_products.get();
    T* const nodes = const_cast<T*>(x);  // which are read alone
    through_nodes(w, nullptr, 0, nullptr, q, term_.products, w.products.get(),
                  [&](int block, void* room) {
                    term_.columns(modes_, transform_.view(), block, nullptr, q, nodes, room);
                  });
    for_each_slab(w, [&](int s) {
      term_.assembled(modes_, s, w.constants.data(), w.products.get(), nullptr, N);
    });
  }
  void evaluate_nodes_adjoint(Workspace& w, const T* x, const T* N_bar, T* U_bar, T* x_bar) const {
    for_each_slab(w, [&](int s) {
      term_.assembled_adjoint(modes_, s, w.constants.data(), N_bar, w.products.get(), U_bar);
    });
    T* const q = w.half_products.get();
    through_nodes(
        w, w.products.get(), term_.products, q, nullptr, 0, nullptr, [&](int block, void* room) {
          term_.columns_adjoint(modes_, transform_.view(), block, q, x, nullptr, x_bar, room);
        });
  }
  void evaluate_nodes_tangent(Workspace& w, const T* x, const T* x_tan, const T* c, const T* U_tan,
                              T* N_tan) const {
    T* const q = w.half_products.get();
    if (x_tan) {
      through_nodes(
          w, nullptr, 0, nullptr, q, term_.products, w.products.get(), [&](int block, void* room) {
            term_.columns_tangent(modes_, transform_.view(), block, nullptr, x_tan, x, q, room);
          });
    } else {
      std::fill_n(w.products.get(), term_.products * modes_.stride, T(0));
    }
    for_each_slab(w, [&](int s) { term_.assembled(modes_, s, c, w.products.get(), U_tan, N_tan); });
  }

  // Coefficients of the acceleration, which is held over a step; P f of a field. One that all nodes
  // share acts on the mean flow.
  void take_force(Workspace& w, const T* u) const {
    if (!w.force) return;
    T* const F = w.force.get();
    const int field = model_->force_field_input, mean = model_->force_input;
    if (field >= 0) {
      for (int f = 0; f < term_.fields; ++f) {
        transform_.forward(u + field + f * modes_.nodes, F + f * modes_.stride, w.fft);
      }
      for_each_slab(w, [&](int s) { term_.project(modes_, s, F); });
    } else {
      std::fill_n(F, term_.fields * modes_.stride, T(0));
    }
    for (int f = 0; mean >= 0 && f < term_.fields; ++f) F[f * modes_.stride] += u[mean + f];
  }
  void add_force(Workspace& w, T* N) const {
    if (!w.force) return;
    for (std::ptrdiff_t k = 0; k < term_.fields * modes_.stride; ++k) {
      N[k] += w.force[static_cast<std::size_t>(k)];
    }
  }
  // Gathers the stages' cotangents, from the last.
  void force_pullback(Workspace& w, const T* N_bar, bool last) const {
    if (!w.force) return;
    for (std::ptrdiff_t k = 0; k < term_.fields * modes_.stride; ++k) {
      T& to = w.force[static_cast<std::size_t>(k)];
      to = (last ? T(0) : to) + N_bar[k];
    }
  }
  void give_force(Workspace& w, T* u_bar) const {
    if (!w.force) return;
    const int field = model_->force_field_input, mean = model_->force_input;
    for (int f = 0; mean >= 0 && f < term_.fields; ++f) {
      u_bar[mean + f] +=
          static_cast<T>(modes_.nodes) * w.force[static_cast<std::size_t>(f * modes_.stride)];
    }
    if (field >= 0) add_nodes(w, w.force.get(), u_bar + field);
  }
  // Adds F⁻¹ P of coefficients, which it changes, to numbers at the nodes.
  void add_nodes(Workspace& w, T* u, T* to) const {
    const std::ptrdiff_t n = modes_.nodes;
    if (term_.projects) for_each_slab(w, [&](int s) { term_.project(modes_, s, u); });
    for (int f = 0; f < term_.fields; ++f) {
      transform_.inverse(u + f * modes_.stride, w.field.data(), w.fft);
      for (std::ptrdiff_t i = 0; i < n; ++i) to[f * n + i] += w.field[static_cast<std::size_t>(i)];
    }
  }

  void constants_pullback(Workspace& w, const T* U, const T* N_bar) const {
    std::fill(w.slab_sums.begin(), w.slab_sums.end(), 0.0);
    for_each_slab(w, [&](int s) {
      term_.constants_adjoint(modes_, s, U, N_bar, w.slab_sums.data() + 3 * s);
    });
    for (std::size_t i = 0; i < w.slab_sums.size(); ++i) w.constants_bar[i % 3] += w.slab_sums[i];
  }

  std::shared_ptr<const EtdTable<T>> table_for(const std::vector<double>& p) const {
    const std::lock_guard lock(mutex_);
    if (table_ && table_->key == p) return table_;
    auto made = std::make_shared<EtdTable<T>>();
    made->key = p;
    const std::size_t numbers = static_cast<std::size_t>(model_->groups() * etd_view_.per_group);
    made->value.assign(static_cast<std::size_t>(scheme_.coefficients), std::vector<T>(numbers));
    made->slope = made->value;
    // Modes of like length share their coefficients.
    std::unordered_map<double, EtdValues> known;
    const std::ptrdiff_t imaginary = modes_.slabs * modes_.pitch;
    for (int g = 0; g < model_->groups(); ++g) {
      for (int s = 0; s < modes_.slabs; ++s) {
        for (int r = 0; r < transform_.rows(); ++r) {
          const std::complex<double> z = model_->dt * model_->rate(g, wave_vector(s, r), p.data());
          auto found = known.find(z.real() + z.imag());
          if (found == known.end()) {
            found =
                known.emplace(z.real() + z.imag(), etd_values(model_->order, model_->dt, z)).first;
          }
          const std::size_t at =
              static_cast<std::size_t>(g * etd_view_.per_group + s * modes_.pitch + r);
          for (std::size_t c = 0; c < made->value.size(); ++c) {
            made->value[c][at] = static_cast<T>(found->second.value[c].real());
            made->slope[c][at] = static_cast<T>(found->second.slope[c].real());
            if (etd_view_.parts == 2) {
              const std::size_t im = at + static_cast<std::size_t>(imaginary);
              made->value[c][im] = static_cast<T>(found->second.value[c].imag());
              made->slope[c][im] = static_cast<T>(found->second.slope[c].imag());
            }
          }
        }
      }
    }
    table_ = std::move(made);
    return table_;
  }

  // The coefficients' tangents along p_tan.
  std::vector<std::vector<T>> table_tangent(const Workspace& w, const T* p_tan) const {
    std::vector<std::vector<T>> moved = w.table->slope;
    for (int g = 0; g < model_->groups(); ++g) {
      for (int s = 0; s < modes_.slabs; ++s) {
        for (int r = 0; r < transform_.rows(); ++r) {
          double z_tan = 0;
          for (int p = 0; p < this->sizes_.parameters; ++p) {
            z_tan += model_->rate_slope(g, wave_vector(s, r), p) * static_cast<double>(p_tan[p]);
          }
          const std::size_t at =
              static_cast<std::size_t>(g * etd_view_.per_group + s * modes_.pitch + r);
          for (auto& c : moved) c[at] *= static_cast<T>(model_->dt * z_tan);
        }
      }
    }
    return moved;
  }

  std::shared_ptr<const SpectralModel> model_;
  RealTransform<T> transform_;
  const EtdScheme& scheme_;
  const TermKernels<T>& term_;
  const EtdKernels<T>& etd_;
  std::vector<T> row_k_[2], slab_k_, inverse_square_, weight_;
  ModesView<T> modes_ = {};
  EtdView<T> etd_view_ = {};
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const EtdTable<T>> table_;  // of the latest parameters
};

}  // namespace

template <class T>
std::shared_ptr<const Stepper<T>> spectral_stepper(std::shared_ptr<const SpectralModel> model) {
  return std::make_shared<SpectralStepper<T>>(std::move(model));
}

template std::shared_ptr<const Stepper<float>> spectral_stepper(
    std::shared_ptr<const SpectralModel>);
template std::shared_ptr<const Stepper<double>> spectral_stepper(
    std::shared_ptr<const SpectralModel>);

}  // namespace cycloid::inline fluid
