#include "cycloid/system/observer.h"

#include <algorithm>

#include "cycloid/base/error.h"
#include "cycloid/base/nearest_name.h"

namespace cycloid::inline system {
namespace {

Observable of_block(const Block& b) { return {b.name, b.unit, {b.size}, {{b.offset, b.size}}}; }

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
  throw ModelError(message("no ", own ? own->noun() : "observable", " is called \"", name, "\"",
                           did_you_mean(name, known)));
}

}  // namespace cycloid::inline system
