// Arrays by name, as files of numbers hold them, and the recording that they make.
//
//   times (S), values (S, m) or (S), and where there are: controls (S, inputs), names, sigma, x0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cycloid/record/recording.h"

namespace cycloid::inline record {

// Numbers in C order, or texts.
struct NamedArray {
  std::vector<std::size_t> shape = {};
  std::vector<double> numbers = {};
  std::vector<std::string> texts = {};
};
using NamedArrays = std::map<std::string, NamedArray>;

// Throws Error without times or values, and where rows and times differ in number. `where` begins
// the message: the file.
Recording recording_from_arrays(const NamedArrays& arrays, const std::string& where);
NamedArrays arrays_from_recording(const Recording& recording);

}  // namespace cycloid::inline record
