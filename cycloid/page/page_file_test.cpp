#include "cycloid/page/page_file.h"

#include <doctest/doctest.h>

#include "cycloid/base/error.h"
#include "tests/support/scratch_folder.h"

namespace cycloid::inline page {

TEST_CASE("page_file: what is there stays until the new page is complete") {
  const test::ScratchFolder folder;
  const std::string path = folder.path("a.html");
  {
    PageFile(path).write("first");
  }
  {
    const PageFile abandoned(path);
  }
  CHECK(folder.read("a.html") == "first");
  PageFile file(path);
  CHECK(file.path() == path);
  file.write("second");
  CHECK(folder.read("a.html") == "second");
  std::filesystem::remove(path);
  CHECK(folder.is_empty());
}

TEST_CASE("page_file: a path that cannot be written is known at once, an empty one is none") {
  const test::ScratchFolder folder;
  CHECK_THROWS_WITH_AS(PageFile(folder.root()), doctest::Contains("folder that exists"), Error);
  CHECK_THROWS_AS(PageFile(folder.path("no/a.html")), Error);
  PageFile none("");
  none.write("text");
  CHECK(none.path().empty());
}

}  // namespace cycloid::inline page
