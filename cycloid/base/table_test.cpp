#include "cycloid/base/table.h"

#include <doctest/doctest.h>

namespace cycloid {
namespace {

template <template <class> class List>
struct ShapeLists {
  List<char> kind;
  List<double> length;
  List<int> parent;
};
struct ShapeView : ShapeLists<Table> {
  template <class F, class... Views>
  static void each_table(F&& f, Views&... of) {
    f(of.kind...), f(of.length...), f(of.parent...);
  }
};

ShapeLists<Vector> three_shapes() { return {{'a', 'b', 'c'}, {0.5, 1.5, 2.5}, {}}; }

TEST_CASE("Table: reads as the list that it was made of, by any integer") {
  ShapeView view;
  const TableBlock block(three_shapes(), view);
  CHECK(view.kind.size() == 3);
  CHECK(view.kind[1] == 'b');
  CHECK(view.kind[std::size_t{2}] == 'c');
  CHECK(view.length.front() == 0.5);
  CHECK(view.length.back() == 2.5);
  double sum = 0;
  for (const double x : view.length) sum += x;
  CHECK(sum == 4.5);
  CHECK(view.parent.empty());
  CHECK(view.parent.begin() == view.parent.end());
}

TEST_CASE("TableBlock: tables begin at multiples of 16 bytes, and a block of nothing is empty") {
  ShapeView view;
  const TableBlock block(three_shapes(), view);
  CHECK(block.size() == 16 + 32);
  CHECK(reinterpret_cast<const std::byte*>(view.length.data()) == block.data() + 16);
  ShapeView none;
  CHECK(TableBlock(ShapeLists<Vector>{}, none).size() == 0);
  CHECK(none.kind.empty());
}

TEST_CASE("moved_tables: the view of a copy reads the copy") {
  ShapeView view;
  const TableBlock block(three_shapes(), view);
  alignas(16) std::byte copy[48];
  std::memcpy(copy, block.data(), block.size());
  const ShapeView there = moved_tables(view, block.data(), copy);
  reinterpret_cast<double*>(copy + 16)[1] = 7.0;
  CHECK(there.length[1] == 7.0);
  CHECK(view.length[1] == 1.5);
  CHECK(there.kind[2] == 'c');
  CHECK(there.parent.empty());
}

}  // namespace
}  // namespace cycloid
