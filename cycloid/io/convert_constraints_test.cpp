// What only constraints use, against the compiled model's own numbers.
#include <doctest/doctest.h>

#include <string>

#include "cycloid/io/compile.h"
#include "cycloid/io/convert.h"
#include "cycloid/io/refuse.h"

namespace cycloid {
namespace {

constexpr const char* kConstrained = R"(<mujoco model="constrained">
  <compiler angle="radian" autolimits="true"/>
  <option cone="elliptic" impratio="3" solver="CG" iterations="7" tolerance="1e-3"
          jacobian="sparse"/>
  <statistic meaninertia="2.5"/>
  <default><default class="soft"><geom solref="-300 -20" solimp=".5 .8 .02 .3 4"/></default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" friction=".7 .02 .003" condim="6" priority="2"/>
    <site name="hook" pos="0 0 2"/>
    <body name="post" pos="0 0 1">
      <body name="sign" pos="0 1 0"><geom name="plate" type="box" size=".1 .2 .3" contype="4"
        conaffinity="2"/></body></body>
    <body name="hand" mocap="true"><geom name="palm" type="cylinder" size=".1 .2" solmix="3"/>
    </body>
    <body name="base" pos="1 0 1">
      <freejoint name="root"/>
      <geom name="ball" size=".1" margin=".01" gap=".02" class="soft"/>
      <geom type="capsule" size=".05 .2" condim="1"/>
      <geom name="egg" type="ellipsoid" size=".1 .2 .3" condim="4"/>
      <site name="tip" pos=".1 0 0"/>
      <body name="fixed"><geom size=".02"/></body>
      <body name="arm" pos="0 0 .3">
        <joint name="hinge" axis="0 1 0" range="-1 2" margin=".03" solreflimit=".04 .9"
               solimplimit=".6 .7 .01 .4 3" frictionloss=".5" solreffriction="-5 -6"
               solimpfriction=".3 .4 .02 .6 1"/>
        <joint name="slide" type="slide" axis="1 0 0" ref=".1"/>
        <geom size=".05"/>
        <body name="wrist" pos="0 0 .2"><joint name="ball" type="ball" range="0 1.2"/>
          <geom type="box" size=".05 .05 .05"/></body>
      </body>
    </body>
  </worldbody>
  <contact>
    <pair name="grip" geom1="palm" geom2="ball" condim="6" friction=".1 .2 .3 .4 .5"
          solref=".05 2" solreffriction=".06 3" solimp=".7 .8 .03 .2 5" margin=".04" gap=".06"/>
    <pair geom1="egg" geom2="floor"/>
    <exclude body1="base" body2="hand"/>
    <exclude body1="wrist" body2="world"/>
  </contact>
  <tendon>
    <fixed name="sum" range="-2 1" margin=".07" solreflimit="-7 -8" solimplimit=".2 .3 .04 .5 6"
           frictionloss=".8" solreffriction=".09 1.1" solimpfriction=".1 .2 .05 .6 7">
      <joint joint="hinge" coef="2"/></fixed>
    <spatial name="rope"><site site="hook"/><site site="tip"/></spatial>
  </tendon>
  <equality>
    <connect name="pin" body1="arm" anchor=".1 .2 .3" solref=".11 1.2" solimp=".4 .5 .06 .7 8"/>
    <connect site1="tip" site2="hook"/>
    <weld name="glue" body1="arm" body2="hand" relpose="1 2 3 0 1 0 0" anchor="4 5 6"
          torquescale="9" active="false"/>
    <weld site1="hook" site2="tip" torquescale="2"/>
    <weld body1="base" body2="post"/>
    <joint joint1="hinge" joint2="slide" polycoef=".1 .2 .3 .4 .5"/>
    <joint joint1="slide" polycoef=".6 0 0 0 0"/>
    <tendon tendon1="sum" tendon2="rope" polycoef="1 2 3 4 5"/>
    <tendon name="taut" tendon1="rope"/>
  </equality>
</mujoco>)";

struct Converted {
  explicit Converted(const std::string& xml = kConstrained, const LoadOptions& options = {})
      : compiled(compile_model(xml, options)), model(convert(*compiled, options)) {}
  const mjModel& m() const { return *compiled; }
  CompiledModel compiled;
  Model model;
};

template <class Numbers>
void check_row(const Numbers& got, const mjtNum* expected, std::size_t i, std::size_t columns) {
  REQUIRE(got.size() == columns);
  for (std::size_t k = 0; k < columns; ++k) CHECK(got[k] == expected[columns * i + k]);
}

void check_soft(const Compliance& got, const mjtNum* solref, const mjtNum* solimp, std::size_t i) {
  check_row(got.solref, solref, i, mjNREF);
  check_row(got.solimp, solimp, i, mjNIMP);
}

TEST_CASE("convert: options and flags of constraints") {
  const Options with = Converted().model.options;
  CHECK(with.elliptic);
  CHECK(with.impratio == 3);
  CHECK(with.mean_inertia == 2.5);
  const Acting& on = with.acting;
  CHECK(on.constraints);
  CHECK(on.equalities);
  CHECK(on.friction_loss);
  CHECK(on.limits);
  CHECK(on.contacts);
  CHECK(on.refsafe);
  CHECK(on.parent_filter);
  CHECK(on.midphase);
  const auto acting = [](const std::string& flag) {
    const std::string text = "<mujoco><option><flag " + flag + "='disable'/></option></mujoco>";
    return Converted(text).model.options.acting;
  };
  CHECK_FALSE(acting("constraint").constraints);
  CHECK_FALSE(acting("equality").equalities);
  CHECK_FALSE(acting("frictionloss").friction_loss);
  CHECK_FALSE(acting("limit").limits);
  CHECK_FALSE(acting("contact").contacts);
  CHECK_FALSE(acting("refsafe").refsafe);
  CHECK_FALSE(acting("filterparent").parent_filter);
  CHECK_FALSE(acting("midphase").midphase);
  CHECK(acting("midphase").parent_filter);
  CHECK_FALSE(Converted(kConstrained, {.constraints = false}).model.options.acting.constraints);
  CHECK_FALSE(Converted("<mujoco/>").model.options.elliptic);
  CHECK(Converted("<mujoco/>").model.options.mean_inertia > 0);
}

TEST_CASE("convert: geoms") {
  const Converted c;
  const mjModel& m = c.m();
  REQUIRE(c.model.geoms.size() == static_cast<std::size_t>(m.ngeom));
  for (std::size_t i = 0; i < c.model.geoms.size(); ++i) {
    const Geom& g = c.model.geoms[i];
    CHECK(g.body == m.geom_bodyid[i]);
    check_row(g.pos, m.geom_pos, i, 3);
    check_row(g.quat, m.geom_quat, i, 4);
    check_row(g.size, m.geom_size, i, 3);
    check_row(g.friction, m.geom_friction, i, 3);
    check_soft(g.soft, m.geom_solref, m.geom_solimp, i);
    CHECK(g.margin == m.geom_margin[i]);
    CHECK(g.gap == m.geom_gap[i]);
    CHECK(g.condim == m.geom_condim[i]);
    CHECK(g.priority == m.geom_priority[i]);
    CHECK(g.solmix == m.geom_solmix[i]);
    CHECK(g.contype == m.geom_contype[i]);
    CHECK(g.conaffinity == m.geom_conaffinity[i]);
  }
  using enum Shape;
  const Shape shapes[] = {plane, box, cylinder, sphere, capsule, ellipsoid, sphere, sphere, box};
  for (std::size_t i = 0; i < std::size(shapes); ++i) CHECK(c.model.geoms[i].shape == shapes[i]);
  const Named<Geom>& ball = c.model.geoms[3];
  CHECK(ball.name == "ball");
  CHECK(ball.soft.solref == std::array<double, 2>{-300, -20});
  CHECK(ball.soft.solimp == std::array<double, 5>{.5, .8, .02, .3, 4});
  CHECK(ball.margin == .01);
  CHECK(ball.gap == .02);
  CHECK(c.model.geoms[0].friction == std::array<double, 3>{.7, .02, .003});
  CHECK(c.model.geoms[0].priority == 2);
  CHECK(c.model.geoms[1].contype == 4);
  CHECK(c.model.geoms[1].conaffinity == 2);
  CHECK(c.model.geoms[2].solmix == 3);
  const Converted meshes(R"(<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
    <hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/></asset><worldbody>
    <geom type="mesh" mesh="m"/><geom type="hfield" hfield="h"/></worldbody></mujoco>)");
  CHECK(meshes.model.geoms[0].shape == Shape::mesh);
  CHECK(meshes.model.geoms[1].shape == Shape::hfield);
}

TEST_CASE("convert: explicit pairs and exclusions") {
  const Converted c;
  const mjModel& m = c.m();
  REQUIRE(c.model.pairs.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const GivenPair& p = c.model.pairs[i];
    CHECK(p.geom1 == m.pair_geom1[i]);
    CHECK(p.geom2 == m.pair_geom2[i]);
    CHECK(p.condim == m.pair_dim[i]);
    check_row(p.friction, m.pair_friction, i, 5);
    check_soft(p.soft, m.pair_solref, m.pair_solimp, i);
    check_row(p.solref_friction, m.pair_solreffriction, i, 2);
    CHECK(p.margin == m.pair_margin[i]);
    CHECK(p.gap == m.pair_gap[i]);
  }
  const auto grip = c.model.pairs[0].name == "grip" ? 0u : 1u;  // the compiler sorts them
  CHECK(c.model.pairs[grip].name == "grip");
  CHECK(c.model.pairs[1 - grip].name == "");
  CHECK(c.model.pairs[grip].friction == std::array<double, 5>{.1, .2, .3, .4, .5});
  CHECK(c.model.pairs[grip].solref_friction == std::array<double, 2>{.06, 3});
  CHECK(c.model.pairs[1 - grip].solref_friction == std::array<double, 2>{0, 0});
  CHECK(c.model.pairs[grip].condim == 6);
  CHECK(c.model.pairs[grip].margin == .04);
  CHECK(c.model.pairs[grip].gap == .06);

  REQUIRE(c.model.exclusions.size() == 2);
  const auto excludes = [&](const std::string& a, const std::string& b) {
    for (const Exclusion& e : c.model.exclusions) {
      const std::string &one = c.model.bodies[static_cast<std::size_t>(e.body1)].name,
                        &two = c.model.bodies[static_cast<std::size_t>(e.body2)].name;
      if ((one == a && two == b) || (one == b && two == a)) return true;
    }
    return false;
  };
  CHECK(excludes("base", "hand"));
  CHECK(excludes("wrist", "world"));
  CHECK_FALSE(excludes("base", "world"));
}

TEST_CASE("convert: what bodies, joints, dofs and tendons have for constraints") {
  const Converted c;
  const mjModel& m = c.m();
  for (std::size_t i = 0; i < c.model.bodies.size(); ++i) {
    CHECK(c.model.bodies[i].welded == m.body_weldid[i]);
    check_row(c.model.bodies[i].inverse_weight, m.body_invweight0, i, 2);
  }
  const auto body = [&](const char* name) {
    int i = 0;
    while (c.model.bodies[static_cast<std::size_t>(i)].name != name) ++i;
    return i;
  };
  const auto welded = [&](const char* name) {
    return c.model.bodies[static_cast<std::size_t>(body(name))].welded;
  };
  CHECK(welded("sign") == 0);
  CHECK(welded("hand") == body("hand"));
  CHECK(welded("fixed") == body("base"));
  CHECK(welded("arm") == body("arm"));
  CHECK(c.model.bodies[static_cast<std::size_t>(body("arm"))].inverse_weight[0] > 0);

  for (std::size_t i = 0; i < c.model.joints.size(); ++i) {
    CHECK(c.model.joints[i].range.on == m.jnt_limited[i]);
    CHECK(c.model.joints[i].margin == m.jnt_margin[i]);
    check_soft(c.model.joints[i].limit, m.jnt_solref, m.jnt_solimp, i);
  }
  CHECK(c.model.joints[1].margin == .03);
  CHECK(c.model.joints[1].limit.solref == std::array<double, 2>{.04, .9});
  CHECK(c.model.joints[1].limit.solimp == std::array<double, 5>{.6, .7, .01, .4, 3});
  CHECK(c.model.joints[3].range.on);
  CHECK(c.model.joints[3].range.high == 1.2);
  for (std::size_t i = 0; i < c.model.dofs.size(); ++i) {
    CHECK(c.model.dofs[i].frictionloss == m.dof_frictionloss[i]);
    CHECK(c.model.dofs[i].inverse_weight == m.dof_invweight0[i]);
    check_soft(c.model.dofs[i].friction, m.dof_solref, m.dof_solimp, i);
  }
  CHECK(c.model.dofs[6].friction.solref == std::array<double, 2>{-5, -6});
  CHECK(c.model.dofs[6].friction.solimp == std::array<double, 5>{.3, .4, .02, .6, 1});
  CHECK(c.model.dofs[6].inverse_weight > 0);

  REQUIRE(c.model.tendons.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(c.model.tendons[i].margin == m.tendon_margin[i]);
    CHECK(c.model.tendons[i].inverse_weight == m.tendon_invweight0[i]);
    check_soft(c.model.tendons[i].limit, m.tendon_solref_lim, m.tendon_solimp_lim, i);
    check_soft(c.model.tendons[i].friction, m.tendon_solref_fri, m.tendon_solimp_fri, i);
  }
  const Tendon& sum = c.model.tendons[0];
  CHECK(sum.margin == .07);
  CHECK(sum.limit.solref == std::array<double, 2>{-7, -8});
  CHECK(sum.friction.solref == std::array<double, 2>{.09, 1.1});
  CHECK(sum.friction.solimp == std::array<double, 5>{.1, .2, .05, .6, 7});
  CHECK(sum.inverse_weight > 0);
}

TEST_CASE("convert: a limit at infinity is a finite number that nothing reaches") {
  const Model m = Converted(
                      "<mujoco><worldbody><body><joint name='j' range='-inf 1'/><geom size='.1'/>"
                      "</body></worldbody><tendon><fixed range='0 inf'><joint joint='j' coef='1'/>"
                      "</fixed></tendon></mujoco>")
                      .model;
  CHECK(m.joints[0].range.low == -mjMAXVAL);
  CHECK(m.joints[0].range.high == mjPI / 180);
  CHECK(m.tendons[0].range.high == mjMAXVAL);
}

TEST_CASE("convert: equalities of bodies, sites, joints and tendons") {
  const Converted c;
  const mjModel& m = c.m();
  const auto& all = c.model.equalities;
  REQUIRE(all.size() == 9);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].object1 == m.eq_obj1id[i]);
    CHECK(all[i].object2 == m.eq_obj2id[i]);
    CHECK(all[i].active == m.eq_active0[i]);
    check_row(all[i].data, m.eq_data, i, mjNEQDATA);
    check_soft(all[i].soft, m.eq_solref, m.eq_solimp, i);
  }
  using enum EqualityKind;
  const EqualityKind kinds[] = {connect, connect, weld, weld, weld, joint, joint, tendon, tendon};
  const bool on_sites[] = {false, true, false, true, false, false, false, false, false};
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].kind == kinds[i]);
    CHECK(all[i].on_sites == on_sites[i]);
    CHECK(all[i].active == (i != 2));
  }
  CHECK(all[0].name == "pin");
  CHECK(all[0].object2 == 0);  // the world
  CHECK(all[0].soft.solref == std::array<double, 2>{.11, 1.2});
  CHECK(all[0].data[2] == .3);
  CHECK(c.model.sites[static_cast<std::size_t>(all[1].object1)].name == "tip");
  CHECK(c.model.sites[static_cast<std::size_t>(all[1].object2)].name == "hook");
  CHECK(all[2].data[10] == 9);  // torquescale
  CHECK(all[3].data[10] == 2);
  CHECK(all[5].data[4] == .5);
  CHECK(c.model.joints[static_cast<std::size_t>(all[5].object2)].name == "slide");
  CHECK(all[6].object2 == -1);
  CHECK(all[7].object1 == 0);
  CHECK(all[7].object2 == 1);
  CHECK(all[8].name == "taut");
  CHECK(all[8].object2 == -1);
}

TEST_CASE("refuse_unsupported: a model with every kind of constraint passes") {
  CHECK_NOTHROW(refuse_unsupported(*compile_model(kConstrained, {}), true));
}

}  // namespace
}  // namespace cycloid
