#include "cli/tour/tour.h"

#include <doctest/doctest.h>

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "cli/tour/figures.h"
#include "cli/tour/narrator.h"
#include "cli/tour/result_json.h"
#include "cli/tour/tour_page.h"
#include "cycloid/base/error.h"

namespace cycloid::tour {
namespace {

namespace fs = std::filesystem;

// A folder that is gone when the test is over.
struct Folder {
  fs::path path = fs::temp_directory_path() / ("cycloid_tour_test_" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("tour: ten stories end well, in the terminal, as JSON and as a page [threads]") {
  const Folder folder;
  const fs::path report = folder.path / "tour.html";
  std::ostringstream out;
  const TourResult result =
      run_tour({.report = report, .terminal = false, .colour = false, .seed = 1}, out);
  CHECK(result.ok());
  CHECK(result.report == report);
  CHECK(result.seconds > 0);

  const std::string told = out.str();
  for (const char* part : {"Hit.", "Found.", "Chaotic", "A cycloid.", "Up.", "⣀"}) {
    CAPTURE(part);
    CHECK(told.find(part) != std::string::npos);
  }
  CHECK(told.find(report.string()) != std::string::npos);
  CHECK(told.find('\x1b') == std::string::npos);
  CHECK(told.find('\r') == std::string::npos);

  const nlohmann::ordered_json json = to_json(result);
  CHECK(json["ok"] == true);
  CHECK(json["aim"]["miss"] == result.aim.miss());
  CHECK(json["fit"]["length"]["estimate"] == result.fit.fit.length.value);
  CHECK(json["trust"]["verdict"] == "chaotic");
  CHECK(json["slide"]["time"] == result.slide.time());
  CHECK(json["swing"]["miss"] == result.swing.miss);
  CHECK(json["recording"]["given"] == false);
  CHECK(json["report"] == report.string());

  const std::string html = text_of(report);
  CHECK(html == page(result));
  CHECK(html.find("{{") == std::string::npos);
  CHECK(html.find("https://") == std::string::npos);
  CHECK(html.find("http://") == std::string::npos);
  for (const auto& [name, svg] : figures(result)) {
    CAPTURE(name);
    CHECK(html.find(svg) != std::string::npos);
    CHECK(svg.find("nan") == std::string::npos);
  }
  CHECK(fs::directory_iterator(folder.path) != fs::directory_iterator());
  CHECK(html.find("a tour in ten stories") != std::string::npos);
  CHECK(told.find("All ten ended as they should") != std::string::npos);

  TourResult fewer = result;
  fewer.worlds.humanoid.reason = fewer.worlds.push.reason = "there is no compiler of models";
  CHECK(page(fewer).find("a tour in eight stories") != std::string::npos);
  std::ostringstream end;
  Narrator({.colour = false}, end).farewell(fewer);
  CHECK(end.str().find("All eight that were told ended as they should") != std::string::npos);
  CHECK(!fs::exists(folder.path / "tour.html.part"));
}

TEST_CASE("tour: a page that cannot be written is refused before any work, and says where") {
  std::ostringstream out;
  CHECK_THROWS_WITH_AS(run_tour({.report = "/nowhere/at/all/tour.html"}, out),
                       doctest::Contains("/nowhere/at/all/tour.html"), Error);
  const Folder folder;
  CHECK_THROWS_AS(run_tour({.report = folder.path}, out), Error);
  CHECK(out.str().empty());
}

TEST_CASE("tour: stopped, it leaves the page that was there and nothing else; quiet is quiet") {
  const Folder folder;
  const fs::path report = folder.path / "tour.html";
  std::ofstream(report) << "before";
  std::ostringstream out;
  CHECK_THROWS_AS(
      run_tour({.report = report, .quiet = true, .keep_going = [] { return false; }}, out),
      Interrupted);
  CHECK(text_of(report) == "before");
  CHECK(!fs::exists(folder.path / "tour.html.part"));
  CHECK(out.str().empty());
}

}  // namespace cycloid::tour
