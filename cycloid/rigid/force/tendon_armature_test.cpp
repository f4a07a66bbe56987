#include "cycloid/rigid/force/tendon_armature.h"

#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::tendon_armature_test {

using test::Numbers;
using test::Scene;

constexpr int kTendons = 4;

// 0: spatial on one path to the root. 1: spatial over siblings, with a pulley. 2: spatial between
// the trees. 3: fixed over siblings, with an actuator's armature on it.
Model with_tendons() {
  test::TwoTrees t = test::TwoTrees::make();
  test::ModelBuilder b;
  b.model = t.model;
  const auto site = [](int s) { return Wrap{WrapKind::site, s, 0}; };
  b.tendon(TendonKind::spatial, {site(t.w), site(t.on_drone), site(t.on_rotor)});
  b.tendon(TendonKind::spatial,
           {site(t.on_post), site(t.on_arm), site(t.on_fore), Wrap{WrapKind::pulley, -1, 2.5},
            site(t.on_fore), site(t.on_side)});
  b.tendon(TendonKind::spatial, {site(t.on_tool), site(t.on_rotor)});
  b.tendon(TendonKind::fixed, {{WrapKind::joint, t.a1, 0.7},
                               {WrapKind::joint, t.side, -1.3},
                               {WrapKind::joint, t.r1, 0.4}});
  b.actuator(TransmissionKind::tendon, 3, -1, {1.5, 0, 0, 0, 0, 0});
  return b.model;
}

// The tree with armature on one tendon.
Tree only(int t) {
  Model m = with_tendons();
  (t == 3 ? m.actuators[0].armature : m.tendons[static_cast<std::size_t>(t)].armature) = 0.8;
  return Tree(m);
}

template <class S>
std::vector<Motion<S>> acceleration(const Scene<S>& at, const S* qacc) {
  std::vector<Motion<S>> a(at.tree.links.size());
  acceleration_field(at.tree, at.column.data(), at.qvel.data(), qacc, at.v.data(),
                     vec3_of<S>(at.p.data() + at.tree.options.gravity), a.data());
  return a;
}

// -μᵀ(M q̈ + c) of the armatures, from the matrix and the bias.
template <class S>
S equation(const Tree& tree, const S* in) {
  const Scene<S> at(tree, in);
  const std::size_t bodies = at.pos.size(), nv = at.mu.size();
  std::vector<Force<S>> wrenches(bodies), links(tree.links.size());
  std::vector<S> row(nv), M(static_cast<std::size_t>(tree.entries()), S(0));
  add_tendon_armature(tree, at.p.data(), at.frames, wrenches.data(), links.data(), row.data(),
                      M.data());
  S sum = -test::matrix_form(tree, M, at.mu, test::FixedField<S>(at).x);
  for (Force<S>& w : wrenches) w = Force<S>{};
  const std::vector<Motion<S>> a = acceleration<S>(at, nullptr);
  add_tendon_armature_bias(tree, at.p.data(), at.frames, at.v.data(), a.data(), wrenches.data());
  for (std::size_t b = 0; b < bodies; ++b) {
    sum -= power(wrenches[b], at.m[last_link(tree, static_cast<int>(b))]);
  }
  return sum;
}

// Memory of tendon_armature_pullback.
template <class S>
struct Memory {
  std::vector<Force<S>> wrenches, links;
  std::vector<S> row, w;
  std::vector<Motion<S>> field;
  test::FieldSweepMemory<S> sweep;

  explicit Memory(const Tree& tree)
      : wrenches(tree.model.bodies.size()),
        links(tree.links.size()),
        row(static_cast<std::size_t>(tree.model.nv)),
        w(row),
        field(tree.links.size()),
        sweep(tree) {}
  TendonArmatureSpace<S> view() {
    return {wrenches.data(), links.data(), row.data(), {w.data(), field.data(), sweep.view()}};
  }
};

TEST_CASE("tendon_acceleration: the second time derivative of the length") {
  const Tree tree = only(0);
  const Numbers in = test::scene_points(tree)[2];
  using D = Dual<double, 1>;
  using DD = Dual<D, 1>;
  const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
  // Along q(s) = base exp(s q̇): both derivatives in s, twice. Joint by joint q̈ = 0 there.
  std::vector<DD> moved(in.begin(), in.end());
  std::vector<double> still(in);
  for (std::size_t k = 0; k < nv; ++k) {
    moved[k] = DD(0.0);
    moved[k].value.tangent[0] = in[nv + k];
    moved[k].tangent[0] = D(in[nv + k]);
    still[k] = 0;
  }
  const Scene<double> at(tree, still.data());
  const Scene<DD> path(tree, moved.data());
  const std::vector<Motion<double>> a = acceleration<double>(at, nullptr);
  for (int t = 0; t < kTendons; ++t) {
    const DD length = tendon_length(tree, path.p.data(), t, path.qpos.data(), path.frames);
    const double second = tendon_acceleration(tree, at.p.data(), t, at.frames, at.v.data(),
                                              a.data(), static_cast<const double*>(nullptr));
    CHECK(second == doctest::Approx(length.tangent[0].tangent[0]).epsilon(1e-12));
  }
}

TEST_CASE("tendon_armature: a tendon branches unless its dofs lie on one path to the root") {
  const Tree tree(with_tendons());
  const bool branches[kTendons] = {false, true, true, true};
  for (int t = 0; t < kTendons; ++t) CHECK(tendon_branches(tree, t) == branches[t]);
}

TEST_CASE("tendon_armature: pullback equals dual numbers on one path, over siblings and trees") {
  bool passed = true;
  for (int t = 0; t < kTendons; ++t) {
    CAPTURE(t);
    const Tree tree = only(t);
    passed &= test::check_pullback(
        "tendon_armature", 1, [&](const auto* in, auto* out) { out[0] = equation(tree, in); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          using S = std::remove_cvref_t<decltype(*in)>;
          const Scene<S> at(tree, in);
          test::SceneBars<S> bars(at, in);
          Memory<S> memory(tree);
          const std::vector<S> qacc = test::FixedField<S>(at).x;
          const std::vector<Motion<S>> a = acceleration(at, qacc.data());
          tendon_armature_pullback(tree, at.p.data(), at.point, a.data(), qacc.data(), bars.sinks,
                                   memory.view(), static_cast<S*>(nullptr));
          std::vector<S> own(Scene<S>::inputs(tree), S(0));
          bars.add_to_inputs(own.data(), a.data(), qacc.data());
          for (std::size_t k = 0; k < own.size(); ++k) in_bar[k] += own[k] * out_bar[0];
        },
        test::scene_points(tree));
  }
  if (passed) {  // a part of it
    test::mark_operator_tested("tendon_acceleration");
  }
}

}  // namespace cycloid::tendon_armature_test
