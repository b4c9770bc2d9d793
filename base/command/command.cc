// SPDX-License-Identifier: Apache-2.0
#include "base/command/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/command/help_files.h"
#include "base/command/usage_error.h"
#include "base/suggest.h"
#include "base/version.h"

namespace concur {
namespace {

constexpr size_t kColumns = 80;

// Lines of at most `width` bytes, broken between words; line breaks of `text`, and lines that are
// indented, stay.
std::string Wrap(absl::string_view text, size_t width) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(line, " ")) {
      lines.emplace_back(line);
      continue;
    }
    lines.emplace_back();
    for (const absl::string_view word : absl::StrSplit(line, ' ')) {
      if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
        lines.emplace_back(word);
      } else {
        absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
      }
    }
  }
  return absl::StrJoin(lines, "\n");
}

// Help that fits a terminal of 80 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* command) const override {
    const std::string about = command->get_description();
    std::ostringstream out;  // with the first line alone; the command's own help has the others
    CLI::detail::format_help(out, command->get_display_name(true),
                             Described(about.substr(0, about.find('\n'))), column_width_);
    return out.str();
  }
  // An argument that is also an option is described, and required, once.
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    if (is_positional || !option->get_positional()) {
      return CLI::Formatter::make_option(option, is_positional);
    }
    std::ostringstream out;
    CLI::detail::format_help(out, make_option_name(option, false) + " " + option->get_type_name(),
                             "Names it instead of the argument", column_width_);
    return out.str();
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return Described(CLI::Formatter::make_option_desc(option));
  }
  std::string make_description(const CLI::App* command) const override {
    return Wrap(CLI::Formatter::make_description(command), kColumns);
  }
  // Prose is filled; examples, which are indented below their heading, stay.
  std::string make_footer(const CLI::App* command) const override {
    const auto is_prose = [](absl::string_view line) {
      return !line.empty() && line[0] != ' ' && !absl::EndsWith(line, ":");
    };
    std::vector<std::string> lines;
    const std::string footer = CLI::Formatter::make_footer(command);
    for (const absl::string_view line : absl::StrSplit(footer, '\n')) {
      if (!lines.empty() && is_prose(lines.back()) && is_prose(line)) {
        absl::StrAppend(&lines.back(), " ", line);
      } else {
        lines.emplace_back(line);
      }
    }
    return Wrap(absl::StrJoin(lines, "\n"), kColumns);
  }

 private:
  std::string Described(const std::string& text) const {
    return Wrap(text, kColumns - column_width_);
  }
};

}  // namespace

Option* Option::Required() {
  option_->required();
  return this;
}

Option* Option::TypeName(const std::string& name) {
  option_->type_name(name);
  return this;
}

Option* Option::ShowDefault() {
  option_->capture_default_str();
  return this;
}

Option* Option::DefaultText(const std::string& text) {
  option_->default_str(text);
  return this;
}

Option* Option::OneValueEach() {
  option_->allow_extra_args(false);
  return this;
}

Option* Option::Expected(int values) {
  option_->expected(values);
  return this;
}

Option* Option::Delimiter(char delimiter) {
  option_->delimiter(delimiter);
  return this;
}

Option* Option::Needs(Option* other) {
  option_->needs(other->option_);
  return this;
}

Option* Option::Excludes(Option* other) {
  option_->excludes(other->option_);
  return this;
}

Option* Option::Environment(const std::string& variable) {
  option_->envname(variable);
  return this;
}

Option* Option::Group(const std::string& heading) {
  option_->group(heading);
  return this;
}

Option* Option::Positive() {
  option_->check(CLI::Validator(
      [](std::string& value) {
        double number = 0;
        return absl::SimpleAtod(value, &number) && number > 0
                   ? std::string()
                   : absl::StrCat("expected a number above 0, got \"", value, "\"");
      },
      "POSITIVE"));
  return this;
}

Option* Option::NotNegative() {
  option_->check(CLI::Validator(
      [](std::string& value) {
        double number = 0;
        return absl::SimpleAtod(value, &number) && number >= 0
                   ? std::string()
                   : absl::StrCat("expected a number of at least 0, got \"", value, "\"");
      },
      "NONNEGATIVE"));
  return this;
}

Option* Option::OneOf(const std::vector<std::string>& values) {
  option_->check(CLI::Validator(
      [values](std::string& value) {
        const bool known = std::find(values.begin(), values.end(), value) != values.end();
        return known ? std::string() : ExpectedOneOf(values, value);
      },
      absl::StrCat("{", absl::StrJoin(values, ","), "}")));
  return this;
}

template <typename T>
Option* Option::InRange(T low, T high) {
  const CLI::Range range(low, high);
  // A transform comes before the check of the type, whose range is wider.
  option_->transform(CLI::Validator(
      [range, low, high](std::string& value) {
        return range(value).empty() ? std::string()
                                    : absl::StrCat("expected a number from ", low, " to ", high,
                                                   ", got \"", value, "\"");
      },
      range.get_description()));
  return this;
}

size_t Option::Count() const { return option_->count(); }

Command::Command(const std::string& about, const std::string& name)
    : root_(std::make_unique<CLI::App>(about, name)), app_(root_.get()) {
  app_->formatter(std::make_shared<HelpFormatter>());
}

Command::Command(CLI::App* app) : app_(app) {}

Command::~Command() = default;

Option* Command::Keep(CLI::Option* option) { return &options_.emplace_back(option); }

Command* Command::AddSubcommand(const std::string& name, const std::string& about) {
  // A command inherits the heading that its parent stands under.
  subcommands_.emplace_back(new Command(app_->add_subcommand(name, about)->group(heading_)));
  return subcommands_.back().get();
}

void Command::Heading(const std::string& heading) { heading_ = heading; }

namespace {

template <typename T>
struct ValueOf {
  using Type = T;
};
template <typename T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};

// Error in the text of an option whose value is a T; "" for none. CLI11 takes -1 for
// an unsigned number, and the largest number for one that is too large.
template <typename T>
std::string NumberFault(const std::string& text) {
  T number = 0;
  if constexpr (std::is_floating_point_v<T>) {
    return absl::SimpleAtod(text, &number) && std::isfinite(number)
               ? ""
               : absl::StrCat("expected a number, got \"", text, "\"");
  } else {
    double real = 0;
    return absl::SimpleAtoi(text, &number) ? ""
           : absl::SimpleAtod(text, &real)
               ? absl::StrCat("expected a whole number from ", std::numeric_limits<T>::min(),
                              " to ", std::numeric_limits<T>::max(), ", got \"", text, "\"")
               : absl::StrCat("expected a whole number, got \"", text, "\"");
  }
}

}  // namespace

template <typename T>
Option* Command::AddOption(const std::string& names, T& value, const std::string& about) {
  CLI::Option* option = app_->add_option(names, value, about);
  using Number = typename ValueOf<T>::Type;
  if constexpr (std::is_arithmetic_v<Number>) {
    option->check([](const std::string& text) { return NumberFault<Number>(text); });
  }
  return Keep(option);
}

Option* Command::AddFlag(const std::string& names, bool& value, const std::string& about) {
  return Keep(app_->add_flag(names, value, about));
}

Option* Command::AddFlag(const std::string& names, std::string& value, const std::string& about) {
  return Keep(app_->add_flag(names, value, about));
}

Option* Command::AddCallback(const std::string& names,
                             const std::function<void(const std::string&)>& take,
                             const std::string& about) {
  return Keep(app_->add_option_function<std::string>(names, take, about));
}

void Command::AddVersion() {
  app_->set_version_flag("--version", VersionText(app_->get_name()), "Print the version and exit");
}

void Command::Fallthrough() { app_->fallthrough(); }

void Command::RequireSubcommand() { app_->require_subcommand(1); }

void Command::Footer(const std::string& text) { app_->footer(text); }

void Command::AllowExtras() { app_->allow_extras(); }

std::vector<std::string> Command::Extras() const { return app_->remaining(); }

void Command::OnParsed(std::function<void()> work) { app_->callback(std::move(work)); }

bool Command::Parsed() const { return app_->parsed(); }

std::optional<int> Command::Parse(int argc, char** argv, int exit_usage) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (const auto status = AnswerHelpRequest(*app_, args, std::cout, std::cerr)) {
    return status;
  }
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {  // --help, --version
      return app_->exit(error);
    }
    const std::string why = ExplainUsage(*app_, args, error.what());
    std::cerr << app_->get_name() << ": " << why;
    if (!absl::EndsWith(why, " --help")) {
      std::cerr << "; see " << app_->get_name() << " --help";
    }
    std::cerr << "\n";
    return exit_usage;
  }
  return std::nullopt;
}

template Option* Option::InRange(int, int);
template Option* Option::InRange(int64_t, int64_t);
template Option* Option::InRange(uint64_t, uint64_t);
template Option* Option::InRange(double, double);

template Option* Command::AddOption(const std::string&, std::string&, const std::string&);
template Option* Command::AddOption(const std::string&, std::vector<std::string>&,
                                    const std::string&);
template Option* Command::AddOption(const std::string&, int&, const std::string&);
template Option* Command::AddOption(const std::string&, int64_t&, const std::string&);
template Option* Command::AddOption(const std::string&, uint64_t&, const std::string&);
template Option* Command::AddOption(const std::string&, double&, const std::string&);
template Option* Command::AddOption(const std::string&, std::optional<double>&, const std::string&);
template Option* Command::AddOption(const std::string&, std::optional<int64_t>&,
                                    const std::string&);

}  // namespace concur
