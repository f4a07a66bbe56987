#include "cycloid/record/npz.h"

#include <bit>
#include <cstring>

#include "cycloid/base/error.h"
#include "cycloid/record/csv.h"
#include "cycloid/record/inflate.h"

namespace cycloid::inline record {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kEnd = 0x06054b50, kEntry = 0x02014b50, kLocal = 0x04034b50;
constexpr std::string_view kMagic = "\x93NUMPY";

// Numbers at places of a file, each checked to be inside.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  [[noreturn]] void broken(const char* why) const {
    throw Error(message(where_, " is no .npz archive that can be read: ", why));
  }
  std::string_view part(std::size_t at, std::size_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at) broken("it ends too early");
    return bytes_.substr(at, count);
  }
  template <class N>
  N number(std::size_t at) const {
    N out;
    std::memcpy(&out, part(at, sizeof(N)).data(), sizeof(N));
    return out;
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::string_view bytes_;
  const std::string& where_;
};

template <class N>
void append_numbers(const Reader& data, std::size_t from, std::size_t count,
                    std::vector<double>& to) {
  for (std::size_t i = 0; i < count; ++i) {
    to.push_back(static_cast<double>(data.number<N>(from + i * sizeof(N))));
  }
}

// A text of numpy: code points of four bytes, or bytes, filled up with zeros.
std::string text_at(const Reader& data, std::size_t from, std::size_t width, bool wide) {
  std::string out;
  for (std::size_t i = 0; i < width; ++i) {
    const std::uint32_t c =
        wide ? data.number<std::uint32_t>(from + 4 * i) : data.number<unsigned char>(from + i);
    if (c == 0) break;
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      out.push_back(static_cast<char>(0xC0 | c >> 6));
      out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    } else {
      out.push_back(static_cast<char>(0xE0 | (c >> 12 & 0x0F)));
      out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
      out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
    }
  }
  return out;
}

// What follows 'key': in the header's dictionary.
std::string_view entry(std::string_view head, const char* key, const Reader& file) {
  const std::size_t at = head.find(key);
  if (at == head.npos) file.broken("the header of an array lacks an entry");
  return head.substr(head.find(':', at) + 1);
}

NamedArray parse_npy(std::string_view bytes, const std::string& where) {
  const Reader file(bytes, where);
  if (file.part(0, kMagic.size()) != kMagic) file.broken("a member is no .npy array");
  const bool old = file.number<unsigned char>(6) == 1;
  const std::size_t length = old ? file.number<std::uint16_t>(8) : file.number<std::uint32_t>(8),
                    begin = old ? 10 : 12;
  const std::string_view head = file.part(begin, length);
  const std::string_view descr = entry(head, "'descr'", file);
  const std::size_t quote = descr.find('\'');
  if (quote == descr.npos) file.broken("an array of records is not supported");
  const std::string kind(descr.substr(quote + 1, descr.find('\'', quote + 1) - quote - 1));
  if (entry(head, "'fortran_order'", file).substr(0, 8).find("True") != head.npos) {
    file.broken("an array in Fortran order is not supported");
  }
  NamedArray out;
  std::size_t count = 1;
  const std::string_view shape = entry(head, "'shape'", file);
  const std::string_view inside = shape.substr(shape.find('(') + 1);
  for (std::size_t i = 0; i < inside.size() && inside[i] != ')'; ++i) {
    if (inside[i] < '0' || inside[i] > '9') continue;
    std::size_t extent = 0;
    for (; i < inside.size() && inside[i] >= '0' && inside[i] <= '9'; ++i) {
      extent = 10 * extent + static_cast<std::size_t>(inside[i] - '0');
    }
    out.shape.push_back(extent);
    count *= extent;
    --i;
  }
  const std::size_t data = begin + length;
  const std::string type = kind.size() > 1 ? kind.substr(1) : "";
  if (kind.starts_with('>')) file.broken("a big-endian array is not supported");
  if (type.starts_with('U') || type.starts_with('S')) {
    const bool wide = type[0] == 'U';
    const std::size_t width = static_cast<std::size_t>(std::atoll(type.c_str() + 1));
    for (std::size_t i = 0; i < count; ++i) {
      out.texts.push_back(text_at(file, data + i * width * (wide ? 4 : 1), width, wide));
    }
  } else if (type == "f8") {
    append_numbers<double>(file, data, count, out.numbers);
  } else if (type == "f4") {
    append_numbers<float>(file, data, count, out.numbers);
  } else if (type == "i8") {
    append_numbers<std::int64_t>(file, data, count, out.numbers);
  } else if (type == "i4") {
    append_numbers<std::int32_t>(file, data, count, out.numbers);
  } else if (type == "i2") {
    append_numbers<std::int16_t>(file, data, count, out.numbers);
  } else if (type == "u1" || type == "b1") {
    append_numbers<unsigned char>(file, data, count, out.numbers);
  } else {
    file.broken(message("arrays of type \"", kind, "\" are not supported").c_str());
  }
  return out;
}

template <class N>
void put(std::string& to, N number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(N));
}

std::string npy_bytes(const NamedArray& array) {
  std::size_t width = 1;
  for (const std::string& text : array.texts) width = std::max(width, text.size());
  const bool texts = !array.texts.empty();
  std::string shape;
  for (const std::size_t n : array.shape) shape += message(n, ",");
  std::string head = message("{'descr': '", texts ? message("|S", width) : std::string("<f8"),
                             "', 'fortran_order': False, 'shape': (", shape, "), }");
  while ((10 + head.size() + 1) % 64 != 0) head.push_back(' ');
  head.push_back('\n');
  std::string out(kMagic);
  out += std::string("\x01\x00", 2);
  put(out, static_cast<std::uint16_t>(head.size()));
  out += head;
  for (const double x : array.numbers) put(out, x);
  for (std::string text : array.texts) text.resize(width, '\0'), out += text;
  return out;
}

}  // namespace

NamedArrays parse_npz(std::string_view bytes, const std::string& where) {
  const Reader file(bytes, where);
  if (file.size() < 22) file.broken("it is too short");
  std::size_t end = file.size() - 22;
  while (file.number<std::uint32_t>(end) != kEnd) {
    if (end == 0 || file.size() - end > 66000) file.broken("it is no zip file");
    --end;
  }
  const std::size_t count = file.number<std::uint16_t>(end + 10);
  std::size_t at = file.number<std::uint32_t>(end + 16);
  NamedArrays out;
  for (std::size_t i = 0; i < count; ++i) {
    if (file.number<std::uint32_t>(at) != kEntry) file.broken("its table of contents is broken");
    const int method = file.number<std::uint16_t>(at + 10);
    const std::uint32_t sum = file.number<std::uint32_t>(at + 16);
    const std::size_t packed = file.number<std::uint32_t>(at + 20),
                      size = file.number<std::uint32_t>(at + 24),
                      name_length = file.number<std::uint16_t>(at + 28),
                      extra = file.number<std::uint16_t>(at + 30),
                      comment = file.number<std::uint16_t>(at + 32),
                      local = file.number<std::uint32_t>(at + 42);
    if (packed == 0xFFFFFFFFu || size == 0xFFFFFFFFu) file.broken("a member is above 4 GB");
    std::string name(file.part(at + 46, name_length));
    at += 46 + name_length + extra + comment;
    if (file.number<std::uint32_t>(local) != kLocal) file.broken("a member is not where it should");
    const std::size_t data = local + 30 + file.number<std::uint16_t>(local + 26) +
                             file.number<std::uint16_t>(local + 28);
    if (method != 0 && method != 8) file.broken("a member is packed in an unknown way");
    const std::string_view raw = file.part(data, packed);
    const std::string member = method == 8 ? inflate(raw, size) : std::string(raw);
    if (crc32(member) != sum) file.broken("the check sum of a member is wrong");
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    out[name] = parse_npy(member, where);
  }
  return out;
}

NamedArrays read_npz(const std::filesystem::path& path) {
  return parse_npz(read_bytes(path), message("\"", path.string(), "\""));
}

std::string npz_bytes(const NamedArrays& arrays) {
  std::string out, contents;
  for (const auto& [key, array] : arrays) {
    const std::string name = key + ".npy", member = npy_bytes(array);
    const std::uint32_t local = static_cast<std::uint32_t>(out.size());
    // What local header and table of contents share.
    std::string shared;
    put(shared, std::uint16_t{20}), put(shared, std::uint16_t{0}), put(shared, std::uint16_t{0});
    put(shared, std::uint32_t{0x00210000});  // 1980-01-01
    put(shared, crc32(member));
    put(shared, static_cast<std::uint32_t>(member.size()));
    put(shared, static_cast<std::uint32_t>(member.size()));
    put(shared, static_cast<std::uint16_t>(name.size()));
    put(shared, std::uint16_t{0});
    put(out, kLocal);
    out += shared + name + member;
    put(contents, kEntry);
    put(contents, std::uint16_t{20});
    contents += shared;
    put(contents, std::uint16_t{0}), put(contents, std::uint16_t{0}),
        put(contents, std::uint16_t{0});
    put(contents, std::uint32_t{0});
    put(contents, local);
    contents += name;
  }
  const std::uint32_t begin = static_cast<std::uint32_t>(out.size());
  out += contents;
  put(out, kEnd), put(out, std::uint32_t{0});
  put(out, static_cast<std::uint16_t>(arrays.size()));
  put(out, static_cast<std::uint16_t>(arrays.size()));
  put(out, static_cast<std::uint32_t>(contents.size()));
  put(out, begin), put(out, std::uint16_t{0});
  return out;
}

}  // namespace cycloid::inline record
