#include "cycloid/rigid/tree/row.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::row_test {

using test::Numbers;
using test::Scene;

// Where a site is in the world.
template <class S>
void place(const Tree& tree, int site, const S* in, S* out) {
  const Scene<S> at(tree, in);
  const int b = tree.model.sites[static_cast<std::size_t>(site)].body;
  store(out, at.frames.origin[b] + site_point(tree, at.p.data(), site, at.frames));
}

TEST_CASE("site_point: a site of the world is where its parameter says") {
  const test::TwoTrees t = test::TwoTrees::make();
  const Tree tree(t.model);
  const Numbers in = test::scene_points(tree)[0];
  double out[3];
  place(tree, t.w, in.data(), out);
  const double* pos = in.data() + 2 * tree.model.nv + tree.sites[0].pos;
  for (int k = 0; k < 3; ++k) CHECK(out[k] == pos[k]);
}

TEST_CASE("site_point: pullback equals dual numbers in the world, on the post and in both trees") {
  const test::TwoTrees t = test::TwoTrees::make();
  const Tree tree(t.model);
  for (const int site : {t.w, t.on_post, t.on_tool, t.on_rotor}) {
    test::check_pullback(
        "site_point", 3, [&](const auto* in, auto* out) { place(tree, site, in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          site_point_pullback(tree, site, at.frames, site_point(tree, at.p.data(), site, at.frames),
                              load_vec3(out_bar), bars.pose.data(), bars.p_bar.data());
          bars.add_to_inputs(in_bar);
        },
        test::scene_points(tree));
  }
}

// The power on a body's fields of m and v of a force and a couple that stand still in the world.
template <class S>
void held_power(const Tree& tree, int b, const S* in, S* out) {
  const Scene<S> at(tree, in);
  const std::size_t l = last_link(tree, b);
  const Force<S> W = test::held_wrench<S>(at.frames.origin[b]);
  out[0] = power(W, at.m[l]);
  out[1] = power(W, at.v[l]);
}

TEST_CASE("row: a wrench that stands still is the whole cotangent of a field") {
  const Tree tree(test::TwoTrees::make().model);
  for (const int b : {3, 4, 7}) {
    test::check_pullback(
        "held_power", 2, [&](const auto* in, auto* out) { held_power(tree, b, in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          const std::size_t i = static_cast<std::size_t>(b);
          const Force<S> W = test::held_wrench<S>(at.frames.origin[b]);
          bars.m[i] += W * out_bar[0];
          bars.v[i] += W * out_bar[1];
          bars.add_to_inputs(in_bar);
        },
        test::scene_points(tree));
  }
}

}  // namespace cycloid::row_test
