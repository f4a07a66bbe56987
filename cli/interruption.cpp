#include "cli/interruption.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "cli/cli.h"

namespace cycloid::cli {
namespace {

std::atomic<bool> watching{false}, pressed{false};
std::string farewell;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void say(int file, const char* text, std::size_t size) {
  // Nothing can be done about a failure here: the program is ending.
  [[maybe_unused]] const auto written = write(file, text, size);
}

extern "C" void on_interrupt(int) {
  if (watching.load() && !pressed.exchange(true)) return;
  constexpr char kMessage[] = "\ncycloid: interrupted\n";
  say(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  say(STDOUT_FILENO, farewell.data(), farewell.size());
  _exit(kInterrupted);
}

}  // namespace

void handle_interruptions(const std::string& last_words) {
  farewell = last_words;
  struct sigaction action{};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

InterruptionWatch::InterruptionWatch() { watching = true; }
InterruptionWatch::~InterruptionWatch() { watching = false; }
bool InterruptionWatch::interrupted() const { return pressed; }

UnwatchedCall::UnwatchedCall() { watching = false; }
UnwatchedCall::~UnwatchedCall() { watching = true; }

}  // namespace cycloid::cli
