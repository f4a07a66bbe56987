#include "cycloid/rigid/contact/surface_motion.h"

#include "cycloid/rigid/contact/contact_case_test.h"
#include "cycloid/rigid/contact/contact_rows_pullback.h"

namespace cycloid::surface_motion_test {

using test::ContactCase;
using test::Numbers;

constexpr int kSlots = 28;

// A crowd on a belt, with a ball, a box and the arm's hand whose surfaces run too.
Model running_crowd(bool elliptic) {
  Model m = test::crowd(elliptic);
  m.geoms[0].surface_velocity = {0.6, -0.3, 0.2, 0.1, 0.4, -0.2};
  m.geoms[0].condim = 3;
  m.geoms[3].surface_velocity = {0, 0.2, 0.1, 0.7, 0.3, 0.5};
  m.geoms[4].surface_velocity = {0, 0, 0, 0.2, -0.4, 0.3};
  m.geoms[5].surface_velocity = {-0.4, 0.1, 0.3, 0, 0, 0};
  return m;
}

// J q̇ of every slot's rows with what the surfaces add.
template <class S>
void velocities(const Tree& tree, const S* in, S* out) {
  ContactCase<S> c(tree, in);
  c.find();
  c.add_rows();
  for (int i = 0; i < kSlots * kMostRows; ++i) out[i] = S(0);
  c.for_rows([&](int slot, int i, int, const S& has) {
    if (slot < kSlots) {
      out[slot * kMostRows + i] = c.space.velocity[slot * kMostRows + i] * has;
    }
  });
}

template <class S>
void velocities_pullback(const Tree& tree, const S* in, const S* out_bar, S* in_bar) {
  ContactCase<S> c(tree, in);
  c.find();
  c.add_rows();
  test::SceneBars<S> bars(c.scene, in);
  std::fill_n(c.space.touch_bars, c.space.touch_count, TouchBar<S>{});
  ReferenceOptions<S> unused;
  const RowGradient<S> sink{
      {bars.m.data(), bars.m.data(), nullptr, bars.v.data(), bars.pose.data()},
      bars.q_bar.data(),
      bars.v_bar.data(),
      bars.p_bar.data(),
      unused};
  for (int slot = 0; slot < std::min(c.space.slots, kSlots); ++slot) {
    const ContactSlot<S>& at = c.space.slot[slot];
    S C[kMostRows];
    for (int i = 0; i < kMostRows; ++i) {
      C[i] = select(at.rows > S(i), out_bar[slot * kMostRows + i], S(0));
    }
    SlotSide<S> one, two;
    const auto link = [&](int body) { return tree.last_link[static_cast<std::size_t>(body)]; };
    for_each_group(c.space, slot, [&](const SlotGroup<S>& group) {
      const ContactPair& pair = c.at.pair(c.space.touched[group.owner].pair);
      if (pair.moves1) one.take(group, c.instant.fields, link(pair.body1));
      if (pair.moves2) two.take(group, c.instant.fields, link(pair.body2));
    });
    const int rows = c.problem.group[c.first + slot].rows;
    const ContactFrame<S> F = contact_frame(at.touch.normal, at.touch.tangent);
    ContactFrame<S> F_bar{};
    TouchBar<S> touch_bar{};
    add_row_wrench(rows, at, F, C, 2, one, two, touch_bar.pos, F_bar);
    surface_motion_pullback(c.at, c.space, slot, rows, F, static_cast<const S*>(C), touch_bar.pos,
                            F_bar, bars.pose.data(), bars.p_bar.data());
    contact_frame_pullback(at.touch.normal, at.touch.tangent, F_bar, touch_bar.normal,
                           touch_bar.tangent);
    for_each_group(c.space, slot, [&](const SlotGroup<S>& group) {
      const ContactPair& pair = c.at.pair(c.space.touched[group.owner].pair);
      if (pair.moves1) one.give(group, sink.bodies, pair.body1);
      if (pair.moves2) two.give(group, sink.bodies, pair.body2);
      group.move_all(touch_bar, c.space.touch_bars[group.touch]);
    });
  }
  for (int i = 0; i < c.space.touched_count; ++i) {
    gather_shapes(c.at, c.space, c.space.touched[i], sink);
  }
  bars.add_to_inputs(in_bar);
}

TEST_CASE("surface_field: pullback equals dual numbers") {
  // Inputs: x, p, the turn of R (tangent), v, ω.
  const auto pose_of = [](const auto* in) {
    using S = std::remove_cvref_t<decltype(*in)>;
    const Quat<S> q =
        retract(normalise(Quat<S>{S(0.8), S(0.1), S(-0.3), S(0.4)}), load_vec3(in + 6));
    return Pose<S>{to_matrix(q), load_vec3(in + 3)};
  };
  const auto value = [&](const auto* in, auto* out) {
    using S = std::remove_cvref_t<decltype(*in)>;
    const Motion<S> own{load_vec3(in + 12), load_vec3(in + 9)};
    const Motion<S> y = surface_field(pose_of(in), own, load_vec3(in));
    store(out, y.linear), store(out + 3, y.angular);
  };
  const auto pullback = [&](const auto* in, const auto* out_bar, auto* in_bar) {
    using S = std::remove_cvref_t<decltype(*in_bar)>;
    const Motion<S> own{load_vec3(in + 12), load_vec3(in + 9)};
    const Pose<S> pose = pose_of(in);
    Motion<S> own_bar{};
    Vec3<S> x_bar{};
    PoseBar<S> pose_bar{{}, {}};
    surface_field_pullback(pose, own, load_vec3(in),
                           Motion<S>{load_vec3(out_bar + 3), load_vec3(out_bar)}, own_bar, x_bar,
                           pose_bar);
    add_to(in_bar, x_bar);
    add_to(in_bar + 3, pose_bar.force);
    add_to(in_bar + 6, transpose_vector_product(pose.R, pose_bar.torque));
    add_to(in_bar + 9, own_bar.linear);
    add_to(in_bar + 12, own_bar.angular);
  };
  test::check_pullback("surface_field", 6, value, pullback,
                       {{0.3, -0.2, 0.5, 0.1, 0.2, -0.3, 0, 0, 0, 0.6, -0.1, 0.2, 0.5, 1, -2}});
}

TEST_CASE("surface_motion: pullback of J q̇ equals dual numbers in all that touches") {
  for (const bool elliptic : {false, true}) {
    const Tree tree(running_crowd(elliptic));
    CHECK(tree.surfaces_move);
    const std::vector<Numbers> points = test::crowd_points(tree);
    test::check_pullback(
        "surface_motion", kSlots * kMostRows,
        [&](const auto* in, auto* out) { velocities(tree, in, out); },
        [&](const auto* in, const auto* out_bar, auto* in_bar) {
          velocities_pullback(tree, in, out_bar, in_bar);
        },
        points);
  }
}

TEST_CASE("surface_motion: a belt under a body at rest slips as a body on a floor that moves") {
  Model m = test::loner(true);
  m.geoms[0].surface_velocity = {0.3, 0.5, 0, 0, 0, 0};
  const Tree tree(m), still(test::loner(true));
  Numbers point = test::crowd_points(tree)[0], plain = test::crowd_points(still)[0];
  for (int k = 0; k < tree.model.nv; ++k) {
    const std::size_t at = static_cast<std::size_t>(tree.model.nv + k);
    point[at] = plain[at] = 0;
  }
  ContactCase<double> c(tree, point.data()), d(still, plain.data());
  c.find(), c.add_rows(), d.find(), d.add_rows();
  REQUIRE(c.space.slots == d.space.slots);
  REQUIRE(c.space.slots > 0);
  int seen = 0;
  for (int slot = 0; slot < c.space.slots; ++slot) {
    const TouchedPair& owner = c.space.touched[c.space.groups_of(slot)->owner];
    if (c.at.geom(c.at.pair(owner.pair).geom1).geom != 0) continue;
    ++seen;
    const double *with = c.space.velocity + slot * kMostRows,
                 *without = d.space.velocity + slot * kMostRows;
    CHECK(without[0] == doctest::Approx(with[0]));
    const double slip = std::hypot(with[1] - without[1], with[2] - without[2]);
    const double* own = point.data() + 2 * tree.model.nv + tree.geoms[0].surface;
    CHECK(slip == doctest::Approx(std::hypot(own[0], own[1])).epsilon(1e-12));
  }
  CHECK(seen > 0);
}

}  // namespace cycloid::surface_motion_test
