#include "cycloid/rigid/contact/geom_pose.h"

#include "tests/support/pullback_check.h"

namespace cycloid::geom_pose_test {

using test::Numbers;

// Inputs: the body's place r (3) and turn δ (3) from a fixed orientation; the geom's pos (3) and
// raw quat (4). Parameters are the last seven.
constexpr int kInputs = 13, kParameters = 6;

template <class S>
struct BodyAt {
  Vec3<S> r;
  Mat3<S> R;
  S p[7];

  explicit BodyAt(const S* in) : r(load_vec3(in)) {
    const Quat<S> base = normalise(Quat<S>{S(0.8), S(0.1), S(-0.4), S(0.3)});
    R = to_matrix(retract(base, load_vec3(in + 3)));
    for (int i = 0; i < 7; ++i) p[i] = in[kParameters + i];
    store(p + 3, normalise(load_quat(p + 3)));
  }
};

TouchingGeom geom(bool turns, bool whole) {
  TouchingGeom g;
  g.turns = turns, g.whole_frame = whole;
  g.at.pos = 0, g.at.quat = 3;
  return g;
}

// A sphere's place; place and z axis of a capsule; place and all axes of a box.
const TouchingGeom kGeoms[] = {geom(false, false), geom(true, false), geom(true, true)};
constexpr int kAxes[3][3] = {{0, 0, 0}, {0, 0, 1}, {1, 1, 1}};

TEST_CASE("geom_pose: pullback equals dual numbers for spheres, capsules and whole frames") {
  test::FixedNumbers random(3);
  std::vector<Numbers> points;
  for (int k = 0; k < 4; ++k) {
    Numbers x = random.vector(kInputs);
    for (std::size_t i = 3; i < 6; ++i) x[i] = 0;
    if (k == 0) x[6] = x[7] = x[8] = 0;
    if (k == 1) x[9] = 1, x[10] = x[11] = x[12] = 0;
    points.push_back(x);
  }
  test::check_pullback(
      "geom_pose", 36,
      [](const auto* in, auto* out) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const BodyAt<S> b(in);
        for (int k = 0; k < 3; ++k) {
          const Pose<S> pose = geom_pose(kGeoms[k], b.p, b.R, b.r);
          store(out + 12 * k, pose.p);
          for (int i = 0; i < 3; ++i)
            store(out + 12 * k + 3 + 3 * i, axis(pose, i) * S(kAxes[k][i]));
        }
      },
      [](const auto* in, const auto* out_bar, auto* in_bar) {
        using S = std::remove_cvref_t<decltype(*in)>;
        const BodyAt<S> b(in);
        Force<S> wrench_on_body{};
        S p_bar[7] = {S(0), S(0), S(0), S(0), S(0), S(0), S(0)};
        for (int k = 0; k < 3; ++k) {
          const Pose<S> pose = geom_pose(kGeoms[k], b.p, b.R, b.r);
          PoseBar<S> bar{load_vec3(out_bar + 12 * k), {}};
          for (int i = 0; i < 3; ++i) {
            add_direction(bar, axis(pose, i),
                          load_vec3(out_bar + 12 * k + 3 + 3 * i) * S(kAxes[k][i]));
          }
          geom_pose_pullback(kGeoms[k], b.p, b.R, pose.p, bar, wrench_on_body, p_bar);
        }
        const Force<S>& W = wrench_on_body;
        add_to(in_bar, W.force);
        add_to(in_bar + 3, transpose_vector_product(b.R, W.torque - cross(b.r, W.force)));
        add_to(in_bar + kParameters, load_vec3(p_bar));
        add_to(in_bar + 9, ambient_from_tangent_cotangent(load_quat(in + 9), load_vec3(p_bar + 3)));
      },
      points);
}

TEST_CASE("geom_pose: an axis alone is the frame's own, and identities are not multiplied out") {
  const double p[7] = {0, 0, 0, 1, 0, 0, 0}, turned[7] = {0.1, 0.2, 0.3, 0.5, 0.5, -0.5, 0.5};
  const Mat3<double> R = to_matrix(normalise(Quat<double>{0.3, 0.4, -0.7, 0.2}));
  const Vec3<double> r{1, 2, 3};
  const Pose<double> same = geom_pose(kGeoms[2], p, R, r);
  for (int i = 0; i < 9; ++i) CHECK(same.R.e[i] == R.e[i]);
  CHECK(same.p.x == 1);
  const Pose<double> whole = geom_pose(kGeoms[2], turned, R, r),
                     z = geom_pose(kGeoms[1], turned, R, r);
  for (int i = 0; i < 3; ++i)
    CHECK(axis(z, 2)[i] == doctest::Approx(axis(whole, 2)[i]).epsilon(1e-15));
}

}  // namespace cycloid::geom_pose_test
