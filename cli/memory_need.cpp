#include "cli/memory_need.h"

#include <algorithm>

#include "cycloid/base/byte_size.h"
#include "cycloid/base/error.h"

namespace cycloid::cli {

void require_memory(double bytes) {
  const std::optional<std::uint64_t> free = free_memory();
  if (!free || bytes <= static_cast<double>(*free)) return;
  constexpr double kMost = 1e18;
  throw Error(message("this needs about ",
                      print_byte_size(static_cast<std::uint64_t>(std::min(bytes, kMost))),
                      " of memory, and ", print_byte_size(*free),
                      " are free; ask for less (--batch, --steps, --n)"));
}

}  // namespace cycloid::cli
