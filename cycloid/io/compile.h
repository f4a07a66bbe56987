// io/compile.h: from a file or a text to an mjModel, by MuJoCo's compiler.
//
// The model is first compiled as it stands, so that it means what it means to MuJoCo; only names
// with package:// are resolved. A URDF that does not compile so, and whose constraints are left
// out, is compiled once more without the meshes of links that state their inertia: such meshes are
// for contact and drawing only, and are often missing or of a kind that MuJoCo does not read.
// Pictures are never read.
//
// MuJoCo reports through one log handler per process. It is replaced during a compilation and put
// back afterwards; messages that other threads cause meanwhile go where they went before. No file
// is written. One compilation runs at a time.
#pragma once

#include <mujoco/mjmodel.h>

#include <memory>
#include <string>
#include <vector>

#include "cycloid/io/load.h"

namespace cycloid::inline io {

// Gives an mjModel back to the library that made it.
struct DeleteCompiled {
  void operator()(mjModel* model) const;
};
using CompiledModel = std::unique_ptr<mjModel, DeleteCompiled>;

// What a flex is made of, as its text says it: an mjModel has only the matrices that follow.
struct FlexMatter {
  double young = 0, poisson = 0;          // [Pa]; 0: no elasticity
  double thickness = 0;                   // [m]
  bool stretches = false, bends = false;  // of triangles
  bool neo_hookean = false;               // of tetrahedra
};

// Throws as load_model does, but for what the Model cannot hold: that is judged later (refuse.h).
// flexes: receives what they are made of, in the order of the mjModel.
CompiledModel compile_model(const std::string& path_or_xml, const LoadOptions& options,
                            std::vector<FlexMatter>* flexes = nullptr);

// Whether it is a text, not a path: its first character that is not a space is '<'.
bool is_xml_text(const std::string& path_or_xml);

// The name of the outermost element, such as "mujoco" or "robot"; empty when there is none.
std::string root_element(const std::string& xml);

}  // namespace cycloid::inline io
