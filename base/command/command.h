// SPDX-License-Identifier: Apache-2.0
// Commands with options and flags. CLI11 parses them; only command.cc and the program's parser
// include it, because each file that does takes 5 s longer to compile.
//
// Thread-compatible. Pointers live as long as the root command.
#ifndef CONCUR_BASE_COMMAND_COMMAND_H_
#define CONCUR_BASE_COMMAND_COMMAND_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
}  // namespace CLI

namespace concur {

// One option, flag or positional argument. Its setters return it, so that calls can be chained.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option* Required();
  // The placeholder of the value in the help text: "FILE".
  Option* TypeName(const std::string& name);
  // The help text shows the variable's present value, or `text`, as the default.
  Option* ShowDefault();
  Option* DefaultText(const std::string& text);
  // Takes one value for each time that it is given, rather than all arguments that follow.
  Option* OneValueEach();
  Option* Expected(int values);
  Option* Delimiter(char delimiter);
  Option* Excludes(Option* other);
  // An error without the other one.
  Option* Needs(Option* other);
  Option* Environment(const std::string& variable);
  Option* Group(const std::string& heading);
  Option* Positive();
  Option* NotNegative();
  Option* OneOf(const std::vector<std::string>& values);
  // Both ends included. T: int, int64_t, uint64_t or double.
  template <typename T>
  Option* InRange(T low, T high);

  // Number of times that the option was given.
  size_t Count() const;

 private:
  CLI::Option* option_;
};

class Command {
 public:
  // The root: what a program is about, and its name.
  explicit Command(const std::string& about, const std::string& name = "");
  ~Command();
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* AddSubcommand(const std::string& name, const std::string& about);
  // Help lists the subcommands that are added from here on under `heading`.
  void Heading(const std::string& heading);
  // `names`: "--seed", "-o,--output", or "sweep" for a positional argument. `value` outlives the
  // command. T: std::string, std::vector<std::string>, int, int64_t, uint64_t, double or
  // std::optional<double> or <int64_t>.
  template <typename T>
  Option* AddOption(const std::string& names, T& value, const std::string& about = "");
  Option* AddFlag(const std::string& names, bool& value, const std::string& about = "");
  // A flag that may have a value, as --flag or --flag=VALUE; without one it is "true".
  Option* AddFlag(const std::string& names, std::string& value, const std::string& about = "");
  // Calls `take` with the value.
  Option* AddCallback(const std::string& names, const std::function<void(const std::string&)>& take,
                      const std::string& about = "");

  // --version prints the program's name, version and commit, and ends it.
  void AddVersion();

  void RequireSubcommand();
  // Options of this command may follow its subcommands.
  void Fallthrough();
  void Footer(const std::string& text);
  // Accepts unknown arguments; Extras() returns them.
  void AllowExtras();
  std::vector<std::string> Extras() const;
  // Calls `work` when this is the command that was asked for.
  void OnParsed(std::function<void()> work);
  // True if this is the command that was asked for, or above it.
  bool Parsed() const;

  // Reads a program's command line: nullopt to go on; its exit status once help or the version was
  // printed (0) or an error was (`exit_usage`), which names the program and its --help.
  std::optional<int> Parse(int argc, char** argv, int exit_usage = 2);

  // For code that parses the command line itself.
  CLI::App& app() { return *app_; }

 private:
  explicit Command(CLI::App* app);
  Option* Keep(CLI::Option* option);

  std::unique_ptr<CLI::App> root_;  // null in subcommands
  CLI::App* app_;
  std::string heading_ = "Subcommands";
  std::vector<std::unique_ptr<Command>> subcommands_;
  std::deque<Option> options_;
};

}  // namespace concur

#endif  // CONCUR_BASE_COMMAND_COMMAND_H_
