#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cycloid/base/error.h"

namespace cycloid::cli {
namespace {

constexpr std::chrono::milliseconds kFirstDrawing{300}, kBetweenDrawings{100};
constexpr int kBarCells = 24;

std::string bar(double share, bool unicode) {
  const int full = std::clamp(static_cast<int>(share * kBarCells), 0, kBarCells);
  std::string cells;
  for (int i = 0; i < kBarCells; ++i) {
    cells += unicode ? (i < full ? "█" : "░") : (i < full ? "#" : "-");
  }
  return cells;
}

// The first `width` characters; a character may be several bytes.
std::string cut(const std::string& text, int width) {
  std::size_t end = 0;
  for (int shown = 0; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (begins && ++shown > width) break;
  }
  return text.substr(0, end);
}

}  // namespace

std::string short_number(double value) {
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T"};
  int prefix = 0;
  while (std::abs(value) >= 999.5 && prefix < 4) {
    value /= 1000;
    ++prefix;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.3g%s", value, kPrefixes[prefix]);
  return text;
}

std::string clock_time(double seconds) {
  constexpr double kLongest = 359999;  // 99:59:59
  const long s = std::lround(std::clamp(seconds, 0.0, kLongest));
  char text[32];
  if (s >= 3600) {
    std::snprintf(text, sizeof text, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  } else {
    std::snprintf(text, sizeof text, "%ld:%02ld", s / 60, s % 60);
  }
  return text;
}

Progress::Progress(const Terminal& terminal, std::string label, double total, std::string unit)
    : terminal_(terminal),
      label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      next_drawing_(start_ + kFirstDrawing) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::reached(double done) {
  done_ = done;
  draw();
  if (watch_.interrupted()) throw Interrupted("interrupted");
}

KeepGoing Progress::keep_going() {
  return [this] {
    draw();
    return !watch_.interrupted();
  };
}

void Progress::draw() {
  if (!terminal_.progress) return;
  const Clock::time_point now = Clock::now();
  if (now < next_drawing_) return;
  next_drawing_ = now + kBetweenDrawings;
  drawn_ = true;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::fprintf(stderr, "\r%s\x1b[K", cut(line(seconds), columns_of(STDERR_FILENO) - 1).c_str());
  std::fflush(stderr);
}

std::string Progress::line(double seconds) const {
  if (total_ <= 0 || done_ <= 0) return message(label_, "  ", clock_time(seconds));
  const double share = std::min(1.0, done_ / total_);
  char percent[16];
  std::snprintf(percent, sizeof percent, "%3.0f %%", 100 * share);
  const std::string rate =
      unit_.empty() ? "" : message(short_number(done_ / seconds), " ", unit_, "/s  ");
  return message(label_, "  ", bar(share, terminal_.unicode), " ", percent, "  ", rate,
                 clock_time(seconds * (1 / share - 1)), " left");
}

}  // namespace cycloid::cli
