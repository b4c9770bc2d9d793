// SPDX-License-Identifier: Apache-2.0
// The command line of `concur annotate`: people write questions that a trained system fails to
// answer.
#ifndef CONCUR_CLI_COMMANDS_DATA_ANNOTATE_H_
#define CONCUR_CLI_COMMANDS_DATA_ANNOTATE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/app/context.h"

namespace concur::cli {

struct AnnotateFlags {
  enum class Verb { kServe, kStatus, kExport };
  Verb verb = Verb::kServe;
  std::string directory = "annotation";

  // Options of serving.
  std::string passages;
  std::string onboarding;
  std::vector<std::string> systems;
  std::vector<std::string> approaches;
  std::vector<std::string> variables;
  std::string listen = "127.0.0.1:7450";
  std::vector<std::string> annotators;
  std::vector<std::string> reviewers;
  std::vector<std::string> new_links;
  int64_t answer_seconds = 20;
  std::string memory;  // "": as its approach says
  std::string sandbox = "auto";
  std::string system_on = "here";
  // Settings of a new room; those that are not given have their defaults.
  std::optional<double> win_above;
  std::optional<double> agreement;
  std::optional<double> onboarding_f1;
  std::optional<int64_t> validators;
  std::optional<int64_t> questions_per_passage;
  std::optional<int64_t> hold_minutes;
  bool share_passages = false;
  std::optional<int64_t> qualification;
  std::optional<double> held_out;
  bool answering = false;

  // Options of the status: pay for a question that beats the system, and for a validation.
  double pay_question = 0;
  double pay_validation = 0;

  // Options of an export.
  std::string out;
  std::string name = "annotated";
  uint64_t seed = 1;
  double validation_share = 0.1;
  double test_share = 0.2;
  double answerable = 0;
};

// `run` does the work. In `concur`, it starts concur-annotate, which does it.
// REQUIRES: `app` and `context` outlive the parsing of the command line.
void AddAnnotateCommand(
    Command& app, CommandContext& context,
    const std::function<absl::Status(const AnnotateFlags&, CommandContext&)>& run);

}  // namespace concur::cli

#endif  // CONCUR_CLI_COMMANDS_DATA_ANNOTATE_H_
