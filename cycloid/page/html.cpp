#include "cycloid/page/html.h"

#include "cycloid/base/check.h"

namespace cycloid::inline page {

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string fill_marks(const std::string& text,
                       const std::function<std::string(const std::string& words)>& replacement) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t open; (open = text.find("{{", at)) != text.npos;) {
    const std::size_t close = text.find("}}", open);
    CYCLOID_CHECK(close != text.npos, open);
    out += text.substr(at, open - at);
    out += replacement(text.substr(open + 2, close - open - 2));
    at = close + 2;
  }
  return out + text.substr(at);
}

}  // namespace cycloid::inline page
