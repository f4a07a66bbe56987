#include "cycloid/base/nearest_name.h"

#include <algorithm>
#include <vector>

#include "cycloid/base/error.h"

namespace cycloid::inline base {

namespace {

constexpr std::size_t kNamesListed = 12;  // all of them, when there are so few
constexpr std::size_t kNamesSampled = 5;  // of more
constexpr std::size_t kShortestPart = 3;  // letters that a contained word has at least

char lower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool contains(std::string_view name, std::string_view word) {
  return std::search(name.begin(), name.end(), word.begin(), word.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != name.end();
}

std::string in_quotes(std::string_view name) { return message('"', name, '"'); }

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  // row[i % 3][j]: distance of the first i letters of a and the first j of b.
  std::vector<int> row[3];
  for (auto& r : row) r.resize(width);
  for (std::size_t j = 0; j < width; ++j) row[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<int>& now = row[i % 3];
    const std::vector<int>& before = row[(i - 1) % 3];
    const std::vector<int>& earlier = row[(i + 1) % 3];
    now[0] = static_cast<int>(i);
    for (std::size_t j = 1; j < width; ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      now[j] = std::min({before[j] + 1, now[j - 1] + 1, before[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        now[j] = std::min(now[j], earlier[j - 2] + 1);
    }
  }
  return row[a.size() % 3][b.size()];
}

std::optional<std::string> nearest_name(std::string_view word,
                                        std::span<const std::string> candidates) {
  const std::string* nearest = nullptr;
  int smallest = 0;
  for (const std::string& candidate : candidates) {
    const int near = static_cast<int>(std::max(word.size(), candidate.size()) / 3);
    const int distance = edit_distance(word, candidate);
    if (distance > near || (nearest != nullptr && distance >= smallest)) continue;
    nearest = &candidate;
    smallest = distance;
  }
  if (nearest != nullptr) return *nearest;

  if (word.size() < kShortestPart) return std::nullopt;
  for (const std::string& candidate : candidates)
    if (contains(candidate, word) && (nearest == nullptr || candidate.size() < nearest->size()))
      nearest = &candidate;
  return nearest == nullptr ? std::nullopt : std::optional(*nearest);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  if (candidates.empty()) return "; there are none";
  if (const auto nearest = nearest_name(word, candidates))
    return message("; did you mean ", in_quotes(*nearest), "?");

  const bool few = candidates.size() <= kNamesListed;
  std::string text =
      few ? "; there are " : message("; there are ", candidates.size(), " names, among them ");
  if (candidates.size() == 1) return message("; there is only ", in_quotes(candidates[0]));
  const std::size_t listed = few ? candidates.size() : kNamesSampled;
  for (std::size_t i = 0; i < listed; ++i) {
    if (i > 0) text += few && i + 1 == listed ? " and " : ", ";
    text += in_quotes(candidates[i]);
  }
  return text;
}

}  // namespace cycloid::inline base
