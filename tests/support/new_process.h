// tests/support/new_process.h: one test case of this program, alone in a process of its own.
//
// For what a process decides once, such as at its start, or does at its end.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace cycloid::test {

// The exit status of the test cases that match `test_case`, run with `variable` (such as "NAME=3")
// in the environment; -1 when the process was killed, as it is after a minute.
inline int status_of_new_process(const std::string& variable, const std::string& test_case) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "env '" + variable + "' timeout --signal=KILL 60 '" + self +
                              "' --test-case='" + test_case + "' > /dev/null";
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace cycloid::test
