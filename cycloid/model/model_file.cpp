#include "cycloid/model/model_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "cycloid/base/error.h"
#include "cycloid/base/fnv_hash.h"
#include "cycloid/base/utf8.h"
#include "cycloid/model/check_model.h"
#include "cycloid/model/field_columns.h"

namespace cycloid::inline model {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHeader = 32;

// The model and its notes, as one element.
template <class Archive, class Saved>
void saved_fields(Archive& a, Saved& saved, auto& notes) {
  a("model", saved.model);
  a("notes", notes);
}

struct Note {
  std::string text;
};
template <class Archive, Is<Note> T>
void fields(Archive& a, T& n) {
  a("text", n.text);
}

std::uint64_t checksum(std::string_view header, std::string_view rest) {
  return fnv_hash(rest, fnv_hash(header.substr(8, 16)));
}

// A path in a message.
std::string quoted(const std::string& path) {
  std::string text = path;
  if (!is_utf8(text)) {
    for (char& c : text) c = static_cast<unsigned char>(c) < 0x80 ? c : '?';
  }
  return message('"', text, '"');
}

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  throw ModelError(
      message("cannot write ", quoted(path), ": ", std::generic_category().message(error)));
}

}  // namespace

std::string model_to_bytes(const SavedModel& saved) {
  std::vector<Note> notes;
  for (const std::string& text : saved.notes) notes.push_back({text});
  ColumnWriter writer;
  saved_fields(writer, saved, notes);

  const std::string rest = columns_to_bytes(writer.columns);
  std::string bytes(kModelFileMagic);
  put(bytes, kModelFileVersion);
  put(bytes, std::uint32_t{0});
  put(bytes, static_cast<std::uint64_t>(rest.size()));
  put(bytes, checksum(bytes, rest));
  return bytes + rest;
}

SavedModel model_from_bytes(std::string_view bytes, const std::string& label,
                            std::uint32_t version) {
  const std::size_t compared = std::min(bytes.size(), kModelFileMagic.size());
  if (bytes.empty() || bytes.substr(0, compared) != kModelFileMagic.substr(0, compared)) {
    fail_to_read(label, "it does not begin as a model file (.cym) does");
  }
  if (bytes.size() < kHeader)
    fail_to_read(label, message("it is cut off after ", bytes.size(), " bytes"));
  const auto written = get<std::uint32_t>(bytes.data() + 8);
  if (written > version) {
    fail_to_read(label,
                 message("its version is ", written, ", and this release reads up to ", version,
                         "; update cycloid, or save the model again with this "
                         "release"));
  }
  const auto length = get<std::uint64_t>(bytes.data() + 16);
  const std::string_view rest = bytes.substr(kHeader);
  if (length != rest.size()) {
    fail_to_read(label, message(length > rest.size() ? "it is cut off: " : "it is too long: ",
                                rest.size(), " bytes follow its header, which says ", length));
  }
  if (written == 0 || get<std::uint64_t>(bytes.data() + 24) != checksum(bytes, rest)) {
    fail_to_read(label, "it is damaged: its checksum is wrong");
  }

  Columns columns = columns_from_bytes(rest, label);
  ColumnReader reader(columns, written == version, label);
  SavedModel saved;
  std::vector<Note> notes;
  saved_fields(reader, saved, notes);
  reader.check_that_all_is_read();
  for (Note& note : notes) saved.notes.push_back(std::move(note.text));
  try {
    check_model(saved.model);
  } catch (const ModelError& error) {
    fail_to_read(label, error.what());
  }
  return saved;
}

void save_model(const std::string& path, const SavedModel& saved) {
  const std::string bytes = model_to_bytes(saved);
  std::error_code ignored;
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::exists(folder, ignored)) {
    throw FileNotFound(
        message("cannot write ", quoted(path), ": there is no folder ", quoted(folder.string())));
  }
  if (fs::is_directory(path, ignored)) fail_to_write(path, EISDIR);
  const std::string beside = path + ".part";
  errno = 0;
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) {
      const int error = errno ? errno : EIO;
      fs::remove(beside, ignored);
      fail_to_write(path, error);
    }
  }
  std::error_code failed;
  fs::rename(beside, path, failed);
  if (failed) {
    fs::remove(beside, ignored);
    fail_to_write(path, failed.value());
  }
}

SavedModel read_model(const std::string& path) {
  std::error_code ignored;
  if (path.find('\0') != path.npos || !fs::exists(path, ignored)) {
    throw FileNotFound(message("there is no file ", quoted(path)));
  }
  if (!fs::is_regular_file(path, ignored)) fail_to_read(quoted(path), "it is no regular file");
  std::ifstream file(path, std::ios::binary);
  std::string bytes(static_cast<std::size_t>(fs::file_size(path, ignored)), '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file) fail_to_read(quoted(path), "the file cannot be read");
  return model_from_bytes(bytes, quoted(path));
}

bool is_model_file(const std::string& path) {
  if (path.ends_with(kModelFileSuffix)) return true;
  std::error_code ignored;
  if (path.find('\0') != path.npos || !fs::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  std::string start(kModelFileMagic.size(), '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return file && start == kModelFileMagic;
}

}  // namespace cycloid::inline model
