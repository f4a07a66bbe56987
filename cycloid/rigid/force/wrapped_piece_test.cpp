#include "cycloid/rigid/force/wrapped_piece.h"

#include "cycloid/rigid/force/tendon.h"
#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::wrapped_piece_test {

using test::Numbers;
using test::Scene;

// Tendons between sites that a geom lies between: 0 a sphere on a third body, 1 a cylinder on the
// arm with a side site, 2 a sphere in the world with the side site inside, 3 a cylinder on the same
// body as one of the sites, after a pulley.
Model with_wraps() {
  test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  const Tree tree(t.model);
  Numbers in(Scene<double>::inputs(tree), 0.0);
  std::copy(tree.parameters.default_values().begin(), tree.parameters.default_values().end(),
            in.begin() + 2 * tree.model.nv);
  const Scene<double> at(tree, in.data());
  const auto world = [&](int s) {
    const int body = tree.model.sites[static_cast<std::size_t>(s)].body;
    return at.frames.origin[body] + site_point(tree, at.p.data(), s, at.frames);
  };
  const auto local = [&](int body, const Vec3<double>& x) {
    const Vec3<double> r = transpose_vector_product(
        at.frames.R[body], x - at.frames.origin[body] - at.frames.pos[body]);
    return std::array{r.x, r.y, r.z};
  };
  // A geom on a body, beside the middle of two sites.
  const auto geom = [&](int body, int s1, int s2, Shape shape, double radius, double beside) {
    Named<Geom> g;
    g.name = "wrapped" + std::to_string(b.model.geoms.size());
    g.body = body;
    g.shape = shape;
    g.size = {radius, 1, 0};
    g.contype = g.conaffinity = 0;
    const Vec3<double> middle = (world(s1) + world(s2)) * 0.5;
    g.pos = local(body, middle + Vec3<double>{0.3, 0.8, -0.5} * beside);
    g.quat = {0.5, 0.5, -0.5, 0.5};
    b.model.geoms.push_back(g);
    return static_cast<int>(b.model.geoms.size()) - 1;
  };
  const auto site = [](int s) { return Wrap{WrapKind::site, s, 0}; };
  const auto body_of = [&](int s) { return tree.model.sites[static_cast<std::size_t>(s)].body; };
  const int side = body_of(t.on_side), arm = body_of(t.on_arm), tool = body_of(t.on_tool);

  const int ball = geom(side, t.w, t.on_fore, Shape::sphere, 0.15, 0.01);
  b.tendon(TendonKind::spatial, {site(t.w), {WrapKind::sphere, ball, 0}, site(t.on_fore)});
  const int drum = geom(arm, t.on_post, t.on_rotor, Shape::cylinder, 0.06, 0.02);
  const Vec3<double> away{0.15, 0.1, -0.1};
  const int beside = b.site(
      "beside", arm, local(arm, (world(t.on_post) + world(t.on_rotor)) * 0.5 + away), {1, 0, 0, 0});
  b.tendon(TendonKind::spatial,
           {site(t.on_post), {WrapKind::cylinder, drum, 0, beside}, site(t.on_rotor)});
  const int ring = geom(0, t.on_side, t.on_drone, Shape::sphere, 0.05, 0.12);
  const int within =
      b.site("within", 0, b.model.geoms[static_cast<std::size_t>(ring)].pos, {1, 0, 0, 0});
  b.tendon(TendonKind::spatial,
           {site(t.on_side), {WrapKind::sphere, ring, 0, within}, site(t.on_drone)});
  const int own = geom(tool, t.on_tool, t.on_drone, Shape::cylinder, 0.25, 0.01);
  b.tendon(TendonKind::spatial, {site(t.w),
                                 site(t.on_post),
                                 {WrapKind::pulley, -1, 2.5},
                                 site(t.on_tool),
                                 {WrapKind::cylinder, own, 0},
                                 site(t.on_drone)});
  return b.model;
}

constexpr int kTendons = 4;

template <class S>
void measure(const Tree& tree, int t, const S* in, S* out) {
  const Scene<S> at(tree, in);
  out[0] = tendon_length(tree, at.p.data(), t, at.qpos.data(), at.frames);
  out[1] = tendon_rate(tree, at.p.data(), t, at.frames, at.m.data(), at.mu.data());
  out[2] = tendon_rate(tree, at.p.data(), t, at.frames, at.v.data(), at.qvel.data());
}

TEST_CASE("wrapped_piece: each of the tendons bends somewhere, and the rate is its derivative") {
  const Tree tree(with_wraps());
  const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
  for (int t = 0; t < kTendons; ++t) {
    int bent = 0;
    for (const Numbers& in : test::scene_points(tree)) {
      const Scene<double> at(tree, in.data());
      for_each_wrapped(tree, at.p.data(), t, at.frames, [&](const WrappedPiece<double>& piece) {
        bent += piece.length > norm(piece.p[1] - piece.p[0]) + 1e-4;
      });
      using D = Dual<double, 1>;
      std::vector<D> moved(in.begin(), in.end());
      for (std::size_t k = 0; k < nv; ++k) moved[k] = D(0.0);
      for (std::size_t k = 0; k < nv; ++k) moved[k].tangent[0] = in[nv + k];
      D out[3];
      measure(tree, t, moved.data(), out);
      CHECK(out[0].tangent[0] == doctest::Approx(out[2].value).epsilon(1e-10));
    }
    CHECK(bent > 0);
  }
}

TEST_CASE("wrapped_piece: force and rate are each other's transpose") {
  const Tree tree(with_wraps());
  for (const Numbers& in : test::scene_points(tree)) {
    const Scene<double> at(tree, in.data());
    for (int t = 0; t < kTendons; ++t) {
      std::vector<Force<double>> wrenches(tree.model.bodies.size());
      Numbers tau(at.qvel.size(), 0.0);
      apply_tendon_force(tree, at.p.data(), t, at.frames, 1.7, wrenches.data(), tau.data());
      const double rate = tendon_rate(tree, at.p.data(), t, at.frames, at.m.data(), at.mu.data());
      CHECK(test::virtual_power(at, wrenches, tau) == doctest::Approx(1.7 * rate).epsilon(1e-12));
    }
  }
}

TEST_CASE("wrapped_piece: pullback equals dual numbers, also for place and size of the geom") {
  const Tree tree(with_wraps());
  bool passed = true;
  for (int t = 0; t < kTendons; ++t) {
    passed &= test::check_pullback(
        "wrapped_piece", 3, [&](const auto* in, auto* out) { measure(tree, t, in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          tendon_pullback(tree, at.p.data(), t, at.point,
                          RowBars<S>{out_bar[0], out_bar[1], out_bar[2]}, bars.sinks);
          bars.add_to_inputs(in_bar);
        },
        test::scene_points(tree));
  }
  if (passed) {
    for (const char* part :
         {"wrapped_place", "wrap_plane", "bend_around", "wrap_root", "bend_inside"}) {
      test::mark_operator_tested(part);
    }
  }
}

}  // namespace cycloid::wrapped_piece_test
