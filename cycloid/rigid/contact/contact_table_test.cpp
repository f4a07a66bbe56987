// Contacts and their rows against MuJoCo's, in a scene that has both cones, every condim but four
// (which the pair's own six hides), priorities, mixed softness, margins and an explicit pair.
#include "cycloid/rigid/contact/contact_case_test.h"
#include "cycloid/rigid/contact/mujoco_rows_test.h"
#include "cycloid/rigid/step.h"

namespace cycloid::contact_table_test {

using test::Numbers;

Model table_scene(bool elliptic) {
  test::CrowdBuilder b;
  const auto plain = [&](const char* name, int body, Shape shape, std::array<double, 3> size,
                         std::array<double, 3> pos = {},
                         std::array<double, 4> quat = {1, 0, 0, 0}) -> Geom& {
    Geom& g = b.geom(name, body, shape, size, pos, quat);
    g.friction = {1, 0.005, 1e-4};
    g.soft = {};
    g.margin = g.gap = 0;
    return g;
  };
  Geom& floor = plain("floor", 0, Shape::plane, {}, {0.1, 0, 0.05}, {0.98, 0.1, -0.05, 0.08});
  floor.condim = 1, floor.friction = {0.6, 0.02, 0.003}, floor.margin = 0.01;
  const int arm = b.body("arm", 0, {-0.6, 0.1, 0.4}, {0.9, 0.1, 0.2, 0.1});
  b.joint("a1", JointKind::hinge, {0, 1, 0}, {0.02, 0, 0});
  b.joint("a2", JointKind::hinge, {1, 0, 0}, {0, 0.03, 0});
  Geom& link = plain("arm", arm, Shape::capsule, {0.08, 0.2}, {0.1, 0, 0.05}, {0.7, 0.1, 0.7, 0});
  link.condim = 4, link.friction = {0.9, 0.01, 0.002}, link.soft.solref = {-400, -25};
  Geom& ball = plain("ball", b.free_body("ball"), Shape::sphere, {0.15});
  ball.friction = {0.6, 0.02, 0.003}, ball.margin = 0.02, ball.gap = 0.01;
  Geom& rod = plain("rod", b.free_body("rod"), Shape::capsule, {0.1, 0.2}, {0, 0.02, 0});
  rod.condim = 1, rod.solmix = 3, rod.soft = {{0.006, 0.9}, {0.8, 0.97, 0.05, 0.4, 3}};
  Geom& box = plain("box", b.free_body("box"), Shape::box, {0.12, 0.1, 0.15});
  box.condim = 6, box.priority = 1, box.friction = {0.5, 0.03, 0.004}, box.margin = 0.01;
  Named<GivenPair> own;
  own.geom1 = 2, own.geom2 = 1, own.condim = 6;
  own.friction = {0.8, 0.7, 0.02, 0.003, 0.004};
  own.soft.solref = {0.03, 1};
  own.solref_friction = {0.05, 1.1};
  own.margin = 0.03;
  b.model.pairs.push_back(own);
  b.model.options.elliptic = elliptic;
  b.model.options.impratio = 2;
  b.model.options.timestep = 0.004;
  test::complete(b.model);
  for (std::size_t i = 0; i < b.model.bodies.size(); ++i) {
    b.model.bodies[i].inverse_weight[0] = test::kContactWeights[i];
  }
  return b.model;
}

// A row of MuJoCo's, made of those of contact space.
struct RowNumbers {
  double D, a_ref, product;
};
RowNumbers mujoco_row(const ConstraintProblem<double>& problem, int g, const double* products,
                      int i) {
  const int row = problem.group_row(g);
  const double *D = problem.D + row, *a_ref = problem.a_ref + row, *mu = problem.friction + row;
  if (problem.group[g].law == RowLaw::pyramid) {
    const int k = i / 2 + 1;
    const double edge = i % 2 == 0 ? mu[k] : -mu[k];
    return {D[k], a_ref[0] + edge * a_ref[k], products[row] + edge * products[row + k]};
  }
  const double scale = i == 0 ? 1 : mu[i] * mu[i] / mu[0];
  return {D[0] * scale, a_ref[i], products[row + i]};
}

// Both sides round a few hundred times; D and a_ref stretch by 1e2 where the impedance is steep.
constexpr double kTolerance = 1e-13, kRowTolerance = 1e-11;

// Visits one state of the table; returns where the next begins.
const double* check_state(const double* table) {
  const Tree tree(table_scene(*table++ != 0));
  const ModelView& m = tree.model;
  test::RigidMemory<double> memory(tree);
  const Workspace<double>& w = memory.work;
  const double *qpos = table, *qvel = qpos + m.nq;
  const int count = static_cast<int>(qvel[m.nv]);
  table = qvel + m.nv + 1;
  const std::span<const double> defaults = tree.parameters.default_values();
  const test::Prepared<double> prepared(tree, defaults.data());
  kinematics(tree, prepared.p.data(), qpos, static_cast<const double*>(nullptr), w.frames);

  Numbers in(test::Scene<double>::inputs(tree));
  std::copy(defaults.begin(), defaults.end(), in.end() - std::ssize(defaults));
  test::ContactCase<double> c(tree, in.data());
  const ContactScene<double, double> scene{c.plan, tree, prepared.p.data(), w.frames};
  find_contacts(scene, Detection::all, c.space);
  CHECK(c.space.slots == count);
  RowInstant<double> at{w.frames, {}, qpos, qvel, nullptr, nullptr, c.instant.options};
  c.problem.clear();
  add_contact_rows(scene, c.space, at, c.problem);
  c.problem.close();
  Numbers x;
  for (int i = 0; i < m.nv; ++i) x.push_back(0.3 + 0.1 * (7 * i % 11) - 0.05 * i);
  const Numbers products = c.products(x);

  for (int k = 0; k < count && k < c.space.slots; ++k) {
    const ContactPair& pair = scene.pair(c.space.touched[c.space.groups_of(k)[0].owner].pair);
    const ContactSlot<double> slot = gather_slot(scene, c.space, k);
    const ContactFrame<double> F = contact_frame(slot.touch.normal, slot.touch.tangent);
    const Vec3<double> pos = slot.touch.pos + w.frames.origin[pair.reference];
    CHECK(scene.geom(pair.geom1).geom == table[0]);
    CHECK(scene.geom(pair.geom2).geom == table[1]);
    CHECK(pair.condim == table[2]);
    const int rows = static_cast<int>(table[3]);
    const Numbers own{slot.touch.dist, pos.x, pos.y,  pos.z,  F.n.x,
                      F.n.y,           F.n.z, F.t1.x, F.t1.y, F.t1.z};
    CHECK(test::relative_error(own, std::span(table + 4, 10), 1) < kTolerance);
    table += 14;
    for (int i = 0; i < rows; ++i, table += 3) {
      const RowNumbers row = mujoco_row(c.problem, k, products.data(), i);
      CHECK(std::abs(row.D - table[0]) < kRowTolerance * table[0]);
      CHECK(std::abs(row.a_ref - table[1]) < kRowTolerance * (1 + std::abs(table[1])));
      CHECK(std::abs(row.product - table[2]) < kTolerance);
    }
  }
  return table;
}

TEST_CASE("contact rows: MuJoCo's contacts, J, D and a_ref, in its order") {
  const double *at = std::begin(test::kContactRows), *end = std::end(test::kContactRows);
  int states = 0;
  for (; at < end; ++states) at = check_state(at);
  CHECK(at == end);
  CHECK(states == 4);
}

}  // namespace cycloid::contact_table_test
