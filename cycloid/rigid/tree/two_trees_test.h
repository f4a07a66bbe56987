// A hand-built model for tests of rows and passive forces, and the way from its inputs to fields.
//
// Two trees: an arm on a post that stands still (hinge and slide on one body; a ball with a body
// fixed to it; a hinge beside it), and a free body with two hinges on its child. Inputs of an
// operator under test are one flat row [displacement (nv), qvel (nv), parameters]; μ is constant.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "cycloid/rigid/tree/field_sweep.h"
#include "cycloid/rigid/tree/row.h"
#include "cycloid/rigid/tree/tree.h"
#include "tests/support/pullback_check.h"

namespace cycloid::test {

class ModelBuilder {
 public:
  ModelBuilder() { model.bodies.emplace_back(); }

  int body(const char* name, int parent, std::array<double, 3> pos, std::array<double, 4> quat) {
    FixedNumbers random(model.bodies.size());
    Named<Body> b;
    b.name = name;
    b.parent = parent;
    b.tree = at(model.bodies, parent).tree;
    b.pos = pos;
    b.quat = quat;
    b.first_joint = static_cast<int>(model.joints.size());
    b.first_dof = model.nv;
    b.mass = 1 + 0.3 * random.next();
    for (double& x : b.com) x = 0.1 * random.next();
    b.inertia = {
        0.04, 0.05, 0.06, 0.004 * random.next(), 0.004 * random.next(), 0.004 * random.next()};
    b.inertia_quat = unit({0.8, random.next(), random.next(), random.next()});
    model.bodies.push_back(b);
    return static_cast<int>(model.bodies.size()) - 1;
  }
  int joint(const char* name, JointKind kind, std::array<double, 3> axis, std::array<double, 3> pos,
            double reference = 0) {
    Body& b = model.bodies.back();
    if (b.tree < 0) b.tree = model.trees++;
    Named<Joint> j;
    j.name = name;
    j.kind = kind;
    j.body = static_cast<int>(model.bodies.size()) - 1;
    j.qpos = model.nq;
    j.dof = model.nv;
    const double length = std::hypot(axis[0], axis[1], axis[2]);
    for (int k = 0; k < 3 && length > 0; ++k) {
      j.axis[static_cast<std::size_t>(k)] = axis[static_cast<std::size_t>(k)] / length;
    }
    j.pos = pos;
    j.qpos0[0] = reference;
    for (int k = 0; k < dof_numbers(kind); ++k) {
      Dof d;
      d.joint = static_cast<int>(model.joints.size());
      d.body = j.body;
      d.parent = last_dof(j.body);
      d.armature = 0.1;
      model.dofs.push_back(d);
      ++b.dofs;
      ++model.nv;
    }
    ++b.joints;
    model.nq += qpos_numbers(kind);
    model.joints.push_back(j);
    return static_cast<int>(model.joints.size()) - 1;
  }
  int site(const char* name, int body, std::array<double, 3> pos, std::array<double, 4> quat) {
    model.sites.push_back({{body, pos, quat}, name});
    return static_cast<int>(model.sites.size()) - 1;
  }
  int tendon(TendonKind kind, std::initializer_list<Wrap> wraps) {
    Named<Tendon> t;
    t.kind = kind;
    t.first_wrap = static_cast<int>(model.wraps.size());
    t.wraps = static_cast<int>(wraps.size());
    model.wraps.insert(model.wraps.end(), wraps);
    model.tendons.push_back(t);
    return static_cast<int>(model.tendons.size()) - 1;
  }
  int actuator(TransmissionKind kind, int target, int reference, std::array<double, 6> gear) {
    Named<Actuator> a;
    a.transmission = kind;
    a.target = target;
    a.reference_site = reference;
    a.gear = gear;
    model.actuators.push_back(a);
    return static_cast<int>(model.actuators.size()) - 1;
  }

  Model model;

 private:
  template <class T>
  static T& at(std::vector<T>& v, int i) {
    return v[static_cast<std::size_t>(i)];
  }
  static std::array<double, 4> unit(std::array<double, 4> q) {
    const double n = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (double& x : q) x /= n;
    return q;
  }
  int last_dof(int body) {
    for (; body > 0; body = at(model.bodies, body).parent) {
      const Body& b = at(model.bodies, body);
      if (b.dofs > 0) return b.first_dof + b.dofs - 1;
    }
    return -1;
  }
};

// The robot, and indices of its elements.
struct TwoTrees {
  static TwoTrees make();

  Model model;
  int a1, a2, ball, side, free, r1, r2;                                   // joints
  int w, on_post, on_arm, on_fore, on_tool, on_side, on_drone, on_rotor;  // sites
};

inline TwoTrees TwoTrees::make() {
  ModelBuilder b;
  TwoTrees t;
  const int post = b.body("post", 0, {0.2, 0.1, 0.4}, {0.8, 0.3, 0.1, -0.2});
  const int arm = b.body("arm", post, {0.1, 0.2, 0.3}, {0.9, 0.2, -0.1, 0.1});
  t.a1 = b.joint("a1", JointKind::hinge, {0.2, 0.9, 0.3}, {0.05, 0.02, -0.03});
  t.a2 = b.joint("a2", JointKind::slide, {0.9, 0.1, 0.4}, {}, 0.1);
  const int fore = b.body("fore", arm, {0.02, 0.1, 0.4}, {0.7, 0.1, 0.5, 0.2});
  t.ball = b.joint("ball", JointKind::ball, {}, {0.01, 0.03, -0.02});
  const int tool = b.body("tool", fore, {0.1, 0.1, 0.1}, {0.9, 0.1, -0.2, 0.3});
  const int side = b.body("side", arm, {-0.12, 0.1, 0.2}, {0.7, 0.4, 0.5, 0.2});
  t.side = b.joint("side", JointKind::hinge, {0.4, 0.2, 0.8}, {0.01, 0.06, 0.02}, 0.3);
  const int drone = b.body("drone", 0, {}, {1, 0, 0, 0});
  t.free = b.joint("free", JointKind::free, {}, {});
  const int rotor = b.body("rotor", drone, {0.1, 0.1, 0.1}, {0.9, 0.1, 0.1, 0.3});
  t.r1 = b.joint("r1", JointKind::hinge, {0.1, 0.2, 0.9}, {});
  t.r2 = b.joint("r2", JointKind::hinge, {0.9, 0.2, 0.1}, {0, 0.02, 0.1});
  t.w = b.site("w", 0, {0.3, -0.2, 1.1}, {0.9, 0.1, -0.3, 0.2});
  t.on_post = b.site("post", post, {0.1, 0.05, 0.2}, {0.7, -0.1, 0.4, 0.3});
  t.on_arm = b.site("arm", arm, {0.1, -0.05, 0.22}, {0.7, 0.2, 0.5, -0.3});
  t.on_fore = b.site("fore", fore, {0.1, 0.15, 0.1}, {0.6, 0.2, -0.5, -0.3});
  t.on_tool = b.site("tool", tool, {0.03, 0.02, 0.05}, {0.3, 0.2, -0.5, 0.6});
  t.on_side = b.site("side", side, {0.05, 0.1, -0.1}, {0.5, 0.3, -0.5, 0.1});
  t.on_drone = b.site("drone", drone, {0.1, -0.1, 0.05}, {0.9, 0.2, 0.3, 0.1});
  t.on_rotor = b.site("rotor", rotor, {0.1, 0.02, 0.03}, {0.3, 0.2, 0.6, 0.4});
  b.model.options.density = 1.3;
  b.model.options.viscosity = 0.7;
  b.model.options.wind = {0.4, -0.3, 0.2};
  t.model = b.model;
  return t;
}

// Kinematics and the fields of μ and q̇ at a row of inputs.
template <class S>
struct Scene {
  const Tree& tree;
  std::vector<S> qpos, qvel, mu, p;
  std::vector<Quat<S>> link_quat, before_quat;
  std::vector<Vec3<S>> link_anchor, before_pos, pos, origin;
  std::vector<Mat3<S>> R;
  std::vector<S> turn_sin, turn_cos;
  std::vector<Motion<S>> column, m, v;
  Frames<S> frames;
  RowPoint<S> point;

  static std::size_t inputs(const Tree& tree) {
    return static_cast<std::size_t>(2 * tree.model.nv + tree.parameters.size());
  }

  Scene(const Tree& t, const S* in, const S* mocap = nullptr)
      : tree(t),
        qpos(static_cast<std::size_t>(t.model.nq), S(0)),
        qvel(in + t.model.nv, in + 2 * t.model.nv),
        p(in + 2 * t.model.nv, in + inputs(t)),
        link_quat(t.links.size()),
        before_quat(t.model.bodies.size()),
        link_anchor(t.links.size()),
        before_pos(t.model.bodies.size()),
        pos(t.model.bodies.size()),
        origin(t.model.bodies.size()),
        R(t.model.bodies.size()),
        turn_sin(t.links.size()),
        turn_cos(t.links.size()),
        column(t.model.dofs.size()),
        m(t.links.size()),
        v(t.links.size()),
        frames{link_quat.data(),   link_anchor.data(), turn_sin.data(), turn_cos.data(),
               before_quat.data(), before_pos.data(),  R.data(),        pos.data(),
               origin.data(),      column.data()},
        point{frames, m.data(), v.data(), qpos.data(), nullptr, qvel.data()} {
    for (const double x : FixedNumbers(99).vector(qvel.size())) mu.push_back(S(x));
    point.mu = mu.data();
    std::vector<S> length(t.quaternions.size() + 1);
    prepare_parameters(t, p.data(), length.data());
    for (const Joint& j : t.model.joints) {
      const S* moved = in + j.dof;
      S* q = qpos.data() + j.qpos;
      const bool free = j.kind == JointKind::free;
      if (dof_numbers(j.kind) == 1) {
        *q = *moved + S(0.2);
      } else {
        if (free) store(q, load_vec3(moved) + Vec3<S>{S(1.0), S(0.5), S(0.7)});
        store(q + (free ? 3 : 0), retract(normalise(Quat<S>{S(0.8), S(0.1), S(-0.4), S(0.3)}),
                                          load_vec3(moved + (free ? 3 : 0))));
      }
    }
    kinematics(t, p.data(), qpos.data(), mocap, frames);
    velocity_field(t, column.data(), mu.data(), m.data());
    velocity_field(t, column.data(), qvel.data(), v.data());
  }
  Scene(const Scene&) = delete;
};

// Gathers what a pullback leaves, and carries it to the inputs.
template <class S>
struct SceneBars {
  const Scene<S>& at;
  const S* in;
  std::vector<Force<S>> m, a, v, pose;
  std::vector<S> q_bar, v_bar, p_bar;
  BodyBars<S> bodies;
  RowSinks<S> sinks;

  SceneBars(const Scene<S>& scene, const S* inputs)
      : at(scene),
        in(inputs),
        m(scene.pos.size()),
        a(m),
        v(m),
        pose(m),
        q_bar(scene.qvel.size(), S(0)),
        v_bar(q_bar),
        p_bar(scene.p.size(), S(0)),
        bodies{m.data(), a.data(), v.data(), pose.data()},
        sinks{bodies, q_bar.data(), v_bar.data(), p_bar.data()} {
    bodies.clear(m.size());
  }
  SceneBars(const SceneBars&) = delete;

  // The sweep with massless bodies; what it gives the inertias is not wanted. a: a field of
  // acceleration with its qacc, or at rest.
  void add_to_inputs(S* in_bar, const Motion<S>* a_field = nullptr, const S* qacc = nullptr) {
    const Tree& tree = at.tree;
    const std::size_t nv = q_bar.size();
    std::vector<SpatialInertia<S>> inertia(m.size());
    for (auto& i : inertia) i = SpatialInertia<S>{S(0), {}, {}};
    std::vector<Motion<S>> rest(tree.links.size());
    for (auto& y : rest) y = Motion<S>{};
    const std::vector<S> none(nv, S(0));
    std::vector<S> tree_bar(p_bar.size(), S(0));
    const SweepPoint<S> point{tree,
                              at.frames,
                              inertia.data(),
                              at.v.data(),
                              a_field ? a_field : rest.data(),
                              at.m.data(),
                              at.qpos.data(),
                              at.qvel.data(),
                              qacc ? qacc : none.data(),
                              at.mu.data()};
    sweep_pullback(point, at.p.data(), bodies, q_bar.data(), v_bar.data(), tree_bar.data(),
                   static_cast<S*>(nullptr));
    for (const BodyPlaces& b : tree.bodies) {
      if (b.mass < 0) continue;
      tree_bar[static_cast<std::size_t>(b.mass)] = S(0);
      for (int k = 0; k < 3; ++k) tree_bar[static_cast<std::size_t>(b.com + k)] = S(0);
      for (int k = 0; k < 6; ++k) tree_bar[static_cast<std::size_t>(b.inertia + k)] = S(0);
    }
    for (const int place : tree.armature) tree_bar[static_cast<std::size_t>(place)] = S(0);
    for (std::size_t k = 0; k < p_bar.size(); ++k) p_bar[k] += tree_bar[k];
    for (const int place : tree.quaternions) {  // tangent sums become four numbers
      store(p_bar.data() + place, ambient_from_tangent_cotangent(load_quat(in + 2 * nv + place),
                                                                 load_vec3(p_bar.data() + place)));
    }
    for (const Link& link : tree.links) {  // from tangents at q to the displacement
      if (link.kind != LinkKind::ball) continue;
      Vec3<S> base{}, moved{};
      retract_tangent_pullback(Quat<S>{}, load_vec3(in + link.dof),
                               load_vec3(q_bar.data() + link.dof), base, moved);
      store(q_bar.data() + link.dof, moved);
    }
    for (std::size_t k = 0; k < nv; ++k) in_bar[k] += q_bar[k];
    for (std::size_t k = 0; k < nv; ++k) in_bar[nv + k] += v_bar[k];
    for (std::size_t k = 0; k < p_bar.size(); ++k) in_bar[2 * nv + k] += p_bar[k];
  }
};

// Four points: displacements and velocities of the order of one, parameters near the model's.
inline std::vector<Numbers> scene_points(const Tree& tree) {
  std::vector<Numbers> points;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    FixedNumbers random(seed);
    Numbers x = random.vector(Scene<double>::inputs(tree));
    const std::size_t nv = static_cast<std::size_t>(tree.model.nv);
    for (std::size_t k = 0; k < nv; ++k) x[k] *= 0.5;
    for (std::size_t k = 0; k < static_cast<std::size_t>(tree.parameters.size()); ++k) {
      const double start = tree.parameters.default_values()[k];
      x[2 * nv + k] = start + (start == 0 ? 0 : 0.02 * start * x[2 * nv + k]);
    }
    for (const JointPlaces& j : tree.joints) {  // a column is that of an axis of length one
      for (int k = 0; k < 3 && j.axis >= 0; ++k) {
        const std::size_t place = static_cast<std::size_t>(j.axis + k);
        x[2 * nv + place] = tree.parameters.default_values()[place];
      }
    }
    points.push_back(x);
  }
  return points;
}

// A force at a point and a couple that stand still in the world, about the origin of a tree.
template <class S>
Force<S> held_wrench(const Vec3<S>& origin) {
  const Vec3<S> force{S(0.7), S(-0.5), S(0.9)}, couple{S(0.2), S(0.6), S(-0.3)};
  return wrench(force, Vec3<S>{S(0.4), S(-0.8), S(0.5)} - origin, couple);
}

// A generalised vector that is held fixed, and its field.
template <class S>
struct FixedField {
  std::vector<S> x;
  std::vector<Motion<S>> y;

  explicit FixedField(const Scene<S>& at) : y(at.tree.links.size()) {
    for (const double number : FixedNumbers(7).vector(at.mu.size())) x.push_back(S(number));
    velocity_field(at.tree, at.column.data(), x.data(), y.data());
  }
};

// Memory of field_sweep_pullback.
template <class S>
struct FieldSweepMemory {
  std::vector<Force<S>> m, a, v, pose;
  std::vector<S> zeros, mocap_bar;
  std::vector<Motion<S>> rest;
  std::vector<SpatialInertia<S>> massless;

  explicit FieldSweepMemory(const Tree& tree)
      : m(tree.model.bodies.size()),
        a(m),
        v(m),
        pose(m),
        zeros(static_cast<std::size_t>(tree.model.nv)),
        mocap_bar(static_cast<std::size_t>(6 * tree.model.nmocap)),
        rest(tree.links.size()),
        massless(m.size()) {}
  FieldSweepSpace<S> view() {
    return {zeros.data(),
            rest.data(),
            massless.data(),
            {m.data(), a.data(), v.data(), pose.data()},
            mocap_bar.data()};
  }
};

// aᵀ M b for a matrix in Tree::row storage.
template <class S>
S matrix_form(const Tree& tree, const std::vector<S>& M, const std::vector<S>& a,
              const std::vector<S>& b) {
  const S* entry = M.data();
  S sum(0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (int k = static_cast<int>(i); k >= 0;
         k = tree.model.dofs[static_cast<std::size_t>(k)].parent) {
      const std::size_t j = static_cast<std::size_t>(k);
      sum += *entry++ * (i == j ? a[i] * b[i] : a[i] * b[j] + a[j] * b[i]);
    }
  }
  return sum;
}

// Jᵀ f pairs with every generalised vector as f with J x: through wrenches and joint forces.
inline double virtual_power(const Scene<double>& at, const std::vector<Force<double>>& wrenches,
                            const Numbers& tau) {
  double sum = dot(std::span(tau), std::span(at.mu));
  for (std::size_t b = 0; b < wrenches.size(); ++b) {
    sum += power(wrenches[b], at.m[last_link(at.tree, static_cast<int>(b))]);
  }
  return sum;
}

}  // namespace cycloid::test
