// Hulls for tests, and how a pair with a mesh is held to dual numbers.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "cycloid/geometry/convex/field_pair.h"
#include "cycloid/geometry/convex/plane_mesh.h"
#include "cycloid/math/quaternion.h"
#include "tests/support/operator_coverage.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test {

// A hull with points of its own.
struct TestHull {
  HullTable table;
  std::vector<double> points, tangents;
  Hull hull;

  TestHull(const HullParts& parts, std::vector<double> at) : points(std::move(at)) {
    table = make_hull(parts);
    tangents.assign(points.size(), 0.0);
    set();
  }
  TestHull(const TestHull&) = delete;
  void set() {
    hull = {&table, nullptr, points.data(), tangents.data(), 0};
    for (std::size_t i = 0; i < points.size(); i += 3) {
      const double square =
          points[i] * points[i] + points[i + 1] * points[i + 1] + points[i + 2] * points[i + 2];
      hull.radius = std::max(hull.radius, std::sqrt(square));
    }
  }
};

// A prism over a regular polygon of n corners, with the seeds of climbing where it is large.
inline HullParts prism_parts(int n) {
  HullParts parts;
  parts.polygons.first = {0};
  const auto polygon = [&](const std::vector<int>& corners) {
    for (const int c : corners) parts.polygons.member.push_back(c);
    parts.polygons.first.push_back(static_cast<int>(parts.polygons.member.size()));
  };
  std::vector<int> low, high;
  for (int i = 0; i < n; ++i) low.push_back(n - 1 - i), high.push_back(n + i);
  for (int i = 0; i < 2 * n; ++i) parts.corners.push_back(i);
  for (int i = 0; i < n; ++i) {
    const int j = (i + 1) % n;
    for (const int c : {i, j, n + j, i, n + j, n + i}) parts.triangles.push_back(c);
    polygon({i, j, n + j, n + i});
    if (i > 0 && j > 0) {
      for (const int c : {0, j, i, n, n + i, n + j}) parts.triangles.push_back(c);
    }
  }
  polygon(low), polygon(high);
  parts.seed.assign(kSeeds, 0);
  return parts;
}
inline std::vector<double> prism_points(int n, double radius, double half) {
  std::vector<double> p;
  for (int level = 0; level < 2; ++level) {
    for (int i = 0; i < n; ++i) {
      const double angle = 2 * M_PI * i / n;
      for (const double x :
           {radius * std::cos(angle), 0.8 * radius * std::sin(angle), level == 0 ? -half : half}) {
        p.push_back(x);
      }
    }
  }
  return p;
}

using D = Dual<double, 1>;

// A pose that moves with velocity v and angular velocity w.
inline Pose<D> moving(const Pose<double>& x, const Vec3<double>& v, const Vec3<double>& w) {
  Pose<D> y;
  for (int i = 0; i < 3; ++i) {
    y.p[i] = D(x.p[i]);
    y.p[i].tangent[0] = v[i];
    const Vec3<double> column{x.R(0, i), x.R(1, i), x.R(2, i)}, turned = cross(w, column);
    for (int k = 0; k < 3; ++k) {
      y.R(k, i) = D(column[k]);
      y.R(k, i).tangent[0] = turned[k];
    }
  }
  return y;
}

inline Mat3<double> unit_rotation(const Quat<double>& q) {
  const double length = std::sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  return to_matrix(Quat<double>{q.w / length, q.x / length, q.y / length, q.z / length});
}
inline Pose<double> random_pose(FixedNumbers& random, double spread) {
  const Quat<double> q{random.next(), random.next(), random.next(), random.next()};
  return {unit_rotation(q),
          {spread * random.next(), spread * random.next(), spread * random.next()}};
}
inline Vec3<double> random_vector(FixedNumbers& random) {
  return {random.next(), random.next(), random.next()};
}

// <ȳ, J ẋ> - <Jᵀ ȳ, ẋ> over the sum of |terms|.
struct DotTest {
  double forward = 0, backward = 0, size = 1e-12;
  void out(double bar, double tangent) {
    forward += bar * tangent, size += std::abs(bar * tangent);
  }
  void in(double bar, double tangent) {
    backward += bar * tangent, size += std::abs(bar * tangent);
  }
  void in(const Vec3<double>& bar, const Vec3<double>& tangent) {
    for (int i = 0; i < 3; ++i) in(bar[i], tangent[i]);
  }
  double error() const { return std::abs(forward - backward) / size; }
};

// The touches' part of it; writes random cotangents.
inline void take_touches(FixedNumbers& random, const Touch<D>* out, const D* feature, int places,
                         TouchBar<double>* bar, DotTest& dots) {
  for (int k = 0; k < places; ++k) {
    bar[k] = {random.next(), random_vector(random), random_vector(random), {}};
    if (!(feature[k].value >= 0)) continue;
    dots.out(bar[k].dist, out[k].dist.tangent[0]);
    for (int i = 0; i < 3; ++i) {
      dots.out(bar[k].pos[i], out[k].pos[i].tangent[0]);
      dots.out(bar[k].normal[i], out[k].normal[i].tangent[0]);
    }
  }
}

}  // namespace cycloid::test
