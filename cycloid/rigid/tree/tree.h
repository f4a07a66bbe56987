// Tree: a Model unrolled into links, and where each physical number stands in the parameter vector.
//
// It owns what kernels read of it, a TreeView (tree_view.h) whose tables lie in one block, and has
// what only hosts need: names and the registry of parameters. A Tree passes as a view. It can be
// moved, which leaves the block where it is, and not copied.
#pragma once

#include "cycloid/rigid/contact_choice.h"
#include "cycloid/rigid/tree/tree_view.h"
#include "cycloid/system/parameters.h"

namespace cycloid::inline rigid {

struct Tree : TreeView {
  // constrained: numbers that only constraints look at are parameters too.
  explicit Tree(const Model& model, bool constrained = true, const ContactChoice& contact = {});

  Model source;  // as given, with the names of its elements
  Parameters parameters;
  // Of each mesh and height field, which of the arrays of parameters it is, or -1: none.
  std::vector<int> mesh_arrays, field_arrays;

  const TableBlock& block() const { return block_; }

 private:
  TableBlock block_;
};

}  // namespace cycloid::inline rigid
