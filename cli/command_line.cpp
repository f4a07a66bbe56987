#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "cycloid/base/nearest_name.h"

namespace cycloid::cli {
namespace {

constexpr const char* kExitStatuses =
    "Exit status: 0 success; 1 a check failed or an environment diverged;\n"
    "  2 wrong usage or input; 3 internal error; 130 interrupted.";

constexpr const char* kEnvironment =
    "Environment: CYCLOID_THREADS (threads by default), CYCLOID_INSTRUCTION_SET\n"
    "  (portable, v3 or v4), NO_COLOR (no colours).";

// Options with their defaults: "--steps N   steps of each environment (default 1000)".
class HelpText : public CLI::Formatter {
 public:
  HelpText() {
    column_width(26);
    label("Positionals", "Arguments");
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string words;
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional()) words += " " + option->get_type_name();
    }
    const bool has_commands = !app->get_subcommands({}).empty();
    return message("\nUsage: ", name, has_commands ? " COMMAND" : words, " [options]\n");
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const bool bare = option->get_type_size() == 0 || option->get_positional();
    return bare ? "" : " " + option->get_type_name();
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string value = option->get_default_str();
    return option->get_description() + (value.empty() ? "" : " (default " + value + ")");
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return is_positional ? option->get_type_name()
                         : CLI::Formatter::make_option_name(option, false);
  }
};

[[noreturn]] void reject(std::string_view what, std::string_view expected, std::string_view got) {
  throw UsageError(message(what, ": expected ", expected, ", got \"", got, "\""));
}

double parse_number(std::string_view text, std::string_view what) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, fault] = std::from_chars(digits.data(), end, value);
  if (fault != std::errc() || stop != end || !std::isfinite(value)) {
    reject(what, "a finite number", text);
  }
  return value;
}

std::int64_t parse_count(std::string_view text, std::string_view what, std::int64_t least,
                         std::int64_t most) {
  const std::string expected = most == INT64_MAX
                                   ? message("a whole number, at least ", least)
                                   : message("a whole number from ", least, " to ", most);
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, value);
  if (fault != std::errc() || stop != end) {
    double real = 0;  // 1e6
    const auto [real_stop, real_fault] = std::from_chars(text.data(), end, real);
    constexpr double kExact = 9007199254740992;  // 2^53
    if (real_fault != std::errc() || real_stop != end || !(std::abs(real) <= kExact) ||
        real != std::floor(real)) {
      reject(what, expected, text);
    }
    value = static_cast<std::int64_t>(real);
  }
  if (value < least || value > most) reject(what, expected, text);
  return value;
}

std::string joined(const std::vector<double>& values) {
  std::string text;
  for (const double v : values) text += message(text.empty() ? "" : ",", v);
  return text;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// What was left over: an unknown option, or a word too many.
void reject_leftovers(const CLI::App& app, std::string_view where) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) return;
  for (const std::string& word : left) {
    if (!word.starts_with("-")) continue;
    const std::string name = word.substr(0, word.find('='));
    const std::string hint = did_you_mean(name, option_names(app));
    throw UsageError(message(where, " has no option \"", name, "\"", hint,
                             hint.ends_with('?') ? "" : "; --help says what they do"));
  }
  throw UsageError(message(where, " does not know what to do with \"", left.front(), "\""));
}

// CLI11 says "--steps: 1 required N missing" where the line ends too early.
std::string in_words(const CLI::ParseError& error) {
  const std::string text = error.what();
  const bool missing = text.starts_with("-") && text.ends_with(" missing");
  return missing ? text.substr(0, text.find(':')) + " needs a value" : text;
}

void reject_unknown_command(const CLI::App& app, std::span<const Command* const> commands) {
  std::vector<std::string> names;
  for (const Command* c : commands) names.push_back(c->name);
  for (const std::string& word : app.remaining()) {
    if (word.starts_with("-")) break;
    throw UsageError(message("there is no command \"", word, "\"", did_you_mean(word, names)));
  }
  reject_leftovers(app, "cycloid");
}

}  // namespace

void Options::take(const std::string& name, const char* kind, const std::string& shown_default,
                   const char* help, std::function<void(const std::string&)> use) {
  const auto checked = [name, use = std::move(use)](const std::string& text) {
    // Words that follow an option are its values, whatever they look like.
    if (text.starts_with("--")) throw UsageError(name + " needs a value");
    use(text);
  };
  command_.add_option_function<std::string>(name, checked, help)
      ->type_name(kind)
      ->default_str(shown_default);
}

void Options::positional(const char* name, std::string& value, const char* help) {
  std::string bare = name;
  std::erase_if(bare, [](char c) { return c == '[' || c == ']'; });
  take(bare, name, "", help, [&value](const std::string& text) { value = text; });
}

void Options::flag(const char* name, bool& value, const char* help) {
  command_.add_flag(name, value, help);
}

void Options::text(const char* name, const char* kind, std::string& value, const char* help) {
  take(name, kind, value, help, [&value](const std::string& text) { value = text; });
}

void Options::output(const char* name, std::string& value, const char* help) {
  take(name, "FILE", value, help, [&value, name](const std::string& text) {
    require_folder_of(text, name);
    value = text;
  });
}

void Options::texts(const char* name, const char* kind, std::vector<std::string>& values,
                    const char* help) {
  command_.add_option(name, values, help)->type_name(kind)->allow_extra_args(false);
}

void Options::number(const char* name, double& value, const char* help) {
  take(name, "NUMBER", message(value), help,
       [&value, name](const std::string& text) { value = parse_number(text, name); });
}

void Options::number(const char* name, std::optional<double>& value, const char* help) {
  take(name, "NUMBER", "", help,
       [&value, name](const std::string& text) { value = parse_number(text, name); });
}

void Options::numbers(const char* name, std::vector<double>& values, const char* help) {
  take(name, "A,B,..", joined(values), help,
       [&values, name](const std::string& text) { values = parse_numbers(text, name); });
}

void Options::count(const char* name, std::int64_t& value, std::int64_t least, std::int64_t most,
                    const char* help) {
  take(name, "N", message(value), help, [&value, name, least, most](const std::string& text) {
    value = parse_count(text, name, least, most);
  });
}

void Options::count(const char* name, std::optional<std::int64_t>& value, std::int64_t least,
                    std::int64_t most, const char* help) {
  take(name, "N", "", help, [&value, name, least, most](const std::string& text) {
    value = parse_count(text, name, least, most);
  });
}

void Options::choice(const char* name, std::string& value, std::vector<std::string> choices,
                     const char* help) {
  take(name, "NAME", value, help,
       [&value, name, choices = std::move(choices)](const std::string& text) {
         if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
           throw UsageError(
               message(name, " has no choice \"", text, "\"", did_you_mean(text, choices)));
         }
         value = text;
       });
}

void require_folder_of(const std::string& path, std::string_view what) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code unreadable;
  if (folder.empty() || std::filesystem::is_directory(folder, unreadable)) return;
  throw Error(
      message(what, ": cannot write \"", path, "\": there is no folder \"", folder.string(), "\""));
}

std::vector<double> parse_numbers(std::string_view text, std::string_view what) {
  std::vector<double> values;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    values.push_back(parse_number(text.substr(begin, end - begin), what));
    begin = end + 1;
  }
  return values;
}

bool asks_for_json(std::span<char* const> words) {
  return std::any_of(words.begin(), words.end(),
                     [](const char* word) { return std::string_view(word) == "--json"; });
}

namespace {
std::vector<KnownCommand>& declared_commands() {
  static std::vector<KnownCommand> all;
  return all;
}
}  // namespace

const std::vector<KnownCommand>& known_commands() { return declared_commands(); }

Request read_command_line(std::span<const Command* const> commands, std::span<char* const> words) {
  Request request;
  CLI::App app("Cycloid: differentiable physics from the command line.", "cycloid");
  app.formatter(std::make_shared<HelpText>());
  app.set_help_flag("-h,--help", "this text");
  app.set_version_flag("--version", std::string(CYCLOID_VERSION), "the version");
  app.require_subcommand(0, 1)->allow_extras();
  app.footer(message("Every command has --help, with an example, and --json.\n\nExample:\n  ",
                     commands.front()->example, "\n\n", kExitStatuses, "\n", kEnvironment));
  std::vector<std::pair<CLI::App*, Run>> declared;
  for (const Command* c : commands) {
    CLI::App* const sub = app.add_subcommand(c->name, c->summary)->group("Commands");
    sub->allow_extras();
    sub->set_help_flag("-h,--help", "this text");
    sub->footer(message("Example:\n  ", c->example, "\n\n", kExitStatuses));
    Options options(*sub);
    Run run = c->declare(options);
    options.flag("--json", request.json, "answer with one JSON object");
    bool& colour = request.colour;
    sub->add_flag_function(
        "--no-colour,--no-color", [&colour](std::int64_t) { colour = false; }, "plain text");
    declared.push_back({sub, std::move(run)});
    KnownCommand known{c->name, c->summary, option_names(*sub), false};
    for (const CLI::Option* option : sub->get_options()) {
      if (option->get_positional()) known.takes_model |= option->get_name(true) == "MODEL";
    }
    declared_commands().push_back(std::move(known));
  }

  const auto ready = [&](const char* key, const std::string& text) {
    request.json = asks_for_json(words);
    request.ready = Answer{{{key, text}}, text + "\n", kSuccess};
    return request;
  };
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::CallForHelp&) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      if (declared[i].first->parsed()) declared[i].first->description(commands[i]->about);
    }
    return ready("help", app.help());
  } catch (const CLI::CallForVersion&) {
    return ready("version", CYCLOID_VERSION);
  } catch (const CLI::ParseError& error) {
    throw UsageError(in_words(error));
  }

  for (std::size_t i = 0; i < commands.size(); ++i) {
    if (!declared[i].first->parsed()) continue;
    reject_leftovers(*declared[i].first, commands[i]->name);
    request.run = declared[i].second;
    return request;
  }
  reject_unknown_command(app, commands);
  throw UsageError(message("which command?\n\n", app.help()));
}

}  // namespace cycloid::cli
