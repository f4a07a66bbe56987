#include "cycloid/soft/mesh.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "cycloid/soft/element/cell.h"
#include "cycloid/soft/solid_plan.h"

namespace cycloid {
namespace {

std::string text_of(const std::vector<double>& vertices, const std::vector<int>& cells, int nodes) {
  try {
    make_mesh(vertices, cells, nodes);
  } catch (const ModelError& e) {
    return e.what();
  }
  return "";
}

void has(const std::string& whole, const char* part) {
  CAPTURE(whole);
  CHECK(whole.find(part) != std::string::npos);
}

const std::vector<double> kTet = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};

}  // namespace

TEST_CASE("box_mesh: vertices, cells and the volume of every element") {
  for (const ElementKind e : {ElementKind::tet, ElementKind::hex, ElementKind::tet10}) {
    const SolidMesh mesh = box_mesh({3, 2, 4}, {0.3, 0.5, 0.8}, e);
    CHECK(mesh.cell_count() == (e == ElementKind::hex ? 24 : 144));
    CHECK(mesh.vertex_count() == (e == ElementKind::tet10 ? 7 * 5 * 9 : 4 * 3 * 5));
    CHECK(mesh.parts == 1);
    for (int i = 0; i < 3; ++i) CHECK(mesh.vertices[static_cast<std::size_t>(i)] == 0);
    CHECK(mesh.vertices[mesh.vertices.size() - 1] == 0.8);
    CHECK(first_flat_cell(mesh, mesh.vertices.data()) == -1);
  }
  CHECK_THROWS_AS(box_mesh({0, 1, 1}, {1, 1, 1}, ElementKind::hex), ModelError);
  CHECK_THROWS_AS(box_mesh({1, 1, 1}, {1, -1, 1}, ElementKind::hex), ModelError);
  CHECK_THROWS_AS(element_named("hexa"), ModelError);
}

TEST_CASE("make_mesh: what no body can be made of is named and located") {
  has(text_of(kTet, {0, 1, 2, 4}, 4), "cell 0 has vertex 4; there are vertices 0 to 3");
  has(text_of(kTet, {0, 1, 2, 2}, 4), "vertex 2 twice");
  has(text_of(kTet, {0, 2, 1, 3}, 4), "cell 0 near (0.25, 0.25, 0.25) is turned inside out");
  has(text_of({0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0}, {0, 1, 2, 3}, 4), "no volume");
  has(text_of({0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 5, 5, 5}, {0, 1, 2, 3}, 4),
      "vertex 4 at (5, 5, 5) belongs to no cell");
  has(text_of(kTet, {0, 1, 2}, 3), "4 nodes (tet)");
  has(text_of({0, 0, 0, 1, 0, 0, 0, HUGE_VAL, 0, 0, 0, 1}, {0, 1, 2, 3}, 4), "not finite");
  std::vector<double> two = kTet;
  for (const double x : kTet) two.push_back(x + 3);
  has(text_of(two, {0, 1, 2, 3, 4, 5, 6, 7}, 4), "falls into 2 parts");
  CHECK(make_mesh(two, {0, 1, 2, 3, 4, 5, 6, 7}, 4, true).parts == 2);
}

TEST_CASE("solid_plan: chunks of one colour share no vertex, and all cells are in one") {
  const SolidPlan plan(box_mesh({12, 9, 4}, {1, 1, 1}, ElementKind::hex),
                       std::vector<char>(13 * 10 * 5 * 3, 0));
  std::vector<int> seen(static_cast<std::size_t>(plan.cells()), 0);
  for (const auto& chunks : plan.colours) {
    std::vector<int> owner(static_cast<std::size_t>(plan.vertices()), -1);
    for (const int chunk : chunks) {
      const int begin = chunk * SolidPlan::kChunk,
                end = std::min(begin + SolidPlan::kChunk, plan.cells());
      for (int c = begin; c < end; ++c) {
        ++seen[static_cast<std::size_t>(c)];
        for (int a = 0; a < 8; ++a) {
          int& own =
              owner[static_cast<std::size_t>(plan.mesh.cells[static_cast<std::size_t>(8 * c + a)])];
          CHECK((own == -1 || own == chunk));
          own = chunk;
        }
      }
    }
  }
  for (const int s : seen) CHECK(s == 1);
}

TEST_CASE("solid_plan: motions that nothing hinders have their names") {
  const SolidMesh mesh = box_mesh({1, 1, 1}, {1, 1, 1}, ElementKind::hex);
  const auto free = [&](const std::vector<int>& held) {
    std::vector<char> marks(24, 0);
    for (const int i : held) marks[static_cast<std::size_t>(i)] = 1;
    return SolidPlan(mesh, marks).free_motions(mesh.vertices.data(), 0);
  };
  using Names = std::vector<std::string>;
  CHECK(free({}) == Names{"translation x", "translation y", "translation z", "rotation x",
                          "rotation y", "rotation z"});
  CHECK(free({0, 1, 2}) == Names{"rotation x", "rotation y", "rotation z"});
  // Vertices 0 and 1 lie on the x axis.
  CHECK(free({0, 1, 2, 3, 4, 5}) == Names{"rotation x"});
  CHECK(free({0, 1, 2, 3, 4, 5, 8}) == Names{});
  // One face held in x alone.
  CHECK(free({0, 6, 12, 18}) == Names{"translation y", "translation z", "rotation x"});
  // Vertices 0 and 7 are the ends of a diagonal.
  CHECK(free({0, 1, 2, 21, 22, 23}) == Names{"rotation about an oblique axis"});
}

}  // namespace cycloid
