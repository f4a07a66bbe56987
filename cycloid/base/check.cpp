#include "cycloid/base/check.h"

#include <string_view>

namespace cycloid::inline base {

namespace {

// The text up to the next comma outside brackets and quotes; cuts it off `names`.
std::string_view cut_first(std::string_view& names) {
  int depth = 0;
  char quote = 0;
  std::size_t end = 0;
  for (; end < names.size(); ++end) {
    const char c = names[end];
    if (quote != 0) {
      if (c == '\\') ++end;
      else if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      break;
    }
  }
  const std::string_view first = names.substr(0, end);
  names.remove_prefix(std::min(names.size(), end + 1));
  while (names.starts_with(' ')) names.remove_prefix(1);
  return first;
}

std::string_view without_folders(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

}  // namespace

void check_failed(const char* condition, const char* file, int line, const char* names,
                  const std::vector<std::string>& values) {
  std::string text = message("check failed: ", condition);
  std::string_view separator = " (";
  std::string_view rest = names;
  for (const std::string& value : values) {
    const std::string_view expression = cut_first(rest);
    append(text, separator);
    if (!expression.starts_with('"')) append(text, message(expression, " = "));
    append(text, value);
    separator = ", ";
  }
  if (!values.empty()) text += ")";
  throw InternalError(message(text, ", ", without_folders(file), ":", line,
                              ". This is a fault of Cycloid: please report it with this line"));
}

}  // namespace cycloid::inline base
