#include "cycloid/io/mujoco_library.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cycloid/base/error.h"
#include "cycloid/io/load.h"
#include "tests/support/new_process.h"

namespace cycloid {
namespace {

constexpr const char* kHere = CYCLOID_MUJOCO_LIBRARY_FOR_TESTS;
constexpr const char* kPoint = "<mujoco><worldbody/></mujoco>";

std::string variable() {
  const char* value = std::getenv("CYCLOID_MUJOCO_LIBRARY");
  return value ? value : "";
}

bool is_mapped() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(kMujocoFile) != line.npos) return true;
  }
  return false;
}

TEST_CASE("open_mujoco: a file and the folder that holds it") {
  for (const std::string& place :
       {std::string(kHere), std::filesystem::path(kHere).parent_path().string()}) {
    MujocoLibrary library;
    CHECK(open_mujoco(place, library) == "");
    const bool is_filled = library.mj_version != nullptr;
    REQUIRE(is_filled);
    CHECK(library.mj_version() == 4000000);
  }
}

TEST_CASE("open_mujoco: what is missing or something else is named") {
  MujocoLibrary library;
  CHECK(open_mujoco("/nowhere/libmujoco.so.4.0.0", library).find("/nowhere/") != std::string::npos);
  CHECK(open_mujoco("libm.so.6", library).find("is not MuJoCo 4.0.0") != std::string::npos);
  const bool is_untouched = library.mj_version == nullptr;
  CHECK(is_untouched);
}

// The next two run in processes of their own, in which nothing has been loaded yet.
TEST_CASE("part one: a library that is not there") {
  if (variable() != "/nowhere") return;
  std::string text;
  try {
    load_model(kPoint);
  } catch (const ModelError& error) {
    text = error.what();
  }
  CHECK(text.find("/nowhere") != text.npos);
  CHECK(text.find("pip install mujoco-core==4.0.0") != text.npos);
  CHECK_FALSE(is_mapped());

  set_mujoco_library(kHere);  // what the program says counts more than the environment
  CHECK(load_model(kPoint).bodies.size() == 1);
}

TEST_CASE("part two: the library is opened by the first load") {
  if (variable() != kHere) return;
  CHECK_FALSE(is_mapped());
  CHECK(load_model(kPoint).bodies.size() == 1);
  CHECK(is_mapped());
}

TEST_CASE("mujoco_library: the environment's library is the only one tried; no load, no library") {
  CHECK(test::status_of_new_process("CYCLOID_MUJOCO_LIBRARY=/nowhere", "part one*") == 0);
  CHECK(test::status_of_new_process(std::string("CYCLOID_MUJOCO_LIBRARY=") + kHere, "part two*") ==
        0);
}

}  // namespace
}  // namespace cycloid
