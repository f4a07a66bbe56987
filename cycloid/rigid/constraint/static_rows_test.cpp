#include "cycloid/rigid/constraint/static_rows.h"

#include "cycloid/rigid/constraint/mujoco_static_rows_test.h"
#include "cycloid/rigid/constraint/row_case_test.h"
#include "cycloid/rigid/tree/workspace.h"

namespace cycloid::static_rows_test {

using test::FixedNumbers;
using test::Numbers;
using test::RowScene;

struct Case {
  Tree tree{test::RowModel().model()};
  DofBlocks dofs{tree.parent_dof};
  StaticRows rows{tree, dofs};
  std::vector<Numbers> points = test::scene_points(tree);

  int outputs() const { return rows.capacity().diagonals + rows.capacity().rows; }
  template <class S>
  void forces(const S* in, S* out) const {
    const RowScene<S> at(tree, dofs, rows, in);
    for (int i = 0; i < outputs(); ++i) out[i] = S(0);
    test::for_each_slot(at,
                        [&](std::size_t slot, std::size_t i) { out[slot] = at.w[i] * at.f[i]; });
  }
  template <class S>
  void forces_pullback(const S* in, const S* out_bar, S* in_bar) const {
    const RowScene<S> at(tree, dofs, rows, in);
    test::row_scene_pullback(at, in, out_bar, in_bar);
  }
};

TEST_CASE("static_rows: pullbacks of all kinds equal dual numbers, rows counting or not") {
  const Case c;
  // Rows whose D is a thousand times that of others: each has its own row of the Jacobian.
  const bool passed = test::check_pullback(
      "static_rows", c.outputs(), [&](const auto* in, auto* out) { c.forces(in, out); },
      [&](const auto* in, const auto* out_bar, auto* in_bar) {
        c.forces_pullback(in, out_bar, in_bar);
      },
      c.points);
  if (!passed) return;
  for (const char* part :
       {"row_block", "limit_gap", "joint_limit", "ball_limit", "dof_friction", "joint_equality",
        "tendon_row", "tendon_limit", "tendon_friction", "tendon_equality", "anchor_point",
        "anchor_pair", "connect", "turn_field", "weld_frames", "weld_turn", "weld"}) {
    test::mark_operator_tested(part);
  }
}

TEST_CASE("static_rows: at the test's points limits count and do not, friction sticks and slips") {
  const Case c;
  std::vector<int> counted(static_cast<std::size_t>(c.outputs()), 0), pressed(counted),
      stuck(counted);
  int low = 0, high = 0;
  for (const Numbers& in : c.points) {
    const RowScene<double> at(c.tree, c.dofs, c.rows, in.data());
    test::for_each_slot(at, [&](std::size_t slot, std::size_t i) {
      ++counted[slot];
      pressed[slot] += at.f[i] != 0;
      stuck[slot] += std::abs(at.f[i]) < at.problem.friction[i];
    });
    for (int i = 0; i < at.problem.diagonals; ++i) {
      if (at.problem.diagonal[i].law == RowLaw::one_sided) ++(at.problem.sign[i] > 0 ? low : high);
    }
  }
  const auto some = [&](int n) { return n > 0 && n < static_cast<int>(c.points.size()); };
  int changing = 0, never = 0, always_off = 0;
  for (std::size_t i = 0; i < counted.size(); ++i) {
    changing += some(counted[i]);
    always_off += counted[i] == 0;
    never += counted[i] > 0 && pressed[i] == 0;
  }
  CHECK(changing >= 6);
  CHECK(always_off == 1);  // the hinge with a wide range
  CHECK(never == 0);
  CHECK(low > 0);
  CHECK(high > 0);
  const std::size_t first = c.rows.joint_limits.size(), frictions = c.rows.dof_frictions.size();
  int sticking = 0, slipping = 0;
  for (std::size_t i = first; i < first + frictions; ++i) {
    sticking += stuck[i];
    slipping += counted[i] - stuck[i];
  }
  CHECK(sticking > 0);
  CHECK(slipping > 0);
}

TEST_CASE("static_rows: every number that a row looks at has a cotangent somewhere") {
  const Case c;
  std::vector<int> wanted = {c.tree.options.timestep};
  const auto want = [&](int place, int numbers) {
    for (int k = 0; k < numbers && place >= 0; ++k) wanted.push_back(place + k);
  };
  for (std::size_t j = 0; j < c.tree.joints.size(); ++j) {
    const Named<Joint>& joint = c.tree.source.joints[j];
    if (joint.kind == JointKind::ball) want(c.tree.joints[j].range + 1, 1);  // the larger
    if (joint.name == "a1" || joint.name == "a2" || joint.name == "r1") {
      want(c.tree.joints[j].range, 2);
    }
    want(c.tree.joints[j].frictionloss, dof_numbers(joint.kind));
  }
  for (const TendonPlaces& t : c.tree.tendons) want(t.range, 2);
  want(c.tree.tendons[0].frictionloss, 1);  // the other sticks
  for (std::size_t e = 0; e < c.tree.equalities.size(); ++e) {
    const EqualityPlaces& at = c.tree.equalities[e];
    const Equality& equality = c.tree.model.equalities[e];
    const bool safe = equality.soft.solref == test::kHasty.solref;
    const bool second = equality.object2 >= 0;
    want(at.solref + (safe ? 1 : 0), at.solref < 0 ? 0 : safe ? 1 : 2);
    want(at.solimp, 5);
    if (equality.kind == EqualityKind::weld) want(at.data + 10, 1);
    if (equality.on_sites) continue;
    if (equality.kind == EqualityKind::connect) want(at.data, at.data < 0 ? 0 : 6);
    if (equality.kind == EqualityKind::weld) want(at.data, 10);
    if (equality.kind >= EqualityKind::joint) want(at.data, second ? 5 : 1);
  }
  Numbers largest(c.points[0].size(), 0.0);
  for (const Numbers& in : c.points) {
    const Numbers ones(static_cast<std::size_t>(c.outputs()), 1.0);
    Numbers in_bar(in.size(), 0.0);
    c.forces_pullback(in.data(), ones.data(), in_bar.data());
    for (std::size_t k = 0; k < in.size(); ++k) {
      largest[k] = std::max(largest[k], std::abs(in_bar[k]));
    }
  }
  for (const int place : wanted) {
    const std::size_t k = static_cast<std::size_t>(2 * c.tree.model.nv + place);
    CHECK_MESSAGE(largest[k] > 1e-6, c.tree.parameters.number_name(place));
  }
  for (int k = 0; k < 2 * c.tree.model.nv; ++k) CHECK(largest[static_cast<std::size_t>(k)] > 1e-3);
}

TEST_CASE("static_rows: what a lane gets does not depend on its neighbours, bit for bit") {
  using S = test::LaneNumber;
  const Case c;
  for (std::size_t which = 0; which < c.points.size(); ++which) {
    std::vector<S> mixed(c.points[0].size()), alone(mixed);
    for (std::size_t k = 0; k < mixed.size(); ++k) {
      for (int l = 0; l < test::kTestLanes; ++l) {
        set_lane(mixed[k], l, c.points[static_cast<std::size_t>(l)][k]);
        set_lane(alone[k], l, c.points[which][k]);
      }
    }
    const std::size_t outputs = static_cast<std::size_t>(c.outputs());
    std::vector<S> forces(outputs), forces_alone(outputs), bar(mixed.size(), S(0)), bar_alone(bar);
    const std::vector<S> ones(outputs, S(1));
    c.forces<S>(mixed.data(), forces.data());
    c.forces<S>(alone.data(), forces_alone.data());
    c.forces_pullback<S>(mixed.data(), ones.data(), bar.data());
    c.forces_pullback<S>(alone.data(), ones.data(), bar_alone.data());
    const int l = static_cast<int>(which);
    for (std::size_t i = 0; i < outputs; ++i) CHECK(lane(forces[i], l) == lane(forces_alone[i], l));
    for (std::size_t k = 0; k < bar.size(); ++k) CHECK(lane(bar[k], l) == lane(bar_alone[k], l));
  }
}

TEST_CASE("static_rows: parameters shared by the lanes give the same rows, also without p_bar") {
  using S = test::LaneNumber;
  const Case c;
  const Numbers& x = c.points[2];
  const std::vector<S> in(x.begin(), x.end());
  RowScene<S> at(c.tree, c.dofs, c.rows, in.data());
  std::vector<double> p;
  for (const S& value : at.scene.p) p.push_back(lane(value, 0));
  const std::vector<S> own_D(at.problem.D, at.problem.D + at.problem.all_rows());
  at.problem.clear();
  std::vector<int> place(at.place);
  add_static_rows(c.rows, c.tree, p.data(), at.instant(at.bias.data()), at.problem, place.data());
  CHECK(place == at.place);
  for (int i = 0; i < at.problem.all_rows(); ++i) {
    CHECK(lane(at.problem.D[i], 1) == lane(own_D[static_cast<std::size_t>(i)], 1));
  }
  test::SceneBars<S> shared(at.scene, in.data()), own(at.scene, in.data());
  std::vector<Force<S>> alpha(shared.m.size());
  ReferenceOptions<S> options_bar{};
  const std::vector<S> ones(own_D.size(), S(1));
  const RowResults<S> results{ones.data(), ones.data(), ones.data(), ones.data(), ones.data()};
  const auto gradient = [&](test::SceneBars<S>& bars, S* p_bar) {
    return RowGradient<S>{
        {bars.m.data(), alpha.data(), bars.a.data(), bars.v.data(), bars.pose.data()},
        bars.q_bar.data(),
        bars.v_bar.data(),
        p_bar,
        options_bar};
  };
  const RowInstant<S> instant = at.instant(at.a.data());
  static_rows_pullback(c.rows, c.tree, p.data(), instant, place.data(), results,
                       gradient(shared, nullptr));
  static_rows_pullback(c.rows, c.tree, at.scene.p.data(), instant, place.data(), results,
                       gradient(own, own.p_bar.data()));
  for (std::size_t b = 0; b < own.pose.size(); ++b) {
    for (int k = 0; k < 3; ++k) {
      CHECK(lane(shared.pose[b].torque[k], 3) == lane(own.pose[b].torque[k], 3));
    }
  }
  for (std::size_t k = 0; k < own.q_bar.size(); ++k) {
    CHECK(lane(shared.q_bar[k], 0) == lane(own.q_bar[k], 0));
  }
}

TEST_CASE("static_rows: forces in float agree with double to its digits") {
  const Case c;
  for (const Numbers& x : c.points) {
    const std::vector<float> in(x.begin(), x.end());
    const std::size_t outputs = static_cast<std::size_t>(c.outputs());
    Numbers reference(outputs);
    std::vector<float> forces(outputs);
    c.forces(x.data(), reference.data());
    c.forces(in.data(), forces.data());
    // The stiffest rows multiply rounding of positions, 1e-7, by k = 10⁴.
    CHECK(test::relative_error(Numbers(forces.begin(), forces.end()), reference) < 1e-4);
  }
}

TEST_CASE("static_rows: what does not act, is not active or moves nothing has no rows") {
  Model model = test::RowModel().model();
  const auto count = [&](const Model& m) {
    const Tree tree(m);
    return StaticRows(tree, DofBlocks(tree.parent_dof)).count();
  };
  const int all = count(model);
  Model without = model;
  without.options.acting.limits = false;
  CHECK(count(without) == all - 10);  // 5 of hinges and slides, 1 of a ball, 4 of tendons
  without = model;
  without.options.acting.friction_loss = false;
  CHECK(count(without) == all - 7);  // 5 of dofs, 2 of tendons
  without = model;
  without.options.acting.equalities = false;
  CHECK(count(without) == all - 14);
  without.options.acting.constraints = false;
  CHECK(count(without) == 0);
  Named<Equality> fixed = model.equalities[0];  // from the world to the post, which stands still
  fixed.name = "fixed", fixed.object1 = 1, fixed.object2 = 0;
  model.equalities.push_back(fixed);
  CHECK(count(model) == all);
}

// The rows of a model at one of MuJoCo's states.
struct MujocoInstant {
  ConstraintProblem<double> problem;
  std::vector<int> place;

  MujocoInstant(const Tree& tree, const DofBlocks& dofs, const StaticRows& rows, const Numbers& p,
                const test::MujocoRows& state)
      : place(static_cast<std::size_t>(rows.count())),
        rows_(carve_memory(problem, dofs, rows.capacity())) {
    Workspace<double> w;
    const Arena work = carve_memory(w, tree);
    kinematics(tree, p.data(), state.qpos.data(), state.mocap.data(), w.frames);
    const double* no_qacc = nullptr;
    motion_fields(tree, static_cast<const Motion<double>*>(w.frames.column), state.qvel.data(),
                  no_qacc, vec3_of<double>(p.data() + tree.options.gravity), w.v, w.a);
    problem.clear();
    add_static_rows(rows, tree, p.data(),
                    RowInstant<double>{w.frames,
                                       {nullptr, nullptr, w.a, w.v},
                                       state.qpos.data(),
                                       state.qvel.data(),
                                       nullptr,
                                       nullptr,
                                       {tree.model.options.timestep, 1, true}},
                    problem, place.data());
    problem.close();
  }
  Numbers products(const Numbers& z) const {
    Numbers padded(static_cast<std::size_t>(problem.size())),
        out(static_cast<std::size_t>(problem.all_rows()));
    pad(*problem.dofs, z.data(), padded.data());
    row_products(problem, static_cast<const double*>(padded.data()), out.data());
    return out;
  }

 private:
  Arena rows_;
};

TEST_CASE("static_rows: residual, J, D, reference and friction are MuJoCo's, for every kind") {
  const Tree tree(test::mujoco_row_model());
  const DofBlocks dofs(tree.parent_dof);
  const StaticRows rows(tree, dofs);
  Numbers p(tree.parameters.default_values().begin(), tree.parameters.default_values().end());
  Numbers length(tree.quaternions.size() + 1);
  prepare_parameters(tree, p.data(), length.data());
  const Numbers z[2] = {FixedNumbers(99).vector(static_cast<std::size_t>(tree.model.nv)),
                        FixedNumbers(7).vector(static_cast<std::size_t>(tree.model.nv))};
  // The worst of 300 such states is 2e-12, in a_ref of stiff rows; here there are three.
  const double tolerance = 1e-11;
  for (const test::MujocoRows& state : test::kMujocoRows) {
    MujocoInstant at(tree, dofs, rows, p, state);
    Numbers products[2];
    for (int v = 0; v < 2; ++v) products[v] = at.products(z[v]);
    const std::vector<int> counts = test::rows_of_entries(rows);
    std::size_t slot = 0;
    for (std::size_t e = 0; e < counts.size(); ++e) {
      for (int k = 0; k < counts[e]; ++k, ++slot) {
        const test::MujocoRow& row = state.rows[slot];
        CHECK((at.place[e] >= 0) == (row.D > 0));
        if (at.place[e] < 0) continue;
        const std::size_t i = static_cast<std::size_t>(at.place[e] + k);
        const Numbers ours = {at.problem.D[i] / row.D, products[0][i], products[1][i],
                              at.problem.friction[i]};
        const Numbers theirs = {1, row.J_first, row.J_second, row.loss};
        CHECK(test::relative_error(ours, theirs) < tolerance);
        CHECK(std::abs(at.problem.a_ref[i] - row.a_ref) <
              tolerance * std::max(std::abs(row.a_ref), 1.0));
      }
    }
    CHECK(slot == state.rows.size());
  }
}

}  // namespace cycloid::static_rows_test
