#include "cycloid/system/law/any_law.h"

#include "cycloid/system/laws/pendulum.h"
#include "cycloid/system/laws/spring_chain.h"
#include "tests/support/law_steps.h"
#include "tests/support/test_laws.h"

namespace cycloid::any_law_test {

using test::Numbers;

// x_dot, its pullback and its Jacobian by way of AnyLaw equal those of the law itself, bit for bit.
template <class Law>
void check_same(const Law& law, const Numbers& x, const Numbers& u, const Numbers& p) {
  const LawShape<Law> shape(law);
  const AnyLaw<double> any(law);
  const LawShape<AnyLaw<double>> any_shape(any);
  CHECK(any_shape.states == shape.states);
  CHECK(any_shape.inputs == shape.inputs);
  CHECK(any_shape.parameters == shape.parameters);
  const std::size_t n = x.size();
  const auto all = [&](const auto& of, const auto& of_shape) {
    Numbers scratch(100), dx(n), J(n * n), bar = test::FixedNumbers(7).vector(n), saved(8),
                                           grad(n + u.size() + p.size() + 1, 0.0);
    const LawPoint<std::remove_cvref_t<decltype(of)>, double> at{
        of, of_shape, 0.3, 0.0, u.data(), p.data(), {reinterpret_cast<std::byte*>(scratch.data())}};
    law_x_dot(at, 0.3, x.data(), dx.data(), saved.data());
    law_jacobian(at, 0.3, x.data(), J.data());
    pull_law_back(at, 0.3, x.data(), bar.data(), grad[0], &grad[1], grad.data() + 1 + n,
                  grad.data() + 1 + n + u.size(), at.scratch);
    for (const Numbers& part : {J, grad}) dx.insert(dx.end(), part.begin(), part.end());
    return dx;
  };
  const Numbers direct = all(law, shape), by_table = all(any, any_shape);
  CHECK(direct == by_table);
  CHECK(test::largest(direct) > 0);

  // The Jacobian against the pullback's rows, which are tested elsewhere.
  Numbers row(n, 0.0), unit(n, 0.0), u_bar(u.size() + 1), p_bar(p.size() + 1), scratch(100);
  double t_bar = 0;
  unit[n - 1] = 1;
  const LawPoint<Law, double> at{
      law, shape, 0.3, 0.0, u.data(), p.data(), {reinterpret_cast<std::byte*>(scratch.data())}};
  pull_law_back(at, 0.3, x.data(), unit.data(), t_bar, row.data(), u_bar.data(), p_bar.data(),
                at.scratch);
  CHECK(test::relative_error(row, std::span(direct).subspan(n * n, n)) < 1e-14);
}

TEST_CASE("AnyLaw: evaluates, pulls back and linearises as the law does, of fixed size or not") {
  check_same(Pendulum{}, {0.4, -1.1}, {0.3}, {0.7, 1.3, 0.4, 9.81});
  check_same(test::DrivenOscillator{}, {0.4, -1.1}, {0.3}, {4.0, 0.3, 1.5, 1.3});
  check_same(SpringChain{3}, {1, 0.2, -0.4, 0.1, 0.5, -1}, {0.1, 0.2, 0.3}, {0.7, 5.0, 0.2});
}

TEST_CASE("AnyLaw::x_dot: pullback equals dual numbers") {
  // Points are [t, x, u, p].
  const Pendulum law;
  const auto f = [&]<class S>(const S* in, S* out) {
    AnyLaw<S>(law).x_dot(in[0], in + 1, in + 3, in + 4, out);
  };
  const auto f_pullback = [&]<class S>(const S* in, const S* out_bar, S* in_bar) {
    AnyLaw<S>(law).x_dot_pullback(in[0], in + 1, in + 3, in + 4, out_bar, in_bar[0], in_bar + 1,
                                  in_bar + 3, in_bar + 4);
  };
  test::check_pullback(
      "AnyLaw::x_dot", 2, f, f_pullback,
      {{0.0, 0.4, -1.1, 0.3, 0.7, 1.3, 0.4, 9.81}, {0.0, 3.0, 2.0, 0.0, 1.0, 0.5, 0.0, 9.81}});
}

}  // namespace cycloid::any_law_test
