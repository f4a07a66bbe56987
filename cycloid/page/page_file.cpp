#include "cycloid/page/page_file.h"

#include "cycloid/base/error.h"

namespace cycloid::inline page {

PageFile::PageFile(const std::filesystem::path& path) {
  if (path.empty()) return;
  path_ = std::filesystem::absolute(path).lexically_normal();
  part_ = path_;
  part_ += ".part";
  file_.open(part_, std::ios::binary | std::ios::trunc);
  if (std::filesystem::is_directory(path_) || !file_) {
    throw Error(message("the report cannot be written to ", path_.string(),
                        ": choose a file in a folder that exists and may be written to"));
  }
}

PageFile::~PageFile() {
  std::error_code ignored;
  if (!part_.empty()) std::filesystem::remove(part_, ignored);
}

void PageFile::write(const std::string& text) {
  if (path_.empty()) return;
  file_ << text;
  file_.close();
  std::error_code failure;
  if (file_) std::filesystem::rename(part_, path_, failure);
  if (!file_ || failure) {
    throw Error(message("the report could not be written to ", path_.string(),
                        failure ? message(": ", failure.message()) : ": is the disk full?"));
  }
}

}  // namespace cycloid::inline page
