#include "cycloid/couple/mass_feedback.h"

#include <algorithm>

#include "cycloid/base/error.h"
#include "cycloid/couple/lane_array.h"
#include "cycloid/rigid/sense/robot_observables.h"
#include "cycloid/rigid/tree/mass_force.h"

namespace cycloid::inline couple {
namespace {

using Tangent = Dual<double, 1>;

// S: double, or a number with its tangent in lanes of W values and W tangents.
template <class T, class S>
class MassFeedback final : public Feedback<T> {
 public:
  MassFeedback(std::shared_ptr<const Feedback<T>> inner, const ObserverKey& key, int open,
               int lanes)
      : inner_(std::move(inner)),
        key_(key),
        open_(open),
        lanes_(lanes),
        W_(std::is_same_v<S, double> ? lanes : lanes / 2) {}

  std::unique_ptr<StepWorkspace> make_workspace() const override {
    return std::make_unique<Workspace>(*this);
  }
  void begin(const StepParameters<T>& p, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    inner_->begin(p, *w.inner);
    for (int l = 0; l < W_; ++l) {
      S* const own_p = w.p.data() + l * parameters();
      for (int i = 0; i < parameters(); ++i) own_p[i] = get(p.lanes, i, l);
      prepare_parameters(tree(), own_p, w.length.data() + l * quaternions());
    }
    std::fill(w.p_bar.begin(), w.p_bar.end(), S(0));
  }
  void input(const FeedbackPoint<T>& at, T* f, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    inner_->input(at, w.y.data(), *w.inner);
    for (int l = 0; l < W_; ++l) {
      place(at, l, w);
      for (int k = 0; k < nv(); ++k) w.own_y[index(k)] = get(w.y.data(), k, l);
      mass_force(robot(l, w), w.work, static_cast<const S*>(w.own_y.data()),
                 w.force.data());  // (1)
      for (int k = 0; k < nv(); ++k) put(w.force[index(k)], k, l, f);
    }
  }
  void pullback(const FeedbackPoint<T>& at, const T* f_bar, bool wants_parameters, T* x_bar,
                T* v_bar, StepWorkspace& workspace) const override {
    Workspace& w = own(workspace);
    inner_->input(at, w.y.data(), *w.inner);
    w.y_bar.clear();
    for (int l = 0; l < W_; ++l) {
      place(at, l, w);
      for (int k = 0; k < nv(); ++k) {
        w.own_y[index(k)] = get(w.y.data(), k, l);
        w.force[index(k)] = get(f_bar, k, l);
      }
      for (std::vector<S>* bar : {&w.own_bar, &w.d_bar, &w.u_bar}) {
        std::fill(bar->begin(), bar->end(), S(0));
      }
      S h_bar(0);
      S* const d = w.d_bar.data();
      const InstantBars<S> bars{d,
                                d + nv(),
                                d + 2 * nv(),
                                w.u_bar.data(),
                                wants_parameters ? w.p_bar.data() + l * parameters() : nullptr,
                                h_bar};
      mass_force_pullback(robot(l, w), w.instant(*this), w.work,
                          static_cast<const S*>(w.own_y.data()),
                          static_cast<const S*>(w.force.data()), w.own_bar.data(), bars);
      for (int k = 0; k < nv(); ++k) put(w.own_bar[index(k)], k, l, w.y_bar.data());
      for (int k = 0; k < tangents(); ++k) add(w.d_bar[index(k)], k, l, x_bar);
      for (int k = 0; k < open_; ++k) add(w.u_bar[index(k)], k, l, v_bar);
    }
    inner_->pullback(at, w.y_bar.data(), wants_parameters, x_bar, v_bar, *w.inner);
  }
  void finish(StepWorkspace& workspace, double* p_bar) const override {
    Workspace& w = own(workspace);
    inner_->finish(*w.inner, p_bar);
    for (int l = 0; l < W_; ++l) {
      S* const bar = w.p_bar.data() + l * parameters();
      const S *const p = w.p.data() + l * parameters(),
                     *length = w.length.data() + l * quaternions();
      std::vector<S> whole(bar, bar + parameters());
      for (const int q : tree().quaternions) {  // three tangent numbers become four
        const S* const quat = p + q;
        store(whole.data() + q,
              ambient_from_tangent_cotangent(load_quat(quat), load_vec3(bar + q)) *
                  (S(1) / *length++));
      }
      for (int i = 0; i < parameters(); ++i) add(whole[index(i)], i, l, p_bar);
    }
  }

 private:
  struct Workspace final : StepWorkspace {
    explicit Workspace(const MassFeedback& of)
        : inner(of.inner_->make_workspace()),
          memory(carve_memory(work, of.tree())),
          p(index(of.W_ * of.parameters())),
          length(index(of.W_ * of.quaternions() + 1)),
          p_bar(p.size()),
          x(index(of.states())),
          u(index(of.key_.input_size)),
          u_bar(u.size()),
          own_y(index(of.nv())),
          own_bar(own_y),
          force(own_y),
          d_bar(index(of.tangents())),
          y(index(of.nv() * of.lanes_)),
          y_bar(index(of.nv() * of.lanes_)) {}
    Instant<S> instant(const MassFeedback& of) const {
      const ModelView& m = of.tree().model;
      return {x.data(), x.data() + m.nq, x.data() + m.nq + m.nv, u.data()};
    }
    std::unique_ptr<StepWorkspace> inner;
    rigid::Workspace<S> work;
    Arena memory;
    std::vector<S> p, length, p_bar;  // of each lane, one behind the other
    std::vector<S> x, u, u_bar, own_y, own_bar, force, d_bar;
    LaneArray<T> y, y_bar;
  };
  static Workspace& own(StepWorkspace& w) { return static_cast<Workspace&>(w); }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  const Tree& tree() const { return *key_.tree; }
  int nv() const { return tree().model.nv; }
  int states() const { return tree().model.nq + nv() + tree().model.na; }
  int tangents() const { return 2 * nv() + tree().model.na; }
  int parameters() const { return tree().parameters.lane_size(); }
  int quaternions() const { return static_cast<int>(tree().quaternions.size()); }

  Robot<S, S> robot(int l, const Workspace& w) const {
    return {tree(), key_.inputs, w.p.data() + l * parameters(), Implicit::nothing};
  }
  void place(const FeedbackPoint<T>& at, int l, Workspace& w) const {
    for (int i = 0; i < states(); ++i) w.x[index(i)] = get(at.x, i, l);
    for (int i = 0; i < open_; ++i) w.u[index(i)] = get(at.v, i, l);
    place_bodies(robot(l, w), w.instant(*this), w.work);
  }

  // Number i of lane l.
  template <class Number>
  S get(const Number* from, int i, int l) const {
    S out(static_cast<double>(from[i * lanes_ + l]));
    if constexpr (!std::is_same_v<S, double>) {
      out.tangent[0] = static_cast<double>(from[i * lanes_ + W_ + l]);
    }
    return out;
  }
  template <class Number>
  void add(const S& from, int i, int l, Number* to) const {
    if constexpr (std::is_same_v<S, double>) {
      to[i * lanes_ + l] += static_cast<Number>(from);
    } else {
      to[i * lanes_ + l] += static_cast<Number>(from.value);
      to[i * lanes_ + W_ + l] += static_cast<Number>(from.tangent[0]);
    }
  }
  template <class Number>
  void put(const S& from, int i, int l, Number* to) const {
    to[i * lanes_ + l] = Number(0);
    if (W_ < lanes_) to[i * lanes_ + W_ + l] = Number(0);
    add(from, i, l, to);
  }

  std::shared_ptr<const Feedback<T>> inner_;
  ObserverKey key_;
  int open_, lanes_, W_;
};

class MassLaw final : public FeedbackLaw {
 public:
  MassLaw(std::shared_ptr<const FeedbackLaw> law, const ObserverKey& key, int open)
      : law_(std::move(law)), key_(key), open_(open) {}
  int numbers() const override { return law_->numbers(); }
  std::vector<std::int64_t> arrays() const override { return law_->arrays(); }
  std::shared_ptr<const Feedback<float>> float32(int lanes, bool dual) const override {
    auto inner = law_->float32(lanes, dual);
    if (!inner || dual) return nullptr;
    return std::make_shared<MassFeedback<float, double>>(std::move(inner), key_, open_, lanes);
  }
  std::shared_ptr<const Feedback<double>> float64(int lanes, bool dual) const override {
    auto inner = law_->float64(lanes, dual);
    if (!inner) return nullptr;
    if (dual) {
      return std::make_shared<MassFeedback<double, Tangent>>(std::move(inner), key_, open_, lanes);
    }
    return std::make_shared<MassFeedback<double, double>>(std::move(inner), key_, open_, lanes);
  }

 private:
  std::shared_ptr<const FeedbackLaw> law_;
  ObserverKey key_;
  int open_;
};

}  // namespace

std::shared_ptr<const FeedbackLaw> mass_feedback(std::shared_ptr<const FeedbackLaw> law,
                                                 const System& robot, int open) {
  const auto* const shown = dynamic_cast<const RobotObservables*>(robot.observables());
  if (!shown) throw ModelError(message("system \"", robot.name(), "\" is no robot"));
  return std::make_shared<MassLaw>(std::move(law), shown->key(), open);
}

}  // namespace cycloid::inline couple
