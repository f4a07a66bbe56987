#include "cycloid/learn/safetensors.h"

#include <bit>
#include <cstring>
#include <fstream>

#include "cycloid/base/error.h"

namespace cycloid::inline learn {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20) {
      const char* const digits = "0123456789abcdef";
      out += "\\u00", out += digits[c >> 4], out += digits[c & 15];
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

// As much of JSON as a header has: objects, arrays of whole numbers, texts.
class Header {
 public:
  Header(const std::string& text, const std::string& path) : text_(text), path_(path) {}

  template <class F>
  void object(F each) {  // each(key) reads the value
    expect('{');
    if (next() == '}') return expect('}');
    while (true) {
      const std::string key = string();
      expect(':');
      each(key);
      if (next() != ',') break;
      expect(',');
    }
    expect('}');
  }
  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> all;
    expect('[');
    if (next() == ']') {
      expect(']');
      return all;
    }
    while (true) {
      next();
      std::size_t end = at_;
      while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
      if (end == at_ || end - at_ > 18) fail("expected a whole number");
      all.push_back(std::stoll(text_.substr(at_, end - at_)));
      at_ = end;
      if (next() != ',') break;
      expect(',');
    }
    expect(']');
    return all;
  }
  std::string string() {
    expect('"');
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        out += text_[at_++];
        continue;
      }
      if (at_ + 1 >= text_.size()) break;
      const char c = text_[at_ + 1];
      at_ += 2;
      if (c == 'u' && at_ + 4 <= text_.size()) {
        const long code = std::strtol(text_.substr(at_, 4).c_str(), nullptr, 16);
        if (code > 0x7f) fail("a character beyond ASCII is escaped");
        out += static_cast<char>(code);
        at_ += 4;
      } else {
        out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
      }
    }
    if (at_ >= text_.size()) fail("a text does not end");
    ++at_;
    return out;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(message("\"", path_, "\" is no safetensors file: ", what, " at byte ", at_ + 8));
  }

 private:
  char next() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
    if (at_ >= text_.size()) fail("the header ends");
    return text_[at_];
  }
  void expect(char c) {
    if (next() != c) fail(message("expected '", std::string(1, c), "'"));
    ++at_;
  }

  const std::string& text_;
  std::string path_;
  std::size_t at_ = 0;
};

}  // namespace

void write_safetensors(const std::filesystem::path& path, const Safetensors& all) {
  std::string header = "{\"__metadata__\":{";
  bool first = true;
  for (const auto& [key, text] : all.metadata) {
    header += message(first ? "" : ",", quoted(key), ":", quoted(text));
    first = false;
  }
  header += "}";
  std::uint64_t offset = 0;
  for (const auto& [name, t] : all.tensors) {
    std::string shape;
    for (const std::int64_t n : t.shape) shape += message(shape.empty() ? "" : ",", n);
    const std::uint64_t end = offset + t.values.size() * sizeof(double);
    header += message(",", quoted(name), ":{\"dtype\":\"F64\",\"shape\":[", shape,
                      "],\"data_offsets\":[", offset, ",", end, "]}");
    offset = end;
  }
  header += "}";
  while (header.size() % 8 != 0) header += ' ';
  const std::filesystem::path beside = path.string() + ".part";
  {
    std::ofstream file(beside, std::ios::binary);
    const std::uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), sizeof(length));
    file.write(header.data(), static_cast<std::streamsize>(header.size()));
    for (const auto& [name, t] : all.tensors) {
      file.write(reinterpret_cast<const char*>(t.values.data()),
                 static_cast<std::streamsize>(t.values.size() * sizeof(double)));
    }
    file.flush();
    if (!file) throw Error(message("cannot write to \"", path.string(), "\""));
  }
  std::error_code error;
  std::filesystem::rename(beside, path, error);
  if (error) throw Error(message("cannot write to \"", path.string(), "\": ", error.message()));
}

Safetensors read_safetensors(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FileNotFound(message("there is no file \"", path.string(), "\""));
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::uint64_t length = 0;
  if (all.size() >= 8) std::memcpy(&length, all.data(), 8);
  if (all.size() < 8 || length > all.size() - 8) {
    throw Error(message("\"", path.string(), "\" is no safetensors file: it has ", all.size(),
                        " bytes, fewer than its header says"));
  }
  const std::string text = all.substr(8, length);
  const std::size_t data = 8 + static_cast<std::size_t>(length);
  Header header(text, path.string());
  Safetensors out;
  header.object([&](const std::string& name) {
    if (name == "__metadata__") {
      header.object([&](const std::string& key) { out.metadata[key] = header.string(); });
      return;
    }
    Tensor t;
    std::string dtype;
    std::vector<std::int64_t> range;
    header.object([&](const std::string& key) {
      if (key == "dtype") dtype = header.string();
      else if (key == "shape") t.shape = header.integers();
      else if (key == "data_offsets") range = header.integers();
      else header.fail(message("unknown key \"", key, "\""));
    });
    std::size_t count = 1;
    for (const std::int64_t n : t.shape) count *= static_cast<std::size_t>(n);
    const std::size_t each = dtype == "F64" ? 8 : dtype == "F32" ? 4 : 0;
    if (each == 0) header.fail(message("\"", name, "\" has dtype ", dtype, ", not F64 or F32"));
    if (range.size() != 2 || range[1] < range[0] ||
        static_cast<std::size_t>(range[1] - range[0]) != count * each ||
        static_cast<std::size_t>(range[1]) > all.size() - data) {
      header.fail(message("the numbers of \"", name, "\" are not where they should be"));
    }
    const char* const from = all.data() + data + range[0];
    t.values.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      if (each == 8) {
        std::memcpy(&t.values[i], from + 8 * i, 8);
      } else {
        float x;
        std::memcpy(&x, from + 4 * i, 4);
        t.values[i] = static_cast<double>(x);
      }
    }
    out.tensors[name] = std::move(t);
  });
  return out;
}

}  // namespace cycloid::inline learn
