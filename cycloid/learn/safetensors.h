// Files of arrays by name in the format safetensors, which other tools read too.
//
//   8 bytes: length of the header, little-endian
//   header: JSON, {"name": {"dtype": "F64", "shape": [2, 3], "data_offsets": [0, 48]}, …,
//                  "__metadata__": {"key": "text", …}}
//   the arrays' numbers, one after another
// Written as F64; F32 is read too. A file is written beside its place and moved there when it is
// complete.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace cycloid::inline learn {

struct Tensor {
  std::vector<std::int64_t> shape;  // () for one number
  std::vector<double> values;
};

struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Throws Error where the path cannot be written to.
void write_safetensors(const std::filesystem::path& path, const Safetensors& all);
// Throws FileNotFound, and Error on a file that is none, with what is wrong and where.
Safetensors read_safetensors(const std::filesystem::path& path);

}  // namespace cycloid::inline learn
