// NumPy's archives of arrays (.npz): a zip file whose members are .npy files, stored or deflated.
//
// Numbers come as float64, float32 and whole numbers of any width, texts as numpy's fixed-width
// ones; big-endian and object arrays are refused. What is written is stored, as numpy.savez does.
#pragma once

#include <filesystem>
#include <string_view>

#include "cycloid/record/named_arrays.h"

namespace cycloid::inline record {

// Throws Error on bytes that are no such archive; `where` begins the message.
NamedArrays parse_npz(std::string_view bytes, const std::string& where);
// Throws FileNotFound too.
NamedArrays read_npz(const std::filesystem::path& path);
std::string npz_bytes(const NamedArrays& arrays);

}  // namespace cycloid::inline record
