// io/messages.h: MuJoCo's messages as one clean sentence, and text that is fit to be shown.
//
// MuJoCo speaks in several lines, with prefixes that nest ("Error: Error opening file …"), numbers
// of its XML parser and advice about its own API. A user gets the sentence and the line number.
#pragma once

#include <string>
#include <string_view>

namespace cycloid::inline io {

// The first line without its prefixes, then the others in parentheses, each of them once:
//   "Schema violation: unrecognized element (element 'bod', line 3)"
std::string clean_message(std::string_view from_mujoco);

// `text` as valid UTF-8 without control characters: what is neither becomes U+FFFD or a space.
std::string readable(std::string_view text);

// The file that MuJoCo could not open, as its message names it; empty when that is not the trouble.
std::string unopened_file(std::string_view from_mujoco);

}  // namespace cycloid::inline io
