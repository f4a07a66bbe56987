// Tables of numbers as text: a line of names, then a line for each row, separated by commas.
//
// A field that is empty, "nan" or "NA" is NaN. Lines that begin with # are left out, names and
// numbers may be quoted, blanks around them do not matter, lines may end in \r\n.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>

#include "cycloid/record/recording.h"

namespace cycloid::inline record {

// Throws Error, with the line, on a row of another length or a field that is no number; on a table
// without rows.
Table parse_csv(std::string_view text);
// Throws FileNotFound too.
Table read_csv(const std::filesystem::path& path);
// Numbers as the shortest text that reads back as they are; NaN as an empty field.
std::string csv_text(const Table& table);

// A whole file. Throws FileNotFound, or Error when it cannot be read.
std::string read_bytes(const std::filesystem::path& path);
// Throws Error when it cannot be written.
void write_bytes(const std::filesystem::path& path, std::string_view bytes);

}  // namespace cycloid::inline record
