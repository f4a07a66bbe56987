#include "cycloid/rigid/contact/narrow_phase.h"

#include <cstring>

#include "cycloid/geometry/pair/collide_case_test.h"

namespace cycloid::narrow_phase_test {

using test::Numbers;

struct Kinds {
  GeomKind first, second;
};

// Every pair that there is without a mesh or height field (solid_shape_test.cpp).
std::vector<Kinds> all_kinds() {
  std::vector<Kinds> all;
  for (int i = 0; i < kGeomKinds; ++i) {
    for (int j = std::max(i, 1); j < kGeomKinds; ++j) {
      const Kinds k{static_cast<GeomKind>(i), static_cast<GeomKind>(j)};
      if (!is_solid(k.first) && !is_solid(k.second)) all.push_back(k);
    }
  }
  return all;
}

int all_touches() {
  int n = 0;
  for (const Kinds& k : all_kinds()) n += most_touches(k.first, k.second);
  return n;
}

// Two geoms of the same sizes and poses, of all kinds in turn.
template <class S>
struct Touches {
  test::CollideInputs<S> at;
  Touch<S> touch[kBoxBoxTouches];
  S feature[kBoxBoxTouches];

  explicit Touches(const S* in) : at(in) {}
  void find(const Kinds& k) {
    for (S& f : feature) f = S(kNoFeature);
    collide(k.first, k.second, at.size1, at.pose1, at.size2, at.pose2, at.margin, touch, feature);
  }
};

std::vector<Numbers> overlapping() {
  test::FixedNumbers random(41);
  std::vector<Numbers> points;
  for (int k = 0; k < 8; ++k) {
    Numbers in = random.vector(test::kCollideInputs);
    in[0] = 0.05;
    for (std::size_t i = 0; i < 3; ++i) {
      in[1 + i] = 0.2 + 0.15 * std::abs(in[1 + i]), in[11 + i] = 0.2 + 0.15 * std::abs(in[11 + i]);
      in[18 + i] = in[8 + i] + 0.35 * in[18 + i];
    }
    points.push_back(in);
  }
  return points;
}

TEST_CASE("collide: pullback equals dual numbers for all pairs of kinds") {
  test::check_pullback(
      "collide", all_touches() * test::kTouchNumbers,
      [](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*in)>;
        Touches<S> t(in);
        for (const Kinds& k : all_kinds()) {
          t.find(k);
          for (int i = 0; i < most_touches(k.first, k.second); ++i, out += test::kTouchNumbers) {
            const S used = select(t.feature[i] >= S(0), S(1), S(0));
            out[0] = t.touch[i].dist * used;
            store(out + 1, t.touch[i].pos * used);
            store(out + 4, t.touch[i].normal * used);
            store(out + 7, t.touch[i].tangent * used);
          }
        }
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        Touches<S> t(in);
        PoseBar<S> x1_bar{}, x2_bar{};
        for (const Kinds& k : all_kinds()) {
          t.find(k);
          TouchBar<S> bar[kBoxBoxTouches];
          for (int i = 0; i < most_touches(k.first, k.second);
               ++i, out_bar += test::kTouchNumbers) {
            bar[i] = {out_bar[0], load_vec3(out_bar + 1), load_vec3(out_bar + 4),
                      load_vec3(out_bar + 7)};
          }
          collide_pullback(k.first, k.second, t.at.size1, t.at.pose1, t.at.size2, t.at.pose2,
                           static_cast<const S*>(t.feature), static_cast<const Touch<S>*>(t.touch),
                           static_cast<const TouchBar<S>*>(bar), x1_bar, x2_bar, in_bar + 1,
                           in_bar + 11);
        }
        const auto add = [](const Quat<S>& q, const Pose<S>& x, const PoseBar<S>& b, S* to) {
          add_to(to, ambient_from_tangent_cotangent(q, transpose_vector_product(x.R, b.torque)));
          add_to(to + 4, b.force);
        };
        add(t.at.quat1, t.at.pose1, x1_bar, in_bar + 4);
        add(t.at.quat2, t.at.pose2, x2_bar, in_bar + 14);
      },
      overlapping());
}

TEST_CASE("collide_again: the same touches from their features, bit for bit") {
  using F = Pack<float, 8>;
  const std::vector<Numbers> points = overlapping();
  std::vector<F> in(test::kCollideInputs);
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (int l = 0; l < 8; ++l) set_lane(in[i], l, float(points[static_cast<std::size_t>(l)][i]));
  }
  Touches<F> t(in.data());
  int searched = 0;
  for (const Kinds& k : all_kinds()) {
    t.find(k);
    Touch<F> again[kBoxBoxTouches];
    collide_again(k.first, k.second, t.at.size1, t.at.pose1, t.at.size2, t.at.pose2, t.at.margin,
                  static_cast<const F*>(t.feature), again);
    for (int i = 0; i < most_touches(k.first, k.second); ++i) {
      searched += is_searched(k.first, k.second) && any(t.feature[i] >= F(0));
      CHECK(std::memcmp(&again[i], &t.touch[i], sizeof again[i]) == 0);
    }
  }
  CHECK(searched >= 10);
}

}  // namespace cycloid::narrow_phase_test
