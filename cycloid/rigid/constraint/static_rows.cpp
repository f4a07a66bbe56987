#include "cycloid/rigid/constraint/static_rows.h"

#include <algorithm>

#include "cycloid/rigid/tree/tree.h"
#include "cycloid/rigid/tree/workspace.h"

namespace cycloid::inline rigid {
namespace {

const Joint& joint_of(const Tree& tree, int j) {
  return tree.model.joints[static_cast<std::size_t>(j)];
}
const Dof& dof_of(const Tree& tree, int k) { return tree.model.dofs[static_cast<std::size_t>(k)]; }
const Body& body_of(const Tree& tree, int b) {
  return tree.model.bodies[static_cast<std::size_t>(b)];
}
const Tendon& tendon_of(const Tree& tree, int t) {
  return tree.model.tendons[static_cast<std::size_t>(t)];
}

// Lengths of all tendons at qpos0, with the model's own numbers.
std::vector<double> tendon_lengths0(const Tree& tree) {
  const ModelView& m = tree.model;
  std::vector<double> p(tree.parameters.default_values().begin(),
                        tree.parameters.default_values().end());
  std::vector<double> scale(tree.quaternions.size() + 1);
  prepare_parameters(tree, p.data(), scale.data());
  std::vector<double> qpos(static_cast<std::size_t>(m.nq)),
      mocap(7 * static_cast<std::size_t>(m.nmocap));
  for (const Joint& j : m.joints) {
    double* const q = qpos.data() + j.qpos;
    std::copy_n(j.qpos0.begin(), qpos_numbers(j.kind), q);
    const int turn = linear_numbers(j.kind);
    if (has_quaternion(j.kind)) store(q + turn, normalise(load_quat(q + turn)));
  }
  for (const Body& b : m.bodies) {
    if (b.mocap < 0) continue;
    std::copy_n(b.pos.begin(), 3, mocap.begin() + 7 * b.mocap);
    std::copy_n(b.quat.begin(), 4, mocap.begin() + 7 * b.mocap + 3);
  }
  Workspace<double> w;
  const Arena memory = carve_memory(w, tree);
  kinematics(tree, p.data(), qpos.data(), mocap.data(), w.frames);
  std::vector<double> lengths;
  for (int t = 0; t < static_cast<int>(m.tendons.size()); ++t) {
    lengths.push_back(tendon_length(tree, p.data(), t, qpos.data(), w.frames));
  }
  return lengths;
}

// Makes the lists, one element of the model at a time.
class Lister {
 public:
  Lister(const Tree& tree, const DofBlocks& dofs, StaticRows& rows)
      : tree_(tree), dofs_(dofs), rows_(rows) {
    for (std::size_t b = 0; b < tree.model.bodies.size(); ++b) {
      const Body& body = tree.model.bodies[b];
      const int above = b == 0 ? -1 : rows.last_dof[static_cast<std::size_t>(body.parent)];
      rows.last_dof.push_back(body.dofs > 0 ? body.first_dof + body.dofs - 1 : above);
    }
    rows.words = dofs.words;
  }

  void joint(int i) {
    const Joint& j = joint_of(tree_, i);
    const JointPlaces& at = tree_.joints[static_cast<std::size_t>(i)];
    const double weight = dof_of(tree_, j.dof).inverse_weight;
    if (at.range >= 0 && j.kind == JointKind::ball) {
      const int moved = new_support();
      for (int k = 0; k < 3; ++k) add_dof(j.dof + k, moved);
      rows_.ball_limits.push_back({j.qpos, j.dof, at.range, moved, j.margin, weight, j.limit});
    } else if (at.range >= 0 && j.kind != JointKind::free) {
      for_each_limit_end(j.margin, [&](LimitEnd end) {
        rows_.joint_limits.push_back({end, j.qpos, j.dof, at.range, j.margin, weight, j.limit});
      });
    }
    for (int k = 0; at.frictionloss >= 0 && k < dof_numbers(j.kind); ++k) {
      const Dof& dof = dof_of(tree_, j.dof + k);
      rows_.dof_frictions.push_back(
          {j.dof + k, at.frictionloss + k, dof.inverse_weight, dof.friction});
    }
  }

  void tendon(int t) {
    const Tendon& tendon = tendon_of(tree_, t);
    const TendonPlaces& at = tree_.tendons[static_cast<std::size_t>(t)];
    if (at.range < 0 && at.frictionloss < 0) return;
    const int moved = new_support();
    add_tendon_blocks(tree_, t, dofs_, rows_.last_dof.data(), rows_.support(moved));
    if (moves_nothing(moved)) return;
    if (at.range >= 0) {
      for_each_limit_end(tendon.margin, [&](LimitEnd end) {
        rows_.tendon_limits.push_back(
            {end, t, at.range, moved, tendon.margin, tendon.inverse_weight, tendon.limit});
      });
    }
    if (at.frictionloss >= 0) {
      rows_.tendon_frictions.push_back(
          {t, at.frictionloss, moved, tendon.inverse_weight, tendon.friction});
    }
  }

  void equality(int i, const std::vector<double>& lengths0) {
    const Equality& e = tree_.model.equalities[static_cast<std::size_t>(i)];
    const EqualityPlaces& at = tree_.equalities[static_cast<std::size_t>(i)];
    if (at.data < 0) return;
    switch (e.kind) {
      case EqualityKind::connect: connect(e, at); break;
      case EqualityKind::weld: weld(e, at); break;
      case EqualityKind::joint: joint_equality(e, at); break;
      case EqualityKind::tendon: tendon_equality(e, at, lengths0); break;
    }
  }

 private:
  int new_support() {
    rows_.support_words.resize(rows_.support_words.size() + static_cast<std::size_t>(rows_.words));
    return static_cast<int>(rows_.support_words.size()) / std::max(rows_.words, 1) - 1;
  }
  bool moves_nothing(int support) const {
    bool nothing = true;
    for_each(rows_.support(support), [&](int) { nothing = false; });
    return nothing;
  }
  void add_dof(int k, int support) const {
    rows_.support(support).insert(dofs_.place[static_cast<std::size_t>(k)] / kBlock);
  }

  // data: the place of a body's anchor.
  Anchor anchor(const Equality& e, int object, int data) const {
    const int site = e.on_sites ? object : -1;
    const int body =
        e.on_sites ? tree_.model.sites[static_cast<std::size_t>(object)].body : std::max(object, 0);
    return {body, tree_.last_link[static_cast<std::size_t>(body)],
            rows_.last_dof[static_cast<std::size_t>(body)],
            e.on_sites ? tree_.sites[static_cast<std::size_t>(object)].pos : data, site};
  }
  int anchored_support(const Anchor* end) {
    const int moved = new_support();
    for (int i = 0; i < 2; ++i) {
      dofs_.add_chain_difference(end[i].dof, -1, rows_.support(moved));
    }
    return moved;
  }
  double weight(const Anchor* end, std::size_t which) const {
    return body_of(tree_, end[0].body).inverse_weight[which] +
           body_of(tree_, end[1].body).inverse_weight[which];
  }

  void connect(const Equality& e, const EqualityPlaces& at) {
    Connect c{{anchor(e, e.object1, at.data), anchor(e, e.object2, at.data + 3)}, 0, 0, at};
    c.support = anchored_support(c.end);
    c.weight = weight(c.end, 0);
    if (!moves_nothing(c.support)) rows_.connects.push_back(c);
  }

  // A weld's anchors stand the other way round.
  void weld(const Equality& e, const EqualityPlaces& at) {
    Weld w{{anchor(e, e.object1, at.data + 3), anchor(e, e.object2, at.data)},
           0,
           at.data + 6,
           at.data + 10,
           {-1, -1},
           {},
           at};
    for (int i = 0; i < 2 && e.on_sites; ++i) {
      w.site_quat[i] = tree_.sites[static_cast<std::size_t>(w.end[i].site)].quat;
    }
    w.support = anchored_support(w.end);
    w.weight[0] = weight(w.end, 0);
    w.weight[1] = weight(w.end, 1);
    if (!moves_nothing(w.support)) rows_.welds.push_back(w);
  }

  void joint_equality(const Equality& e, const EqualityPlaces& at) {
    JointEquality row{{-1, -1}, {-1, -1}, new_support(), {}, 0, at};
    const int object[2] = {e.object1, e.object2};
    for (int i = 0; i < 2 && object[i] >= 0; ++i) {
      const Joint& j = joint_of(tree_, object[i]);
      row.qpos[i] = j.qpos;
      row.dof[i] = j.dof;
      row.zero[i] = j.qpos0[0];
      row.weight += dof_of(tree_, j.dof).inverse_weight;
      add_dof(j.dof, row.support);
    }
    rows_.joint_equalities.push_back(row);
  }

  void tendon_equality(const Equality& e, const EqualityPlaces& at,
                       const std::vector<double>& lengths0) {
    TendonEquality row{{e.object1, e.object2}, new_support(), {}, 0, at};
    for (int i = 0; i < 2 && row.tendon[i] >= 0; ++i) {
      const int t = row.tendon[i];
      row.length0[i] = lengths0[static_cast<std::size_t>(t)];
      row.weight += tendon_of(tree_, t).inverse_weight;
      add_tendon_blocks(tree_, t, dofs_, rows_.last_dof.data(), rows_.support(row.support));
    }
    if (!moves_nothing(row.support)) rows_.tendon_equalities.push_back(row);
  }

  const Tree& tree_;
  const DofBlocks& dofs_;
  StaticRows& rows_;
};

}  // namespace

StaticRows::StaticRows(const Tree& tree, const DofBlocks& dofs) {
  Lister lister(tree, dofs, *this);
  const std::vector<double> lengths0 = tendon_lengths0(tree);
  const auto count_of = [](const auto& list) { return static_cast<int>(list.size()); };
  for (int j = 0; j < count_of(tree.model.joints); ++j) lister.joint(j);
  for (int t = 0; t < count_of(tree.model.tendons); ++t) lister.tendon(t);
  for (int e = 0; e < count_of(tree.model.equalities); ++e) lister.equality(e, lengths0);
}

}  // namespace cycloid::inline rigid
