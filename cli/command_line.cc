#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace concur::cli {

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
  option_->check(CLI::PositiveNumber);
  return this;
}

Option* Option::NotNegative() {
  option_->check(CLI::NonNegativeNumber);
  return this;
}

template <typename T>
Option* Option::InRange(T low, T high) {
  option_->check(CLI::Range(low, high));
  return this;
}

size_t Option::Count() const { return option_->count(); }

Command::Command(const std::string& about, const std::string& name)
    : root_(std::make_unique<CLI::App>(about, name)), app_(root_.get()) {}

Command::Command(CLI::App* app) : app_(app) {}

Command::~Command() = default;

Option* Command::Keep(CLI::Option* option) { return &options_.emplace_back(option); }

Command* Command::AddSubcommand(const std::string& name, const std::string& about) {
  subcommands_.emplace_back(new Command(app_->add_subcommand(name, about)));
  return subcommands_.back().get();
}

template <typename T>
Option* Command::AddOption(const std::string& names, T& value, const std::string& about) {
  return Keep(app_->add_option(names, value, about));
}

Option* Command::AddFlag(const std::string& names, bool& value, const std::string& about) {
  return Keep(app_->add_flag(names, value, about));
}

Option* Command::AddCallback(const std::string& names,
                             const std::function<void(const std::string&)>& take,
                             const std::string& about) {
  return Keep(app_->add_option_function<std::string>(names, take, about));
}

void Command::RequireSubcommand() { app_->require_subcommand(1); }

void Command::Footer(const std::string& text) { app_->footer(text); }

void Command::AllowExtras() { app_->allow_extras(); }

std::vector<std::string> Command::Extras() const { return app_->remaining(); }

void Command::OnParsed(std::function<void()> work) { app_->callback(std::move(work)); }

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

}  // namespace concur::cli
