// Texts that go into HTML, SVG and XML.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace cycloid::inline page {

// With & < > " as entities, so that it stays text in an element and in a quoted attribute.
std::string escape_html(std::string_view text);

// Replaces every {{words}} of a text by replacement(words). An InternalError where one is not
// closed.
std::string fill_marks(const std::string& text,
                       const std::function<std::string(const std::string& words)>& replacement);

}  // namespace cycloid::inline page
