// SPDX-License-Identifier: Apache-2.0
#include "base/command/usage_error.h"

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/suggest.h"

namespace concur {
namespace {

std::vector<std::string> CommandsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

const CLI::App* FindCommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == name) {
      return command;
    }
  }
  return nullptr;
}

std::vector<std::string> OptionsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    for (const CLI::Option* option : level->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        names.push_back("--" + name);
      }
    }
  }
  return names;
}

const CLI::Option* FindOption(const CLI::App& app, const std::string& name) {
  for (const CLI::App* level = &app; level != nullptr; level = level->get_parent()) {
    if (const CLI::Option* option = level->get_option_no_throw(name)) {
      return option;
    }
  }
  return nullptr;
}

// The parser's error in the words of all others; "b is required" with what b is.
std::string WithDescription(const CLI::App& command, const std::string& error) {
  absl::string_view name = error;
  if (absl::ConsumePrefix(&name, "The following argument was not expected: ") ||
      absl::ConsumePrefix(&name, "The following arguments were not expected: ")) {
    return absl::StrCat("expected no more arguments, got ", name);
  }
  if (absl::EndsWith(error, " missing") && absl::StrContains(error, ": 1 required ")) {
    return absl::StrCat(error.substr(0, error.find(": ")), ": expected a value, got none");
  }
  if (absl::ConsumeSuffix(&name, " is required")) {
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_name() == name && !option->get_description().empty()) {
        return absl::StrCat(error, ": ", option->get_description());
      }
    }
  }
  return error;
}

std::string SeeHelp(const CLI::App& app, const CLI::App& command) {
  return absl::StrCat("; see ", app.get_name(), &command == &app ? "" : " ",
                      &command == &app ? "" : command.get_name(), " --help");
}

}  // namespace

std::string ExplainUsage(const CLI::App& app, const std::vector<std::string>& args,
                         const std::string& error) {
  const CLI::App* command = &app;
  for (size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    const std::string& arg = args[i];
    if (arg.size() > 1 && arg[0] == '-') {
      const std::string name = arg.substr(0, arg.find('='));
      const CLI::Option* option =
          FindOption(*command, absl::StartsWith(name, "--") ? name : name.substr(0, 2));
      if (option == nullptr) {
        return absl::StrCat("unknown option ", name, DidYouMean(name, OptionsOf(*command)));
      }
      const bool value_follows = option->get_expected_min() > 0 && name == arg && arg[1] == '-';
      const bool short_value_follows =
          option->get_expected_min() > 0 && arg[1] != '-' && arg.size() == 2;
      i += value_follows || short_value_follows ? 1 : 0;
    } else if (const CLI::App* next = FindCommand(*command, arg)) {
      command = next;
    } else if (!CommandsOf(*command).empty()) {
      return absl::StrCat("unknown command \"", arg, "\"", DidYouMean(arg, CommandsOf(*command)),
                          SeeHelp(app, *command));
    }
  }
  if (!CommandsOf(*command).empty()) {
    return absl::StrCat("expected a command", SeeHelp(app, *command));
  }
  return WithDescription(*command, error);
}

const CLI::App* BareGroup(const CLI::App& app, const std::vector<std::string>& args) {
  const CLI::App* group = &app;
  for (const std::string& arg : args) {
    group = group == nullptr ? nullptr : FindCommand(*group, arg);
  }
  return group == nullptr || CommandsOf(*group).empty() ? nullptr : group;
}

}  // namespace concur
