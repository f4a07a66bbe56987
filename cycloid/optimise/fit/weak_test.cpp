#include "cycloid/optimise/fit/weak.h"

#include <doctest/doctest.h>

#include <cmath>

namespace cycloid::weak_test {

using Numbers = std::vector<double>;

// Rows of the Jacobian of functions of the values.
Weakness judged(const std::vector<Numbers>& rows, const Numbers& values,
                const std::vector<std::string>& names, bool positive = true) {
  Numbers R;
  for (const Numbers& row : rows) R.insert(R.end(), row.begin(), row.end());
  return find_weakness(
      {rows.size(), R, values, values, std::vector<bool>(values.size(), positive), names});
}

TEST_CASE("weak: a product of powers is said as one") {
  // m l² and g/l of m, l, g.
  const double m = 1.3, l = 0.7, g = 9.81;
  const Weakness two = judged({{100 * l * l, 200 * m * l, 0}, {0, -50 * g / (l * l), 50 / l}},
                              {m, l, g}, {"mass", "length", "gravity"});
  REQUIRE(two.sentences.size() == 1);
  CHECK(two.sentences[0] == "only mass × gravity² and length / gravity are determined");
  const Weakness one = judged({{100 * l * l, 200 * m * l}}, {m, l}, {"mass", "length"});
  REQUIRE(one.sentences.size() == 1);
  CHECK(one.sentences[0] == "only mass × length² is determined");
  CHECK_FALSE(one.determined[0]);
  CHECK(std::isinf(one.covariance[0]));
}

TEST_CASE("weak: a sum is said as one, and what stands apart stays determined") {
  const Weakness sum = judged({{3, 6, 0}, {0, 0, 4}}, {1.7, -0.4, 2}, {"a", "b", "c"}, false);
  REQUIRE(sum.sentences.size() == 1);
  CHECK(sum.sentences[0] == "only a + 2 b is determined");
  CHECK(sum.determined[2]);
  CHECK(sum.covariance[8] == doctest::Approx(1.0 / 16));
}

TEST_CASE("weak: what does not act and what is hardly determined") {
  const Weakness w = judged({{0, 5}, {0, 1}}, {2, 3}, {"idle", "firm"});
  REQUIRE(w.sentences.size() == 1);
  CHECK(w.sentences[0].find("idle does not act") == 0);
  CHECK_FALSE(w.acts[0]);
  CHECK(w.covariance[3] == doctest::Approx(1.0 / 26));
  const Weakness hardly = judged({{0.1, 0}, {0, 100}}, {2, 3}, {"soft", "firm"});
  REQUIRE(hardly.sentences.size() == 1);
  CHECK(hardly.sentences[0].find("soft is hardly determined") == 0);
  CHECK(hardly.determined[0]);
}

TEST_CASE("weak: the covariance is the inverse of the information") {
  const Weakness w = judged({{2, 1}, {0, 3}}, {5, 7}, {"a", "b"});
  // (RᵀR)⁻¹ of [[4, 2], [2, 10]]
  CHECK(w.covariance[0] == doctest::Approx(10.0 / 36));
  CHECK(w.covariance[1] == doctest::Approx(-2.0 / 36));
  CHECK(w.covariance[3] == doctest::Approx(4.0 / 36));
}

TEST_CASE("weak: ratios are whole, halves and thirds too, or none") {
  CHECK(whole_ratios(Numbers{1, 2, -1}) == std::vector<int>{1, 2, -1});
  CHECK(whole_ratios(Numbers{1, 0.5, 0}) == std::vector<int>{2, 1, 0});
  CHECK(whole_ratios(Numbers{0, -3, 2}) == std::vector<int>{0, 3, -2});
  CHECK(whole_ratios(Numbers{1, 0.61803}).empty());
  CHECK(product_text({"a", "b"}, {-1, 3}) == "b³ / a");
}

}  // namespace cycloid::weak_test
