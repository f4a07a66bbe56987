#include "cycloid/io/messages.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "cycloid/base/utf8.h"

namespace cycloid::inline io {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kSpaces);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

std::string_view without_prefixes(std::string_view line) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string_view prefix : {"XML Error:", "Error:", "error:", "WARNING:"}) {
      if (!line.starts_with(prefix)) continue;
      line = trimmed(line.substr(prefix.size()));
      again = true;
    }
  }
  return line;
}

// What MuJoCo says to those who call its API rather than write models.
bool is_for_programmers(std::string_view line) {
  return line.starts_with("The static bodies of the spec were fused") ||
         line.starts_with("XML parse error ");
}

// "Error=XML_ERROR_MISMATCHED_ELEMENT ErrorID=14 (0xe) Line number=1: XMLElement name=body" becomes
// "the XML is not well formed: mismatched element, line 1 (XMLElement name=body)".
std::string parser_line(std::string_view line) {
  constexpr std::string_view kStart = "Error=XML_ERROR_", kLine = "Line number=";
  const auto start = line.find(kStart);
  if (start == line.npos) return std::string(line);
  const std::string_view rest = line.substr(start + kStart.size());
  std::string kind(rest.substr(0, rest.find(' ')));
  for (char& c : kind) c = c == '_' ? ' ' : static_cast<char>(std::tolower(c));
  std::string text = "the XML is not well formed: " + kind;
  const auto number = rest.find(kLine);
  if (number == rest.npos) return text;
  const std::string_view tail = rest.substr(number + kLine.size());
  const auto colon = tail.find(':');
  text += ", line " + std::string(trimmed(tail.substr(0, colon)));
  if (colon != tail.npos && !trimmed(tail.substr(colon + 1)).empty()) {
    text += " (" + std::string(trimmed(tail.substr(colon + 1))) + ")";
  }
  return text;
}

}  // namespace

std::string readable(std::string_view text) {
  std::string clean;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_character_length(text.substr(i));
    const auto code = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      clean += "\xef\xbf\xbd";
    } else if (length == 1 && (code < 0x20 || code == 0x7f)) {
      clean += ' ';
    } else {
      clean += text.substr(i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  return clean;
}

std::string clean_message(std::string_view from_mujoco) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= from_mujoco.size();) {
    const std::size_t end = std::min(from_mujoco.find('\n', start), from_mujoco.size());
    const std::string_view line = without_prefixes(trimmed(from_mujoco.substr(start, end - start)));
    start = end + 1;
    if (line.empty() || is_for_programmers(line)) continue;
    std::string part = parser_line(line);
    if (!parts.empty() && part.starts_with("Element")) part[0] = 'e';
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
  }
  if (parts.empty()) return "MuJoCo gives no reason";
  std::string sentence = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) sentence += (i == 1 ? " (" : ", ") + parts[i];
  if (parts.size() > 1) sentence += ')';
  return readable(sentence);
}

std::string unopened_file(std::string_view from_mujoco) {
  constexpr std::string_view kStart = "Error opening file '";
  const auto start = from_mujoco.find(kStart);
  if (start == from_mujoco.npos) return {};
  const std::string_view rest = from_mujoco.substr(start + kStart.size());
  const std::string_view first_line = rest.substr(0, rest.find('\n'));
  const auto end = first_line.rfind('\'');
  return end == first_line.npos ? std::string{} : std::string(first_line.substr(0, end));
}

}  // namespace cycloid::inline io
