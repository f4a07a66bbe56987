#include "cycloid/rigid/forward.h"

#include <algorithm>

#include "cycloid/rigid/robot_observers.h"

namespace cycloid::inline rigid {
namespace {

using Point = Robot<double, double>;

// c of (1): the forces that q̈ = 0 takes, with nothing applied. The bodies have been placed.
void bias_forces(const Point& r, const Instant<double>& x, const Workspace<double>& w,
                 double* bias) {
  const Tree& tree = r.tree;
  acceleration_field(tree, w.frames.column, x.qvel, static_cast<const double*>(nullptr), w.v,
                     r.gravity(), w.a);
  for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) w.wrench[b] = Force<double>{};
  if (tree.has_tendon_armature) {
    add_tendon_armature_bias(tree, r.p, w.frames, static_cast<const Motion<double>*>(w.v),
                             static_cast<const Motion<double>*>(w.a), w.wrench);
  }
  for (std::size_t l = 0; l < tree.links.size(); ++l) w.force[l] = Force<double>{};
  for (std::size_t b = 1; b < tree.model.bodies.size(); ++b) {
    if (tree.model.bodies[b].tree < 0) continue;
    const int l = tree.last_link[b];
    w.force[l] = body_force(w.inertia[b], w.v[l], w.a[l]) + w.wrench[b];
  }
  set_zero(bias, tree.model.nv);
  subtract_joint_forces(tree, w.frames.column, w.force, bias);
  for (int k = 0; k < tree.model.nv; ++k) bias[k] = -bias[k];
}

// M from the storage of Tree::row into a square.
void fill_square(const Tree& tree, const double* M, double* square) {
  const int nv = tree.model.nv;
  set_zero(square, nv * nv);
  for (int k = 0; k < nv; ++k) {
    for (int j = k; j >= 0; j = tree.model.dofs[static_cast<std::size_t>(j)].parent) {
      square[k * nv + j] = square[j * nv + k] = *M++;
    }
  }
}

}  // namespace

Forward forward(const Observer& observer, const ObservedRows& at) {
  const Observation seen = observe(observer, at);
  const ObserverKey& key = observer.key();
  const Tree& tree = *key.tree;
  const Model& m = tree.model;
  const std::size_t rows = static_cast<std::size_t>(seen.rows_),
                    nv = static_cast<std::size_t>(m.nv),
                    np = static_cast<std::size_t>(tree.parameters.size());
  Forward out;
  out.rows = seen.rows_;
  out.sensors = seen.values_;
  out.qacc.resize(rows * nv);
  out.mass_matrix.resize(rows * nv * nv);
  out.bias.resize(rows * nv);
  out.body_pos.resize(rows * m.bodies.size() * 3);
  out.body_quat.resize(rows * m.bodies.size() * 4);
  out.site_pos.resize(rows * m.sites.size() * 3);
  out.energy.resize(rows * 2);

  struct alignas(64) Block {
    std::byte bytes[64];
  };
  Workspace<double> w;
  std::vector<Block> memory(w.carve(tree, nullptr) / sizeof(Block) + 1);
  w.carve(tree, memory[0].bytes);
  std::vector<double> p(np), length(tree.quaternions.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t p_row = seen.parameter_rows_ == 1 ? 0 : i;
    std::copy_n(seen.p_.begin() + static_cast<std::ptrdiff_t>(p_row * np), np, p.begin());
    prepare_parameters(tree, p.data(), length.data());
    const Point r{tree, key.inputs, p.data(), Implicit::nothing};
    const double* row = seen.x_.data() + i * static_cast<std::size_t>(m.nq + m.nv + m.na);
    const Instant<double> x{row, row + m.nq, row + m.nq + m.nv,
                            seen.u_.data() + i * static_cast<std::size_t>(key.input_size)};
    accelerate(r, x, w, out.qacc.data() + i * nv);
    bias_forces(r, x, w, out.bias.data() + i * nv);
    out.energy[2 * i] = potential_energy(r, x, w);
    out.energy[2 * i + 1] = kinetic_energy(r, x, w);
    fill_square(tree, w.LD, out.mass_matrix.data() + i * nv * nv);
    for (std::size_t b = 0; b < m.bodies.size(); ++b) {
      const std::size_t place = i * m.bodies.size() + b;
      store(out.body_pos.data() + 3 * place, w.frames.origin[b] + w.frames.pos[b]);
      store(out.body_quat.data() + 4 * place,
            w.frames.link_quat[static_cast<std::size_t>(tree.last_link[b])]);
    }
    for (std::size_t s = 0; s < m.sites.size(); ++s) {
      const Vec3<double> in_tree = site_point(tree, r.p, static_cast<int>(s), w.frames);
      store(out.site_pos.data() + 3 * (i * m.sites.size() + s),
            w.frames.origin[m.sites[s].body] + in_tree);
    }
  }
  return out;
}

}  // namespace cycloid::inline rigid
