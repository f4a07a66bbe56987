#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "cycloid/base/error.h"

namespace cycloid::cli {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The first of these that is set decides, as in the C library.
bool locale_is_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = environment(name);
    if (value.empty()) continue;
    return value.ends_with("UTF-8") || value.ends_with("utf8") || value.ends_with("utf-8");
  }
  return false;
}

}  // namespace

std::string Terminal::painted(const char* code, std::string_view text) const {
  return colour ? message("\x1b[", code, "m", text, "\x1b[0m") : std::string(text);
}

int columns_of(int descriptor) {
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

Terminal find_terminal(bool json, bool colour_wanted) {
  const bool capable = environment("TERM") != "dumb";
  Terminal terminal;
  terminal.json = json;
  terminal.live = capable && isatty(STDOUT_FILENO) == 1;
  terminal.colour = terminal.live && colour_wanted && environment("NO_COLOR").empty();
  terminal.progress = capable && isatty(STDERR_FILENO) == 1;
  terminal.unicode = locale_is_unicode();
  if (terminal.live) terminal.columns = columns_of(STDOUT_FILENO);
  return terminal;
}

}  // namespace cycloid::cli
