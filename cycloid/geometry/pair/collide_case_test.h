// Drives a pair of shapes through the checks that every pair owes: MuJoCo's numbers, dual numbers
// at each feature, zeros where there is no contact, finite numbers at degenerate places.
//
// A pair under test is a struct with kTouches and two templates, collide(...) and pullback(...),
// that take the arguments of collide_X_Y and collide_X_Y_pullback. As a function of flat arrays:
//   in   margin, size 1, quaternion 1 (raw), position 1, size 2, quaternion 2, position 2     (21)
//   out  per place dist, pos, normal, tangent; zeros where the place is not used        (10 each)
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cycloid/geometry/contact_frame.h"
#include "cycloid/geometry/pair/mujoco_contacts_test.h"
#include "cycloid/math/pack.h"
#include "cycloid/math/quaternion.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test {

inline constexpr int kCollideInputs = 21;
inline constexpr int kTouchNumbers = 10;

// A geom as tests write it.
struct Placed {
  std::array<double, 3> size{};
  std::array<double, 4> quat{1, 0, 0, 0};
  std::array<double, 3> pos{};
};

inline Numbers scene(const Placed& a, const Placed& b, double margin = 0) {
  Numbers in{margin};
  for (const Placed* g : {&a, &b}) {
    in.insert(in.end(), g->size.begin(), g->size.end());
    in.insert(in.end(), g->quat.begin(), g->quat.end());
    in.insert(in.end(), g->pos.begin(), g->pos.end());
  }
  return in;
}

template <class S>
struct CollideInputs {
  S margin, size1[3], size2[3];
  Quat<S> quat1, quat2;
  Pose<S> pose1, pose2;

  explicit CollideInputs(const S* in) : margin(in[0]) {
    for (int i = 0; i < 3; ++i) size1[i] = in[1 + i], size2[i] = in[11 + i];
    quat1 = load_quat(in + 4), quat2 = load_quat(in + 14);
    pose1 = {to_matrix(normalise(quat1)), load_vec3(in + 8)};
    pose2 = {to_matrix(normalise(quat2)), load_vec3(in + 18)};
  }
};

template <class Pair, class S>
void collide_flat(const S* in, S* out, S* feature) {
  const CollideInputs<S> x(in);
  Touch<S> touch[Pair::kTouches];
  Pair::collide(x.size1, x.pose1, x.size2, x.pose2, x.margin, touch, feature);
  for (int k = 0; k < Pair::kTouches; ++k, out += kTouchNumbers) {
    const Mask<S> used = feature[k] >= S(0);
    const Vec3<S> zero{S(0), S(0), S(0)};
    out[0] = select(used, touch[k].dist, S(0));
    store(out + 1, select(used, touch[k].pos, zero));
    store(out + 4, select(used, touch[k].normal, zero));
    store(out + 7, select(used, touch[k].tangent, zero));
  }
}

template <class Pair, class S>
void collide_flat_pullback(const S* in, const S* out_bar, S* in_bar) {
  const CollideInputs<S> x(in);
  Touch<S> touch[Pair::kTouches];
  TouchBar<S> bar[Pair::kTouches];
  S feature[Pair::kTouches];
  Pair::collide(x.size1, x.pose1, x.size2, x.pose2, x.margin, touch, feature);
  for (int k = 0; k < Pair::kTouches; ++k, out_bar += kTouchNumbers) {
    bar[k] = {out_bar[0], load_vec3(out_bar + 1), load_vec3(out_bar + 4), load_vec3(out_bar + 7)};
  }
  PoseBar<S> bar1{}, bar2{};
  Pair::pullback(x.size1, x.pose1, x.size2, x.pose2, feature, bar, bar1, bar2, in_bar + 1,
                 in_bar + 11);
  const auto add = [](const Quat<S>& q, const Pose<S>& pose, const PoseBar<S>& b, S* at) {
    const Vec3<S> turn = transpose_vector_product(pose.R, b.torque);
    add_to(at, ambient_from_tangent_cotangent(q, turn));
    add_to(at + 4, b.force);
  };
  add(x.quat1, x.pose1, bar1, in_bar + 4);
  add(x.quat2, x.pose2, bar2, in_bar + 14);
}

template <class Pair>
bool check_collide_pullback(std::string_view name, const std::vector<Numbers>& points) {
  return check_pullback(
      name, Pair::kTouches * kTouchNumbers,
      [](const auto* in, auto* out) {
        std::remove_cvref_t<decltype(*in)> feature[Pair::kTouches];
        collide_flat<Pair>(in, out, feature);
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        collide_flat_pullback<Pair>(in, out_bar, in_bar);
      },
      points);
}

template <class Pair>
std::vector<double> features_at(const Numbers& in) {
  Numbers out(Pair::kTouches * kTouchNumbers), feature(Pair::kTouches);
  collide_flat<Pair>(in.data(), out.data(), feature.data());
  return feature;
}

// Random points, `each` of them for every one of `wanted` features (of any place). `aligned` moves
// a random point to where it belongs, for features that chance does not find.
template <class Pair>
std::vector<Numbers> points_of_features(const std::vector<int>& wanted, int each,
                                        const std::function<void(Numbers&)>& aligned = {}) {
  FixedNumbers random(17);
  std::map<int, int> found;
  std::vector<Numbers> points;
  for (int trial = 0; trial < 200000; ++trial) {
    Numbers in = random.vector(kCollideInputs);
    in[0] = 0.1;
    for (int i = 0; i < 3; ++i) {
      in[1 + i] = 0.4 * std::abs(in[1 + i]), in[11 + i] = 0.4 * std::abs(in[11 + i]);
      in[18 + i] = in[8 + i] + 0.8 * in[18 + i] * std::abs(random.next() * random.next());
    }
    if (aligned) aligned(in);
    bool useful = false;
    for (const double f : features_at<Pair>(in)) {
      for (const int w : wanted) useful = useful || (f == w && found[w] < each);
    }
    if (!useful) continue;
    for (const double f : features_at<Pair>(in)) ++found[static_cast<int>(f)];
    points.push_back(in);
  }
  for (const int w : wanted) {
    CHECK_MESSAGE(found[w] >= each, "feature ", w, " occurs ", found[w], " times");
  }
  return points;
}

// A cotangent that is NaN where `feature` says "no contact" does not arrive anywhere.
template <class Pair>
void check_no_contact_is_zero(const Numbers& in) {
  for (const double f : features_at<Pair>(in)) CHECK(f == kNoFeature);
  const Numbers bar(Pair::kTouches * kTouchNumbers, std::nan(""));
  Numbers in_bar(kCollideInputs, 0.0);
  collide_flat_pullback<Pair>(in.data(), bar.data(), in_bar.data());
  for (const double x : in_bar) CHECK(x == 0);
}

// In double, and in a pack of floats beside an ordinary point.
template <class Pair>
void check_finite(const std::vector<Numbers>& points, const Numbers& ordinary) {
  using F = Pack<float, 4>;
  constexpr int outputs = Pair::kTouches * kTouchNumbers;
  FixedNumbers random(3);
  for (std::size_t p = 0; p < points.size(); ++p) {
    const Numbers bar = random.vector(outputs);
    Numbers out(outputs), in_bar(kCollideInputs, 0.0), feature(Pair::kTouches);
    collide_flat<Pair>(points[p].data(), out.data(), feature.data());
    collide_flat_pullback<Pair>(points[p].data(), bar.data(), in_bar.data());
    CHECK_MESSAGE(std::isfinite(largest(out)), "value at degenerate point ", p);
    CHECK_MESSAGE(std::isfinite(largest(in_bar)), "pullback at degenerate point ", p);

    std::vector<F> in_lanes(kCollideInputs), out_lanes(outputs), features(Pair::kTouches);
    std::vector<F> bar_lanes(outputs), in_bar_lanes(kCollideInputs, F(0));
    for (int i = 0; i < kCollideInputs; ++i) {
      const auto k = static_cast<std::size_t>(i);
      for (int l = 0; l < 4; ++l) {
        set_lane(in_lanes[k], l, static_cast<float>(l % 2 == 0 ? points[p][k] : ordinary[k]));
      }
    }
    for (std::size_t i = 0; i < bar.size(); ++i) bar_lanes[i] = F(static_cast<float>(bar[i]));
    collide_flat<Pair>(in_lanes.data(), out_lanes.data(), features.data());
    collide_flat_pullback<Pair>(in_lanes.data(), bar_lanes.data(), in_bar_lanes.data());
    for (const F& x : out_lanes) CHECK_MESSAGE(all(is_finite(x)), "value in float, point ", p);
    for (const F& x : in_bar_lanes) CHECK_MESSAGE(all(is_finite(x)), "pullback in float, ", p);
  }
}

// MuJoCo's contacts: their number, and each one's dist, pos, normal and first tangent. The numbers
// are of order one and printed to 15 digits; both sides round a few dozen times.
template <class Pair>
void check_mujoco_contacts(std::span<const double> table) {
  constexpr double kTolerance = 1e-13;
  std::size_t at = 0;
  int rows = 0, contacts = 0;
  while (at < table.size()) {
    const Numbers in(table.begin() + at, table.begin() + at + kCollideInputs);
    const int expected = static_cast<int>(table[at + kCollideInputs]);
    at += kCollideInputs + 1;
    Numbers out(Pair::kTouches * kTouchNumbers), feature(Pair::kTouches);
    collide_flat<Pair>(in.data(), out.data(), feature.data());
    int count = 0;
    double error = 0;
    for (std::size_t k = 0; k < feature.size(); ++k) {
      if (feature[k] < 0) continue;
      if (count++ >= expected) continue;
      const double* touch = out.data() + k * kTouchNumbers;
      const Vec3<double> t1 = contact_frame(load_vec3(touch + 4), load_vec3(touch + 7)).t1;
      Numbers actual(touch, touch + 7);
      actual.insert(actual.end(), {t1.x, t1.y, t1.z});
      for (std::size_t i = 0; i < actual.size(); ++i, ++at) {
        error = std::max(error, std::abs(actual[i] - table[at]));
      }
    }
    CHECK_MESSAGE(count == expected, "row ", rows, ": ", count, " contacts, MuJoCo has ", expected);
    CHECK_MESSAGE(error < kTolerance, "row ", rows, ": off by ", error);
    if (count < expected) at += static_cast<std::size_t>((expected - count) * kTouchNumbers);
    contacts += expected;
    ++rows;
  }
  CHECK(at == table.size());
  CHECK(rows >= 20);
  CHECK(contacts >= rows / 2);
}

}  // namespace cycloid::test
