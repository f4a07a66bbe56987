// What may be written where: colours on standard output, progress on standard error.
#pragma once

#include <string>
#include <string_view>

namespace cycloid::cli {

struct Terminal {
  bool json = false;      // standard output belongs to one JSON object
  bool live = false;      // standard output is a terminal
  bool colour = false;    // text on standard output may be coloured
  bool progress = false;  // standard error is a terminal that can redraw a line
  bool unicode = false;   // it shows more than ASCII
  int columns = 80;       // of standard output, where it is a terminal

  std::string good(std::string_view text) const { return painted("32", text); }
  std::string warning(std::string_view text) const { return painted("33", text); }
  std::string bad(std::string_view text) const { return painted("31", text); }
  std::string strong(std::string_view text) const { return painted("1", text); }

 private:
  std::string painted(const char* code, std::string_view text) const;
};

// Columns of the terminal at a file descriptor; 80 where it is none, or does not say.
int columns_of(int descriptor);

// Colours need a terminal, no NO_COLOR in the environment (no-color.org) and `colour_wanted`.
Terminal find_terminal(bool json, bool colour_wanted);

}  // namespace cycloid::cli
