// io/assets.h: where the files that a model names are.
//
// Robots in URDF name their meshes by package, "package://name/rest", and leave it to a registry
// of packages to know the folder. Here a list of folders takes its place.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cycloid::inline io {

// The existing file that a name with a scheme stands for; empty when the name has no scheme or no
// file is found. For package:// and model://
//   1. folder/name/rest, then folder/rest, for each folder of `search_paths`
//   2. folder/name/rest for `model_folder` and each folder above it, when it is not empty
// and for file:// the path that follows.
std::string resolve_asset(const std::string& name, const std::vector<std::string>& search_paths,
                          const std::filesystem::path& model_folder);

// The existing file of a relative name without a scheme in `search_paths`: folder/inside/name, then
// folder/name. Empty when there is none, or when it exists where the model has its files:
// model_folder/inside/name. `inside` is the model's own folder of meshes, often empty.
std::string resolve_relative(const std::string& name, const std::string& inside,
                             const std::vector<std::string>& search_paths,
                             const std::filesystem::path& model_folder);

// Whether the name begins with package: or model:.
bool names_a_package(const std::string& name);

}  // namespace cycloid::inline io
