#include "cycloid/io/assets.h"

#include <string_view>

namespace cycloid::inline io {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// What follows "scheme:" and its slashes; empty when the name has another scheme.
std::string_view after_scheme(std::string_view name, std::string_view scheme) {
  if (!name.starts_with(scheme)) return {};
  name.remove_prefix(scheme.size());
  const auto first = name.find_first_not_of('/');
  return first == name.npos ? std::string_view{} : name.substr(first);
}

}  // namespace

std::string resolve_relative(const std::string& name, const std::string& inside,
                             const std::vector<std::string>& search_paths,
                             const fs::path& model_folder) {
  if (name.empty() || name.find(':') != name.npos || fs::path(name).is_absolute()) return {};
  if (is_file(model_folder / inside / name)) return {};
  std::error_code ignored;
  for (const fs::path folder : search_paths) {
    for (const fs::path& path : {folder / inside / name, folder / name}) {
      if (is_file(path)) return fs::absolute(path, ignored).lexically_normal().string();
    }
  }
  return {};
}

bool names_a_package(const std::string& name) {
  return name.starts_with("package:") || name.starts_with("model:");
}

std::string resolve_asset(const std::string& name, const std::vector<std::string>& search_paths,
                          const fs::path& model_folder) {
  if (const auto path = after_scheme(name, "file:"); !path.empty()) {
    const fs::path absolute = fs::path("/") / fs::path(path).relative_path();
    return is_file(absolute) ? absolute.string() : std::string{};
  }
  std::string_view whole = after_scheme(name, "package:");
  if (whole.empty()) whole = after_scheme(name, "model:");
  if (whole.empty()) return {};

  std::error_code ignored;
  const auto found = [&](const fs::path& path) {
    return is_file(path) ? fs::absolute(path, ignored).lexically_normal().string() : std::string{};
  };
  const auto slash = whole.find('/');
  const std::string_view rest = slash == whole.npos ? whole : whole.substr(slash + 1);
  for (const fs::path folder : search_paths) {
    for (const std::string_view part : {whole, rest}) {
      if (std::string file = found(folder / part); !file.empty()) return file;
    }
  }
  if (model_folder.empty()) return {};
  fs::path folder = fs::absolute(model_folder, ignored).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  for (;; folder = folder.parent_path()) {
    if (std::string file = found(folder / whole); !file.empty()) return file;
    if (folder == folder.parent_path()) return {};
  }
}

}  // namespace cycloid::inline io
