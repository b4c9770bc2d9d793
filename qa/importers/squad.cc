// SPDX-License-Identifier: Apache-2.0
// SQuAD v1.1 JSON, and the sets that are released in its form: SquadShifts (Miller et al., 2020),
// AdversarialQA (Bartolo et al., 2020), AddSent and AddOneSent (Jia and Liang, 2017; the ids of
// altered passages are ORIGINAL-SUFFIX, see ScoreWorstOfVariants).
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "qa/importers/importer.h"
#include "qa/passage_reader.h"

namespace concur::qa {
namespace {

absl::Status RunSquad(const ImporterInput& input) {
  const ReadPolicy policy = PassOnPolicy(input.sink);
  for (const std::string& file : input.files) {
    CONCUR_RETURN_IF_ERROR(ReadSquad(file, policy, [&](Passage passage, const std::string& place) {
      return KeepWithSpans(std::move(passage), place, ".qas",
                           "no answer is where answer_start says", input.sink);
    }));
  }
  return absl::OkStatus();
}

ImporterInfo SquadForm(std::string name, std::string summary) {
  ImporterInfo info;
  info.name = std::move(name);
  info.summary = std::move(summary);
  info.run = RunSquad;
  return info;
}

}  // namespace

std::vector<ImporterInfo> SquadImporters() {
  return {
      SquadForm("squad", "SQuAD v1.1 JSON"),
      SquadForm("squadshifts", "SquadShifts: New Wikipedia, New York Times, Reddit, Amazon"),
      SquadForm("adversarialqa", "AdversarialQA: D_BiDAF, D_BERT, D_RoBERTa"),
      SquadForm("addsent", "AddSent; score with concur data score --worst-of-variants"),
      SquadForm("addonesent", "AddOneSent; score with concur data score --worst-of-variants"),
  };
}

}  // namespace concur::qa
