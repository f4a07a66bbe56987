// model/field_columns.h: the fields of elements (model_fields.h) to columns, and back.
//
// A field is a column named by its path, "model.joints.stiffness.linear"; an element of a table is
// a row of each of its columns, and the table itself a column with its number of rows. Both
// archives visit the fields in the same order, so that rows meet their elements again.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cycloid/base/error.h"
#include "cycloid/base/utf8.h"
#include "cycloid/model/columns.h"
#include "cycloid/model/model_fields.h"

namespace cycloid::inline model {

template <Leaf T>
constexpr Format format_of() {
  if constexpr (std::same_as<T, bool> || std::same_as<T, int>) return {Storage::integer, 1};
  else if constexpr (std::same_as<T, double>) return {Storage::real, 1};
  else if constexpr (is_array_of_numbers<T>) return {Storage::real, std::tuple_size_v<T>};
  else if constexpr (std::same_as<T, std::vector<int>>) return {Storage::integers, 1};
  else if constexpr (std::same_as<T, std::vector<double>>) return {Storage::reals, 1};
  else if constexpr (std::same_as<T, std::vector<float>>) return {Storage::floats, 1};
  else {
    static_assert(std::is_enum_v<T> || std::same_as<T, std::string>, "no storage for this field");
    return {Storage::text, 1};
  }
}

// Names of fields, one inside the other: "bodies.stiffness.linear".
class FieldPath {
 public:
  template <class Visit>
  void inside(std::string_view name, const Visit& visit) {
    const std::size_t before = text_.size();
    if (before > 0) text_ += '.';
    text_ += name;
    visit();
    text_.resize(before);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Appends to columns. Throws ModelError for what a file cannot hold.
class ColumnWriter {
 public:
  template <class T>
  void operator()(std::string_view name, const T& value) {
    path_.inside(name, [&] {
      if constexpr (Leaf<T>) {
        leaf(value);
      } else if constexpr (is_table<T>) {
        table(value);
      } else {
        fields(*this, value);
      }
    });
  }

  Columns columns;

 private:
  template <class T>
  Column& column() {
    Column& c = columns[path_.text()];
    c.format = format_of<T>();
    return c;
  }

  template <class T>
  void leaf(const T& value) {
    Column& c = column<T>();
    if (declaring_) return;
    ++c.rows;
    append_value(c.data, value);
  }

  template <class Element>
  void table(const std::vector<Element>& all) {
    if (all.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
      throw ModelError(message("a model file has no room for ", all.size(), " ", path_.text()));
    }
    leaf(static_cast<int>(all.size()));
    // An empty table has its columns, too.
    const bool before = std::exchange(declaring_, true);
    const Element none{};
    fields(*this, none);
    declaring_ = before;
    for (const Element& element : all) fields(*this, element);
  }

  template <class T>
  void append_value(std::string& to, const T& value) {
    if constexpr (std::same_as<T, bool> || std::same_as<T, int>) {
      put(to, static_cast<std::int32_t>(value));
    } else if constexpr (std::same_as<T, double>) {
      put(to, value);
    } else if constexpr (is_array_of_numbers<T>) {
      for (const double v : value) put(to, v);
    } else if constexpr (is_list_of_numbers<T>) {
      put(to, length_of(value.size()));
      for (const auto v : value) put(to, v);
    } else if constexpr (std::is_enum_v<T>) {
      append_text(to, enumerator_name(value));
    } else {
      append_text(to, value);
    }
  }

  void append_text(std::string& to, std::string_view text) {
    if (!is_utf8(text)) throw ModelError(message("a name in ", path_.text(), " is not UTF-8"));
    put(to, length_of(text.size()));
    to += text;
  }

  std::uint32_t length_of(std::size_t n) const {
    if (n > std::numeric_limits<std::uint32_t>::max()) {
      throw ModelError(message("a model file has no room for ", n, " numbers of ", path_.text()));
    }
    return static_cast<std::uint32_t>(n);
  }

  template <class Enum>
  std::string_view enumerator_name(Enum value) const {
    for (const auto& [known, name] : enumerators(value)) {
      if (known == value) return name;
    }
    throw ModelError(message(path_.text(), " has no name for its value ", static_cast<int>(value)));
  }

  FieldPath path_;
  bool declaring_ = false;
};

// Reads fields from columns. A field that is missing is an error where the file must be `complete`,
// else it keeps its value. Throws ModelError naming the file and the field.
class ColumnReader {
 public:
  ColumnReader(Columns& columns, bool complete, const std::string& label)
      : columns_(columns), complete_(complete), label_(label) {}

  template <class T>
  void operator()(std::string_view name, T& value) {
    path_.inside(name, [&] {
      if constexpr (Leaf<T>) {
        leaf(value);
      } else if constexpr (is_table<T>) {
        table(value);
      } else {
        fields(*this, value);
      }
    });
  }

  void check_that_all_is_read() {
    for (const auto& [name, c] : columns_) {
      if (!c.known)
        fail_to_read(label_, message("its field \"", name, "\" is unknown to this version"));
      if (c.rows_read != c.rows || !c.rest.empty()) {
        fail_to_read(label_, message("its field \"", name, "\" has ", c.rows, " rows, of which ",
                                     c.rows_read, " belong to the model"));
      }
    }
  }

 private:
  // Null for a field that an older file lacks.
  template <class T>
  Column* column() {
    const auto at = columns_.find(path_.text());
    if (at == columns_.end()) {
      if (complete_) fail_to_read(label_, message("its field \"", path_.text(), "\" is missing"));
      return nullptr;
    }
    Column& c = at->second;
    c.known = true;
    if (c.format != format_of<T>()) bad("is stored in another way than expected");
    return &c;
  }

  template <class T>
  void leaf(T& value) {
    Column* c = column<T>();
    if (!c) return;
    if (declaring_) {
      fewest_rows_ = std::min(fewest_rows_, c->rows - c->rows_read);
      return;
    }
    if (c->rows_read == c->rows) bad("has too few rows");
    ++c->rows_read;
    take_value(c->rest, value);
  }

  template <class Element>
  void table(std::vector<Element>& all) {
    int rows = 0;
    leaf(rows);
    const bool before = std::exchange(declaring_, true);
    const std::uint64_t fewest = std::exchange(fewest_rows_, ~std::uint64_t{0});
    Element none{};
    fields(*this, none);
    declaring_ = before;
    const std::uint64_t there = std::exchange(fewest_rows_, fewest);
    if (declaring_) return;
    // As many as there are in the file, before memory is asked for.
    if (rows < 0 || static_cast<std::uint64_t>(rows) > there) {
      bad(message("has ", rows, " rows, and its fields have ", there));
    }
    all.resize(static_cast<std::size_t>(rows));
    for (Element& element : all) fields(*this, element);
  }

  template <class T>
  void take_value(std::string_view& from, T& value) {
    if constexpr (std::same_as<T, bool>) {
      const auto number = take<std::int32_t>(from);
      if (number != 0 && number != 1) bad(message("is ", number, "; expected 0 or 1"));
      value = number == 1;
    } else if constexpr (std::same_as<T, int>) {
      value = take<std::int32_t>(from);
    } else if constexpr (std::same_as<T, double>) {
      value = take<double>(from);
    } else if constexpr (is_array_of_numbers<T>) {
      for (double& v : value) v = take<double>(from);
    } else if constexpr (is_list_of_numbers<T>) {
      using Number = typename T::value_type;
      const std::uint32_t n = take<std::uint32_t>(from);
      if (from.size() / sizeof(Number) < n) bad("is cut off");
      value.resize(n);
      for (Number& v : value) v = take<Number>(from);
    } else {
      const std::uint32_t n = take<std::uint32_t>(from);
      if (from.size() < n) bad("is cut off");
      const std::string_view text = from.substr(0, n);
      from.remove_prefix(n);
      if (!is_utf8(text)) bad("is not UTF-8");
      if constexpr (std::is_enum_v<T>) {
        value = enumerator<T>(text);
      } else {
        value = text;
      }
    }
  }

  template <class Number>
  Number take(std::string_view& from) {
    if (from.size() < sizeof(Number)) bad("is cut off");
    const Number value = get<Number>(from.data());
    from.remove_prefix(sizeof(Number));
    return value;
  }

  template <class Enum>
  Enum enumerator(std::string_view text) {
    for (const auto& [value, name] : enumerators(Enum{})) {
      if (name == text) return value;
    }
    bad(message("is \"", text.substr(0, 40), "\", which this version does not know"));
  }

  [[noreturn]] void bad(const std::string& what) const {
    fail_to_read(label_, message("its field \"", path_.text(), "\" ", what));
  }

  Columns& columns_;
  bool complete_;  // every field must be there
  const std::string& label_;
  FieldPath path_;
  bool declaring_ = false;
  std::uint64_t fewest_rows_ = 0;
};

}  // namespace cycloid::inline model
