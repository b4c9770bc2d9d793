// SPDX-License-Identifier: Apache-2.0
// The placeholders of an approach's commands: {train} {validation} {start} {test} {model}
// {predictions} {metrics} {examples} {output} {code} {seed} {hp.NAME} {benchmark.NAME} {port}
// {socket} {service.url} {service.socket} {service.NAME.url} {service.NAME.socket}. "{{" and "}}"
// stand for "{" and "}".
//
// A command is argv: each argument is expanded by itself and never meets a shell. Thread-safe
// (stateless).
#ifndef CONCUR_CORE_SWEEP_COMMAND_TEMPLATE_H_
#define CONCUR_CORE_SWEEP_COMMAND_TEMPLATE_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/sweep/params.h"

namespace concur {

// Which command a template belongs to, and so which placeholders have a value.
enum class CommandKind { kTrain, kPredict, kServe, kService };

// The placeholders in `argument`, without braces, in order. InvalidArgument when a brace is not
// closed or not opened.
absl::StatusOr<std::vector<std::string>> PlaceholdersOf(absl::string_view argument);

// The placeholders of all arguments. InvalidArgument when one is unknown, has no value in this kind
// of command, is {code} without `has_code`, or names a hyperparameter without a default. The
// message says what exists. Every {benchmark.NAME} of a predict command is known: benchmarks give
// the values; and every {service.NAME.url} and {service.NAME.socket}: the sweep says who is needed.
absl::StatusOr<std::set<std::string>> CheckArgument(absl::string_view argument, CommandKind kind,
                                                    bool has_code, const Setting& hyperparameters);

// True if an argument has the placeholder. REQUIRES: CheckArgument was OK on all of them.
bool UsesPlaceholder(const std::vector<std::string>& command, absl::string_view name);

// Replaces each placeholder by its value: {"train": "/path", "hp.lr": "0.1", …}. InvalidArgument
// when one has no value or a brace stands alone.
absl::StatusOr<std::string> ExpandArgument(absl::string_view argument,
                                           const std::map<std::string, std::string>& values);
absl::StatusOr<std::vector<std::string>> ExpandCommand(
    const std::vector<std::string>& command, const std::map<std::string, std::string>& values);

// The NAMEs of {benchmark.NAME}, and those of {service.NAME.url} and {service.NAME.socket}.
// REQUIRES: as UsesPlaceholder.
std::set<std::string> BenchmarkParametersOf(const std::vector<std::string>& command);
std::set<std::string> AskedServicesOf(const std::vector<std::string>& command);
// InvalidArgument when a predict command asks a service, "service" or "service.NAME", by a url
// where the service's command listens on {socket}, or the other way round.
absl::Status CheckAddress(const std::vector<std::string>& predict, absl::string_view service,
                          const std::vector<std::string>& service_command);
// Replaces {benchmark.NAME} alone, by these values; other placeholders and "{{" stay.
absl::StatusOr<std::vector<std::string>> ExpandBenchmarkParameters(
    const std::vector<std::string>& command, const std::map<std::string, std::string>& parameters);

}  // namespace concur

#endif  // CONCUR_CORE_SWEEP_COMMAND_TEMPLATE_H_
