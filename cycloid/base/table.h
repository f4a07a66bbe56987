// base/table.h: arrays of plain numbers that kernels read, side by side in one block of memory.
//
// A Table is a pointer and a count, and does not own what it points to. A view is a struct of
// tables and numbers that is trivially copyable, so that it can be handed to a kernel anywhere: a
// device copies the block once, and `moved_tables` makes the view of that copy.
//
// The lists of a view are declared once, for tables and for the vectors that they are made of:
//
//   template <template <class> class List>
//   struct ShapeLists {
//     List<int> parent;
//     List<double> length;
//   };
//   struct ShapeView : ShapeLists<Table> {
//     // Every list of some views, in the order of the block.
//     template <class F, class... Views>
//     static void each_table(F&& f, Views&... of) {
//       f(of.parent...), f(of.length...);
//     }
//   };
//   ShapeLists<Vector> lists;                     // filled by push_back
//   ShapeView view;
//   const TableBlock block(lists, view);          // view points into block
//   const ShapeView there = moved_tables(view, block.data(), copy);
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "cycloid/base/host_device.h"

namespace cycloid::inline base {

template <class X>
struct Table {
  static_assert(std::is_trivially_copyable_v<X>, "a table is copied byte by byte");

  const X* first = nullptr;
  std::size_t count = 0;

  template <std::integral Index>
  CYCLOID_HD const X& operator[](Index i) const {
    return first[i];
  }
  CYCLOID_HD const X* data() const { return first; }
  CYCLOID_HD const X* begin() const { return first; }
  CYCLOID_HD const X* end() const { return first + count; }
  CYCLOID_HD const X& front() const { return first[0]; }
  CYCLOID_HD const X& back() const { return first[count - 1]; }
  CYCLOID_HD std::size_t size() const { return count; }
  CYCLOID_HD bool empty() const { return count == 0; }
};

// std::vector with one argument, to stand in the place of Table.
template <class X>
using Vector = std::vector<X>;

inline constexpr std::size_t kTableAlignment = 16;  // of each table in its block [bytes]

// The bytes that a list takes in a block, to the place where the next one begins.
template <class List>
constexpr std::size_t table_bytes(const List& list) {
  const std::size_t bytes = list.size() * sizeof(*list.data());
  return (bytes + kTableAlignment - 1) / kTableAlignment * kTableAlignment;
}

// The memory of a view's tables. It stays where it is when the block changes hands.
class TableBlock {
 public:
  TableBlock() = default;
  // Copies the lists one after the other and lets the tables of `view` point to them.
  template <class Lists, class View>
  TableBlock(const Lists& lists, View& view) {
    View::each_table([&](const auto& list) { size_ += table_bytes(list); }, lists);
    bytes_ = std::make_unique<std::byte[]>(size_);
    std::size_t at = 0;
    const auto place = [&]<class X>(const Vector<X>& list, Table<X>& table) {
      static_assert(alignof(X) <= kTableAlignment);
      table = {};
      if (list.empty()) return;
      std::memcpy(bytes_.get() + at, list.data(), list.size() * sizeof(X));
      table = {reinterpret_cast<const X*>(bytes_.get() + at), list.size()};
      at += table_bytes(list);
    };
    View::each_table(place, lists, view);
  }

  const std::byte* data() const { return bytes_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

// The view of a copy of its block, which may lie in the memory of another machine.
template <class View>
View moved_tables(View view, const void* from, const void* to) {
  static_assert(std::is_trivially_copyable_v<View>);
  const auto move = [&]<class X>(Table<X>& table) {
    if (table.empty()) return;
    const auto offset =
        reinterpret_cast<const std::byte*>(table.first) - static_cast<const std::byte*>(from);
    table.first = reinterpret_cast<const X*>(static_cast<const std::byte*>(to) + offset);
  };
  View::each_table(move, view);
  return view;
}

}  // namespace cycloid::inline base
