#include "cycloid/system/law/term_law.h"

#include "cycloid/system/laws/pendulum.h"
#include "tests/support/law_steps.h"

namespace cycloid::term_law_test {

using test::Numbers;

// y_i = c_i x₀² + x₁ u
template <class S>
S bend(const S* x, const S* u, int i) {
  return S(0.5 + i) * x[0] * x[0] + x[1] * u[0];
}

// ... in lanes, with a count of the ways back in which parameters were wanted.
template <class S>
class Bend final : public Feedback<Scalar<S>> {
 public:
  using T = Scalar<S>;
  explicit Bend(int outputs) : outputs_(outputs) {}
  struct Count final : StepWorkspace {
    int wanted = 0;
  };
  std::unique_ptr<StepWorkspace> make_workspace() const override {
    return std::make_unique<Count>();
  }
  void begin(const StepParameters<T>&, StepWorkspace&) const override {}
  void input(const FeedbackPoint<T>& at, T* y, StepWorkspace&) const override {
    for (int i = 0; i < outputs_; ++i) {
      reinterpret_cast<S*>(y)[i] =
          bend(reinterpret_cast<const S*>(at.x), reinterpret_cast<const S*>(at.v), i);
    }
  }
  void pullback(const FeedbackPoint<T>& at, const T* y_bar, bool wants_parameters, T* x_bar,
                T* v_bar, StepWorkspace& workspace) const override {
    static_cast<Count&>(workspace).wanted += wants_parameters;
    const S *x = reinterpret_cast<const S*>(at.x), *u = reinterpret_cast<const S*>(at.v),
            *bar = reinterpret_cast<const S*>(y_bar);
    for (int i = 0; i < outputs_; ++i) {
      reinterpret_cast<S*>(x_bar)[0] += S(2 * (0.5 + i)) * x[0] * bar[i];
      reinterpret_cast<S*>(x_bar)[1] += u[0] * bar[i];
      reinterpret_cast<S*>(v_bar)[0] += x[1] * bar[i];
    }
  }
  void finish(StepWorkspace&, double*) const override {}

 private:
  int outputs_;
};

// A TermLaw in the middle of a call.
template <class S>
struct Called {
  using T = Scalar<S>;
  explicit Called(TermPlace place)
      : outputs(place == TermPlace::rate ? 2 : 1),
        term(std::make_shared<Bend<S>>(outputs)),
        law(Pendulum{}, term, place),
        workspace(term->make_workspace()),
        call{workspace.get(), reinterpret_cast<T*>(memory), reinterpret_cast<T*>(memory + 2),
             reinterpret_cast<T*>(memory + 4), true} {
    TermLaw<S>::call() = &call;
  }
  ~Called() { TermLaw<S>::call() = nullptr; }
  int wanted() const { return static_cast<typename Bend<S>::Count&>(*workspace).wanted; }

  int outputs;
  std::shared_ptr<const Bend<S>> term;
  TermLaw<S> law;
  std::unique_ptr<StepWorkspace> workspace;
  S memory[6];
  TermCall<T> call;
};

// The law by its formula; in: [t, x, u, p].
template <class S>
void plain(TermPlace place, const S* in, S* dx) {
  const AnyLaw<S> base{Pendulum{}};
  S u = in[3];
  if (place == TermPlace::force) u = u + bend(in + 1, in + 3, 0);
  base.x_dot(in[0], in + 1, &u, in + 4, dx);
  if (place == TermPlace::rate) {
    for (int i = 0; i < 2; ++i) dx[i] += bend(in + 1, in + 3, i);
  }
  if (place == TermPlace::acceleration) dx[1] += bend(in + 1, in + 3, 0);
}

TEST_CASE("TermLaw::x_dot: adds where it says; its pullback equals dual numbers of the formula") {
  for (const TermPlace place : {TermPlace::rate, TermPlace::acceleration, TermPlace::force}) {
    const auto f = [&](const auto* in, auto* out) { plain(place, in, out); };
    const auto f_pullback = [&](const auto* in, const auto* bar, auto* in_bar) {
      using S = std::remove_cvref_t<decltype(*in)>;
      const Called<S> c(place);
      c.law.x_dot_pullback(in[0], in + 1, in + 3, in + 4, bar, in_bar[0], in_bar + 1, in_bar + 3,
                           in_bar + 4);
    };
    const std::vector<Numbers> points = {{0.1, 0.4, -1.1, 0.3, 0.7, 1.3, 0.4, 9.81},
                                         {0.0, -2.0, 0.6, -0.8, 1.2, 0.9, 0.1, 3.7}};
    test::check_pullback("TermLaw::x_dot", 2, f, f_pullback, points);
    const Called<double> c(place);
    Numbers dx(2), expected(2), J(4), scratch(40);
    c.law.x_dot(points[0][0], &points[0][1], &points[0][3], &points[0][4], dx.data());
    plain(place, points[0].data(), expected.data());
    CHECK(test::relative_error(dx, expected) < 1e-14);

    c.law.x_dot_jacobian(points[0][0], &points[0][1], &points[0][3], &points[0][4], J.data(),
                         Scratch{reinterpret_cast<std::byte*>(scratch.data())});
    CHECK(c.wanted() == 0);  // a Jacobian adds nothing to cotangents of parameters
    CHECK(c.call.wants_parameters);
    for (std::size_t i = 0; i < 2; ++i) {
      Numbers unit(2, 0.0), in_bar(8, 0.0);
      unit[i] = 1;
      f_pullback(points[0].data(), unit.data(), in_bar.data());
      for (std::size_t j = 0; j < 2; ++j) CHECK(J[2 * i + j] == doctest::Approx(in_bar[1 + j]));
    }
  }
}

}  // namespace cycloid::term_law_test
