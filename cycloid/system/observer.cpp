#include "cycloid/system/observer.h"

#include <algorithm>
#include <charconv>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"

namespace cycloid::inline system {
namespace {

Observable of_block(const Block& b) { return {b.name, b.unit, {b.size}, {{b.offset, b.size}}}; }

// A whole number that is all of the text.
std::optional<int> number_in(const std::string& text) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

// "name[2]", "name[1:4]", "name[1:]": some numbers of a block of the state; nothing where the name
// is not so made.
std::optional<Observable> part_of(const System& system, const std::string& name) {
  const std::size_t open = name.find('[');
  if (open == std::string::npos || name.back() != ']') return std::nullopt;
  const std::string within = name.substr(open + 1, name.size() - open - 2);
  const auto called = [&](const Block& b) { return b.name == name.substr(0, open); };
  const auto& blocks = system.states().blocks();
  const auto block = std::find_if(blocks.begin(), blocks.end(), called);
  if (block == blocks.end()) return std::nullopt;
  const std::size_t colon = within.find(':');
  const std::string last = colon == std::string::npos ? "" : within.substr(colon + 1);
  const std::optional<int> from = number_in(within.substr(0, colon));
  std::optional<int> to = last.empty() ? std::optional(block->size) : number_in(last);
  if (colon == std::string::npos && from) to = *from + 1;
  if (!from || !to || *from < 0 || *from >= *to || *to > block->size) {
    throw ModelError(message("\"", name, "\": expected numbers within 0 … ", block->size,
                             ", as in \"", block->name, "[0:", block->size, "]\""));
  }
  return Observable{name, block->unit, {*to - *from}, {{block->offset + *from, *to - *from}}};
}

}  // namespace

std::optional<Observable> Observables::find(const std::string& name) const {
  for (Observable& o : listed()) {
    if (o.name == name) return std::move(o);
  }
  return std::nullopt;
}

std::vector<std::string> Observables::known() const {
  std::vector<std::string> names;
  for (Observable& o : listed()) names.push_back(std::move(o.name));
  return names;
}

std::vector<Observable> observables_of(const System& system) {
  std::vector<Observable> all;
  for (const Block& b : system.states().blocks()) all.push_back(of_block(b));
  if (!system.observables()) return all;
  for (Observable& o : system.observables()->listed()) {
    const auto same = [&](const Observable& other) { return other.name == o.name; };
    const auto found = std::find_if(all.begin(), all.end(), same);
    if (found == all.end()) all.push_back(std::move(o));
    else *found = std::move(o);
  }
  return all;
}

Observable find_observable(const System& system, const std::string& name) {
  const Observables* const own = system.observables();
  if (own) {
    if (std::optional<Observable> found = own->find(name)) return *std::move(found);
  }
  std::vector<std::string> known = own ? own->known() : std::vector<std::string>();
  for (const Block& b : system.states().blocks()) {
    if (b.name == name) return of_block(b);
    known.push_back(b.name);
  }
  if (std::optional<Observable> part = part_of(system, name)) return *std::move(part);
  throw ModelError(message("no ", own ? own->noun() : "observable", " is called \"", name, "\"",
                           did_you_mean(name, known)));
}

}  // namespace cycloid::inline system
