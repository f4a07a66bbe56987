#include "cli/python_command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "cycloid/base/error.h"

namespace cycloid::cli {
namespace {

namespace fs = std::filesystem;

std::string interpreter() {
  if (const char* chosen = std::getenv("CYCLOID_PYTHON"); chosen && *chosen) return chosen;
#ifdef CYCLOID_PYTHON_BUILT_WITH
  std::error_code unreadable;
  if (fs::exists(CYCLOID_PYTHON_BUILT_WITH, unreadable)) return CYCLOID_PYTHON_BUILT_WITH;
#endif
  return "python3";
}

// build/cycloid has its package in build/python.
void put_own_package_first() {
  std::error_code unreadable;
  const fs::path here = fs::read_symlink("/proc/self/exe", unreadable).parent_path();
  if (unreadable || !fs::exists(here / "python" / "cycloid", unreadable)) return;
  const char* before = std::getenv("PYTHONPATH");
  const std::string path =
      message((here / "python").string(), before && *before ? ":" : "", before ? before : "");
  setenv("PYTHONPATH", path.c_str(), 1);
}

[[noreturn]] void execute(const std::vector<std::string>& words) {
  put_own_package_first();
  std::vector<std::string> all = {interpreter(), "-m", "cycloid"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  throw Error(message("Python could not be started (", all[0], "): CYCLOID_PYTHON names one that ",
                      "has the package cycloid"));
}

// Reads both until they end, whichever speaks first.
void listen(const std::array<int, 2>& from, PythonAnswer& answer) {
  std::array<pollfd, 2> open = {pollfd{from[0], POLLIN, 0}, pollfd{from[1], POLLIN, 0}};
  std::array<char, 4096> piece{};
  int left = 2;
  while (left > 0) {
    if (poll(open.data(), open.size(), -1) < 0 && errno != EINTR) break;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || !(open[i].revents & (POLLIN | POLLHUP | POLLERR))) continue;
      const ssize_t n = read(open[i].fd, piece.data(), piece.size());
      std::string& text = i == 0 ? answer.output : answer.errors;
      if (n > 0) {
        text.append(piece.data(), static_cast<std::size_t>(n));
      } else {
        open[i].fd = -1;
        --left;
      }
    }
  }
}

}  // namespace

void become_python(const std::vector<std::string>& words) { execute(words); }

PythonAnswer run_python(const std::vector<std::string>& words) {
  std::array<int, 2> out{}, errors{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(errors.data(), O_CLOEXEC) != 0) {
    throw Error("no pipe to Python could be opened");
  }
  const pid_t child = fork();
  if (child < 0) throw Error("no process for Python could be started");
  if (child == 0) {
    dup2(out[1], STDOUT_FILENO);
    dup2(errors[1], STDERR_FILENO);
    try {
      execute(words);
    } catch (const Error& error) {
      const std::string text = message("cycloid: ", error.what(), "\n");
      [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    }
    _exit(2);
  }
  close(out[1]);
  close(errors[1]);
  PythonAnswer answer;
  listen({out[0], errors[0]}, answer);
  close(out[0]);
  close(errors[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : 130;
  return answer;
}

}  // namespace cycloid::cli
