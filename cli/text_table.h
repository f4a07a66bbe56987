// Text in columns. Widths count characters, not bytes, so that "m/s²" and "N·m" line up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cycloid::cli {

class Table {
 public:
  enum class Align { left, right };
  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}

  // Cells that are missing at the end stay empty.
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // Lines of text, each indented by two spaces.
  std::string text() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// A number for people: six digits.
std::string shown(double value);
// "1 step", "20 steps"
std::string counted(std::int64_t n, const char* noun);

}  // namespace cycloid::cli
