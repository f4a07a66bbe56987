// The program: reads the command line, runs one command, prints its answer or the reason why there
// is none.

#include <array>
#include <cstdio>
#include <new>

#include "cli/cli.h"
#include "cli/command_line.h"
#include "cli/interruption.h"

namespace cycloid::cli {
namespace {

constexpr std::array kCommands = {&kTour,     &kSimulate, &kView,      &kGradcheck, &kLinearise,
                                  &kIdentify, &kPlan,     &kTrain,     &kEvaluate,  &kBench,
                                  &kInfo,     &kDoctor,   &kCompletion};

std::string one_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json error_object(const std::string& text, const char* kind) {
  return {{"error", text}, {"kind", kind}};
}

ExitStatus print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) == 0 && written) return kSuccess;
  std::fputs("cycloid: standard output could not be written\n", stderr);
  return kOurFault;
}

// The message goes to standard error; with --json, an object goes to standard output too.
ExitStatus complain(bool json, const std::string& text, const char* kind, ExitStatus status) {
  std::fprintf(stderr, "cycloid: %s\n", text.c_str());
  if (json) print(one_line(error_object(text, kind)));
  return status;
}

const char* kind_of(const Error& error) {
  if (dynamic_cast<const UsageError*>(&error)) return "usage";
  if (dynamic_cast<const ModelError*>(&error)) return "model";
  if (dynamic_cast<const ParameterError*>(&error)) return "parameter";
  if (dynamic_cast<const GradientError*>(&error)) return "gradient";
  if (dynamic_cast<const FileNotFound*>(&error)) return "file_not_found";
  return "input";
}

ExitStatus obey(std::span<char* const> words) {
  const Request request = read_command_line(kCommands, words);
  const Answer answer =
      request.ready ? *request.ready : request.run(find_terminal(request.json, request.colour));
  const ExitStatus written = print(request.json ? one_line(answer.json) : answer.text);
  return written == kSuccess ? answer.status : written;
}

}  // namespace

int run(std::span<char* const> words) {
  const bool json = asks_for_json(words);
  handle_interruptions(json ? one_line(error_object("interrupted", "interrupted")) : "");
  try {
    return obey(words);
  } catch (const Interrupted& reason) {
    const std::string text = reason.what();
    return complain(json, text.starts_with("interrupted") ? text : "interrupted: " + text,
                    "interrupted", kInterrupted);
  } catch (const Error& error) {
    return complain(json, error.what(), kind_of(error), kBadInput);
  } catch (const std::bad_alloc&) {
    return complain(json, "there is not enough memory; ask for less (--batch, --steps, --n)",
                    "input", kBadInput);
  } catch (const std::exception& fault) {
    return complain(json, message("internal error: ", fault.what()), "internal", kOurFault);
  }
}

}  // namespace cycloid::cli

int main(int argc, char** argv) {
  return cycloid::cli::run(std::span<char* const>(argv, static_cast<std::size_t>(argc)));
}
