#include "cli/tour/tour.h"

#include <chrono>
#include <fstream>
#include <streambuf>

#include "cli/tour/narrator.h"
#include "cli/tour/page.h"
#include "cycloid/base/error.h"

namespace cycloid::tour {
namespace {

// Takes everything and keeps nothing.
class Silence : public std::streambuf {
 protected:
  int_type overflow(int_type c) override { return traits_type::not_eof(c); }
  std::streamsize xsputn(const char*, std::streamsize n) override { return n; }
};

// Opened before the stories run, so that a path that cannot be written is known at once. What is
// there stays until the new page is complete.
class PageFile {
 public:
  explicit PageFile(const std::filesystem::path& path) {
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

  ~PageFile() {
    std::error_code ignored;
    if (!part_.empty()) std::filesystem::remove(part_, ignored);
  }

  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  const std::filesystem::path& path() const { return path_; }

  void write(const std::string& text) {
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

 private:
  std::filesystem::path path_, part_;
  std::ofstream file_;
};

}  // namespace

TourResult run_tour(const TourOptions& options, std::ostream& out) {
  Silence silence;
  std::ostream nowhere(&silence);
  Narrator narrator(options, options.quiet ? nowhere : out);
  PageFile file(options.report);
  const auto start = std::chrono::steady_clock::now();
  TourResult result;
  result.seed = options.seed;
  result.report = file.path();
  narrator.welcome();

  narrator.begin_aim({});
  result.aim = aim_at_target({}, options.keep_going, [&](int k, const AimIterate& iterate) {
    narrator.aim_iterate(k, iterate);
  });
  narrator.end_aim(result.aim);

  const FitProblem fit;
  narrator.begin_fit(fit);
  result.fit = recover_pendulum(
      fit, options.seed, options.keep_going,
      [&](double seconds, const PendulumFit& window) { narrator.fit_window(seconds, window); },
      [&](std::size_t done) { narrator.fit_repeats(done, fit.repeats); });
  narrator.end_fit(result.fit);

  narrator.begin_trust();
  result.trust = question_lorenz({}, options.keep_going);
  narrator.end_trust(result.trust);

  narrator.begin_slide({});
  result.slide = bend_slide({}, options.keep_going, [&](int k, const SlideIterate& iterate) {
    narrator.slide_iterate(k, iterate);
  });
  narrator.end_slide(result.slide);

  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  file.write(page(result));
  narrator.farewell(result);
  return result;
}

}  // namespace cycloid::tour
