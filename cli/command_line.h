// The words on the command line: the options of the commands, and what the user asks for.
//
// The only part of the program that knows CLI11.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli.h"

namespace CLI {
class App;
}

namespace cycloid::cli {

// The options of one command. What a variable holds when it is declared is the default that --help
// shows. A value that cannot be is a UsageError that names the option.
class Options {
 public:
  explicit Options(CLI::App& command) : command_(command) {}

  // In brackets, "[MODEL]", where it may be left out; whether it is there is for the command to
  // check.
  void positional(const char* name, std::string& value, const char* help);
  void flag(const char* name, bool& value, const char* help);
  void text(const char* name, const char* kind, std::string& value, const char* help);
  // A file to be written: its folder must be there, which is seen before any work is done.
  void output(const char* name, std::string& value, const char* help);
  // May be given several times.
  void texts(const char* name, const char* kind, std::vector<std::string>& values,
             const char* help);
  void number(const char* name, double& value, const char* help);
  void number(const char* name, std::optional<double>& value, const char* help);
  // Separated by commas: 0.5,-1
  void numbers(const char* name, std::vector<double>& values, const char* help);
  // A whole number within [least, most]; 1e6 is one too.
  void count(const char* name, std::int64_t& value, std::int64_t least, std::int64_t most,
             const char* help);
  void count(const char* name, std::optional<std::int64_t>& value, std::int64_t least,
             std::int64_t most, const char* help);
  void choice(const char* name, std::string& value, std::vector<std::string> choices,
              const char* help);

 private:
  void take(const std::string& name, const char* kind, const std::string& shown_default,
            const char* help, std::function<void(const std::string&)> use);

  CLI::App& command_;
};

// Throws UsageError on anything but finite numbers separated by commas. `what` names them in the
// message.
std::vector<double> parse_numbers(std::string_view text, std::string_view what);

// Throws Error where the folder of a file that is to be written is not there.
void require_folder_of(const std::string& path, std::string_view what);

struct Request {
  bool json = false, colour = true;
  std::optional<Answer> ready;  // help, or the version: nothing is to be run
  Run run;
};

// Whether --json is among the words, also where they make no sense otherwise.
bool asks_for_json(std::span<char* const> words);

// A command with the names of its options, for a shell that completes them.
struct KnownCommand {
  std::string name, summary;
  std::vector<std::string> options;
  bool takes_model = false;
};
// Those that the last read_command_line declared.
const std::vector<KnownCommand>& known_commands();

// Throws UsageError, with the nearest command or option where one is unknown.
Request read_command_line(std::span<const Command* const> commands, std::span<char* const> words);

}  // namespace cycloid::cli
