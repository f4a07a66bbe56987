// Room io: models from files. The only room that knows MuJoCo.
//
// MJCF and URDF are read by MuJoCo's own compiler, release 4.0.0 of the package mujoco-core. What
// it makes, an mjModel, is judged field by field and copied into a Model; then MuJoCo's work is
// done and no step of ours calls it. Its library is opened by the first load, not before.
//
//   load.h            load_model, model_from_mjmodel: start here
//   builder.h         models made by a program, without XML; mjcf_schema.h, its attributes
//   mujoco_library.h  finding and opening libmujoco, the functions of it that are used
//   compile.h         from a file or a text to an mjModel
//   foreign_call.h    exceptions that escape from libmujoco
//   assets.h          where package:// leads
//   messages.h        MuJoCo's messages as one clean sentence
//   fields.h          what becomes of every field of mjModel: one table
//   flexes.h          flexes as soft bodies
//   refuse.h          what is not supported, by the name of the element; contacts.h, of contacts
//   convert.h         mjModel to Model
//   appearance.h      what it looks like
//   mujoco_clock.h    what MuJoCo's own step costs here, for comparisons
#pragma once

#include <string>
#include <vector>

#include "cycloid/io/appearance.h"
#include "cycloid/model/model.h"

namespace cycloid::inline io {

// What becomes of a model that asks for MuJoCo's noslip solver, a pass after the solution that
// takes the slip out of friction: it is refused, or runs without that pass and a warning says so.
enum class Noslip { refuse, ignore };

struct LoadOptions {
  // False leaves out every constraint: contacts, limits, dry friction, equalities. Nothing that
  // only they use is then a reason to refuse a model.
  bool constraints = true;

  // Folders in which "package://name/rest" and "model://name/rest" are looked up, as name/rest and
  // as rest; the folders above the model's own file follow, with name/rest.
  std::vector<std::string> search_paths{};

  // Receives what MuJoCo warned about and what was left out on request, one sentence each.
  std::vector<std::string>* warnings = nullptr;

  Noslip noslip = Noslip::refuse;

  // Receives colours and meshes; of a file of our own, which has none, nothing.
  Appearance* appearance = nullptr;
};

// The model in a file, or in the text itself when its first character that is not a space is '<'.
// A file of our own (model/model_file.h, "robot.cym") needs no MuJoCo: what its model's making left
// out is among the warnings again, and constraints that it was saved without stay away.
// A URDF whose meshes cannot be read loads without them if constraints are left out and the links
// that have them state their inertia. Throws FileNotFound when the file or one it names does not
// exist; ModelError when MuJoCo cannot be opened or refuses the model, or when the model contains
// dynamics that are not supported. May be called from several threads.
Model load_model(const std::string& path_or_xml, const LoadOptions& options = {});

// The model in an mjModel of MuJoCo 4.0.0 that already exists, with its options as they are set.
// It is only read, and not needed afterwards. Needs no library. Throws ModelError.
Model model_from_mjmodel(const void* mjmodel, const LoadOptions& options = {});

// Where MuJoCo's library is: the file, or the folder that holds it. To be called before the first
// load; without it the environment variable CYCLOID_MUJOCO_LIBRARY, the place known when this was
// built, the folder `mujoco` beside ours and the loader's own places are tried.
void set_mujoco_library(const std::string& path);

}  // namespace cycloid::inline io
