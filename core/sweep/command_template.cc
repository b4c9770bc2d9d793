// SPDX-License-Identifier: Apache-2.0
#include "core/sweep/command_template.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/escape.h"
#include "base/status_macros.h"
#include "base/suggest.h"

namespace concur {
namespace {

constexpr absl::string_view kBenchmarkPrefix = "benchmark.";
constexpr absl::string_view kServicePrefix = "service.";
constexpr absl::string_view kUrlSuffix = ".url";
constexpr absl::string_view kSocketSuffix = ".socket";

// Calls `on_text` with literal text and `on_placeholder` with names, in order.
template <typename OnText, typename OnPlaceholder>
absl::Status Scan(absl::string_view argument, OnText on_text, OnPlaceholder on_placeholder) {
  size_t i = 0;
  while (i < argument.size()) {
    const size_t brace = argument.find_first_of("{}", i);
    if (brace == absl::string_view::npos) {
      on_text(argument.substr(i));
      break;
    }
    on_text(argument.substr(i, brace - i));
    if (brace + 1 < argument.size() && argument[brace + 1] == argument[brace]) {
      on_text(argument.substr(brace, 1));
      i = brace + 2;
      continue;
    }
    const size_t end = argument.find_first_of("{}", brace + 1);
    if (argument[brace] == '}' || end == absl::string_view::npos || argument[end] == '{') {
      return absl::InvalidArgumentError(
          absl::StrCat("expected every \"", argument.substr(brace, 1),
                       "\" to belong to a placeholder such as {train}, got ", Quoted(argument, 200),
                       "; write \"{{\" and \"}}\" for braces"));
    }
    CONCUR_RETURN_IF_ERROR(on_placeholder(argument.substr(brace + 1, end - brace - 1)));
    i = end + 1;
  }
  return absl::OkStatus();
}

std::vector<std::string> Candidates(CommandKind kind, bool has_code,
                                    const Setting& hyperparameters) {
  std::vector<std::string> names;
  switch (kind) {
    case CommandKind::kTrain:
      names = {"train", "validation", "start", "model", "output", "seed"};
      break;
    case CommandKind::kPredict:
      names = {"test",           "model",
               "predictions",    "metrics",
               "examples",       "output",
               "seed",           "benchmark.NAME",
               "service.url",    "service.NAME.url",
               "service.socket", "service.NAME.socket"};
      break;
    case CommandKind::kServe:
      names = {"model"};
      break;
    case CommandKind::kService:
      names = {"port", "socket", "model", "seed"};
      break;
  }
  if (has_code) {
    names.emplace_back("code");
  }
  // A trained system has its setting in it.
  for (const auto& [name, value] : kind == CommandKind::kServe ? Setting() : hyperparameters) {
    names.push_back(absl::StrCat("hp.", name));
  }
  return names;
}

// NAME of "service.NAME.url" and "service.NAME.socket"; "" of another placeholder.
absl::string_view AskedServiceOf(absl::string_view name) {
  return absl::ConsumePrefix(&name, kServicePrefix) && (absl::ConsumeSuffix(&name, kUrlSuffix) ||
                                                        absl::ConsumeSuffix(&name, kSocketSuffix))
             ? name
             : "";
}

// The names that `name_of` finds in placeholders of the command.
template <typename NameOf>
std::set<std::string> NamesIn(const std::vector<std::string>& command, NameOf name_of) {
  std::set<std::string> found;
  for (const std::string& argument : command) {
    const absl::StatusOr<std::vector<std::string>> names = PlaceholdersOf(argument);
    for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
      if (const absl::string_view part = name_of(name); !part.empty()) {
        found.emplace(part);
      }
    }
  }
  return found;
}

absl::string_view NameOf(CommandKind kind) {
  switch (kind) {
    case CommandKind::kTrain:
      return "train";
    case CommandKind::kPredict:
      return "predict";
    case CommandKind::kServe:
      return "serve";
    case CommandKind::kService:
      return "service";
  }
  return "";
}

}  // namespace

absl::StatusOr<std::vector<std::string>> PlaceholdersOf(absl::string_view argument) {
  std::vector<std::string> names;
  CONCUR_RETURN_IF_ERROR(Scan(
      argument, [](absl::string_view) {},
      [&](absl::string_view name) {
        names.emplace_back(name);
        return absl::OkStatus();
      }));
  return names;
}

absl::StatusOr<std::set<std::string>> CheckArgument(absl::string_view argument, CommandKind kind,
                                                    bool has_code, const Setting& hyperparameters) {
  CONCUR_ASSIGN_OR_RETURN(const std::vector<std::string> names, PlaceholdersOf(argument));
  const std::vector<std::string> candidates = Candidates(kind, has_code, hyperparameters);
  std::set<std::string> found;
  for (const std::string& name : names) {
    bool known = kind == CommandKind::kPredict &&
                 (absl::StartsWith(name, kBenchmarkPrefix) || !AskedServiceOf(name).empty());
    for (const std::string& candidate : candidates) {
      known = known || candidate == name;
    }
    if (!known) {
      const bool missing_default = absl::StartsWith(name, "hp.") && kind != CommandKind::kServe;
      const std::string meant = DidYouMean(name, candidates);
      return absl::InvalidArgumentError(absl::StrCat(
          "expected a placeholder of the ", NameOf(kind), " command ({",
          absl::StrJoin(candidates, "} {"), "}), got ", Quoted(absl::StrCat("{", name, "}")), meant,
          name == "code"    ? "; give the approach the field code, a list of its files"
          : missing_default ? "; a hyperparameter needs a value in hyperparameters.default"
          : meant.empty()   ? "; write {{ and }} for braces"
                            : ""));
    }
    found.insert(name);
  }
  return found;
}

bool UsesPlaceholder(const std::vector<std::string>& command, absl::string_view name) {
  return std::any_of(command.begin(), command.end(), [&](const std::string& argument) {
    const absl::StatusOr<std::vector<std::string>> names = PlaceholdersOf(argument);
    return names.ok() && std::find(names->begin(), names->end(), name) != names->end();
  });
}

absl::StatusOr<std::string> ExpandArgument(absl::string_view argument,
                                           const std::map<std::string, std::string>& values) {
  std::string expanded;
  CONCUR_RETURN_IF_ERROR(Scan(
      argument, [&](absl::string_view text) { expanded.append(text.data(), text.size()); },
      [&](absl::string_view name) -> absl::Status {
        const auto value = values.find(std::string(name));
        if (value == values.end()) {
          return absl::InvalidArgumentError(
              absl::StrCat("placeholder \"{", name, "}\" has no value in \"", argument, "\""));
        }
        expanded += value->second;
        return absl::OkStatus();
      }));
  return expanded;
}

absl::StatusOr<std::vector<std::string>> ExpandCommand(
    const std::vector<std::string>& command, const std::map<std::string, std::string>& values) {
  std::vector<std::string> expanded;
  expanded.reserve(command.size());
  for (const std::string& argument : command) {
    CONCUR_ASSIGN_OR_RETURN(std::string text, ExpandArgument(argument, values));
    expanded.push_back(std::move(text));
  }
  return expanded;
}

std::set<std::string> BenchmarkParametersOf(const std::vector<std::string>& command) {
  return NamesIn(command, [](absl::string_view name) {
    return absl::StartsWith(name, kBenchmarkPrefix) ? name.substr(kBenchmarkPrefix.size()) : "";
  });
}

std::set<std::string> AskedServicesOf(const std::vector<std::string>& command) {
  return NamesIn(command, AskedServiceOf);
}

absl::Status CheckAddress(const std::vector<std::string>& predict, absl::string_view service,
                          const std::vector<std::string>& service_command) {
  const bool has_socket = UsesPlaceholder(service_command, "socket");
  const absl::string_view wrong = has_socket ? kUrlSuffix : kSocketSuffix;
  if (!UsesPlaceholder(predict, absl::StrCat(service, wrong))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("expected {", service, has_socket ? kSocketSuffix : kUrlSuffix,
                   "}, since the service listens on {", has_socket ? "socket" : "port", "}, got {",
                   service, wrong, "}"));
}

absl::StatusOr<std::vector<std::string>> ExpandBenchmarkParameters(
    const std::vector<std::string>& command, const std::map<std::string, std::string>& parameters) {
  const auto escaped = [](absl::string_view text) {
    return absl::StrReplaceAll(text, {{"{", "{{"}, {"}", "}}"}});
  };
  std::vector<std::string> expanded;
  for (const std::string& argument : command) {
    std::string& out = expanded.emplace_back();
    CONCUR_RETURN_IF_ERROR(Scan(
        argument, [&](absl::string_view text) { absl::StrAppend(&out, escaped(text)); },
        [&](absl::string_view name) -> absl::Status {
          if (!absl::StartsWith(name, kBenchmarkPrefix)) {
            absl::StrAppend(&out, "{", name, "}");
            return absl::OkStatus();
          }
          const auto value = parameters.find(std::string(name.substr(kBenchmarkPrefix.size())));
          if (value == parameters.end()) {
            return absl::InvalidArgumentError(
                absl::StrCat("placeholder \"{", name, "}\" has no value in \"", argument, "\""));
          }
          absl::StrAppend(&out, escaped(value->second));
          return absl::OkStatus();
        }));
  }
  return expanded;
}

}  // namespace concur
