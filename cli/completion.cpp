// cycloid completion: what a shell needs to complete commands, options and laws at a tab.

#include <memory>

#include "cli/command_line.h"
#include "cycloid/system/systems.h"

namespace cycloid::cli {
namespace {

std::string spaced(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string command_names(const std::vector<KnownCommand>& commands) {
  std::vector<std::string> names;
  for (const KnownCommand& c : commands) names.push_back(c.name);
  return spaced(names);
}

// What may follow a command that is no option.
std::string things_of(const KnownCommand& c) {
  if (c.name == "completion") return "bash zsh fish";
  return c.takes_model ? spaced(systems::names()) : "";
}

std::string bash(const std::vector<KnownCommand>& commands) {
  std::string text =
      "# source <(cycloid completion bash)\n"
      "_cycloid() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} words=\n"
      "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      "    words='" +
      command_names(commands) +
      "'\n"
      "  else\n"
      "    case ${COMP_WORDS[1]} in\n";
  for (const KnownCommand& c : commands) {
    text += message("      ", c.name, ") words='", spaced(c.options), " ", things_of(c), "' ;;\n");
  }
  return text +
         "    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F _cycloid cycloid\n";
}

std::string zsh(const std::vector<KnownCommand>& commands) {
  std::string text =
      "#compdef cycloid\n"
      "# source <(cycloid completion zsh)\n"
      "_cycloid() {\n"
      "  if (( CURRENT == 2 )); then\n"
      "    compadd -- " +
      command_names(commands) +
      "\n"
      "    return\n"
      "  fi\n"
      "  case ${words[2]} in\n";
  for (const KnownCommand& c : commands) {
    text += message("    ", c.name, ") compadd -- ", spaced(c.options), " ", things_of(c), " ;;\n");
  }
  return text +
         "  esac\n"
         "  _files\n"
         "}\n"
         "compdef _cycloid cycloid\n";
}

std::string fish(const std::vector<KnownCommand>& commands) {
  std::string text = "# cycloid completion fish | source\n";
  for (const KnownCommand& c : commands) {
    text += message("complete -c cycloid -n __fish_use_subcommand -f -a ", c.name, " -d '",
                    c.summary, "'\n");
    const std::string here =
        message("complete -c cycloid -n '__fish_seen_subcommand_from ", c.name, "'");
    for (const std::string& option : c.options) {
      text += message(here, " -l ", option.substr(2), "\n");
    }
    if (const std::string things = things_of(c); !things.empty()) {
      text += message(here, " -a '", things, "'\n");
    }
  }
  return text;
}

Run declare_completion(Options& options) {
  const auto shell = std::make_shared<std::string>();
  options.positional("SHELL", *shell, "bash, zsh or fish");
  return [shell](const Terminal&) {
    if (shell->empty()) throw UsageError("SHELL is missing: bash, zsh or fish");
    const std::vector<KnownCommand>& all = known_commands();
    std::string text =
        *shell == "bash"  ? bash(all)
        : *shell == "zsh" ? zsh(all)
        : *shell == "fish"
            ? fish(all)
            : throw UsageError(message("SHELL: expected bash, zsh or fish, got \"", *shell, "\""));
    return Answer{{{"shell", *shell}, {"script", text}}, text, kSuccess};
  };
}

}  // namespace

const Command kCompletion = {
    "completion", "a script that completes commands in a shell",
    "Prints a script for bash, zsh or fish, which then complete commands, options and\n"
    "laws: source <(cycloid completion bash).",
    "cycloid completion bash", declare_completion};

}  // namespace cycloid::cli
