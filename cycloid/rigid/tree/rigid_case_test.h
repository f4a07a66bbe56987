// A robot's instant as a function of one flat row, for tests of its operators.
//
// The row is [ d (nv) | qvel (nv) | p ]: the configuration is q₀ ⊕ d, and p the raw parameters.
#pragma once

#include <vector>

#include "cycloid/rigid/step.h"
#include "cycloid/rigid/tree/tree.h"
#include "tests/support/pullback_check.h"
#include "tests/support/robots.h"

namespace cycloid::test {

// A workspace with the memory that it is carved out of, aligned for any lanes.
template <class Work>
struct CarvedMemory {
  template <class... More>
  explicit CarvedMemory(const Tree& tree, const More&... more)
      : memory(carve_memory(work, tree, more...)) {}
  Work work;
  Arena memory;
};
template <class S>
using RigidMemory = CarvedMemory<Workspace<S>>;

// The state x0 ⊕ d, d in tangents. Derivatives are those of tangents about that state itself, as a
// pullback has them.
template <class S>
std::vector<S> moved_state(const Tree& tree, const Numbers& x0, const S* d) {
  const StepShape n(tree);
  std::vector<S> base, there(x0.size()), x(x0.size()), by, rest;
  for (const double v : x0) base.push_back(S(v));
  for (int i = 0; i < n.nv; ++i) {
    by.push_back(S(primal(d[i])));
    rest.push_back(d[i] - by.back());
  }
  retract_qpos(tree, base.data(), by.data(), there.data());
  retract_qpos(tree, there.data(), rest.data(), x.data());
  for (int i = 0; i < n.nv + n.na; ++i) {
    const auto k = static_cast<std::size_t>(n.nq + i);
    x[k] = base[k] + d[n.nv + i];
  }
  return x;
}

template <class S>
struct Prepared {
  Prepared(const Tree& tree, const S* raw)
      : p(raw, raw + tree.parameters.size()), length(tree.quaternions.size() + 1) {
    prepare_parameters(tree, p.data(), length.data());
  }
  // What a pullback gathered, as cotangents of the raw numbers; added to raw_bar.
  void add_raw(const Tree& tree, const S* raw, std::vector<S> p_bar, S* raw_bar) const {
    for (const int q : tree.quaternions) {
      S* bar = p_bar.data() + q;
      store(bar, ambient_from_tangent_cotangent(load_quat(raw + q), load_vec3(bar)));
    }
    for (std::size_t i = 0; i < p_bar.size(); ++i) raw_bar[i] += p_bar[i];
  }
  std::vector<S> p, length;
};

struct RigidCase {
  explicit RigidCase(const Model& m, double spread = 0.4) : tree(m) {
    RandomStream random(11);
    for (const double q : m.qpos0) q0.push_back(q + spread * random.uniform(-1.0, 1.0));
    for (const Joint& j : m.joints) {
      if (j.kind != JointKind::free && j.kind != JointKind::ball) continue;
      double* q = q0.data() + j.qpos + (j.kind == JointKind::free ? 3 : 0);
      store(q, normalise(load_quat(q)));
    }
    point.assign(static_cast<std::size_t>(m.nv), 0.0);
    for (int i = 0; i < m.nv; ++i) point.push_back(spread * random.uniform(-1.0, 1.0));
    for (const double p : tree.parameters.default_values()) point.push_back(p);
  }
  int nv() const { return tree.model.nv; }
  const Joint& joint(int i) const { return tree.model.joints[static_cast<std::size_t>(i)]; }

  template <class S>
  std::vector<S> qpos_of(const S* in) const {
    std::vector<S> base, q(q0.size());
    for (const double x : q0) base.push_back(S(x));
    retract_qpos(tree, base.data(), in, q.data());
    return q;
  }

  Tree tree;
  Numbers q0, point;
};

}  // namespace cycloid::test
