#include "cycloid/model/columns.h"

#include "cycloid/base/error.h"
#include "cycloid/base/utf8.h"

namespace cycloid::inline model {
namespace {

template <class Number>
Number take(std::string_view& from, const std::string& label) {
  if (from.size() < sizeof(Number)) fail_to_read(label, "its list of fields is cut off");
  const Number value = get<Number>(from.data());
  from.remove_prefix(sizeof(Number));
  return value;
}

}  // namespace

void fail_to_read(const std::string& label, const std::string& what) {
  throw ModelError(message("cannot read ", label, " as a model: ", what));
}

std::string columns_to_bytes(const Columns& columns) {
  std::string bytes;
  put(bytes, static_cast<std::uint32_t>(columns.size()));
  for (const auto& [name, c] : columns) {
    put(bytes, static_cast<std::uint16_t>(name.size()));
    bytes += name;
    put(bytes, static_cast<std::uint8_t>(c.format.storage));
    put(bytes, c.format.width);
    put(bytes, c.rows);
    put(bytes, static_cast<std::uint64_t>(c.data.size()));
    bytes += c.data;
  }
  return bytes;
}

Columns columns_from_bytes(std::string_view bytes, const std::string& label) {
  Columns columns;
  const auto count = take<std::uint32_t>(bytes, label);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto length = take<std::uint16_t>(bytes, label);
    if (bytes.size() < length) fail_to_read(label, "its list of fields is cut off");
    const std::string_view name = bytes.substr(0, length);
    bytes.remove_prefix(length);
    if (!is_utf8(name)) fail_to_read(label, "the name of a field is not UTF-8");
    Column c;
    c.format.storage = static_cast<Storage>(take<std::uint8_t>(bytes, label));
    c.format.width = take<std::uint32_t>(bytes, label);
    c.rows = take<std::uint64_t>(bytes, label);
    const auto size = take<std::uint64_t>(bytes, label);
    // A row takes four bytes or more.
    if (size > bytes.size() || c.rows > size / 4) {
      fail_to_read(label, message("its field \"", name, "\" is cut off"));
    }
    c.rest = bytes.substr(0, static_cast<std::size_t>(size));
    bytes.remove_prefix(static_cast<std::size_t>(size));
    if (!columns.emplace(name, c).second) {
      fail_to_read(label, message("its field \"", name, "\" is there twice"));
    }
  }
  if (!bytes.empty()) fail_to_read(label, message(bytes.size(), " bytes follow its last field"));
  return columns;
}

}  // namespace cycloid::inline model
