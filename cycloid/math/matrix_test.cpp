#include "cycloid/math/matrix.h"

#include <doctest/doctest.h>

#include "tests/support/pullback_check.h"

namespace cycloid {
namespace {

template <class S, int R, int C>
Mat<S, R, C> load_mat(const S* p) {
  Mat<S, R, C> m;
  for (int k = 0; k < R * C; ++k) m.e[k] = p[k];
  return m;
}
template <class S, int R, int C>
void store_mat(S* p, const Mat<S, R, C>& m) {
  for (int k = 0; k < R * C; ++k) p[k] = m.e[k];
}

}  // namespace

TEST_CASE("matrix: products, transposition and outer product by hand") {
  const Mat<double, 2, 3> a{{1, 2, 3, 4, 5, 6}};
  const Vec3<double> x{1, 0, -1};
  CHECK((a * x)[0] == -2);
  CHECK((a * x)[1] == -2);
  CHECK(transpose(a)(2, 1) == 6);
  const Mat<double, 2, 2> square = a * transpose(a);
  CHECK(square(0, 0) == 14);
  CHECK(square(0, 1) == 32);
  CHECK(square(1, 1) == 77);
  const Vec<double, 2> w{{1, -2}};
  CHECK(transpose_vector_product(a, w).y == 2 - 10);
  CHECK(outer(w, x)(1, 2) == 2);
  const Mat<double, 2, 2> i2 = identity_matrix<double, 2>();
  CHECK((square * i2 - square).e[3] == 0);
  CHECK((2 * i2 + i2).e[0] == 3);
}

TEST_CASE("matrix products: pullbacks equal dual numbers") {
  test::FixedNumbers random(5);
  test::check_pullback(
      "matrix_vector_product", 2,
      []<class S>(const S* in, S* out) { store(out, load_mat<S, 2, 3>(in) * load_vec3(in + 6)); },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        auto a_bar = load_mat<S, 2, 3>(in_bar);
        auto x_bar = load_vec3(in_bar + 6);
        matrix_vector_product_pullback(load_mat<S, 2, 3>(in), load_vec3(in + 6),
                                       load_vec<2>(out_bar), a_bar, x_bar);
        store_mat(in_bar, a_bar), store(in_bar + 6, x_bar);
      },
      {random.vector(9), random.vector(9), random.vector(9)});
  test::check_pullback(
      "matrix_product", 8,
      []<class S>(const S* in, S* out) {
        store_mat(out, load_mat<S, 2, 3>(in) * load_mat<S, 3, 4>(in + 6));
      },
      []<class S>(const S* in, const S* out_bar, S* in_bar) {
        auto a_bar = load_mat<S, 2, 3>(in_bar);
        auto b_bar = load_mat<S, 3, 4>(in_bar + 6);
        matrix_product_pullback(load_mat<S, 2, 3>(in), load_mat<S, 3, 4>(in + 6),
                                load_mat<S, 2, 4>(out_bar), a_bar, b_bar);
        store_mat(in_bar, a_bar), store_mat(in_bar + 6, b_bar);
      },
      {random.vector(18), random.vector(18), random.vector(18)});
}

}  // namespace cycloid
