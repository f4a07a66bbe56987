// The program `cycloid`: the library from a shell.
//
// Where to start reading:
//   cli.h            what a command is; exit statuses; the list of commands
//   main.cpp         from the words on the command line to an answer, or an error
//   command_line.h   reads the words (CLI11)
//   law_options.h    the options that all laws share
//   progress.h       progress on a terminal, and Ctrl-C;  terminal.h  colours
//   simulate.cpp, gradcheck.cpp, …    one command each
//
// A command prints nothing. It returns an Answer with the same content twice, as JSON and as text,
// and main prints the one that was asked for: with --json standard output is one JSON object and
// nothing else. (The tour alone writes as it goes, and keeps silent with --json.)
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "cli/terminal.h"
#include "cycloid/base/error.h"

namespace cycloid::cli {

// Members stay in the order in which they are written; what is not finite is printed as null.
using Json = nlohmann::ordered_json;

enum ExitStatus {
  kSuccess = 0,
  kAnswerIsNo = 1,  // a check failed, or an environment diverged; the answer says which
  kBadInput = 2,    // wrong usage, model, parameter or file
  kOurFault = 3,    // an internal error, or output that could not be written
  kInterrupted = 130
};

struct Answer {
  Json json;
  std::string text;
  ExitStatus status = kSuccess;
};

// Words on the command line that make no sense together.
class UsageError final : public Error {
 public:
  using Error::Error;
};

class Options;

using Run = std::function<Answer(const Terminal&)>;

struct Command {
  const char* name;
  const char* summary;  // for the list of commands
  const char* about;    // what --help says first
  const char* example;  // a command line that works as it stands
  // Declares the command's options and returns what to do once they are read.
  Run (*declare)(Options& options);
};

extern const Command kTour, kSimulate, kView, kGradcheck, kLinearise, kIdentify, kPlan, kTrain,
    kEvaluate, kBench, kInfo, kDoctor, kCompletion;

}  // namespace cycloid::cli
