#include "cycloid/io/mjcf_schema.h"

#include <algorithm>

#include "cycloid/base/error.h"
#include "cycloid/io/mujoco_library.h"

namespace cycloid::inline io {
namespace {

constexpr std::size_t kIndent = 3;       // of a level
constexpr std::size_t kAttributes = 30;  // where they begin

void append_words(std::string_view text, std::vector<std::string>& words) {
  for (std::size_t at = text.find_first_not_of(' '); at != text.npos;) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(' ', end);
  }
}

}  // namespace

MjcfSchema parse_schema(std::string_view printed) {
  MjcfSchema schema;
  std::vector<std::string> path;  // without the outermost element
  MjcfElement* element = nullptr;
  while (!printed.empty()) {
    const std::size_t end = std::min(printed.find('\n'), printed.size());
    const std::string_view line = printed.substr(0, end);
    printed.remove_prefix(std::min(end + 1, printed.size()));
    const std::size_t start = line.find_first_not_of(" \r");
    if (start == line.npos) continue;
    if (start < kAttributes) {
      const std::size_t level = start / kIndent;
      std::string name(line.substr(start, line.find(' ', start) - start));
      if (name == "(world)body") name = "body";
      path.resize(std::min(path.size(), level == 0 ? 0 : level - 1));
      std::string key;
      for (const std::string& part : path) key += part + "/";
      if (!path.empty()) schema[key.substr(0, key.size() - 1)].children.push_back(name);
      if (level > 0) path.push_back(name);
      element = &schema[level == 0 ? std::string() : key + name];
    }
    if (element && line.size() > kAttributes) {
      append_words(line.substr(kAttributes), element->attributes);
    }
  }
  return schema;
}

const MjcfSchema& mjcf_schema() {
  static const MjcfSchema schema = [] {
    std::string text(1 << 18, '\0');
    const int size =
        mujoco_library().mj_printSchema(nullptr, text.data(), static_cast<int>(text.size()), 0, 1);
    if (size <= 0 || static_cast<std::size_t>(size) >= text.size()) {
      throw ModelError("MuJoCo does not tell the schema of MJCF");
    }
    return parse_schema(std::string_view(text).substr(0, static_cast<std::size_t>(size)));
  }();
  return schema;
}

}  // namespace cycloid::inline io
