// base/nearest_name.h: what a name that does not exist was probably meant to be.
//
// The distance of two names counts insertions, deletions, substitutions and exchanges of
// neighbouring letters (optimal string alignment), without regard to case. A candidate is near when
// it is at most a third of the longer name's length away, or, failing that, when it contains the
// word: "pole.mass" finds "body:pole.mass".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cycloid::inline base {

int edit_distance(std::string_view a, std::string_view b);

// The nearest candidate, the first of equals; none when nothing is near.
std::optional<std::string> nearest_name(std::string_view word,
                                        std::span<const std::string> candidates);

// The end of a message about an unknown `word`:
//   ; did you mean "length"?
//   ; there are "length", "mass" and "damping"
//   ; there are 213 names, among them "body:torso.mass", …
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace cycloid::inline base
