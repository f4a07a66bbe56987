// Points for pairs that branch heavily: random placements, and placements at right angles or nearly
// so, in which faces and edges lie along each other; sorted by what meets there.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "cycloid/geometry/pair/by_lane.h"
#include "cycloid/geometry/pair/collide_case_test.h"
#include "cycloid/geometry/pair/mujoco_branching_contacts_test.h"

namespace cycloid::test {

// A placement of two geoms of half a metre or so that overlap, touch or nearly touch. `turned`: 0
// any orientation, 1 right angles to each other, 2 within a few degrees of that.
inline Numbers random_placement(FixedNumbers& random, int turned, double reach) {
  Numbers in = random.vector(kCollideInputs);
  in[0] = 0.05;
  for (int i = 0; i < 3; ++i) {
    in[1 + i] = 0.5 * std::abs(in[1 + i]), in[11 + i] = 0.5 * std::abs(in[11 + i]);
    in[18 + i] = in[8 + i] + reach * in[18 + i] * std::abs(random.next() * random.next());
  }
  if (turned == 0) return in;
  // Quaternion 2 is quaternion 1 times a turn by right angles, and a little more.
  const double h = random.next() > 0 ? 1 : 0, k = random.next() > 0 ? 1 : 0;
  const Quat<double> right{1, h, k, 0};
  const double little = turned == 1 ? 0 : 0.03;
  const Quat<double> more{1, little * random.next(), little * random.next(),
                          little * random.next()};
  const Quat<double> q = load_quat(in.data() + 4) * right * more;
  store(in.data() + 14, q);
  return in;
}

// The same as a pair of geoms.
inline GeomPair<double> pair_of(const Numbers& in) {
  const CollideInputs<double> x(in.data());
  return {x.pose1, load_vec3(x.size1), x.pose2, load_vec3(x.size2)};
}
inline Pose<double> pose_at(double x, double y = 0, double z = 0) {
  return {identity_matrix<double, 3>(), {x, y, z}};
}

// `each` points of every kind that `kind_of` tells from the features of a place; at least `kinds`.
template <class Pair>
std::vector<Numbers> points_of_kinds(const std::function<int(int)>& kind_of, int each, int kinds,
                                     int trials = 20000) {
  FixedNumbers random(41);
  std::map<int, int> found;
  std::vector<Numbers> points;
  for (int trial = 0; trial < trials; ++trial) {
    const Numbers in = random_placement(random, trial % 3, 0.5 + 0.5 * (trial % 4));
    bool useful = false;
    const std::vector<double> features = features_at<Pair>(in);
    for (const double f : features) {
      useful = useful || (f >= 0 && found[kind_of(static_cast<int>(f))] < each);
    }
    if (!useful) continue;
    for (const double f : features) {
      if (f >= 0) ++found[kind_of(static_cast<int>(f))];
    }
    points.push_back(in);
  }
  CHECK_MESSAGE(static_cast<int>(found.size()) >= kinds, "kinds met: ", found.size());
  return points;
}

// Placements that no code should fail at: coincident, aligned, flat, without size, far off, huge.
inline std::vector<Numbers> hard_placements() {
  const Numbers sizes{0.3, 0.2, 0.4};
  std::vector<Numbers> points;
  for (const double scale : {1.0, 1e-3, 1e3}) {
    for (const double dx : {0.0, 1e-12, 0.2, 0.6}) {
      for (const double dz : {0.0, 0.4, 0.6, 0.8}) {
        for (int turn = 0; turn < 3; ++turn) {
          Numbers in(kCollideInputs, 0.0);
          in[0] = 0.01 * scale;
          in[4] = 1, in[14] = 1, in[14 + turn] += turn == 0 ? 0 : 1;
          for (std::size_t i = 0; i < 3; ++i) in[1 + i] = in[11 + i] = scale * sizes[i];
          in[18] = scale * dx, in[20] = scale * dz;
          points.push_back(in);
        }
      }
    }
  }
  Numbers flat = points[0];
  for (std::size_t i = 0; i < 3; ++i) flat[1 + i] = 0;
  points.push_back(flat);
  for (std::size_t i = 0; i < 3; ++i) flat[11 + i] = 0;
  points.push_back(flat);
  return points;
}

// MuJoCo's number of contacts, and their distances in increasing order. Its own answers move by
// more than kTolerance with its tolerance.
template <class Pair>
void check_mujoco_distances(std::span<const double> table) {
  constexpr double kTolerance = 1e-6;
  std::size_t at = 0;
  int rows = 0;
  while (at < table.size()) {
    const Numbers in(table.begin() + at, table.begin() + at + kCollideInputs);
    const auto expected = static_cast<std::size_t>(table[at + kCollideInputs]);
    at += kCollideInputs + 1;
    Numbers out(Pair::kTouches * kTouchNumbers), feature(Pair::kTouches), dists;
    collide_flat<Pair>(in.data(), out.data(), feature.data());
    for (std::size_t k = 0; k < feature.size(); ++k) {
      if (feature[k] >= 0) dists.push_back(out[k * kTouchNumbers]);
    }
    std::sort(dists.begin(), dists.end());
    CHECK_MESSAGE(dists.size() == expected, "row ", rows, ": ", dists.size(),
                  " contacts, MuJoCo has ", expected);
    for (std::size_t k = 0; k < dists.size() && k < expected; ++k) {
      CHECK_MESSAGE(std::abs(dists[k] - table[at + k]) < kTolerance, "row ", rows, ": dist ",
                    dists[k], ", MuJoCo has ", table[at + k]);
    }
    at += expected;
    ++rows;
  }
  CHECK(at == table.size());
  CHECK(rows >= 30);
}

// The pullback against central differences of the whole, search included, along a random direction;
// at points on both sides of which the same features meet. Extrapolated from steps of 2h and h, so
// that errors are those of rounding, 1e-10, and of fifth derivatives, which are large where the
// curvature of what overlaps nearly equals the overlap.
template <class Pair>
void check_differences(int least) {
  constexpr double h = 2e-6, kTolerance = 2e-6;
  constexpr int outputs = Pair::kTouches * kTouchNumbers;
  FixedNumbers random(23);
  int compared = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const Numbers in = random_placement(random, trial % 3, 0.7);
    Numbers direction = random.vector(kCollideInputs), bar = random.vector(outputs);
    direction[0] = 0;
    const std::vector<double> features = features_at<Pair>(in);
    bool same = features[0] >= 0;
    const auto value = [&](double step) {
      Numbers moved = in, out(outputs), feature(Pair::kTouches);
      for (std::size_t i = 0; i < in.size(); ++i) moved[i] += step * direction[i];
      collide_flat<Pair>(moved.data(), out.data(), feature.data());
      same = same && feature == features;
      return dot(out, bar);
    };
    const double near = (value(h) - value(-h)) / (2 * h);
    const double wide = (value(2 * h) - value(-2 * h)) / (4 * h);
    if (!same) continue;
    const double differences = (4 * near - wide) / 3;
    Numbers in_bar(kCollideInputs, 0.0);
    collide_flat_pullback<Pair>(in.data(), bar.data(), in_bar.data());
    const double exact = dot(in_bar, direction);
    CHECK_MESSAGE(std::abs(differences - exact) < kTolerance * std::max(1.0, largest(in_bar)),
                  "trial ", trial, ": differences ", differences, ", pullback ", exact);
    ++compared;
  }
  CHECK(compared >= least);
}

}  // namespace cycloid::test
