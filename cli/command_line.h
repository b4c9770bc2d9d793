// Commands with options and flags, read by CLI11, which stands behind this file: all of CLI11 is in
// its header, and each file that includes that takes 5 s longer to compile.
//
// Thread-compatible. Pointers live as long as the root command.
#ifndef CONCUR_CLI_COMMAND_LINE_H_
#define CONCUR_CLI_COMMAND_LINE_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
class Option;
}  // namespace CLI

namespace concur::cli {

// One option, flag or positional argument. The functions that say more about it return it again.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option* Required();
  // What help calls the value: "FILE".
  Option* TypeName(const std::string& name);
  // Help shows the value that the variable has now, or `text`.
  Option* ShowDefault();
  Option* DefaultText(const std::string& text);
  // Takes one value each time that it is given, not all that follow.
  Option* OneValueEach();
  Option* Expected(int values);
  Option* Delimiter(char delimiter);
  Option* Excludes(Option* other);
  Option* Environment(const std::string& variable);
  Option* Group(const std::string& heading);
  Option* Positive();
  Option* NotNegative();
  // Both ends included. T: int, int64_t, uint64_t or double.
  template <typename T>
  Option* InRange(T low, T high);

  // How often it was given.
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
  // `names`: "--seed", "-o,--output", or "sweep" for a positional argument. `value` outlives the
  // command. T: std::string, std::vector<std::string>, int, int64_t, uint64_t, double or
  // std::optional<double>.
  template <typename T>
  Option* AddOption(const std::string& names, T& value, const std::string& about = "");
  Option* AddFlag(const std::string& names, bool& value, const std::string& about = "");
  // Calls `take` with the value.
  Option* AddCallback(const std::string& names, const std::function<void(const std::string&)>& take,
                      const std::string& about = "");

  void RequireSubcommand();
  void Footer(const std::string& text);
  // Lets unknown arguments through, for Extras().
  void AllowExtras();
  std::vector<std::string> Extras() const;
  // Calls `work` when this is the command that was asked for.
  void OnParsed(std::function<void()> work);

  // For the program that parses.
  CLI::App& app() { return *app_; }

 private:
  explicit Command(CLI::App* app);
  Option* Keep(CLI::Option* option);

  std::unique_ptr<CLI::App> root_;  // null in subcommands
  CLI::App* app_;
  std::vector<std::unique_ptr<Command>> subcommands_;
  std::deque<Option> options_;
};

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMAND_LINE_H_
