// ConstraintPlan: everything about a robot's constraints that is fixed with its model.
#pragma once

#include <memory>

#include "cycloid/rigid/constraint/static_rows.h"
#include "cycloid/rigid/contact/contact_plan.h"
#include "cycloid/rigid/solver/islands.h"
#include "cycloid/rigid/tree/tree.h"

namespace cycloid::inline rigid {

struct ConstraintPlan {
  explicit ConstraintPlan(const Tree& tree, int most_contacts = kMostContacts)
      : dofs(tree.parent_dof),
        rows(tree, dofs),
        contacts(tree, dofs, most_contacts),
        islands(dofs, rows.support_words) {
    most = rows.capacity();
    most.groups += contacts.slots;
    most.rows += contacts.slots * contacts.most_rows;
    const double nv = tree.model.nv > 0 ? tree.model.nv : 1;
    residual_scale = 1 / (tree.model.options.mean_inertia * nv);
  }

  // Whether there is anything that constrains.
  bool empty() const { return rows.count() == 0 && contacts.pairs.empty(); }

  DofBlocks dofs;
  StaticRows rows;
  ContactPlan contacts;
  ConstraintCapacity most;
  double residual_scale = 1;  // of the solver: 1 / (mean inertia · nv)
  IslandPlan islands;
};

// The constraints of a model, or null where none act.
inline std::shared_ptr<const ConstraintPlan> constraint_plan(const Tree& tree) {
  if (!tree.model.options.acting.constraints) return nullptr;
  const auto plan = std::make_shared<const ConstraintPlan>(tree);
  return plan->empty() ? nullptr : plan;
}

}  // namespace cycloid::inline rigid
