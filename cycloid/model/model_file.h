// model/model_file.h: a compiled Model in one file, "robot.cym". Nothing of MuJoCo is needed.
//
// All numbers are little-endian. The file begins with a header of 32 bytes:
//   0   8 bytes   89 'C' 'Y' 'M' 0d 0a 1a 0a, which a transfer as text would spoil
//   8   u32       version
//   12  u32       zero
//   16  u64       length of what follows the header
//   24  u64       FNV-1a of bytes 8 to 24 and of what follows the header
// Then come columns (columns.h), one for each field of model_fields.h, in any order.
//
// Versions: kModelFileVersion rises when a release adds, renames or drops a field. A file of an
// older version may lack fields, which keep their defaults; one of this version must have each
// field, and none may be left over; one of a newer version is refused. What is read is checked
// (check_model.h), so that a file that passes can be stepped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cycloid/model/model.h"

namespace cycloid::inline model {

inline constexpr std::uint32_t kModelFileVersion = 1;
inline constexpr std::string_view kModelFileMagic =
    "\x89"
    "CYM\r\n\x1a\n";
inline constexpr std::string_view kModelFileSuffix = ".cym";

struct SavedModel {
  Model model;
  std::vector<std::string> notes;  // what was said when it was made: what was left out of it
};

// The bytes of a file. Throws ModelError for a model that a file cannot hold.
std::string model_to_bytes(const SavedModel& saved);

// The model in the bytes of a file; `label` names it in messages. Throws ModelError saying what is
// wrong. Allocates no more than a small multiple of the bytes. `version`: the newest that is read.
SavedModel model_from_bytes(std::string_view bytes, const std::string& label,
                            std::uint32_t version = kModelFileVersion);

// Throws FileNotFound when the folder does not exist, ModelError when nothing can be written. A
// file that is there is replaced as a whole, or not at all.
void save_model(const std::string& path, const SavedModel& saved);

// Throws FileNotFound, ModelError.
SavedModel read_model(const std::string& path);

// Whether a path is meant for read_model: by its suffix, or by the beginning of the file.
bool is_model_file(const std::string& path);

}  // namespace cycloid::inline model
