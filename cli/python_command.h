// Commands that the Python package carries out: `python -m cycloid view …` writes pages.
//
// The interpreter is CYCLOID_PYTHON, or the one that the package was built with, or python3; the
// package is the one beside this program, or the interpreter's own.
#pragma once

#include <string>
#include <vector>

namespace cycloid::cli {

struct PythonAnswer {
  int status = 0;
  std::string output, errors;
};

// Runs `python -m cycloid words…` and waits. Throws Error when there is no interpreter.
PythonAnswer run_python(const std::vector<std::string>& words);

// The same in place of this program; comes back only by Error.
[[noreturn]] void become_python(const std::vector<std::string>& words);

}  // namespace cycloid::cli
