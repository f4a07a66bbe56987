// io/mujoco_library.h: MuJoCo's shared library, opened while the program runs.
//
// Nothing is linked: its headers are compiled against, and the functions below are looked up when
// the first model is loaded. The places, in this order:
//   1. what set_mujoco_library was given (load.h)
//   2. the environment variable CYCLOID_MUJOCO_LIBRARY
//   3. where the package mujoco-core was when this was built
//   4. ../mujoco from the object that holds this code: the neighbouring package in site-packages
//   5. the loader's own places
// A library that 1 or 2 names is the only one tried. Once open, it stays open.
#pragma once

#include <mujoco/mujoco.h>

#include <string>

namespace cycloid::inline io {

// clang-format off
#define CYCLOID_MUJOCO_FUNCTIONS(X)                                            \
  X(mj_version)                                                                \
  X(mj_parseXML) X(mj_parseXMLString) X(mj_compile) X(mj_printSchema)          \
  X(mj_deleteSpec) X(mj_deleteModel)                                           \
  X(mj_makeData) X(mj_deleteData) X(mj_resetData) X(mj_step) X(mjd_transitionFD) \
  X(mju_setLogHandler)                                                         \
  X(mjs_getError) X(mjs_getString) X(mjs_setString) X(mjs_getName)             \
  X(mjs_firstElement) X(mjs_nextElement) X(mjs_delete) X(mjs_getParent)        \
  X(mjs_asGeom) X(mjs_asJoint) X(mjs_asMesh) X(mjs_asHField) X(mjs_asSkin) X(mjs_asTexture) \
  X(mjs_asFlex)
// clang-format on

struct MujocoLibrary {
#define X(function) decltype(&::function) function = nullptr;
  CYCLOID_MUJOCO_FUNCTIONS(X)
#undef X
};

// The library's file name, which carries its release.
inline constexpr const char* kMujocoFile = "libmujoco.so.4.0.0";

// The open library; the first call opens it. Throws ModelError with what to install when there is
// none, when it cannot be opened, or when it is another release. A later call tries again.
const MujocoLibrary& mujoco_library();

// Opens the library in `place` (a file or a folder that holds one; a bare file name is left to the
// loader) and fills `library`. An empty text means success; otherwise it says what is wrong.
std::string open_mujoco(const std::string& place, MujocoLibrary& library);

}  // namespace cycloid::inline io
