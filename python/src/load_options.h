// The keywords of `load` as room io takes them.
#pragma once

#include <string>
#include <vector>

#include "cycloid/io/load.h"
#include "module.h"

namespace cycloid::python {

// Paths are bytes, as the file system has them.
inline LoadOptions load_options(bool constraints, bool ignore_noslip,
                                const std::vector<nb::bytes>& search_paths) {
  LoadOptions options;
  options.constraints = constraints;
  options.noslip = ignore_noslip ? Noslip::ignore : Noslip::refuse;
  for (const nb::bytes& path : search_paths) {
    options.search_paths.emplace_back(path.c_str(), path.size());
  }
  return options;
}

}  // namespace cycloid::python
