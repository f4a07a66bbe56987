// A crowd of shapes for tests of contacts: every kind of joint, friction of every dimension.
//
// On a tilted floor stand a post and an arm on it; five free bodies lie on the floor, on the post,
// and on each other. Rows of inputs are those of Scene (two_trees_test.h): displacements of the
// free bodies decide what touches what.
#pragma once

#include "cycloid/rigid/contact/contact_rows_pullback.h"
#include "cycloid/rigid/tree/rigid_case_test.h"
#include "cycloid/rigid/tree/two_trees_test.h"

namespace cycloid::test {

class CrowdBuilder : public ModelBuilder {
 public:
  Geom& geom(const char* name, int body, Shape shape, std::array<double, 3> size,
             std::array<double, 3> pos = {}, std::array<double, 4> quat = {1, 0, 0, 0}) {
    Named<Geom> g;
    g.name = name;
    g.body = body;
    g.shape = shape;
    g.size = size;
    g.pos = pos;
    g.quat = quat;
    const double k = static_cast<double>(model.geoms.size());
    g.friction = {0.6 + 0.05 * k, 0.02 + 0.003 * k, 0.01 + 0.002 * k};
    g.soft.solref = {0.02 + 0.002 * k, 0.9 + 0.05 * k};
    g.soft.solimp = {0.8 + 0.01 * k, 0.95, 0.1 + 0.01 * k, 0.4, 2};
    g.margin = 0.03, g.gap = 0.01;
    model.geoms.push_back(g);
    return model.geoms.back();
  }
  int free_body(const char* name) {
    const int b = body(name, 0, {}, {1, 0, 0, 0});
    joint(name, JointKind::free, {}, {});
    return b;
  }
};

// welded: as MuJoCo has it; and weights of contacts, which a compiled model would have.
inline void complete(Model& m) {
  for (std::size_t b = 0; b < m.bodies.size(); ++b) {
    Body& body = m.bodies[b];
    const bool own = body.joints > 0 || body.mocap >= 0;
    body.welded =
        own ? static_cast<int>(b) : m.bodies[static_cast<std::size_t>(body.parent)].welded;
    body.inverse_weight =
        body.tree < 0 ? std::array{0.0, 0.0} : std::array{0.4 + 0.1 * double(b), 1.0};
  }
}

inline Model crowd(bool elliptic) {
  CrowdBuilder b;
  b.geom("floor", 0, Shape::plane, {}, {0.1, 0, 0.2}, {0.98, 0.1, -0.05, 0.08}).condim = 1;
  const int post = b.body("post", 0, {1, 0.5, 0.7}, {0.9, 0.3, 0.1, -0.2});
  b.geom("post", post, Shape::box, {0.2, 0.15, 0.25}, {0.02, 0.01, 0}, {0.8, 0.1, 0.2, 0.1});
  const int arm = b.body("arm", post, {0.1, 0.2, 0.3}, {0.9, 0.2, -0.1, 0.1});
  b.joint("a1", JointKind::hinge, {0.2, 0.9, 0.3}, {0.05, 0.02, -0.03});
  b.joint("a2", JointKind::slide, {0.9, 0.1, 0.4}, {}, 0.1);
  Geom& link = b.geom("arm", arm, Shape::capsule, {0.08, 0.2}, {0, 0, 0.2}, {0.9, 0.1, 0.3, 0.2});
  link.soft.solref = {-300, -20};
  const int hand = b.body("hand", arm, {0.02, 0.1, 0.4}, {0.7, 0.1, 0.5, 0.2});
  b.joint("wrist", JointKind::ball, {}, {0.01, 0.03, -0.02});
  b.geom("hand", hand, Shape::sphere, {0.15}, {0.05, 0.02, 0.1}).condim = 4;
  b.geom("ball", b.free_body("ball"), Shape::sphere, {0.2}, {0.02, 0, 0.01}).condim = 6;
  Geom& box = b.geom("box", b.free_body("box"), Shape::box, {0.2, 0.12, 0.15}, {0, 0.01, 0.02});
  box.condim = 6, box.priority = 1;
  Geom& rod =
      b.geom("rod", b.free_body("rod"), Shape::capsule, {0.1, 0.25}, {}, {0.8, 0.2, 0, 0.3});
  rod.condim = 1, rod.solmix = 3;
  b.geom("can", b.free_body("can"), Shape::cylinder, {0.15, 0.2}, {0.01, 0.02, 0}).condim = 4;
  b.geom("egg", b.free_body("egg"), Shape::ellipsoid, {0.2, 0.15, 0.1}, {}, {0.7, 0.3, 0.1, 0.2});
  Named<GivenPair> own;
  own.geom1 = 4, own.geom2 = 5, own.condim = 6;
  own.friction = {0.8, 0.7, 0.03, 0.02, 0.025};
  own.soft.solref = {0.03, 1.1};
  own.solref_friction = {0.04, 0.8};
  own.margin = 0.05;
  b.model.pairs.push_back(own);
  b.model.options.elliptic = elliptic;
  b.model.options.impratio = 2;
  b.model.options.timestep = 0.011;  // some time constants are shorter than two steps
  b.model.geoms[3].solmix = 0.5;
  complete(b.model);
  return b.model;
}

// One tree alone, on a floor and beside a post that stands still: all is about its own origin.
inline Model loner(bool elliptic) {
  CrowdBuilder b;
  b.geom("floor", 0, Shape::plane, {}, {0.1, 0, 0.3}, {0.98, 0.1, -0.05, 0.08});
  const int post = b.body("post", 0, {1.2, 0.5, 0.7}, {0.9, 0.3, 0.1, -0.2});
  b.geom("post", post, Shape::box, {0.2, 0.15, 0.25}, {0.02, 0.01, 0}, {0.8, 0.1, 0.2, 0.1});
  const int trunk = b.free_body("trunk");
  b.geom("trunk", trunk, Shape::capsule, {0.15, 0.3}, {0.02, 0, 0.01}, {0.9, 0.2, 0.1, 0}).condim =
      4;
  const int foot = b.body("foot", trunk, {0.1, 0.2, -0.3}, {0.9, 0.2, -0.1, 0.1});
  b.joint("ankle", JointKind::hinge, {0.2, 0.9, 0.3}, {0.05, 0.02, -0.03});
  b.geom("foot", foot, Shape::sphere, {0.2}, {0.05, 0.02, 0.1}).condim = 6;
  b.model.options.elliptic = elliptic;
  complete(b.model);
  return b.model;
}

// Displacements of free bodies of which many meet, small ones of the arm.
inline std::vector<Numbers> crowd_points(const Tree& tree, double near = 0.6) {
  std::vector<Numbers> points = scene_points(tree);
  for (Numbers& x : points) {
    for (const Joint& j : tree.model.joints) {
      const bool free = j.kind == JointKind::free;
      for (int k = 0; k < dof_numbers(j.kind); ++k) {
        x[static_cast<std::size_t>(j.dof + k)] *= free && k < 3 ? near : 0.6;
      }
      if (free) x[static_cast<std::size_t>(j.dof + 2)] -= 0.25;
    }
  }
  return points;
}

// Contacts and their rows at a row of inputs, with all the memory that they need.
template <class S>
struct ContactCase {
  const Scene<S> scene;
  const FixedField<S> acceleration;
  const DofBlocks dofs;
  const ContactPlan plan;
  ContactScene<S, S> at;
  ContactSpace<S> space;
  ConstraintProblem<S> problem;
  Arena space_memory, problem_memory;
  RowInstant<S> instant;
  int first = 0;

  ContactCase(const Tree& tree, const S* in, const S* mocap = nullptr, int most = kMostContacts)
      : scene(tree, in, mocap),
        acceleration(scene),
        dofs(tree.parent_dof),
        plan(tree, dofs, most),
        at{plan, tree, scene.p.data(), scene.frames},
        space_memory(carve_memory(space, plan)),
        problem_memory(carve_memory(problem, dofs, plan.capacity())),
        instant{scene.frames,
                {scene.m.data(), acceleration.y.data(), nullptr, scene.v.data()},
                scene.qpos.data(),
                scene.qvel.data(),
                scene.mu.data(),
                acceleration.x.data(),
                {scene.p[static_cast<std::size_t>(tree.options.timestep)],
                 scene.p[static_cast<std::size_t>(tree.options.impratio)], true}} {}
  void find() { find_contacts(at, Detection::forces, space); }
  void add_rows() {
    problem.clear();
    first = add_contact_rows(at, space, instant, problem);
    problem.close();
  }
  // J x of all rows.
  std::vector<S> products(const std::vector<S>& x) const {
    std::vector<S> padded(static_cast<std::size_t>(dofs.size())),
        out(static_cast<std::size_t>(problem.all_rows()) + 1);
    pad(dofs, x.data(), padded.data());
    row_products(problem, static_cast<const S*>(padded.data()), out.data());
    return out;
  }
  // Visits (slot, row of the slot, row of the problem, 1 in lanes that have the row else 0).
  template <class Visit>
  void for_rows(Visit visit) const {
    for (int slot = 0; slot < space.slots; ++slot) {
      const S rows = gather_slot(at, space, slot).rows;
      const int g = first + slot;
      for (int i = 0; i < problem.group[g].rows; ++i) {
        visit(slot, i, problem.group_row(g) + i, select(rows > S(i), S(1), S(0)));
      }
    }
  }
};

using Lanes = Pack<double, 4>;

// Four points, one per lane.
inline std::vector<Lanes> in_lanes(const std::vector<Numbers>& points,
                                   const std::array<std::size_t, 4>& order) {
  std::vector<Lanes> in(points[0].size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    for (int l = 0; l < 4; ++l) set_lane(in[i], l, points[order[static_cast<std::size_t>(l)]][i]);
  }
  return in;
}

// The contacts of one lane: pair, place, feature, and the numbers of each slot.
struct LaneContact {
  int pair, place;
  double feature;
  Numbers numbers;
  bool operator==(const LaneContact&) const = default;
};
template <class S>
std::vector<LaneContact> contacts_of(const ContactCase<S>& c, int l) {
  std::vector<LaneContact> list;
  for (int slot = 0; slot < c.space.slots; ++slot) {
    const ContactSlot<S> own = gather_slot(c.at, c.space, slot);
    for_each_group(c.space, slot, [&](const SlotGroup<S>& group) {
      if ((group.bits >> l & 1) == 0) return;
      const PairTouch<S>& touch = c.space.touch[group.touch];
      LaneContact k{
          c.space.touched[group.owner].pair, touch.place, take_lane(touch.feature, l), {}};
      const double* all = reinterpret_cast<const double*>(&own);
      for (std::size_t i = 0; i < sizeof own / sizeof(S); ++i) {
        k.numbers.push_back(all[i * kLanes<S> + static_cast<std::size_t>(l)]);
      }
      list.push_back(k);
    });
  }
  return list;
}

}  // namespace cycloid::test
