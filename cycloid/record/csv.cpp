#include "cycloid/record/csv.h"

#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include "cycloid/base/error.h"

namespace cycloid::inline record {
namespace {

std::string_view trimmed(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  if (s.size() >= 2 && s.front() == '"' && s.back() == '"') s = s.substr(1, s.size() - 2);
  return s;
}

// Commas inside quotes do not count: a name such as "gravity[0,1]".
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (line[i] != ',' || quoted)) continue;
    fields.push_back(trimmed(line.substr(begin, i - begin)));
    begin = i + 1;
  }
  return fields;
}

bool is_missing(std::string_view field) {
  return field.empty() || field == "nan" || field == "NaN" || field == "NAN" || field == "NA";
}

double number_of(std::string_view field, std::size_t line, const std::string& column) {
  if (is_missing(field)) return std::numeric_limits<double>::quiet_NaN();
  const std::string_view digits = field.starts_with('+') ? field.substr(1) : field;
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    throw Error(message("line ", line, ", column \"", column, "\": \"", field, "\" is no number"));
  }
  return value;
}

}  // namespace

Table parse_csv(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  Table table;
  std::size_t number = 0, begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    const std::string_view content = trimmed(line);
    if (content.empty() || content.front() == '#') continue;
    const std::vector<std::string_view> fields = fields_of(line);
    if (table.names.empty()) {
      std::set<std::string> seen;
      for (const std::string_view field : fields) {
        table.names.emplace_back(field);
        if (!seen.insert(table.names.back()).second) {
          throw Error(message("line ", number, ": column \"", field, "\" is there twice"));
        }
      }
      table.columns.resize(table.names.size());
      continue;
    }
    if (fields.size() != table.names.size()) {
      throw Error(message("line ", number, " has ", fields.size(),
                          fields.size() == 1 ? " field" : " fields", ", the header has ",
                          table.names.size()));
    }
    for (std::size_t c = 0; c < fields.size(); ++c) {
      table.columns[c].push_back(number_of(fields[c], number, table.names[c]));
    }
  }
  if (table.names.empty() || table.columns.front().empty()) {
    throw Error("expected a line of column names and rows of numbers below it");
  }
  return table;
}

Table read_csv(const std::filesystem::path& path) {
  try {
    return parse_csv(read_bytes(path));
  } catch (const FileNotFound&) {
    throw;
  } catch (const Error& error) {
    throw Error(message(path.string(), ": ", error.what()));
  }
}

std::string csv_text(const Table& table) {
  std::string text;
  for (std::size_t c = 0; c < table.names.size(); ++c) {
    const bool quoted = table.names[c].find(',') != std::string::npos;
    text += message(c ? "," : "", quoted ? "\"" : "", table.names[c], quoted ? "\"" : "");
  }
  text += '\n';
  const std::size_t rows = table.columns.empty() ? 0 : table.columns.front().size();
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c) text += ',';
      if (!std::isnan(table.columns[c][i])) append_real(text, table.columns[c][i]);
    }
    text += '\n';
  }
  return text;
}

std::string read_bytes(const std::filesystem::path& path) {
  std::error_code unreadable;
  if (!std::filesystem::exists(path, unreadable)) {
    throw FileNotFound(message("there is no file \"", path.string(), "\""));
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad()) throw Error(message("cannot read \"", path.string(), "\""));
  return bytes;
}

void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.flush();
  if (!file) throw Error(message("cannot write \"", path.string(), "\""));
}

}  // namespace cycloid::inline record
