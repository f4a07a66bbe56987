// base/check.h: a condition that holds unless Cycloid itself is wrong.
//
//   CYCLOID_CHECK(used + bytes <= capacity, used, bytes, capacity);
//
// throws InternalError with the condition, the values by name and the place:
//   check failed: used + bytes <= capacity (used = 960, bytes = 128, capacity = 1024), arena.h:71
// A value may also be a remark in quotes. Checks are always on, and never abort. What a caller can
// get wrong is an Error with advice instead (error.h).
#pragma once

#include <string>
#include <vector>

#include "cycloid/base/error.h"

namespace cycloid::inline base {

// `names` are the value expressions as written, separated by commas; `values` are their texts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line, const char* names,
                               const std::vector<std::string>& values);

template <class... Values>
[[gnu::cold, gnu::noinline]] std::vector<std::string> check_values(const Values&... values) {
  return {message(values)...};
}

}  // namespace cycloid::inline base

#define CYCLOID_CHECK(condition, ...)                                                   \
  (static_cast<bool>(condition)                                                         \
       ? static_cast<void>(0)                                                           \
       : ::cycloid::base::check_failed(#condition, __FILE__, __LINE__, "" #__VA_ARGS__, \
                                       ::cycloid::base::check_values(__VA_ARGS__)))
