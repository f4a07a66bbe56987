// A file that is either complete or as it was: written beside its place and renamed at the end.
//
//   PageFile file("report.html");     // throws at once where it cannot be written
//   file.write(page.html());
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace cycloid::inline page {

class PageFile {
 public:
  // An empty path: nothing is written. Throws Error when the path cannot be written to.
  explicit PageFile(const std::filesystem::path& path);
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  // Absolute; empty when nothing is written.
  const std::filesystem::path& path() const { return path_; }
  // Once. Throws Error when the disk does not take it.
  void write(const std::string& text);

 private:
  std::filesystem::path path_, part_;
  std::ofstream file_;
};

}  // namespace cycloid::inline page
