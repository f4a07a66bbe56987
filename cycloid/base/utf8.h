// base/utf8.h: whether bytes are text.
#pragma once

#include <cstddef>
#include <string_view>

namespace cycloid::inline base {

// Length of the UTF-8 character at the start of `text`; 0 when it is none, or there is none.
std::size_t utf8_character_length(std::string_view text);

// True for a sequence of whole characters.
bool is_utf8(std::string_view text);

}  // namespace cycloid::inline base
