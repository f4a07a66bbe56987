// recording_rows.h: recordings as Python hands them over.
#pragma once

#include <nanobind/stl/tuple.h>

#include "cycloid/record/recording.h"
#include "module.h"

namespace cycloid::python {

// times, values, controls, names, sigma, x0; empty where there is none.
using RecordingRows = std::tuple<Rows<double>, Rows<double>, Rows<double>, std::vector<std::string>,
                                 std::vector<double>, std::vector<double>>;

inline std::vector<double> copied(const Rows<double>& rows) {
  const auto all = span_of(rows);
  return {all.begin(), all.end()};
}

inline Recording recording_of(const RecordingRows& rows) {
  const auto& [times, values, controls, names, sigma, x0] = rows;
  Recording r{copied(times), copied(values)};
  r.controls = copied(controls);
  r.names = names;
  r.sigma = sigma;
  r.x0 = x0;
  return r;
}

// names, numbers (guess)
using Request = std::pair<std::vector<std::string>, std::vector<double>>;
// name, numbers, numbers
using Range = std::tuple<std::string, std::vector<double>, std::vector<double>>;

}  // namespace cycloid::python
