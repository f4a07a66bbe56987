#include "cycloid/io/assets.h"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"

namespace cycloid {
namespace {

TEST_CASE("resolve_asset: search paths in order, as name/rest and as rest") {
  const test::ScratchFolder here;
  const auto first = here.write("one/robot/meshes/a.stl", "");
  const auto second = here.write("two/meshes/a.stl", "");
  const std::string one = here.path("one"), two = here.path("two");
  CHECK(resolve_asset("package://robot/meshes/a.stl", {one, two}, {}) == first);
  CHECK(resolve_asset("package://robot/meshes/a.stl", {two, one}, {}) == second);
  CHECK(resolve_asset("model://robot/meshes/a.stl", {one}, {}) == first);
  CHECK(resolve_asset("package:/robot/meshes/a.stl", {one}, {}) == first);
  CHECK(resolve_asset("package://robot/meshes/b.stl", {one, two}, {}) == "");
  CHECK(resolve_asset("package://robot/meshes", {one}, {}) == "");  // a folder
}

TEST_CASE("resolve_asset: the folders above the model follow the search paths") {
  const test::ScratchFolder here;
  const auto above = here.write("share/robot/meshes/a.stl", "");
  const auto folder = std::filesystem::path(here.path("share/robot/urdf"));
  CHECK(resolve_asset("package://robot/meshes/a.stl", {}, folder) == above);
  CHECK(resolve_asset("package://robot/meshes/a.stl", {}, folder / "") == above);
  CHECK(resolve_asset("package://robot/meshes/a.stl", {}, {}) == "");
  const auto wanted = here.write("other/robot/meshes/a.stl", "");
  CHECK(resolve_asset("package://robot/meshes/a.stl", {here.path("other")}, folder) == wanted);
}

TEST_CASE("resolve_asset: file:// is a path, and a plain name is left alone") {
  const test::ScratchFolder here;
  const auto file = here.write("a.stl", "");
  CHECK(resolve_asset("file://" + file, {}, {}) == file);
  CHECK(resolve_asset("a.stl", {here.path("")}, here.path("")) == "");
  CHECK(resolve_asset("package://", {here.path("")}, here.path("")) == "");
  CHECK(names_a_package("package://a/b"));
  CHECK_FALSE(names_a_package("meshes/a.stl"));
}

TEST_CASE("resolve_relative: search paths where the model's own folder has no such file") {
  const test::ScratchFolder here;
  const auto own = here.write("model/assets/a.stl", "");
  const auto inside = here.write("one/assets/b.stl", ""), bare = here.write("two/b.stl", "");
  const std::string one = here.path("one"), two = here.path("two");
  const std::filesystem::path folder = here.path("model");
  CHECK(resolve_relative("a.stl", "assets", {one, two}, folder) == "");  // it is there
  CHECK(resolve_relative("b.stl", "assets", {one, two}, folder) == inside);
  CHECK(resolve_relative("b.stl", "assets", {two, one}, folder) == bare);
  CHECK(resolve_relative("c.stl", "assets", {one, two}, folder) == "");
  CHECK(resolve_relative(bare, "assets", {one}, folder) == "");
  CHECK(resolve_relative("package://two/b.stl", "", {here.path("")}, folder) == "");
}

}  // namespace
}  // namespace cycloid
