// A model with every kind of row but contacts, and its rows as functions of one flat input.
//
// The robot and the inputs are those of two_trees_test.h. Ranges, margins and friction losses are
// such that at the points of scene_points rows count and do not count, stick and slip.
#pragma once

#include <vector>

#include "cycloid/rigid/constraint/static_rows.h"
#include "cycloid/rigid/solver/constraint_newton_pullback.h"
#include "cycloid/rigid/solver/constraint_response.h"
#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::test {

inline Compliance compliance(std::array<double, 2> solref, std::array<double, 5> solimp) {
  return {solref, solimp};
}

// Curved where the residuals of the points lie, so that every number of solimp has a part.
inline const Compliance kCurved = compliance({0.05, 0.8}, {0.3, 0.9, 2.3, 0.45, 2.6});
inline const Compliance kStiff = compliance({0.02, 0.6}, {0.3, 0.9, 0.9, 0.35, 2.2});
inline const Compliance kDirect = compliance({-120, -9}, {0.5, 0.95, 1.7, 0.3, 2});
inline const Compliance kHasty = compliance({0.003, 1.2}, {0.4, 0.8, 3.1, 0.6, 1.7});  // refsafe

class RowModel {
 public:
  RowModel() : t_(TwoTrees::make()) {
    b_.model = t_.model;
    FixedNumbers random(5);
    for (Body& b : b_.model.bodies) {
      for (double& w : b.inverse_weight) w = b.tree < 0 ? 0 : 0.6 + 0.3 * random.next();
    }
    for (Dof& d : b_.model.dofs) {
      d.inverse_weight = 0.7 + 0.3 * random.next();
      d.friction = kCurved;
    }
    tendons();
    joints();
    const auto body = [&](int site) { return at(b_.model.sites, site).body; };
    const int arm = body(t_.on_arm), fore = body(t_.on_fore), tool = body(t_.on_tool),
              side = body(t_.on_side), drone = body(t_.on_drone), rotor = body(t_.on_rotor);
    equality(EqualityKind::connect, false, arm, drone, kCurved);
    equality(EqualityKind::connect, false, tool, 0, kHasty);
    equality(EqualityKind::connect, false, fore, side, kDirect);
    equality(EqualityKind::connect, true, t_.on_tool, t_.on_rotor, kCurved);
    equality(EqualityKind::weld, false, rotor, fore, kCurved);
    equality(EqualityKind::weld, false, drone, 0, kDirect);
    equality(EqualityKind::weld, false, body(t_.on_post), tool, kHasty);
    equality(EqualityKind::weld, true, t_.on_side, t_.on_drone, kCurved);
    equality(EqualityKind::joint, false, t_.a1, t_.r2, kCurved);
    equality(EqualityKind::joint, false, t_.side, -1, kDirect);
    equality(EqualityKind::joint, false, t_.a2, t_.a1, kHasty);
    equality(EqualityKind::tendon, false, 0, 1, kCurved);
    equality(EqualityKind::tendon, false, 2, -1, kDirect);
    equality(EqualityKind::tendon, false, 1, 2, kCurved);
    b_.model.equalities.push_back(b_.model.equalities[0]);  // one that is off
    b_.model.equalities.back().active = false;
  }
  Model model() const { return b_.model; }

 private:
  template <class T>
  static T& at(std::vector<T>& v, int i) {
    return v[static_cast<std::size_t>(i)];
  }

  void tendons() {
    const auto site = [](int s) { return Wrap{WrapKind::site, s, 0}; };
    b_.tendon(TendonKind::fixed, {{WrapKind::joint, t_.a1, 0.7},
                                  {WrapKind::joint, t_.r2, -1.3},
                                  {WrapKind::joint, t_.a2, 0.4}});
    b_.tendon(TendonKind::spatial,
              {site(t_.w), site(t_.on_arm), site(t_.on_tool), site(t_.on_drone)});
    b_.tendon(TendonKind::spatial,
              {site(t_.on_post), site(t_.on_side), Wrap{WrapKind::pulley, -1, 2.5},
               site(t_.on_rotor), site(t_.on_fore)});
    const double range[3][2] = {{-0.1, 0.2}, {1.5, 2.6}, {0.9, 1.4}};
    for (int i = 0; i < 3; ++i) {
      Tendon& t = at(b_.model.tendons, i);
      t.range = {true, range[i][0], range[i][1]};
      t.margin = i == 1 ? 0.7 : 0;
      t.limit = i == 0 ? kDirect : i == 1 ? kCurved : kStiff;
      t.friction = kCurved;
      t.frictionloss = i == 1 ? 0 : i == 0 ? 0.3 : 400;
      t.inverse_weight = 0.8 + 0.1 * i;
    }
  }

  void joints() {
    const auto limit = [&](int j, double low, double high, double margin, const Compliance& c) {
      Joint& joint = at(b_.model.joints, j);
      joint.range = {true, low, high};
      joint.margin = margin;
      joint.limit = c;
    };
    limit(t_.a1, 0.1, 0.5, 0, kStiff);
    limit(t_.a2, -0.1, 0.5, 0.4, kDirect);  // both ends may count at once
    limit(t_.side, -2, 2, 0, kCurved);      // never counts
    limit(t_.r1, 0.1, 0.4, 0, kHasty);
    limit(t_.ball, 0, 1.2, 0.15, kCurved);
    for (const int j : {t_.a1, t_.ball, t_.r2}) {
      const Joint& joint = at(b_.model.joints, j);
      for (int k = 0; k < dof_numbers(joint.kind); ++k) {
        at(b_.model.dofs, joint.dof + k).frictionloss = j == t_.a1 ? 15 : 0.4;
      }
    }
  }

  void equality(EqualityKind kind, bool on_sites, int object1, int object2, const Compliance& c) {
    FixedNumbers random(31 + b_.model.equalities.size());
    Named<Equality> e;
    e.name = std::string("e").append(std::to_string(b_.model.equalities.size()));
    e.kind = kind;
    e.on_sites = on_sites;
    e.object1 = object1;
    e.object2 = object2;
    e.soft = c;
    for (double& x : e.data) x = 0.4 * random.next();
    b_.model.equalities.push_back(e);
  }

  TwoTrees t_;
  ModelBuilder b_;
};

// The problem's rows at a row of inputs; μ and q̈ are held fixed.
template <class S>
struct RowScene {
  const Tree& tree;
  const StaticRows& rows;
  Scene<S> scene;
  FixedField<S> acceleration;
  std::vector<Motion<S>> v, bias, a;
  ConstraintProblem<S> problem;
  Arena memory;
  std::vector<int> place;
  std::vector<S> mu, qacc;  // padded
  std::vector<S> w, r, f;   // of all rows

  RowScene(const Tree& t, const DofBlocks& dofs, const StaticRows& list, const S* in)
      : tree(t),
        rows(list),
        scene(t, in),
        acceleration(scene),
        v(t.links.size()),
        bias(v),
        a(v),
        memory(carve_memory(problem, dofs, list.capacity())),
        place(static_cast<std::size_t>(list.count()) + 1),
        mu(static_cast<std::size_t>(dofs.size())),
        qacc(mu) {
    const Vec3<S> gravity = vec3_of<S>(scene.p.data() + t.options.gravity);
    const Motion<S>* column = scene.column.data();
    const S* no_qacc = nullptr;
    motion_fields(t, column, scene.qvel.data(), no_qacc, gravity, v.data(), bias.data());
    motion_fields(t, column, scene.qvel.data(), acceleration.x.data(), gravity, v.data(), a.data());
    problem.clear();
    add_static_rows(rows, t, scene.p.data(), instant(bias.data()), problem, place.data());
    problem.close();
    pad(dofs, static_cast<const S*>(scene.mu.data()), mu.data());
    pad(dofs, static_cast<const S*>(acceleration.x.data()), qacc.data());
    const auto all = static_cast<std::size_t>(problem.all_rows());
    w.resize(all), r.resize(all), f.resize(all);
    row_products(problem, static_cast<const S*>(mu.data()), w.data());
    row_residuals(problem, static_cast<const S*>(qacc.data()), r.data());
    for (int i = 0; i < problem.all_rows(); ++i) {
      const auto k = static_cast<std::size_t>(i);
      f[k] = row_force(law(i), problem.D[i], problem.friction[i], r[k]);
    }
  }
  RowScene(const RowScene&) = delete;

  RowInstant<S> instant(const Motion<S>* a_field) const {
    return {scene.frames,
            {scene.m.data(), acceleration.y.data(), a_field, v.data()},
            scene.qpos.data(),
            scene.qvel.data(),
            scene.mu.data(),
            acceleration.x.data(),
            {S(scene.p[static_cast<std::size_t>(tree.options.timestep)]), S(1), true}};
  }
  RowLaw law(int i) const {
    if (i < problem.diagonals) return problem.diagonal[i].law;
    int g = 0;
    while (problem.group_row(g) + problem.group[g].rows <= i) ++g;
    return problem.group[g].law;
  }
};

// Rows of each entry of the lists, in their order.
inline std::vector<int> rows_of_entries(const StaticRows& list) {
  std::vector<int> rows(static_cast<std::size_t>(list.count()), 1);
  const std::size_t first = list.joint_limits.size() + list.dof_frictions.size();
  for (std::size_t i = 0; i < list.connects.size(); ++i) rows[first + i] = 3;
  for (std::size_t i = 0; i < list.welds.size(); ++i) rows[first + list.connects.size() + i] = 6;
  return rows;
}

// visit(slot, row of the problem) for all rows that are in the problem; slots number all rows.
template <class S, class Visit>
void for_each_slot(const RowScene<S>& at, Visit visit) {
  const std::vector<int> rows = rows_of_entries(at.rows);
  std::size_t slot = 0;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    for (int k = 0; k < rows[e]; ++k, ++slot) {
      if (at.place[e] >= 0) visit(slot, static_cast<std::size_t>(at.place[e] + k));
    }
  }
}

// The cotangents of Σ_rows bar_i w_i f_i, carried to the inputs.
template <class S>
void row_scene_pullback(const RowScene<S>& at, const S* in, const S* bar, S* in_bar) {
  const Tree& tree = at.tree;
  const std::size_t all = at.w.size(), bodies = tree.model.bodies.size();
  std::vector<S> f(all, S(0)), f_bar(all, S(0)), r_bar(all, S(0)), a_ref_bar(all, S(0)),
      D_bar(all, S(0)), friction_bar(all, S(0));
  for_each_slot(at, [&](std::size_t slot, std::size_t i) {
    f[i] = at.f[i] * bar[slot];
    f_bar[i] = at.w[i] * bar[slot];
  });
  add_row_cotangents(at.problem, at.r.data(), f_bar.data(),
                     RowCotangents<S>{a_ref_bar.data(), D_bar.data(), friction_bar.data()},
                     r_bar.data());
  for (std::size_t i = 0; i < all; ++i) a_ref_bar[i] -= r_bar[i];

  SceneBars<S> bars(at.scene, in);
  std::vector<Force<S>> alpha(bodies);
  for (auto& W : alpha) W = Force<S>{};
  ReferenceOptions<S> options_bar{};
  static_rows_pullback(
      at.rows, tree, at.scene.p.data(), at.instant(at.a.data()), at.place.data(),
      RowResults<S>{f.data(), r_bar.data(), a_ref_bar.data(), D_bar.data(), friction_bar.data()},
      RowGradient<S>{{bars.m.data(), alpha.data(), bars.a.data(), bars.v.data(), bars.pose.data()},
                     bars.q_bar.data(),
                     bars.v_bar.data(),
                     bars.p_bar.data(),
                     options_bar});
  bars.p_bar[static_cast<std::size_t>(tree.options.timestep)] += options_bar.timestep;
  FieldSweepMemory<S> sweep(tree);
  const FieldSweepSpace<S> space = sweep.view();
  space.clear(tree);
  for (std::size_t b = 0; b < bodies; ++b) space.bars.m[b] = alpha[b];
  field_sweep_pullback(tree, at.scene.p.data(), at.scene.frames, at.scene.qpos.data(),
                       at.acceleration.x.data(), at.acceleration.y.data(), space, bars.q_bar.data(),
                       bars.p_bar.data(), space.mocap_bar);
  // The world's part of the field a is gravity's: nothing is left of it.
  S* const rest = in_bar;
  bars.add_to_inputs(rest, at.a.data(), at.acceleration.x.data());
  for (int k = 0; k < 3; ++k) {
    in_bar[2 * tree.model.nv + tree.options.gravity + k] -= bars.a[0].force[k];
  }
}

// check(rows, now, later, J q̇) at every point of the row model without displacement. There q̇ is
// how the displacement moves, and q̈ how q̇ does: the dual number of `later` follows the motion.
template <class Check>
void follow_in_time(Check check) {
  using D = Dual<double, 1>;
  const Tree tree(RowModel().model());
  const DofBlocks dofs(tree.parent_dof);
  const StaticRows rows(tree, dofs);
  for (Numbers in : scene_points(tree)) {
    const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
    for (std::size_t k = 0; k < nv; ++k) in[k] = 0;
    const RowScene<double> now(tree, dofs, rows, in.data());
    std::vector<D> moving(in.begin(), in.end());
    for (std::size_t k = 0; k < nv; ++k) moving[k].tangent[0] = in[nv + k];
    for (std::size_t k = 0; k < nv; ++k) moving[nv + k].tangent[0] = now.acceleration.x[k];
    const RowScene<D> later(tree, dofs, rows, moving.data());
    Numbers qvel(static_cast<std::size_t>(dofs.size())),
        products(static_cast<std::size_t>(now.problem.all_rows()));
    pad(dofs, static_cast<const double*>(now.scene.qvel.data()), qvel.data());
    row_products(now.problem, static_cast<const double*>(qvel.data()), products.data());
    check(rows, now, later, products);
  }
}

}  // namespace cycloid::test
