#include "cycloid/record/named_arrays.h"

#include "cycloid/base/error.h"

namespace cycloid::inline record {

Recording recording_from_arrays(const NamedArrays& arrays, const std::string& where) {
  for (const char* key : {"times", "values"}) {
    if (arrays.contains(key)) continue;
    std::string names;
    for (const auto& [name, array] : arrays) names += (names.empty() ? "" : ", ") + name;
    const bool is_run = arrays.contains("states") && arrays.contains("x0");
    throw Error(message(where, " has no array \"", key, "\"; it has ", names,
                        is_run ? ": it is a run, no recording of measurements" : ""));
  }
  const auto numbers = [&](const char* key) {
    const auto at = arrays.find(key);
    return at == arrays.end() ? std::vector<double>() : at->second.numbers;
  };
  Recording r{numbers("times"), numbers("values")};
  r.controls = numbers("controls");
  r.sigma = numbers("sigma");
  r.x0 = numbers("x0");
  if (const auto names = arrays.find("names"); names != arrays.end()) {
    r.names = names->second.texts;
  }
  for (const auto& [key, rows] : {std::pair("values", &r.values), {"controls", &r.controls}}) {
    if (r.times.empty() || rows->size() % r.times.size() != 0) {
      throw Error(message(where, ": \"", key, "\" has ", rows->size(), " numbers for ",
                          r.times.size(), " times"));
    }
  }
  return r;
}

NamedArrays arrays_from_recording(const Recording& recording) {
  const std::size_t S = recording.samples();
  const auto rows = [S](const std::vector<double>& numbers) {
    return NamedArray{{S, S == 0 ? 0 : numbers.size() / S}, numbers, {}};
  };
  const auto row = [](const std::vector<double>& numbers) {
    return NamedArray{{numbers.size()}, numbers, {}};
  };
  NamedArrays out{{"times", row(recording.times)}, {"values", rows(recording.values)}};
  if (!recording.controls.empty()) out["controls"] = rows(recording.controls);
  if (!recording.sigma.empty()) out["sigma"] = row(recording.sigma);
  if (!recording.x0.empty()) out["x0"] = row(recording.x0);
  if (!recording.names.empty()) out["names"] = {{recording.names.size()}, {}, recording.names};
  return out;
}

}  // namespace cycloid::inline record
